"""Runs inside a report: the reader can repeat them in the page with another buffer, algorithm or RTT."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from elephan.web import page
from elephan.web.template import template

MOST_SEGMENTS = 4_000_000
"""Largest number of segments of an offered run; a browser would take seconds for a longer run."""
MOST_FLOWS = 8
_BITS = 12_000  # size of a full packet
_PS_PER_S = 10**12


@dataclass(frozen=True)
class Living:
    """Content of a page with repeatable runs: scripts, styles and data as text.

    Attributes:
        script: script of the page itself.
        style: style of its pictures.
        worker: script of the worker.
        engine: the engine for the browser, compressed, in base64.
        data: labels and canonical forms of the runs, compressed, in base64.
        count: number of the runs.
    """

    script: str
    style: str
    worker: str
    engine: str
    data: str
    count: int


def living(runs: Iterable[tuple[str, Mapping[str, Any]]]) -> Living | None:
    """Content of a page in which a reader can repeat these runs, given by labels and canonical forms.

    The result is ``None`` if no form is suitable for a browser, or if the page was not built.
    """
    fitting = [{"label": label, "form": form} for label, form in runs if fits(form)]
    if not fitting or not page.is_built():
        return None
    data = {"runs": fitting, "algorithms": [entry["name"] for entry in page.plain_algorithms()], "template": template()}
    packed = gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)
    return Living(
        script=page.built("living.js").decode(),
        style=page.built("living.css").decode(),
        worker=page.inside_script(page.built("worker.js").decode()),
        engine=page.engine_text(),
        data=b64encode(packed).decode(),
        count=len(fitting),
    )


def fits(form: Mapping[str, Any]) -> bool:
    """True if a browser can run and show a canonical form: few flows, all of them built-in, within a second."""
    flows = form["flows"]
    if form.get("traffic") or any(flow.get("source_sha256") or flow.get("backend") for flow in flows):
        return False
    if any(flow["algorithm"].partition(":")[0] in page.NOT_IN_PAGES for flow in flows):
        return False
    if not 1 <= sum(flow.get("count", 1) for flow in flows) <= MOST_FLOWS:
        return False
    recorded = [link["rate_bps"] for link in form["links"] if link["record"]]
    seconds = form["duration_ps"] / _PS_PER_S
    return bool(recorded) and max(recorded) * seconds / _BITS <= MOST_SEGMENTS
