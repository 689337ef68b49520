"""Elephan's own algorithms in a Linux kernel: the C source of the BPF objects, compiled as the kernel's own code.

A source in ``bpf/`` and its headers are joined to one text, with ``bpf/linux/kernel.h`` in place of the kernel's
declarations for BPF. The joined text is compiled like a user's C file, under the name ``el_ALGORITHM``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from elephan.backends.kernel import bpf
from elephan.scenario import ScenarioError
from elephan.scenario.c_files import CFile
from elephan.scenario.catalog import algorithms
from elephan.scenario.form import FlowSpec

_INCLUDE = re.compile(r'#include (?:"([\w.]+)"|<(kernel\.h)>)')
_PARAMETER = re.compile(r"^PARAM\((\w+),", re.MULTILINE)
_CHOICE = re.compile(r"^enum \{([^}]*)\};\s*\nCHOICE\((\w+), \w+, (\w+)\)", re.MULTILINE)
_LOGARITHM = "log2_"
_FIXED_POINT = 2**32


def file_of(flow: FlowSpec) -> CFile | None:
    """The C source of a flow's algorithm; ``None`` if Elephan has no C source of the algorithm."""
    name = flow.algorithm.partition(":")[0]
    return _file(name) if name in bpf.names() else None


def all_sources() -> list[Path]:
    """Every file that may be part of an algorithm's text."""
    folder = bpf.sources()
    return sorted((*folder.glob("*.h"), *folder.glob("*.bpf.c"), *(folder / "linux").glob("*.h")))


@lru_cache(maxsize=32)
def _file(algorithm: str) -> CFile:
    path = bpf.sources() / f"{algorithm}.bpf.c"
    name = f"{bpf.PREFIX}{algorithm}"
    text = f'#define EL_NAME "{name}"\n' + "\n".join(_lines(path, set()))
    data = text.encode()
    parameters = dict.fromkeys((*_PARAMETER.findall(text), *(found[1] for found in _CHOICE.findall(text))), "long")
    return CFile(path, data, hashlib.sha256(data).hexdigest(), name, parameters)


def _lines(path: Path, seen: set[Path]) -> Iterator[str]:
    """The lines of a C source and of the headers that it includes; each header is inserted once."""
    yield f'#line 1 "{path.name}"'
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = _INCLUDE.fullmatch(line.strip())
        if found is None:
            yield line
            continue
        other = bpf.sources() / (found[1] or f"linux/{found[2]}")
        if other not in seen:
            seen.add(other)
            yield from _lines(other, seen)
            yield f'#line {number + 1} "{path.name}"'


def arguments_of(flow: FlowSpec, file: CFile) -> dict[str, int]:
    """Parameters of the kernel's module, in fixed point, for the parameters that the flow or its preset sets.

    Raises:
        ScenarioError: the kernel's form of the algorithm lacks a parameter, or cannot represent its value.
    """
    name, values = bpf.resolve(flow.algorithm, flow.parameters)
    declared = {p["name"]: p for p in algorithms()[name]["parameters"]}
    choices = {
        key: [word.strip() for word in words.split(",")].index(last)
        for words, key, last in _CHOICE.findall(file.text.decode())
    }
    made = {}
    for key, value in sorted(values.items()):
        logarithm = f"{_LOGARITHM}{key}" in file.parameters
        symbol = f"{_LOGARITHM}{key}" if logarithm else key
        if symbol not in file.parameters:
            if value != declared[key]["default"]:
                raise ScenarioError(f"in the kernel '{key}' of {name} is {declared[key]['default']!r} always", path=key)
            continue
        number = bpf.as_number(declared[key], value, logarithm)
        if key in choices and number > choices[key]:
            words = " or ".join(repr(word) for word in declared[key]["choices"][: choices[key] + 1])
            raise ScenarioError(f"in the kernel '{key}' of {name} is {words}", path=key)
        fixed = round(number * _FIXED_POINT)
        if not -(2**63) <= fixed < 2**63:
            raise ScenarioError(f"'{key}' is too large for the kernel's fixed-point numbers", path=key)
        made[f"{file.unit}.{symbol}"] = fixed
    return made
