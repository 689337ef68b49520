"""The kernel backend: real Linux TCP over an emulated path, in real time."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from elephan.backends.base import Backend, Cancelled, Progress, RawResult, refuse_other_transports
from elephan.backends.kernel import bpf, calibration, host, records, session
from elephan.backends.kernel.plan import Plan
from elephan.backends.kernel.session import Logs
from elephan.backends.kernel.tables import internals, tables
from elephan.backends.kernel.traces import runtime_dir
from elephan.scenario import Scenario
from elephan.unhurried import unhurried
from elephan.version import __version__

if TYPE_CHECKING:
    import polars as pl

LATE_P99_MAX_US = 500.0
"""Largest 99 % quantile of the lateness of forwarded packets, µs; a run above this bound is marked as not valid."""

_DIGEST_DIGITS = 12
_WAIT_S = 0.1
_MOVED_PART_MAX = 0.01
_STOLEN_PART_MIN = 0.01
_SEGMENTS_AN_ACK_MAX = 4.0
_CLOCK_STEP_MAX_US = 100.0
_one_at_a_time = threading.Lock()


class KernelBackend(Backend):
    """Runs dumbbells and other graphs of links with real sockets in real time; needs Linux and root."""

    name = "kernel"
    title = "real Linux TCP over an emulated bottleneck"
    measures = True

    def version(self) -> str:
        """The package's version, a digest of the programs, and the kernel; results of other versions are not reused."""
        return f"{__version__}+{_program_digest()}.{bpf.digest()}, Linux {platform.release()}"

    def check(self, scenario: Scenario) -> None:
        """Reject a scenario that this host cannot run, before the run.

        Raises:
            ScenarioError: the backend cannot run the scenario; the message has the reason.
        """
        refuse_other_transports(self.name, scenario)
        Plan.of(scenario.without_groups())
        host.require()

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario in real time; other kernel runs on this host wait until this run ends.

        Raises:
            ScenarioError: this host cannot run the scenario; the message has the reason.
            KernelError: the run failed.
            Cancelled: ``progress`` returned ``False``.
        """
        plan = Plan.of(scenario.without_groups(), seed)
        host.require()
        with alone(progress), unhurried():
            records.remove_abandoned()
            before = host.state()
            thoughts: list[pl.DataFrame] = []
            with algorithms(plan, thoughts) as names:
                logs = session.run(plan, names, progress)
        return result(plan, logs, names, before, thoughts)


@lru_cache(maxsize=1)
def _program_digest() -> str:
    path = host.program()
    if path is None:
        return "none"
    with path.open("rb") as binary:
        return hashlib.file_digest(binary, "sha256").hexdigest()[:_DIGEST_DIGITS]


@contextlib.contextmanager
def alone(progress: Progress | None) -> Iterator[None]:
    """Hold a lock, so that only one kernel run is active on this host: two simultaneous runs would disturb each other.

    Raises:
        Cancelled: ``progress`` returned ``False`` during the wait.
    """
    runtime_dir().mkdir(parents=True, exist_ok=True)

    def wait() -> None:
        if progress is not None and not progress(0.0):
            raise Cancelled
        time.sleep(_WAIT_S)

    while not _one_at_a_time.acquire(blocking=False):
        wait()
    try:
        with (runtime_dir() / "lock").open("w") as lock:
            while not _locked(lock.fileno()):
                wait()
            yield
    finally:
        _one_at_a_time.release()


def _locked(descriptor: int) -> bool:
    """Try to lock a file; true on success. The kernel releases the lock when the process ends, even if the process is
    killed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def algorithms(plan: Plan, thoughts: list[pl.DataFrame]) -> Iterator[dict[int, str]]:
    """Names of the flows' algorithms in the kernel; algorithms that the kernel lacks are registered within this
    context.

    At the end of the context, the reports of the registered algorithms are in ``thoughts``.
    """
    names = {i: flow.built_in for i, flow in enumerate(plan.flows) if flow.built_in is not None}
    others = [i for i, flow in enumerate(plan.flows) if flow.built_in is None]
    if not others:
        yield names
        return
    given: dict[str, str] = {}
    record = records.Record.new()
    folder = record.folder()
    with record.kept(), contextlib.ExitStack() as stack:
        for i in others:
            flow = plan.flows[i]
            key = f"{flow.algorithm} {sorted(flow.parameters.items())}"
            if key not in given:
                given[key] = stack.enter_context(bpf.registered(flow.algorithm, flow.parameters, folder, into=thoughts))
            names[i] = given[key]
        yield names


def result(
    plan: Plan, logs: Logs, names: Mapping[int, str], before: Mapping[str, Any], thoughts: list[pl.DataFrame]
) -> RawResult:
    """The tables of a run, with the reports of its algorithms, and its totals."""
    made, totals = tables(plan, logs), summary(plan, logs, names, before)
    if thoughts:
        made["internals"] = internals(plan, logs, thoughts)
        totals["internals"] = made["internals"].height
    return RawResult(made, totals)


