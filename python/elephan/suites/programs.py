"""Programs as the subjects of a suite: their commands, the permission to run them, and what tells two builds apart."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from elephan.runs import permission
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.commands import PROGRAM
from elephan.scenario.form import ProgramSpec
from elephan.suites.suite import Subject

_FIELDS = ("server", "client", "environment", "port", "ready", "sender", "files")
_PLACES = {"port": "two of them run beside each other", "bytes": "the suite has transfers of several sizes"}
_DIGITS = 12
_PATH = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}


def subjects(stated: Sequence[Mapping[str, Any]], source: str = "evaluate") -> list[Subject]:
    """Programs as subjects, with unique labels.

    Args:
        stated: fields of ``[[program]]``; ``name`` is the label, by default the client's file.
        source: place of a mistake, for the message.

    Raises:
        ScenarioError: a field is wrong, or a command lacks a placeholder.
    """
    found: dict[str, Subject] = {}
    for one in stated:
        subject = _subject(one, source)
        names = [subject.label, *(f"{subject.label} ({number})" for number in range(2, len(stated) + 1))]
        label = next(name for name in names if name not in found)
        found[label] = Subject(label, label, program=subject.program)
    return list(found.values())


def _subject(stated: Mapping[str, Any], source: str) -> Subject:
    for field in stated:
        if field not in (*_FIELDS, "name"):
            raise ScenarioError(f"'{field}' is not a field of a judged program", source=source)
    fields = {field: value for field, value in stated.items() if field in _FIELDS and value is not None}
    if "client" not in fields:
        raise ScenarioError("missing; write the command of the client", path="client", source=source)
    try:
        program = _scenario(fields).flow[0].program
    except ScenarioError as error:
        raise ScenarioError(error.message, path=error.path.removeprefix(f"{PROGRAM}[0]."), source=source) from None
    assert program is not None
    words = [*(program.server or ()), *program.client, *program.environment.values()]
    for place, why in _PLACES.items():
        if not any(f"{{{place}}}" in word for word in words):
            raise ScenarioError(f"the commands have no {{{place}}}, and {why}", path="client", source=source)
    named = stated.get("name") or PurePath(program.client[0]).name
    return Subject(str(named), str(named), program={**fields, "port": program.port})


def _scenario(fields: Mapping[str, Any]) -> Scenario:
    return Scenario.from_dict({"duration": "1 s", "dumbbell": _PATH, PROGRAM: [dict(fields)]})


def require(judged: Sequence[Subject], allowed: bool) -> None:
    """Check that the programs may run.

    Raises:
        ScenarioError: they were not allowed; the message has their commands.
    """
    if allowed:
        return
    told = dict.fromkeys(f"'{text}'" for subject in judged for text in commands(subject))
    raise ScenarioError(permission.would_run(list(told)), source="evaluate")


def commands(subject: Subject) -> list[str]:
    """Commands of the server and the client, as they would be typed."""
    program = scenario(subject).flow[0].program
    assert program is not None
    return [_typed(words) for words in (program.server, program.client) if words is not None]


def _typed(words: Sequence[str]) -> str:
    """A command as it would be typed; placeholders need no quotes here, since no shell reads them."""
    plain = [word.replace("{", "").replace("}", "") for word in words]
    return " ".join(
        word if shlex.quote(bare) == bare else shlex.quote(word) for word, bare in zip(words, plain, strict=True)
    )


def scenario(subject: Subject) -> Scenario:
    """A short scenario with the program."""
    assert subject.program is not None
    return _scenario(subject.program)


def canonical(subject: Subject) -> ProgramSpec:
    """The commands of a program and the digest of its files, as the hash of a scenario has them."""
    found = scenario(subject).form.flows[0].program
    assert found is not None
    return found


def digest(subject: Subject) -> str:
    """The first digits of the digest of a program's files."""
    return canonical(subject).sha256[:_DIGITS]


def told(judged: Sequence[Subject]) -> list[tuple[str, str]]:
    """Name, commands and digest of each program, for a reader."""
    return [
        (one.label, f"{' and '.join(f'`{text}`' for text in commands(one))}, files {digest(one)}") for one in judged
    ]


def note(judged: Sequence[Subject], against: Subject | None) -> list[str]:
    """A note if a program is compared with itself."""
    if against is None:
        return []
    same = [subject.label for subject in judged if canonical(subject) == canonical(against)]
    return [f"{name} and {against.label} have the same commands and files, so their runs are the same" for name in same]
