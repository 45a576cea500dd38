"""Tuning: the settings of a method that do best on held-out training rows, with equally many trials for all methods."""
