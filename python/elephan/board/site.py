"""The board as a static site: a front page, a page for each suite, and one for each suite and subject."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from elephan.board.contents import PLACE, TABLES, Board
from elephan.board.rows import Row
from elephan.evaluation.wording import number, spoken
from elephan.report import pages
from elephan.report.gauges import Gauge
from elephan.scenario import Scenario, ScenarioError, catalog
from elephan.suites.loading import included, load
from elephan.web.living import Form, fits

VERDICTS = ("pass", "concern", "fail", "not_settled", "not_judged")
"""Verdicts in the order in which they are shown."""
_SHOWN_RUNS = 8
"""Runs of a criterion that its page shows; all are in the data."""
_MOST_FORMS = 12
"""Scenarios of a page that run in the page."""


@dataclass(frozen=True)
class Around:
    """Content of the site beside the verdicts.

    Attributes:
        before: the verdicts of the issue before; ``None`` for the first one.
        facts: other results: ``facts`` (rows of title, text and command), ``papers`` (claims that hold) and
            ``algorithms`` (agreement with Linux and ns-2, and speed); each may be missing.
        defects: known defects, as pairs of title and text.
        rows: the rows that somebody added.
    """

    before: pl.DataFrame | None = None
    facts: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    defects: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = field(default_factory=list)


def write(board: Board, out: Path, around: Around) -> Path:
    """Write the site into a folder and return its front page.

    Raises:
        OSError: the folder cannot be written.
    """
    data = out / "data"
    data.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        shutil.copyfile(board.folder / f"{name}.parquet", data / f"{name}.parquet")
    for (suite,), verdicts in board.verdicts.group_by(["suite"], maintain_order=True):
        title = _title(str(suite))
        _write_suite(board, out, str(suite), title, verdicts)
        for (subject,), own in verdicts.group_by(["subject"], maintain_order=True):
            _write_subject(board, out, str(suite), title, str(subject), own, around)
    return _write_front(board, out, around)


def _title(suite: str) -> str:
    try:
        return load(suite).table.title
    except ScenarioError:
        return suite


def slug(subject: str) -> str:
    """A subject's name as the name of a file."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in subject)


def _counted(verdicts: pl.DataFrame) -> list[tuple[str, str, int]]:
    counts = Counter(verdicts["verdict"])
    return [(name, spoken(name), counts[name]) for name in VERDICTS if counts[name]]


def _write_front(board: Board, out: Path, around: Around) -> Path:
    here = set(board.verdicts["suite"])
    others = {one.table.id: one.table for one in included() if one.table.id not in here}
    suites = sorted(here)
    waiting = sorted(name for name, table in others.items() if table.judges == "algorithm")
    titles = {entry["name"]: entry["title"] for entry in catalog.algorithms().values()}
    titles |= {row.name: row.table.title for row in around.rows}
    matrix = []
    for (subject,), own in board.verdicts.group_by(["subject"], maintain_order=True):
        cells = []
        for suite in suites:
            part = own.filter(own["suite"] == suite)
            cells.append(
                {"link": f"{suite}/{slug(str(subject))}.html", "counts": _counted(part)} if len(part) else None
            )
        name = str(subject)
        matrix.append({"name": name, "title": titles.get(name.partition(":")[0], ""), "cells": cells})
    page = {
        "date": board.date, "suites": [(suite, _title(suite)) for suite in suites],
        "waiting": [(suite, _title(suite)) for suite in waiting],
        "elsewhere": [(name, table.title) for name, table in others.items() if table.judges != "algorithm"],
        "missing": sum(cell is None for row in matrix for cell in row["cells"]) + len(waiting) * len(matrix),
        "matrix": sorted(matrix, key=lambda row: str(row["name"])), "facts": around.facts.get("facts", ()),
        "papers": around.facts.get("papers", ()), "known": around.facts.get("algorithms", ()),
        "defects": around.defects,
        "changes": list(changes(around.before, board.verdicts)), "first": around.before is None,
        "runs": len(board.runs), "verdicts": len(board.verdicts),
        "added": [
            {"name": row.name, **row.table.model_dump(include={"title", "source", "statement", "contact", "license"})}
            for row in around.rows
        ],
    }  # fmt: skip
    return pages.write(out / "index.html", pages.render("site-front.html.j2", {}, page=page))


