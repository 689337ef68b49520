"""Results of runs in trains of segments: the words for their checks, and for runs without trains."""

from statistics import fmean
from typing import Any

import pytest

import elephan
from elephan.runs.result import measured_range
from elephan.runs.work import takes_s
from elephan.scenario import Scenario, ScenarioError, catalog, transports


def scenario(**changes: Any) -> Scenario:
    """A CUBIC flow on a path of 1 Gbit/s and 50 ms, in trains."""
    path = {"rate": "1 Gbit/s", "rtt": "50 ms", "buffer": "2 BDP"}
    flows = [{"algorithm": "cubic"}]
    return Scenario(**({"duration": "2 s", "resolution": "train", "dumbbell": path, "flow": flows} | changes))


def test_a_result_says_that_it_has_trains_and_how_far_they_differ() -> None:
    run = elephan.run(scenario(duration="6 s"))
    summary = run.summary()
    stretches = run.manifest["engine_summary"]["resolution"]["stretches"]
    assert len(stretches) == 3
    assert summary["resolution"]["stretches"] == stretches
    assert "in trains of segments, which differ by up to" in measured_range(summary)


def test_a_short_run_says_that_it_is_not_compared_with_single_segments() -> None:
    said = measured_range(elephan.run(scenario(duration="1 s")).summary())
    assert "in trains of segments, not compared with single ones: the run has fewer than 34 round trips" in said


@pytest.mark.parametrize(
    "changes",
    [{"flow": [{"algorithm": "bbr3"}], "stack": "rfc6675"}, {"flow": [{"algorithm": "cdg"}]}],
    ids=["rates without offload", "delays"],
)
def test_a_result_says_that_no_flow_has_trains(changes: dict[str, Any]) -> None:
    summary = elephan.run(scenario(**changes)).summary()
    assert measured_range(summary).endswith("in single segments: no flow here may have trains")


def test_a_run_that_differed_says_since_when_it_has_single_segments() -> None:
    checks = {"stretches": [{"from_s": 1.0, "to_s": 1.1, "difference": 0.025}], "single_from_s": 1.0}
    said = measured_range({"measure": {"from_s": 1, "to_s": 2}, "resolution": checks})
    words = "in trains of segments until 1 s, and in single segments from then on, since the two differed by 2.5 %"
    assert said == f"1 s to 2 s; {words}"


def test_single_segments_are_the_default_and_not_in_the_canonical_form() -> None:
    assert "resolution" not in scenario(resolution="segment").canonical()
    assert scenario().canonical()["resolution"] == "train"


@pytest.mark.parametrize("on", ["model", "linux", "kernel", "quic"])
def test_other_backends_refuse_trains(on: str) -> None:
    with pytest.raises(ScenarioError, match=r"resolution: .*leave it out"):
        elephan.run(scenario(), on=on)


def test_the_estimate_of_a_time_counts_slow_start_singly() -> None:
    path = {"rate": "10 Gbit/s", "rtt": "60 ms", "buffer": "1 BDP"}

    def ratio(duration: str) -> float:
        single, trains = (
            takes_s(scenario(duration=duration, dumbbell=path, resolution=resolution))
            for resolution in ("segment", "train")
        )
        return single / trains

    assert ratio("0.5 s") == 1.0
    assert 1.0 < ratio("5 s") < ratio("50 s") < ratio("200 s") < 40.0


def test_the_estimate_of_a_time_knows_which_algorithms_have_trains() -> None:
    path = {"rate": "10 Gbit/s", "rtt": "60 ms", "buffer": "1 BDP"}

    def cost(algorithm: str) -> float:
        return takes_s(scenario(duration="200 s", dumbbell=path, flow=[{"algorithm": algorithm}]))

    assert cost("htcp") == cost("cubic") < cost("bbr3") < cost("compound") < cost("cdg") == cost("fast")


