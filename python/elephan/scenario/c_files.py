"""Congestion control modules in C, written like Linux's own modules, in files that a scenario names (``./tcp_mine.c``).

This module reads a file; only the backend ``linux`` compiles it, into a separate kernel.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elephan.scenario import reading
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint

SUFFIX = ".c"
_MOST_BYTES = 1_000_000
_STEM = re.compile(r"[A-Za-z]\w*", re.ASCII)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_OPERATIONS = re.compile(r"struct\s+tcp_congestion_ops\s+\w+[^=;{]*=\s*\{", re.DOTALL)
_BRACE = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'|[{}]", re.DOTALL)
_NAME = re.compile(r"\.name\s*=\s*(?:\"([^\"]*)\"|([A-Za-z_]\w*))")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\"([^\"]*)\"", re.MULTILINE)
_PARAMETER = re.compile(r"\bmodule_param\s*\(\s*(\w+)\s*,\s*(\w+)\s*,")
_SWITCH = "bool"
_NUMBERS = ("byte", "short", "ushort", "int", "uint", "long", "ulong", "hexint", _SWITCH)
_NAME_MAX = 15


@dataclass(frozen=True)
class CFile:
    """A congestion control in C.

    Attributes:
        path: the file.
        text: content of the file.
        digest: SHA-256 of the content.
        name: name of the congestion control, which the file registers in the kernel.
        parameters: types of the module parameters by name.
    """

    path: Path
    text: bytes
    digest: str
    name: str
    parameters: Mapping[str, str]

    @property
    def label(self) -> str:
        """The file's name without its folder."""
        return self.path.name

    @property
    def unit(self) -> str:
        """The file's name in a kernel's tree, without its suffix; it differs from the names of Linux's files."""
        return f"elephan_{self.path.name.partition('.')[0]}"

    def check_parameter(self, parameter: str, value: object) -> int:
        """The value of a parameter for the kernel's command line.

        Raises:
            ScenarioError: the file has no such parameter, or the value is not allowed.
        """
        if parameter not in self.parameters:
            known = list(self.parameters)
            raise ScenarioError(
                f"not a parameter of {self.label}; {hint(parameter, known) if known else 'it has none'}",
                path=parameter,
            )
        if self.parameters[parameter] not in _NUMBERS:
            raise ScenarioError(
                f"is of the type '{self.parameters[parameter]}'; only numbers can be set", path=parameter
            )
        if isinstance(value, str) or not isinstance(value, int | float) or value != int(value):
            raise ScenarioError(f"{value!r} is not a whole number", path=parameter)
        return int(value)


def read(path: Path) -> CFile:
    """Read a file.

    Raises:
        ScenarioError: there is no such file, or it has no congestion control.
    """
    try:
        text = reading.read_bytes(path, _MOST_BYTES)
    except FileNotFoundError:
        raise ScenarioError(reading.missing(path, f"*{SUFFIX}")) from None
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error.message}") from None
    if _STEM.fullmatch(path.stem) is None:
        raise ScenarioError(f"{path}: the name of a C file has letters, digits and _ only; rename it")
    code = _COMMENT.sub(" ", text.decode("utf-8", errors="replace"))
    names = _names(code)
    if not names:
        raise ScenarioError(f"{path}: no 'struct tcp_congestion_ops' with a .name in it, which Linux needs")
    if len(names) > 1:
        raise ScenarioError(f"{path}: {len(names)} congestion controls ({', '.join(names)}); leave one in the file")
    if not 0 < len(names[0]) <= _NAME_MAX:
        raise ScenarioError(f'{path}: .name = "{names[0]}" must have 1 to {_NAME_MAX} letters')
    parameters = dict(_PARAMETER.findall(code))
    return CFile(path.absolute(), text, hashlib.sha256(text).hexdigest(), names[0], parameters)


def copy_of(path: Path, folder: Path) -> Path:
    """A copy under another name, of the file and of the congestion control, so that both are in one kernel, with
    variables of their own.

    Raises:
        ScenarioError: there is no such file, or it has no congestion control.
    """
    file = read(path)
    name = f"{file.name[: _NAME_MAX - 1]}{'2' if not file.name.endswith('2') else '3'}"
    copy = folder / f"{path.stem}_copy{SUFFIX}"
    copy.write_bytes(file.text.replace(f'"{file.name}"'.encode(), f'"{name}"'.encode()))
    return copy


def _names(code: str) -> list[str]:
    """The names of all congestion controls in a text without comments: strings, or macros that are strings."""
    macros = dict(_DEFINED.findall(code))
    found = []
    for begin in _OPERATIONS.finditer(code):
        for text, macro in _NAME.findall(code[begin.end() : _closing(code, begin.end())]):
            if text or macro in macros:
                found.append(text or macros[macro])
    return found


def _closing(code: str, start: int) -> int:
    """Position of the brace that closes the one before ``start``; the end of the text if there is none."""
    depth = 1
    for match in _BRACE.finditer(code, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(code)


def unchanged(path: Path, digest: str) -> CFile:
    """Read a file pinned by a scenario.

    Raises:
        ScenarioError: the file is missing, or has changed.
    """
    found = read(path)
    if found.digest != digest:
        raise ScenarioError(f"{found.label} has changed since the scenario was built; build the scenario again")
    return found
