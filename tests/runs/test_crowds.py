"""Output that a person sees of a run with hundreds of flows."""

from __future__ import annotations

from pathlib import Path

import pytest

import elephan
from elephan import Run, Scenario, Store
from elephan.cli.main import run_command
from elephan.runs.crowds import MOST_ROWS, QUANTILES, over_flows


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic", "count": 60, "start_spread": "500 ms"}, "bbr"],
        rate="100 Mbit/s", rtt="40 ms", buffer="50% BDP", duration="1.5 s",
    )  # fmt: skip
    return elephan.run(scenario, store=Store(tmp_path_factory.mktemp("store")))


def test_quantiles_are_over_the_flows_of_each_algorithm() -> None:
    rows = [{"algorithm": "cubic", "x": float(i), "y": None} for i in range(101)] + [
        {"algorithm": "bbr", "x": 7, "y": 1}
    ]
    found = over_flows(rows, ["x", "y"])
    assert [(row["algorithm"], row["flows"], row["quantile"]) for row in found] == [
        (name, count, quantile) for name, count in (("cubic", 101), ("bbr", 1)) for quantile in QUANTILES
    ]
    assert [row["x"] for row in found] == pytest.approx([0, 5, 25, 50, 75, 95, 100, *[7] * 7])
    assert [row["y"] for row in found] == [None] * 7 + [1.0] * 7


def test_a_crowd_is_shown_by_quantiles(crowd: Run) -> None:
    page = crowd._repr_html_()
    assert len(crowd.flows) > MOST_ROWS
    assert "of 61 flows" in page
    assert ">median</td>" in page
    assert "cubic-1-17" not in page


def test_a_crowd_has_one_line_for_what_all_of_its_flows_share(crowd: Run) -> None:
    few = [line for line in crowd.summary()["warnings"] if "fewer than 3 congestion events" in line]
    assert len(few) == 1
    assert few[0].split()[1] == "flows,"


def test_the_command_shows_quantiles_and_json_has_each_flow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(
        'duration = "1 s"\n[dumbbell]\nrate = "50 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 BDP"\n'
        '[[flow]]\nalgorithm = "reno"\ncount = 50\n'
    )
    words = ["run", str(file), "--store", str(tmp_path / "store")]
    assert run_command(words) == 0
    shown = capsys.readouterr().out
    assert "quantiles over 50 flows" in " ".join(shown.split())
    assert "reno-1-31" not in shown
    assert run_command([*words, "--json"]) == 0
    assert '"reno-1-31"' in capsys.readouterr().out
