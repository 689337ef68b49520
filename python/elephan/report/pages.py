"""Self-contained HTML pages: templates, style, script and data in one file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.notebooks import figures
from elephan.report.figures import Figure, entry
from elephan.report.printed import Spec, vector
from elephan.version import __version__
from elephan.web import page as web
from elephan.web.living import Form, living, packed
from elephan.writing import whole_file

if TYPE_CHECKING:
    from elephan.runs import Run

TEMPLATES = files(__package__) / "templates"


def render(
    template: str, payloads: Mapping[str, Any], *, figures: Mapping[str, Spec] | None = None, runs: Iterable[Run] = (),
    forms: Iterable[Form] = (), **values: Any,
) -> str:  # fmt: skip
    """The HTML of a page; ``payloads`` become compressed data that the page's script reads, by element id.

    ``figures`` are specifications by the ids of their figures, for a page that has figures. The reader can repeat, in
    the page, the runs of ``runs`` that were simulated and those of ``forms``, if they are small enough for a browser.
    """
    alive = living([*_simulated(runs), *forms])
    scripts, styles = [], [(TEMPLATES / "style.css").read_text(encoding="utf-8")]
    drawing = web.is_built() and web.has("report.js")
    if figures is not None:
        if not drawing:
            figures = {name: {"picture": _picture(spec)} for name, spec in figures.items()}
        payloads = {"figures-data": figures, **payloads}
    if drawing and (alive or figures is not None):
        scripts.append(web.built("report.js").decode())
        styles.append(web.built("report.css").decode())
    scripts.append((TEMPLATES / "page.js").read_text(encoding="utf-8"))
    css = "".join(styles)
    return str(
        _environment()
        .get_template(template)
        .render(
            version=__version__,
            policy=policy(scripts, css, runs_here=alive is not None),
            living=alive,
            css=css,
            scripts=scripts,
            payloads={name: packed(data) for name, data in payloads.items()},
            **values,
        )
    )


def _picture(spec: Spec) -> str:
    """A figure as a picture, for a page of an installation that was built without the page's scripts."""
    return f"data:image/svg+xml;base64,{b64encode(vector(spec)).decode()}"


def markdown(template: str, **values: Any) -> str:
    """The text of a page in Markdown."""
    return str(_environment(escape=False).get_template(template).render(**values))


def report(
    template: str, target: Path, page: Mapping[str, Any], figures: Sequence[Figure], *, printed: bool = False,
    runs: Iterable[Run] = (),
) -> Path:  # fmt: skip
    """Write a page with its figures, and return its path; ``printed`` figures are also written beside it.

    Raises:
        OSError: the folder cannot be written.
    """
    shown = [entry(figure, target.parent if printed else None) for figure in figures]
    specs = {figure.id: figure.spec() for figure in figures} or None
    text = render(template, {}, figures=specs, runs=runs, page={**page, "figures": shown})
    return write(target, text)


def _simulated(runs: Iterable[Run]) -> Iterator[Form]:
    """The simulated runs; only the first replicate of each scenario."""
    seen: set[str] = set()
    for run in runs:
        key = str(run.manifest["scenario_hash"])
        if run.manifest["backend"] == "sim" and key not in seen:
            seen.add(key)
            names = ", ".join(group.name for group in run.groups)
            yield f"{run.manifest.get('title') or names} ({run.id})", key, run.scenario.canonical()


def policy(scripts: Sequence[str], css: str, *, runs_here: bool = False) -> str:
    """Content-Security-Policy of a page: no requests, and no scripts and styles other than the page's own.

    A page with repeatable runs also allows the engine, in a worker that the page creates.
    """
    engine = " 'wasm-unsafe-eval' blob:; worker-src blob:" if runs_here else ""
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}{engine}; style-src {_hashes([css])}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Iterable[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)


@lru_cache(maxsize=2)
def _environment(*, escape: bool = True) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(str(TEMPLATES)), autoescape=escape, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters |= {"figures": figures, "packed": packed}
    return made


def write(path: Path, text: str) -> Path:
    """Write a page atomically, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as place:
        place.write_text(text, encoding="utf-8")
    return path
