"""One HTML file with the playground: style, scripts, engine and data inside."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from elephan import parts
from elephan.scenario import catalog
from elephan.version import __version__
from elephan.web.lessons import lessons
from elephan.web.template import is_plain, template

BUILT = Path(__file__).parent / "built"
ENGINE = "engine.wasm.gz"
MOST_SEGMENTS = 2_000_000
"""Largest number of segments of a run; a browser simulates such a run in about half a second."""
QUEUES = ("droptail", "codel", "fq_codel", "pie", "red", "dualpi2")
"""Queue disciplines that can run with their defaults only."""


NOT_IN_PAGES = ("policy",)
"""Algorithms that the engine of a page lacks (crates/cc/src/registry.rs)."""


class NotBuiltError(Exception):
    """This installation does not contain the page."""


def playground() -> str:
    """The page.

    Raises:
        NotBuiltError: the scripts or the engine for the browser were not built.
    """
    return rendered(
        data() | {"lessons": [{k: v for k, v in lesson.items() if k != "check"} for lesson in lessons()]},
        title="Elephan: a laboratory for congestion control",
        kind="playground",
        intro="Change the path or the flows: each change is simulated at once, packet by packet, in this page.",
        side="Setting",
        top=(files(__package__) / "lessons.html").read_text(encoding="utf-8"),
    )


def rendered(
    content: Mapping[str, Any], *, title: str, kind: str, intro: str, side: str, top: str = "", beside: str = "",
    behind: str = "",
) -> str:  # fmt: skip
    """A page with the playground in it.

    Args:
        content: data of the page's script.
        title: title of the document.
        kind: what the page is, behind the name in the heading.
        intro: sentence below the heading.
        side: name of the column with the controls.
        top: HTML above the columns.
        beside: HTML before the controls.
        behind: HTML after the controls.

    Raises:
        NotBuiltError: the scripts or the engine for the browser were not built.
    """
    script, worker, style = (built(name).decode() for name in ("play.js", "worker.js", "play.css"))
    page = Template((files(__package__) / "play.html").read_text(encoding="utf-8"))
    return page.substitute(
        version=__version__,
        policy=policy([script], [style]),
        style=style,
        data=embedded(content),
        worker=inside_script(worker),
        engine=engine_text(),
        script=script,
        title=title,
        kind=kind,
        intro=intro,
        side=side,
        top=top,
        beside=beside,
        behind=behind,
    )


def policy(scripts: list[str], styles: list[str]) -> str:
    """Content-Security-Policy: no requests, only the page's own scripts and styles, and the engine in a worker from a
    blob."""
    return (
        f"default-src 'none'; script-src {_hashes(scripts)} 'wasm-unsafe-eval' blob:; worker-src blob:; "
        f"style-src {_hashes(styles)}; base-uri 'none'; form-action 'none'"
    )


def data() -> dict[str, Any]:
    """Data of each page with the playground: forms, algorithms, queues."""
    algorithms = [
        {key: entry[key] for key in ("name", "title")}
        | {
            "parameters": [
                {key: parameter.get(key) for key in ("name", "type", "default", "min", "max", "choices", "unit", "doc")}
                for parameter in entry["parameters"]
            ],
            "presets": [preset for preset in entry["presets"] if preset["name"]],
        }
        for entry in plain_algorithms()
    ]
    queues = catalog.queues()
    return {
        "template": template(),
        "algorithms": algorithms,
        "queues": [{"name": name, "title": queues[name]["title"]} for name in QUEUES],
        "most_segments": MOST_SEGMENTS,
    }


def plain_algorithms() -> list[dict[str, Any]]:
    """The algorithms of the engine of a page that need no support by routers and use ordinary packets."""
    known = (entry for name, entry in catalog.algorithms().items() if name not in NOT_IN_PAGES)
    return [entry for entry in known if entry["router"] is None and is_plain(entry["name"])]


def engine_text() -> str:
    """The engine for the browser, compressed, as text.

    Raises:
        NotBuiltError: the errors of :func:`playground`.
    """
    return b64encode(built(ENGINE)).decode()


def is_built() -> bool:
    """True if this installation contains the page; a checkout builds it when it is first used."""
    return parts.build_page(BUILT / ENGINE)


def has(name: str) -> bool:
    """True if a file was built by ``make web``; an older build may lack it."""
    return (BUILT / name).is_file()


def embedded(value: Any) -> str:
    """Data as JSON that is safe inside a script element."""
    return inside_script(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def inside_script(text: str) -> str:
    """Text that is safe inside a script element."""
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)


def built(name: str) -> bytes:
    """A file built by ``make web``.

    Raises:
        NotBuiltError: the errors of :func:`playground`.
    """
    file = BUILT / name
    if not is_built() or not file.is_file():
        raise NotBuiltError(
            "the page is not in this installation: in a checkout, 'make web' says what it needs (Node.js 20 and Rust)"
        )
    return file.read_bytes()
