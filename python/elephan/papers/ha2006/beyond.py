"""A question beyond the paper: do the paper's conclusions hold with active queue management at the bottleneck?

Weigle, Sharma and Freeman announced active queue management as future work in the same year. The setup is the paper's
setup at 100 Mbit/s and 162 ms, where the buffer of 2 MB holds one bandwidth-delay product. The bottleneck's queue is
drop-tail, RED (adaptive), PIE or CoDel, each with its published defaults and the same buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.wording import number
from elephan.papers.ha2006.setup import ALGORITHMS, FAR_MS, SLOW_RATE_MBPS, TITLES, VARIANTS, Case, Setup
from elephan.papers.paper import Beyond
from elephan.report.charts import BarChart, BarPanel, Bars
from elephan.report.figures import Figure
from elephan.scenario import Scenario

QUEUES: Mapping[str, tuple[str, dict[str, bool], str]] = {
    "droptail": ("droptail", {}, "drop-tail"),
    "red": ("red", {"adaptive": True}, "RED"),
    "pie": ("pie", {}, "PIE"),
    "codel": ("codel", {}, "CoDel"),
}
"""Discipline, parameters that differ from the discipline's defaults, and title of each queue; the paper's own queue is
first."""

MANAGED = tuple(QUEUES)[1:]
SIGNIFICANT = 0.01
Values = Mapping[tuple[str, str], float]
"""A value for each pair of a queue and an algorithm."""


def beyond(setup: Setup) -> Beyond:
    """The question, in the paper's setup or in a smaller setup."""
    setups = {
        name: setup.but(queue=queue, queue_parameters=parameters) for name, (queue, parameters, _) in QUEUES.items()
    }
    return Beyond(
        question="Do its conclusions on fairness, stability and utilization hold with RED, PIE or CoDel?",
        why=(
            "all runs of the paper have a drop-tail queue of a fixed size; weigle2006 names active queue management "
            "as the next step. The paper explains many results by synchronized losses, which should be rarer if a "
            "queue drops packets at random or early"
        ),
        experiments={experiment.id: experiment for experiment in _experiments(setups)},
        figures=lambda runs: _figures(Answers(runs, setups)),
        answer=lambda runs: list(_answer(Answers(runs, setups))),
    )


def _case(algorithm: str, *, with_sack: bool, background: bool) -> Case:
    second = "sack" if with_sack else algorithm
    return Case(algorithm, second, (FAR_MS, FAR_MS), background, SLOW_RATE_MBPS)


def _experiments(setups: Mapping[str, Setup]) -> Iterator[Experiment]:
    rows = [
        ("alone", "two flows of a variant", {"with_sack": False, "background": False}, ALGORITHMS),
        ("bg", "two flows of a variant, with background", {"with_sack": False, "background": True}, ALGORITHMS),
        ("sack", "a variant and TCP-SACK", {"with_sack": True, "background": False}, VARIANTS),
    ]
    for name, title, kind, algorithms in rows:
        scenarios: dict[str, Scenario] = {
            f"{TITLES[algorithm]}, {QUEUES[queue][2]}": setup.scenario(_case(algorithm, **kind))
            for queue, setup in setups.items()
            for algorithm in algorithms
        }
        yield Experiment(f"ha2006.aqm.{name}", f"managed queues: {title}", "beyond the paper", scenarios)


class Answers:
    """Measured values by queue and algorithm."""

    def __init__(self, runs: Evidence, setups: Mapping[str, Setup]) -> None:
        self._runs = runs
        self._setups = setups

    def values(self, metric: str, *, background: bool, with_sack: bool = False) -> dict[tuple[str, str], float]:
        """A metric of every queue and algorithm that was run."""
        found: dict[tuple[str, str], float] = {}
        for queue, setup in self._setups.items():
            window = setup.cov_s if metric == "cov_total_throughput" else setup.measured_s
            scenarios = {
                (queue, algorithm): setup.scenario(_case(algorithm, with_sack=with_sack, background=background))
                for algorithm in (VARIANTS if with_sack else ALGORITHMS)
            }
            measured = self._runs.of_each(scenarios, metric, window=window)
            found |= {key: fmean(values.sample) for key, values in measured.items()}
        return found


# ---- figures ----

_PANELS = (
    ("utilization", "link utilization", False),
    ("cov_total_throughput", "coefficient of variation", False),
    ("jain_fi", "Jain's index of two flows of a variant", False),
    ("jain_fi", "Jain's index with TCP-SACK", True),
    ("mean_queue_delay_ms", "mean queueing delay (ms)", False),
)


