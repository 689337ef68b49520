"""``elephan explain --replay``: where a sender departs from an algorithm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.explanation.conftest import Make

import elephan
from elephan.cli.main import run_command
from elephan.explanation.algorithm import Followed
from elephan.explanation.replaying import Replay


def test_a_sender_keeps_to_its_own_algorithm_and_departs_from_another(make: Make) -> None:
    found = elephan.explain(make())
    own, other = found.replay("cubic"), found.replay("stcp")
    assert own.share > 0.98
    assert other.share < 0.9
    assert sum(one.segments for one in other.stretches) == other.departs.sum()
    assert [one.start_s for one in other.stretches] == sorted(one.start_s for one in other.stretches)
    assert other.text.startswith("Replay of stcp: ")


def test_stretches_say_what_left_earlier_and_later() -> None:
    sent = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.0])
    allowed = np.array([0.0, 0.15, 0.25, 4.0, 4.2, np.nan])
    windows = pl.DataFrame({"time_s": [0.0, 0.05, 4.9, 8.0], "window": [10, 11, 12, 13], "in_flight": [1, 2, 3, 4]})
    replay = Replay(Followed("reno", pl.DataFrame({"sent_s": sent, "allowed_s": allowed}), windows), 1e-3, 1.0)
    early, late, never = replay.stretches
    assert (early.segments, early.window, early.in_flight) == (2, 11, 2)
    assert early.late_s == pytest.approx(-0.05)
    assert late.late_s == pytest.approx(0.95)
    assert never.late_s == -np.inf
    assert replay.share == pytest.approx(1 / 6)
    assert [row[3] for row in replay.rows()] == ["earlier", "later", "earlier"]
    assert replay.document()["stretches"][2]["late_s"] is None
    assert "3 left earlier, and 2 later" in replay.text


def test_the_command_shows_a_replay_in_text_json_and_page(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(make())
    assert run_command(["explain", path, "--limits", "--replay", "stcp", "--out", str(tmp_path)]) == 0
    assert "Departures from stcp" in capsys.readouterr().out
    assert "Replay of stcp" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run_command(["explain", path, "--limits", "--replay", "stcp", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["replay"]["algorithm"] == "stcp"
    assert len(document["replay"]["stretches"]) <= document["replay"]["stretches_in_all"]


def test_an_algorithm_that_no_sender_has_is_one_line(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("xcp", "c4", "wrong", "cubic:wrong"):
        assert run_command(["explain", str(make()), "--replay", name, "--json"]) == 2
        assert capsys.readouterr().err.count("\n") == 1, name
