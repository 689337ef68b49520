"""Loops around the evaluator: a score for candidates, a search for failures, and the tuning of parameters.

The module of a name is imported when the name is first used, since each restricted process of a candidate imports this
package and needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elephan.design.scoring import Score as Score
    from elephan.design.scoring import score as score
    from elephan.design.searching import Search as Search
    from elephan.design.searching import search as search
    from elephan.design.tuning import Tuning as Tuning
    from elephan.design.tuning import tune as tune

__all__ = ["Score", "Search", "Tuning", "score", "search", "tune"]

_HOMES = {"Score": "scoring", "Search": "searching", "Tuning": "tuning"} | {
    "score": "scoring", "search": "searching", "tune": "tuning"
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """The functions and their results, which are imported when they are first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
