"""The simulator beside a Linux guest that tc and a small program in C set up. Skipped where no kernel is built."""

from __future__ import annotations

import shutil

import pytest
from tests import scripts

from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import kernels, lab

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
TOOLS = ", ".join(tool for tool in ("gcc", "ip", "tc", "sysctl") if shutil.which(tool) is None)
pytestmark = [
    pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can"),
    pytest.mark.skipif(bool(TOOLS), reason=f"{TOOLS} not installed (Debian: apt install gcc iproute2 procps)"),
]
COMPARE = scripts.load("benches/reference/compare.py")


@pytest.mark.parametrize("number", [0, 16, 19])
def test_a_draw_agrees(number: int) -> None:
    draw = COMPARE.drawn(number).varied(1)
    linux, windows = COMPARE.on_linux(draw, 1, kernels.chosen(), False)
    found = list(COMPARE.different([COMPARE.in_simulator(draw, 1, windows)], [linux]))
    assert not found
    assert all(flow["goodput_mbps"] > 0 for flow in linux)
