"""Formulas of ``expression`` as source text: a crate for elephan-cc, or one file of C for a stack in user space.

The crate has a test which compares it with the interpreter, bit for bit. The C has doubles and takes the functions of
the host's library, so it cannot run inside a kernel, and its last bits may differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from elephan.design.evolution import formulas
from elephan.design.evolution.formulas import Node
from elephan.scenario import catalog
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import hint
from elephan.version import __version__
from elephan.writing import whole_file

NAME = "expression"
_HERE = Path(__file__).resolve().parent


def export(parameters: Mapping[str, Any], language: str, folder: Path, name: str = "evolved") -> list[Path]:
    """Write the source of formulas into a new or empty folder.

    Args:
        parameters: ``growth`` and ``kept`` of ``expression``; a missing one is Reno's.
        language: ``"rust"`` or ``"c"``.
        folder: place of the files.
        name: name of the algorithm, of small letters, digits and ``_``.

    Raises:
        ScenarioError: a formula, the language or the name is wrong, or the folder is not empty.
        OSError: a file cannot be written.
    """
    if language not in _FILES:
        raise ScenarioError(f"'{language}' is not a language; {hint(language, list(_FILES))}", source="--to")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ScenarioError(f"'{name}' is not a name of small letters, digits and _", source="name")
    for given in parameters:
        if given not in ("growth", "kept"):
            message = f"is not exported, only formulas are; {hint(given, ['growth', 'kept'])}"
            raise ScenarioError(message, path=f"parameters.{given}")
    catalog.check_parameters(NAME, parameters)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(f"'{folder}' is there already, and is left alone; choose --out")
    texts = {"growth": "1", "kept": "0.5"} | {key: str(text) for key, text in parameters.items()}
    files, translate = _FILES[language]
    return [_put(folder, place, template, name, texts, translate) for place, template in files.items()]


def _put(
    folder: Path, place: str, template: str, name: str, texts: Mapping[str, str], translate: Callable[[Node], str]
) -> Path:
    known = {
        "NAME": name,
        "TYPE": "".join(part.capitalize() for part in name.split("_")),
        "DEPENDENCY": _dependency(),
        "GROWTH_TEXT": texts["growth"],
        "KEPT_TEXT": texts["kept"],
        "GROWTH": translate(formulas.read(texts["growth"])),
        "KEPT": translate(formulas.read(texts["kept"])),
    }
    text = (_HERE / "templates" / template).read_text(encoding="utf-8")
    for word, value in known.items():
        text = text.replace(f"@{word}@", value)
    path = folder / place.replace("NAME", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as written:
        written.write_text(text, encoding="utf-8")
    return path


def _dependency() -> str:
    """The dependency on elephan-cc: the checkout's, if this is one."""
    checkout = _HERE.parents[3] / "crates/cc"
    version = f'version = "{__version__.partition("+")[0]}"'
    return f'{{ {version}, path = "{checkout}" }}' if (checkout / "Cargo.toml").is_file() else f"{{ {version} }}"


_FILES: dict[str, tuple[dict[str, str], Callable[[Node], str]]] = {
    "rust": (
        {"Cargo.toml": "cargo.toml.txt", "src/lib.rs": "lib.rs.txt", "tests/same.rs": "same.rs.txt"},
        formulas.rust,
    ),
    "c": ({"NAME.h": "algorithm.h.txt"}, formulas.c),
}
