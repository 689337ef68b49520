"""Charts of points, bars in groups and tables: what they show, on the screen and in print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elephan.report.charts import BarChart, BarPanel, Bars, DataTable, LineChart, LinePanel, Points
from elephan.report.figures import COLORS, Figure, save

LINES = LineChart(
    "lines",
    "Lines",
    "Two series over a parameter.",
    (
        LinePanel(
            "small",
            "buffer (packets)",
            "throughput (Mbit/s)",
            (
                Points("a", (1, 10, 100), (5.0, None, 7.0), (4.0, None, 6.5), (5.5, None, 9.0)),
                Points("b", (1, 10, 100), (1.0, 2.0, 3.0), style=8),
            ),
        ),
        LinePanel("large", "loss", "rate", (Points("a", (1e-6, 1e-5), (1.0, 2.0)),), log_x=True, log_y=True),
    ),
)
BARS = BarChart(
    "bars",
    "Bars",
    "Two flows of two protocols.",
    (
        BarPanel(
            "600",
            "Mbit/s",
            ("X", "Y"),
            (Bars("flow 1", (90.0, 80.0), (85.0, 80.0), (99.0, 80.0)), Bars("2", (10.0, None), color=1)),
        ),
    ),
)
TABLE = DataTable("table", "Table", "Rows.", ("who", "T1"), (("X", "1.0"), ("Y", "2.0")), frozenset({(1, 1)}))


def test_values_and_their_ends_are_shown() -> None:
    first, second, _ = LINES.spec()["data"]
    assert first["y"] == [5.0, None, 7.0]
    assert first["error_y"]["array"] == pytest.approx([0.5, 0.0, 2.0])
    assert first["error_y"]["arrayminus"] == pytest.approx([1.0, 0.0, 0.5])
    assert second["error_y"]["visible"] is False
    assert second["line"]["color"] == COLORS[8] != first["line"]["color"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]


def test_a_series_of_several_panels_is_named_once() -> None:
    traces = LINES.spec()["data"]
    assert [trace["name"] for trace in traces if trace["showlegend"]] == ["a", "b"]
    layout = LINES.spec()["layout"]
    assert (layout["xaxis"]["type"], layout["xaxis2"]["type"], layout["yaxis2"]["type"]) == ("linear", "log", "log")
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]


def test_bars_stand_in_groups() -> None:
    drawn = BARS.spec()
    assert drawn["layout"]["barmode"] == "group"
    assert drawn["data"][0]["x"] == ["X", "Y"]
    assert drawn["data"][0]["error_y"]["array"] == pytest.approx([9.0, 0.0])


def test_what_stands_out_in_a_table_is_bold() -> None:
    assert TABLE.cells == [[("X", ""), ("1.0", "num")], [("Y", ""), ("2.0", "num strong")]]


def test_a_cell_has_its_verdict() -> None:
    marked = DataTable("t", "T", "", ("who", "published", "ours"), (("X", "1", "–"),), marks={(0, 2): "not_judged"})
    assert marked.cells == [[("X", ""), ("1", "num"), ("–", "num not_judged")]]


def test_published_numbers_stand_out_from_measured_ones() -> None:
    series = (Points("a", (1.0,), (2.0,)), Points("a, published", (1.0,), (2.5,), drawn="published"))
    chart = LineChart("stars", "Stars", "", (LinePanel("", "p", "rate", series),))
    ours, theirs = chart.spec()["data"]
    assert (theirs["mode"], theirs["marker"]["symbol"]) == ("markers", "star")
    assert ours["marker"]["symbol"] != "star"
    assert "*" in [line.get_marker() for line in chart.draw().axes[0].get_lines()]


@pytest.mark.parametrize("figure", [LINES, BARS, TABLE])
def test_they_are_json_and_print(figure: Figure, tmp_path: Path) -> None:
    json.dumps(figure.spec(), allow_nan=False)
    for path in save(figure, tmp_path):
        assert path.stat().st_size > 2000


def test_a_model_is_a_line_and_what_was_measured_are_markers() -> None:
    series = (Points("model", (1.0, 2.0), (1.0, 2.0), drawn="line"), Points("run", (1.0,), (1.1,), drawn="markers"))
    chart = LineChart("both", "Both", "", (LinePanel("", "p", "rate", series, log_x=True, borders=(1.5, 1.8)),))
    drawn = chart.spec()
    assert [trace["mode"] for trace in drawn["data"]] == ["lines", "markers"]
    assert [shape["x0"] for shape in drawn["layout"]["shapes"]] == [1.5, 1.8]
    *borders, line, mark = chart.draw().axes[0].get_lines()
    assert [border.get_linestyle() for border in borders] == ["--", "--"]
    assert line.get_marker() == ""
    assert line.get_linewidth() > 0.5
    assert mark.get_linewidth() == 0.0
