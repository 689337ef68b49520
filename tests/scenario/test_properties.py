"""Random scenarios: each is refused in one line, or it has a canonical form that survives TOML and runs to its end."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from elephan.scenario import Scenario, ScenarioError, catalog

ALGORITHMS = st.sampled_from(catalog.spellings(catalog.algorithms()))
RATES = st.integers(1, 400).map(lambda n: f"{n / 10:g} Mbit/s")
BUFFERS = st.one_of(
    st.integers(1, 60).map(lambda n: f"{n} packets"),
    st.integers(1, 300).map(lambda n: f"{n}% BDP"),
    st.integers(1000, 90_000).map(lambda n: f"{n} B"),
    st.just("unlimited"),
)
LOSSES = st.one_of(
    st.just(0.0),
    st.sampled_from([1e-4, 1e-3, 0.01, 0.3]),
    st.sets(st.integers(1, 400), min_size=1, max_size=20).map(lambda found: {"packets": sorted(found)}),
    st.just({"to_bad": 0.01, "to_good": 0.3, "in_bad": "60%"}),
)


def milliseconds(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(lambda n: f"{n} ms")


SHARES = st.sampled_from([0, 0.01, "2%", 0.5])
STEPS = st.lists(st.tuples(st.integers(1, 900), RATES, st.integers(-5, 40)), max_size=3, unique_by=lambda step: step[0])
UNSTEADY: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "jitter": st.one_of(
            st.integers(1, 9).map(lambda n: {"uniform": f"{n} ms"}),
            st.integers(0, 9).map(lambda n: {"normal": f"{n} ms", "deviation": "2 ms"}),
            st.integers(1, 9).map(lambda n: {"exponential": f"{n} ms"}),
            st.lists(milliseconds(0, 9), min_size=1).map(lambda found: {"samples": found}),
        ),
        "reorder": st.builds(lambda share, delay: {"share": share, "delay": delay}, SHARES, milliseconds(1, 30)),
        "duplicate": SHARES,
        "rate_steps": STEPS.map(lambda steps: [{"at": f"{at} ms", "rate": rate} for at, rate, _ in sorted(steps)]),
        "rate_trace": st.lists(st.integers(0, 40), min_size=1).map(sorted),
        "delay_steps": STEPS.map(
            lambda steps: [{"at": f"{at} ms", "change": f"{change} ms"} for at, _, change in sorted(steps)]
        ),
    },
)

STACKS = st.one_of(
    st.sampled_from(["linux", "linux-2.6", "ns2", "rfc6675"]),
    st.fixed_dictionaries(
        {"base": st.sampled_from(["linux", "linux-2.6", "ns2", "rfc6675"])},
        optional={
            "payload": st.integers(1, 9000).map(lambda n: f"{n} B"),
            "initial_window": st.integers(1, 40).map(lambda n: f"{n} segments"),
            "initial_ssthresh": st.integers(1, 60).map(lambda n: f"{n} segments"),
            "receive_window": st.integers(1, 300).map(lambda n: f"{n} segments"),
            "ack_every": st.integers(1, 4),
            "delayed_ack": milliseconds(0, 200),
            "quick_acks": st.integers(0, 20),
            "min_rto": milliseconds(1, 1000),
            "initial_rto": milliseconds(1, 3000),
            "host": st.sampled_from(["linux", "plain"]),
            "detection": st.sampled_from(["rack", "dupthresh", "fack"]),
            "recovery": st.sampled_from(["prr", "rate_halving", "rate_halving_ns2", "pipe"]),
            "limited_transmit": st.booleans(),
            "max_burst": st.integers(1, 10),
            "undo": st.booleans(),
        },
    ),
)

FLOWS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"algorithm": ALGORITHMS},
    optional={
        "start": milliseconds(0, 1500),
        "stop": milliseconds(1, 2500),
        "size": st.integers(1, 500).map(lambda n: f"{n} segments"),
        "stack": STACKS,
    },
)


@st.composite
def dumbbells(draw: st.DrawFn) -> dict[str, Any]:
    path = {
        "rate": draw(RATES),
        "rtt": draw(milliseconds(30, 200)),
        "buffer": draw(BUFFERS),
        "queue": draw(st.sampled_from(["droptail", "droptail:ns2"])),
        "loss": draw(LOSSES),
        "access_delay": draw(milliseconds(0, 10)),
    } | draw(UNSTEADY)
    flows = draw(st.lists(FLOWS, min_size=1, max_size=4))
    for flow in flows:
        if draw(st.booleans()):
            flow["direction"] = draw(st.sampled_from(["left", "right"]))
        if draw(st.booleans()):
            flow["rtt"] = draw(milliseconds(150, 300))
    return {"dumbbell": path, "flow": flows}


@st.composite
def parking_lots(draw: st.DrawFn) -> dict[str, Any]:
    hops = draw(st.integers(1, 4))
    path = {"hops": hops, "rate": draw(RATES), "rtt": f"{24 * draw(st.integers(1, 8))} ms", "buffer": draw(BUFFERS)}
    flows = draw(st.lists(FLOWS, min_size=1, max_size=4))
    for flow in flows:
        if draw(st.booleans()):
            flow["hops"] = sorted(draw(st.tuples(st.integers(1, hops), st.integers(1, hops))))
    return {"parking_lot": path, "flow": flows}


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Links between few nodes; a flow's path is a random walk over them, so that it often connects."""
    ends = st.sampled_from(["ab", "ba", "bc", "cb", "cd", "ac", "bd"])
    pairs = ["ab", *draw(st.lists(ends, max_size=3))]
    links: list[dict[str, Any]] = [
        {
            "name": f"l{i}",
            "from": pair[0],
            "to": pair[1],
            "rate": draw(RATES),
            "delay": draw(milliseconds(1, 50)),
            "buffer": draw(BUFFERS),
            "loss": draw(LOSSES),
            "duplex": draw(st.sampled_from([True] * 9 + [False])),
        }
        | draw(st.one_of(st.just({}), UNSTEADY))
        for i, pair in enumerate(pairs)
    ]
    flows = draw(st.lists(FLOWS, min_size=1, max_size=3))
    for flow in flows:
        at, path = draw(st.sampled_from("aab")), []
        for _ in range(draw(st.integers(1, 3))):
            onward = [link for link in links if link["from"] == at and link["name"] not in path]
            if onward:
                link = draw(st.sampled_from(onward))
                path.append(link["name"])
                at = link["to"]
        flow["path"] = path or [links[0]["name"]]
    return {"link": links, "flow": flows}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    tables: dict[str, Any] = draw(st.one_of(dumbbells(), parking_lots(), graphs()))
    return tables | {
        "duration": draw(milliseconds(1000, 2500)),
        "sample_period": draw(milliseconds(10, 500)),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "start_jitter": draw(milliseconds(0, 20)),
        "send_jitter": draw(st.integers(0, 500).map(lambda n: f"{n} us")),
        "stack": draw(STACKS),
    }


