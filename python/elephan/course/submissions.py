"""Answers of a student, as the page saves them: strangers' files, so everything about them is bounded and checked."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elephan.course import labs
from elephan.course.schema import LabTable, StepTable
from elephan.scenario import ScenarioError, reading
from elephan.web.lessons import FLOW, PATH, scenario_of
from elephan.web.page import MOST_SEGMENTS, QUEUES, plain_algorithms

FORMAT = 1
MOST_CHARACTERS = 4000
"""Longest written answer."""
MOST_BYTES = 300_000
MOST_NAME = 80
MOST_FLOWS = 8
_BITS = 12_000  # size of a full packet
_BOUNDS = {
    "rate_mbps": (1, 1000), "rtt_ms": (1, 600), "buffer_packets": (1, 20000), "loss_percent": (0, 5),
    "duration_s": (5, 300),
}  # fmt: skip
"""Bounds of the page's controls (``web/src/settings.ts``)."""


@dataclass(frozen=True)
class Answer:
    """An answer to a step.

    Attributes:
        value: a number, the place of an option, or a text.
        tries: how often the student answered, by the page's count.
        settings: complete setting with which a goal was reached.
    """

    value: float | str
    tries: int
    settings: dict[str, Any] | None = None


@dataclass(frozen=True)
class Submission:
    """Answers of one student to one lab.

    Attributes:
        file: where they were read.
        student: the name in the file, printable and of bounded length.
        lab: the lab.
        answers: answers by step; those that cannot be read are in ``problems``.
        problems: one line for each answer that cannot be read.
    """

    file: Path
    student: str
    lab: LabTable
    answers: dict[str, Answer]
    problems: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Submission:
    """Read a file of answers.

    Raises:
        ScenarioError: the file is too large, no regular file, or not the answers of a lab.
    """
    try:
        text = reading.read_text(path, MOST_BYTES)
    except ScenarioError as error:
        raise error.located(source=str(path)) from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ScenarioError("not JSON", source=str(path)) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("answers"), dict):
        raise ScenarioError(
            "not the answers of a lab; the page's button 'Save the answers' writes them", source=str(path)
        )
    try:
        entry = labs.lab(str(found.get("lab"))[:MOST_NAME])
    except ScenarioError as error:
        raise ScenarioError(error.message, path="lab", source=str(path)) from None
    made: dict[str, Answer] = {}
    problems: dict[str, str] = {}
    for step in entry.step:
        if step.id in found["answers"]:
            try:
                made[step.id] = _answer(step, found["answers"][step.id])
            except ScenarioError as error:
                problems[step.id] = error.message
    return Submission(path, clean(found.get("student"), MOST_NAME) or path.stem[:MOST_NAME], entry, made, problems)


def clean(text: object, most: int) -> str:
    """A stranger's text in one line without control characters, of bounded length."""
    shown = "".join(character if character.isprintable() else " " for character in str(text or "")[: 4 * most])
    return " ".join(shown.split())[:most]


def _answer(step: StepTable, given: object) -> Answer:
    if not isinstance(given, dict):
        raise ScenarioError("not an answer")
    value, tries = given.get("value"), given.get("tries", 1)
    if step.kind == "essay":
        if not isinstance(value, str) or not value.strip():
            raise ScenarioError("not a text")
        if len(value) > MOST_CHARACTERS:
            raise ScenarioError(f"{len(value)} characters, at most {MOST_CHARACTERS} are allowed")
    elif not is_number(value):
        raise ScenarioError("not a number")
    if not isinstance(tries, int) or isinstance(tries, bool) or not 1 <= tries <= 10_000:
        raise ScenarioError("its number of tries is not one")
    settings = None
    if step.kind == "goal":
        settings = setting(given.get("settings"))
    return Answer(value if isinstance(value, str) else float(value or 0), tries, settings)


def is_number(value: object) -> bool:
    """True for a finite number."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def setting(given: object) -> dict[str, Any]:
    """A stranger's setting, complete and within the bounds of the page's controls.

    Raises:
        ScenarioError: it is not one that the page can have.
    """
    if not isinstance(given, dict) or not set(given) <= {*_BOUNDS, *PATH, "flows"}:
        raise ScenarioError("its setting is not one of the page")
    for name, (low, high) in _BOUNDS.items():
        if not is_number(given.get(name)) or not low <= given[name] <= high:
            raise ScenarioError(f"its setting has {name} outside {low} to {high}")
    if given["rate_mbps"] * 1e6 * given["duration_s"] / _BITS > MOST_SEGMENTS * 1.01:
        raise ScenarioError("its setting has more segments than the page simulates")
    if given.get("queue") not in QUEUES or not isinstance(given.get("ecn"), bool):
        raise ScenarioError("its setting has no queue discipline of the page")
    flows = given.get("flows")
    if not isinstance(flows, list) or not 1 <= len(flows) <= MOST_FLOWS:
        raise ScenarioError(f"its setting has not 1 to {MOST_FLOWS} flows")
    known = {entry["name"]: [preset["name"] for preset in entry["presets"]] for entry in plain_algorithms()}
    for flow in flows:
        if not isinstance(flow, dict) or set(flow) != {"algorithm", *FLOW}:
            raise ScenarioError("its setting has a flow that the page cannot have")
        name, _, preset = str(flow["algorithm"]).partition(":")
        if name not in known or (preset and preset not in known[name]):
            raise ScenarioError("its setting has an algorithm that the page does not have")
    made = dict(given)
    try:
        scenario_of(made, sampled=True)
    except ScenarioError as error:
        raise ScenarioError(f"its setting cannot be run: {clean(error.message, 200)}") from None
    return made
