"""``elephan paper``: reproduce a paper and judge its claims."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from elephan.cli import common, targets
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.papers.results import KernelColumn, PaperResult

BACKENDS = ("sim", "kernel", "linux")
_REAL = ("kernel", "linux")


@click.command("paper")
@click.argument("paper", metavar="ID")
@click.option("--figure", metavar="F", help="Only the experiments of this figure.")
@click.option(
    "--quick",
    is_flag=True,
    help="The same experiments at about a tenth of the work, one seed; verdicts are preliminary.",
)
@click.option(
    "--seeds",
    type=common.Count(1, 1000),
    metavar="N",
    help="Seeds of each experiment. [default: the paper's choice]",
)
@click.option(
    "--sensitivity/--no-sensitivity",
    default=None,
    help="Also run variants of settings that the paper does not state. [default: the paper's choice]",
)
@click.option("--beyond", is_flag=True, help="Also answer the question that the paper does not answer.")
@click.option(
    "--on",
    "backend",
    default="sim",
    metavar="BACKEND",
    help="linux: also run the supported experiments on real Linux in virtual time; kernel: in real time. "
    "[default: sim]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="RUN",
    help="With --on linux or kernel: only runs with this label, or of this experiment; * for anything. Repeatable.",
)
@click.option("--again", is_flag=True, help="With --on kernel: repeat invalid runs.")
@click.option(
    "--budget",
    metavar="TIME",
    help="With --on linux or kernel: time after which no run is started there; saved runs count, and a second call "
    "continues.",
)
@click.option(
    "--out", metavar="DIR", callback=targets.writable_folder, help="Folder of the report. [default: reports/ID]"
)
@common.jobs_option
@common.store_option
@common.json_option
def command(
    paper: str,
    figure: str | None,
    quick: bool,
    seeds: int | None,
    sensitivity: bool | None,
    beyond: bool,
    backend: str,
    only: Sequence[str],
    again: bool,
    budget: str | None,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Reproduce a paper: run its experiments, draw its figures, judge its claims.

    Saved results are reused. A claim that does not reproduce is a result, not a failure: the exit status is 0.
    """
    from elephan import papers, runs
    from elephan.evaluation.bench import budget_s

    _check(backend, only, again=again, budget=budget)
    until_s = None if budget is None else time.monotonic() + budget_s(budget, "--budget")
    where = runs.Store(store)
    planned = None
    if backend in _REAL:
        with _options_named():
            planned = papers.plan_in_kernel(
                paper, figure=figure, quick=quick, only=only, again=again, store=where, on=backend
            )
        for line in planned.lines():
            click.echo(line, err=True)
    with _options_named(), meter() as progress:
        result = papers.reproduce(
            paper,
            figure=figure,
            quick=quick,
            jobs=jobs,
            store=where,
            out=out,
            seeds=seeds,
            sensitivity=sensitivity,
            beyond=beyond,
            progress=progress,
        )
    if planned is not None:
        with meter() as progress:
            papers.add_kernel(result, planned, jobs=jobs, store=where, progress=progress, until_s=until_s)
    failed = result.kernel.failed if result.kernel is not None else 0
    if as_json:
        common.print_json(result.to_json())
    else:
        _print(result)
    if failed:
        raise click.exceptions.Exit(1)


