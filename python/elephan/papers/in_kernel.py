"""A paper's experiments in today's Linux: which can be carried, how long they take, and what its claims say of them.

The network and the flows are the paper's; the endpoints are the kernel's own, and an algorithm is its object in BPF or
Linux's own (:mod:`elephan.backends.kernel.twin`). So this is no reproduction of the paper: it is a column beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from elephan import backends
from elephan.backends.kernel import host
from elephan.backends.kernel.twin import Twin, twin
from elephan.papers.judging import Judgment, judge_all, totals
from elephan.papers.measurement import NotJudgedError
from elephan.papers.paper import Experiment, Paper, RunSet
from elephan.papers.reproduction import PaperResult, select
from elephan.papers.wording import expectation
from elephan.runs import Run, Store, SweepError, run_id, sweep
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from elephan.papers.planning import Progress

BACKEND = "kernel"
PREPARATION_S = 2.0
"""What a run takes beside its scenario's own time: namespaces, programs, connections, tables."""

NOT_MEASURED = "no run is behind it"
_SHOWN = ("verdict", "measured", "measured_text")


@dataclass(frozen=True)
class Piece:
    """A run of a paper that the kernel can carry.

    Attributes:
        experiments: ids of the experiments that it is of.
        title: of its first experiment.
        label: there.
        scenario: the paper's.
        twin: what is run.
        chosen: it is to be run; otherwise it only counts where it is saved.
        saved: there is a result.
        again: the result is one that the backend doubts, and it is to be made again.
    """

    experiments: tuple[str, ...]
    title: str
    label: str
    scenario: Scenario
    twin: Twin
    chosen: bool
    saved: bool
    again: bool = False

    @property
    def to_run(self) -> bool:
        """Whether it has to be run."""
        return self.chosen and (self.again or not self.saved)

    @property
    def takes_s(self) -> float:
        """Real time of a run."""
        return self.twin.duration_s + PREPARATION_S


@dataclass(frozen=True)
class LeftOut:
    """Runs of an experiment that the kernel cannot carry, all for the same reason."""

    experiment: str
    labels: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        """As in the ``paper`` document."""
        return {"experiment": self.experiment, "runs": list(self.labels), "why": self.why}


@dataclass(frozen=True)
class KernelPlan:
    """What a paper, or a part of it, asks of the kernel.

    Attributes:
        paper: which.
        selection: in words; empty for all of it.
        pieces: what can be carried.
        left_out: what cannot.
        refused: why a scenario cannot be carried, by its hash.
    """

    paper: Paper
    selection: str
    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]
    refused: Mapping[str, str]

    @property
    def to_run(self) -> list[Piece]:
        """What has to be run, in the paper's order."""
        return [piece for piece in self.pieces if piece.to_run]

    @property
    def takes_s(self) -> float:
        """Real time of all that has to be run, one after the other."""
        return sum(piece.takes_s for piece in self.to_run)

    def lines(self) -> Iterator[str]:
        """What a reader should know before it begins."""
        runs = self.to_run
        there = sum(piece.saved and not piece.again for piece in self.pieces)
        other = sum(not piece.chosen and not piece.saved for piece in self.pieces)
        asked = f", {other} not asked for" if other else ""
        yield (
            f"in the kernel: {len(runs)} runs one after the other, {duration(self.takes_s)} of real time; "
            f"{there} are saved{asked}"
        )
        for row in self.left_out:
            yield f"left out: {row.experiment}, {len(row.labels)} runs: {row.why}"


