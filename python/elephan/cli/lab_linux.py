"""``elephan lab linux``: the kernels of the Linux backend."""

from __future__ import annotations

import contextlib
import datetime
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elephan.cli import common

if TYPE_CHECKING:
    from elephan.backends.linux.execute import Shell


@click.group("linux", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """The kernels for --on linux: build, list and remove them."""
    if context.invoked_subcommand is None:
        common.say(context.get_help())


@command.command("build")
@click.option("--version", default="6.12", show_default=True, metavar="X.Y", help="Debian's package linux-source-X.Y.")
@click.option(
    "--hz", type=click.Choice(["100", "250", "300", "1000"]), default="250", show_default=True,
    help="Timer interrupts per second; Debian's kernels have 250.",
)  # fmt: skip
@click.option(
    "--source", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A source tree of Linux instead of Debian's package.",
)  # fmt: skip
@common.json_option
def build(version: str, hz: str, source: Path | None, as_json: bool) -> int:
    """Build a kernel into the user's cache.

    The build takes about six minutes of two cores, once, and 150 MB of download; it does not need root. An existing
    kernel of the same source, configuration and HZ is not built again. The compiled tree of the kernel is kept, so that
    a congestion control in C or a patch is compiled into the kernel in less than a minute.
    """
    from elephan.backends.linux import build as building
    from elephan.backends.linux.adapt import BuildError

    try:
        kernel, made = building.build(version, int(hz), source, _tell)
    except BuildError as error:
        common.warn(f"the kernel was not built: {error}")
        return 1
    if as_json:
        common.print_json(kernel.to_json() | {"built_now": made})
        return 0
    how = f"built in {kernel.seconds / 60:.1f} minutes" if made else "built before"
    common.say(f"Linux {kernel.version}, HZ={kernel.hz}: {how}, in {kernel.folder} ({kernel.size_bytes() >> 20} MB)")
    return 0


def _tell(line: str) -> None:
    """Print progress to stderr."""
    click.echo(line, err=True)


@command.command("list")
@common.json_option
def list_(as_json: bool) -> None:
    """List the kernels that are built, with the disk space that they take."""
    from elephan.backends.linux import kernels

    found = kernels.kernels()
    if as_json:
        common.print_json({"folder": str(kernels.cache()), "kernels": [kernel.to_json() for kernel in found]})
        return
    rows = [
        [k.digest, k.version, k.hz, datetime.datetime.fromtimestamp(k.built).strftime("%Y-%m-%d"),
         f"{k.size_bytes() / 2**20:.1f}", ", ".join(k.changes)]
        for k in found
    ]  # fmt: skip
    if not rows:
        common.say("no kernel is built; type 'elephan lab linux build'")
        return
    common.print_table(str(kernels.cache()), ["kernel", "version", "HZ", "built", "MB", "with"], rows)
    common.say("runs use the last one without changes, or the one that $ELEPHAN_LINUX names")


@command.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("scenario", metavar="SCENARIO.toml")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@click.option(
    "--host", type=click.Choice(["sender", "receiver"]), default="sender", show_default=True,
    help="Host: at the beginning of the path or at its end.",
)  # fmt: skip
@click.option("--at", default="0 s", show_default=True, metavar="TIME", help="Start of the command within the run.")
@common.set_option
@common.programs_option
def execute(
    scenario: str, words: tuple[str, ...], host: str, at: str, assignments: Sequence[str], allow_programs: bool
) -> int:
    """Run a command on a host of a scenario's path, in virtual time, beside the scenario's flows.

    Its output appears here, and its exit status is that of this command. {address} in a word is the address of the
    other host. Without a command, a shell reads commands from the standard input; in a terminal, it runs each line when
    it is typed, and time stands still in between. The run ends with the command.
    """
    from elephan.backends.linux import execute as executing
    from elephan.runs import permission

    stated = common.load_scenario(scenario, common.overrides_of(assignments))
    permission.require(stated, allow_programs)
    made = executing.with_command(stated, words or executing.SHELL, host, at)
    ended = f"the scenario ended after {made.form.duration_ps / 1e12:g} s, before the command; write --set 'duration=…'"
    command = executing.Command(made)
    if not words and sys.stdin is not None and sys.stdin.isatty():
        return _talk(executing.Shell(command), host, ended)
    text = b"" if words or sys.stdin is None else sys.stdin.buffer.read(executing.INPUT_BYTES + 1)
    end = command.run(text, _pass_on)
    if end is None:
        _tell(f"elephan: {ended}")
        return 1
    return end.status


def _talk(shell: Shell, host: str, ended: str) -> int:
    """Read lines from a terminal and run each; return the exit status of the last one."""
    from elephan.backends.linux.guest import GuestError
    from elephan.scenario import ScenarioError

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() edits lines with it)
    _tell("time stands still between two lines; exit or Ctrl-D ends the shell")
    while True:
        try:
            line = _statement(f"{shell.end.time_s:.6f} s {host}$ ")
            if not shell.take(line, _pass_on):
                _tell(f"elephan: {ended}")
        except EOFError:
            _tell("")
            return shell.end.status
        except (ScenarioError, GuestError) as error:
            _tell(f"elephan: {error}")
        else:
            if line.split()[:1] == ["exit"]:
                return shell.end.status


def _statement(prompt: str) -> str:
    """Read a line, and those that complete it for a shell."""
    text = input(prompt)
    while _is_open(text):
        text += "\n" + input("> ")
    return text


def _is_open(text: str) -> bool:
    """True if a shell needs further lines; the shell of this host tells, which runs nothing of it."""
    told = subprocess.run(["/bin/sh", "-n"], input=text + "\n", capture_output=True, text=True, check=False)
    return text.endswith("\\") or (
        told.returncode != 0 and re.search("end of file|EOF|nterminated", told.stderr) is not None
    )


def _pass_on(piece: bytes, is_error: bool) -> None:
    """Print a piece of a command's output."""
    stream = (sys.stderr if is_error else sys.stdout).buffer
    stream.write(piece)
    stream.flush()


@command.command("prune")
@click.argument("digests", nargs=-1, metavar="[KERNEL…]")
@common.json_option
def prune(digests: tuple[str, ...], as_json: bool) -> None:
    """Remove kernels.

    Kernels are named by the first letters of their digest; without a name, all but the newest of each HZ are removed. A
    kernel with a patch or a C file is compiled again when a run needs it, in less than a minute.
    """
    from elephan.backends.linux import kernels
    from elephan.scenario import ScenarioError

    found = kernels.kernels()
    newest = {kernel.hz: kernel.digest for kernel in found if not kernel.base}
    for digest in digests:
        if sum(kernel.digest.startswith(digest) for kernel in found) != 1:
            raise ScenarioError(f"'{digest}' names no one kernel; see elephan lab linux list")
    gone = [
        kernel
        for kernel in found
        if (kernel.digest.startswith(digests) if digests else kernel.digest != newest.get(kernel.hz))
    ]
    removed = [{"kernel": kernel.digest, "bytes": kernels.remove(kernel)} for kernel in gone]
    if as_json:
        common.print_json({"removed": removed})
        return
    for kernel in gone:
        common.say(f"removed {kernel.digest} (Linux {kernel.version}, HZ={kernel.hz})")
    if not gone:
        common.say("nothing to remove")
