"""The part of a family of cases that ``make test`` runs; ``make verify`` runs the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def third(cases: Sequence[str]) -> list[Any]:
    """The cases, of which all but every third are marked ``large``."""
    return [pytest.param(case, marks=[pytest.mark.large] if at % 3 else []) for at, case in enumerate(cases)]
