"""Jobs: what makes a run one: checkpoints, fingerprints, provenance, files that are whole and sealed."""
