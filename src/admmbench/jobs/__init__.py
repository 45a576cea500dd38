"""Jobs: runs with checkpoints, fingerprints and provenance, and with files that are complete and sealed."""