def plan(
    paper: Paper,
    figure: str | None = None,
    only: Sequence[str] = (),
    *,
    again: bool = False,
    store: Store | None = None,
) -> KernelPlan:
    """Find out what the kernel can carry of a paper; nothing is run.

    Args:
        paper: which.
        figure: only the experiments of one figure.
        only: run what matches one of these patterns alone: a run's label, its experiment, or ``EXPERIMENT/LABEL``.
            What is saved counts all the same.
        again: make those again whose saved result the backend doubts.
        store: where results are kept.

    Raises:
        ScenarioError: this host cannot run anything, nothing of this can be carried, or a pattern matches nothing.
    """
    try:
        host.require()
    except ScenarioError as error:
        raise ScenarioError(f"{error}; see elephan lab check", path=paper.id) from None
    experiments, selection = select(paper, figure)
    store = Store() if store is None else store
    engine = backends.get(BACKEND).version()
    known: dict[str, Twin | str] = {}
    pieces: dict[str, Piece] = {}
    left: dict[tuple[str, str], list[str]] = {}
    used: set[str] = set()
    for experiment in experiments.values():
        for label, scenario in experiment.scenarios.items():
            if scenario.hash not in known:
                known[scenario.hash] = _carried(scenario)
            found = known[scenario.hash]
            matching = {pattern for pattern in only if _matches(pattern, experiment, label)}
            used |= matching
            if isinstance(found, str):
                left.setdefault((experiment.id, found), []).append(label)
            elif (before := pieces.get(scenario.hash)) is not None:
                within, chosen = (*before.experiments, experiment.id), before.chosen or bool(matching)
                pieces[scenario.hash] = replace(before, experiments=within, chosen=chosen)
            else:
                run = store.find(run_id(found.scenario.hash, BACKEND, scenario.seed), engine=engine)
                pieces[scenario.hash] = Piece(
                    (experiment.id,), experiment.title, label, scenario, found, not only or bool(matching),
                    run is not None, again and run is not None and bool(doubts(run)),
                )  # fmt: skip
    left_out = tuple(LeftOut(experiment, tuple(labels), why) for (experiment, why), labels in left.items())
    if not pieces:
        reasons = "; ".join(dict.fromkeys(f"{row.experiment}: {row.why}" for row in left_out))
        raise ScenarioError(f"nothing of this can be run in the kernel: {reasons}", path=paper.id)
    if wrong := [pattern for pattern in only if pattern not in used]:
        some = ", ".join(f"'{piece.label}'" for piece in list(pieces.values())[:3])
        raise ScenarioError(f"'{wrong[0]}' is the label of no run here; there are {some}, ...", path="only")
    refused = {name: found for name, found in known.items() if isinstance(found, str)}
    return KernelPlan(paper, selection, tuple(pieces.values()), left_out, refused)


def _carried(scenario: Scenario) -> Twin | str:
    """The twin, or why there is none."""
    try:
        return twin(scenario)
    except ScenarioError as error:
        return str(error)


def _matches(pattern: str, experiment: Experiment, label: str) -> bool:
    short = experiment.id.partition(".")[2]
    names = (label, short, experiment.id, f"{short}/{label}", f"{experiment.id}/{label}")
    return any(fnmatchcase(name.casefold(), pattern.strip().casefold()) for name in names)


def duration(seconds: float) -> str:
    """A length of time for a reader: hours and minutes, or minutes, or seconds."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def doubts(run: Run) -> list[str]:
    """Why the backend itself does not believe a run; empty where it does."""
    facts = run.manifest["engine_summary"]["kernel"]
    return [] if facts["believable"] else [str(line) for line in run.manifest["engine_summary"]["warnings"]]


# ---- what came out ----


class StandIns(RunSet):
    """Runs of the kernel, found by the paper's own scenarios; of those that are not there, why."""

    def __init__(self, runs: Mapping[str, Run], absent: Mapping[str, str]) -> None:
        super().__init__(())
        self._by_hash = {name: {run.seed: run} for name, run in runs.items()}
        self._absent = absent

    def of(self, scenario: Scenario) -> list[Run]:
        """The run that stands for a scenario.

        Raises:
            NotJudgedError: there is none; with the reason.
        """
        if scenario.hash not in self._by_hash:
            why = self._absent.get(scenario.hash, "it is not part of this selection")
            raise NotJudgedError(f"'{scenario.title or scenario.hash}' has no run in the kernel: {why}")
        return super().of(scenario)


