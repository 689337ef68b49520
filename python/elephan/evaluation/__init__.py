"""Measurements of runs, judgement of criteria by them, and planning of the runs; papers are one user of it."""
