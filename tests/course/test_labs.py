"""The labs are true of their runs: one right answer each, and wrong ones that are told apart."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from elephan.course import labs
from elephan.course.expressions import evaluate, names, parse
from elephan.course.judging import SLIPS, is_near, judge, solution
from elephan.course.reference import Reference
from elephan.course.schema import LabTable
from elephan.runs import Store
from elephan.scenario import ScenarioError
from elephan.web.page import MOST_SEGMENTS

LABS = labs.labs()
IN_PAGE = [lab for lab in LABS if lab.place == "page"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_a_lab_takes_an_hour_to_an_hour_and_a_half(lab: LabTable) -> None:
    assert 60 <= lab.minutes <= 90
    kinds = {step.kind for step in lab.step}
    assert {"predict", "number", "essay"} <= kinds
    assert [entry.number for entry in LABS] == sorted({entry.number for entry in LABS})


@pytest.mark.parametrize("lab", IN_PAGE, ids=lambda lab: lab.id)
def test_a_lab_fits_into_the_page(lab: LabTable) -> None:
    for name in lab.runs:
        setting = labs.settings(lab, name)
        assert setting["rate_mbps"] * 1e6 * setting["duration_s"] / 12_000 <= MOST_SEGMENTS, name


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_each_question_has_one_right_answer_and_its_wrong_ones_are_told_apart(lab: LabTable, store: Store) -> None:
    reference = Reference(lab, store)
    for step in lab.step:
        lookup = reference.lookup(step)
        where = f"{lab.id}/{step.id}"
        if step.kind == "number":
            wanted = solution(step, lookup)
            assert wanted is not None
            assert math.isfinite(wanted), where
            assert judge(step, wanted, lookup).right
            for wrong in step.wrong:
                value = evaluate(parse(wrong.value), lookup)
                said = judge(step, value, lookup)
                assert not said.right, (where, wrong.value, value, wanted)
                assert said.text == wrong.hint, (where, wrong.value, value)
            assert judge(step, wanted * 37.3, lookup).text.startswith("Too large. ")
        elif step.kind in ("predict", "choice"):
            holding = [o.text for o in step.options if evaluate(parse(o.when), lookup) == 1]
            assert len(holding) == 1, (where, holding)
            if step.kind == "choice":
                assert all(o.hint for o in step.options if o.text not in holding), where


@pytest.mark.parametrize("lab", IN_PAGE, ids=lambda lab: lab.id)
def test_a_goal_is_missed_at_first_and_reached_by_its_example(lab: LabTable, store: Store) -> None:
    reference = Reference(lab, store)
    for step in lab.step:
        if step.kind == "goal":
            first = judge(step, 0, reference.lookup(step, labs.settings(lab, step.run)))
            assert not first.right, (lab.id, step.id)
            assert first.text
            reached = judge(step, 0, reference.lookup(step, labs.settings(lab, step.run, step.example)))
            assert reached.right, (lab.id, step.id, reached.text)


def test_the_slips_are_told_apart() -> None:
    assert not any(is_near(a, b, 0.1) for i, (a, _) in enumerate(SLIPS) for b, _ in SLIPS[:i])


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 + 3 * 4", 14), ("-2 ** 2", -4), ("sqrt(16) / 8", 0.5), ("1 < 2 and 3 <= 3", 1), ("min(2, 3) >= 3 or 0", 0)],
)
def test_an_expression_has_its_value(text: str, value: float) -> None:
    assert evaluate(parse(text), lambda *_: math.nan) == value


def test_names_of_an_expression_have_runs_and_flows() -> None:
    assert list(names(parse("small.share[2] + rtt_ms[1] * jain"))) == [
        ("small", "share", 2), (None, "rtt_ms", 1), (None, "jain", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "__import__('os')", "a.b.c", "'x'", "[1]", "f(1)", "x[0]", "1 if 2 else 3", "True", "(" * 99, "1 < 2 < 3"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="not an expression"):
        parse(text)


def test_division_by_zero_is_no_number() -> None:
    assert math.isnan(evaluate(parse("1 / (2 - 2)"), lambda *_: math.nan))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('run = "bdp"', 'run = "bpd"', "did you mean 'bdp'"),
        ("cwnd_max[1]", "cwnd_most[1]", "'cwnd_most' is not a number of a run"),
        ("tolerance = 0.01\n", "", "tolerance: missing"),
        ('kind = "essay"', 'kind = "esay"', "esay"),
        ("rate_mbps = 24", "rate_mbps = 0", "rate"),
    ],
)
def test_a_mistake_in_a_labs_file_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (labs.FOLDER / "01-sawtooth.toml").read_text("utf-8")
    assert old in text
    file = tmp_path / "lab.toml"
    file.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ScenarioError) as error:
        labs.load(file)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_labs_are_found_by_id_and_number() -> None:
    assert labs.lab("1") is labs.lab("sawtooth")
    with pytest.raises(ScenarioError, match="sawtooth"):
        labs.lab("sawtoth")
