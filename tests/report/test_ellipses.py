"""The figure of ellipses: both drawings have the same points, and the delay grows to the left."""

from __future__ import annotations

from elephan.report.charts import Blob, Ellipses

FIGURE = Ellipses(
    "e", "title", "caption", "delay (ms)", "goodput (Mbit/s)",
    (
        Blob("codel", "mild", [1.0, 2.0, 3.0], [5.0, 6.0, 5.0], (2.0, 5.0), ([1.0, 3.0, 1.0], [5.0, 6.0, 5.0])),
        Blob("codel", "heavy", [4.0, 4.0], [9.0, 9.0], (4.0, 9.0), None),
        Blob("pie", "mild", [7.0, 8.0], [1.0, 2.0], (7.5, 1.5), None),
    ),
)  # fmt: skip


def test_the_screen_has_a_contour_where_there_is_one_and_one_entry_a_series() -> None:
    made = FIGURE.spec()
    assert made["layout"]["xaxis"]["autorange"] == "reversed"
    assert [trace.get("fill") for trace in made["data"]].count("toself") == 1
    assert [trace["name"] for trace in made["data"] if trace.get("showlegend")] == ["codel", "pie"]
    assert [trace["text"] for trace in made["data"] if "text" in trace] == [["mild"], ["heavy"], ["mild"]]


def test_print_has_the_axis_reversed_and_both_series_in_the_legend() -> None:
    figure = FIGURE.draw()
    (ax,) = figure.axes
    left, right = ax.get_xlim()
    assert left > 8 > 1 > right
    assert ax.get_xlabel() == "delay (ms)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["codel", "pie"]
