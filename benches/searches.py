"""Searches for failures that are known from the literature, each with its confirmation on Linux in virtual time.

    python benches/searches.py [--no-linux] [NAME ...]

A line says how many runs and how much processor time passed until the failure was found and confirmed by further seeds,
how many factors its simplest form has, and how many seeds fail in the simulator and on Linux. The spaces are those of a
search without options, some with the factors of the publication only, because other factors make the same algorithm
fail in other ways.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from elephan.design import confirming, searching, space

MOST_S = 1200.0
"""Processor time after which a search has found nothing: ten minutes of two cores."""


@dataclass(frozen=True)
class Known:
    """A failure, the search for it, and the factors and ranges of its space."""

    name: str
    algorithm: str
    purpose: str
    only: tuple[str, ...] = space.FACTORS
    ranges: tuple[str, ...] = ()
    against: str | None = None

    @property
    def over(self) -> tuple[str, ...]:
        return *self.ranges, *(f"{factor}=none" for factor in space.FACTORS if factor not in self.only)


JITTER = "jitter", "dip"
KNOWN = (
    Known("storm", "bbr:linux", "collapse"),
    Known("stall", "bbr:linux", "stall", against="cubic"),
    Known("low-rate", "reno:linux", "underuse", ("late", "far", *JITTER, "pulses")),
    Known("copa", "copa", "starvation", JITTER),
    Known("bbr", "bbr:linux", "starvation", JITTER, ("buffer=1..16",)),
    Known("bbr-rtts", "bbr:linux", "starvation", ("far", *JITTER), ("buffer=1..16",)),
    Known("vegas", "vegas:linux", "starvation", JITTER),
    Known("ledbat", "ledbat", "starvation", ("late",)),
    Known("route", "vegas:linux", "underuse", against="cubic"),
    Known("illinois", "illinois:linux-2.6.23", "starvation", ("late",), against="illinois:linux"),
    Known("fast", "fast", "late-start"),
)


class SpentError(Exception):
    """The processor time is spent."""


def processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def shown(known: Known, *, linux: bool) -> None:
    begun = processor_s()
    runs = 0

    def watch(count: int, _wall_s: float, _worst: float) -> None:
        nonlocal runs
        runs = count
        if processor_s() - begun > MOST_S:
            raise SpentError

    words = f"{known.algorithm}, {known.purpose}" + (f", against {known.against}" if known.against else "")
    words += f", of {' and '.join(known.only)} only" if known.only != space.FACTORS else ""
    words += "".join(f", {text}" for text in known.ranges)
    try:
        result = searching.search(
            known.algorithm, known.purpose, against=known.against, over=known.over, budget_s=1e6, watch=watch
        )
    except SpentError:
        print(f"{known.name}: {words}: not found in {runs} runs, {processor_s() - begun:.0f} s of processor time")
        return
    found = result.found
    assert found is not None
    fails = sum(result.goal.severity(value) >= 0 for value in found.seeds)
    print(
        f"{known.name}: {words}: {found.value:.3g} after {found.runs} runs ({result.runs} in all), "
        f"{processor_s() - begun:.0f} s of processor time, {len(space.factors_of(found.point))} factors, "
        f"{fails} of {len(found.seeds)} further seeds"
    )
    print(f"  {space.words(found.point)}", flush=True)
    if linux:
        begun = processor_s()
        confirmed = confirming.on_linux(searching.Judge.of(result, known.algorithm), found)
        said = confirmed.get("why") or f"{sum(confirmed['fails'])} of {len(confirmed['fails'])} seeds fail"
        values = ", ".join(f"{value:.3g}" for value in confirmed.get("values", ()))
        print(f"  on Linux: {said} {values} in {processor_s() - begun:.0f} s of processor time", flush=True)


def main() -> None:
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    for known in KNOWN:
        if not names or known.name in names:
            shown(known, linux="--no-linux" not in sys.argv[1:])


if __name__ == "__main__":
    main()
