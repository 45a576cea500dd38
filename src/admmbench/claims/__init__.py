"""Claims of the papers, and verdicts on them by results."""
