"""A process with the engine alone, for a candidate in Rust: ``python -m elephan.design.engine_worker``.

It reads a request from stdin, restricts itself and loads the candidate's libraries; then each line of stdin is a run.
The answers are lines of JSON on the descriptor that was its stdout: the limits that hold, that the candidate is loaded,
and the numbers of each run. What the candidate prints goes to stderr. The scenarios are stated by the process that
asks, so that this one imports little and is ready in a twentieth of a second.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib import import_module
from typing import IO, Any

from elephan.design import sandbox

# The engine by its name: the catalog, which has it otherwise, imports what states scenarios.
_engine: Any = import_module("elephan._engine")

_WAIT_S = 60.0
"""Time after which the threads are asked again; each finished run ends the wait."""


def main() -> None:
    """Answer one request."""
    requests = sys.stdin
    request = json.loads(requests.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(document: dict[str, Any]) -> None:
        answers.write(json.dumps(document) + "\n")
        answers.flush()

    readable = [*sandbox.installed(), request["folder"]]
    answer({"limits": sandbox.restrict(readable, request["memory_bytes"], request["processor_s"])})
    for library in request["libraries"]:
        try:
            _engine.check_library(library, request["values"])
        except ValueError as error:
            why, *parameter = error.args
            answer({"failure": why} | ({"parameter": parameter[0]} if parameter else {}))
            return
    answer({"loaded": True})
    batch = _engine.Batch(request["metrics"], request["jobs"], request["memory_bytes"], request["headroom"])
    threading.Thread(target=_submit, args=(requests, batch), daemon=True).start()
    while True:  # until this process is ended
        for number, seconds, failed, entries in batch.collect(_WAIT_S):
            answer({"run": [number, seconds, failed, entries]})


def _submit(requests: IO[str], batch: Any) -> None:
    for line in requests:
        number, form, libraries = json.loads(line)
        batch.submit(number, form, {int(flow): path for flow, path in libraries.items()})


if __name__ == "__main__":
    main()
