"""Sentences of the algorithms' pages about single runs are true of these runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests import scripts
from tests.web.test_lessons import measured, scenario_of

from elephan.runs import Store, sweep

GENERATOR = scripts.load("docs/generate.py")
OBSERVATIONS: list[dict[str, Any]] = GENERATOR.observations()


@pytest.mark.parametrize("number", range(len(OBSERVATIONS)), ids=lambda i: f"{OBSERVATIONS[i]['of']}-{i}")
def test_an_observation_is_true_of_its_run(number: int, tmp_path: Path) -> None:
    stated = OBSERVATIONS[number]
    (run,) = sweep([scenario_of(stated["settings"])], on="sim", store=Store(tmp_path), jobs=1)
    for row in stated["check"]:
        value = measured(run, row["of"], row.get("flow"))
        assert row.get("at_least", -float("inf")) <= value <= row.get("at_most", float("inf")), (row, value)


def test_every_explained_algorithm_has_one_or_a_lesson() -> None:
    explained = {path.stem for path in (GENERATOR.ROOT / "explained").glob("*.md")}
    assert explained >= {
        "reno",
        "cubic",
        "bbr",
        "bbr3",
        "hcc",
        "vegas",
        "fast",
        "htcp",
        "compound",
        "illinois",
        "dctcp",
    }
    assert all(GENERATOR.shown_runs(name) for name in explained)
