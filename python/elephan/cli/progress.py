"""Progress of a command on stderr: a bar with an ETA in a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager

from elephan import progress
from elephan.progress import Meter


def meter() -> AbstractContextManager[Meter]:
    """A context with a progress callback, for the duration of a sweep."""
    return progress.meter(show=True)
