"""``elephan reproduce``: runs of the board made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from elephan.cli import common
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError

_SHOWN = 20
"""Runs that the table shows, those that differ first."""


@click.command("reproduce")
@click.argument("cells", nargs=-1, metavar="[CELL…]")
@click.option("--sample", type=common.Count(1, 1_000_000), metavar="N", help="N runs of the board, drawn at random.")
@click.option(
    "--seed", type=common.Count(0, 2**32), default=1, show_default=True, metavar="SEED", help="Seed of the sample."
)
@click.option(
    "--board", "folder", default="board", show_default=True, metavar="DIR",
    help="Folder of the board; 'board' in the source tree.",
)  # fmt: skip
@common.jobs_option
@common.json_option
def command(cells: Sequence[str], sample: int | None, seed: int, folder: str, jobs: int | None, as_json: bool) -> None:
    """Make numbers of the board again and compare all tables by their digests.

    A cell is SUITE/SUBJECT/CRITERION, a part of that from the left, or the id of a run. The exit status is 1 if a run
    differs.
    """
    from elephan.board import again
    from elephan.board.contents import Board, BoardError

    if bool(cells) == (sample is not None):
        raise ScenarioError("write the cells of the board, or --sample N", source="reproduce")
    try:
        board = Board.read(Path(folder))
        ids = again.drawn(board, sample, seed) if sample is not None else [
            one for name in cells for one in again.named(board, name)
        ]  # fmt: skip
        with meter() as progress:
            found = again.reproduce(board, list(dict.fromkeys(ids)), jobs=jobs, progress=progress)
    except BoardError as error:
        raise ScenarioError(str(error), source="reproduce") from None
    equal = sum(one.equal for one in found)
    if as_json:
        common.print_json({"runs": [one.to_json() for one in found], "equal": equal, "differ": len(found) - equal})
    else:
        rows = [
            [
                one.cell.scenario.title or one.cell.scenario.hash,
                one.cell.id,
                "equal" if one.equal else one.why or "differs",
            ]
            for one in sorted(found, key=lambda one: one.equal)[:_SHOWN]
        ]
        common.print_table(f"Made again: {equal} of {len(found)} equal", ["run", "id", "tables"], rows)
        if (rest := len(found) - len(rows)) > 0:
            differing = max(0, len(found) - equal - len(rows))
            common.say(f"and {rest} more, of which {differing} differ" if differing else f"and {rest} more, all equal")
    if equal < len(found):
        raise click.exceptions.Exit(1)