def summary(plan: Plan, logs: Logs, names: Mapping[int, str], before: Mapping[str, Any]) -> dict[str, Any]:
    """Totals of a run, the checks that it failed, and the host's state before and after."""
    link = logs.link
    failed = _failed_checks(plan, logs)
    return {
        "segments_delivered": sum(
            flow["received_bytes"] // spec.stack.payload_bytes
            for flow, spec in zip(link["flows"], plan.form.flows, strict=True)
        ),
        "conservation": link["conservation"],
        "links": [{key: value for key, value in each.items() if key != "samples"} for each in link["links"]],
        "warnings": [*failed, *_cautions(plan, logs)],
        "engine_version": KernelBackend().version(),
        "kernel": {
            "valid": not failed,
            "failed_checks": failed,
            "lateness": link["lateness"],
            "receivers": link["receivers"] | {"segments_an_ack": _segments_an_ack(plan, logs)},
            "drops": link["drops"],
            "displaced": link["displaced"],
            "clock_step_us": link["clock_step_us"],
            "scheduling": link["scheduling"],
            "spin_us": plan.spin_us,
            "congestion_controls": [names[i] for i in range(len(plan.flows))],
            "host_before": dict(before),
            "host_after": host.state(),
            "processor": logs.processor,
            "processor_s": {"link": link["processor_s"], "send": logs.send["processor_s"],
                            "receive": logs.receive["processor_s"]},
            "fine_timestamps": logs.send["fine_timestamps"],
            "look_period_s": logs.send["look_period_s"],
            "look_gap_s": logs.send["look_gap_s"],
            "sysctls": session.SYSCTLS,
        },
    }  # fmt: skip


def _segments_an_ack(plan: Plan, logs: Logs) -> float:
    """Number of received segments for each ACK that acknowledged new data."""
    flows = logs.link["flows"]
    payloads = [spec.stack.payload_bytes for spec in plan.form.flows]
    segments = sum(int(flow["received_bytes"]) / payload for flow, payload in zip(flows, payloads, strict=True))
    return float(segments / max(1, sum(int(flow["answers"]) for flow in flows)))


def _cautions(plan: Plan, logs: Logs) -> list[str]:
    """Cautions about a valid run."""
    found = []
    longest_s = logs.send["look_gap_s"]
    if longest_s > min(plan.round_trips_s):
        found.append(
            f"windows were not sampled for {1e3 * longest_s:.0f} ms, longer than a round trip, so that a loss event "
            "may be missing"
        )
    if (segments := _segments_an_ack(plan, logs)) > _SEGMENTS_AN_ACK_MAX:
        found.append(
            f"receivers acknowledged every {segments:.1f} segments, and on an idle host every 2: they were short of "
            "the processor, and senders had their ACKs in larger steps"
        )
    if (caution := calibration.warning(plan.rate_bps)) is not None:
        found.append(caution)
    return found


def _stolen(logs: Logs) -> str:
    """Clause on the processor time that a hypervisor gave to other machines; empty if that time is too short to explain
    late packets."""
    part = logs.processor.get("steal", 0.0)
    if part < _STOLEN_PART_MIN:
        return ""
    return f"; other machines on this hardware took {part:.0%} of the processors' time meanwhile"


def _failed_checks(plan: Plan, logs: Logs) -> list[str]:
    """Reasons why a run is not valid; one sentence each."""
    link = logs.link
    found = []
    late_us = link["lateness"]["p99_us"]
    if late_us is not None and late_us > LATE_P99_MAX_US:
        found.append(
            f"the host was too busy: one packet of a hundred left the path {late_us / 1e3:.1f} ms late or more, "
            f"and {LATE_P99_MAX_US / 1e3:g} ms is the limit of a valid run{_stolen(logs)}"
        )
    moved, carried = link["displaced"]["beyond_500_us"], link["conservation"]["sent"]
    if moved > _MOVED_PART_MAX * carried:
        found.append(f"{moved} of {carried} packets came to the path more than 0.5 ms after others that are newer")
    for cause, what in (
        ("ring_overflow", "arrived at the path faster than it could process them"),
        ("device_refused", "were not taken by the device behind the path"),
    ):
        if link["drops"][cause] is None:
            found.append(f"it could not be counted how many packets {what}")
        elif link["drops"][cause]:
            found.append(f"{link['drops'][cause]} packets {what}, so that they were lost where the scenario loses none")
    if abs(link["clock_step_us"]) > _CLOCK_STEP_MAX_US:
        found.append(f"the host's clock was set by {link['clock_step_us'] / 1e3:.1f} ms during the run")
    for flow, sender, spec in zip(plan.flows, logs.send["flows"], plan.form.flows, strict=True):
        payload = spec.stack.payload_bytes
        if sender["segment_bytes"] not in (None, payload):
            found.append(f"{flow.name}: its segments had {sender['segment_bytes']} B of data and not {payload} B")
    return found
