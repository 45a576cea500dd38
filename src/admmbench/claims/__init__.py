"""What the papers state, and what the results say about it."""
