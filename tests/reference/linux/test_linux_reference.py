"""The presets that stand for Linux's modules against the kernel itself, run in virtual time.

One flow, 100 Mbit/s, 40 ms, 333 packets of buffer, 120 s, Linux 6.12 with ``HZ`` 250 (``--on linux``, seed 1). Some
microseconds of delay decide whether H-TCP's largest RTT is 20 or 21 jiffies, and move its mean window by 2 % in Linux
too: four delays are averaged, in the simulator and in Linux. Linux ran TCP-LP once.
"""

from __future__ import annotations

from statistics import fmean

import polars as pl
import pytest

from elephan import Run, Scenario, backends
from elephan.runs.execute import compute

RTTS_US = (40_000, 40_020, 40_040, 40_060)
MEASURE_S = (20, 120)


def simulated(algorithm: str, rtt_us: int, stack: dict[str, object], **more: object) -> Run:
    """A run of one flow on the path."""
    stated = Scenario.model_validate(
        {
            "sample_period": "10 ms",
            "stack": stack,
            "dumbbell": {"rate": "100 Mbit/s", "rtt": f"{rtt_us} us", "buffer": "333 packets"},
            "flow": [{"algorithm": algorithm}],
        }
        | more
    )
    return compute(backends.get("sim"), stated, 1)


def figures(algorithm: str, rtt_us: int, stack: dict[str, object]) -> tuple[float, float, float]:
    """Mean window in segments and goodput in Mbit/s over the measured part, and retransmissions of the whole run."""
    from_s, to_s = MEASURE_S
    run = simulated(algorithm, rtt_us, stack, duration=f"{to_s} s", measure={"from": f"{from_s} s"})
    window = run.samples.filter(run.samples["time_s"] >= from_s)["cwnd"].mean()
    assert isinstance(window, float)
    (flow,) = run.summary()["flows"]
    return window, flow["goodput_mbps"], run.samples["retransmits"][-1]


def mean_figures(algorithm: str, stack: dict[str, object] | None = None) -> tuple[float, float, float]:
    rows = [figures(algorithm, rtt_us, stack or {"base": "linux"}) for rtt_us in RTTS_US]
    window, goodput, retransmits = (fmean(column) for column in zip(*rows, strict=True))
    return window, goodput, retransmits


@pytest.mark.parametrize(("algorithm", "window"), [("htcp:linux", 456.2), ("westwood:linux", 524.1), ("lp:linux", 517)])
def test_the_mean_window_is_the_kernel_s_within_a_percent(algorithm: str, window: float) -> None:
    assert mean_figures(algorithm)[0] == pytest.approx(window, rel=0.01)


def test_lp_alone_has_the_path_to_itself_as_in_the_kernel() -> None:
    assert mean_figures("lp:linux")[1] == pytest.approx(96.5, rel=0.01)


def test_bic_retransmits_as_the_kernel_does() -> None:
    # Linux retransmits 2,873 to 2,958 segments at the four delays.
    assert mean_figures("bic:linux")[2] == pytest.approx(2914, rel=0.02)
    # Until Linux 5.6 a delayed ACK counted once.
    assert mean_figures("bic:linux-5.6")[2] < 0.6 * 2914


def test_jiffies_of_one_millisecond_are_told_from_debian_s() -> None:
    # 40 ms and the time of transmission are 41 jiffies of 1 ms, and 11 of 4 ms (usecs_to_jiffies rounds up). A later
    # retransmission has an RTT from timestamps in whole ms, so 0.2 s are before the first loss.
    for hz, rtt_s in [(250, 0.044), (1000, 0.041)]:
        run = simulated("westwood:linux", RTTS_US[0], {"base": "linux", "hz": hz}, duration="0.2 s", internals=True)
        smallest = run.internals.filter(pl.col("variable").cast(pl.String) == "rtt_min_s")["value"]
        assert smallest[-1] == pytest.approx(rtt_s)
