"""Comparison of algorithms on one path: the recommended algorithm, and the harm of each algorithm to other flows.

The module of a name is imported when the name is first used, since a score needs the preferences alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elephan.comparison.answer import Answer as Answer
    from elephan.comparison.answer import Harm as Harm
    from elephan.comparison.comparing import NothingObservedError as NothingObservedError
    from elephan.comparison.comparing import compare as compare
    from elephan.comparison.numbers import METRICS as METRICS
    from elephan.comparison.preferences import PREFERENCES as PREFERENCES
    from elephan.comparison.result import Comparison as Comparison

__all__ = ["METRICS", "PREFERENCES", "Answer", "Comparison", "Harm", "NothingObservedError", "compare"]

_HOMES = {
    "METRICS": "numbers", "PREFERENCES": "preferences", "Answer": "answer", "Comparison": "result", "Harm": "answer",
    "NothingObservedError": "comparing", "compare": "comparing",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """The functions and their results, which are imported when they are first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
