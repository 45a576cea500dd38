"""Commands that rules of the workflow alone call, each as ``python -m admmbench.cli.jobs.NAME``."""
