"""The nearest right word: which of the known words a mistyped one was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

_SHORTEST_LIST_TO_SUMMARIZE = 24


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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` most likely stands for, or ``None`` when none is close.

    Case and the choice of ``-``, ``_`` or a space do not count. A third of the letters may be wrong, and always one.
    """

    def plain(text: str) -> str:
        return text.casefold().replace("-", "_").replace(" ", "_")

    words = list(known)
    best: tuple[int, int, str] | None = None
    for candidate in words:
        edits = distance(plain(word), plain(candidate))
        allowed = max(1, min(len(word), len(candidate)) // 3)
        rank = (edits, abs(len(word) - len(candidate)), candidate)
        if edits <= allowed and (best is None or rank < best):
            best = rank
    if best is not None:
        return best[2]
    if len(word) < 3:
        return None
    starts = sorted(c for c in words if plain(c).startswith(plain(word)))
    return starts[0] if starts else None


def hint(word: str, known: Iterable[str]) -> str:
    """The end of an error line: ``did you mean 'cubic'?``, or what is allowed when nothing is near."""
    words = sorted(known)
    near = nearest(word, words)
    if near is not None:
        return f"did you mean '{near}'?"
    if not words:
        return "nothing is allowed here"
    if len(words) > _SHORTEST_LIST_TO_SUMMARIZE:
        return f"allowed: {', '.join(words[:_SHORTEST_LIST_TO_SUMMARIZE])}, …"
    return f"allowed: {', '.join(words)}"
