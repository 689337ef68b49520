"""One scenario, tried: refused in one line, run, cancelled for its length, or failed."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from tests.fuzz import checks, generator, limits

from elephan import backends
from elephan.runs import Run, invariants
from elephan.runs.execute import compute
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.schema import TABLES, ScenarioTable, field_names

REFUSED, RAN, CANCELLED, FAILED = "refused", "ran", "cancelled", "failed"
OUTCOMES = (REFUSED, RAN, CANCELLED, FAILED)
AGAIN_EVERY = 16
"""One of so many seeds is run a second time, and once more with its flows in another order."""
ELSEWHERE = ("model", "quic", "linux")
"""Backends that run the scenarios of the same seeds; a scenario that one of them cannot run is refused by it."""
ELSEWHERE_S = 10.0
"""Time after which a run of another backend is cancelled."""
LATE = ("events: more than ", "memory")
"""Refusals that may come after a scenario was accepted: only running it shows that it is too large."""
_NAMES = {*TABLES, *field_names(ScenarioTable), *(name for table in TABLES.values() for name in field_names(table))}
_PLACE = re.compile(r"[a-z_]+")


@dataclass(frozen=True)
class Outcome:
    """Result of trying a scenario.

    Attributes:
        kind: one of ``OUTCOMES``.
        why: the refusal, or what failed; one line.
        seconds: processor time of the run.
        octets: memory that the run added at its peak.
    """

    kind: str
    why: str = ""
    seconds: float = 0.0
    octets: int = 0

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @property
    def family(self) -> str:
        """Failure without numbers and names: failures with one cause mostly have one family."""
        text = re.sub(r"[\w.+-]*\d[\w.+-]*", "#", self.why)
        return re.sub(r"'[^']*'|^(flow|link|traffic) \S+|\b[flt]#\S*", "_", text)[:120]


def attempt(form: dict[str, Any], again: bool = False) -> Outcome:
    """Build a scenario, run it, look at its numbers; nothing that goes wrong is raised, but for Ctrl-C.

    Args:
        form: the tables of a scenario file.
        again: run it twice more, the second time with its flows in another order where that must not matter.
    """
    try:
        return _attempt(form, again)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (a panic of the engine is a BaseException)
        return Outcome(FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])


def _attempt(form: dict[str, Any], again: bool) -> Outcome:
    try:
        scenario = Scenario.from_dict(form)
    except ScenarioError as error:
        return _refusal(error)
    size = limits.size_of(scenario.canonical())
    limits.reset_peak()
    resident = limits.resident_bytes()
    began_s = time.process_time()
    # A short run may send more than its links carry, so how long it may take is known afterwards.
    is_short = size.seconds <= limits.PATIENCE_S
    patience_s = limits.LONGEST_S if is_short else limits.PATIENCE_S
    try:
        run = _run(scenario, patience_s)
    except backends.Cancelled:
        seconds = time.process_time() - began_s
        if is_short:
            why = f"over its limits: more than {seconds:.1f} s of processor time for {size.events:.2g} events"
            return Outcome(FAILED, why, seconds)
        return Outcome(CANCELLED, f"{size.events:.2g} events", seconds)
    except backends.RunMemoryError as error:
        return Outcome(CANCELLED, str(error))
    except ScenarioError as error:
        if not str(error).startswith(LATE):
            return Outcome(FAILED, f"refused after it was accepted: {error}")
        return _refusal(error)
    seconds, octets = time.process_time() - began_s, max(0, limits.resident_bytes(peak=True) - resident)
    # A sender with a large window fills or overflows a queue, however little the links carry.
    sent = run.manifest["conservation"]["sent"]
    allowed_s = size.seconds + limits.SECONDS_PER_EVENT * sent
    if seconds > allowed_s:
        why = f"over its limits: {seconds:.1f} s of processor time, not {allowed_s:.1f} s, for {sent} packets"
        return Outcome(FAILED, why, seconds)
    logged = run.tables()["events"].height if "events" in run.tables() else 0
    allowed = size.octets + limits.BYTES_PER_SEGMENT * sent + limits.BYTES_PER_LOGGED * logged
    if octets > allowed:
        why = f"over its limits: {octets >> 20} MiB of memory, not {allowed / 2**20:.0f} MiB"
        return Outcome(FAILED, why, seconds, octets)
    found = list(checks.problems(run))
    if not found and again:
        found = [*_repeated(scenario, run, form), *_logged(run, form), *_elsewhere(scenario)]
    return Outcome(FAILED if found else RAN, "; ".join(found[:3]), seconds, octets)


def _run(scenario: Scenario, patience_s: float) -> Run:
    until_s = time.process_time() + patience_s
    backend = backends.get("sim", backends.MemoryPool(limits.MEMORY_BYTES))
    return compute(backend, scenario, scenario.seed, lambda _: time.process_time() < until_s)


def _elsewhere(scenario: Scenario) -> Iterator[str]:
    """Impossible numbers in the tables of the other backends that are there and can run the scenario, or a plain one of
    its seed: Linux refuses nearly every other."""
    seed = scenario.seed % 2**32
    plain, mixed = (Scenario.from_dict(tables(seed)) for tables in (generator.plain, generator.beside_quic))
    for name, tried in [*itertools.product(ELSEWHERE, (scenario, plain)), ("quic", mixed)]:
        backend = backends.get(name, backends.MemoryPool(limits.MEMORY_BYTES))
        try:
            backend.check(tried)
            run = compute(backend, tried, tried.seed, _until(time.monotonic() + ELSEWHERE_S))
        except ScenarioError as error:
            if "\n" in str(error):
                yield f"on {name}: a refusal that is not one line: {str(error)!r}"
        except (backends.Cancelled, backends.RunMemoryError):
            continue
        else:
            yield from (f"on {name}: {problem}" for problem in invariants.problems(run))


def _until(until_s: float) -> Callable[[float], bool]:
    """A progress callback that cancels a run at a time."""
    return lambda _: time.monotonic() < until_s


def _refusal(error: ScenarioError) -> Outcome:
    line = str(error)
    if "\n" in line or not line.isprintable():
        return Outcome(FAILED, f"a refusal that is not one line: {line!r}")
    if not _NAMES.intersection(_PLACE.findall(line)):
        return Outcome(FAILED, f"a refusal that names no field: {line}")
    return Outcome(REFUSED, line)


def _repeated(scenario: Scenario, run: Run, form: dict[str, Any]) -> list[str]:
    """Differences between runs that must be equal."""
    second = _run(scenario, 10 * limits.PATIENCE_S)
    found = [
        f"{name} differs when the scenario is run again"
        for name, table in run.tables().items()
        if not table.equals(second.tables()[name])
    ]
    turned = _turned(form)
    if found or turned is None:
        return found
    other = _run(Scenario.from_dict(turned), 10 * limits.PATIENCE_S)
    keys = {"flows": ["name"], "samples": ["flow", "time_s"], "links": ["link", "time_s"]}
    return [
        f"{name} differs when the flows are listed in another order"
        for name, key in keys.items()
        if not _sorted(run.tables()[name], key).equals(_sorted(other.tables()[name], key))
    ]


def _logged(run: Run, form: dict[str, Any]) -> Iterator[str]:
    """Tables that a log of events changes, which only looks; without a log, receivers may be evaluated elsewhere."""
    if form.get("resolution") == "train":  # with a log, such a run has single segments
        return
    try:
        logged = _run(Scenario.from_dict(form | {"events": not form.get("events")}), 10 * limits.PATIENCE_S)
    except (ScenarioError, backends.Cancelled, backends.RunMemoryError):
        return
    for name in ("flows", "samples", "links"):
        if not run.tables()[name].equals(logged.tables()[name]):
            yield f"{name} differs with a log of events"


def _sorted(table: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    text = [name for name, dtype in table.schema.items() if dtype in (pl.Categorical, pl.String, pl.Enum)]
    return table.with_columns(pl.col(text).cast(pl.String)).sort(key)


def _turned(form: dict[str, Any]) -> dict[str, Any] | None:
    """The scenario with its flows backwards, if links and flows have names of their own: then order has no meaning."""
    flows = form.get("flow", [])
    named = all("name" in flow for flow in flows)
    return form | {"flow": flows[::-1]} if "link" in form and named and len(flows) > 1 else None
