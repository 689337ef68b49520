"""Functions of upper layers for a lower layer to call.

A run offers its summary and its figures as methods, and both are computed from metrics, which read runs. Runs do not
import metrics: the package's top, which knows every layer, registers the place of each function
(``"elephan.metrics.summary:summarize"``), and the function is imported when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_places: dict[str, str] = {}


def register(places: Mapping[str, str]) -> None:
    """Set the places of hooks, each as ``module:function``."""
    _places.update(places)


def hook(name: str) -> Callable[..., Any]:
    """The function of a registered hook."""
    module, _, function = _places[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
