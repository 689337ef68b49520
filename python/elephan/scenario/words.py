"""Words of messages: a list of them, a number of things, and the known word most similar to a misspelled one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_LONGEST_LIST = 16
_NEAR_WORDS = 3


def listed(words: Iterable[str], joint: str = "or") -> str:
    """Joins words for a sentence: ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} {joint} {last}" if first else last


def number_of(count: int, noun: str) -> str:
    """A number of things, such as ``1 run`` and ``1,204 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def distance(left: str, right: str) -> int:
    """Edits (insert, delete, replace, swap two neighbors) between two words: their optimal string alignment."""
    before_previous: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        current = [i]
        for j, b in enumerate(right, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before_previous[j - 2] + 1)
            current.append(cost)
        before_previous, previous = previous, current
    return previous[-1]


def nearest(word: str, known: Iterable[str], *, value_of: Callable[[str], Any] | None = None) -> str | None:
    """The known word that ``word`` most likely stands for, or ``None`` if no known word is close.

    Case and the choice of ``-``, ``_`` or a space are ignored. Up to a third of the letters may be wrong, and at least
    one. With ``value_of``, the result is ``None`` if several words are equally near and have different values.
    """
    words = list(known)
    best: list[tuple[int, int, str]] = []
    for candidate in words:
        allowed = max(1, min(len(word), len(candidate)) // 3)
        if abs(len(word) - len(candidate)) > allowed:
            continue  # a lower bound of the distance
        edits = distance(_plain(word), _plain(candidate))
        if edits <= allowed:
            best.append((edits, abs(len(word) - len(candidate)), candidate))
    if best:
        best.sort()
        same = [candidate for edits, _, candidate in best if edits == best[0][0]]
        if value_of is not None and len({value_of(candidate) for candidate in same}) > 1:
            return None
        return best[0][2]
    if len(word) < 3:
        return None
    starts = sorted(c for c in words if _plain(c).startswith(_plain(word)))
    return starts[0] if starts else None


def _plain(text: str) -> str:
    return text.casefold().replace("-", "_").replace(" ", "_")


def hint(word: str, known: Iterable[str], *, lister: str = "") -> str:
    """The end of an error message, ``did you mean 'cubic'?`` or the allowed words if no word is close.

    A long list is reduced to the most similar words; the command ``lister`` prints the whole list.
    """
    words = sorted(known)
    near = nearest(word, words)
    if near is not None:
        return f"did you mean '{near}'?"
    if not words:
        return "nothing is allowed here"
    if len(words) <= _LONGEST_LIST:
        return f"allowed: {', '.join(words)}"
    alike = _alike(word, words)
    some = f"allowed: {', '.join(alike)} and {len(words) - len(alike)} more" if alike else f"there are {len(words)}"
    return f"{some}; '{lister}' lists them" if lister else some


def _alike(word: str, words: list[str]) -> list[str]:
    """The few words of a long list that are most similar to an unknown word."""
    from difflib import get_close_matches

    if len(word) > 2 * max(map(len, words)):
        return []
    return get_close_matches(word, words, n=_NEAR_WORDS, cutoff=0.4)
