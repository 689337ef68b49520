"""A paper's experiments on a real Linux kernel: the plan of the runs, the runs, and the judgment of the paper's claims
by these runs.

The network and the flows are the paper's; the endpoints are the kernel's TCP, in real time (``kernel``) or in virtual
time (``linux``). The runs on Linux do not reproduce the paper, since the paper used other endpoints; a report shows
these runs in an additional column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from elephan.evaluation.in_kernel import CARRIERS, carried, outcomes, require, simulated
from elephan.evaluation.kernel_runs import KernelRuns, StandIns
from elephan.papers.judging import Judgment, judge_all
from elephan.papers.paper import Paper
from elephan.papers.reproduction import select
from elephan.papers.results import KernelColumn, PaperResult
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
    on: str = "kernel",
) -> KernelRuns:
    """Find the runs of a paper that the kernel supports, without running them.

    Args:
        paper: the paper.
        figure: only the experiments of one figure.
        only: run only runs that match one of these patterns: a run's label, its experiment, or ``EXPERIMENT/LABEL``.
            Saved runs are used in any case.
        again: true to repeat runs whose saved result is not valid.
        store: folder of the results.
        on: the backend of the runs, a name of :data:`elephan.evaluation.in_kernel.CARRIERS`.

    Raises:
        ScenarioError: this host cannot run any scenario, the kernel supports none of the runs, or a pattern matches
            nothing.
    """
    carrier = CARRIERS[on]
    require(carrier, paper.id)
    experiments, _ = select(paper, figure)
    where = Store() if store is None else store
    return carried(experiments.values(), only, where, carrier, path=paper.id, again=again)


def add(
    result: PaperResult,
    planned: KernelRuns,
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    until_s: float | None = None,
) -> KernelColumn:
    """Make the planned runs, judge the claims by them, and add the results to the report of a reproduced paper.

    Each run is saved when it ends. A failed run is reported and does not stop the other runs. At the monotonic time
    ``until_s``, runs that have not ended are cancelled. Then the twins are simulated too, ``jobs`` at a time, which
    separates the effect of the twin's changes from the effect of the host.

    Raises:
        Interrupted: the user pressed Ctrl-C; finished results are saved.
    """
    from elephan.papers.reporting import write

    store = Store() if store is None else store
    column = KernelColumn(planned, [])
    column.outcomes = outcomes(planned, store, progress, jobs=jobs, until_s=until_s)
    column.failed = sum(one.run is None and one.why.startswith("it failed") for one in column.outcomes)
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
    for judgment in judge_all(claims, result.paper.measurer(runs), intervals=False, reduced=result.paper.reduced):
        if judgment.verdict != "not_judged" and not judgment.runs:
            yield Judgment(judgment.claim, "not_judged", NOT_MEASURED)
        else:
            yield judgment
