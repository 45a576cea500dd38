"""Certificates: what a method reached in a competition, in one file that somebody else can compute again."""
