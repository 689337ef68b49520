"""Results of runs in trains of segments: the words for their checks, and for runs without trains."""

from typing import Any

import pytest

import elephan
from elephan.runs.result import measured_range
from elephan.runs.work import takes_s
from elephan.scenario import Scenario, ScenarioError


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

    assert cost("htcp") == cost("cubic") < cost("bbr3") < cost("cdg") == cost("fast")
