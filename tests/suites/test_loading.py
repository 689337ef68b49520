"""A suite's file: what is read, and one line for each mistake, with the file, the field and the nearest word."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.scenario import ScenarioError
from elephan.suites import load, names
from elephan.suites.suite import Subject

DUMBBELL = "experiment[0].scenario.dumbbell."
ELLIPSE = """
[[ellipse]]
id = "goodput-delay"
section = "1"
title = "goodput against delay"
experiment = "alone"
delay = "mean_queue_delay_ms"
"""
CURVE = """
[[curve]]
id = "goodput-rate"
section = "1"
title = "goodput against the rate"
experiment = "alone"
x = "rate"
metric = "sum_goodput_mbps"
"""
MISTAKES = {
    "misspelled column": (
        'text = "It uses the link."',
        'text = "It uses {links}."',
        "criterion[0].text: '{links}' is not a column of this criterion",
    ),
    "misspelled field": (
        'metric = "utilization"',
        'metrik = "utilization"',
        "criterion[0].metrik: not a field; did you mean 'metric'?",
    ),
    "no metric": (
        'metric = "utilization"',
        'metric = "utilisation"',
        "criterion[0].metric: 'utilisation' is not a metric; did you mean 'utilization'?",
    ),
    "no experiment": (
        'experiment = "alone"',
        'experiment = "alonr"',
        "criterion[0].experiment: 'alonr' is not an experiment; did you mean 'alone'?",
    ),
    "no flow": (
        'flows = ["other"]',
        'flows = ["othr"]',
        "criterion[1].flows: 'othr' is not a flow of 'beside'; did you mean 'other'?",
    ),
    "no place": (
        'rate = "{rate}"',
        'rate = "{rates}"',
        DUMBBELL + "rate: '{rates}' is not a place of this experiment; did you mean 'rate'?",
    ),
    "wrong rate": ('rate = "40 Mbit/s"', 'rate = "40 Mbitt/s"', DUMBBELL + "rate: "),
    "wrong field of a scenario": (
        'rtt = "{rtt}", buffer',
        'rt = "{rtt}", buffer',
        DUMBBELL + "rt: not a field of dumbbell; did you mean 'rtt'?",
    ),
    "no force": ('force = "must"', 'force = "mus"', "criterion[0].force: 'mus' is not a force; did you mean 'must'?"),
    "no relation": ('relation = ">="', 'relation = "=>"', "criterion[0].relation: '=>' is not a relation"),
    "no limit": ("limit = 0.7\n", "", "criterion[0].limit: missing"),
    "limit in words": ("limit = 0.7", 'limit = "70 %"', "criterion[0].limit: '70 %' is not a number"),
    "no cells": (
        'cells = "paths"',
        'cells = "path"',
        "experiment[0].cells: 'path' is not a list of cells; did you mean 'paths'?",
    ),
    "twice": ('id = "harm"', 'id = "use"', "criterion[1].id: 'use' is there twice"),
    "no way to compare": (
        'as = "lost"',
        'as = "lots"',
        "criterion[1].baseline.as: 'lots' is not a way to compare; did you mean 'lost'?",
    ),
    "no rival": (
        'baseline = { algorithm = "{rival}"',
        'baseline = { algorithm = "{rivl}"',
        "criterion[1].baseline.algorithm: '{rivl}' is not a place",
    ),
    "not TOML": ('id = "small"', "id = small", "not TOML: "),
    "no id": ('id = "small"\n', "", "id: missing"),
    "braces": ('rate = "{rate}"', 'rate = "{rate"', DUMBBELL + "rate: '{rate' is not a text with places"),
    "no link": (
        'metric = "utilization"',
        'metric = "utilization"\nlink = "bottlenek"',
        "criterion[0].link: 'bottlenek' is not a recorded link of 'alone'; did you mean 'bottleneck'?",
    ),
    "link of a flow": (
        'metric = "goodput_mbps"',
        'metric = "goodput_mbps"\nlink = "bottleneck"',
        "criterion[1].link: the metric 'goodput_mbps' is not one of a link",
    ),
    "flows of a link": (
        'metric = "utilization"',
        'metric = "utilization"\nflows = ["subject"]',
        "criterion[0].flows: the metric 'utilization' is not one of a flow",
    ),
    "limit nan": ("limit = 0.7", "limit = nan", "criterion[0].limit: nan is not a number"),
    "quick number": ("quick = true", "quick = 3", "cells.paths[0].quick: 3 is neither true nor a table"),
    "quick value": (
        'quick = { rate = "5 Mbit/s" }',
        'quick = { rte = "5 Mbit/s" }',
        "cells.paths[1].quick: 'rte' is not a value of this cell; did you mean 'rtt'?",
    ),
    "section": ('section = "1"', 'section = "1x"', "criterion[0].section: '1x' is not a section; did you mean '1'?"),
    "empty grid": ('{ rival = ["cubic"] }', "{ rival = [] }", "experiment[1].grid.rival: empty; "),
    "same below 0": ("limit = 0.7", "limit = 0.7\nsame = -1", "criterion[0].same: -1 is below 0"),
    "window": (
        'metric = "utilization"',
        'metric = "utilization"\nwindow = [0.9, 0.5]',
        "criterion[0].window: [0.9, 0.5] is not a window",
    ),
}


WRONG_ELLIPSES = {
    "experiment": ('"alone"', '"alonr"', "ellipse[0].experiment: 'alonr' is not an experiment of a criterion"),
    "metric": ("queue_delay", "queue_dely", "ellipse[0].delay: 'mean_queue_dely_ms' is not a metric"),
    "metric of flows": ("mean_queue_delay_ms", "owd_p95_ms", "ellipse[0].delay: the metric 'owd_p95_ms' does not have"),
    "section": ('"1"', '"1x"', "ellipse[0].section: '1x' is not a section; did you mean '1'?"),
    "field": ("delay =", "dalay =", "ellipse[0].dalay: not a field; did you mean 'delay'?"),
}


WRONG_CURVES = {
    "experiment": ('"alone"', '"alonr"', "curve[0].experiment: 'alonr' is not an experiment of a criterion"),
    "x": ('"rate"', '"rata"', "curve[0].x: 'rata' is not a value of the cell "),
    "the same place": ('"rate"', '"rtt"', "curve[0].x: two cells have the same 'rtt'; a curve has one for each"),
    "no quantity": (
        'experiment = "alone"\nx = "rate"',
        'experiment = "beside"\nx = "rival"',
        "curve[0].x: the values of 'rival' are not quantities of one kind",
    ),
    "metric": ("sum_goodput", "sum_godput", "curve[0].metric: 'sum_godput_mbps' is not a metric"),
    "metric of flows": ("sum_goodput", "goodput", "curve[0].metric: the metric 'goodput_mbps' does not have one"),
    "section": ('"1"', '"1x"', "curve[0].section: '1x' is not a section; did you mean '1'?"),
    "field": ("x =", "xs =", "curve[0].xs: not a field"),
}


DRAWN = [(ELLIPSE, *wrong) for wrong in WRONG_ELLIPSES.values()] + [(CURVE, *wrong) for wrong in WRONG_CURVES.values()]


@pytest.mark.parametrize(("table", "right", "wrong", "said"), DRAWN, ids=[*WRONG_ELLIPSES, *WRONG_CURVES])
def test_a_mistake_in_what_is_drawn_is_one_line_with_its_place(
    folder: Path, table: str, right: str, wrong: str, said: str
) -> None:
    file = folder / "suite.toml"
    assert right in table
    file.write_text(file.read_text() + table.replace(right, wrong, 1))
    with pytest.raises(ScenarioError) as caught:
        load(folder)
    assert str(caught.value).startswith(f"{file}: {said}")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(folder: Path, mistake: str) -> None:
    right, wrong, said = MISTAKES[mistake]
    file = folder / "suite.toml"
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong, 1))
    with pytest.raises(ScenarioError) as caught:
        load(folder)
    line = str(caught.value)
    assert line.startswith(f"{file}: {said}")
    assert "\n" not in line


ROWS = """
[[criterion]]
section = "1"
force = "should"
experiment = "{of}"
metric = "utilization"
relation = ">="
text = "It uses {limit:.0%} of the link {of}."
columns = ["id", "of", "limit", "reason"]
rows = [["first", "alone", 0.7, "ours"], ["second", "beside", 0.5, "theirs", { margin = 0.1 }]]

