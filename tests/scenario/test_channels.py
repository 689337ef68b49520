"""Radio channels: their statistics agree with the closed forms of their models, and a scenario says one in a line."""

from __future__ import annotations

import math
import statistics
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from elephan import run
from elephan.metrics.throughput import utilization
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError, channels
from elephan.scenario.channels import Drawn

S = 10**12
BASE: dict[str, Any] = {
    "duration": "20 s",
    "start_jitter": "0 s",
    "measure": {"from": "5 s"},
    "dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "2 BDP"},
    "flow": [{"algorithm": "cubic"}],
}


def with_channel(**channel: Any) -> Scenario:
    return Scenario.from_dict(BASE | {"dumbbell": BASE["dumbbell"] | {"channel": channel}})


def link(scenario: Scenario, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [row for row in scenario.canonical()["links"] if row["name"] == name]
    return found


def mean_bps(drawn: Drawn, duration_s: int) -> float:
    """Mean rate of what was drawn, by its integral."""
    if drawn.opportunities_ms:
        return sum(at <= duration_s * 1000 for at in drawn.opportunities_ms) * 12_000 / duration_s
    edges = [*drawn.rates, (duration_s * S, 0)]
    return sum(rate * max(0, min(end, duration_s * S) - at) for (at, rate), (end, _) in pairwise(edges)) / (
        duration_s * S
    )


@pytest.mark.parametrize("model", channels.MODELS)
def test_the_mean_rate_is_that_of_the_closed_form(model: str) -> None:
    found = [mean_bps(channels.draw(model, seed, (), 500 * S), 500) for seed in range(1, 13)]
    error = statistics.stdev(found) / math.sqrt(len(found))
    assert abs(statistics.mean(found) - channels.mean_bps(model)) < 4 * error
    assert error < 0.1 * channels.mean_bps(model)


@pytest.mark.parametrize("model", ["lte", "wifi"])
def test_fading_has_the_states_and_the_crossings_of_a_rayleigh_channel(model: str) -> None:
    fading = (channels.lte if model == "lte" else channels.wifi)(channels.values(model, ()))
    assert sum(fading.probabilities()) == pytest.approx(1)
    duration_s = 2000
    rates = channels.draw(model, 3, (), duration_s * S).rates
    order = {round(rate / 1000) * 1000: state for state, rate in enumerate(fading.rates_bps)}
    inside = [0.0] * len(order)
    up = [0] * len(fading.thresholds)
    for (at, rate), (end, after) in pairwise(rates):
        inside[order[rate]] += (end - at) / S
        # A chain goes to a neighbor only; two changes within 1 us are one, which happens about once in an hour.
        for state in range(order[rate], order[after]):
            up[state] += 1
    for share, expected in zip(inside, fading.probabilities(), strict=True):
        assert share / sum(inside) == pytest.approx(expected, abs=0.02)
    for count, expected in zip(up, fading.crossings_hz(), strict=True):
        # Crossings bunch: their variance is larger than that of a Poisson process.
        assert abs(count - expected * duration_s) < 15 * math.sqrt(expected * duration_s)


def test_a_handover_comes_every_slot_and_satellites_are_uniform_on_their_sphere() -> None:
    drawn = channels.draw("leo", 2, (), 30_000 * S)
    times = [at for at, _ in drawn.delays]
    assert {end - at for at, end in pairwise(times[1:])} == {15 * S}
    delays_s = [delay / S for _, delay in drawn.delays]
    error = statistics.stdev(delays_s) / math.sqrt(len(delays_s))
    expected_s = channels.leo_mean_delay_s(channels.values("leo", ()))
    assert abs(statistics.mean(delays_s) - expected_s) < 4 * error < 0.1 * expected_s
    # At 25 degrees a satellite at 550 km is 1,123 km away: up and down, 7.5 ms there, against 3.7 ms from the zenith.
    most_s = 2 * (channels.slant_range_km(550, 25) - 550) / channels.LIGHT_KM_PER_S
    assert min(delays_s) >= 0
    assert max(delays_s) <= most_s == pytest.approx(3.82e-3, rel=0.01)
    down = [end - at for (at, rate), (end, _) in pairwise(drawn.rates) if rate == 0]
    assert set(down) == {S // 10}
    assert len(down) == len(times) - 1


def test_rates_of_sprout_are_uniform_above_zero_and_outages_end_at_their_rate() -> None:
    parameters = channels.values("sprout", ())
    runs = [list(islice(channels.sprout_rates(parameters, seed), 50_000)) for seed in range(1, 13)]
    outages = [sum(rate == 0 for rate in run) / len(run) for run in runs]
    error = statistics.stdev(outages) / math.sqrt(len(outages))
    assert abs(statistics.mean(outages) - channels.sprout_outage_share(parameters)) < 4 * error < 0.2
    above = [rate / parameters["most"] for run in runs for rate in run if rate > 0]
    assert max(above) <= 1
    assert statistics.mean(above) == pytest.approx(1 / 2, rel=0.1)
    assert statistics.mean(rate * rate for rate in above) == pytest.approx(1 / 3, rel=0.15)
    ticks = [len(list(group)) for run in runs for down, group in groupby(run, lambda rate: rate == 0) if down]
    expected = 1 / (1 - math.exp(-parameters["escape"] * channels.TICK_S))
    assert abs(statistics.mean(ticks) - expected) < 4 * expected / math.sqrt(len(ticks))


@pytest.mark.parametrize("model", channels.MODELS)
def test_a_longer_run_begins_like_a_shorter_one_and_another_seed_differs(model: str) -> None:
    short, long = (channels.draw(model, 1, (), duration * S) for duration in (20, 60))
    for field in ("rates", "opportunities_ms", "delays"):
        values = getattr(short, field)
        assert getattr(long, field)[: len(values) - 2] == values[:-2]
    assert channels.draw(model, 2, (), 20 * S) != short


@pytest.mark.parametrize("model", channels.MODELS)
def test_a_scenario_with_a_channel_runs_and_survives_toml(model: str, tmp_path: Path) -> None:
    scenario = with_channel(model=model)
    assert Scenario.from_toml(scenario.to_toml()).hash == scenario.hash
    assert scenario.hash != with_channel(model=model, seed=2).hash
    result = run(scenario, store=Store(tmp_path))
    # A packet counts whole when its last bit leaves.
    assert 0.5 < utilization(result) <= 1.001
    assert result.flows["goodput_mbps"].item() > 0.1


def test_both_directions_of_a_satellite_have_its_delay_and_one_its_rate() -> None:
    scenario = with_channel(model="leo", outage="50 ms")
    there, back = link(scenario, "bottleneck")["impairments"], link(scenario, "bottleneck/reverse")["impairments"]
    assert there["delay_steps"] == back["delay_steps"]
    assert there["delay_steps"][0]["at_ps"] == 0
    assert "rate_steps" in there
    assert "rate_steps" not in back
    assert "impairments" not in link(with_channel(model="wifi"), "bottleneck/reverse")


def test_a_channel_whose_mean_is_not_the_rate_is_said() -> None:
    (said,) = [line for line in with_channel(model="wifi").warnings() if "channel" in line]
    assert "wifi has 44.04 Mbit/s on average" in said


@pytest.mark.parametrize(
    ("channel", "line"),
    [
        ("leo", "dumbbell.channel: 'leo' is not a channel; write for example"),
        ({"seed": 1}, "dumbbell.channel: model: missing"),
        ({"model": "leoo"}, "dumbbell.channel: model: 'leoo' is not a channel; did you mean 'leo'?"),
        ({"model": "leo", "seed": -1}, "dumbbell.channel: seed: -1 is not a seed"),
        ({"model": "leo", "outge": "1 ms"}, "outge: not a parameter of leo; did you mean 'outage'?"),
        ({"model": "leo", "outage": 50}, "outage: 50 is not time without a link at a handover"),
        ({"model": "leo", "outage": "2 s"}, "it is from 0 ms to 900 ms"),
        ({"model": "leo", "low": "300 Mbit/s"}, "low: 300 Mbit/s is more than high, 200 Mbit/s"),
        ({"model": "wifi", "level": "-60 dB"}, "level: '-60 dB' is not mean received power"),
        ({"model": "lte", "snr": "nan dB"}, "snr: 'nan dB' is not mean signal-to-noise ratio"),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(channel: Any, line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario.from_dict(BASE | {"dumbbell": BASE["dumbbell"] | {"channel": channel}})
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", channels.MODELS)
def test_a_channel_with_too_many_changes_is_refused(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channels.draw.cache_clear()
    monkeypatch.setattr(channels, "MOST_CHANGES", 50)
    tables = BASE | {"duration": "480 h", "dumbbell": BASE["dumbbell"] | {"channel": {"model": model}}}
    with pytest.raises(ScenarioError, match=r"channel: changes more than 50 times in the first [\d,]+ s; shorten the"):
        Scenario.from_dict(tables)
    channels.draw.cache_clear()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_trace", [1, 2]),
        ("rate_steps", [{"at": "1 s", "rate": "1 Mbit/s"}]),
        ("delay_steps", [{"at": "1 s", "change": "1 ms"}]),
    ],
)
def test_a_channel_and_another_course_contradict_each_other(field: str, value: Any) -> None:
    with pytest.raises(ScenarioError, match=f"dumbbell.channel: there is {field} too; write one of the two"):
        Scenario.from_dict(BASE | {"dumbbell": BASE["dumbbell"] | {"channel": {"model": "leo"}, field: value}})
