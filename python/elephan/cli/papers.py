"""``elephan papers``: the scoreboard over all papers."""

from __future__ import annotations

import click

from elephan.cli import common, targets
from elephan.cli.progress import meter


@click.command("papers")
@click.option("--quick", is_flag=True, help="The same shapes at about a tenth of the work; verdicts are preliminary.")
@click.option(
    "--sensitivity/--no-sensitivity",
    default=None,
    help="Also run variants of settings that the papers do not state. [default: each paper's choice]",
)
@click.option("--beyond", is_flag=True, help="Also answer questions that the papers do not answer.")
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

    with common.collecting_seldom(), meter() as progress:
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
