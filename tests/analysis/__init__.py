"""Tests of the analysis: statistics, claims, figures, report."""
