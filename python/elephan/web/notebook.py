"""Notebooks that need no installation: one HTML file, in which cells of JavaScript run the engine.

A notebook is a file of ``notebooks``: a title, paragraphs, and cells between fences. Tests run all cells under Node.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import Any

from elephan.version import __version__
from elephan.web import page

_CELL = re.compile(r"^```js\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=1)
def notebooks() -> tuple[dict[str, Any], ...]:
    """The notebooks in order: id, title, and parts, each a text or the code of a cell."""
    folder = files(__package__) / "notebooks"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
    return tuple(_read(name.removesuffix(".md"), (folder / name).read_text(encoding="utf-8")) for name in names)


def _read(name: str, text: str) -> dict[str, Any]:
    heading, body = text.split("\n", 1)
    parts = []
    # The pieces of a split by one group are in turn text and code.
    for i, piece in enumerate(_CELL.split(body)):
        if i % 2:
            parts.append({"kind": "code", "text": piece})
        else:
            parts += [{"kind": "text", "text": part.replace("\n", " ")} for part in piece.strip().split("\n\n") if part]
    return {"id": name, "title": heading.removeprefix("# "), "parts": parts}


def notebooks_page() -> str:
    """The page.

    Raises:
        NotBuiltError: the scripts or the engine for the browser were not built.
    """
    script, worker, style = (page.built(name).decode() for name in ("notebook.js", "worker.js", "notebook.css"))
    template = Template((files(__package__) / "notebook.html").read_text(encoding="utf-8"))
    return template.substitute(
        version=__version__,
        # Cells are code of the reader's, which needs eval; the policy keeps them from the network all the same.
        policy=page.policy([script], [style]).replace("'wasm-unsafe-eval'", "'wasm-unsafe-eval' 'unsafe-eval'"),
        style=style,
        data=page.embedded(page.data() | {"notebooks": notebooks()}),
        worker=page.inside_script(worker),
        engine=page.engine_text(),
        script=script,
    )
