"""Measuring runs, judging criteria by what was measured, and planning the runs for it; papers are one user of it."""
