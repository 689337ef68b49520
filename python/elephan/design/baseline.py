"""Numbers of the baseline, CUBIC, in the trials of candidates: made once for each version of the backend.

They are kept in the user's cache, ``~/.cache/elephan/scores``, in a file for each version and each form of the
scenarios, since a design loop that starts a process for each candidate would make them again each time. A file that
cannot be read or written costs only time.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from elephan import backends, writing
from elephan.design import trials
from elephan.design.trials import BASELINE, SITUATIONS, Measured, Trial

_KEPT = 4
"""Number of files that stay: those of the versions that were used last."""

_known: dict[Path, dict[str, Measured]] = {}


def measure(wanted: Sequence[Trial], *, jobs: int | None, on_linux: bool = False) -> dict[Trial, Measured]:
    """The numbers of the baseline in some trials."""
    file = _file(on_linux=on_linux)
    if file not in _known:
        _known[file] = _read(file)
    known = _known[file]
    keys = {trial: _key(trial) for trial in wanted}
    missing = [trial for trial, key in keys.items() if key not in known]
    if missing:
        run = trials.measure_on_linux if on_linux else trials.measure
        known |= {keys[trial]: numbers for trial, numbers in run(BASELINE, {}, missing, jobs=jobs).items()}
        with suppress(OSError):
            _write(file, known)
    return {trial: known[key] for trial, key in keys.items()}


def _key(trial: Trial) -> str:
    return json.dumps([*trial.place.changes.values(), trial.situation, trial.seed, trial.duration_s, trial.late_s])


def _file(*, on_linux: bool) -> Path:
    """The file of this version of the backend, and of what the scenarios are now."""
    backend = backends.get("linux" if on_linux else "sim")
    digest = hashlib.sha256(backend.version().encode())
    for situation in SITUATIONS:
        form = trials.base((BASELINE, BASELINE), {}, situation).canonical()
        digest.update(json.dumps(form, sort_keys=True).encode())
    return folder() / f"{backend.name}-{digest.hexdigest()[:32]}.json"


def folder() -> Path:
    """The folder of the user's cache for all that candidates share."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if Path(root).is_absolute() else Path.home() / ".cache") / "elephan" / "scores"


def _read(file: Path) -> dict[str, Measured]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): Measured(*(math.nan if x is None else float(x) for x in row)) for key, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(file: Path, known: dict[str, Measured]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Another process may have added its trials since.
    rows = {
        key: [None if math.isnan(x) else x for x in (row.own_mbps, row.other_mbps, row.queue_ms)]
        for key, row in (_read(file) | known).items()
    }
    with writing.whole_file(file) as partial:
        partial.write_text(json.dumps(rows), encoding="utf-8")
    for old in sorted(file.parent.glob("*.json"), key=lambda entry: -entry.stat().st_mtime)[_KEPT:]:
        old.unlink(missing_ok=True)
