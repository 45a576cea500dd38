"""Specification of a run: its settings, the facts that follow from them, and rules that refuse settings."""
