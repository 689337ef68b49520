"""A paper's experiments in today's Linux: the plan of its runs, the runs, and the judgment of its claims by them.

The network and the flows are those of the paper. The endpoints are the kernel's own, and an algorithm is its object in
BPF or Linux's own (:mod:`elephan.backends.kernel.twin`). This is therefore no reproduction of the paper but an
additional column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from elephan.evaluation.in_kernel import carried, outcomes, require, simulated
from elephan.evaluation.kernel_runs import StandIns
from elephan.evaluation.wording import expectation
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.kernel_column import KernelColumn, KernelPlan
from elephan.papers.paper import Paper
from elephan.papers.reproduction import select
from elephan.papers.results import PaperResult
from elephan.runs import Store

if TYPE_CHECKING:
    from elephan.evaluation.planning import Progress

NOT_MEASURED = "no run is behind it"


def plan(
    paper: Paper,
    figure: str | None = None,
    only: Sequence[str] = (),
    *,
    again: bool = False,
    store: Store | None = None,
) -> KernelPlan:
    """Find the runs of a paper that the kernel supports, without running them.

    Args:
        paper: the paper.
        figure: only the experiments of one figure.
        only: run only runs that match one of these patterns: a run's label, its experiment, or ``EXPERIMENT/LABEL``.
            Saved runs count in any case.
        again: true to repeat runs whose saved result is not valid.
        store: where results are kept.

    Raises:
        ScenarioError: this host cannot run any scenario, the kernel supports none of the runs, or a pattern matches
            nothing.
    """
    require(paper.id)
    experiments, selection = select(paper, figure)
    found = carried(experiments.values(), only, Store() if store is None else store, path=paper.id, again=again)
    return KernelPlan(found.pieces, found.left_out, found.refused, paper, selection)


def add(
    result: PaperResult,
    planned: KernelPlan,
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> KernelColumn:
    """Make the planned runs, judge the claims by them, and add the results to the report of a reproduced paper.

    One run at a time, in real time; each is saved when it ends. A failed run is reported, and the others continue. The
    twins of these runs are then simulated, ``jobs`` at a time, so that differences caused by the twin can be
    distinguished from those caused by the host.

    Raises:
        Interrupted: Ctrl-C; what was finished is saved.
    """
    from elephan.papers.reporting import write

    store = Store() if store is None else store
    column = KernelColumn(planned, [])
    column.outcomes = list(outcomes(planned, store, progress))
    column.failed = sum(one.run is None and one.piece.to_run for one in column.outcomes)
    column.judgments = {judgment.claim.id: judgment for judgment in _judged(result, column.runs)}
    twins = simulated(column.outcomes, jobs, store, progress)
    beside = {judgment.claim.id: judgment for judgment in _judged(result, twins)}
    column.twins = {name: beside[name] for name, own in column.judgments.items() if own.verdict != "not_judged"}
    result.kernel = column
    if result.report_path is not None:
        result.report_path = write(result, result.report_path.parent)
    return column


def _judged(result: PaperResult, runs: StandIns) -> Iterator[Judgment]:
    claims = replace(result.paper.claims, claims=tuple(judgment.claim for judgment in result.claims))
    for judgment in judge_all(claims, result.paper.measurer(runs), intervals=False):
        if judgment.verdict != "not_judged" and not judgment.runs:
            yield Judgment(judgment.claim, "not_judged", NOT_MEASURED, expectation(judgment.claim))
        else:
            yield judgment
