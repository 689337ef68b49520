"""``python -m elephan.board``: collect verdicts for the board, check its rows, and write its site."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from elephan.board import collect, rows, site
from elephan.board.contents import FOLDER, Board, BoardError
from elephan.runs import Store, SweepError
from elephan.scenario import ScenarioError
from elephan.scenario.errors import one_line

_folder = click.option("--board", "folder", type=click.Path(path_type=Path), default=Path(FOLDER), show_default=True,
                       metavar="DIR", help="Folder of the board.")  # fmt: skip


@click.group()
def command() -> None:
    """The public board: what suites say of algorithms, with the runs behind each number."""


@command.command("collect")
@click.argument("subjects", nargs=-1, metavar="[ALG…]")
@click.option("--suite", "suites", multiple=True, required=True, metavar="SUITE", help="A suite; repeatable.")
@click.option("--quick/--full", default=True, show_default=True, help="The suite's quick form, or all of it.")
@click.option("--on", default="sim", show_default=True, metavar="BACKEND", help="Where: quic for quinn:cubic.")
@click.option("--row", "named", multiple=True, metavar="NAME", help="A row of board/rows; repeatable.")
@click.option("--new-issue", is_flag=True, help="Keep the verdicts of now as those of the issue before.")
@click.option("--store", type=click.Path(), metavar="DIR", help="Folder of saved results.")
@click.option("--jobs", type=int, metavar="N", help="Runs at the same time. [default: one per core]")
@_folder
def collect_command(
    subjects: Sequence[str], suites: Sequence[str], quick: bool, on: str, named: Sequence[str], new_issue: bool,
    store: str | None, jobs: int | None, folder: Path,
) -> None:  # fmt: skip
    """Judge algorithms and rows, and put the verdicts into the board; each is written as soon as it is there."""
    board = collect.at(folder)
    if new_issue and len(board.verdicts):
        shutil.copyfile(folder / "verdicts.parquet", folder / "before.parquet")
    added = [rows.Row(folder / "rows" / name) for name in named]
    for suite in suites:
        for subject in subjects:
            board = collect.collect(board, suite, [subject], quick=quick, on=on, jobs=jobs, store=Store(store))
            board.write()
            click.echo(f"{suite}/{subject}: {len(board.verdicts)} verdicts, {len(board.runs)} runs")
        for row in added:
            board = collect.collect(board, suite, [], [row], quick=quick, on=on, jobs=jobs, store=Store(store))
            board.write()
            click.echo(f"{suite}/{row.name}: {len(board.verdicts)} verdicts, {len(board.runs)} runs")


@command.command("check")
@_folder
def check_command(folder: Path) -> None:
    """Check the rows, as CI does for one that somebody adds; loads their code."""
    for row in rows.rows(folder):
        row.check()
        click.echo(f"row '{row.name}': {row.table.title}")


@command.command("site")
@click.option("--out", type=click.Path(path_type=Path), default=Path("site"), show_default=True, metavar="DIR")
@_folder
def site_command(out: Path, folder: Path) -> None:
    """Write the site."""
    board, before = Board.read(folder), folder / "before.parquet"
    defects = tomllib.loads(_text(folder / "defects.toml"))
    facts = json.loads(_text(folder / "facts.json") or "{}")
    around = site.Around(
        pl.read_parquet(before) if before.exists() else None, facts,
        [(one["title"], one["text"]) for one in defects.get("defect", ())], rows.rows(folder),
    )  # fmt: skip
    click.echo(str(site.write(board, out, around)))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def main() -> int:
    """Run the command; an error of the board is one line."""
    try:
        command(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (BoardError, ScenarioError, SweepError, OSError) as error:
        click.echo(f"elephan: {one_line(str(error))}", err=True)
        return 2 if isinstance(error, (BoardError, ScenarioError)) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
