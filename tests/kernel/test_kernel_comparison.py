"""The verdict on a difference: whether the kernel's own runs differ as much among themselves."""

from __future__ import annotations

from typing import Any

from tests.kernel.victim import stated

from elephan.backend_comparison import _line, _wanted
from elephan.backends.kernel.backend import KernelBackend
from elephan.backends.model import ModelBackend
from elephan.backends.sim import SimBackend


def test_a_difference_no_larger_than_the_spread_may_be_the_hosts_own() -> None:
    values: dict[str, Any] = {"sim": [100.0, 102.0], "model": [99.0], "kernel": [103.0, 107.0, 105.0]}
    line = _line("a", "goodput (Mbit/s)", values)
    assert (line.reference, line.values["kernel"], line.spreads) == (101.0, 105.0, {"kernel": 4.0})
    assert line.repeatable == {"kernel": True}
    assert _line("a", "x", values | {"kernel": [105.0, 106.0, 107.0]}).repeatable == {"kernel": False}
    assert _line("a", "x", values | {"kernel": [105.0]}).repeatable == {}, "one run has no spread"
    assert _line("a", "x", values | {"kernel": [None, None]}).repeatable == {}


def test_what_measures_is_repeated_also_where_nothing_is_random() -> None:
    scenario = stated(["cubic"], start_jitter="0 s")
    assert [s.seed for s in _wanted(scenario, KernelBackend(), 1, 3)] == [1, 2, 3]
    assert len(_wanted(stated(["cubic"]), SimBackend(), 4, 3)) == 4
    assert len(_wanted(scenario, ModelBackend(), 4, 3)) == 1
