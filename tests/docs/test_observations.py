"""Sentences of the algorithms' pages about single runs are true of these runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests import scripts
from tests.web.test_lessons import measured

from elephan.runs import Store, sweep
from elephan.scenario import catalog
from elephan.web.lessons import scenario_of

PAGES = scripts.load("docs/algorithm_pages.py")
OBSERVATIONS: list[dict[str, Any]] = PAGES.observations()


@pytest.mark.parametrize("number", range(len(OBSERVATIONS)), ids=lambda i: f"{OBSERVATIONS[i]['of']}-{i}")
def test_an_observation_is_true_of_its_run(number: int, tmp_path: Path) -> None:
    stated = OBSERVATIONS[number]
    (run,) = sweep([scenario_of(stated["settings"])], on="sim", store=Store(tmp_path), jobs=1)
    for row in stated["check"]:
        value = measured(run, row["of"], row.get("flow"))
        assert row.get("at_least", -float("inf")) <= value <= row.get("at_most", float("inf")), (row, value)


SECTIONS = ["The idea", "Equations", "Strengths and weaknesses", "Example runs"]


@pytest.mark.parametrize("name", catalog.algorithms())
def test_every_algorithm_is_explained(name: str) -> None:
    """Each page has the idea, equations, states, strengths and weaknesses, and runs with a command for one of them."""
    # tests/docs/test_reference.py compares it with what is generated.
    page = (PAGES.ROOT / "algorithms" / f"{name}.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert [title for title in sections if title in SECTIONS] == SECTIONS
    assert any(
        words in page for words in ('<div class="states"', " are those of [", " has no states", " has one state: ")
    )
    assert f"elephan run {name}.toml" in page


@pytest.mark.parametrize("path", sorted((PAGES.ROOT / "explained").glob("*.md")), ids=lambda path: path.stem)
def test_states_are_drawn_inside_their_picture(path: Path) -> None:
    page = PAGES.states().drawn(path.read_text(encoding="utf-8"))
    assert "```states" not in page
    for width, height, body in re.findall(r'<svg viewBox="0 0 (\d+) (\d+)"(.*?)</svg>', page, re.DOTALL):
        assert all(0 <= float(x) <= int(width) for x in re.findall(r'(?<![fv])[xX][12]?="([-\d.]+)"', body))
        assert all(0 <= float(y) <= int(height) for y in re.findall(r' y[12]?="([-\d.]+)"', body))


def test_a_block_of_states_that_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(ValueError, match="neither a state nor a transition"):
        PAGES.states().parse("at 0 0: start\nstart -> end: loss")
    with pytest.raises(ValueError, match="two opposite transitions on a diagonal"):
        PAGES.states().parse("at 0 0: start\nat 1 1: end\nstart -> end: loss\nend -> start: timeout")
