"""The check of an answer, with the rules of the page (``web/src/answers.ts``)."""

from __future__ import annotations

from dataclasses import dataclass

from elephan.course.expressions import Lookup, evaluate, parse
from elephan.course.schema import StepTable

SLIPS: tuple[tuple[float, str], ...] = (
    (8, "That is eight times too much: a byte has eight bits."),
    (1 / 8, "That is an eighth: a byte has eight bits."),
    (1000, "That is a thousand times too much: compare the prefixes of the units (ms and s, kbit and Mbit)."),
    (1 / 1000, "That is a thousandth: compare the prefixes of the units (ms and s, kbit and Mbit)."),
    (1e6, "That is a million times too much: the unit of the question has the prefix M."),
    (1e-6, "That is a millionth: the unit of the question has the prefix M."),
    (100, "That is a hundred times too much: compare fractions and percent."),
    (1 / 100, "That is a hundredth: compare fractions and percent."),
    (2, "That is twice the right value: compare one way and the round trip."),
    (1 / 2, "That is half the right value: compare one way and the round trip."),
    (-1, "The sign is the opposite one."),
)
"""Ratios of usual wrong answers to any right one, after those of the step."""


@dataclass(frozen=True)
class Verdict:
    """Result of a check.

    Attributes:
        right: the answer is right; a prediction is right if it holds, which earns no mark.
        text: what the page says.
    """

    right: bool
    text: str


def judge(step: StepTable, value: float, lookup: Lookup) -> Verdict:
    """Check an answer: a number, or the place of an option. For a goal, the names belong to the student's own run."""
    if step.kind == "goal":
        missed = next((row for row in step.holds if evaluate(parse(row.when), lookup) != 1), None)
        return Verdict(missed is None, missed.hint if missed is not None else step.right or "")
    if step.kind == "number":
        return _judge_number(step, value, lookup)
    place = int(value)
    if not 0 <= place < len(step.options):
        return Verdict(False, "")
    option = step.options[place]
    right = evaluate(parse(option.when), lookup) == 1
    return Verdict(right, (step.right if right or step.kind == "predict" else option.hint) or "")


def solution(step: StepTable, lookup: Lookup) -> float | None:
    """Right answer of a step: a number, the place of an option, or ``None`` for what has no single one."""
    if step.kind == "number":
        return evaluate(parse(step.answer or ""), lookup)
    for place, option in enumerate(step.options):
        if evaluate(parse(option.when), lookup) == 1:
            return float(place)
    return None


def _judge_number(step: StepTable, value: float, lookup: Lookup) -> Verdict:
    wanted = evaluate(parse(step.answer or ""), lookup)
    tolerance = step.tolerance or 0.0
    if is_near(value, wanted, tolerance):
        return Verdict(True, step.right or "")
    for wrong in step.wrong:
        if is_near(value, evaluate(parse(wrong.value), lookup), tolerance):
            return Verdict(False, wrong.hint)
    for ratio, hint in SLIPS:
        if is_near(value, wanted * ratio, tolerance):
            return Verdict(False, hint)
    return Verdict(False, f"{'Too large' if value > wanted else 'Too small'}. {step.hint or ''}")


def is_near(value: float, wanted: float, tolerance: float) -> bool:
    """True if a value is within a relative tolerance."""
    return abs(value - wanted) <= tolerance * abs(wanted) + 1e-12
