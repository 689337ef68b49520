"""Errors of saved runs."""

from __future__ import annotations

from pathlib import Path

_SHOWN = 60


class RunError(Exception):
    """A run is missing, incomplete, or only in memory; the message has the reason."""


class DamagedRunError(RunError):
    """A file of a saved run is no longer as it was saved.

    Attributes:
        path: the file.
        problem: the difference.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; the saved run is damaged: run its scenario again"


class DamagedRunWarning(UserWarning):
    """A damaged run was found in a store; the message names the file, the reason and the effect on the run."""


def shown(value: object) -> str:
    """A value of a damaged file, short and in one line."""
    text = " ".join((str(value) if isinstance(value, str | BaseException) else repr(value)).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
