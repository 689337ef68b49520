"""Commands of programs as scenario files state them, and ``[[program]]`` as a flow."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

PROGRAM = "program"
"""Name of a program's flow in place of an algorithm."""

_OWN_FIELDS = ("server", "server_of", "client", "environment", "port", "ready", "bytes", "sender", "files")
_SHARED_FIELDS = ("name", "start", "stop", "path", "reverse_path", "stack")
"""Fields of a flow that a program may have too."""
_FLOW = re.compile(r"flow\[(\d+)\](\.program)?")


def to_flows(table: Any) -> Any:
    """The tables of a scenario file with each ``[[program]]`` as a flow after the others.

    Raises:
        ScenarioError: ``program`` is not a list of tables.
    """
    if not isinstance(table, dict) or PROGRAM not in table:
        return table
    programs = table[PROGRAM]
    if not isinstance(programs, list | tuple) or not all(isinstance(one, dict) for one in programs):
        raise ScenarioError("is not a list of tables; write [[program]]", path=PROGRAM)
    flows = list(table.get("flow", ()))
    for position, one in enumerate(programs, 1):
        own = {key: value for key, value in one.items() if key in _OWN_FIELDS}
        flow = {key: value for key, value in one.items() if key not in _OWN_FIELDS}
        flows.append({"name": f"{PROGRAM}-{position}"} | flow | {PROGRAM: own})
    return {key: value for key, value in table.items() if key != PROGRAM} | {"flow": flows}


def in_user_fields(error: ScenarioError, tables: Mapping[str, Any]) -> ScenarioError:
    """An error of a program's flow, with the names that the user has written."""
    if PROGRAM not in tables:
        return error
    before = len(tables.get("flow", ()))

    def own(match: re.Match[str]) -> str:
        position = int(match[1]) - before
        return match[0] if position < 0 else f"{PROGRAM}[{position}]"

    path, message = _FLOW.sub(own, error.path), _FLOW.sub(own, error.message)
    if path.startswith(PROGRAM) and message.startswith("not a field of flow"):
        message = f"not a field of {PROGRAM}; {hint(path.rpartition('.')[2], (*_OWN_FIELDS, *_SHARED_FIELDS))}"
    return ScenarioError(message, path=path, source=error.source)


def anchored(program: dict[str, Any], folder: Path) -> None:
    """Make the files that the commands of a program name relative to a folder."""
    for field in ("server", "client"):
        words = program.get(field)
        if isinstance(words, str):
            words = shlex.split(words)
        if isinstance(words, list):
            program[field] = [_absolute(word, folder) for word in words]
    if isinstance(program.get("files"), list):
        program["files"] = [str((folder / str(name)).absolute()) for name in program["files"]]


def parse_command(value: Any) -> tuple[str, ...]:
    """The words of a command: a list of texts, or a text that is split as a shell splits it, without a shell's other
    meanings. A word that begins with ./ or ../ becomes the absolute path of the file."""
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise ScenarioError(f"{value!r} is not a command: {str(error).lower()}") from None
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) for word in value):
        raise ScenarioError(f'{value!r} is not a command; write for example ["iperf3", "-s"]')
    if any("\0" in word for word in value):
        raise ScenarioError("a word of a command cannot have a null character")
    return tuple(_absolute(word, Path()) for word in value)


def _absolute(word: Any, folder: Path) -> Any:
    if isinstance(word, str) and word.startswith(("./", "../")):
        return str((folder / word).absolute())
    return word
