"""A criterion is judged without any paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.criteria import CriterionError, SubjectCriterion, check
from elephan.evaluation.judging import assess
from elephan.evaluation.measurement import Measurement, NotJudgedError
from elephan.evaluation.questions import question
from elephan.evaluation.relations import Outcome

PLAIN: dict[str, Any] = {
    "id": "s.one",
    "document": "s",
    "section": "5.1",
    "text": "a is fast",
    "experiment": "s.E",
    "metric": "speed",
    "subject": "a",
    "relation": ">=",
    "limit": 1.0,
}


class Given:
    """Samples by subject."""

    def __init__(self, **samples: tuple[float, ...]) -> None:
        self._samples = samples

    def points(self, parameter: str, _criterion: SubjectCriterion) -> Sequence[Value]:
        raise NotJudgedError(f"no points of {parameter}")

    def measure(self, _metric: str, subject: str, _where: Where, _criterion: SubjectCriterion) -> Measurement:
        return Measurement(sample=self._samples[subject], runs=(f"run-{subject}",))


def test_a_criterion_has_its_outcome_its_interval_and_its_sentence() -> None:
    found = assess(question(SubjectCriterion(**PLAIN), Given(a=(0.5, 1.5, 2.0))))
    assert (found.outcome, found.runs) == (Outcome(1.5, 0.5, True), ("run-a",))
    assert (found.found.low, found.found.high) == (0.5, 2.0)
    assert found.within_noise
    assert SubjectCriterion(**PLAIN).sentence(found) == "speed of a 1.5 (0.5 to 2 over seeds), should be ≥ 1"


def test_what_does_not_hold_says_by_how_much() -> None:
    criterion = SubjectCriterion(**PLAIN | {"relation": "greater_than_other", "other": ("b",)})
    found = assess(question(criterion, Given(a=(1.0,), b=(2.0,))), intervals=False)
    assert not found.outcome.passed
    assert not found.found.known
    said = "speed of a minus that of b −1, should be above 1, off by 2; a 1, b 2"
    assert criterion.sentence(found) == said


def test_a_sentence_says_quantity_unit_and_conditions() -> None:
    stated = {"metric": "mean_queue_delay_ms", "relation": "<=", "conditions": {"rtt_ms": 40, "buffer": "16 BDP"}}
    criterion = SubjectCriterion(**PLAIN | stated)
    found = assess(question(criterion, Given(a=(14.3,))))
    assert criterion.sentence(found) == (
        "mean queueing delay of a 14.3 ms at RTT 40 ms, buffer 16 BDP, should be ≤ 1, off by 13.3 ms"
    )


def test_what_was_not_measured_is_not_judged() -> None:
    criterion = SubjectCriterion(**PLAIN | {"relation": "increasing_in", "values": ("rtt",)})
    with pytest.raises(NotJudgedError, match="no points of rtt"):
        question(criterion, Given())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"relation": "=="}, "relation: '==' is not one of"),
        ({"relation": "less_than_other"}, "other: missing"),
        ({"relation": "sign"}, "values: missing"),
        ({"relation": "in_range", "values": (1,)}, "a range has two ends"),
    ],
)
def test_a_criterion_that_lacks_what_its_relation_needs_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(CriterionError, match=message):
        check(SubjectCriterion(**PLAIN | fields))