def _print(result: PaperResult) -> None:
    """Print the claims that are not reproduced, the counts, and the path of the report."""
    missed = [judgment for judgment in result.claims if judgment.verdict == "differs"]
    unjudged = [judgment for judgment in result.claims if judgment.verdict == "not_judged"]
    rows = [
        [j.claim.id, j.claim.limit, j.measured if j.measured is None or math.isfinite(j.measured) else None, j.numbers]
        for j in missed
    ]
    if rows:
        common.print_table("claims that differ", ["claim", "published", "ours", "why"], rows)
    explained = [(j.claim.id, result.paper.explanations[j.claim.id]) for j in missed if j.explained]
    for text, names in _by_text(explained).items():
        common.say(f"{', '.join(names)}: {text}")
    for text, names in _by_text([(j.claim.id, j.why) for j in unjudged]).items():
        common.say(f"not judged: {', '.join(names)}: {text.removeprefix('cannot be judged: ')}")
    totals = result.to_json()["totals"]
    weak = f", {totals['weak']} only by a tolerance wider than the value" if totals["weak"] else ""
    counts = f"{totals['reproduced']} claims reproduced{weak}, {totals['differs']} differ"
    common.say(f"{result.paper.id}: {counts}, {totals['not_judged']} cannot be judged")
    if result.paper.quick:
        common.say(
            f"quick: these verdicts are about a smaller path ({result.paper.quick_note}); only a run without --quick "
            "judges the paper"
        )
    elif totals["differs"]:
        common.say(_explained(result.unexplained, totals["differs"]))
    for line in result.beyond.sentences if result.beyond else ():
        common.say(line)
    if result.kernel is not None:
        _print_kernel(result, result.kernel)
    common.say(f"report: {result.report_path}")


def _by_text(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by the text that is said of them, so that a text is printed once."""
    found: dict[str, list[str]] = {}
    for name, text in said:
        found.setdefault(text, []).append(name)
    return found


def _check(backend: str, only: Sequence[str], *, again: bool, budget: str | None) -> None:
    if backend not in BACKENDS:
        raise ScenarioError(f"papers do not run on '{backend}'; {hint(backend, BACKENDS)}", source="--on")
    given = [name for name, there in (("--only", only), ("--again", again), ("--budget", budget)) if there]
    if backend not in _REAL and given:
        raise ScenarioError(f"it selects runs in the kernel; write --on kernel {given[0]}", source=given[0])
    if backend == "linux" and again:
        raise ScenarioError("no host disturbs runs in virtual time; leave it out", source="--again")


@contextmanager
def _options_named() -> Iterator[None]:
    """Within this context, replace an argument of the Python function in error messages by the command line's
    option."""
    try:
        yield
    except ScenarioError as error:
        if error.source is None and error.path in ("figure", "seeds", "beyond", "only"):
            raise ScenarioError(error.message, source=f"--{error.path}") from None
        raise


def _print_kernel(result: PaperResult, column: KernelColumn) -> None:
    """Prints the kernel's verdicts on the claims, and the state of the kernel's runs."""
    rows = []
    for judgment in result.claims:
        found = column.judgments[judgment.claim.id]
        if found.verdict != "not_judged":
            beside = column.twins[judgment.claim.id]
            each = [cell for one in (judgment, beside, found) for cell in (one.measured_text or None, one.verdict)]
            rows.append([judgment.claim.id, judgment.expectation, *each])
    if rows:
        header = ["claim", "allowed", "simulator", "verdict", "its twin", "verdict", "Linux", "its verdict"]
        common.print_table(f"claims that runs in {column.plan.carrier.words} judge", header, rows)
    totals, words = column.totals, column.plan.carrier.words
    other, by_twin = len(column.other_verdicts(result.claims)), len(column.by_twin(result.claims))
    also = (
        f"; {by_twin} of these have the kernel's verdict if the simulator runs the same scenarios as the kernel"
        if other
        else ""
    )
    common.say(
        f"in {words}: {totals['reproduced']} claims reproduced, {totals['differs']} differ, {totals['not_judged']} "
        f"are not judged; {other} with another verdict than in the simulator{also}"
    )
    for outcome in column.outcomes:
        if outcome.why and (outcome.run is not None or outcome.piece.to_run):
            common.warn(f"{outcome.piece.scenario.title}: {outcome.why}")


def _explained(unexplained: tuple[str, ...], differ: int) -> str:
    """Number and names of the claims that differ without an explanation."""
    if not unexplained:
        return "each claim that differs has an explanation"
    return f"{len(unexplained)} of the {differ} that differ have no explanation: {', '.join(unexplained)}"
