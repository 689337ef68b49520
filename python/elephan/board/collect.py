"""Evaluations become cells of the board."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elephan.board.contents import Board
from elephan.board.rows import Row
from elephan.runs import Store
from elephan.suites import Evaluation, evaluate


def collect(
    board: Board, suite: str, subjects: Sequence[str], rows: Sequence[Row] = (), *, quick: bool, on: str = "sim",
    jobs: int | None = None, store: Store | None = None, progress: Callable[..., Any] | None = None,
) -> Board:  # fmt: skip
    """Judge subjects and rows by a suite, and return the board with their verdicts, which is not written yet.

    Args:
        board: the board.
        suite: id of the suite.
        subjects: algorithms or queue disciplines of the registry.
        rows: rows of strangers.
        quick: true for the suite's quick form.
        on: the backend.
        jobs: number of simultaneous runs.
        store: folder of saved results.
        progress: called with the progress of the runs.

    Raises:
        ScenarioError, SweepError, Interrupted: the errors of :func:`elephan.evaluate`.
    """
    options: dict[str, Any] = {"quick": quick, "on": on, "jobs": jobs, "store": store, "progress": progress}
    found = [(one.subject.label, one) for one in evaluate(subjects, suite, **options)] if subjects else []
    for row in rows:
        found += [(row.name, one) for one in evaluate([row.spec], suite, parameters=row.parameters or None, **options)]
    verdicts = [verdict for name, one in found for verdict in _verdicts(name, one)]
    manifests = [manifest for _, one in found for manifest in one.manifests]
    return board.with_verdicts(verdicts, manifests, datetime.datetime.now(datetime.UTC).date().isoformat())


def _verdicts(name: str, one: Evaluation) -> list[dict[str, Any]]:
    how = (" --quick" if one.quick else "") + ("" if one.on == "sim" else f" --on {one.on}")
    rows = []
    for outcome in one.outcomes:
        document, quantity = outcome.to_json(), outcome.quantity
        scaled = {
            end: None if document[end] is None else document[end] * quantity.scale for end in ("value", "low", "high")
        }
        allowed = outcome.criterion.allowed
        rows.append({
            "suite": one.suite.id, "subject": name, "criterion": document["id"], "section": document["section"],
            "force": document["force"], "text": document["text"], "quantity": quantity.name, "unit": quantity.unit,
            "required": outcome.limit_text, "verdict": document["verdict"], "weak": document["weak"],
            "why": document["why"], "backend": one.on, "runs": document["evidence"], **scaled,
            "least": allowed.low * quantity.scale, "most": allowed.high * quantity.scale,
            "command": f"elephan evaluate {one.subject.label} --suite {one.suite.id}{how} --only {document['id']}",
        })  # fmt: skip
    return rows


def at(folder: Path) -> Board:
    """The board of a folder, or an empty one if there is none yet."""
    return Board.read(folder) if (folder / "board.json").exists() else Board.empty(folder)
