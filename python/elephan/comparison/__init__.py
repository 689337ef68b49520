"""Comparison of algorithms on one path: the recommended algorithm, and the harm of each algorithm to other flows."""

from elephan.comparison.answer import Answer, Harm
from elephan.comparison.comparing import NothingObservedError, compare
from elephan.comparison.numbers import METRICS
from elephan.comparison.preferences import PREFERENCES
from elephan.comparison.result import Comparison

__all__ = ["METRICS", "PREFERENCES", "Answer", "Comparison", "Harm", "NothingObservedError", "compare"]
