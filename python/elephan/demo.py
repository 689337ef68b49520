"""``elephan demo``: a flow starts late on a long fat path, once for each of three algorithms.

The text, the table and the figure have no number of their own; all numbers are from the scenario ``demo.toml`` and from
the runs' summaries.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elephan.metrics.convergence import REACHED
from elephan.metrics.queueing import queue_delay_series_ms
from elephan.metrics.reading import duration_s, measure_window
from elephan.report import overlays
from elephan.report.overlays import Line, Overlay, Panel
from elephan.report.plots import flow_rate
from elephan.runs import Run, Store, SweepProgress, sweep
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.form import Spec
from elephan.scenario.lookups import base_rtt_ps, slowest_bps
from elephan.scenario.words import listed
from elephan.writing import whole_file

LATE = ("cubic", "htcp", "bbr3")
"""Algorithms of the late-starting flow; each takes more of the first flow's share than the one before it."""

SCENARIO = "demo.toml"
FIGURES = ("demo.svg", "demo.png")
SIZE = "18x10.5 cm"
FIRST, SECOND = "first", "late"
PERCENT = f"{100 * REACHED:g} %"
"""Fraction of the first flow's rate that counts as converged."""

_BIN_S = 1.0
_EQUAL = 0.05
"""Two flows whose shares are within this distance of one half share equally."""


@dataclass(frozen=True)
class Outcome:
    """Numbers of one run; rates, shares and delays are of the measured part.

    Attributes:
        algorithm: algorithm of the late-starting flow.
        first_mbps: goodput of the first flow, Mbit/s.
        late_mbps: goodput of the late-starting flow, Mbit/s.
        late_share: the metric ``late_flow_share``.
        convergence_time_s: the metric of that name, s; ``None`` if it was not reached.
        queueing_delay_ms: the metric ``mean_queue_delay_ms``.
        retransmits: retransmitted segments of both flows in the whole run.
        utilization: the metric of that name.
        run: the run's id.
    """

    algorithm: str
    first_mbps: float
    late_mbps: float
    late_share: float
    convergence_time_s: float | None
    queueing_delay_ms: float
    retransmits: int
    utilization: float
    run: str


@dataclass(frozen=True)
class Demo:
    """The runs of the demonstration, and the files that were written."""

    runs: tuple[Run, ...]
    outcomes: tuple[Outcome, ...]
    scenario: Path
    figures: tuple[Path, ...]

    @property
    def _dumbbell(self) -> dict[str, str]:
        """Rate, RTT and buffer of the path, as the scenario file states them."""
        return {name: str(value) for name, value in tomllib.loads(_text())["dumbbell"].items()}

    @property
    def question(self) -> str:
        """The question that the runs answer."""
        form = self.runs[0].form
        first = form.flows[0]
        return (
            f"A {first.algorithm} flow has a path of {_path(form)} to itself until a second flow starts at "
            f"{_start_s(self.runs[0]):g} s. "
            "Which share does the late flow get, and how soon?"
        )

    @property
    def answer(self) -> str:
        """The answer, a sentence or two for each run and one for the queue."""
        together_s = duration_s(self.runs[0]) - _start_s(self.runs[0])
        return "\n".join([*(_sentence(outcome, together_s) for outcome in self.outcomes), self._cost()])

    @property
    def commands(self) -> dict[str, str]:
        """Commands to go on with, and what each is for."""
        path = " ".join(f'--{name} "{value}"' for name, value in self._dumbbell.items())
        file = shlex.quote(str(self.scenario))
        return {
            f"elephan run {file} --set 'flow[1].algorithm=bic'": "another late flow",
            f"elephan run {file} --seeds 8": "the spread over start times",
            f"elephan plot {file} --what cwnd,rtt": "a page to zoom in",
            f"elephan compare {' '.join(LATE)} {path}": "which of them for this path",
            "elephan play": "the laboratory in a page",
        }

    def to_json(self) -> dict[str, Any]:
        """The document that ``elephan demo --json`` prints."""
        from_s, to_s = measure_window(self.runs[0])
        return {
            "question": self.question,
            "answer": {"text": self.answer},
            "measure": {"from_s": from_s, "to_s": to_s},
            "late": [asdict(outcome) for outcome in self.outcomes],
            "warnings": self.warnings,
            "scenario": str(self.scenario),
            "figures": [str(path) for path in self.figures],
            "commands": list(self.commands),
        }

    @property
    def warnings(self) -> list[str]:
        """Warnings of the runs, without duplicates."""
        return list(dict.fromkeys(line for run in self.runs for line in run.warnings))

    def _cost(self) -> str:
        waits = listed((f"{round(one.queueing_delay_ms)} ms with {one.algorithm}" for one in self.outcomes), "and")
        resent = listed((f"{one.retransmits:,} with {one.algorithm}" for one in self.outcomes), "and")
        return f"On average a packet waits in the queue for {waits}. Retransmitted segments in the whole run: {resent}."


