"""``python -m tests.fuzz``: random scenarios for as long as it is told; prints the seed that replays a failure."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from tests.fuzz import generator
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import AGAIN_EVERY, FAILED, OUTCOMES, Outcome
from tests.fuzz.worker import Worker

TELL_EVERY_S = 60.0
"""Time between lines that say how far it is."""
SHOWN = 3
"""Failures of one family that are printed as they come; all are counted."""


class Tally:
    """Outcomes so far, counted from several threads."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.families: dict[str, list[tuple[int, str]]] = {}
        self.slowest = (0.0, 0)
        self.largest = (0, 0)
        self._lock = threading.Lock()

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count an outcome, and print it if it is a failure."""
        with self._lock:
            self.kinds[outcome.kind] += 1
            self.slowest = max(self.slowest, (outcome.seconds, seed))
            self.largest = max(self.largest, (outcome.octets, seed))
            if outcome.kind != FAILED:
                return
            rows = self.families.setdefault(outcome.family, [])
            rows.append((seed, outcome.why))
            if len(rows) <= SHOWN:
                print(f"seed {seed}: {outcome.why}", flush=True)

    def line(self, first: int, seconds: float) -> str:
        """All of it in one line."""
        counts = ", ".join(f"{self.kinds[kind]} {kind}" for kind in OUTCOMES)
        total = sum(self.kinds.values())
        return (
            f"{total} scenarios from seed {first} in {seconds:.0f} s: "
            f"{counts} ({len(self.families)} kinds of failure); "
            f"longest {self.slowest[0]:.1f} s of processor time (seed {self.slowest[1]}), "
            f"largest {self.largest[0] / 2**20:.0f} MiB (seed {self.largest[1]})"
        )


def main(arguments: list[str] | None = None) -> int:
    """Run scenarios, or replay one; 0 if nothing failed, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--time", default="60s", help="how long, for example 90s, 10min or 2h (default: 60s)")
    parser.add_argument("--count", type=int, help="so many scenarios, however long they take")
    parser.add_argument("--first", type=int, help="the first seed; those after it follow (default: a random one)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--seed", type=int, help="replay the scenario of one seed")
    parser.add_argument("--file", type=Path, help="replay a scenario in a JSON file")
    parser.add_argument("--shrink", action="store_true", help="with --seed or --file: make a failing scenario smaller")
    parser.add_argument("--show", action="store_true", help="with --seed: print the scenario and do not run it")
    chosen = parser.parse_args(arguments)
    seconds = _seconds(chosen.time)
    if seconds is None:
        parser.error(f"--time: '{chosen.time}' is not a time; write for example 90s, 10min or 2h")
    if chosen.show and chosen.seed is not None:
        print(json.dumps(generator.tables(chosen.seed), indent=1))
        return 0
    if chosen.seed is not None or chosen.file is not None:
        return _replay(chosen.seed, chosen.file, chosen.shrink)
    first = random.SystemRandom().randrange(10**9) if chosen.first is None else chosen.first
    return _run(first, seconds, chosen.count, chosen.jobs)


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)?", text.strip())
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600, None: 1}[found[2]] if found else None


def _run(first: int, seconds: float, count: int | None, jobs: int) -> int:
    tally, began_s = Tally(), time.monotonic()
    print(f"from seed {first}", flush=True)
    seeds = itertools.count(first) if count is None else iter(range(first, first + count))
    lock, stopped = threading.Lock(), threading.Event()

    def work() -> None:
        with Worker() as worker:
            while not stopped.is_set() and (count is not None or time.monotonic() - began_s < seconds):
                with lock:
                    seed = next(seeds, None)
                if seed is None:
                    return
                tally.add(seed, worker.seed(seed))

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while _await(threads, TELL_EVERY_S):
            print(tally.line(first, time.monotonic() - began_s), flush=True)
    except KeyboardInterrupt:
        stopped.set()
        _await(threads)
    for family, rows in sorted(tally.families.items(), key=lambda item: -len(item[1])):
        print(f"{len(rows)} times, first with --seed {min(rows)[0]}: {family}")
    print(tally.line(first, time.monotonic() - began_s))
    return 1 if tally.families else 0


def _await(threads: list[threading.Thread], seconds: float = math.inf) -> bool:
    """Wait for threads, not for longer than this; true if some still run."""
    until_s = time.monotonic() + seconds
    while (busy := [thread for thread in threads if thread.is_alive()]) and time.monotonic() < until_s:
        busy[0].join(0.2)
    return bool(busy)


def _replay(seed: int | None, file: Path | None, smaller: bool) -> int:
    form = generator.tables(seed) if seed is not None else json.loads(Path(file or "").read_text(encoding="utf-8"))
    with Worker() as worker:
        outcome = worker.form(form, again=seed is None or seed % AGAIN_EVERY == 0)
        if smaller and outcome.kind == FAILED:
            form, outcome = shrink(form, outcome, worker)
            print(json.dumps(form, indent=1))
    print(f"{outcome.kind}: {outcome.why}")
    return 1 if outcome.kind == FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