def long_fat(algorithm: str, stack: str, **changes: Any) -> Scenario:
    """One flow on 5 Gbit/s and 40 ms; slow start ends well below the BDP of 16,667 segments."""
    return Scenario.from_dict(
        {
            "duration": "6 s",
            "sample_period": "0.1 s",
            "stack": {"base": stack, "initial_ssthresh": "12000 segments"},
            "dumbbell": {"rate": "5 Gbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
            "flow": [{"algorithm": algorithm}],
        }
        | changes
    )


def goodput_and_window(scenario: Scenario, resolution: str) -> tuple[float, float, float, int]:
    """Goodput, Mbit/s; windows after a tenth of the run and on average in its last third, segments; and loss events."""
    run = elephan.run(scenario.replace({"resolution": resolution}))
    windows = run.samples["cwnd"].to_numpy()
    flow = run.flows.row(0, named=True)
    return flow["goodput_mbps"], windows[len(windows) // 10], windows[-20:].mean(), flow["loss_events"]


ALONE = [
    name
    for name in catalog.spellings(catalog.algorithms())
    if catalog.router(name.partition(":")[0]) is None and transports.backend_of(name) is None
]


@pytest.mark.parametrize("name", ALONE)
def test_each_preset_grows_in_trains_as_in_single_segments(name: str) -> None:
    scenario = long_fat(name, "linux-2.6" if "2.6" in name else "linux")
    (goodput, first, last, losses), (goodput_singly, first_singly, last_singly, losses_singly) = (
        goodput_and_window(scenario, resolution) for resolution in ("train", "segment")
    )
    assert goodput == pytest.approx(goodput_singly, rel=0.01)
    assert losses == losses_singly
    assert last - first == pytest.approx(last_singly - first_singly, rel=0.05, abs=20)


@pytest.mark.parametrize("stack", ["linux", "linux-2.6", "ns2", "ns2-sack1", "rfc6675"])
def test_each_stack_recovers_in_trains_as_in_single_segments(stack: str) -> None:
    path = {"rate": "5 Gbit/s", "rtt": "40 ms", "buffer": "0.1 BDP"}
    # The end is far from a loss with each stack.
    scenario = long_fat("stcp", stack, dumbbell=path, duration="5.5 s")
    (goodput, *_, losses), (goodput_singly, *_, losses_singly) = (
        goodput_and_window(scenario, resolution) for resolution in ("train", "segment")
    )
    assert losses == losses_singly > 1
    assert goodput == pytest.approx(goodput_singly, rel=0.01)


@pytest.mark.parametrize("name", ["bbr", "bbr3"])
def test_bursts_that_are_paced_leave_together_as_they_do_alone(name: str) -> None:
    # The window has 3,700 bursts, so a train has four.
    scenario = long_fat(name, "linux", dumbbell={"rate": "20 Gbit/s", "rtt": "100 ms", "buffer": "2 BDP"})
    trains, singly = (
        elephan.run(scenario.replace({"resolution": resolution})).flows.row(0, named=True)
        for resolution in ("train", "segment")
    )
    for metric in ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms", "cwnd_mean", "segments_sent"):
        assert trains[metric] == pytest.approx(singly[metric], rel=0.01), metric


def test_a_segment_that_leaves_an_idle_host_has_the_smallest_round_trips() -> None:
    # BBR looks for the smallest RTT; trains with the same delay of the host each would let it wait for longer.
    path = {"rate": "10 Gbit/s", "rtt": "100 ms", "buffer": "2 BDP"}
    least = {
        resolution: [
            elephan.run(
                long_fat("bbr3", "linux", dumbbell=path, duration="14 s", perturb="hosts", seed=seed).replace(
                    {"resolution": resolution}
                )
            ).flows["rtt_min_ms"][0]
            for seed in (1, 2, 3)
        ]
        for resolution in ("train", "segment")
    }
    # Packets are delayed by up to 0.2 ms.
    assert fmean(least["train"]) == pytest.approx(fmean(least["segment"]), abs=0.04)
