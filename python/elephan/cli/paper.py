"""``elephan paper``: reproduce a paper and judge its claims."""

from __future__ import annotations

import click

from elephan.cli import common
from elephan.cli.progress import meter


@click.command("paper")
@click.argument("paper", metavar="ID")
@click.option("--figure", metavar="F", help="Only the experiments of this figure.")
@click.option(
    "--quick", is_flag=True, help="The same shapes at about a tenth of the work, one seed; verdicts are a first look."
)
@click.option(
    "--seeds",
    type=common.Count(1, 1000),
    metavar="N",
    help="Seeds of each experiment. [default: the paper's own choice]",
)
@click.option(
    "--sensitivity/--no-sensitivity",
    default=None,
    help="Also run other readings of what the paper leaves open. [default: the paper's own choice]",
)
@click.option("--beyond", is_flag=True, help="Also answer the question that the paper left open.")
@click.option("--out", metavar="DIR", help="Folder of the report. [default: reports/ID]")
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
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Reproduce a paper: run its experiments, draw its figures, judge its claims.

    What is saved is not run again. A claim that does not reproduce is a finding, not a failure: the exit status is 0.
    """
    from elephan import papers, runs

    with meter() as progress:
        result = papers.reproduce(
            paper,
            figure=figure,
            quick=quick,
            jobs=jobs,
            store=runs.Store(store),
            out=out,
            seeds=seeds,
            sensitivity=sensitivity,
            beyond=beyond,
            progress=progress,
        )
    if as_json:
        common.print_json(result.to_json())
        return
    rows = [
        [claim["id"], claim["expected"], claim["measured"], claim["verdict"], claim["why"] or ""]
        for claim in result.to_json()["claims"]
        if claim["verdict"] != "reproduced"
    ]
    if rows:
        common.print_table("claims that are not reproduced", ["claim", "published", "ours", "verdict", "why"], rows)
    totals = result.to_json()["totals"]
    counts = f"{totals['reproduced']} claims reproduced, {totals['differs']} differ"
    common.say(f"{paper}: {counts}, {totals['not_judged']} cannot be judged")
    if totals["differs"]:
        common.say(_explained(result.unexplained, totals["differs"]))
    for line in result.beyond.sentences if result.beyond else ():
        common.say(line)
    common.say(f"report: {result.report_path}")


def _explained(unexplained: tuple[str, ...], differ: int) -> str:
    """How many of the claims that differ no finding speaks of, and which."""
    if not unexplained:
        return "each claim that differs has a finding"
    return f"{len(unexplained)} of the {differ} that differ have no finding: {', '.join(unexplained)}"
