"""The labs as one HTML file, with the playground beside the questions."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from elephan.course import labs
from elephan.course.judging import SLIPS
from elephan.course.schema import LabTable
from elephan.course.submissions import FORMAT, MOST_CHARACTERS
from elephan.version import __version__
from elephan.web import page


def labs_page() -> str:
    """The page.

    Raises:
        NotBuiltError: the scripts or the engine for the browser were not built.
    """
    course = {
        "labs": [_content(lab) for lab in labs.labs()],
        "slips": [{"ratio": ratio, "hint": hint} for ratio, hint in SLIPS],
        "version": __version__,
        "format": FORMAT,
        "most_characters": MOST_CHARACTERS,
    }
    parts = {name: (files(__package__) / f"{name}.html").read_text(encoding="utf-8") for name in ("beside", "behind")}
    return page.rendered(
        page.data() | {"lessons": [], "course": course},
        title="Elephan: labs on congestion control",
        kind="labs",
        intro="Predict, run, read off, explain: each lab is a path, a few questions and a simulator in this page.",
        side="Lab",
        **parts,
    )


def _content(lab: LabTable) -> dict[str, Any]:
    in_page = {name: labs.settings(lab, name) for name, run in lab.runs.items() if run.settings is not None}
    return {
        **{key: getattr(lab, key) for key in ("id", "number", "title", "place", "minutes", "goals", "intro")},
        "runs": in_page,
        "steps": [step.to_page() for step in lab.step],
    }
