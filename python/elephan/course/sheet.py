"""The teacher's sheet: times, goals, solutions and usual wrong answers, from the labs' files and their runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from elephan.course.expressions import Lookup, evaluate, parse
from elephan.course.judging import solution
from elephan.course.labs import labs
from elephan.course.reference import Reference
from elephan.course.schema import LabTable, StepTable
from elephan.runs import Store


def sheet() -> str:
    """All labs as Markdown."""
    with TemporaryDirectory(prefix="elephan-sheet-") as place:
        store = Store(Path(place))
        return "\n".join(part for lab in labs() for part in _lab(lab, Reference(lab, store)))


def _lab(lab: LabTable, reference: Reference) -> Iterable[str]:
    where = "in the page" if lab.place == "page" else "at the command line"
    yield f"## Lab {lab.number}: {lab.title}\n"
    yield f"{lab.minutes} minutes, {where}. After it, students can:\n"
    yield "\n".join(f"- {goal}" for goal in lab.goals) + "\n"
    yield lab.teacher + "\n"
    for i, step in enumerate(lab.step):
        lookup = reference.lookup(step)
        yield f"**{i + 1}. {step.title}** ({step.minutes} minutes, run `{step.run}`). {step.question}\n"
        yield _solution(step, lookup) + "\n"
        wrong = [f"- {shown(evaluate(parse(w.value), lookup))}: {w.hint}" for w in step.wrong]
        wrong += [f"- *{o.text}* {o.hint}" for o in step.options if o.hint]
        if wrong:
            yield "Usual wrong answers:\n\n" + "\n".join(wrong) + "\n"


def _solution(step: StepTable, lookup: Lookup) -> str:
    right = f" {step.right}" if step.right else ""
    if step.kind == "essay":
        return f"*Model answer.* {step.model}"
    if step.kind == "goal":
        changes = ", ".join(f"{name} = {_setting(value)}" for name, value in (step.example or {}).items())
        return f"*One solution.* {changes}.{right}"
    value = solution(step, lookup)
    assert value is not None
    if step.kind == "number":
        unit = f" {step.unit}" if step.unit else ""
        return f"*Solution.* {shown(value)}{unit}, within {100 * (step.tolerance or 0):g} %: {step.because}.{right}"
    return f"*{'The run says' if step.kind == 'predict' else 'Solution'}.* {step.options[int(value)].text}{right}"


def _setting(value: object) -> str:
    if isinstance(value, list):
        return " and ".join(str(flow["algorithm"]) for flow in value)
    return str(value)


def shown(value: float) -> str:
    """A number with four digits, as people write it: 1,200,000, not 1.2e+06."""
    if 0 < abs(value) < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
