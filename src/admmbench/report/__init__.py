"""The page on a study, and tables for a terminal."""
