"""``elephan play``: the laboratory as one HTML file, opened in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from elephan.cli import common, targets

DEFAULT = "elephan.html"


@click.command("play")
@click.option(
    "--out", default=DEFAULT, show_default=True, metavar="FILE", callback=targets.writable_file, help="File to write."
)
@click.option("--no-open", is_flag=True, help="Write the file, and open no browser.")
@common.json_option
def command(out: str, no_open: bool, as_json: bool) -> None:
    """Write the playground as one HTML file, and open it.

    The file contains the engine. The file needs no server and no network, so it can be passed on. The page's address,
    with the part after '#', is a link to the current setting.
    """
    from elephan import web

    common.save_page(web.playground(), Path(out).resolve(), no_open=no_open, as_json=as_json)
