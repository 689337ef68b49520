"""Closed forms: predictions of theory for an algorithm, to compare with the measurements of a run."""

from __future__ import annotations

from elephan.models.response import RESPONSES, Response, mean_window, westwood

__all__ = ["RESPONSES", "Response", "mean_window", "westwood"]
