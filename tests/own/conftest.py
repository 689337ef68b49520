"""Files with algorithms in them, and the paths that they run on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

AIMD = '''
import elephan


class Mine(elephan.Algorithm):
    """Additive increase, multiplicative decrease.

    As everybody knows it.
    """

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = beta

    def on_ack(self, ack):
        if ack.may_grow:
            self.window += ack.acked / self.window

    def on_congestion(self, signal):
        self.ssthresh = self.window = max(self.beta * self.window, 2.0)
'''

SCENARIO = """
duration = "6 s"

[dumbbell]
rate = "10 Mbit/s"
rtt = "40 ms"
buffer = "30 packets"

[[flow]]
algorithm = "reno"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with a scenario in it, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELEPHAN_STORE", str(tmp_path / "store"))
    (tmp_path / "path.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture
def write(here: Path) -> Callable[..., Path]:
    """Write an algorithm's file, by default plain AIMD, with some of its text replaced."""

    def written(name: str = "mine.py", **replaced: str) -> Path:
        text = AIMD
        for old, new in replaced.items():
            assert old in text
            text = text.replace(old, new)
        path = here / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return written
