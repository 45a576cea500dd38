"""Theorems of the papers as observers: both sides of their inequalities, measured beside a run."""
