"""Suites of criteria: a suite has the requirements of a document as data, and `elephan evaluate` judges algorithms by
them."""

from __future__ import annotations

from elephan.suites.evaluating import evaluate as evaluate
from elephan.suites.loading import load as load
from elephan.suites.loading import names as names
from elephan.suites.result import Evaluation as Evaluation
from elephan.suites.suite import Suite as Suite
from elephan.suites.writing import document as document

__all__ = ["Evaluation", "Suite", "document", "evaluate", "load", "names"]
