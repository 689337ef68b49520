"""Programs of the user's own on the hosts of a path: their commands, and the files that these commands name."""

from __future__ import annotations

import hashlib
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from elephan.scenario.commands import PROGRAM
from elephan.scenario.errors import ScenarioError, join_path
from elephan.scenario.form import ProgramSpec

if TYPE_CHECKING:
    from elephan.scenario.schema import Flow, Program, ScenarioTable

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which the first word of a command is looked up."""
SHOWN = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/nix")
"""Folders of the host that every program sees."""


def check(scenario: ScenarioTable, flow: Flow, where: str) -> None:
    """Reject a program with fields of a flow that it cannot have, and one without a server.

    Raises:
        ScenarioError: the program is rejected; the message has the field.
    """
    program = flow.program
    if program is None:
        if flow.algorithm == PROGRAM:
            raise ScenarioError("is missing; write [[program]] with a client", path=join_path(where, PROGRAM))
        return
    if flow.algorithm != PROGRAM:
        raise ScenarioError(
            f"'{flow.algorithm}' has no meaning for a program, which has its own; leave it out",
            path=join_path(where, "algorithm"),
        )
    for field in ("application", "datagrams", "parameters", "size", "sender_clock", "receiver_clock", "base_rtt_error"):
        if getattr(flow, field):
            raise ScenarioError("has no meaning for a program; leave it out", path=join_path(where, field))
    if flow.count != 1:
        raise ScenarioError("a program is no group; write it several times", path=join_path(where, "count"))
    if flow.backend != "linux":
        raise ScenarioError(
            "a program runs in a Linux guest (--on linux); leave it out", path=join_path(where, "backend")
        )
    if (program.server is None) == (program.server_of is None):
        what = "missing; write server, or server_of with the name of a program that has one"
        given = "is there too; a program has a server of its own or that of another"
        raise ScenarioError(
            what if program.server is None else given,
            path=join_path(where, PROGRAM, "server" if program.server is None else "server_of"),
        )
    servers = [one.name for one in scenario.flow if one.program is not None and one.program.server is not None]
    if program.server_of is not None and program.server_of not in servers:
        raise ScenarioError(
            f"'{program.server_of}' is no program with a server", path=join_path(where, PROGRAM, "server_of")
        )
    for field, command in commands(program):
        try:
            executable(command[0])
        except ScenarioError as error:
            raise error.located(path=join_path(where, PROGRAM, field)) from None


def commands(program: Program) -> list[tuple[str, tuple[str, ...]]]:
    """The commands of a program by the names of their fields."""
    found = [("server", program.server), ("client", program.client)]
    return [(field, command) for field, command in found if command is not None]


def executable(word: str) -> str:
    """Path of the file that the first word of a command names.

    Raises:
        ScenarioError: there is no such program.
    """
    found = shutil.which(word, path=SEARCHED)
    if found is None:
        where = "is not an executable file" if "/" in word else f"is in none of {SEARCHED.replace(':', ', ')}"
        raise ScenarioError(f"'{word}' {where}")
    return found


def spec(program: Program) -> ProgramSpec:
    """The canonical form: files by their names without folders, and a digest of their contents."""
    sha, named = hashlib.sha256(), {}
    for field, command in commands(program):
        words = list(command)
        for place, word in enumerate(command):
            file = Path(executable(word)) if place == 0 else Path(word)
            if file.is_absolute() and file.is_file():
                sha.update(f"{file.name}\0".encode() + _digest_of(file))
                words[place] = file.name if Path(word).is_absolute() else word
        named[field] = tuple(words)
    for name in sorted(program.files):
        sha.update(f"{Path(name).name}\0".encode() + _digest_of(Path(name)))
    return ProgramSpec(
        client=named["client"],
        server=named.get("server", ()),
        server_of=program.server_of,
        environment=dict(sorted(program.environment.items())),
        port=program.port,
        ready=program.ready,
        bytes=program.bytes,
        client_sends=program.sender == "client",
        sha256=sha.hexdigest(),
    )


def check_files(program: Program, known: ProgramSpec) -> None:
    """Check that the files of a program are still those of its canonical form, since the hash of a run names them.

    Raises:
        ScenarioError: a file was changed.
    """
    if spec(program).sha256 != known.sha256:
        raise ScenarioError(
            "a file was changed since the scenario was read; start again, so that the run is of one build"
        )


def visible(program: Program) -> list[str]:
    """Folders and files of the host that a program needs besides those that every program sees.

    A file is shown with its folder, since programs come with files beside them; alone if the folder is a home or holds
    everything.
    """
    found: dict[str, None] = dict.fromkeys(program.files)
    for _, command in commands(program):
        for word in (executable(command[0]), *command[1:]):
            file = Path(word)
            if not file.is_absolute() or not (file.is_file() or file.is_dir()):
                continue  # an option, a file that the program makes, or a device, which a guest has of its own
            if any(file.is_relative_to(folder) for folder in SHOWN):
                continue
            folder = file if file.is_dir() else file.parent
            alone = str(folder) in (str(Path.home()), "/", "/etc", "/home", "/root", "/run", "/tmp")
            found[str(file if alone else folder)] = None
    return list(found)


def _digest_of(path: Path) -> bytes:
    if path.is_dir():
        sha = hashlib.sha256()
        for file in sorted(path.rglob("*")):
            if file.is_file():
                sha.update(f"{file.relative_to(path)}\0".encode() + _digest_of(file))
        return sha.digest()
    status = path.stat()
    return _digest(str(path), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest(path: str, _size: int, _changed_ns: int) -> bytes:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