def stated(tables: dict[str, Any]) -> Scenario | None:
    """The scenario, or nothing when it is refused in one line."""
    try:
        return Scenario.from_dict(tables)
    except ScenarioError as error:
        refusal = str(error)
    assert refusal
    assert "\n" not in refusal
    return None


@settings(max_examples=150)
@given(scenarios())
def test_a_scenario_survives_toml_with_its_meaning(tables: dict[str, Any]) -> None:
    scenario = stated(tables)
    if scenario is not None:
        again = Scenario.from_toml(scenario.to_toml())
        assert again.canonical_json() == scenario.canonical_json()
        assert isinstance(scenario.warnings(), list)


def most_bps(form: dict[str, Any], flow: dict[str, Any]) -> float:
    """A bound on what may arrive of a flow, in the measured part."""
    measured_ps = form["measure"]["to_ps"] - form["measure"]["from_ps"]
    bounds, copies = [], 1
    for position in flow["path"]:
        link = form["links"][position]
        changes = link.get("impairments", {})
        copies *= 2 if changes.get("duplicate") else 1
        bound = max([link["rate_bps"], *(step["rate_bps"] for step in changes.get("rate_steps", []))])
        if times := changes.get("rate_trace_ms"):
            # Whole rounds, and a part of one at either end.
            bound = len(times) * 12_000 * (1000 / times[-1] + 2 * 1e12 / measured_ps)
        # Bytes sent up to 100 ms before the measured part may arrive in it.
        bounds.append(bound * (1 + 1e11 / measured_ps if changes else 1))
    return float(min(bounds) * copies)


@settings(max_examples=150)
@given(scenarios())
def test_a_scenario_that_is_accepted_runs_and_its_numbers_are_possible(tables: dict[str, Any]) -> None:
    scenario = stated(tables)
    if scenario is None:
        return
    result = catalog.engine().run(scenario.canonical_json(), None)
    flows, links = pl.DataFrame(result["flows"]), pl.DataFrame(result["links"])
    form = scenario.canonical()
    assert flows.height == len(form["flows"])
    sent, delivered, again = (flows[name] for name in ("segments_sent", "segments_delivered", "retransmits"))
    assert (delivered <= sent - again).all()
    for row, flow in zip(flows.iter_rows(named=True), form["flows"], strict=True):
        if flow["size_segments"] is not None:
            assert row["segments_delivered"] <= flow["size_segments"]
        assert row["throughput_mbps"] <= most_bps(form, flow) / 1e6 * 1.02 + 0.2
    limits = {link["name"]: link["queue"]["limit_packets"] for link in form["links"]}
    for row in links.iter_rows(named=True):
        limit = limits[row["link"]]
        assert row["queue_min"] >= 0
        assert limit is None or row["queue_max"] <= limit
        assert row["delivered_packets"] + row["dropped_packets"] <= row["arrived_packets"]


@settings(max_examples=40)
@given(scenarios())
def test_the_same_scenario_gives_the_same_bytes(tables: dict[str, Any]) -> None:
    scenario = stated(tables)
    if scenario is None:
        return
    first, second = (catalog.engine().run(scenario.canonical_json(), None) for _ in range(2))
    for table in ("flows", "samples", "links"):
        assert pl.DataFrame(first[table]).equals(pl.DataFrame(second[table]))
    timeless = [
        {k: v for k, v in json.loads(result["summary"]).items() if "wall" not in k} for result in (first, second)
    ]
    assert timeless[0] == timeless[1]
