"""Ctrl-C while a command begins: the process ends at once and says nothing, with exit status 130.

Python raises an exception wherever it is, so a command that is interrupted while its modules are imported would print a
traceback. This module imports only what the interpreter itself has loaded.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module signal also imports enum
import os
import sys

_STATUS = 130
_COMMANDS = (["-m", "elephan"], "elephan")


def be_quiet() -> None:
    """In the process of a command, end at a Ctrl-C from now on, unless the parent process has it ignored. A program
    that imports the package keeps its own handling of Ctrl-C."""
    if _is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def end_quiet() -> None:
    """Let a Ctrl-C raise ``KeyboardInterrupt`` again."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _is_command() -> bool:
    """True in the process of ``elephan`` or of ``python -m elephan``."""
    module, script = _COMMANDS
    given = sys.orig_argv
    is_module = any(given[i : i + 2] == module for i in range(1, len(given)))
    return is_module or (bool(sys.argv) and sys.argv[0].rpartition(os.sep)[2] == script)


def _end(number: int, frame: object) -> None:
    os._exit(_STATUS)
