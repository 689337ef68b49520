"""Errors about wrong input: one line with the field, the value, the allowed values and the most similar word."""

from __future__ import annotations

_LONGEST_WORD = 240
_LONGEST_MESSAGE = 1000


class ScenarioError(Exception):
    """A scenario, an option or a name that a user gave is wrong.

    ``str(error)`` is the line to print. The line has the form ``source: path: message``, without the parts that are not
    known.

    Attributes:
        source: the file or option that the value came from, or ``None``.
        path: the field, as ``flow[1].algorithm``; empty when the input as a whole is wrong.
        message: the value that was read, the allowed values, and the nearest right word if there is one.
    """

    def __init__(self, message: str, *, path: str = "", source: str | None = None) -> None:
        self.message = one_line(message)
        self.path = path
        self.source = source
        super().__init__(self.message)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.path, self.message) if part)

    def located(self, *, source: str | None = None, path: str = "") -> ScenarioError:
        """The same error with ``source``, unless it has a source already, and with ``path`` before its own path."""
        joined = join_path(path, self.path)
        return ScenarioError(self.message, path=joined, source=self.source or source)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.message, self.path, self.source))


def one_line(message: str) -> str:
    """A message in one line that a terminal can show: the middle of long words is left out, and control characters are
    escaped."""
    words = [_cut(word, _LONGEST_WORD) for word in message.split()]
    return _cut("".join(map(_visible, " ".join(words))), _LONGEST_MESSAGE)


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 4 :]}"


def _rebuild(message: str, path: str, source: str | None) -> ScenarioError:
    return ScenarioError(message, path=path, source=source)


def join_path(*parts: str | int) -> str:
    """Join field names and list positions: ``("flow", 1, "algorithm")`` is ``flow[1].algorithm``."""
    joined = ""
    for part in parts:
        if isinstance(part, int):
            joined += f"[{part}]"
        elif part:
            joined += f".{part}" if joined and not part.startswith("[") else part
    return joined
