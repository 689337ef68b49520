"""``elephan course``: labs for a class, and the marking of what students hand in."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from elephan.cli import common, targets
from elephan.scenario.words import hint

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
    from elephan.writing import whole_file

    path = Path(out).resolve()
    text = labs_page()
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    opened = not no_open and not as_json and webbrowser.open(path.as_uri())
    if as_json:
        common.print_json({"file": str(path), "bytes": path.stat().st_size})
        return
    common.say(str(path))
    if not no_open and not opened:
        common.warn("no browser could be opened; open the file in one")
