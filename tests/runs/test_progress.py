"""Progress of a sweep: lines where there is no terminal, a bar in a notebook, silence where nobody looks."""

from __future__ import annotations

import sys
import time
import types
from typing import Any

import pytest

from elephan import progress


class Clock:
    """Time as the test tells it, seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_line_every_few_seconds_with_the_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.meter(show=True) as told:
        for second in range(21):
            clock.now_s = 100.0 + second
            told(second * 10, 400, second // 2, 40)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "2/40 runs, 12 %, 0:05 passed, about 0:35 left",
        "5/40 runs, 25 %, 0:10 passed, about 0:30 left",
        "7/40 runs, 38 %, 0:15 passed, about 0:25 left",
        "10/40 runs, 50 %, 0:20 passed, about 0:20 left",
    ]


def test_what_is_short_shows_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.meter(show=True) as told:
        told(0, 10, 0, 2)
        clock.now_s += 4.9
        told(5, 10, 1, 2)
        clock.now_s += 10
        told(10, 10, 2, 2)
    assert capsys.readouterr().err == ""


def test_it_is_silent_where_nobody_looks(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    for show in (None, False):
        with progress.meter(show=show) as told:
            clock.now_s += 60
            told(5, 10, 1, 2)
    assert capsys.readouterr().err == ""


def test_nothing_is_known_of_the_time_before_any_work(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.meter(show=True) as told:
        clock.now_s += 4000
        told(0, 10, 0, 2)
    assert capsys.readouterr().err == "0/2 runs, 0 %, 1:06:40 passed\n"


def test_a_notebook_has_a_bar_in_its_cell(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            drawn.append(data["text/html"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        drawn.append(data["text/html"])
        return Handle()

    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    shown: Any = types.ModuleType("IPython.display")
    shown.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    with progress.meter() as told:
        told(0, 10, 0, 2)
        clock.now_s += 3
        told(2.5, 10, 0, 2)
        clock.now_s += 1
        told(5, 10, 1, 2)
    assert drawn == [
        '<progress value="2.5" max="10"></progress> 0/2 runs, 25 %, 0:03 passed, about 0:09 left',
        '<progress value="5" max="10"></progress> 1/2 runs, 50 %, 0:04 passed, about 0:04 left',
        "<small>0:04 for the sweep</small>",
    ]
    assert capsys.readouterr().err == ""
    ipython.get_ipython = types.SimpleNamespace
    assert not progress.in_notebook(), "IPython in a terminal"


def test_a_bar_in_a_terminal_goes_away(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.meter() as told:
        clock.now_s += 3
        told(5, 10, 1, 2)
        assert isinstance(told, progress.Bar)
        assert told._bar is not None
    assert told._bar is None
