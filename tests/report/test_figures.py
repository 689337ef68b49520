"""Figures: what they show, on the screen and in print."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.browsing import unpacked

from elephan.report.charts import BarChart, BarPanel, Bars
from elephan.report.figures import Curve, Panel, Traces, save, thinned
from elephan.web.living import packed

WINDOWS = Traces(
    "windows",
    "Windows",
    "Two flows.",
    (
        Panel(
            "early",
            "cwnd (segments)",
            (Curve("a", 0.0, 0.1, [1.0, 2.0, 3.0]), Curve("b", 0.0, 0.1, [None, 1.0, 2.0], 1)),
        ),
        Panel("late", "cwnd (segments)", (Curve("a", 0.0, 0.1, [3.0, 2.0, 1.0]),)),
    ),
    shaded=(0.1, 0.2, "measured"),
)
BARS = BarChart(
    "bars",
    "Pairs",
    "Who wins.",
    (
        BarPanel("Region 1", "|A|", ("X › Y", "Y › Y"), (Bars("flow 1", (0.1, 0.2), notes=("X", "Y")),), (0.0, 0.2)),
        BarPanel("not placed", "|A|", ("Y › X",), (Bars("flow 1", (0.5,)),), top=1.04),
    ),
    columns=2,
)


def test_bars_stand_in_panels_with_their_expected_range() -> None:
    drawn = BARS.spec()
    (band,) = drawn["layout"]["shapes"]
    assert (band["yref"], band["y0"], band["y1"]) == ("y", 0.0, 0.2)
    assert drawn["layout"]["yaxis2"]["range"] == [0, 1.04]
    assert drawn["layout"]["yaxis"]["domain"] == drawn["layout"]["yaxis2"]["domain"]
    assert drawn["data"][0]["customdata"] == ["X", "Y"]


def test_panels_have_axes_of_their_own_and_zoom_together() -> None:
    drawn = WINDOWS.spec()
    assert [trace["yaxis"] for trace in drawn["data"]] == ["y", "y", "y2"]
    assert drawn["layout"]["xaxis2"]["matches"] == "x"
    assert "segments" in drawn["layout"]["yaxis"]["title"]["text"]
    assert drawn["layout"]["xaxis2"]["title"]["text"] == "time (s)"
    assert drawn["data"][1]["y"][0] is None


@pytest.mark.parametrize("figure", [WINDOWS, BARS], ids=["traces", "bars"])
def test_figures_are_valid_json_for_the_page(figure: Traces | BarChart) -> None:
    assert unpacked(packed(figure.spec()))["data"]


@pytest.mark.parametrize("figure", [WINDOWS, BARS], ids=["traces", "bars"])
def test_print_figures_have_units_and_the_same_bytes_every_time(figure: Traces | BarChart, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first = save(figure, tmp_path)
    second = save(figure, tmp_path / "again")
    assert [path.suffix for path in first] == [".pdf", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first[0].read_bytes().startswith(b"%PDF")
    svg = first[1].read_text()
    assert ("cwnd (segments)" in svg and "time (s)" in svg) or "|A|" in svg


def test_data_cannot_end_the_script_that_it_stands_in() -> None:
    text = packed({"title": "</script><script>alert(1)</script><!-- x"})
    assert "<" not in text
    assert unpacked(text)["title"] == "</script><script>alert(1)</script><!-- x"


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=1, max_size=300), st.integers(1, 40))
def test_thinning_keeps_the_extremes(values: list[float | None], bins: int) -> None:
    kept, stretch = thinned(values, bins)
    known = [value for value in values if value is not None]
    left = [value for value in kept if value is not None]
    assert len(kept) <= max(2 * bins, 1)
    if known:
        assert (min(left), max(left)) == (min(known), max(known))
    assert abs(len(kept) * stretch - len(values)) <= max(2 * stretch, 1)
