"""Jobs: runs with checkpoints, fingerprints and provenance, and with complete files that have checksums."""
