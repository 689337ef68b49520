"""Answers of a student, as the page saves them: strangers' files, so everything about them is bounded and checked."""

from __future__ import annotations

FORMAT = 1
MOST_CHARACTERS = 4000
"""Longest written answer."""
