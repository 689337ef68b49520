"""BibTeX entries, with which a paper cites a run or an evaluation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from elephan.version import __version__

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''",
}  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def entry(key: str, title: str, note: str, created: str) -> str:
    """An entry ``@misc``; ``created`` is a date in the form of ISO 8601, or empty."""
    rows = [("title", f"{{{text(title)}}}"), ("author", "{{The Elephan authors}}")]
    rows.append(("howpublished", f"{{Elephan {text(__version__)}}}"))
    if date := re.match(r"(\d{4})-(\d\d)", created):
        rows += [("year", date[1]), ("month", _MONTHS[int(date[2]) - 1])]
    rows.append(("note", f"{{{text(note)}}}"))
    safe = re.sub(r"[^A-Za-z0-9:._-]", "-", key)
    return f"@misc{{{safe},\n" + "".join(f"  {name:<12} = {value},\n" for name, value in rows) + "}\n"


def of_run(manifest: Mapping[str, Any], title: str) -> str:
    """The entry of a run: its title, and what a reader needs to have the same bytes again."""
    versions = manifest.get("versions", {})
    facts = [
        f"run {manifest['id']}", f"scenario {manifest['scenario_hash']}", f"seed {manifest['seed']}",
        f"backend {manifest['backend']}",
    ]  # fmt: skip
    facts += [f"engine {versions['engine']}"] if versions.get("engine") else []
    created = str(manifest.get("created", ""))
    return entry(f"elephan:{manifest['id']}", f"{title}: a run", ", ".join(facts), created)


def text(given: str) -> str:
    """Text with the special letters of LaTeX written out, in one line."""
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(given.split()))
