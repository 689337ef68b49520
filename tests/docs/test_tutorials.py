"""Tutorials: each command works, and prints the lines that the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.test_examples import blocks, save_files

from elephan.cli.main import run_command
from elephan.scenario import Scenario

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
LONG = ("standards", "researcher", "quic")
"""Tutorials with many or long runs."""
GAP = "…"
"""Stands for lines that the page leaves out, as for those that depend on the host."""


def commands(page: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The words of each command, and the lines shown below it."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *shown = part.rstrip("\n").split("\n")
            yield shlex.split(first), shown


def save_scenario(page: Path, folder: Path) -> None:
    """The scenario of a page, under the name that its first command has for it."""
    for text in blocks(page, "toml"):
        name = next(word for words, _ in commands(page) for word in words if word.endswith(".toml"))
        (folder / name).write_text(text, encoding="utf-8")


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Shown lines are the printed ones, but for gaps."""
    pattern = "\n".join("(?:.*\n)*?.*" if line.strip() == GAP else re.escape(line.rstrip()) for line in shown)
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed)) is not None


def test_every_kind_of_user_has_a_tutorial() -> None:
    assert {page.stem for page in PAGES} == {
        "researcher",
        "operator",
        "standards",
        "quic",
        "teacher",
        "capture",
        "kernel",
        "logs",
        "qlog",
    }


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.large] if page.stem in LONG else [], id=page.stem) for page in PAGES],
)
def test_a_tutorial_shows_what_its_commands_print(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    save_files(page, tmp_path)
    save_scenario(page, tmp_path)
    for words, shown in commands(page):
        assert words[0] == "elephan"
        capsys.readouterr()
        status = run_command(words[1:])
        captured = capsys.readouterr()
        assert status == 0, (words, captured.err)
        printed = captured.out.rstrip("\n").split("\n")
        assert agrees(shown, printed), (words, shown, printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorials_scenarios_load(page: Path, tmp_path: Path) -> None:
    save_files(page, tmp_path)
    for text in blocks(page, "toml"):
        assert Scenario.from_toml(text, source=page.name, folder=tmp_path).flow_names
