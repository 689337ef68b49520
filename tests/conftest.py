"""What all tests share: the stand-in for an engine that is not built yet, and the settings of Hypothesis."""

from __future__ import annotations

import json
import sys
import types
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

import elephan

settings.register_profile("elephan", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("elephan")

ENGINE_BUILT = find_spec("elephan._engine") is not None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "engine: needs the compiled engine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ENGINE_BUILT:
        return
    skip = pytest.mark.skip(reason="the engine is not built")
    for item in items:
        if item.get_closest_marker("engine"):
            item.add_marker(skip)


def _stand_in() -> types.ModuleType:
    """Names only: enough to check scenarios before the engine is built."""
    names = ("reno", "hstcp", "stcp", "htcp", "bic", "cubic", "fast", "vegas", "fixed")
    beta = {"name": "beta", "default": 0.7, "min": 0.1, "max": 0.95, "unit": "", "choices": None}
    entries = [
        {
            "name": name,
            "title": name,
            "kind": "loss",
            "presets": [{"name": "2005"}] if name == "cubic" else [],
            "parameters": [beta],
        }
        for name in names
    ]
    queues = [{"name": "droptail", "title": "", "kind": "queue", "presets": [{"name": "ns2"}], "parameters": []}]
    module = types.ModuleType("elephan._engine")
    module.__dict__.update(
        algorithms=lambda: json.dumps(entries), queues=lambda: json.dumps(queues), check=lambda spec: None
    )
    return module


if not ENGINE_BUILT:
    sys.modules["elephan._engine"] = _stand_in()
    elephan.__dict__["_engine"] = sys.modules["elephan._engine"]
