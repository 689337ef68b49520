"""A process that tries scenarios one after the other, and the handle on it that survives its death.

The process has bounds on its memory and on the processor time of each scenario, so that one that takes all of either
ends the process and not the machine; the handle knows which scenario it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from tests.fuzz import generator, trial
from tests.fuzz.trial import AGAIN_EVERY, FAILED, Outcome

MEMORY_BYTES = 6 * 2**30
"""Address space of the process: a gigabyte of a run, the copies that the rules for its numbers make, and libraries."""
CPU_S = 30
"""Processor time after which a scenario that does not even look for a request to stop ends the process."""
HUNG_S = 600
"""Wall time after which it is ended from outside, however busy the machine is."""
RENEW_AFTER = 1000


class Worker:
    """A process that is started when it is needed, and again when it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self._done = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def seed(self, seed: int) -> Outcome:
        """Try the scenario of a seed."""
        return self._ask({"seed": seed})

    def form(self, form: dict[str, Any], again: bool = False) -> Outcome:
        """Try a scenario."""
        return self._ask({"form": form, "again": again})

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, question: dict[str, Any]) -> Outcome:
        if self._done >= RENEW_AFTER:
            self.stop()
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(HUNG_S, process.kill)
        deadline.start()
        answer = ""
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(question) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
        finally:
            deadline.cancel()
        self._done += 1
        if answer:
            return Outcome(**json.loads(answer))
        return self._died(process)

    def _start(self) -> subprocess.Popen[str]:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (for its life)
        self._done = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, env=os.environ | {"POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"},
        )  # fmt: skip
        return self._process

    def _died(self, process: subprocess.Popen[str]) -> Outcome:
        status = process.wait()
        self._process = None
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].splitlines()
        said = [line for line in lines if line.strip() and not line.startswith("note:")]
        last = said[-1:] or ["it said nothing"]
        ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return Outcome(FAILED, f"the process died, {ended}: {last[0]}"[:500])


def serve() -> None:
    """Answer the questions on standard input, one line each."""
    # Output of a program while it runs must not stand between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_S, hard))
        question = json.loads(line)
        seed = question.get("seed")
        form = question["form"] if seed is None else generator.tables(seed)
        outcome = trial.attempt(form, question["again"] if seed is None else seed % AGAIN_EVERY == 0)
        answers.write(outcome.to_json() + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
