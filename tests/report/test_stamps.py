"""A report that is there already is not drawn again, and one that would be another is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs.synthetic import WrittenBackend

from elephan import backends, papers
from elephan.report import figures, stamps
from elephan.runs import Run, Store


def written(folder: Path) -> Path:
    (folder / "page.html").write_text("page")
    stamps.put(folder, "one", ["page.html"])
    return folder


def test_a_report_is_current_while_its_stamp_and_its_files_are(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert stamps.is_current(folder, "one")
    assert not stamps.is_current(folder, "other")
    (folder / "page.html").write_text("pag")
    assert not stamps.is_current(folder, "one")


def test_a_report_without_its_stamp_or_without_a_file_is_not_current(tmp_path: Path) -> None:
    assert not stamps.is_current(tmp_path / "nowhere", "one")
    folder = written(tmp_path)
    (folder / "page.html").unlink()
    assert not stamps.is_current(folder, "one")
    written(tmp_path)
    stamps.remove(folder)
    assert not stamps.is_current(folder, "one")
    (folder / stamps.NAME).write_text('["half')
    assert not stamps.is_current(folder, "one")


def test_a_stamp_is_of_what_is_shown_and_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamps.stamp({"claims": 1})
    assert stamps.stamp({"claims": 1}) == before != stamps.stamp({"claims": 2})
    monkeypatch.setattr(stamps, "_code", lambda: "another version")
    assert stamps.stamp({"claims": 1}) != before


def test_a_paper_that_is_there_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: WrittenBackend())
    drawn: list[str] = []
    save = figures.save

    def counted(figure: figures.Figure, folder: Any) -> list[Any]:
        drawn.append(figure.id)
        return save(figure, folder)

    monkeypatch.setattr(figures, "save", counted)
    store, out = Store(tmp_path / "runs"), tmp_path / "out"

    def report() -> tuple[int, bytes]:
        drawn.clear()
        result = papers.reproduce("leith2008", figure="3", quick=True, store=store, out=out, jobs=2)
        assert result.report_path is not None
        return len(drawn), result.report_path.read_bytes()

    count, first = report()
    assert count > 0
    assert report() == (0, first)
    next(out.glob("*.svg")).unlink()
    assert report() == (count, first)
    # Runs that were made again are other runs, though their ids are the same.
    for made in store:
        store.save(Run(made.manifest | {"created": "3000-01-01T00:00:00+00:00"}, tables=made.tables()), replace=True)
    assert report()[0] == count