@dataclass(frozen=True)
class Outcome:
    """What became of a piece.

    Attributes:
        piece: which.
        run: the result; ``None`` where it was not run or has failed.
        why: why there is no result, or why it is not believed; empty where it counts.
    """

    piece: Piece
    run: Run | None
    why: str = ""

    @property
    def believed(self) -> bool:
        """Whether claims are judged by it."""
        return self.run is not None and not self.why

    def to_json(self) -> dict[str, Any]:
        """As in the ``paper`` document."""
        return {
            "experiments": list(self.piece.experiments),
            "label": self.piece.label,
            "title": self.piece.scenario.title,
            "run": self.run.id if self.run else None,
            "believable": None if self.run is None else not doubts(self.run),
            "why": self.why,
            "warnings": list(self.run.warnings) if self.run else [],
            "differences": list(self.piece.twin.differences),
            "duration_s": self.piece.twin.duration_s,
        }


@dataclass
class KernelColumn:
    """The column of a paper's report.

    Attributes:
        plan: what was asked of the kernel.
        outcomes: one for each piece.
        judgments: of all claims of the selection, by id.
        twins: judgments by the same twins in the simulator, of the claims that runs of the kernel judge. Where one has
            the kernel's verdict, what was changed for the kernel is enough for it, without the host.
        failed: how many runs failed.
    """

    plan: KernelPlan
    outcomes: list[Outcome]
    judgments: dict[str, Judgment] = field(default_factory=dict)
    twins: dict[str, Judgment] = field(default_factory=dict)
    failed: int = 0

    @property
    def runs(self) -> StandIns:
        """The runs that are believed."""
        believed = {one.piece.scenario.hash: one.run for one in self.outcomes if one.run is not None and one.believed}
        absent = {one.piece.scenario.hash: one.why for one in self.outcomes if not one.believed}
        return StandIns(believed, {**self.plan.refused, **absent})

    @property
    def host(self) -> str:
        """The kernels that made the runs, and their numbers of cores."""
        facts = [one.run.manifest["engine_summary"]["kernel"]["host_before"] for one in self.outcomes if one.run]
        return "; ".join(dict.fromkeys(f"Linux {each['kernel']}, {each['cores']} cores" for each in facts))

    @property
    def totals(self) -> dict[str, int]:
        """Claims by the kernel's verdict."""
        return totals(self.judgments.values())

    def other_verdicts(self, simulated: Sequence[Judgment]) -> list[str]:
        """Ids of the claims that both judge, and not alike."""
        both = [(judgment, self.judgments[judgment.claim.id]) for judgment in simulated]
        return [
            ours.claim.id
            for ours, theirs in both
            if "not_judged" not in (ours.verdict, theirs.verdict) and ours.verdict != theirs.verdict
        ]

    def by_twin(self, simulated: Sequence[Judgment]) -> list[str]:
        """Of those, the ids of the claims to which the twin gives the kernel's verdict in the simulator too."""
        other = self.other_verdicts(simulated)
        return [name for name in other if self.twins[name].verdict == self.judgments[name].verdict]

    def of(self, claim_id: str) -> dict[str, Any]:
        """The kernel's part of a claim's entry in the ``paper`` document."""
        found = {key: self.judgments[claim_id].to_json()[key] for key in (*_SHOWN, "why", "runs")}
        beside = self.twins.get(claim_id)
        return found | {"twin_simulated": {key: beside.to_json()[key] for key in _SHOWN} if beside else None}

    def to_json(self, simulated: Sequence[Judgment]) -> dict[str, Any]:
        """As in the ``paper`` document."""
        return {
            "totals": self.totals,
            "other_verdict_than_simulated": self.other_verdicts(simulated),
            "of_those_also_with_the_twin_simulated": self.by_twin(simulated),
            "runs": [outcome.to_json() for outcome in self.outcomes],
            "failed": self.failed,
            "left_out": [row.to_json() for row in self.plan.left_out],
        }


