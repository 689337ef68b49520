"""Provenance of the numbers of a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.version import __version__

if TYPE_CHECKING:
    from elephan.runs import Run

Manifest = dict[str, Any]


def title_of(run: Run) -> str:
    """Title of a run; of a run without a title, the names of its groups and of its sources of transfers."""
    names = [*(group.name for group in run.groups), *(source.flow.name for source in run.form.traffic)]
    return str(run.manifest.get("title") or ", ".join(names))


def command() -> str:
    """The command that the reader typed."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""


def asked(runs: Iterable[Run]) -> list[tuple[str, str]]:
    """The command, and the facts of the runs that it made or found."""
    return [("command", command()), *((name, value) for name, value in facts(runs) if name != "command")]


def facts(runs: Iterable[Run]) -> list[tuple[str, str]]:
    """Versions, host, backend, seeds and times of some runs, as names and values; if runs differ, all values are
    listed."""
    manifests = [run.manifest for run in runs]
    if not manifests:
        return [("elephan", __version__)]
    walls = [float(manifest["wall_seconds"]) for manifest in manifests if "wall_seconds" in manifest]
    created = sorted(str(manifest["created"]) for manifest in manifests if "created" in manifest)
    rows = [
        ("elephan", _each(manifests, lambda m: m.get("versions", {}).get("elephan", __version__))),
        ("engine", _each(manifests, lambda m: m.get("versions", {}).get("engine"))),
        ("backend", _each(manifests, lambda m: m.get("backend"))),
        ("runs", str(len(manifests))),
        ("seeds", _each(manifests, lambda m: m.get("seed"))),
        ("computed", f"{created[0]} to {created[-1]}" if created else ""),
        ("wall time of the runs", f"{sum(walls):.1f} s in all, {max(walls):.2f} s the longest" if walls else ""),
        ("processor", _each(manifests, lambda m: m.get("host", {}).get("cpu"))),
        ("command", _each(manifests, lambda m: m.get("command"))),
    ]
    if len(manifests) == 1:
        rows.append(("scenario", str(manifests[0].get("scenario_hash"))))
    return [(name, value) for name, value in rows if value]


def _each(manifests: list[Manifest], read: Callable[[Manifest], Any]) -> str:
    values = dict.fromkeys(str(value) for manifest in manifests if (value := read(manifest)) not in (None, ""))
    return ", ".join(values)
