"""Losses that last for a time, and encoders that change their rate at given times."""

from __future__ import annotations

import math
from typing import Any

import pytest

from elephan import Run, run
from elephan.metrics.reading import link_counter
from elephan.scenario import Scenario, ScenarioError

PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"}


def carried(datagrams: dict[str, Any], **path: Any) -> Run:
    """A flow of datagrams of 1000 B for 40 s."""
    flow = {"name": "media", "datagrams": {"size": "1000 B"} | datagrams}
    tables = {"duration": "40 s", "perturb": "none", "start_jitter": "0 s", "sample_period": "100 ms"}
    return run(Scenario.from_dict(tables | {"dumbbell": PATH | path, "flow": [flow]}))


def mbps(found: Run, begin_s: float, end_s: float) -> float:
    """Rate of the bottleneck between two times."""
    return link_counter(found, "bottleneck", "delivered_bytes", (begin_s, end_s)) * 8e-6 / (end_s - begin_s)


@pytest.mark.parametrize("queue", ["droptail", "codel"])
@pytest.mark.parametrize("probability", ["20%", "100%"])
def test_a_loss_for_a_time_is_none_before_and_after_it(queue: str, probability: str) -> None:
    loss = {"probability": probability, "from": "10 s", "to": "20 s"}
    found = carried({"rate": "8 Mbit/s"}, loss=loss, queue=queue)
    p = float(probability.rstrip("%")) / 100
    assert link_counter(found, "bottleneck", "dropped_packets", (0, 10)) == 0
    assert link_counter(found, "bottleneck", "dropped_packets", (20, 40)) == 0
    lost = link_counter(found, "bottleneck", "dropped_packets", (10, 20))
    assert lost == pytest.approx(10_000 * p, abs=4 * math.sqrt(10_000 * p * (1 - p)) + 1)


def test_an_encoder_follows_its_steps_and_pauses() -> None:
    steps = [{"at": "10 s", "rate": "4 Mbit/s"}, {"at": "20 s", "rate": "0 bit/s"}, {"at": "30 s", "rate": "1 Mbit/s"}]
    found = carried({"rate": "2 Mbit/s", "frames": "20 ms", "frame_shape": 100.0, "rate_steps": steps})
    # 500 frames of a standard deviation of 1.3 %; one frame more or less at an edge.
    for begin_s, rate in ((0, 2.0), (10, 4.0), (30, 1.0)):
        assert mbps(found, begin_s, begin_s + 10) == pytest.approx(rate, rel=0.005)
    assert mbps(found, 20.1, 30) == 0


def test_what_was_written_is_what_the_engine_is_told_and_survives_toml() -> None:
    steps = [{"at": "10 s", "rate": "4 Mbit/s"}]
    tables = {"duration": "40 s", "dumbbell": PATH | {"loss": {"probability": 0.2, "from": "1 s", "to": "2 s"}}}
    media = {"datagrams": {"rate": "2 Mbit/s", "frames": "20 ms", "rate_steps": steps}}
    scenario = Scenario.from_dict(tables | {"flow": [media]})
    form = scenario.canonical()
    (loss,) = [row["loss"] for row in form["links"] if row["name"] == "bottleneck"]
    assert loss == {"kind": "interval", "p": 0.2, "from_ps": 10**12, "to_ps": 2 * 10**12}
    assert form["flows"][0]["application"]["rate_steps"] == [{"at_ps": 10**13, "rate_bps": 4_000_000}]
    assert scenario.is_random
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash


@pytest.mark.parametrize(
    ("loss", "line"),
    [
        ({"probability": "20%", "from": "2 s", "to": "1 s"}, "dumbbell.loss: to: '1 s' is not after from, 2 s"),
        ({"probability": 2, "from": "1 s", "to": "2 s"}, "dumbbell.loss: probability: "),
        ({"probability": 0.1, "from": "1", "to": "2 s"}, "dumbbell.loss: from: '1' has no unit"),
        ({"probability": 0.1, "form": "1 s", "to": "2 s"}, "dumbbell.loss: form: not a part of a loss for a time"),
    ],
    ids=str,
)
def test_a_wrong_loss_is_refused_in_one_line(loss: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        carried({"rate": "1 Mbit/s"}, loss=loss)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("media", "line"),
    [
        ({}, "rate_steps: has no meaning without frames"),
        ({"frames": "20 ms", "on": "1 s", "off": "1 s"}, "rate_steps: contradicts on and off"),
    ],
    ids=str,
)
def test_wrong_steps_of_an_encoder_are_refused_in_one_line(media: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        carried({"rate": "1 Mbit/s", "rate_steps": [{"at": "1 s", "rate": "2 Mbit/s"}]} | media)
    assert f"flow[0].datagrams.{line}" in str(error.value)


def test_an_encoder_does_not_end_in_a_pause() -> None:
    with pytest.raises(ScenarioError, match=r"rate_steps\[0\].rate: '0 bit/s' would last for ever"):
        carried({"rate": "1 Mbit/s", "frames": "20 ms", "rate_steps": [{"at": "1 s", "rate": "0 bit/s"}]})