def add(
    result: PaperResult,
    planned: KernelPlan,
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> KernelColumn:
    """Run what is planned, judge the claims by it, and write it into the report of a reproduced paper.

    One run at a time, in real time; each is saved when it ends. A run that fails is told of and the others go on. The
    twins of what was run are then simulated, ``jobs`` at a time, so that a difference can be told from the host's.

    Raises:
        Interrupted: Ctrl-C; what was finished is saved.
    """
    from elephan.papers.reporting import write

    store = Store() if store is None else store
    column = KernelColumn(planned, [])
    column.outcomes = list(_outcomes(planned, store, progress))
    column.failed = sum(one.run is None and one.piece.to_run for one in column.outcomes)
    column.judgments = {judgment.claim.id: judgment for judgment in _judged(result, column.runs)}
    beside = {judgment.claim.id: judgment for judgment in _judged(result, _simulated(column, jobs, store, progress))}
    column.twins = {name: beside[name] for name, own in column.judgments.items() if own.verdict != "not_judged"}
    result.kernel = column
    if result.report_path is not None:
        result.report_path = write(result, result.report_path.parent)
    return column


def _simulated(column: KernelColumn, jobs: int | None, store: Store, progress: Progress | None) -> StandIns:
    """The twins of the runs that count, in the simulator."""
    pieces = [outcome.piece for outcome in column.outcomes if outcome.believed]
    wanted = [(piece.twin.scenario, piece.scenario.seed) for piece in pieces]
    runs = sweep(wanted, jobs=jobs, store=store, progress=progress)
    return StandIns({piece.scenario.hash: run for piece, run in zip(pieces, runs, strict=True)}, {})


def _outcomes(planned: KernelPlan, store: Store, progress: Progress | None) -> Iterator[Outcome]:
    total_s, done_s, finished, count = planned.takes_s, 0.0, 0, len(planned.to_run)
    engine = backends.get(BACKEND).version()
    for piece in planned.pieces:
        if not piece.to_run:
            run = store.find(run_id(piece.twin.scenario.hash, BACKEND, piece.scenario.seed), engine=engine)
            yield _outcome(piece, run, "it was not run")
            continue
        report = None if progress is None else _reporter(progress, done_s, piece.takes_s, total_s, finished, count)
        try:
            (made,) = sweep(
                [(piece.twin.scenario, piece.scenario.seed)],
                on=BACKEND,
                jobs=1,
                store=store,
                progress=report,
                force=piece.again,
            )
            yield _outcome(piece, made)
        except SweepError as error:
            yield Outcome(piece, None, f"it failed: {error.failures[0].error}")
        done_s, finished = done_s + piece.takes_s, finished + 1
        if progress is not None:
            progress(done_s, total_s, finished, count)


def _outcome(piece: Piece, run: Run | None, why: str = "") -> Outcome:
    if run is not None:
        why = f"it is not believed: {'; '.join(found)}" if (found := doubts(run)) else ""
    return Outcome(piece, run, why)


def _reporter(
    progress: Progress, done_s: float, takes_s: float, total_s: float, finished: int, count: int
) -> Callable[[float, float, int, int], bool | None]:
    """Progress of one run as that of all, in seconds of real time."""

    def report(done: float, total: float, _finished: int, _runs: int) -> bool | None:
        part = done / total if total else 1.0
        return progress(done_s + part * takes_s, total_s, finished, count)

    return report


def _judged(result: PaperResult, runs: StandIns) -> Iterator[Judgment]:
    claims = replace(result.paper.claims, claims=tuple(judgment.claim for judgment in result.claims))
    for judgment in judge_all(claims, result.paper.measurer(runs), intervals=False):
        if judgment.verdict != "not_judged" and not judgment.runs:
            yield Judgment(judgment.claim, "not_judged", NOT_MEASURED, expectation(judgment.claim))
        else:
            yield judgment
