"""Kinds of figures: one module for each, named after it."""
