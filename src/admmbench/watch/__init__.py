"""Watching a study: all that knows Snakemake's inside."""
