"""Prose, comments and names are plain technical English: no expression of the table, no opening without a noun."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.layers import words
from tests.layers.words import Word

ROOT = Path(__file__).parents[2]
CODE = (".rs", ".py", ".c", ".h", ".ts", ".mjs")
PROSE = (*CODE, ".toml", ".md", ".j2", ".html", ".cff", ".tcl", ".pyi", "Makefile")
LEFT_OUT = ("tests/layers/", "/claims.toml", "Cargo.lock", "uv.lock")
"""The table itself, and the words of the papers."""


def _files(kinds: tuple[str, ...]) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    names = [name for name in listed.stdout.splitlines() if name.endswith(kinds) and (ROOT / name).is_file()]
    return [name for name in names if not any(each in name for each in LEFT_OUT)]


def test_no_file_has_an_expression_of_the_table() -> None:
    files = _files(PROSE)
    assert len(files) > 500
    lines = [line for name in files for line in words.found(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not lines, "\n".join(["write the field's term (tests/layers/words.py):", *lines])


def test_comments_and_docstrings_begin_with_their_subject() -> None:
    lines = [line for name in _files(CODE) for line in words.openings(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not lines, "\n".join(["begin with a noun phrase or a verb:", *lines])


@pytest.mark.parametrize("word", words.WORDS, ids=lambda word: word.instead)
def test_no_exception_is_left_over(word: Word) -> None:
    """Each file that may use an expression does."""
    files = _files(PROSE)
    for pattern in word.allowed:
        held = [name for name in files if fnmatchcase(name, pattern)]
        bare = Word(word.pattern, word.instead)
        assert any(True for name in held for _ in words.found(name, (ROOT / name).read_text("utf-8"), [bare])), pattern


def test_an_expression_is_found_across_lines_and_not_within_a_word() -> None:
    text = "/// Acknowledgements on their way\n/// back.\nlet flatcomer = 1;\n"
    assert list(words.found("a.rs", text)) == ["a.rs:1: 'way back'; write reverse path"]
    assert list(words.found("python/elephan/runs/saved.py", "the habitat `model`")) == []
    assert list(words.found("docs/a.md", "the habitat")) == ["docs/a.md:1: 'habitat'; write backend"]


def test_openings_are_those_of_first_lines() -> None:
    rust = "/// Window,\n/// What else.\n//!\n//! What a flow sends.\nlet x = 1; // Whatever.\n"
    assert [line.split(":")[1] for line in words.openings("a.rs", rust)] == ["4"]
    python = '"""Whether it holds."""\n# Window\n# of a flow\n\n# Of a link\n'
    assert [line.split(":")[1] for line in words.openings("a.py", python)] == ["1", "5"]
