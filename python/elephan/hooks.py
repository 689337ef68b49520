"""Hooks: functions of higher layers that a lower layer calls.

A run has its summary and its figures as methods. The summary and the figures are computed from metrics, which read
runs, so runs must not import metrics. The top-level package registers the path of each function
(``"elephan.metrics.summary:summarize"``); the function is imported at its first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_places: dict[str, str] = {}


def register(places: Mapping[str, str]) -> None:
    """Set the paths of hooks, each as ``module:function``."""
    _places.update(places)


def hook(name: str) -> Callable[..., Any]:
    """The function of a registered hook."""
    module, _, function = _places[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
