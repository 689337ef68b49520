"""Runs in the kernel with algorithms that it lacks."""

from __future__ import annotations

import polars as pl
import pytest

from elephan.backends.kernel import bpf, host
from elephan.backends.kernel.backend import KernelBackend
from elephan.runs import Run, RunError
from elephan.scenario import Scenario
from elephan.scenario.errors import ScenarioError

LACKING = bpf.missing() or "; ".join(f"{what}: {why}" for what, why in host.missing().items())
needs_kernel = pytest.mark.skipif(bool(LACKING), reason=LACKING or "this host can")


def scenario(*flows: str, duration: str = "4 s") -> Scenario:
    path = 'rate = "50 Mbit/s"\nrtt = "20 ms"\nbuffer = "400 packets"\n'
    text = f'duration = "{duration}"\n[measure]\nfrom = "1 s"\n[dumbbell]\n{path}'
    return Scenario.from_toml(text + "".join(f"[[flow]]\n{flow}\n" for flow in flows), source="test")


def run(given: Scenario) -> Run:
    raw = KernelBackend().run(given)
    return Run.from_tables(given, raw.tables, backend="kernel", summary=raw.summary)


@needs_kernel
def test_a_flow_has_its_internals_under_its_own_name() -> None:
    made = run(
        scenario(
            'name = "east"\nalgorithm = "hcc"\nparameters = { alpha = 50 }',
            'name = "west"\nalgorithm = "stcp"\ndirection = "left"',
        )
    )
    wide = made.internals.with_columns(pl.col("flow", "variable").cast(pl.String))
    assert set(wide["flow"]) == {"east", "west"}
    assert {"queueing_s", "loss_ref"} <= set(wide.filter(pl.col("flow") == "east")["variable"])
    for flow in ("east", "west"):
        windows = wide.filter((pl.col("flow") == flow) & (pl.col("variable") == "w"))
        assert windows["time_s"].is_between(-0.5, 4.5).all()
        # A row a round trip: at most 20 ms and a full queue of 97 ms, so 34 in 4 s, less a few at the start.
        assert windows.height >= 30
        # The algorithm's window and the kernel's agree but for recoveries and for the times at which each is looked at.
        wanted = windows.filter(pl.col("time_s") > 1)["value"].median()
        samples = made.tables()["samples"].with_columns(pl.col("flow").cast(pl.String))
        had = samples.filter((pl.col("flow") == flow) & (pl.col("time_s") > 1))["cwnd"].median()
        assert isinstance(wanted, float)
        assert isinstance(had, float)
        assert abs(wanted - had) < 0.15 * had


@needs_kernel
def test_hcc_keeps_alpha_segments_in_the_queue() -> None:
    """By the forward delay that TCP timestamps show; the median, since a busy host stops everything now and then."""
    made = run(scenario('algorithm = "hcc"\nparameters = { alpha = 50 }', duration="8 s"))
    queue = made.tables()["links"].filter(pl.col("time_s") > 4)["queue_mean"].median()
    assert isinstance(queue, float)
    assert 40 <= queue <= 60, queue


@needs_kernel
def test_what_an_object_cannot_do_is_refused_before_anything_is_run() -> None:
    given = scenario('algorithm = "hcc"\nparameters = { known_owd = 0.01 }')
    with pytest.raises(ScenarioError, match=r"^flow\[0\]: in the kernel 'known_owd' of hcc is 0.0 always$"):
        KernelBackend().check(given)


def test_a_run_without_such_algorithms_has_no_internals() -> None:
    given = scenario('algorithm = "reno"')
    from elephan.backends.sim import SimBackend

    raw = SimBackend().run(given)
    made = Run.from_tables(given, raw.tables, summary=raw.summary)
    assert not made.has_internals
    with pytest.raises(RunError, match="has no internals; write internals = true"):
        _ = made.internals
