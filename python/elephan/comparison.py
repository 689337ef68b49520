"""The operator's question: on this path, which algorithm, and who gets hurt?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.algorithm import Algorithm
from elephan.runs import Run, Store, SweepProgress, sweep
from elephan.scenario import Scenario, ScenarioError, catalog, own
from elephan.scenario.fields import parse_load
from elephan.scenario.units import PS_PER_S, format_time, parse_positive_time, parse_rate

if TYPE_CHECKING:
    import polars as pl

RIVALS = ("cubic", "reno")
DURATION = "120 s"
LEAST_S = 14
"""Shortest run: late-starting flows begin after a quarter of it, and convergence takes 10 whole seconds of both."""

ALONE = "alone"
LATE = "its own kind, arriving late"
RIVAL = "rival"
BACKGROUND = "background"
BACKGROUND_ALGORITHM = "cubic"
_LATE_COMER = "late"


@dataclass(frozen=True)
class Meeting:
    """One run of a comparison.

    Attributes:
        algorithm: whose row it is.
        against: ``alone``, the late comers of its own kind, or the name of a rival.
        scenario: what is run.
    """

    algorithm: str
    against: str
    scenario: Scenario


def compare(
    algorithms: Sequence[str | Callable[..., Algorithm]],
    rate: str,
    rtt: str,
    buffer: str,
    *,
    loss: str | None = None,
    flows: int = 1,
    background: str | None = None,
    duration: str = DURATION,
    stack: str | dict[str, Any] = "linux",
    rivals: Sequence[str] = RIVALS,
    seed: int = 1,
    jobs: int | None = None,
    store: Store | None = None,
    progress: SweepProgress | None = None,
) -> pl.DataFrame:
    """Each algorithm on one path: alone, with late comers of its own kind, and against rivals.

    Rates are goodput (payload bits of distinct segments) over the second half of the run; late comers arrive after a
    quarter of it. One row for each algorithm and situation, with

    - ``goodput_mbps``, ``other_goodput_mbps``: of the algorithm's flows together, and of the others together;
    - ``share``: of the goodput, the algorithm's; ``jain``: over all flows;
    - ``utilization``, ``loss_rate``, ``queue_delay_ms``: of the bottleneck; ``rtt_p99_ms``: the worst flow's;
    - ``harm_to_other``: the part of the goodput that the others have when they are alone and lose here (Ware et al.
      2019), and ``harm_among_others``: what they lose in the same way to as many more of themselves. More harm than
      that is what their users would notice;
    - ``late_comer_converges_s``: until the first late comer has 80 % of the first flow's rate; infinite is never;
    - with ``background``: ``background_mbps``, what arrived of it (on the wire, the way of the flows), and
      ``background_p50_ms``, ``background_p99_ms``: how long its transfers that way took.

    Background traffic is transfers that begin as a Poisson process, with the heavy-tailed sizes of a web server's files
    (a lognormal body and a Pareto tail), by CUBIC over the path's own round trip: ``background`` of it the way of the
    flows, and as much the other way, so that ACKs queue too. It is there in every run, with the same starts and sizes,
    also where an algorithm is alone, so harm is what the flows do to each other.

    Args:
        algorithms: names, with presets where wanted (``cubic:2005``), or your own: ``./mine.py:Mine``, or the class.
        rate, rtt, buffer: of the bottleneck, with units.
        loss: random loss on the path, as in a scenario.
        flows: of the algorithm, and as many of the others.
        background: load of background traffic each way: a part of the bottleneck's rate (``"20%"``) or a rate.
        duration: simulated time of each run.
        stack: of all endpoints.
        rivals: the algorithms that are out there.
        seed: what the random streams start from.
        jobs, store, progress: as in :func:`elephan.sweep`.

    Raises:
        ScenarioError: a wrong name or quantity.
        SweepError: a run failed.
    """
    if not algorithms:
        raise ScenarioError("no algorithm to compare", source="compare")
    try:
        duration_ps = parse_positive_time(duration)
    except ScenarioError as error:
        raise error.located(source="duration") from None
    if duration_ps < LEAST_S * PS_PER_S:
        raise ScenarioError(
            f"'{duration}' is too short; late-starting flows have to be there for 10 s, so it is at least {LEAST_S} s",
            source="duration",
        )
    specs = _named([*algorithms, *rivals])
    labels = {spec: label for label, spec in specs.items()}
    wanted, others = ([labels[own.pin(name)] for name in names] for names in (algorithms, rivals))
    path: dict[str, Any] = {"rate": rate, "rtt": rtt, "buffer": buffer, "stack": stack, "seed": seed}
    if loss:
        path["loss"] = loss
    if background is not None:
        path["traffic"] = background_traffic(background, rate)
    meetings = plan(list(dict.fromkeys(wanted)), list(dict.fromkeys(others)), flows, duration, path, specs)
    runs = sweep([meeting.scenario for meeting in meetings], jobs=jobs, store=store, progress=progress)
    return tabulate(meetings, runs, flows)


def background_traffic(load: str, rate: str) -> list[dict[str, Any]]:
    """The ``[[traffic]]`` tables of a comparison: one source each way.

    Raises:
        ScenarioError: no load, or one that leaves nothing of the bottleneck's rate.
    """
    try:
        offered = parse_load(load)
    except ScenarioError as error:
        raise error.located(source="background") from None
    if (offered if isinstance(offered, float) else offered / parse_rate(rate)) >= 1:
        raise ScenarioError(
            f"'{load}' is all that the bottleneck carries, or more: transfers would pile up for as long as the run "
            "lasts; a background load is below 100%",
            source="background",
        )
    common = {"algorithm": BACKGROUND_ALGORITHM, "load": load}
    return [common | {"name": BACKGROUND}, common | {"name": f"{BACKGROUND}-back", "direction": "left"}]


def _named(algorithms: Sequence[str | Callable[..., Algorithm]]) -> dict[str, str]:
    """What a scenario calls each algorithm, by what the table calls it.

    Raises:
        ScenarioError: no such algorithm.
    """
    specs: dict[str, str] = {}
    for name in algorithms:
        spec = own.pin(name)
        if not own.pinned(spec):
            catalog.check_name(spec, catalog.algorithms(), "an algorithm")
        label = own.label(spec)
        # Two files of one name in two folders, or one class with two sets of parameters.
        names = [label, *(f"{label} ({count})" for count in range(2, len(algorithms) + 1))]
        specs[next(name for name in names if specs.get(name, spec) == spec)] = spec
    return specs


def plan(
    algorithms: Sequence[str],
    rivals: Sequence[str],
    flows: int,
    duration: str,
    path: dict[str, Any],
    specs: Mapping[str, str] | None = None,
) -> list[Meeting]:
    """The runs of a comparison: three situations of each algorithm, and what the rivals do without it.

    ``specs`` has what a scenario calls an algorithm, where it is not the name in the table.

    Raises:
        ScenarioError: a wrong quantity, or a number of flows below one.
    """
    if flows < 1:
        raise ScenarioError(f"{flows} is not a number of flows; it is at least 1", source="flows")
    late_s = format_time(parse_positive_time(duration) // 4)
    everyone = list(dict.fromkeys([*algorithms, *rivals]))

    def scenario(*groups: tuple[str, str, str]) -> Scenario:
        return _scenario([(label, (specs or {}).get(a, a), start) for label, a, start in groups], flows, duration, path)

    meetings = [Meeting(a, ALONE, scenario((a, a, "0 s"))) for a in everyone]
    meetings += [Meeting(a, LATE, scenario((a, a, "0 s"), (_LATE_COMER, a, late_s))) for a in algorithms]
    pairs = dict.fromkeys([(a, rival) for a in algorithms for rival in rivals] + [(rival, rival) for rival in rivals])
    meetings += [Meeting(a, rival, scenario((a, a, "0 s"), (RIVAL, rival, "0 s"))) for a, rival in pairs]
    return meetings


def _scenario(groups: Sequence[tuple[str, str, str]], flows: int, duration: str, path: dict[str, Any]) -> Scenario:
    rows = [
        {"name": f"{label}-{i + 1}", "algorithm": algorithm, "start": start}
        for label, algorithm, start in groups
        for i in range(flows)
    ]
    return Scenario.dumbbell(rows, duration=duration, **path)


def tabulate(meetings: Sequence[Meeting], runs: Sequence[Run], flows: int) -> pl.DataFrame:
    """The table of :func:`compare` from its runs."""
    import polars as pl

    alone: dict[str, float] = {}
    among: dict[str, float] = {}
    measured = []
    for meeting, run in zip(meetings, runs, strict=True):
        row = _measure(meeting, run, flows)
        measured.append(row)
        if meeting.against == ALONE:
            alone[meeting.algorithm] = row["goodput_mbps"]
        elif meeting.against == meeting.algorithm:
            among[meeting.algorithm] = row["other_goodput_mbps"]
    wanted = [meeting.algorithm for meeting in meetings if meeting.against == LATE]
    for row in measured:
        rival = row["against"]
        row["harm_to_other"] = _harm(alone.get(rival), row["other_goodput_mbps"])
        row["harm_among_others"] = _harm(alone.get(rival), among.get(rival))
    rows = sorted(
        (row for row in measured if row["algorithm"] in wanted), key=lambda row: wanted.index(row["algorithm"])
    )
    return pl.DataFrame(rows, infer_schema_length=None)


def _harm(alone_mbps: float | None, together_mbps: float | None) -> float | None:
    """Harm in goodput (Ware et al. 2019); ``None`` where one of the rates is not known, or nothing is there to lose."""
    from elephan.metrics.friendliness import fraction_lost

    if alone_mbps is None or together_mbps is None or alone_mbps == 0:
        return None
    return fraction_lost(alone_mbps, together_mbps)


def _measure(meeting: Meeting, run: Run, flows: int) -> dict[str, Any]:
    from elephan import metrics

    def or_none(metric: Callable[..., float], **more: Any) -> float | None:
        try:
            return metric(run, **more)
        except metrics.MetricError:
            return None  # nothing arrived in the measured part, or a flow was not there

    own = [f"{meeting.algorithm}-{i + 1}" for i in range(flows)]
    other = [name for name in metrics.flow_names(run) if name not in own]
    goodput = metrics.goodput_mbps(run)
    mine = sum(goodput[name] for name in own)
    theirs = sum(goodput[name] for name in other) if other else None
    total = mine + (theirs or 0.0)
    rtts_ms = run.flows.filter(run.flows["name"].is_in(own))["rtt_p99_ms"].drop_nulls()
    late = meeting.against == LATE
    row = {
        "algorithm": meeting.algorithm,
        "against": meeting.against,
        "goodput_mbps": mine,
        "other_goodput_mbps": theirs,
        "share": mine / total if total > 0 else None,
        "jain": metrics.jain_index(list(goodput.values())) if total > 0 else None,
        "utilization": or_none(metrics.utilization),
        "loss_rate": or_none(metrics.loss_rate),
        "queue_delay_ms": or_none(metrics.mean_queue_delay_ms),
        "rtt_p99_ms": rtts_ms.max() if len(rtts_ms) else None,
        "late_comer_converges_s": or_none(metrics.convergence_time_s, flows=[own[0], other[0]]) if late else None,
        "harm_to_other": None,
        "harm_among_others": None,
    }
    return row | _measure_background(run) if run.form.traffic else row


def _measure_background(run: Run) -> dict[str, Any]:
    from elephan import metrics

    def or_none(metric: Callable[..., float]) -> float | None:
        try:
            return metric(run, flows=[BACKGROUND])
        except metrics.MetricError:
            return None  # a load so low that no transfer begins, or ends, in the measured part

    return {
        "background_mbps": metrics.short_flow_total_mbps(run, flows=[BACKGROUND]),
        "background_p50_ms": or_none(metrics.flow_duration_p50_ms),
        "background_p99_ms": or_none(metrics.flow_duration_p99_ms),
    }
