"""``elephan papers``: the scoreboard over all papers."""

from __future__ import annotations

import click

from elephan.cli import common, targets
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

_BACKENDS = ("sim", "linux")


@click.command("papers")
@click.option(
    "--quick", is_flag=True, help="The same experiments at about a tenth of the work; verdicts are preliminary."
)
@click.option(
    "--sensitivity/--no-sensitivity",
    default=None,
    help="Also run variants of settings that the papers do not state. [default: each paper's choice]",
)
@click.option("--beyond", is_flag=True, help="Also answer questions that the papers do not answer.")
@click.option(
    "--on",
    "backend",
    default="sim",
    metavar="BACKEND",
    help="linux: also run the supported experiments on real Linux in virtual time, one seed each. [default: sim]",
)
@click.option(
    "--budget",
    metavar="TIME",
    help="With --on linux: time after which no run is started there; saved runs count, and a second call continues.",
)
@click.option(
    "--out", metavar="DIR", callback=targets.writable_folder, help="Folder of the reports. [default: reports]"
)
@common.jobs_option
@common.store_option
@common.json_option
def command(
    quick: bool,
    sensitivity: bool | None,
    beyond: bool,
    backend: str,
    budget: str | None,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Reproduce every paper, judge every claim, and write the page over all of them.

    Saved results are reused. A claim that does not reproduce is a result, not a failure: the exit status is 0.
    """
    from elephan import papers, runs
    from elephan.papers import boards

    if backend not in _BACKENDS:
        raise ScenarioError(f"all papers do not run on '{backend}'; {hint(backend, _BACKENDS)}", source="--on")
    if backend == "linux":
        if beyond or sensitivity:
            raise ScenarioError(
                "the papers' own experiments run on linux; leave it out", source="--beyond/--sensitivity"
            )
        _on_linux(budget, quick=quick, jobs=jobs, store=store, out=out, as_json=as_json)
        return
    if budget is not None:
        raise ScenarioError("it is for runs on Linux; write --on linux --budget", source="--budget")
    with meter() as progress:
        board = papers.scoreboard(
            quick=quick,
            jobs=jobs,
            store=runs.Store(store),
            out=out,
            sensitivity=sensitivity,
            beyond=beyond,
            progress=progress,
        )
    if as_json:
        common.print_json(board.to_json())
        return
    header = ["paper", "reproduced", "weak", "differs", "no explanation", "not judged", "runs", "report"]
    rows = [
        [
            r.paper.id,
            r.totals["reproduced"],
            r.totals["weak"],
            r.totals["differs"],
            len(r.unexplained),
            r.totals["not_judged"],
            len(r.runs),
            r.report_path,
        ]
        for r in board.results
    ]
    common.print_table("", header, rows)
    selections = [
        [name, counts["reproduced"], counts["reproduced"] + counts["differs"], boards.percent(counts)]
        for name, counts in board.boards["selection"].items()
    ]
    common.print_table("", ["claims", "reproduced", "of judged", "share"], selections)
    common.say(f"scoreboard: {board.report_path}")


def _on_linux(
    budget: str | None, *, quick: bool, jobs: int | None, store: str | None, out: str | None, as_json: bool
) -> None:
    """Runs the papers on Linux, and prints the counts of each."""
    from elephan import papers, runs
    from elephan.evaluation.bench import budget_s

    seconds = None if budget is None else budget_s(budget, "--budget")
    with meter() as progress:
        document, page = papers.on_linux(
            quick=quick, budget_s=seconds, jobs=jobs, store=runs.Store(store), out=out, progress=progress
        )
    if as_json:
        common.print_json(document)
        return
    rows = []
    for row in document["papers"]:
        if "nothing" in row:
            rows.append([row["paper"], "–", "–", "–", "–", row["nothing"]])
            continue
        column = row["kernel"]
        made, totals = sum(run["made"] for run in column["runs"]), column["totals"]
        holds = totals["reproduced"] + totals["weak"]
        rows.append(
            [row["paper"], holds, totals["differs"], totals["not_judged"], f"{made} of {len(column['runs'])}", ""]
        )
    common.print_table("", ["paper", "hold on Linux", "differ", "not judged", "runs", ""], rows)
    common.say(f"page: {page}")
