"""The tour: its recording has its commands, and they print today what it shows."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from tests import scripts

DOCS = Path(__file__).resolve().parents[2] / "docs"
CAST = DOCS / "tour.cast"


@pytest.fixture(scope="module")
def tour() -> ModuleType:
    return scripts.load("docs/tour.py")


def test_the_recording_is_an_asciicast_with_the_commands_of_the_tour(tour: ModuleType) -> None:
    header, *events = map(json.loads, CAST.read_text(encoding="utf-8").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, tour.COLUMNS, tour.ROWS)
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert 120 < times[-1] < 200
    text = tour.said(CAST.read_text(encoding="utf-8"))
    page = (DOCS / "tour.md").read_text(encoding="utf-8")
    for scene in tour.SCENES:
        assert f"$ # {scene.says}\n" in text
        assert f"`{scene.commands[-1]}`" in page
        for command in scene.commands:
            assert f"$ {command}\n" in text


def test_nothing_scrolls_out_of_the_screen(tour: ModuleType) -> None:
    made = tour.Recording()
    made.put("\x1b[H\x1b[2J")
    events = [json.loads(line) for line in CAST.read_text(encoding="utf-8").splitlines()[1:]]
    made.events = [(at, text) for at, _, text in events]
    made.now = made.events[-1][0]
    first = [cells[1][0] if len(cells) > 1 else "" for row, _, _, cells in tour.lines(made) if row == 0]
    for scene in tour.SCENES:
        assert any(text.strip() == f"# {scene.says}" for text in first), scene.says


def test_the_picture_needs_no_script_and_is_small() -> None:
    text = (DOCS / "tour.svg").read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert "<script" not in text
    assert "/tmp/" not in text + CAST.read_text(encoding="utf-8")


@pytest.mark.large
def test_the_commands_print_what_the_recording_shows(tour: ModuleType) -> None:
    assert tour.said(tour.cast(tour.record())) == tour.said(CAST.read_text(encoding="utf-8"))
