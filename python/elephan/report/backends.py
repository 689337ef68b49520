"""The report of one scenario in several backends: numbers side by side, windows and queues on common axes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.report import pages
from elephan.report.figures import Panel, Traces
from elephan.report.provenance import facts
from elephan.report.series import flow_curve, link_curve

if TYPE_CHECKING:
    from elephan.runs import Run

BINS = 1500


def backends_report(document: Mapping[str, Any], runs: Mapping[str, Run], out: str | Path) -> Path:
    """Write ``report.html`` into a folder. Returns its path. ``document`` is the output of ``elephan compare-backends
    --json``."""
    first = next(iter(runs.values()))
    page = {
        "title": str(first.manifest.get("title") or ", ".join(first.scenario.flow_names)),
        "names": list(runs),
        "lines": document["lines"],
        "refused": document["refused"],
        "warnings": {name: run.warnings for name, run in runs.items()},
        "toml": first.scenario.to_toml(),
        "provenance": [(f"{name}: {key}", value) for name, run in runs.items() for key, value in facts([run])],
    }
    return pages.report("backends.html.j2", Path(out) / "report.html", page, [_over_time(runs)])


def _over_time(runs: Mapping[str, Run]) -> Traces:
    from elephan.metrics.reading import bottleneck, flow_names, measure_window

    first = next(iter(runs.values()))
    panels = [
        Panel(
            f"Congestion window of {name}",
            "cwnd (segments)",
            tuple(flow_curve(run, name, "cwnd", where, i, BINS) for i, (where, run) in enumerate(runs.items())),
        )
        for name in flow_names(first)
    ]
    queues = tuple(
        link_curve(run, bottleneck(run), "queue_mean", where, i, BINS) for i, (where, run) in enumerate(runs.items())
    )
    panels.append(Panel("Queue of the bottleneck, mean of each interval", "packets", queues))
    return Traces(
        "time",
        "Windows and queue in each backend, first seed",
        "The gray part is measured. Drag to zoom, double-click to go back.",
        tuple(panels),
        shaded=(*measure_window(first), "measured"),
    )
