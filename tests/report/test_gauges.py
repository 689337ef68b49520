"""The small picture of a number beside its allowed range."""

from __future__ import annotations

import math

import pytest

from elephan.report import pages
from elephan.report.gauges import WIDTH, Gauge
from elephan.report.tables import table


@pytest.mark.parametrize(("least", "most"), [(0.5, math.inf), (-math.inf, 0.5), (0.2, 0.5), (-math.inf, math.inf)])
@pytest.mark.parametrize("value", [-3.0, 0.3, 0.5, 80.0])
def test_the_dot_is_in_the_range_exactly_if_the_value_is_allowed(least: float, most: float, value: float) -> None:
    gauge = Gauge(value, value - 0.1, value + 0.1, least, most, "use")
    left, width = gauge.allowed
    assert (left <= gauge.dot <= left + width) == (least <= value <= most)
    assert gauge.interval is not None
    assert 0 <= gauge.interval[0] < gauge.dot < gauge.interval[1] <= WIDTH


def test_a_value_without_an_interval_or_a_bound_has_a_picture() -> None:
    gauge = Gauge(0.0, math.nan, math.nan, -math.inf, math.inf, "use")
    assert gauge.interval is None
    assert gauge.allowed == (0.0, WIDTH)
    assert 0 < gauge.dot < WIDTH


def test_a_picture_says_in_words_what_it_shows() -> None:
    shown = table("numbers", ["verdict", "figure"], [["not settled", Gauge(1.0, 0.5, 2.0, 0.0, math.inf, "<use>")]])
    page = {
        "title": "t", "answers": [], "notes": [], "citation": "", "sides": [], "matrix": shown, "figures": [],
        "criteria": [], "obligations": [], "evidence": [], "provenance": [],
    }  # fmt: skip
    text = pages.render("evaluation.html.j2", {}, page=page)
    assert 'aria-label="&lt;use&gt;"' in text
    assert '<span class="verdict not_settled">not settled</span>' in text
