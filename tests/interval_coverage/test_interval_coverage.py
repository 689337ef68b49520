"""A tenth of the paths, and what the command does with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scipy import stats
from tests.interval_coverage import __main__ as command
from tests.interval_coverage import trial
from tests.interval_coverage.trial import PATHS, QUANTITIES, Row

TENTH = PATHS // 10


@pytest.mark.large
def test_a_tenth_of_the_paths_is_covered_as_chance_allows() -> None:
    """Bounds: fewer of n intervals that cover 94 % (eight seeds, a mean of 200) come once in a thousand times."""
    rows = [row for number in range(1, TENTH + 1) for row in trial.rows(number)]
    for one in trial.coverage(rows):
        assert one.covered >= stats.binom.ppf(0.001, one.intervals, 0.94), one
        assert one.intervals + one.without == (TENTH if one.quantity != "share" else one.intervals), one
        assert one.intervals > 0.4 * TENTH, one
        # Groups of one path are not independent of its shape: of 20 paths two or three are skewed.
        assert 0.90 <= one.groups_fraction <= 0.98, one


def test_paths_are_small_and_the_same_every_time() -> None:
    found = [trial.path(number) for number in range(1, PATHS + 1)]
    assert found == [trial.path(number) for number in range(1, PATHS + 1)]
    assert len({scenario.hash for scenario in found}) == PATHS
    assert {len(scenario.flow) for scenario in found} == {1, 2, 3}
    for scenario in found:
        assert scenario.dumbbell_ is not None
        assert 1e6 <= scenario.dumbbell_.rate <= 20e6
        assert 10e9 <= scenario.dumbbell_.rtt <= 100e9
        assert 10e12 <= scenario.duration <= 20e12


def test_an_interval_that_misses_and_one_without_width_are_counted() -> None:
    rows = [
        Row(1, "goodput", 1.0, 2.0, 1.5, 5, 0.0, 26, 25),
        Row(2, "goodput", 1.0, 2.0, 2.5, 5, 0.0, 20, 14),
        Row(3, "goodput", None, None, 2.5, 1, 0.0),
    ]
    goodput, share, _ = trial.coverage(rows)
    assert (goodput.intervals, goodput.covered, goodput.without, goodput.fraction) == (2, 1, 1, 0.5)
    assert (goodput.groups, goodput.groups_covered) == (46, 39)
    assert share.intervals == 0
    assert [one.quantity for one in trial.coverage([])] == list(QUANTITIES)


def test_a_command_that_was_interrupted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def rows(number: int) -> list[Row]:
        ran.append(number)
        names = QUANTITIES if len(trial.path(number).flow) > 1 else ("goodput", "queueing delay")
        return [Row(number, name, 1.0, 2.0, 1.5 if number < 9 else 9.0, 5, 0.0) for name in names]

    monkeypatch.setattr(trial, "rows", rows)
    kept = tmp_path / "rows.jsonl"
    words = ["--jobs", "1", "--rows", str(kept), "--paths"]
    command.main([*words, "3"])
    with kept.open("a") as file:
        file.write('{"engine": "another"}{"path": 4}\n{"engine": "cut o')
    status = command.main([*words, "10"])
    assert sorted(ran) == list(range(1, 11))
    out = capsys.readouterr().out
    assert "| goodput | 10 | 8 | 80.0% | 0 | nan% of 0 |" in out
    assert re.search(r"missed: path 9 \(.*\) goodput, skewness 0.0: 1 to 2, mean 9", out)
    assert status == 1, "80 % is too few"
