"""``elephan export``: a user's algorithm as the skeleton of a crate."""

from __future__ import annotations

from pathlib import Path

import click

from elephan.cli import common, targets
from elephan.scenario.errors import ScenarioError


@click.command("export")
@click.argument("algorithm", metavar="ALG")
@click.option("--to", "language", type=click.Choice(["rust"]), required=True, help="The language.")
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Folder of the crate. [default: its name]")
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter's default in the crate.")
@click.option("--recording", is_flag=True, help="Only rewrite the recording in a previously exported crate.")
@common.json_option
def command(
    algorithm: str, language: str, out: str | None, assignments: tuple[str, ...], recording: bool, as_json: bool
) -> None:
    """Write the skeleton of a crate for ALG, an algorithm of your own such as ./mine.py:Mine.

    The crate has the parameters, the callbacks with the Python text beside each, and a test that compares the
    controller with the Python class on a recorded path. You fill in the arithmetic.
    """
    from elephan.export import rust

    given = common.overrides_of(assignments)
    dotted = next((name for name in given if not name.isidentifier()), None)
    if dotted is not None:
        raise ScenarioError(f"'{dotted}' is not a parameter's name", source="--set")
    crate = rust.crate_of(algorithm, given)
    folder = Path(crate.name if out is None else out)
    written = rust.write_recording(crate, folder) if recording else rust.write(crate, folder)
    if as_json:
        common.print_json(
            {"crate": crate.name, "files": [str(path) for path in written], "callbacks": len(crate.lines)}
        )
        return
    for path in written:
        common.say(str(path))
    common.say(f"recorded {len(crate.lines)} callbacks; fill in what cargo test in {folder} asks for")
