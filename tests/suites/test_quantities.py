"""Values of criteria in words: the quantity, its unit, the limit, and the size of a change."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from elephan.cli.main import run_command
from elephan.evaluation import verdicts
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.relations import Allowed
from elephan.evaluation.wording import Quantity
from elephan.metrics.registry import get, registry
from elephan.suites import cases, load, names
from elephan.suites.cases import quantity
from elephan.suites.schema import CriterionTable

CRITERIA = [(name, criterion) for name in names() for criterion in load(name).table.criterion]


@pytest.mark.parametrize(("suite_name", "criterion"), CRITERIA, ids=lambda value: getattr(value, "id", value))
def test_a_ratio_has_not_the_unit_of_its_metric(suite_name: str, criterion: CriterionTable) -> None:
    found, metric = quantity(criterion), get(criterion.metric)
    kind = None if criterion.baseline is None else criterion.baseline.kind
    expected = {"lost": "%", "gained": "%", "ratio": "", "difference": None, None: None}[kind]
    if criterion.per is not None:
        expected = {"rtt": "base RTTs", "rate": "of the rate"}[criterion.per]
    if expected is None:
        expected = "" if metric.unit == "1" else metric.unit
    assert found.unit == expected
    assert (found.scale == 100) == (expected == "%")
    assert not any(word in found.name.split() for word in ("mbps", "ms", "pkts"))
    assert "_" not in found.name


def test_every_metric_has_a_label_without_its_unit() -> None:
    for metric in registry().values():
        assert metric.label
        assert "_" not in metric.label
        assert not metric.label.endswith((" mbps", " ms", " s", " pkts"))


def test_a_verdict_says_quantity_unit_and_limit() -> None:
    delay = Quantity("mean queueing delay", "base RTTs")
    values = [14.2 + 0.02 * k for k in range(8)]
    judged = verdicts.judge(values, Allowed(-float("inf"), 1.0), force="should", quantity=delay)
    assert judged.verdict == "concern"
    assert judged.why.startswith("mean queueing delay 14.2")
    assert judged.why.endswith(" base RTTs, should be at most 1")
    lost = Quantity("goodput lost by other", "%", 100.0)
    judged = verdicts.judge([value / 40 for value in values], Allowed(-float("inf"), 0.2), quantity=lost)
    assert judged.why.startswith("goodput lost by other 35.")
    assert judged.why.endswith(" %, must be at most 20 %")
    within = verdicts.judge([0.1, 0.3], Allowed(0.2, 0.4)).why
    assert within.endswith("must be from 0.2 to 0.4; the interval contains the limit")


def test_a_number_with_a_tolerance_is_a_range() -> None:
    stated = {"id": "c", "section": "1", "force": "must", "text": "t", "experiment": "e", "metric": "utilization",
              "relation": "approx", "limit": 0.5, "tol_rel": 0.1, "better": "higher", "reason": "ours"}  # fmt: skip
    allowed = CriterionTable(**stated).allowed
    assert (allowed.low, allowed.high) == (0.45, 0.55)
    assert verdicts.judge([0.46] * 8, allowed).verdict == "pass"
    assert verdicts.judge([0.44] * 8, allowed).why.endswith("must be from 0.45 to 0.55")


def test_a_change_says_its_size() -> None:
    use = Quantity("utilization")
    before, after = [0.9 + 0.001 * k for k in range(8)], [0.81 + 0.0009 * k for k in range(8)]
    worse = verdicts.compare(after, before, better="higher", quantity=use, than="cubic")
    assert worse.change == "worse"
    assert worse.why.startswith("utilization 0.8132, against 0.9035 with cubic (difference −0.09")
    assert worse.why.endswith(", −10 %)")
    lost = Quantity("goodput lost by other", "%", 100.0)
    assert "percentage points" in verdicts.compare(after, before, better="lower", quantity=lost).why


def test_the_files_say_by_how_much_it_is_worse(folder: Path) -> None:
    files = {name: folder / name for name in ("j.xml", "m.md")}
    arguments = ["fixed", "--suite", str(folder), "--store", str(folder / "store"), "--quick", "--against", "cubic"]
    arguments += ["--junit", str(files["j.xml"]), "--markdown", str(files["m.md"]), "--fail-on", "worse"]
    assert run_command(["evaluate", *arguments, "--out", str(folder / "r")]) == 1
    failures = [one.attrib["message"] for one in ElementTree.parse(files["j.xml"]).getroot().iter("failure")]
    assert any("worse: " in line and " with cubic (difference " in line for line in failures)
    for text in (files["m.md"].read_text(), (folder / "r" / "report.html").read_text()):
        assert " with cubic (difference " in text
        assert "goodput_mbps <=" not in text


def test_a_time_that_neither_run_reached_is_not_judged() -> None:
    for kind in ("ratio", "difference", "lost"):
        with pytest.raises(NotJudgedError, match="neither it nor the value"):
            cases.relative(kind, math.inf, math.inf)
    assert cases.relative("ratio", math.inf, 2.0) == math.inf
