"""The scenarios whose canonical forms must not change: those of the examples, the pages and the papers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.docs.test_examples import EXAMPLES, PAGES, blocks, save_files
from tests.docs.test_scenarios import load, title

from elephan import papers
from elephan.scenario import Scenario


def scenarios(folder: Path) -> Iterator[tuple[str, Scenario]]:
    """Each by its source; files that a page shows are written into ``folder``."""
    for path in EXAMPLES:
        yield f"examples/{path.name}", Scenario.load(path)
    for page in PAGES:
        save_files(page, folder)
        for i, text in enumerate(blocks(page, "toml"), start=1):
            yield f"{page.name}, {i}: {title(text) or 'untitled'}", load(text, folder)
    for paper_id in papers.ids():
        for experiment in papers.get(paper_id).experiments.values():
            yield f"{paper_id}, {experiment.id}", next(iter(experiment.scenarios.values()))
