"""Closed forms: what theory says of an algorithm, to hold beside what a run measures."""

from __future__ import annotations

from elephan.models.response import RESPONSES, Response, mean_window, westwood

__all__ = ["RESPONSES", "Response", "mean_window", "westwood"]
