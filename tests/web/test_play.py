"""``elephan play`` without a browser: what it writes, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.web import wasm

from elephan import parts
from elephan.cli.main import run_command
from elephan.web import page


def test_an_installation_without_the_page_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "BUILT", tmp_path)
    monkeypatch.setattr(parts, "_CHECKOUT", tmp_path)
    assert run_command(["play", "--no-open", "--out", str(tmp_path / "page.html")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "make web" in said
    assert not (tmp_path / "page.html").exists()


def test_a_file_that_cannot_be_written_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["play", "--no-open", "--out", "/nowhere/page.html"]) == 2
    assert "there is no folder" in capsys.readouterr().err


@wasm.needs_node
def test_json_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert run_command(["play", "--no-open", "--json", "--out", str(path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"file": str(path), "bytes": path.stat().st_size}
