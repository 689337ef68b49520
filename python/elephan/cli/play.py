"""``elephan play``: the laboratory as one HTML file, opened in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from elephan.cli import common, targets

DEFAULT = "elephan.html"
NOTEBOOKS = "notebooks.html"


@click.command("play")
@click.option(
    "--out", metavar="FILE", callback=targets.writable_file,
    help=f"File to write.  [default: {DEFAULT}, or {NOTEBOOKS}]",
)  # fmt: skip
@click.option("--notebooks", is_flag=True, help="Write the notebooks: ten subjects in cells that one can change.")
@click.option("--no-open", is_flag=True, help="Write the file, and open no browser.")
@common.json_option
def command(out: str | None, notebooks: bool, no_open: bool, as_json: bool) -> None:
    """Write the playground as one HTML file, and open it.

    The file contains the engine. The file needs no server and no network, so it can be passed on. The page's address,
    with the part after '#', is a link to the current setting.
    """
    from elephan import web

    page = web.notebooks_page() if notebooks else web.playground()
    target = Path(out or (NOTEBOOKS if notebooks else DEFAULT))
    common.save_page(page, target.resolve(), no_open=no_open, as_json=as_json)
