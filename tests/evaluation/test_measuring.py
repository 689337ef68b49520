"""Rules of measurements on runs whose rates are written down."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan.evaluation.criteria import CriterionError
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import NotJudgedError
from elephan.evaluation.measuring import (
    At,
    Chosen,
    Rule,
    Suite,
    along,
    both,
    count,
    difference,
    of,
    over,
    rank,
    ratio,
    reach,
    stated,
    under,
)
from elephan.scenario import Scenario

RATES = {"cubic": 60.0, "bic": 30.0, "reno": 10.0}
ASKS: Any = SimpleNamespace(id="s.one", experiment="s.E1", conditions=None)
MBPS = of("throughput_mbps", "{}-1")


def scenario(setup: Any, subject: str, at: At) -> Scenario:
    """A flow of the subject and one of Reno, with the buffer of the conditions."""
    return synthetic.scenario([subject, "reno"], duration="10 s", buffer=f"{at.get('buffer', 100)} packets")


def suite(table: dict[str, Rule], **more: Any) -> Suite:
    """Runs of three subjects, two seeds each, at two buffers; the second seed has 2 Mbit/s more."""
    runs = []
    for name, rate in RATES.items():
        for buffer in (100, 200):
            for seed in (1, 2):
                stated_ = scenario(None, name, At({"buffer": buffer}, ASKS)).with_seed(seed)
                own = rate * buffer / 100 + 2 * (seed - 1)
                rates = dict.fromkeys(stated_.flow_names, constant(5.0)) | {f"{name}-1": constant(own)}
                runs.append(synthetic.run(stated_, rates))
    return Suite(Evidence(runs), None, table, scenario, **more)


def measured(rule: Rule, subject: str = "cubic", **where: Any) -> float:
    return suite({"m": rule}).measure("m", subject, where, ASKS).value()


def test_a_metric_of_the_subjects_runs_has_a_value_for_each_seed() -> None:
    found = suite({"m": MBPS}).measure("m", "cubic", {}, ASKS)
    assert found.sample == pytest.approx((60, 62))
    assert len(found.run_ids) == 2
    assert measured(MBPS, buffer=200) == pytest.approx(121)
    assert measured(of("sum_throughput_mbps", flows=("{}-1",))) == pytest.approx(61)
    assert measured(of("throughput_mbps", "{}-1", lambda at: (0.0, at.get("to", 10.0))), to=5) == pytest.approx(61)


def test_rules_are_combined() -> None:
    assert measured(over(MBPS, along("buffer", (100, 200)), reach)) == pytest.approx(60)
    assert measured(both(under(MBPS, buffer=200), MBPS, difference)) == pytest.approx(60)
    assert measured(both(under(MBPS, "bic"), MBPS, ratio)) == pytest.approx(31 / 61)
    assert [measured(rank(MBPS, list(RATES)), name) for name in RATES] == [1, 2, 3]
    assert measured(stated(7)) == measured(stated(lambda suite, subject, at: at.get("w", 0)), w=7) == 7


def test_a_rule_over_one_condition_is_the_rule_itself() -> None:
    details = []
    for points in ((100,), (100, 200)):
        rule = over(MBPS, along("buffer", points), max, "the largest of {}")
        details.append(suite({"m": rule}).measure("m", "cubic", {}, ASKS).detail)
    assert details == ["", "the largest of 2"]


def test_a_count_names_what_it_counts() -> None:
    parts = {name: suite({"m": MBPS}).measure("m", name, {}, ASKS) for name in RATES}
    found = count(parts, lambda value: value > 20)
    assert (found.value(), found.detail) == (2, "cubic, bic")
    assert count(parts, lambda value: value > 20, most=1).detail == ""
    assert count(parts, math.isinf, none="none").detail == "none"


def test_values_of_a_small_setup_are_multiplied() -> None:
    small = suite({"m": MBPS, "n": of("jain_fi")}, factors={"throughput_mbps": 10.0})
    assert small.measure("m", "cubic", {}, ASKS).value() == pytest.approx(610)
    assert small.measure("n", "cubic", {}, ASKS).value() < 1


def test_what_cannot_be_measured_is_said() -> None:
    found = suite({"m": MBPS}, keys=("buffer",), along=lambda criterion: {"buffer": (100, 200)})
    with pytest.raises(CriterionError, match=r"s\.one: where: bufer is not understood"):
        found.measure("m", "cubic", {"bufer": 1}, ASKS)
    with pytest.raises(CriterionError, match=r"s\.one: metric: 'speed' is not measured here"):
        found.measure("speed", "cubic", {}, ASKS)
    with pytest.raises(NotJudgedError, match="not part of this selection"):
        found.measure("m", "cubic", {"buffer": 300}, ASKS)
    with pytest.raises(NotJudgedError, match="nothing is run for it"):
        Suite(Evidence(), None, {"m": MBPS}).measure("m", "cubic", {}, ASKS)
    assert found.points("buffer", ASKS) == (100, 200)
    with pytest.raises(NotJudgedError, match="no points along rtt_ms"):
        found.points("rtt_ms", ASKS)


def test_the_criterion_chooses_a_suite() -> None:
    one, other = suite({"m": MBPS}), suite({"m": stated(3)}, along=lambda criterion: {"w": (1,)})
    chosen = Chosen(lambda where, criterion: other if "w" in where else one)
    assert chosen.measure("m", "cubic", {}, ASKS).value() == pytest.approx(61)
    assert chosen.measure("m", "cubic", {"w": 1}, ASKS).value() == 3
    with_w = SimpleNamespace(id="s.two", experiment="s.E1", conditions={"w": "each"})
    assert chosen.points("w", with_w) == (1,)
