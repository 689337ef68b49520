"""quinn's own qlog of a run on ``--on quic``: one file for each flow, written by quinn at the flow's sender.

The events, their names and their units are quinn's; nothing is added or converted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from elephan.backends import Progress
from elephan.backends.quic import QuicBackend, connections
from elephan.export.events import check_same
from elephan.runs import Run, RunError, tables

_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def write_quinn_qlog(
    run: Run, path: str | Path, flows: Sequence[str] = (), progress: Progress | None = None
) -> list[Path]:
    """Repeat a run of the quic backend, and write quinn's log of its senders.

    Args:
        run: the run; the repeated run must be equal.
        path: the file; with several flows, each flow's name comes before its suffix, with ``_`` for what a file's name
            should not have.
        flows: names of the flows; empty for all.
        progress: called with the simulated fraction.

    Returns:
        The files.

    Raises:
        RunError: the run is of another backend, has no such connection, or this version of the program gives another
            result than the saved result.
        OSError: a file cannot be written.
    """
    if run.backend != QuicBackend.name:
        raise RunError(f"the run {run.id} is of the backend '{run.backend}', and only 'quic' has quinn's log")
    all_of_quinn = {i: run.form.flows[i] for i in connections(run.form)}
    chosen = {i: flow for i, flow in all_of_quinn.items() if not flows or flow.name in flows}
    if not chosen:
        have = ", ".join(flow.name for flow in all_of_quinn.values()) or "none"
        raise RunError(f"the run {run.id} has no connection of these names: {', '.join(flows)}; it has {have}")
    path = Path(path)
    words = {i: _NOT_IN_NAMES.sub("_", flow.name) for i, flow in chosen.items()}
    if len(set(words.values())) < len(words):
        words = {i: f"{i + 1}-{word}" for i, word in words.items()}
    alone = len(chosen) == 1
    files = {i: path if alone else path.with_name(f"{path.stem}-{word}{path.suffix}") for i, word in words.items()}
    result = QuicBackend().run_logged(run.scenario, run.seed, files, progress)
    check_same(run, tables.checked(result.tables))
    return list(files.values())
