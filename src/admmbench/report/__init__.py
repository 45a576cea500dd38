"""Reports of a study: an HTML page, and tables for a terminal."""
