"""JSON of documents with long lists of steps, such as the 60,000 rates of a recording.

The module ``msgspec`` writes them ten times as fast as the standard library, and each is written once for all scenarios
that share it. All else is left to the standard library, which writes some floats differently, since hashes depend on
the bytes.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import msgspec

_MOST_SEARCHED = 1000


class Rows(list[dict[str, int]]):
    """Tables of the same names, in alphabetical order, with whole numbers; they are never changed."""

    @cached_property
    def text(self) -> str:
        """The list as JSON without spaces."""
        return msgspec.json.encode(list(self)).decode()


def dumps(value: Any, *, sort_keys: bool = False, ensure_ascii: bool = True, allow_nan: bool = True) -> str:
    """The text of :func:`json.dumps` without spaces.

    Raises:
        ValueError: a number is infinite or NaN, and ``allow_nan`` is false.
    """

    def written(item: Any) -> str:
        if isinstance(item, Rows):
            return item.text
        if not _has_rows(item):
            return json.dumps(
                item, sort_keys=sort_keys, ensure_ascii=ensure_ascii, allow_nan=allow_nan, separators=(",", ":")
            )
        if isinstance(item, list):
            return "[" + ",".join(map(written, item)) + "]"
        pairs = sorted(item.items()) if sort_keys else item.items()
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=ensure_ascii)}:{written(v)}" for name, v in pairs) + "}"

    return written(value)


def as_read(value: Any) -> Any:
    """The value that :func:`json.loads` reads from :func:`dumps`; it shares long lists with ``value``.

    Raises:
        ValueError: a number is infinite or NaN.
    """
    if isinstance(value, Rows):
        return value
    if not _has_rows(value):
        return json.loads(json.dumps(value, allow_nan=False))
    return {name: as_read(v) for name, v in value.items()} if isinstance(value, dict) else [as_read(v) for v in value]


def _has_rows(value: Any) -> bool:
    """True if a value contains :class:`Rows`; lists with more members than a graph has links are not searched."""
    if isinstance(value, dict):
        return any(map(_has_rows, value.values())) and all(type(name) is str for name in value)
    return isinstance(value, Rows) or (
        isinstance(value, list) and len(value) <= _MOST_SEARCHED and any(map(_has_rows, value))
    )
