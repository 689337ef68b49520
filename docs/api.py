"""Writes docs/reference/api: a page for each package with its public names, whose docstrings Sphinx reads."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PACKAGES = {
    "elephan": "Running, comparing, judging, explaining; an algorithm of your own; errors",
    "elephan.scenario": "Scenarios",
    "elephan.runs": "Runs, sweeps and the store",
    "elephan.metrics": "Metrics of a run, of a link and of each flow",
    "elephan.models": "Closed forms",
    "elephan.comparison": "The answer of a comparison",
    "elephan.suites": "Suites of criteria and their verdicts",
    "elephan.explanation": "The limits of a captured flow, its path and its algorithm",
    "elephan.papers": "Papers and their claims",
    "elephan.design": "Scores, searches and tuning",
    "elephan.design.environments": "Environments for learning",
    "elephan.design.evolution": "Formulas that evolve",
    "elephan.design.adapters": "Interfaces of other design loops",
    "elephan.report": "Pages",
    "elephan.export": "Runs as files for other programs",
    "elephan.board": "The board",
    "elephan.backends": "The interface of a backend",
    "elephan.web": "The laboratory in a page",
}
"""Title of each package that has a page; its names are those of ``__all__``, or its own functions and classes."""
FOLDER = "reference/api"


def slug(package: str) -> str:
    """Name of a package's page."""
    return package.replace(".", "-")


def names(package: str) -> list[str]:
    """Public names of a package that are no packages themselves, and that ``elephan`` does not have already."""
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == package
    ]  # fmt: skip
    first = set() if package == "elephan" else set(names("elephan"))
    return sorted(
        name
        for name in listed
        if not isinstance(getattr(module, name), ModuleType) and not name.startswith("__")
        if name not in first or getattr(module, name) is not getattr(importlib.import_module("elephan"), name)
    )


def page(package: str) -> str:
    """The page of a package."""
    parts = [
        f"# `{package}`\n",
        f"{PACKAGES[package]}.\n",
        f"```{{eval-rst}}\n.. automodule:: {package}\n   :no-index:\n",
    ]
    parts += ["\n".join(_directive(package, name)) for name in names(package)]
    return "\n".join(parts) + "```\n"


def _directive(package: str, name: str) -> Iterator[str]:
    value = getattr(importlib.import_module(package), name)
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        yield f".. auto{kind}:: {package}.{name}\n   :members:\n"
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f".. autofunction:: {package}.{name}\n"
    else:
        yield f".. autodata:: {_home(value, package, name)}.{name}\n   :no-value:\n"


def _home(value: Any, package: str, name: str) -> str:
    """The module whose source states a value, since a string below an assignment is read there only."""
    loaded = [module for key, module in sorted(sys.modules.items()) if key.startswith("elephan.")]
    for module in loaded:
        if vars(module).get(name) is not value:
            continue
        tree = ast.parse(inspect.getsource(module))
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return module.__name__
    raise ValueError(f"no module of {package} states {name}")


def index() -> str:
    """The page that lists the packages."""
    rows = "\n".join(f"| [`{one}`](api/{slug(one)}.md) | {title} |" for one, title in PACKAGES.items())
    tree = "\n".join(f"api/{slug(one)}" for one in PACKAGES)
    return (
        "# Python\n\nEvery public name, with its arguments and its errors. [The guide](../python.md) comes first.\n\n"
        f"| package | content |\n| --- | --- |\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
