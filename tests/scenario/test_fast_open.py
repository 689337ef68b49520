"""TCP Fast Open: data in the first SYN, against the round trips that it saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elephan import Run, backends, run
from elephan.runs.store import Store
from elephan.scenario import Scenario, ScenarioError

MSS = 1448
SEGMENT_S = 1500 * 8 * (1 / 100e6 + 1 / 10e6 + 1 / 100e6)
"""Time of a full segment on the links of 100, 10 and 100 Mbit/s; the path takes 40 ms there and back."""


def small(octets: int) -> float:
    """Time of a packet on the three links."""
    return SEGMENT_S * octets / 1500


ONE_TRIP_S = 0.04 + SEGMENT_S + small(60)
"""A SYN with data, and its SYN-ACK of 60 B."""
TWO_TRIPS_S = 0.08 + 2 * small(60) + 52 * 8 / 100e6 + SEGMENT_S + small(52)
"""SYN and SYN-ACK, and then the data behind the handshake's ACK of 52 B, and their ACK."""


def scenario(size: str | None = None, fast: bool = True, duration: str = "10 s", **fields: Any) -> Scenario:
    flow: dict[str, Any] = {"name": "f", "algorithm": "cubic"} | ({} if size is None else {"size": size})
    form = {
        "duration": duration,
        "start_jitter": "0 s",
        "stack": {"fast_open": fast},
        "dumbbell": {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "100 packets"},
        "flow": [flow],
    }
    return Scenario.from_dict(form | fields)


def made(given: Scenario, folder: Path) -> Run:
    return run(given, store=Store(folder))


def completion(given: Scenario, folder: Path) -> float:
    found = made(given, folder)
    books = found.manifest["conservation"]
    assert books["sent"] + books["duplicated"] == books["received"] + books["dropped"] + books["under_way"]
    return float(found.flows["completion_s"].to_list()[0])


def test_it_is_in_the_form_only_if_it_is_used() -> None:
    assert "fast_open" not in scenario(fast=False).canonical()["flows"][0]["stack"]
    assert scenario().canonical()["flows"][0]["stack"]["fast_open"] is True


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr", "cubic:linux"])
def test_a_segment_takes_one_round_trip_and_not_two(tmp_path: Path, algorithm: str) -> None:
    change = {"flow[0].algorithm": algorithm}
    fast = completion(scenario(f"{MSS} B").with_overrides(change), tmp_path)
    plain = completion(scenario(f"{MSS} B", fast=False).with_overrides(change), tmp_path)
    assert fast == pytest.approx(ONE_TRIP_S, abs=1e-7)
    assert plain == pytest.approx(TWO_TRIPS_S, abs=1e-7)


def test_more_segments_save_what_fits_into_the_syn(tmp_path: Path) -> None:
    """Eleven segments: the window of ten holds the others, so they take two round trips; without fast open, the
    eleventh waits for a third."""
    fast, plain = (completion(scenario(f"{11 * MSS} B", fast=fast), tmp_path) for fast in (True, False))
    assert 0.08 < fast < 0.11
    assert 0.12 < plain < 0.15


def test_counts_are_those_of_the_data(tmp_path: Path) -> None:
    row = made(scenario(f"{5 * MSS} B"), tmp_path).flows.row(0, named=True)
    assert (row["segments_sent"], row["segments_delivered"], row["retransmits"]) == (5, 5, 0)


@pytest.mark.parametrize("direction", ["syn", "answer"])
def test_a_lost_syn_is_repeated_without_data(tmp_path: Path, direction: str) -> None:
    """The SYN is repeated after a second. If it was lost, its data follow the handshake; if only the SYN-ACK was lost,
    the receiver has them, and the second SYN-ACK says so."""
    links: list[dict[str, Any]] = [
        {"name": name, "from": ends[0], "to": ends[1], "rate": "10 Mbit/s", "delay": "20 ms", "duplex": False}
        for name, ends in (("there", "ab"), ("back", "ba"))
    ]
    links[direction == "answer"]["loss"] = {"packets": [1]}
    flow = {"name": "f", "algorithm": "cubic", "size": f"{MSS} B", "path": ["there"], "reverse_path": ["back"]}
    form = {"duration": "10 s", "start_jitter": "0 s", "link": links, "flow": [flow]}
    row, plain = (
        made(Scenario.from_dict(form | {"stack": {"fast_open": fast}}), tmp_path).flows.row(0, named=True)
        for fast in (True, False)
    )
    again = direction == "syn"
    assert row["completion_s"] > 1.04
    # A lost SYN costs what it costs without fast open; a lost SYN-ACK leaves a saving of a round trip and the data.
    saved = 0.0 if again else 0.04 + (52 + 1500 + 52) * 8 / 10e6
    assert plain["completion_s"] - row["completion_s"] == pytest.approx(saved, abs=1e-7)
    assert (row["segments_sent"], row["segments_delivered"], row["retransmits"]) == (1 + again, 1, int(again))
    assert row["spurious_retransmits"] == 0


