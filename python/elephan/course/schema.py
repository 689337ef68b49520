"""Tables of a lab's file: text, settings, and steps with the expressions of the right and the wrong answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from elephan.course.expressions import Tree, parse
from elephan.evaluation.tables import Table
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import Name, Text, chosen, parsed

KINDS = ("predict", "number", "choice", "goal", "essay")
PLACES = ("page", "terminal")


def _prose(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ScenarioError(f"{value!r} is not a text")
    return value.strip()


def _expression(value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ScenarioError(f"{value!r} is not an expression")
    parse(str(value))
    return str(value)


Prose = Annotated[str, parsed(_prose)]
"""Paragraphs with a blank line between them; one that begins with ``$`` is a command."""
Expression = Annotated[str, parsed(_expression)]


class RunTable(Table):
    """``[runs.NAME]``: a setting of the page, or a scenario for the terminal."""

    settings: dict[str, Any] | None = Field(None, description="fields of the page's setting that differ from defaults")
    scenario: dict[str, Any] | None = Field(None, description="a scenario as in a scenario file")


class WrongTable(Table):
    """``wrong``: a usual wrong answer, and what helps."""

    value: Expression
    hint: Prose


class OptionTable(Table):
    """``options``: an answer to choose; it is right if ``when`` holds in the run."""

    text: Prose
    when: Expression
    hint: Prose | None = Field(None, description="what helps a student who chooses it wrongly")


class HoldsTable(Table):
    """``holds``: a condition of the student's own run, and what helps where it does not hold."""

    when: Expression
    hint: Prose


class StepTable(Table):
    """``[[step]]``: something to read, predict, measure, choose, reach or explain."""

    id: Name
    kind: Annotated[Literal["predict", "number", "choice", "goal", "essay"], chosen(KINDS, "a kind of step")]
    title: Text
    minutes: int = Field(gt=0, le=60)
    run: Name = Field(description="the run to which the step belongs")
    text: Prose
    question: Prose
    answer: Expression | None = Field(None, description="number: the right value")
    unit: Text | None = Field(None, description="number: its unit; omitted for a ratio")
    tolerance: float | None = Field(None, gt=0, lt=0.5, description="number: largest relative difference")
    because: Prose | None = Field(None, description="number: reason for the tolerance")
    wrong: tuple[WrongTable, ...] = ()
    hint: Prose | None = Field(None, description="number: what helps with any other wrong value")
    options: tuple[OptionTable, ...] = ()
    holds: tuple[HoldsTable, ...] = ()
    example: dict[str, Any] | None = Field(None, description="goal: changes of the setting that reach it")
    right: Prose | None = Field(None, description="shown after the right answer")
    model: Prose | None = Field(None, description="essay: an answer for the teacher")

    def needed(self) -> dict[str, bool]:
        """The fields that a step of this kind must have, and if they are written."""
        if self.kind == "number":
            return {"answer": self.answer is not None, "tolerance": self.tolerance is not None,
                    "because": self.because is not None, "hint": self.hint is not None}  # fmt: skip
        if self.kind == "goal":
            return {"holds": bool(self.holds), "example": self.example is not None}
        if self.kind == "essay":
            return {"model": self.model is not None}
        return {"options": len(self.options) > 1, "right": self.right is not None}

    def expressions(self) -> list[str]:
        """All expressions of the step."""
        rows = [self.answer] if self.answer is not None else []
        return [*rows, *(w.value for w in self.wrong), *(o.when for o in self.options), *(h.when for h in self.holds)]

    def to_page(self) -> dict[str, Any]:
        """The step with its expressions as trees, for the page."""
        return {
            **{key: getattr(self, key) for key in ("id", "kind", "title", "minutes", "run", "text", "question")},
            **{key: getattr(self, key) for key in ("unit", "tolerance", "hint", "right")},
            "answer": _tree(self.answer),
            "wrong": [{"value": parse(wrong.value), "hint": wrong.hint} for wrong in self.wrong],
            "options": [{"text": o.text, "when": parse(o.when), "hint": o.hint} for o in self.options],
            "holds": [{"when": parse(h.when), "hint": h.hint} for h in self.holds],
        }


class LabTable(Table):
    """A lab's file."""

    id: Name
    number: int = Field(ge=1, le=99)
    title: Text
    place: Annotated[Literal["page", "terminal"], chosen(PLACES, "where the lab is done")] = "page"
    goals: tuple[Text, ...] = Field(min_length=1)
    intro: Prose
    teacher: Prose = Field(description="what a teacher should know before the class")
    runs: dict[Name, RunTable] = Field(min_length=1)
    step: tuple[StepTable, ...] = Field(min_length=1)

    @property
    def minutes(self) -> int:
        """Time that the steps take."""
        return sum(step.minutes for step in self.step)


def _tree(text: str | None) -> Tree | None:
    return None if text is None else parse(text)
