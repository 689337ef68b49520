"""``elephan export``: a user's algorithm as the skeleton of a crate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from elephan.cli import common, targets
from elephan.scenario.errors import ScenarioError

FORMULAS = "expression"
"""The algorithm whose formulas are written as a whole."""


@click.command("export")
@click.argument("algorithm", metavar="ALG")
@click.option("--to", "language", type=click.Choice(["rust", "c"]), required=True, help="The language.")
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

    The algorithm expression is written as a whole, with the formulas of --set growth=... and --set kept=...: as a crate
    with a test that compares it with the interpreter of formulas, or as a header in C for a stack in user space.
    """
    from elephan.export import rust

    given = common.overrides_of(assignments)
    if algorithm == FORMULAS:
        _export_formulas(given, language, out, as_json, recording=recording)
        return
    if language != "rust":
        raise ScenarioError(f"only '{FORMULAS}' can be written in C; write --to rust", source="--to")
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


def _export_formulas(
    given: Mapping[str, Any], language: str, out: str | None, as_json: bool, *, recording: bool
) -> None:
    from elephan.design import evolution

    if recording:
        raise ScenarioError(f"'{FORMULAS}' has no recording; leave --recording out", source="--recording")
    folder = Path("evolved" if out is None else out)
    name = re.sub(r"[^a-z0-9]+", "_", folder.name.lower()).strip("_")
    written = evolution.export(given, language, folder, name if name[:1].isalpha() else f"evolved_{name}".rstrip("_"))
    if as_json:
        common.print_json({"crate": name, "files": [str(path) for path in written]})
        return
    for path in written:
        common.say(str(path))
