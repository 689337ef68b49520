"""Plots and pages of sweeps: which kind is drawn of which axes, in which units, and what a page has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.report.browsing import BROWSER, browse
from tests.runs import synthetic

import elephan
from elephan import backends, metrics
from elephan.metrics import MetricError
from elephan.report.sweeps import figure, positions
from elephan.runs import Run, Store, Sweep
from elephan.runs.axes import axes_of
from elephan.scenario import ScenarioError

mpl.use("agg")
RTT = {"dumbbell.rtt": ["40 ms", "10 ms", "20 ms"]}
BUFFER = {"dumbbell.buffer": ["100 packets", "200 packets"]}
WORDS = {"flow[0].algorithm": ["cubic", "reno"]}
PLOTTED = 'data-drawn="'


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "get", lambda name, memory=None: synthetic.WrittenBackend())
        yield Store(tmp_path_factory.mktemp("store"))


def made(store: Store, axes: Any, seeds: int | None = None, **more: Any) -> Sweep[Run]:
    scenario = synthetic.scenario(duration="20 s", start_jitter="10 ms", **more)
    return elephan.sweep(elephan.grid(scenario, axes, seeds=seeds), store=store)


def only_axes(figure: Figure) -> Axes:
    return figure.axes[0]


def numbers(found: Any) -> list[float]:
    return [float(number) for number in found]


def test_one_axis_of_numbers_is_a_line_with_a_band(store: Store) -> None:
    done = made(store, RTT, seeds=3)
    ax = only_axes(done.plot("sum_throughput_mbps"))
    (line,) = ax.get_lines()
    assert numbers(line.get_xdata()) == [10.0, 20.0, 40.0]
    found = metrics.interval([metrics.sum_throughput_mbps(run) for run in done[:3]])
    assert numbers(line.get_ydata()) == pytest.approx([found.value] * 3)
    (band,) = ax.collections
    assert band.get_paths()[0].get_extents().ymin == pytest.approx(found.low)
    assert band.get_paths()[0].get_extents().ymax == pytest.approx(found.high)
    assert ax.get_xlabel() == "dumbbell.rtt (ms)"
    assert ax.get_ylabel() == "sum_throughput_mbps (Mbit/s)"
    assert ax.get_title(loc="left")
    assert ax.get_legend() is None


def test_words_beside_numbers_are_lines(store: Store) -> None:
    figure = made(store, RTT | WORDS).plot("utilization")
    (legend,), ax = figure.legends, only_axes(figure)
    assert [text.get_text() for text in legend.get_texts()] == ["cubic", "reno"]
    assert [numbers(line.get_xdata()) for line in ax.get_lines()] == [[10.0, 20.0, 40.0]] * 2


def test_words_alone_are_categories(store: Store) -> None:
    ax = only_axes(made(store, WORDS, seeds=2).plot("sum_throughput_mbps"))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["cubic", "reno"]
    assert len(ax.containers) == 2, "bars with error bars"


def test_two_axes_of_numbers_are_a_heat_map(store: Store) -> None:
    done = made(store, RTT | BUFFER)
    figure = done.plot("queue_occupancy")
    ax = only_axes(figure)
    (image,) = ax.images
    cells = image.get_array()
    assert cells is not None
    assert cells.shape == (2, 3)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10", "20", "40"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["200", "100"], "the largest is above"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dumbbell.rtt (ms)", "dumbbell.buffer (packets)")
    assert len(figure.axes) == 2, "the second is the scale of colors"


def test_a_heat_map_has_each_mean_in_its_cell(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from elephan.metrics import sweeps

    def rtt_by_buffer(run: Run, window: Any = None) -> float:
        table = run.scenario.to_dict()["dumbbell"]
        return float(table["rtt"].split()[0]) + float(table["buffer"].split()[0])

    odd = metrics.Metric("throughput_cov", "s", "", "run", rtt_by_buffer)
    monkeypatch.setattr(sweeps, "get", lambda name: odd)
    monkeypatch.setattr("elephan.report.sweeps.get", lambda name: odd)
    (image,) = only_axes(made(store, RTT | BUFFER).plot("throughput_cov")).images
    cells = image.get_array()
    assert cells is not None
    assert cells.tolist() == [[210, 220, 240], [110, 120, 140]]


def test_the_kind_and_the_x_axis_can_be_chosen(store: Store) -> None:
    done = made(store, RTT | BUFFER)
    assert len(only_axes(done.plot("utilization", kind="lines")).get_lines()) == 2
    ax = only_axes(done.plot("utilization", x="dumbbell.buffer"))
    assert ax.get_xlabel() == "dumbbell.buffer (packets)"
    assert len(ax.get_lines()) == 3
    assert only_axes(made(store, RTT | WORDS).plot("utilization", kind="heatmap")).images
    with pytest.raises(ScenarioError, match=r"x: 'dumbbell.rt' is not an axis; did you mean 'dumbbell.rtt'"):
        done.plot("utilization", x="dumbbell.rt")
    with pytest.raises(ScenarioError, match="a heat map has two axes"):
        made(store, RTT).plot("utilization", kind="heatmap")


def test_it_draws_into_given_axes(store: Store) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    done = made(store, RTT)
    assert done.plot("utilization", ax=left, title="mine") is figure
    assert left.get_title(loc="left") == "mine"
    assert left.get_lines()
    assert not right.get_lines()
    assert done.plot("utilization", size=(2, 1)).get_size_inches().tolist() == [2, 1]


def test_a_metric_of_flows_has_a_line_for_each(store: Store) -> None:
    shown = figure(made(store, RTT), "throughput_share").spec()
    assert [line["name"] for line in shown["data"]] == ["cubic-1", "bic-2"]


def test_numbers_far_apart_are_on_a_logarithmic_axis(store: Store) -> None:
    wide = made(store, {"dumbbell.rate": ["10 Mbit/s", "100 Mbit/s", "1 Gbit/s"]})
    ax = only_axes(wide.plot("utilization"))
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "dumbbell.rate (bit/s)"
    assert only_axes(made(store, RTT).plot("utilization")).get_xscale() == "linear"


def test_a_metric_without_values_is_one_line(store: Store) -> None:
    with pytest.raises(MetricError, match="'mean_slowdown' has no value in any run: "):
        made(store, RTT).plot("mean_slowdown")


def test_values_written_in_two_ways_are_at_their_place() -> None:
    (axis,) = axes_of(["x"], [{"x": text} for text in ("1 s", "500 ms", "2 s")])
    assert [place for place, _ in positions(axis)] == [0.5, 1.0, 2.0]


def test_the_page_has_plots_tables_and_provenance(store: Store, tmp_path: Path) -> None:
    done = made(store, RTT | WORDS, seeds=2, title="<b>R & D</b>")
    path = done.report(tmp_path / "page.html", ["utilization", "throughput_share", "mean_slowdown"])
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "page.html"
    assert "&lt;b&gt;R &amp; D&lt;/b&gt;" in text
    assert "<b>R & D" not in text.partition("<script")[0]
    assert "Content-Security-Policy" in text
    assert 'data-figure="sweep-utilization"' in text
    assert 'data-figure="sweep-throughput-share"' in text
    assert "mean_slowdown is not drawn" in text
    assert all(run.id in text for run in done)
    assert "[dumbbell]" in text
    assert (made(store, RTT).report(tmp_path / "folder")).name == "report.html"
    with pytest.raises(ScenarioError, match=r"ends in '.pdf'; write a file that ends in .html, or a folder"):
        done.report("page.pdf")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_draws_the_page(store: Store, tmp_path: Path) -> None:
    pages = [
        made(store, RTT | WORDS, seeds=2).report(tmp_path / "lines.html", "sum_throughput_mbps"),
        made(store, RTT | BUFFER).report(tmp_path / "map.html", "queue_occupancy"),
        made(store, WORDS, seeds=2).report(tmp_path / "bars.html", "sum_throughput_mbps"),
    ]
    for page in pages:
        drawn, said = browse(page, until=lambda text: PLOTTED in text)
        assert PLOTTED in drawn
        assert said == ""


def test_a_notebook_shows_the_means(store: Store) -> None:
    text = made(store, WORDS, seeds=2, title="a <i>title</i>")._repr_html_()
    assert "a &lt;i&gt;title&lt;/i&gt;" in text
    assert text.count("<tr>") == 1 + 2
    assert "sum_goodput_mbps (Mbit/s)</th>" in text
    assert text.count(" ± ") >= 2


def test_seeds_alone_and_no_runs_at_all_are_drawn_and_reported(store: Store, tmp_path: Path) -> None:
    seeds = made(store, {}, seeds=3)
    assert [tick.get_text() for tick in only_axes(seeds.plot("jain")).get_xticklabels()] == ["all seeds"]
    assert "sweep-jain" in seeds.report(tmp_path / "seeds.html", "jain").read_text(encoding="utf-8")
    none = elephan.sweep([], store=store)
    assert none.frame().is_empty()
    with pytest.raises(MetricError, match="the sweep has no runs"):
        none.plot()
    assert "0 runs" in none.report(tmp_path / "none.html").read_text(encoding="utf-8")


def test_tables_of_flows_are_an_axis_of_whole_runs(store: Store) -> None:
    done = made(store, {"flow": [[{"algorithm": "cubic"}], [{"algorithm": "reno"}, {"algorithm": "bic"}]]})
    assert done.frame("jain")["flow"].to_list() == [
        '[{ algorithm = "cubic" }]', '[{ algorithm = "reno" }, { algorithm = "bic" }]',
    ]  # fmt: skip
    with pytest.raises(MetricError, match="the axis 'flow' has the name of the column of flows"):
        done.frame(per="flow")
