"""Watching a study: one bar over all of its jobs, a row for each running one, failures at once."""
