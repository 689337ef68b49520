"""Measurements of runs, judgement of criteria, and planning of the runs, used by papers, suites and comparisons."""
