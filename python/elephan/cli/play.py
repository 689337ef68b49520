"""``elephan play``: the laboratory as one HTML file, opened in a browser."""

from __future__ import annotations

import webbrowser
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
    from elephan.writing import whole_file

    path = Path(out).resolve()
    text = web.playground()
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    opened = not no_open and not as_json and webbrowser.open(path.as_uri())
    if as_json:
        common.print_json({"file": str(path), "bytes": path.stat().st_size})
        return
    common.say(str(path))
    if not no_open and not opened:
        common.warn("no browser could be opened; open the file in one")
