"""Reading claims, and judging them by measurements that are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from elephan import papers
from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError
from elephan.evaluation.tables import made
from elephan.evaluation.wording import quantity_of, where_text
from elephan.papers import boards
from elephan.papers.claims import Claim, load_explanations, parse_claims
from elephan.papers.judging import Reduced, judge, judge_all, totals
from elephan.papers.paper import Paper
from elephan.papers.results import PaperResult
from elephan.papers.schema import ClaimsTable
from elephan.scenario import ScenarioError

BASE = {
    "id": "one", "figure": "Fig 1", "experiment": "E", "metric": "speed", "subject": "a",
    "relation": ">=", "tolerance_kind": "bound", "expected": 1.0, "basis": "text", "certainty": "certain",
    "check": "simulation", "robustness": "high", "quote": "fast",
}  # fmt: skip


def claims(*tables: Mapping[str, Any]) -> Any:
    return parse_claims(written([BASE | dict(t) for t in tables]))


def written(tables: Sequence[Mapping[str, Any]], **more: Any) -> ClaimsTable:
    experiment = {"id": "E", "title": "one flow", "figure": "Fig 9"}
    return made(ClaimsTable, {"schema_version": 2, "paper": "p", "experiment": [experiment], "claim": tables, **more})


class Given:
    """Values by subject, or by subject and one condition."""

    def __init__(self, values: Mapping[Any, Sequence[float] | float], points: Mapping[str, Any] | None = None) -> None:
        self._values = values
        self._points = dict(points or {})

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        if parameter not in self._points:
            raise NotJudgedError(f"no points of {parameter}")
        return list(self._points[parameter])

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        key = (subject, *where.values()) if (subject, *where.values()) in self._values else subject
        if key not in self._values:
            raise NotJudgedError(f"nobody ran {subject}")
        value = self._values[key]
        sample = tuple(value) if isinstance(value, Sequence) else (float(value),)
        return Measurement(sample=sample, runs=(f"run-{subject}",))


def one(table: Mapping[str, Any], measurer: Given, explanation: str | None = None) -> Any:
    return judge(claims(table).claims[0], measurer, explanation)


def test_a_claim_gets_its_verdict_its_number_and_its_sentence() -> None:
    good = one({}, Given({"a": 1.5}))
    assert (good.verdict, good.measured, good.interval.known) == ("reproduced", 1.5, False)
    bad = one({}, Given({"a": 0.5}))
    assert (bad.verdict, bad.measured) == ("differs", 0.5)
    assert bad.why == "speed of a 0.5, should be ≥ 1, off by 0.5"
    none = one({}, Given({}))
    assert (none.verdict, none.measured, none.why) == ("not_judged", None, "cannot be judged: nobody ran a")


def test_a_finding_explains_a_difference_and_never_makes_a_verdict() -> None:
    assert one({}, Given({"a": 0.5}), "The road was wet.").why.startswith("The road was wet. [speed of a 0.5")
    assert one({}, Given({"a": 1.5}), "The road was wet.").why == "speed of a 1.5, should be ≥ 1"


def test_replicates_are_judged_by_their_median_and_give_an_interval() -> None:
    judgment = one({}, Given({"a": [0.1, 1.2, 5.0]}))
    assert (judgment.verdict, judgment.measured) == ("reproduced", 1.2)
    assert 0.1 <= judgment.interval.low <= 1.2 <= judgment.interval.high <= 5.0


@pytest.mark.parametrize("beside", [1.0, [1.3, 0.4, 2.5], [0.7, 1.9]])
def test_draws_of_the_same_seeds_are_not_judged_twice_and_nothing_else_changes(
    beside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"relation": "greater_than_other", "expected": 0.0, "other": ["b"]}
    given = Given({"a": [0.1, 1.2, 5.0], "b": beside})
    quick = one(table, given)
    assert 0 < quick.support < 1
    # Without knowing how many seeds there are every draw is judged.
    monkeypatch.setattr(Measurement, "sizes", frozenset())
    assert one(table, given) == quick


def test_a_comparison_names_what_it_compared() -> None:
    table = {"relation": "less_than_other", "expected": 0.0, "other": ["b", "c"]}
    judgment = one(table, Given({"a": 1.0, "b": 2.0, "c": 3.0}))
    assert (judgment.verdict, judgment.measured) == ("reproduced", 1.0)
    assert judgment.why.endswith("; a 1, b 2, c 3")
    assert judgment.runs == ("run-a", "run-b", "run-c")


def test_the_other_side_is_measured_under_its_own_conditions() -> None:
    table = {
        "relation": "greater_than_other", "expected": 0.0, "other": ["a"], "where": {"late": 0},
        "other_where": {"late": 50},
    }  # fmt: skip
    assert one(table, Given({("a", 0): 3.0, ("a", 50): 2.0})).measured == 1.0


def test_each_point_must_hold_and_the_worst_is_shown() -> None:
    table = {"where": {"rtt_ms": "each of 10, 20"}}
    assert one(table, Given({("a", 10): 2.0, ("a", 20): 1.5})).measured == 1.5
    worst = one(table, Given({("a", 10): 2.0, ("a", 20): 0.5}))
    assert (worst.verdict, worst.measured) == ("differs", 0.5)


def test_means_and_maxima_over_the_points_of_the_experiment() -> None:
    values = {("a", 10): 0.5, ("a", 20): 1.0, ("a", 40): 1.5}
    points = {"rtt_ms": [10, 20, 40]}
    assert one({"where": {"rtt_ms": "mean over RTTs"}}, Given(values, points)).measured == 1.0
    assert one({"where": {"rtt_ms": "max over RTTs"}}, Given(values, points)).measured == 1.5
    assert one({"where": {"rtt_ms": "mean over 10,20"}}, Given(values)).measured == 0.75
    assert one({"where": {"rtt_ms": "mean over RTTs"}}, Given(values)).verdict == "not_judged"


def test_along_a_parameter_the_points_come_from_the_claim_or_the_experiment() -> None:
    table = {"relation": "increasing_in", "values": ["rtt_ms"]}
    rising = Given({("a", 10): 1.0, ("a", 20): 2.0, ("a", 40): 3.0}, {"rtt_ms": [10, 20, 40]})
    assert one(table, rising).verdict == "reproduced"
    assert one(table | {"where": {"rtt_ms": "10 to 20"}}, rising).why.endswith("; 10 1, 20 2")


def test_what_no_simulation_has_is_not_judged() -> None:
    assert one({"check": "not_simulable"}, Given({"a": 1.5})).verdict == "not_judged"


def test_infinity_is_shown_in_words_and_is_null_in_json() -> None:
    judgment = one({"metric": "convergence_abs_time_s", "relation": ">", "expected": 500.0}, Given({"a": float("inf")}))
    assert judgment.verdict == "reproduced"
    assert judgment.to_json()["measured"] is None
    assert judgment.measured_text == "never in the run"


def test_a_difference_without_a_finding_is_counted(tmp_path: Path) -> None:
    three = claims({}, {"id": "two", "subject": "b"}, {"id": "three", "subject": "c"})
    path = tmp_path / "explanations.toml"
    path.write_text('[[explanation]]\nclaims = ["one", "three"]\nwhy = "the road was wet"\n')
    judged = judge_all(three, Given({"a": 0, "b": 0, "c": 2}), load_explanations(path, three))
    paper = Paper("p", "", "", three, {}, lambda runs: Given({}), lambda runs: ())
    result = PaperResult(paper, judged, Evidence())
    assert [judgment.verdict for judgment in judged] == ["differs", "differs", "reproduced"]
    assert result.unexplained == ("p.two",)
    assert result.to_json()["unexplained"] == ["p.two"]


def test_json_has_the_documented_fields() -> None:
    document = one({}, Given({"a": 1.5})).to_json()
    wanted = ["id", "experiment", "metric", "subject", "expected", "measured", "low", "high", "verdict", "why"]
    assert list(document)[: len(wanted)] == wanted


def test_an_interval_of_zero_width_is_null_and_says_why() -> None:
    equal = one({}, Given({"a": [1.0, 1.0, 1.0]})).to_json()
    assert (equal["low"], equal["high"], equal["support"]) == (None, None, 1.0)
    assert equal["no_interval"] == "3 replicates, all equal"
    apart = one({}, Given({"a": [1.0, 1.5, 2.0]})).to_json()
    assert (apart["low"], apart["high"], apart["no_interval"]) == (1.0, 2.0, None)
    assert one({}, Given({"a": 1.0})).to_json()["no_interval"] == "one replicate"


def test_totals_count_every_claim_once() -> None:
    found = judge_all(
        claims({}, {"id": "two", "subject": "b"}, {"id": "three", "subject": "c"}), Given({"a": 2, "b": 0})
    )
    assert totals(found) == {"reproduced": 1, "weak": 0, "differs": 1, "not_judged": 1}


APPROX = {"relation": "approx", "tolerance_kind": "published_number"}


@pytest.mark.parametrize(
    ("table", "weak"),
    [
        (APPROX | {"expected": 0.3, "tol_abs": 6.0}, True),
        (APPROX | {"expected": 6.0, "tol_abs": 6.0}, False),
        (APPROX | {"expected": 0.3, "tol_rel": 0.5}, False),
        (APPROX | {"expected": 0.0, "tol_abs": 0.1}, False),
        ({"relation": "<=", "expected": 0.04, "tol_abs": 0.06}, True),
        ({"relation": "greater_than_other", "other": ["b"], "expected": 0.1, "tol_abs": 0.2}, False),
    ],
)
def test_a_tolerance_wider_than_the_value_is_weak(table: Mapping[str, Any], weak: bool) -> None:
    assert claims(table).claims[0].weak == weak


def test_a_weak_claim_that_holds_is_counted_apart() -> None:
    """One that does not hold is a difference all the same."""
    near = {**APPROX, "expected": 0.3, "tol_abs": 6.0}
    found = judge_all(
        claims(near, near | {"id": "two", "subject": "b"}, near | {"id": "three", "subject": "c"}),
        Given({"a": 5.0, "b": 50.0}),
    )
    assert [judgment.verdict for judgment in found] == ["reproduced", "differs", "not_judged"]
    assert [judgment.weak for judgment in found] == [True, False, False]
    assert totals(found) == {"reproduced": 0, "weak": 1, "differs": 1, "not_judged": 1}
    assert boards.percent(totals(found)) == "0 %"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"relation": "=="}, "relation: '==' is not one of"),
        ({"certainty": "sure"}, "certainty: 'sure' is not a certainty"),
        ({"colour": "red"}, "colour"),
        ({"expected": "much"}, "expected"),
        ({"limit": 1.0}, "limit: not a field; "),
        ({"relation": "less_than_other"}, "other: missing"),
        ({"relation": "argmax", "values": ["b", "c"]}, "subject: 'a' is not among values"),
        ({"relation": "in_range"}, "values: missing"),
        ({"relation": "count", "values": [1]}, "a range has two ends"),
        ({"experiment": "F"}, "'p.F' is not an experiment"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_id(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=r"p\.one") as refused:
        claims(table)
    assert message in str(refused.value)


def test_a_table_is_a_claim_for_each_number() -> None:
    table = BASE | {
        "relation": "approx", "where": {"ratio": "{ratio}", "buffer_pkts": 600},
        "columns": ["subject", "ratio", "first", "index", "tol"],
        "cells": [
            {"id": "{subject}.{ratio}.t1", "metric": "mbps", "expected": "{first}", "quote": "flow 1: {first:.2f}"},
            {"id": "{subject}.{ratio}.fi", "metric": "jain", "expected": "{index}", "tol_abs": "{tol}"},
        ],
        "rows": [["hcc", 2, 196.7, 0.514, 0.03], ["fast", 1.5, 2, 0.5, 0.07, {"robustness": "low"}]],
    }  # fmt: skip
    found = parse_claims(written([table])).claims
    assert [claim.id for claim in found] == ["p.hcc.2.t1", "p.hcc.2.fi", "p.fast.1.5.t1", "p.fast.1.5.fi"]
    assert [(claim.subject, claim.metric, claim.limit, claim.tol_abs) for claim in found] == [
        ("hcc", "mbps", 196.7, None), ("hcc", "jain", 0.514, 0.03), ("fast", "mbps", 2.0, None),
        ("fast", "jain", 0.5, 0.07),
    ]  # fmt: skip
    assert found[2].conditions == {"ratio": 1.5, "buffer_pkts": 600}
    assert (found[2].text, found[3].text) == ("flow 1: 2.00", "fast")
    assert [claim.robustness for claim in found] == ["high", "high", "low", "low"]


def test_cells_may_have_rows_too() -> None:
    table = {key: value for key, value in BASE.items() if key not in ("id", "subject")} | {
        "columns": ["buffer"], "rows": [[600], [2000]],
        "cells": [
            {"id": "{buffer}.{subject}", "columns": ["subject", "robustness"], "rows": [["a", "low"], ["b", "high"]]},
            {"id": "{buffer}.all", "subject": "all {buffer}"},
        ],
    }  # fmt: skip
    found = [(claim.id, claim.subject, claim.robustness) for claim in parse_claims(written([table])).claims]
    assert found[:3] == [("p.600.a", "a", "low"), ("p.600.b", "b", "high"), ("p.600.all", "all 600", "high")]
    assert [name for name, _, _ in found[3:]] == ["p.2000.a", "p.2000.b", "p.2000.all"]


def test_fields_that_follow_need_not_be_written() -> None:
    short = {key: value for key, value in BASE.items() if key not in ("figure", "tolerance_kind", "expected", "basis")}
    rows = {"relation": "greater_than_other", "other": ["b"], "columns": ["id"], "rows": [["two"]]}
    (found,) = parse_claims(written([short | rows], defaults={"basis": "table"})).claims
    assert (found.id, found.experiment, found.document) == ("p.two", "p.E", "p")
    assert (found.section, found.tolerance_kind, found.limit, found.basis) == ("Fig 9", "ordering", 0.0, "table")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"columns": ["subject"], "rows": [["a", "b"]]}, "a row has subject"),
        ({"columns": ["subject"], "rows": [["a"]], "quote": "of {sujet}"}, "'{sujet}' is not a place"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=f"claims.toml: one: .*{message}"):
        claims(table)


def test_an_id_is_there_once() -> None:
    with pytest.raises(ScenarioError, match="twice"):
        claims({}, {})


def test_findings_are_about_claims_that_exist(tmp_path: Path) -> None:
    path = tmp_path / "explanations.toml"
    path.write_text('[[explanation]]\nclaims = ["one"]\nwhy = """the road\n  was wet"""\n')
    assert load_explanations(path, claims({})) == {"p.one": "the road was wet"}
    path.write_text('[[explanation]]\nclaims = ["two"]\nwhy = "x"\n')
    with pytest.raises(ScenarioError, match="'two' is not a claim"):
        load_explanations(path, claims({}))
    assert load_explanations(tmp_path / "none.toml", claims({})) == {}


@pytest.mark.parametrize(
    ("relation", "extra", "judged"),
    [
        ("approx", {}, False),
        ("identity", {}, False),
        (">=", {}, False),
        ("<", {}, False),
        ("in_range", {"values": [1.0, 2.0]}, False),
        ("greater_than_other", {"other": ["b"], "tolerance_kind": "ordering"}, True),
        ("argmax", {"values": ["a", "b"], "tolerance_kind": "ordering"}, True),
    ],
)
def test_a_smaller_path_judges_no_number_that_scales_with_it(
    relation: str, extra: dict[str, Any], judged: bool
) -> None:
    table = {"relation": relation, "tol_abs": 0.1} | extra
    given = Given({"a": 0.1, "b": 0.05})
    smaller = Reduced("a tenth of the rate", frozenset({"speed"}))
    (found,) = judge_all(claims(table), given, {"p.one": "The road was wet."}, reduced=smaller)
    assert (found.verdict != "not_judged") is judged
    if not judged:
        assert "a tenth of the rate" in found.why
    (other,) = judge_all(claims(table), given, reduced=Reduced("a tenth", frozenset({"weight"})))
    assert other.verdict != "not_judged", "another metric does not scale"
    assert "wet" not in found.why, "explanations are about the paper's path"


@pytest.mark.parametrize("paper", papers.ids())
def test_a_claims_quantity_and_conditions_are_words_with_units(paper: str) -> None:
    for claim in papers.get(paper).claims.claims:
        words = quantity_of(claim.metric, claim.quantity).name.split()
        assert not {"mbps", "ms", "pkts", "bytes", "rtt", "jain", "wnd"} & set(words), claim.metric
        assert "_" not in "".join(words).replace("I_max", "")
        assert not re.search(r"(?<!\w)(pkts|mbps|rtt|bg) ", where_text(claim.conditions or {}))