[[cells.more]]
columns = ["rate", "quick"]
rows = [["10 Mbit/s", true], ["20 Mbit/s", false]]
cells = [{ name = "{rate}, CUBIC", rival = "cubic" }, { name = "{rate}, itself", rival = "{algorithm}", quick = false }]
"""


def test_a_criterion_has_the_defaults_that_it_does_not_state(folder: Path) -> None:
    file = folder / "suite.toml"
    text = file.read_text().replace("[sections]", '[defaults]\nmargin = 0.3\nforce = "consider"\n\n[sections]', 1)
    file.write_text(text.replace('force = "must"', "margin = 0.1", 1))
    first, second = load(folder).table.criterion[:2]
    assert (first.force, first.margin, second.force, second.margin) == ("consider", 0.1, "must", 0.3)


def test_rows_are_tables_of_their_own(folder: Path) -> None:
    file = folder / "suite.toml"
    file.write_text(file.read_text() + ROWS)
    table = load(folder).table
    first, second = table.criterion[-2:]
    assert (first.id, first.experiment, first.limit, first.margin, first.text) == (
        "first", "alone", 0.7, 0.0, "It uses 70% of the link alone.",
    )  # fmt: skip
    assert (second.experiment, second.reason, second.margin) == ("beside", "theirs", 0.1)
    found = [(cell.name, cell.quick, cell.values["rival"]) for cell in table.cells["more"]]
    assert found == [
        ("10 Mbit/s, CUBIC", True, "cubic"), ("10 Mbit/s, itself", False, "{algorithm}"),
        ("20 Mbit/s, CUBIC", False, "cubic"), ("20 Mbit/s, itself", False, "{algorithm}"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('0.7, "ours"]', "0.7]", "criterion[2].rows: ['first', 'alone', 0.7]: a row has id, of, limit, reason"),
        ("rows = [[", "rows = 1 # [[", "criterion[2].rows: not rows; write columns = "),
        ('rows = [["10 Mbit/s", true], ', "rows = [[1], ", "cells.more[0].rows: [1]: a row has rate, quick"),
        ('columns = ["rate", "quick"]\n', "", "cells.more[0].rows: ['10 Mbit/s', True]: a row has no columns"),
        ("cells = [{", "cells = [1, {", "cells.more[0].cells: [1, {"),
        ("margin = 0.1", "margin = true", "criterion[2].rows[1].margin: True is not a number"),
        ('"beside", 0.5', '"beside", "5"', "criterion[2].rows[1].text: '{limit:.0%}' cannot be filled"),
        ('"beside", 0.5', '"besid", 0.5', "criterion[2].rows[1].experiment: 'besid' is not an experiment"),
        ("false]]", "7]]", "cells.more[0].rows[1].quick: 7 is neither true nor a table"),
        ("quick = false }", 'quick = { rte = "1 ms" } }', "cells.more[0].rows[0].quick: 'rte' is not a value"),
    ],
)
def test_a_wrong_row_is_one_line_with_its_place(folder: Path, right: str, wrong: str, said: str) -> None:
    file = folder / "suite.toml"
    assert right in ROWS
    file.write_text(file.read_text() + ROWS.replace(right, wrong, 1))
    with pytest.raises(ScenarioError) as caught:
        load(folder)
    assert str(caught.value).startswith(f"{file}: {said}")


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such folder"):
        load(tmp_path / "nothing")
    with pytest.raises(ScenarioError, match=r"did you mean 'rfc9743'\?"):
        load("rfc9473")
    with pytest.raises(ScenarioError, match="no such file"):
        load(tmp_path)


def test_a_cell_fills_the_places_and_quick_changes_values(folder: Path) -> None:
    suite = load(folder)
    assert [cell.values["rate"] for cell in suite.cells("alone", quick=False)] == [
        "10 Mbit/s",
        "20 Mbit/s",
        "40 Mbit/s",
    ]
    assert [cell.values["rate"] for cell in suite.cells("alone", quick=True)] == ["10 Mbit/s", "5 Mbit/s"]
    found = suite.scenario("alone", suite.cells("alone", quick=True)[1], Subject("reno", "reno", (("increase", 1.0),)))
    assert found.form.links[0].rate_bps == 5_000_000
    assert found.form.flows[0].algorithm == "reno"
    assert found.is_random


@pytest.mark.parametrize("name", names())
def test_each_suite_is_read_and_each_limit_has_a_reason(name: str) -> None:
    suite = load(name)
    assert suite.id == name
    assert all(len(criterion.reason) >= 10 for criterion in suite.table.criterion)
    assert set(suite.table.sections) == set(suite.sections), "a section without a title"


def test_paths_of_rfc9743_have_every_corner() -> None:
    suite = load("rfc9743")
    cells = suite.cells("alone", quick=False)
    assert len(cells) >= 24
    quick = suite.cells("alone", quick=True)
    assert len(quick) == 8
    assert {cell.name for cell in quick if cell.values["resolution"] == "train"} == {
        f"10 Gbit/s, 600 ms, {buffer} buffer, in trains of segments" for buffer in ("10% BDP", "16 BDP")
    }
    assert {cell.values["resolution"] for cell in cells} == {"segment"}
    corners = {(cell.values["rate"], cell.values["rtt"], cell.values["buffer"]) for cell in cells}
    wide = {(r, t, b) for r in ("1 Mbit/s", "10 Gbit/s") for t in ("1 ms", "600 ms") for b in ("10% BDP", "16 BDP")}
    small = {("1 Mbit/s", "1 ms", "4 packets"), ("1 Mbit/s", "1 ms", "64 packets")}
    assert corners >= {corner for corner in wide if corner[:2] != ("1 Mbit/s", "1 ms")} | small
