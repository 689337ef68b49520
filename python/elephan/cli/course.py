"""``elephan course``: labs for a class, and the marking of what students hand in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from elephan.cli import common, targets
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.course import marking

DEFAULT = "labs.html"


class _Tasks(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the task of ``elephan course``, or name the most similar one in the error message."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise click.UsageError(f"'{args[0]}' is not a task of course; {hint(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


@click.group("course", cls=_Tasks, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Labs for a class: write their page, and mark what students hand in."""
    if context.invoked_subcommand is None:
        common.say(context.get_help())


@command.command("page")
@click.option(
    "--out", default=DEFAULT, show_default=True, metavar="FILE", callback=targets.writable_file, help="File to write."
)
@click.option("--no-open", is_flag=True, help="Write the file, and open no browser.")
@common.json_option
def page(out: str, no_open: bool, as_json: bool) -> None:
    """Write the labs as one HTML file, and open it.

    The file contains the engine, so it needs no server and no network. Students answer in the page, which checks the
    answers and saves them as a file to hand in.
    """
    from elephan.course.page import labs_page

    common.save_page(labs_page(), Path(out).resolve(), no_open=no_open, as_json=as_json)


@command.command("check")
@click.argument("place", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--board", is_flag=True, help="Score the algorithms that were handed in, mine.py beside the answers.")
@common.jobs_option
@common.json_option
def check(place: Path, board: bool, jobs: int | None, as_json: bool) -> int:
    """Mark the answers that students saved: a folder of files, or one file with what helps.

    Right answers come from runs, which are made again here; a goal is checked by running the student's setting. With
    --board each algorithm is scored against CUBIC in restricted processes. The exit status is 1 if a file cannot be
    read.
    """
    import tempfile
    from collections import Counter

    from elephan.course import board as boards
    from elephan.course import marking as marks
    from elephan.course.submissions import clean
    from elephan.runs import Store

    files = marks.files_of(place)
    with tempfile.TemporaryDirectory(prefix="elephan-course-") as kept:
        folder = marks.mark_files(files, Store(Path(kept)))
    rows = boards.class_board(folder, jobs=jobs) if board else []
    if as_json:
        document = {"students": [one.to_json() for one in folder.marked], "refused": folder.refused}
        common.print_json(document | ({"board": [row.to_json() for row in rows]} if board else {}))
    else:
        _print(folder, one=place.is_file())
        if board:
            named = Counter(row.student for row in rows)
            shown = [
                [
                    str(i + 1),
                    row.student if named[row.student] == 1 else f"{row.student} ({clean(row.file.parent.name, 80)})",
                    row.text,
                    row.reason,
                ]
                for i, row in enumerate(rows)
            ]
            common.print_table("the board of the class", ["", "student", "score", ""], shown)
    return 1 if folder.refused else 0


def _print(folder: marking.Folder, *, one: bool) -> None:
    from elephan.course import marking as marks
    from elephan.course.submissions import clean

    if one:
        for marked in folder.marked:
            rows = [[m.step, m.state, str(m.tries or ""), clean(m.text, 300)] for m in marked.marks]
            common.print_table(
                f"{marked.submission.lab.title}: {marked.submission.student}", ["step", "", "tries", ""], rows
            )
            common.say(f"{marked.points} of {len(marked.marks)} steps")
    elif folder.marked:
        shown = marks.labs_of(folder)
        rows = [[student, *(points.get(lab.id, "") for lab in shown)] for student, points in marks.totals(folder)]
        common.print_table("", ["student", *(f"lab {lab.number}" for lab in shown)], rows)
    for file, reason in folder.refused.items():
        common.warn(f"{clean(file, 200)}: {clean(reason, 200)}")
