"""The appendix of an Internet-Draft is what kramdown-rfc reads, and signs in names and texts do not break it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.suites.conftest import SMALL

from elephan import suites
from elephan.runs import Store
from elephan.suites import drafts

FRONT = """---
title: A Test
abbrev: test
docname: draft-test-elephan-00
category: info
ipr: trust200902
area: WIT
stand_alone: true
author:
- ins: A. Author
  name: A. Author
  organization: None
--- abstract

An abstract.

--- middle

# Introduction

Text.

--- back

"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[suites.Evaluation]:
    folder = tmp_path_factory.mktemp("draft")
    place = folder / "small"
    place.mkdir()
    hostile = SMALL.replace('title = "a small suite"', 'title = "a_small *suite* | {{of}} <b> & [x]"')
    (place / "suite.toml").write_text(hostile, encoding="utf-8")
    return suites.evaluate(["fixed", "reno"], str(place), quick=True, store=Store(folder / "runs"))


def test_lines_fit_a_draft_outside_of_tables(found: list[suites.Evaluation]) -> None:
    text = drafts.draft(found)
    wide = [line for line in text.splitlines() if len(line) > 72 and line[0] not in "|#{" and " " in line.strip()]
    assert not wide
    anchors = re.findall(r"\{:? ?#([\w-]+)", text)
    assert len(anchors) == len(set(anchors))
    assert all(anchor.startswith("elephan-") for anchor in anchors)


def test_every_criterion_and_obligation_is_there(found: list[suites.Evaluation]) -> None:
    text = drafts.draft(found)
    for one in found:
        for outcome in one.outcomes:
            assert f"{outcome.criterion.id.replace('_', chr(92) + '_')} ({outcome.criterion.force}):\n: " in text
    assert text.count("Not judged:") >= len(found[0].suite.table.obligation)


def test_kramdown_rfc_reads_it(found: list[suites.Evaluation], tmp_path: Path) -> None:
    program = shutil.which("kramdown-rfc")
    if program is None:
        pytest.skip("needs kramdown-rfc (Debian: ruby-kramdown-rfc2629)")
    source = tmp_path / "draft.md"
    source.write_text(FRONT + drafts.draft(found), encoding="utf-8")
    done = subprocess.run([program, "--v3", str(source)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?\]>|<!DOCTYPE[^>]*>", "", done.stdout, flags=re.DOTALL))
    back = root.find("back")
    assert back is not None
    names = ["".join(name.itertext()) for name in back.iter("name")]
    assert any(name.startswith("fixed by a_small *suite* | {{of}} <b> & [x]") for name in names)
    sections = {section.get("anchor") for section in back.iter("section")}
    assert {"elephan-evaluation", "elephan-small-fixed", "elephan-small-reno", "elephan-repetition"} <= sections
    # Earlier versions of kramdown-rfc write tables in the form of the second version of the vocabulary.
    cells = ["".join(cell.itertext()).strip() for kind in ("ttcol", "th", "c", "td") for cell in back.iter(kind)]
    assert cells.count("Verdict") == len(found)
    assert cells.count("not judged") == len(found)
    assert not [cell for cell in cells if "elephan-" in cell]
    tables = [table.get("anchor") for kind in ("texttable", "table") for table in back.iter(kind)]
    assert tables == ["elephan-small-fixed-sections", "elephan-small-reno-sections"]
    criteria = sum(len(one.outcomes) for one in found)
    assert len(list(back.iter("dt"))) >= criteria


def test_bibtex_entries_are_closed_and_escaped(found: list[suites.Evaluation]) -> None:
    text = drafts.entry(found)
    assert text.count("@misc{") == 2
    assert text.replace("\\{", "").replace("\\}", "").count("{") == text.replace("\\{", "").replace("\\}", "").count(
        "}"
    )
    assert r"a\_small *suite* \textbar{} \{\{of\}\} \textless{}b\textgreater{} \& [x]" in text
