"""Runs inside a report: the reader can repeat them in the page, also with another buffer, algorithm or RTT."""

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
Form = tuple[str, str, Mapping[str, Any]]
"""Label, hash and canonical form of a simulated scenario."""


@dataclass(frozen=True)
class Living:
    """Content of a page with repeatable runs: scripts, styles and data as text.

    Attributes:
        worker: script of the worker.
        engine: the engine for the browser, compressed, in base64.
        data: labels and canonical forms of the runs, compressed, in base64.
        hashes: hashes of their scenarios, of which the page can make a run with any seed.
        count: number of the runs.
    """

    worker: str
    engine: str
    data: str
    hashes: frozenset[str]
    count: int


def living(runs: Iterable[Form]) -> Living | None:
    """Content of a page in which a reader can repeat these runs.

    The result is ``None`` if no form is suitable for a browser, or if the page was not built.
    """
    fitting = [{"label": label, "hash": key, "form": form} for label, key, form in runs if fits(form)]
    if not fitting or not page.is_built() or not page.has("report.js"):
        return None
    # Formulas need fields of their own, which a report does not have.
    named = [one["name"] for one in page.plain_algorithms() if all(p["type"] != "text" for p in one["parameters"])]
    data = {"runs": fitting, "algorithms": named, "template": template()}
    return Living(
        worker=page.inside_script(page.built("worker.js").decode()),
        engine=page.engine_text(),
        data=packed(data),
        hashes=frozenset(str(run["hash"]) for run in fitting),
        count=len(fitting),
    )


def packed(data: Any) -> str:
    """Data as compressed JSON in base64, which no text in it can end or turn into markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


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
