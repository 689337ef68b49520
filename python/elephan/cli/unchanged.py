"""Options that changed no bit of a result: settings of ``--set``, and values of ``--grid`` whose results are equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from elephan.cli import common
from elephan.scenario import ScenarioError
from elephan.scenario.words import listed

if TYPE_CHECKING:
    from elephan.runs import Run, Store, Sweep
    from elephan.scenario import Scenario

CHEAP_SEGMENTS = 2_000_000
"""Largest work of a scenario that is run once more to compare results; about a third of a second."""
_NO_RESULT = frozenset(("title",))


def without(run: Run, path: str, overrides: Mapping[str, Any], store: Store) -> list[str]:
    """A line for each setting without which the run has the same tables.

    The run without a setting is one that is saved, or a cheap one of the simulator, which is not saved.
    """
    found = []
    for key, value in overrides.items():
        others = {name: other for name, other in overrides.items() if name != key}
        try:
            before = common.load_scenario(path, others)
        except ScenarioError:
            continue  # the scenario needs the setting
        if key not in _NO_RESULT and _same(run, before, store):
            found.append(f"--set {key}={value}: it changed no bit of the result")
    return found


def _same(run: Run, before: Scenario, store: Store) -> bool:
    """True if the run of another scenario has the same tables; false if that is not known."""
    from elephan import backends
    from elephan.runs import work
    from elephan.runs.execute import compute
    from elephan.runs.saved import run_id

    if (before.hash, before.seed) == (run.scenario.hash, run.seed):
        return True
    there = store.find(run_id(before.hash, run.backend, before.seed))
    if there is not None:
        return bool(there.manifest["tables_sha256"] == run.manifest["tables_sha256"])
    flows = [*before.form.flows, *(source.flow for source in before.form.traffic)]
    python = any(flow.source_sha256 is not None for flow in flows)
    if run.backend != "sim" or python or work.work(before) > CHEAP_SEGMENTS:
        return False
    made = compute(backends.get("sim"), before, before.seed, lambda _: True)
    return bool(made.manifest["tables_sha256"] == run.manifest["tables_sha256"])


def alike(done: Sweep[Any]) -> list[str]:
    """A line for each axis with values that give the same tables, whatever the other axes are."""
    found = []
    for key in done.keys:
        results: dict[str, dict[tuple[str, ...], str]] = {}
        for point, (_, seed), run in zip(done.points, done.scenarios, done, strict=True):
            if run is not None and key != "seed":
                others = (*(str(value) for name, value in point.items() if name != key), str(seed))
                results.setdefault(str(point[key]), {})[others] = run.manifest["tables_sha256"]
        classes: dict[frozenset[tuple[tuple[str, ...], str]], list[str]] = {}
        for value, digests in results.items():
            classes.setdefault(frozenset(digests.items()), []).append(value)
        found += [
            f"{key}: the results of {listed(values, 'and')} are equal to the last bit"
            for values in classes.values()
            if len(values) > 1
        ]
    return found
