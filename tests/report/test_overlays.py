"""Overlays of runs: one color an algorithm, bands for many lines, and files that journals accept."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant, step

from elephan.metrics import MetricError
from elephan.report import overlays, plots, printed
from elephan.report.overlays import Band, inches, thinned_band, thinned_line, variant
from elephan.runs import Run


def pair(title: str = "a pair", first: str = "cubic", second: str = "bic", seed: int = 1) -> Run:
    named = {"title": title} if title else {}
    stated = synthetic.scenario([first, second], start_jitter="1 s", seed=seed, **named)
    names = [flow.name for flow in stated.form.flows]
    return synthetic.run(stated, {names[0]: constant(30.0), names[1]: step(50.0, 0.0, 60.0)})


def test_an_algorithm_has_one_color_in_all_panels_and_runs() -> None:
    overlay = plots.plot([pair("one"), pair("two", "bic", "reno")], ["cwnd", "rate"])
    assert [panel.y_label for panel in overlay.panels] == ["cwnd (segments)", "rate (Mbit/s)"]
    for panel in overlay.panels:
        colors = {line.name: (line.color, line.dash) for line in panel.lines}
        assert list(colors) == ["one: cubic-1", "one: bic-2", "two: bic-1", "two: reno-2"]
        base = overlays.color_of(1)
        assert [colors["one: bic-2"], colors["two: bic-1"]] == [variant(base, 0), variant(base, 1)]
        assert colors["one: cubic-1"][0] == overlays.color_of(0)
        assert colors["two: reno-2"][0] == overlays.color_of(2)
        assert len(set(colors.values())) == 4


def test_values_of_a_rate_are_those_of_the_flow() -> None:
    panel = plots.plot([pair()], ["rate"]).panels[0]
    assert panel.title == ""
    first, second = panel.lines
    known = ~np.isnan(first.values)
    assert first.values[known] == pytest.approx(30.0, rel=1e-6)
    assert second.values[second.times < 49] == pytest.approx(0.0)
    assert second.values[second.times > 51] == pytest.approx(60.0, rel=1e-6)


def test_small_multiples_have_a_column_each() -> None:
    runs = [pair("one"), pair("two")]
    overlay = plots.plot(runs, ["cwnd", "rate"], by="run")
    assert (overlay.rows, overlay.columns) == (2, 2)
    assert [panel.title for panel in overlay.panels] == ["one", "two", "", ""]
    overlay = plots.plot(runs, ["cwnd"], by="flow")
    assert [panel.title for panel in overlay.panels] == ["cubic-1", "bic-2"]
    assert [[line.name for line in panel.lines] for panel in overlay.panels] == [
        ["one: cubic-1", "two: cubic-1"], ["one: bic-2", "two: bic-2"],
    ]  # fmt: skip
    figure = overlay.draw("column")
    assert figure.get_size_inches()[0] == printed.COLUMN_IN
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    with pytest.raises(MetricError, match="7 small multiples below 2 quantities each do not fit, 6 do"):
        plots.plot([pair(str(i)) for i in range(7)], ["cwnd", "rate"], by="run")


def test_many_lines_are_a_median_with_bands() -> None:
    stated = synthetic.scenario(["cubic"])
    runs = [
        synthetic.run(stated, {"cubic-1": constant(10.0 + i)}, cwnd={"cubic-1": constant(100.0 + i)}) for i in range(21)
    ]
    overlay = plots.plot(runs, ["cwnd", "queue"])
    (line,) = overlay.panels[0].lines
    assert line.name == "cubic: median of 21"
    known = ~np.isnan(line.values)
    assert line.values[known] == pytest.approx(110.0)
    assert [band.alpha for band in line.bands] == [0.15, 0.3]
    wide, middle = line.bands
    for values, expected in ((wide.low, 101.0), (wide.high, 119.0), (middle.low, 105.0), (middle.high, 115.0)):
        assert values[known] == pytest.approx(expected)
    assert len(overlay.panels[1].lines) == 1


@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        ([("", "cubic", 1), ("", "bic", 1)], ["cubic, reno", "bic, reno"]),
        ([("one", "cubic", 1), ("two", "cubic", 1)], ["one", "two"]),
        ([("one", "cubic", 1), ("one", "cubic", 2)], ["seed 1", "seed 2"]),
        (
            [("one", "cubic", 1), ("one", "cubic", 2), ("two", "cubic", 1)],
            ["one, seed 1", "one, seed 2", "two, seed 1"],
        ),
    ],
)
def test_runs_are_told_apart_by_what_differs(runs: list[tuple[str, str, int]], labels: list[str]) -> None:
    made = [pair(title, algorithm, "reno", seed) for title, algorithm, seed in runs]
    assert plots.run_labels(made, [title for title, _, _ in runs]) == labels


def test_a_part_of_the_time_has_its_own_scale() -> None:
    stated = synthetic.scenario(["cubic"])
    run = synthetic.run(stated, {"cubic-1": constant(10.0)}, cwnd={"cubic-1": step(50.0, 1000.0, 10.0)})
    figure = plots.plot([run], ["cwnd"], span=(60.0, 80.0)).draw()
    assert figure.axes[0].get_xlim() == (60.0, 80.0)
    assert figure.axes[0].get_ylim()[1] < 20
    assert figure.axes[0].get_xlabel() == "time (s)"


def test_what_is_not_there_is_refused_or_left_out() -> None:
    with pytest.raises(MetricError, match="'cwd' is not a quantity; did you mean 'cwnd'"):
        plots.plot([pair()], ["cwd"])
    with pytest.raises(MetricError, match="'cubic-2' is not a flow of this run"):
        plots.plot([pair()], ["cwnd"], flows=["cubic-2"])
    with pytest.raises(MetricError, match="no run"):
        plots.plot([], ["cwnd"])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("column", 3.5), ("PAGE", 7.16), ("12x8 cm", 12 / 2.54), ("88 × 60 mm", 88 / 25.4), ((5, 3), 5.0), (None, 7.16),
    ],
)  # fmt: skip
def test_sizes_are_those_of_paper(size: str | tuple[float, float] | None, expected: float) -> None:
    assert inches(size)[0] == pytest.approx(expected)


@pytest.mark.parametrize("size", ["wide", "12x8", "0x0 cm", (1000, 2), ("a", "b"), 7])
def test_a_wrong_size_says_what_to_write(size: object) -> None:
    with pytest.raises(ValueError, match=r"not a size|from 1 to 40 in"):
        inches(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_files_have_their_fonts_and_their_origin_and_are_the_same_each_time(kind: str, tmp_path: Path) -> None:
    run = pair("a title with ü")
    overlay = plots.plot([run])
    contents = []
    for name in ("one", "two"):
        overlay.save(tmp_path / f"{name}.{kind}", "column")
        contents.append((tmp_path / f"{name}.{kind}").read_bytes())
    assert contents[0] == contents[1]
    assert run.id.encode() in contents[0]
    if kind == "pdf":
        assert b"/FontFile2" in contents[0] or b"/CIDFontType2" in contents[0]
        assert b"/Type3" not in contents[0]
    if kind == "svg":
        assert "<text" in contents[0].decode()


def test_extremes_of_a_long_line_survive() -> None:
    times = np.arange(100_000, dtype=float)
    values = np.sin(times / 1000)
    values[[41, 77_777]] = (-5.0, 5.0)
    values[90_000:] = np.nan
    few, thin = thinned_line(times, values)
    assert len(few) <= 2 * overlays.BINS
    assert (np.nanmin(thin), np.nanmax(thin)) == (-5.0, 5.0)
    assert np.isnan(thin[few >= 90_050]).all()
    few, low, high = thinned_band(times, Band(values, values + 1, 0.3))
    assert len(few) <= overlays.BINS
    assert (np.nanmin(low), np.nanmax(high)) == (-5.0, 6.0)


def test_a_page_has_each_name_once_in_its_legend_and_its_axes_zoom_together() -> None:
    figure = plots.plot([pair("<b>one</b>"), pair("two")], by="run").spec()
    shown = [trace["name"] for trace in figure["data"] if trace.get("showlegend")]
    assert len(shown) == len(set(shown))
    axes = [axis for name, axis in figure["layout"].items() if re.match(r"xaxis\d+", name)]
    assert axes
    assert all(axis["matches"] == "x" for axis in axes)
    assert figure["layout"]["annotations"][0]["text"] == "<b>&lt;b>one&lt;/b></b>"


def test_a_run_draws_on_given_axes_with_size_and_title() -> None:
    from matplotlib.figure import Figure

    run = pair()
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert run.plot_cwnd(ax=axes[0], title="windows") is figure
    run.plot_queue(ax=axes[1])
    assert axes[0].get_title() == "windows"
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["cubic-1", "bic-2"]
    assert axes[1].get_title() == "a pair: bottleneck"
    assert run.plot_rtt(size="column").get_size_inches()[0] == printed.COLUMN_IN
    assert list(run.plot_throughput(size=(4, 3)).get_size_inches()) == [4, 3]
    assert "ms" in run.plot_rtt().axes[0].get_ylabel()
    with pytest.raises(MetricError, match="leave size out"):
        run.plot_cwnd(ax=axes[0], size="page")
