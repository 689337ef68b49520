"""The package's face: lazy packages, and every exception that a docstring of it promises."""

from __future__ import annotations

import builtins
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import elephan

_RAISES = re.compile(r"^\s*Raises:\n((?:\s+.*\n?)*)", re.MULTILINE)
_NAMED = re.compile(r"^ {4,12}((?:\w+, )*\w+): ", re.MULTILINE)


def documented(found: Any) -> Iterator[tuple[str, str]]:
    """Functions and methods of the face, with their docstrings."""
    for name in elephan.__all__:
        member = getattr(elephan, name)
        if inspect.ismodule(member):
            continue
        yield name, inspect.getdoc(member) or ""
        if inspect.isclass(member) and member.__module__.startswith("elephan."):
            for inner, value in vars(member).items():
                if not inner.startswith("_") and (callable(value) or isinstance(value, classmethod | property)):
                    yield f"{name}.{inner}", inspect.getdoc(getattr(member, inner)) or ""


def promised() -> set[tuple[str, str]]:
    """Each exception that a docstring says to be raised."""
    found = set()
    for place, doc in documented(elephan):
        section = _RAISES.search(f"{doc}\n")
        if section is not None:
            for names in _NAMED.findall(section[1]):
                found |= {(place, name) for name in names.split(", ")}
    return found


def test_docstrings_promise_exceptions() -> None:
    assert {("run", "Cancelled"), ("sweep", "SweepError"), ("Run.load", "DamagedRunError")} <= promised()


@pytest.mark.parametrize(("place", "name"), sorted(promised()))
def test_every_exception_that_is_promised_is_exported(place: str, name: str) -> None:
    found = getattr(elephan, name, None) or getattr(builtins, name, None)
    assert isinstance(found, type), f"{place} raises {name}, which elephan does not export"
    assert issubclass(found, BaseException)


def test_what_is_exported_is_listed_and_is_there() -> None:
    assert sorted(elephan.__all__) == list(elephan.__all__)
    for name in elephan.__all__:
        assert getattr(elephan, name) is not None
    assert elephan.Interrupted.__mro__[1] is KeyboardInterrupt


def test_packages_are_there_after_one_import_and_cost_nothing_before() -> None:
    program = (
        "import sys, elephan; before = set(sys.modules);"
        "assert not {'polars', 'numpy', 'pydantic', 'elephan.metrics'} & before, before;"
        "print(elephan.metrics.get('jain').name, elephan.models.RESPONSES is not None, elephan.report.run_report)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("jain_fi True <function")
