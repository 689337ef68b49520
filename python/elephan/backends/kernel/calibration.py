"""Calibration of a host: the rates and delays at which the host's runs are valid. They are measured once, saved, and
used for warnings."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from elephan.backends.base import Backend, RawResult
from elephan.scenario import Scenario
from elephan.scenario.lookups import wire_bytes

GOODPUT_PART_MIN = 0.99
"""Smallest goodput of an honest run, as a fraction of the largest possible goodput of the path."""

ALGORITHMS = ("cubic", "reno")
RATES_MBPS = (100, 400, 622, 1000)
RTTS_MS = (40, 100)
_SETTLE_S = 10
_MEASURE_S = 10


@dataclass(frozen=True)
class Result:
    """One run.

    Attributes:
        goodput_part: goodput in the second half of the run, as a fraction of the largest possible goodput.
        late_p99_us: 99 % quantile of the lateness of packets at the path's end.
        link_processor: cores used by the path.
        stolen_part: fraction of the processors' time that a hypervisor gave to other machines; packets are late during
            this time.
        valid: true if the run failed no check of the backend.
    """

    algorithm: str
    rate_mbps: int
    rtt_ms: int
    goodput_part: float
    late_p50_us: float
    late_p99_us: float
    link_processor: float
    stolen_part: float
    valid: bool

    @property
    def honest(self) -> bool:
        """True if the run is valid and had its full rate."""
        return self.valid and self.goodput_part >= GOODPUT_PART_MIN


@dataclass(frozen=True)
class Calibration:
    """Measurements of a host."""

    host: str
    made: str
    results: list[Result]

    @property
    def honest_mbps(self) -> int:
        """The highest rate, Mbit/s, up to which all runs were honest (:attr:`Result.honest`); 0 if there is no such
        rate."""
        carried = 0
        for rate in sorted({result.rate_mbps for result in self.results}):
            if not all(result.honest for result in self.results if result.rate_mbps == rate):
                break
            carried = rate
        return carried

    def save(self) -> Path:
        """Save the calibration for :func:`load`."""
        path = place()
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        beside.replace(path)
        return path

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the document of ``elephan lab calibrate --json``."""
        rows = [asdict(result) | {"honest": result.honest} for result in self.results]
        return {"host": self.host, "made": self.made, "honest_mbps": self.honest_mbps, "results": rows}


def place() -> Path:
    """File of this host's calibration."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "elephan" / "calibration.json"


def host_name() -> str:
    """Name of a calibration; the name differs between hosts, kernels and numbers of cores."""
    return f"{platform.node()}, Linux {platform.release()}, {len(os.sched_getaffinity(0))} cores"


def load() -> Calibration | None:
    """This host's calibration, if it has one."""
    try:
        saved = json.loads(place().read_text(encoding="utf-8"))
        made = Calibration(saved["host"], saved["made"], [_saved_result(row) for row in saved["results"]])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return made if made.host == host_name() else None


def _saved_result(row: Mapping[str, Any]) -> Result:
    """The result in a saved row of a calibration file; earlier versions wrote another name for ``valid``."""
    return Result(**{"valid" if key == "believable" else key: value for key, value in row.items()})


def scenarios(
    algorithms: Iterable[str] = ALGORITHMS, rates_mbps: Iterable[int] = RATES_MBPS, rtts_ms: Iterable[int] = RTTS_MS
) -> list[tuple[str, int, int, Scenario]]:
    """Scenarios of a calibration: one flow and a buffer of one BDP, the slowest first."""
    rates, rtts = sorted(rates_mbps), sorted(rtts_ms)
    wanted = [(algorithm, rate, rtt) for rate in rates for rtt in rtts for algorithm in algorithms]
    return [(algorithm, rate, rtt, _scenario(algorithm, rate, rtt)) for algorithm, rate, rtt in wanted]


def _scenario(algorithm: str, rate_mbps: int, rtt_ms: int) -> Scenario:
    return Scenario.dumbbell(
        [algorithm], rate=f"{rate_mbps} Mbit/s", rtt=f"{rtt_ms} ms", buffer="100% BDP",
        duration=f"{_SETTLE_S + _MEASURE_S} s", measure={"from": f"{_SETTLE_S} s"},
    )  # fmt: skip


def calibrate(
    wanted: list[tuple[str, int, int, Scenario]],
    backend: Backend,
    progress: Callable[[float, float, int, int], bool | None] | None = None,
) -> Calibration:
    """Run all scenarios, one after the other.

    Args:
        wanted: scenarios of :func:`scenarios`.
        backend: the kernel backend, which runs the scenarios.
        progress: called with the finished and the total seconds, and the finished and the total runs; returning
            ``False`` cancels.

    Raises:
        ScenarioError: this host cannot run any scenario; the message has the reason.
        KernelError: a run failed.
        Cancelled: ``progress`` returned ``False``.
    """
    results = []
    each_s = _SETTLE_S + _MEASURE_S
    for i, (algorithm, rate, rtt, scenario) in enumerate(wanted):

        def report(fraction: float, done: int = i) -> bool:
            if progress is None:
                return True
            return progress((done + fraction) * each_s, len(wanted) * each_s, done, len(wanted)) is not False

        raw = backend.run(scenario, progress=report)
        results.append(_result(algorithm, rate, rtt, scenario, raw))
    return Calibration(host_name(), datetime.now(UTC).isoformat(timespec="seconds"), results)


def _result(algorithm: str, rate_mbps: int, rtt_ms: int, scenario: Scenario, raw: RawResult) -> Result:
    facts = raw.summary["kernel"]
    stack = scenario.form.flows[0].stack
    ideal_mbps = rate_mbps * stack.payload_bytes / wire_bytes(stack)
    return Result(
        algorithm=algorithm,
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        goodput_part=float(raw.tables["flows"]["goodput_mbps"][0]) / ideal_mbps,
        late_p50_us=facts["lateness"]["p50_us"],
        late_p99_us=facts["lateness"]["p99_us"],
        link_processor=facts["processor_s"]["link"] / (_SETTLE_S + _MEASURE_S),
        stolen_part=facts["processor"].get("steal", 0.0),
        valid=facts["valid"],
    )


def warning(rate_bps: int) -> str | None:
    """Warning about a run at a rate that failed in this host's calibration."""
    known = load()
    if known is None or rate_bps <= known.honest_mbps * 1_000_000 or not known.results:
        return None
    if known.honest_mbps:
        return (
            f"this host carried up to {known.honest_mbps} Mbit/s honestly in its calibration, "
            f"and this path has {rate_bps / 1e6:g} Mbit/s"
        )
    return "this host carried no rate honestly in its calibration; see elephan lab calibrate"
