"""``elephan papers``: the scoreboard over all papers."""

from __future__ import annotations

import click

from elephan.cli import common
from elephan.cli.progress import meter


@click.command("papers")
@click.option("--quick", is_flag=True, help="Shorter subsets of the experiments.")
@click.option("--out", metavar="DIR", help="Folder of the reports. [default: reports]")
@common.jobs_option
@common.store_option
@common.json_option
def command(quick: bool, out: str | None, jobs: int | None, store: str | None, as_json: bool) -> None:
    """Reproduce every paper that this version has, and print one line for each."""
    from elephan import papers, runs

    with meter() as progress:
        board = papers.scoreboard(None, quick=quick, jobs=jobs, store=runs.Store(store), out=out, progress=progress)
    documents = [result.to_json() for result in board]
    if as_json:
        common.print_json({"papers": documents})
        return
    header = ["paper", "reproduced", "differs", "not judged", "runs", "report"]
    rows = [
        [
            d["paper"],
            d["totals"]["reproduced"],
            d["totals"]["differs"],
            d["totals"]["not_judged"],
            d["runs"],
            d["report"],
        ]
        for d in documents
    ]
    common.print_table("", header, rows)