def _figures(answers: Answers) -> Sequence[Figure]:
    found: list[Figure] = []
    for background, words in ((False, "alone"), (True, "with background traffic")):
        panels = []
        for metric, label, with_sack in _PANELS:
            if background and with_sack:
                continue  # not part of the question
            values = answers.values(metric, background=background, with_sack=with_sack)
            algorithms = VARIANTS if with_sack else ALGORITHMS
            if values:
                panels.append(
                    BarPanel("", label, tuple(TITLES[name] for name in algorithms), _bars(values, algorithms))
                )
        if panels:
            name = f"aqm-{'background' if background else 'alone'}"
            title = f"Managed queues: two flows, 100 Mbit/s, {FAR_MS} ms, {words}"
            caption = (
                "One bar a queue discipline. The buffer is 2 MB, one bandwidth-delay product, and the managed queues "
                "have their published defaults."
            )
            found.append(BarChart(name, title, caption, tuple(panels)))
    return found


def _bars(values: Values, algorithms: Sequence[str]) -> tuple[Bars, ...]:
    return tuple(
        Bars(title, [values.get((queue, name)) for name in algorithms], color=color)
        for color, (queue, (_, _, title)) in enumerate(QUEUES.items())
    )


# ---- sentences ----


def _answer(answers: Answers) -> Iterator[str]:
    alone = {m: answers.values(m, background=False) for m in ("utilization", "jain_fi", "cov_total_throughput")}
    beside = {m: answers.values(m, background=True) for m in ("utilization", "jain_fi", "cov_total_throughput")}
    delay = answers.values("mean_queue_delay_ms", background=True)
    if not all([*alone.values(), *beside.values(), delay]):
        return
    yield _means("Mean queueing delay with background", delay, "ms")
    yield _means("Mean utilization of two flows alone", alone["utilization"])
    yield _means("Mean utilization with background", beside["utilization"])
    yield _means("Mean coefficient of variation alone", alone["cov_total_throughput"])
    yield _means("Mean Jain's index of two flows of a kind alone", alone["jain_fi"])
    yield _extremes("The least fair algorithm between its own flows, with background", beside["jain_fi"], min)
    yield _extremes("The least stable with background", beside["cov_total_throughput"], max)
    yield _extremes("The lowest utilization with background", beside["utilization"], min)
    yield _moved("Jain's index of two flows", alone["jain_fi"], beside["jain_fi"])
    friendly = answers.values("jain_fi", background=False, with_sack=True)
    if friendly:
        yield _extremes("The friendliest to TCP-SACK without background", friendly, max, VARIANTS)
        yield _order("friendliness to TCP-SACK", friendly, VARIANTS)
    yield _order("fairness to itself without background", alone["jain_fi"])
    yield _order("stability without background", alone["cov_total_throughput"])


def _of(values: Values, queue: str, algorithms: Sequence[str] = ALGORITHMS) -> dict[str, float]:
    return {name: values[queue, name] for name in algorithms if (queue, name) in values}


def _means(what: str, values: Values, unit: str = "") -> str:
    parts = [f"{QUEUES[queue][2]} {number(fmean(_of(values, queue).values()))}" for queue in QUEUES]
    return f"{what}{f' ({unit})' if unit else ''}: {', '.join(parts)}."


def _extremes(what: str, values: Values, pick: Callable[..., str], algorithms: Sequence[str] = ALGORITHMS) -> str:
    parts = []
    for queue in QUEUES:
        found = _of(values, queue, algorithms)
        name = pick(found, key=found.__getitem__)
        parts.append(f"{TITLES[name]} with {QUEUES[queue][2]} ({number(found[name])})")
    return f"{what} is {', '.join(parts)}."


def _moved(what: str, alone: Values, beside: Values) -> str:
    """Sentence with the number of algorithms that background traffic makes fairer, for each queue."""
    parts = []
    for queue in QUEUES:
        gains = {name: beside[queue, name] - value for name, value in _of(alone, queue).items()}
        better = [TITLES[name] for name, gain in gains.items() if gain > SIGNIFICANT]
        worse = [TITLES[name] for name, gain in gains.items() if gain < -SIGNIFICANT]
        words = f"up for {', '.join(better) or 'none'} and down for {', '.join(worse) or 'none'}"
        parts.append(f"{words} with {QUEUES[queue][2]}")
    return f"Background moves {what} by more than {SIGNIFICANT}: {'; '.join(parts)}."


def _order(what: str, values: Values, algorithms: Sequence[str] = ALGORITHMS) -> str:
    """Agreement of the order of the algorithms with the order under drop-tail, as Kendall's tau."""
    first = _of(values, "droptail", algorithms)
    parts = [f"{number(tau(first, _of(values, queue, algorithms)))} with {QUEUES[queue][2]}" for queue in MANAGED]
    return (
        f"The order of the algorithms in {what} agrees with that under drop-tail (Kendall's tau): {', '.join(parts)}."
    )


def tau(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Kendall's tau of two orders of the same names; ties count neither as agreement nor as disagreement."""
    pairs = list(combinations(one, 2))
    signs = [_sign(one[a] - one[b]) * _sign(other[a] - other[b]) for a, b in pairs]
    return sum(signs) / len(pairs)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