def test_an_application_has_its_first_data_in_the_syn(tmp_path: Path) -> None:
    writes = [{"at": "0 s", "size": "100 B"}, {"at": "1 s", "size": "100 B"}]
    found = made(scenario().with_overrides({"flow[0].application": {"writes": writes}}), tmp_path)
    first, second = found.writes["completion_s"].to_list()
    assert first == pytest.approx(ONE_TRIP_S, abs=1e-7)
    assert second == pytest.approx(0.04 + SEGMENT_S + small(52), abs=2e-6)
    late = made(
        scenario().with_overrides({"flow[0].application": {"writes": [{"at": "1 s", "size": "100 B"}]}}), tmp_path
    )
    # The handshake is over when the application first writes.
    assert late.writes["completion_s"].to_list() == [pytest.approx(second, abs=2e-6)]


def test_the_first_transfer_of_a_source_has_no_cookie(tmp_path: Path) -> None:
    transfers = [[f"{k} s", f"{MSS} B"] for k in range(4)]
    source = {"name": "web", "algorithm": "cubic", "transfers": transfers}
    found = made(scenario(traffic=[source], flow=[]), tmp_path)
    expected = [TWO_TRIPS_S, ONE_TRIP_S, ONE_TRIP_S, ONE_TRIP_S]
    assert found.transfers["completion_s"].to_list() == pytest.approx(expected, abs=1e-7)
    assert found.transfers["segments_sent"].to_list() == [1, 1, 1, 1]


@pytest.mark.parametrize("base", ["linux", "linux-2.6", "rfc6675"])
def test_it_works_on_each_stack_with_a_handshake(tmp_path: Path, base: str) -> None:
    stack = {"base": base, "handshake": True, "ack_every": 1}
    fast = completion(scenario(f"{MSS} B", stack=stack | {"fast_open": True}), tmp_path)
    plain = completion(scenario(f"{MSS} B", stack=stack), tmp_path)
    assert plain - fast == pytest.approx(0.04, abs=0.002)


def test_a_long_flow_goes_on_as_without_it(tmp_path: Path) -> None:
    fast, plain = (
        made(scenario(fast=fast, duration="20 s"), tmp_path).flows["goodput_mbps"].to_list()[0]
        for fast in (True, False)
    )
    assert fast == pytest.approx(plain, rel=0.01)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"stack": {"fast_open": True, "handshake": False}}, "stack.fast_open: needs a handshake"),
        ({"stack": {"base": "ns2", "fast_open": True}}, "stack.fast_open: needs a handshake"),
        ({"events": True}, "stack.fast_open: has data in a SYN, which the event log does not show; leave events out"),
    ],
    ids=str,
)
def test_what_has_no_sense_is_refused_in_one_line(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(**fields)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["linux", "kernel", "quic", "model"])
def test_other_backends_refuse_it_before_the_run(name: str) -> None:
    with pytest.raises(ScenarioError, match="fast_open") as error:
        backends.get(name).check(scenario())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("fast", ["500 kbit/s", "5 Mbit/s"])
def test_a_syn_that_is_repeated_does_not_overtake_the_data_of_the_first(fast: str, tmp_path: Path) -> None:
    """On a slow link the first SYN with data takes longer than the timeout of a SYN. The small SYN that follows waits
    at the next link until the large one has left; a link that is recorded is simulated packet by packet."""
    ways = {"there": ("a", "b", "100 kbit/s"), "on": ("b", "c", fast), "back": ("c", "a", fast)}
    found = []
    for record in (False, True):
        links = [
            {"name": name, "from": start, "to": end, "rate": rate, "delay": "3 ms", "buffer": "100 packets",
             "duplex": False, "record": record or name == "there"}
            for name, (start, end, rate) in ways.items()
        ]  # fmt: skip
        stack = {"fast_open": True, "initial_rto": "60 ms", "payload": "4253 B"}
        flow = {"algorithm": "reno", "path": ["there", "on"], "reverse_path": ["back"], "stack": stack}
        found.append(made(Scenario.from_dict({"duration": "20 s", "link": links, "flow": [flow]}), tmp_path / fast[:1]))
    assert found[0].flows["timeouts"][0] > 0
    assert found[0].samples.equals(found[1].samples)
