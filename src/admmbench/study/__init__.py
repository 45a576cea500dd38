"""Studies: configuration, experiments, runs and their addresses, and the files that a study leaves behind."""