def changes(before: pl.DataFrame | None, now: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Verdicts that are other ones than in the issue before, new ones and those that are gone."""
    if before is None:
        return
    keys = ["suite", "subject", "criterion"]
    both = before.select(*keys, "verdict").join(
        now.select(*keys, "verdict"), on=keys, how="full", suffix="_now", coalesce=True
    )
    for row in both.sort(keys).iter_rows(named=True):
        if row["verdict"] != row["verdict_now"]:
            was, here = (spoken(value) if value else "absent" for value in (row["verdict"], row["verdict_now"]))
            yield {**{key: row[key] for key in keys}, "was": was, "is": here, "link": _link(row)}


def _link(row: Mapping[str, Any]) -> str:
    return f"{row['suite']}/{slug(row['subject'])}.html#{row['criterion']}"


def _write_suite(board: Board, out: Path, suite: str, title: str, verdicts: pl.DataFrame) -> None:
    subjects = sorted(verdicts["subject"].unique())
    lines = []
    for (criterion,), own in verdicts.group_by(["criterion"], maintain_order=True):
        by_subject = {row["subject"]: row for row in own.iter_rows(named=True)}
        first = own.row(0, named=True)
        unit = f" ({first['unit']})" if first["unit"] else ""
        cells = [
            None if (row := by_subject.get(subject)) is None else {
                "link": f"{slug(subject)}.html#{criterion}", "verdict": row["verdict"], "said": spoken(row["verdict"]),
                "value": "–" if row["value"] is None else number(row["value"]),
            }
            for subject in subjects
        ]  # fmt: skip
        lines.append({
            "id": criterion, "section": first["section"], "text": first["text"], "required": first["required"],
            "quantity": f"{first['quantity']}{unit}", "cells": cells,
        })  # fmt: skip
    page = {"suite": suite, "title": title, "date": board.date, "subjects": subjects, "lines": lines}
    pages.write(out / suite / "index.html", pages.render("site-suite.html.j2", {}, page=page))


def _write_subject(
    board: Board, out: Path, suite: str, title: str, subject: str, verdicts: pl.DataFrame, around: Around
) -> None:
    runs = {row["id"]: row for row in board.runs.iter_rows(named=True)}
    texts = {row["hash"]: row for row in board.scenarios.iter_rows(named=True)}
    shown, scenarios = [], dict[str, dict[str, Any]]()
    for row in verdicts.iter_rows(named=True):
        first = row["runs"][:_SHOWN_RUNS]
        for name in first:
            scenarios.setdefault(runs[name]["scenario"], texts[runs[name]["scenario"]])
        ends = (
            "" if row["low"] is None or row["low"] == row["high"] else f"{number(row['low'])} to {number(row['high'])}"
        )
        value = "–" if row["value"] is None else f"{number(row['value'])} {row['unit']}".rstrip()
        shown.append(row | {
            "gauge": _gauge(row), "value": value, "ends": ends, "said": spoken(row["verdict"]),
            "count": len(row["runs"]), "runs": [runs[name] for name in first],
            "cell": f"{suite}/{subject}/{row['criterion']}",
        })  # fmt: skip
    added = next((row for row in around.rows if row.name == subject), None)
    page = {
        "suite": suite, "title": title, "subject": subject, "date": board.date, "counts": _counted(verdicts),
        "verdicts": shown, "added": None if added is None else added.table.model_dump(),
        "scenarios": [row | {"toml": row["toml"].replace(PLACE, "board")} for row in scenarios.values()],
    }  # fmt: skip
    forms = [*_forms(scenarios.values())][:_MOST_FORMS]
    text = pages.render("site-subject.html.j2", {}, forms=forms, page=page)
    pages.write(out / suite / f"{slug(subject)}.html", text)


def _gauge(row: Mapping[str, Any]) -> Gauge | None:
    if row["value"] is None:
        return None
    low, high = (math.nan if row[end] is None else row[end] for end in ("low", "high"))
    return Gauge(row["value"], low, high, row["least"], row["most"], f"{row['quantity']}: {row['why']}")


def _forms(scenarios: Any) -> Iterator[Form]:
    """The scenarios that a browser can run."""
    for row in scenarios:
        if PLACE in row["toml"]:
            continue
        form = Scenario.from_toml(row["toml"], source=f"board, scenario {row['hash']}").canonical()
        if fits(form):
            yield row["title"] or row["hash"], row["hash"], form
