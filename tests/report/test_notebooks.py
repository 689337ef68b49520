"""Scenarios and runs in a notebook: path, flows, goodputs and warnings, with names that cannot be markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan.runs import Run
from elephan.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)</script>"


class Balance(HTMLParser):
    """Tags that are open, and all that were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> list[str]:
    found = Balance()
    found.feed(text)
    assert found.open == []
    assert "script" not in found.seen
    return found.seen


def test_a_scenario_shows_its_path_and_its_flows() -> None:
    flows: list[Any] = [{"algorithm": "cubic", "name": EVIL}, {"algorithm": "bic", "count": 3, "start": "5 s"}]
    scenario = Scenario.dumbbell(
        flows, rate="20 Mbit/s", rtt="40 ms", buffer="50% BDP", loss="0.1%", duration="60 s", title=f"a {EVIL}", seed=7
    )
    text = scenario._repr_html_()
    assert "svg" in tags(text)
    for part in (
        "20 Mbit/s", "20 ms one way", "33 packets", "0.1%", "40 ms", scenario.hash, "seed 7", "bic-2 × 3",
        "60 s, measured 30 s to 60 s", "&lt;script&gt;alert(1)&lt;/script&gt;", "as much as it may",
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_shows_itself(path: Path) -> None:
    scenario = Scenario.load(path)
    text = scenario._repr_html_()
    tags(text)
    assert all(name in text for name in scenario.flow_names)


def test_a_row_of_links_is_drawn_and_two_ways_are_not() -> None:
    drawn = {
        name: Scenario.load(ROOT / "examples" / f"{name}.toml")._repr_html_() for name in
        ("parking_lot", "against_the_stream")
    }  # fmt: skip
    assert drawn["parking_lot"].count("one way") == 3
    assert "<svg" not in drawn["against_the_stream"]


def test_a_scenario_of_transfers_shows_its_sources() -> None:
    web = {"name": "web", "algorithm": "cubic", "load": "60%"}
    text = Scenario.dumbbell([], rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP", traffic=[web])._repr_html_()
    tags(text)
    assert "source of transfers" in text
    assert "12 Mbit/s" in text


def run(**more: str) -> Run:
    scenario = synthetic.scenario(starts=["0 s", "20 s"], **more)
    windows = {"cubic-1": constant(60.0), "bic-2": constant(20.0)}
    return synthetic.run(scenario, {"cubic-1": constant(40.0), "bic-2": constant(40.0)}, cwnd=windows)


def test_a_run_shows_goodputs_a_figure_warnings_and_its_place() -> None:
    made = run(title=f"a {EVIL}")
    made.manifest["warnings"] = [f"careful {EVIL}"]
    text = made._repr_html_()
    found = tags(text)
    assert found.count("polyline") == 2
    assert "cwnd (segments)" in text
    assert "warning: careful &lt;script&gt;" in text
    assert "in memory only" in text
    assert "not defined: " in text
    assert "goodput (Mbit/s)" in text
    assert made.id in text


def test_the_lines_of_a_run_are_its_windows() -> None:
    text = run()._repr_html_()
    lines = [part.split('"')[1] for part in text.split("<polyline ")[1:]]
    heights = [{round(float(point.split(",")[1]), 1) for point in line.split()} for line in lines]
    # Constant windows are level lines; the axis ends at the larger of them, 60 segments.
    assert [len(height) for height in heights] == [1, 1]
    (high,), (low,) = heights
    base, top = 190 - 34, 20
    assert high == pytest.approx(top, abs=0.2)
    assert (base - low) / (base - top) == pytest.approx(20 / 60, abs=0.01)
