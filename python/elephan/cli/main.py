"""The command ``elephan``: finds the verb, and converts errors to one line and an exit status.

The exit status is 0 if all is done, 1 if the run failed or a check did not hold, 2 if the input was wrong, 130 after
Ctrl-C, and 143 after SIGTERM.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import Any

import click

from elephan import beginning
from elephan.algorithm import AlgorithmError
from elephan.cli import signals, stdout
from elephan.scenario.errors import ScenarioError, one_line
from elephan.scenario.words import hint
from elephan.version import __version__

DONE, FAILED, WRONG_INPUT = 0, 1, 2
THREADS = "elephan-sweep"  # the same text as in elephan.runs.sweeps, which is slow to import

VERBS = {
    "demo": "a first figure and its explanation, without a file",
    "run": "run one scenario",
    "compare": "compare algorithms on a path, and their harm to other flows",
    "evaluate": "judge algorithms by RFC 9743, or by a user-defined suite",
    "score": "one number for a candidate, for design loops",
    "search": "a path on which an algorithm fails, in its simplest form",
    "tune": "parameters of an algorithm for a set of paths",
    "explain": "what limited a flow of a packet capture, and when",
    "compare-backends": "one scenario in each backend, side by side",
    "paper": "reproduce a paper and judge its claims",
    "papers": "the scoreboard over all papers",
    "reproduce": "make numbers of the board again and compare them",
    "sweep": "run a scenario over a grid of values",
    "paths": "named paths and recordings: list, show, import",
    "list": "names of algorithms, queues, metrics and others",
    "show": "the report of a run or a paper, or the description of a name",
    "play": "the laboratory in a page: one HTML file, which needs no network",
    "course": "labs for a class: their page, and the marks of what students hand in",
    "export": "a user-defined algorithm as the skeleton of a crate, with a test",
    "plot": "cwnd, rate, RTT and queue of runs over time",
    "runs": "the saved runs: list, find, diff, verify, export, cite, prune, size",
    "lab": "the capabilities of this host for --on kernel and --on linux",
    "bench": "the engine's speed on this machine",
}
KEEPING = ("compare", "compare-backends", "demo", "evaluate", "paper", "papers", "plot", "run", "sweep")
"""Verbs that save their runs and go on from them; an interruption of any other verb loses what it had found."""

_COMPLETE = "_ELEPHAN_COMPLETE"  # the same text as in elephan.cli.completion
TASKS = {
    "runs": ("cite", "diff", "find", "prune", "size", "verify"),
    "course": ("check", "page"),
    "paths": ("import",),
    "lab": ("calibrate", "check", "clean", "install"),
}
"""Subcommands of verbs that a user may mistake for verbs."""

RENAMED = {"compare-habitats": "compare-backends"}
"""Verbs of earlier versions and their successors."""
BEGINNING = ("new", "init", "create")
"""Words with which other programs write a first file."""
BEGUN = (
    "'elephan demo' writes a scenario to begin with; an algorithm of your own is a class in a file, and a suite a "
    "folder with suite.toml: 'Your own algorithm' and 'Evaluation' in the docs have both"
)


class LazyGroup(click.Group):
    """A click group that imports a verb's module only when the verb is used, so that ``--help`` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order of the help text."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"elephan.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        if os.environ.get(_COMPLETE):
            from elephan.cli import completion

            return completion.attach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or name the most similar verb in the error message."""
        if ctx.resilient_parsing and args and args[0] not in VERBS:
            return None, None, args  # a shell asks for completions
        if args and args[0] in RENAMED:
            raise click.UsageError(f"'{args[0]}' is now called '{RENAMED[args[0]]}'", ctx)
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            if args[0] in BEGINNING:
                raise click.UsageError(f"'{args[0]}' is not a verb; {BEGUN}", ctx)
            owner = next((verb for verb, tasks in TASKS.items() if args[0] in tasks), None)
            meant = (
                f"did you mean '{owner} {args[0]}'?"
                if owner is not None
                else hint(args[0], VERBS, lister="elephan --help")
            )
            raise click.UsageError(f"'{args[0]}' is not a verb; {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from :data:`VERBS`, without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="elephan", message="%(prog)s %(version)s")
def cli() -> None:
    """A laboratory for TCP congestion control on long fat networks.

    Each verb has its own --help, and --json prints one JSON document on stdout. The exit status is 0 if all is done, 1
    if the run failed or a check did not hold, 2 if the input was wrong, 130 after Ctrl-C, and 143 after SIGTERM.

    For completion of names in bash, write into ~/.bashrc: eval "$(_ELEPHAN_COMPLETE=bash_source elephan)". For zsh and
    fish, replace bash_source by zsh_source or fish_source.
    """


def main(args: Sequence[str] | None = None) -> None:
    """The console script. The function exits with the command's status and never returns."""
    # Looking for plugins of pydantic reads the metadata of every installed package, a tenth of the time of a command.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    before = set(threading.enumerate())
    given = sys.argv[1:] if args is None else list(args)
    with _collecting_seldom(), signals.terminable(), signals.watched(partial(_last_words, given)):
        status = run_command(given)
    # From here on only Python's end follows, which has nothing to say about an interruption.
    beginning.be_quiet()
    if any(not thread.daemon for thread in threading.enumerate() if thread not in before):
        # Python would wait for the thread: that of a run whose algorithm in Python sleeps and so cannot be stopped, or
        # one that an algorithm of the user's own has started.
        atexit._run_exitfuncs()
        _flush()
        os._exit(status)
    # All objects end with the process; without this, Python would look through them for cycles once more.
    gc.freeze()
    sys.exit(status)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Run the garbage collector after 10,000 new objects instead of 700.

    A command makes tens of thousands of lasting objects while it imports, and a paper keeps a million. The higher
    threshold saves a tenth of the time for judging and drawing a paper, and a seventh of that of a short command.
    """
    before = gc.get_threshold()
    gc.set_threshold(10_000, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _last_words(args: Sequence[str], number: int) -> str:
    keeps = next((arg for arg in args if not arg.startswith("-")), None) in KEEPING
    kept = "finished runs are kept, and the same command goes on from there" if keeps else "nothing was saved"
    return f"{'ended by SIGTERM' if number == signal.SIGTERM else 'interrupted'}; {kept}"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.flush()


def run_command(args: list[str]) -> int:
    """Run one command line and return its exit status."""
    from elephan.scenario.catalog import EngineMissingError

    if sys.stdout is None:
        return _complain("stdout is closed, so nothing could be printed; write >/dev/null to print nothing", FAILED)
    if os.environ.get(_COMPLETE):
        from elephan.cli import completion

        return completion.answer(cli)
    try:
        beginning.end_quiet()
        with stdout.named(), _clean_stdout(args), _warnings_in_one_line():
            status = cli.main(args or ["--help"], prog_name="elephan", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        return _complain(usage_line(error), WRONG_INPUT)
    except ScenarioError as error:
        return _complain(str(error), WRONG_INPUT)
    except (KeyboardInterrupt, click.Abort):
        number = signal.SIGTERM if signals.terminated() else signal.SIGINT
        return _complain(_last_words(args, number), 128 + number)
    except SystemExit as error:
        return _complain(f"something that was loaded ended the program: sys.exit({error.code!r})", FAILED)
    except EngineMissingError as error:
        return _complain(str(error), FAILED)
    except stdout.ReaderGoneError:
        # The reader of the output has closed the pipe (``elephan list | head``); prevent an error of Python at exit.
        sys.stdout = None
        return DONE
    except OSError as error:
        return _after(error)
    except MemoryError:
        return _complain("out of memory", FAILED)
    except Exception as error:
        # Elephan's errors (a failed sweep, a damaged run) are printed as sentences; any other exception is a defect and
        # is raised.
        if not type(error).__module__.startswith("elephan."):
            raise
        _show_tracebacks(error)
        return _complain(str(error), FAILED)
    return status if isinstance(status, int) else DONE


def _clean_stdout(args: list[str]) -> AbstractContextManager[object]:
    """With --json, send the output of a user's algorithm to stderr."""
    if "--json" not in args:
        return nullcontext()
    from elephan.cli import common

    return common.documents_only()


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print Elephan's warnings without the line of code that raised them; other warnings are unchanged."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category.__module__.startswith("elephan."):
                click.echo(f"warning: {' '.join(str(message).split())}", err=True)
            else:
                before(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _show_tracebacks(error: BaseException) -> None:
    """Print the line of a user's algorithm that raised an exception, once for all runs that failed there."""
    shown: set[str] = set()
    for failed in [error, *(failure.error for failure in getattr(error, "failures", ()))]:
        if isinstance(failed, AlgorithmError) and failed.trace not in shown:
            click.echo(failed.trace, err=True, nl=False)
            shown.add(failed.trace)


def _after(error: OSError) -> int:
    """Report an operating system error in one line that names the file, which may be stdout."""
    if error.filename == stdout.NAME:
        sys.stdout = None  # prevent an error of Python at exit
    named = f"{error.filename}: " if error.filename is not None else ""
    return _complain(f"{named}{(error.strerror or str(error)).lower()}", FAILED)


def _complain(line: str, status: int) -> int:
    try:
        click.echo(f"elephan: {one_line(line)}", err=True)
    except OSError:
        sys.stderr = None  # stderr is closed: only the exit status reports the error
    return status


def usage_line(error: click.ClickException) -> str:
    """One line about a wrong option or argument, with the most similar valid word."""
    context = getattr(error, "ctx", None)
    path = "" if context is None else context.command_path.partition(" ")[2]
    verb = f"{path}: " if path else ""
    if isinstance(error, click.NoSuchOption):
        params = context.command.get_params(context) if context else []
        known = [opt for param in params if isinstance(param, click.Option) for opt in param.opts]
        return f"{verb}'{error.option_name}' is not an option; {hint(error.option_name, known)}"
    if isinstance(error, click.MissingParameter):
        name = error.param.human_readable_name if error.param is not None else "an argument"
        shown = error.param.opts[0] if isinstance(error.param, click.Option) else name
        return f"{verb}{shown} is missing; see elephan {path} --help"
    if isinstance(error, click.BadParameter):
        shown = error.param.opts[0] if isinstance(error.param, click.Option) else ""
        return f"{verb}{shown}{': ' if shown else ''}{_lower(error.message)}"
    if isinstance(error, click.BadOptionUsage):
        return f"{verb}{error.option_name}: its value is missing"
    if surplus := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.format_message()):
        return f"{verb}'{surplus[1]}' is more than it takes; see elephan {path} --help"
    return f"{verb}{_lower(error.format_message())}"


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