def demo(
    out: str | Path = ".",
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: SweepProgress | None = None,
) -> Demo:
    """Write the scenario, run it with each late-starting flow, and draw the figure.

    Args:
        out: folder of the files; it is made if it does not exist.
        jobs: runs at the same time.
        store: where runs are saved.
        progress: called with the progress of the runs.

    Raises:
        ScenarioError: the folder has another file of the scenario's name.
        OSError: a file cannot be written.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    path = _written(folder / SCENARIO)
    stated = [Scenario.load(path, overrides={"flow[1].algorithm": name}) for name in LATE]
    runs = tuple(sweep(stated, on="sim", store=store, jobs=jobs, progress=progress))
    drawn = figure(runs)
    files = tuple(folder / name for name in FIGURES)
    for file in files:
        drawn.save(file, SIZE)
    return Demo(runs, tuple(map(outcome, runs)), path, files)


def _written(path: Path) -> Path:
    """Write the scenario; a file that the reader has changed stays.

    Raises:
        ScenarioError: the file exists with other contents.
    """
    text = _text()
    if path.exists():
        if path.is_file() and path.read_bytes() == text.encode():
            return path
        raise ScenarioError(
            f"it is not the demo's; run it with 'elephan run {path}', or write --out FOLDER", source=str(path)
        )
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path


def _text() -> str:
    return (Path(__file__).parent / SCENARIO).read_text(encoding="utf-8")


def outcome(run: Run) -> Outcome:
    """The numbers of a run, from its summary."""
    summary = run.summary()
    first, late = summary["flows"]
    metrics = summary["metrics"]
    return Outcome(
        algorithm=late["algorithm"],
        first_mbps=first["goodput_mbps"],
        late_mbps=late["goodput_mbps"],
        late_share=metrics["late_flow_share"],
        convergence_time_s=metrics["convergence_time_s"],
        queueing_delay_ms=metrics["mean_queue_delay_ms"],
        retransmits=first["total_retransmits"] + late["total_retransmits"],
        utilization=metrics["utilization"],
        run=run.id,
    )


def figure(runs: Sequence[Run]) -> Overlay:
    """Throughput of both flows above the queueing delay, a column for each run."""
    places = {
        name: i for i, name in enumerate(dict.fromkeys(spec.algorithm for run in runs for spec in run.form.flows))
    }
    rates = [
        Panel(f"late flow: {run.form.flows[1].algorithm}", "throughput (Mbit/s)", _rates(run, places)) for run in runs
    ]
    waits = [Panel("", "queueing delay (ms)", (Line("queue", *queue_delay_series_ms(run)),)) for run in runs]
    form, first = runs[0].form, runs[0].form.flows[0]
    return Overlay(
        title=f"A flow starts {_start_s(runs[0]):g} s after a {first.algorithm} flow, on a path of {_path(form)}",
        caption="",
        panels=(*rates, *waits),
        columns=len(runs),
        shaded=measure_window(runs[0]),
        span=(0.0, duration_s(runs[0])),
        provenance={"Runs": " ".join(run.id for run in runs)},
    )


def _rates(run: Run, places: dict[str, int]) -> tuple[Line, ...]:
    first, late = run.form.flows
    lines = []
    for spec, word in ((first, "first"), (late, "late")):
        number = int(spec is late and late.algorithm == first.algorithm)
        color, dash = overlays.variant(overlays.color_of(places[spec.algorithm]), number)
        lines.append(Line(f"{word}: {spec.algorithm}", *flow_rate(run, spec.name, _BIN_S), color, dash))
    return tuple(lines)


def _sentence(outcome: Outcome, together_s: float) -> str:
    if abs(outcome.late_share - 0.5) <= _EQUAL:
        who = "shares equally"
    else:
        who = "gets less" if outcome.late_share < 0.5 else "takes more than its share"
    rates = f"{outcome.late_mbps:.0f} Mbit/s, and {outcome.first_mbps:.0f} Mbit/s are left to the first flow"
    reached = (
        f"does not reach {PERCENT} of the first flow's rate in {together_s:g} s"
        if outcome.convergence_time_s is None
        else f"reaches {PERCENT} of the first flow's rate after {outcome.convergence_time_s:.0f} s"
    )
    return f"A late {outcome.algorithm} flow {who}: {rates}. It {reached}."


def _start_s(run: Run) -> float:
    """Start of the late flow as the scenario states it, s; a run's own start differs from it by milliseconds."""
    return run.scenario.flow[1].start / 1e12


def _path(form: Spec) -> str:
    first = form.flows[0]
    return f"{slowest_bps(form, first) / 1e9:g} Gbit/s and {base_rtt_ps(form, first) / 1e9:g} ms"
