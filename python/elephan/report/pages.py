"""HTML pages that need nothing but themselves: templates, style, script and data in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import elephan
from elephan.writing import whole_file

TEMPLATES = files("elephan.report") / "templates"


def render(template: str, payloads: Mapping[str, Any], *, plotly: bool, **values: Any) -> str:
    """A page; ``payloads`` become JSON that the page's script reads, by element id."""
    return str(
        _environment()
        .get_template(template)
        .render(
            version=elephan.__version__,
            css=(TEMPLATES / "style.css").read_text(encoding="utf-8"),
            js=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
            plotly_js=_plotly_js() if plotly else "",
            payloads={name: embedded(data) for name, data in payloads.items()},
            **values,
        )
    )


def embedded(data: Any) -> str:
    """Data as JSON that may stand inside a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(str(TEMPLATES)), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


@lru_cache(maxsize=1)
def _plotly_js() -> str:
    """The browser's half of plotly, from the installed package."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def write(path: Path, text: str) -> Path:
    """Write a page whole or not at all; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path
