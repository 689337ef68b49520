"""The limit of a flow is found in captures whose scenario states it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.explanation import captures
from tests.explanation.conftest import Make
from tests.report.browsing import read

import elephan
from elephan.explanation import Explanation, Limit
from elephan.explanation.reporting import explanation_report


def shares(path: Path) -> dict[Limit, float]:
    return dict(elephan.explain(path).limits.fractions)


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_a_flow_with_enough_data_is_limited_by_the_path(at: str, make: Make) -> None:
    assert shares(make(at))[Limit.CONGESTION] > 0.95


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_a_small_receive_window_is_the_limit(at: str, make: Make) -> None:
    found = shares(make(at, stack={"base": "linux", "receive_window": "20 KB"}))
    assert found[Limit.RECEIVE_WINDOW] > 0.9


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_an_application_below_the_path_is_the_limit(at: str, make: Make) -> None:
    assert shares(make(at, application={"rate": "3 Mbit/s"}))[Limit.APPLICATION] > 0.9


@pytest.mark.parametrize("at", ["sender", "receiver"])
@pytest.mark.parametrize(("algorithm", "buffer"), [("westwood:linux", "4 BDP"), ("vegas:linux", "0.4 BDP")])
def test_a_window_that_moves_without_a_long_queue_is_the_paths(
    algorithm: str, buffer: str, at: str, make: Make
) -> None:
    path = {"rate": "25 Mbit/s", "rtt": "160 ms", "buffer": buffer, "duration": "24 s"}
    found = elephan.explain(make(at, algorithm=algorithm, **path))
    assert found.connection.position.place == at
    assert found.limits.series["rtt_max_s"][-20:].max() < 0.17
    assert not {Limit.APPLICATION, Limit.SEND_BUFFER} & set(found.limits.fractions)


def test_pauses_of_an_application_are_found_where_they_are(make: Make) -> None:
    writes = [{"at": f"{second} s", "size": "200 kB"} for second in (0, 2, 4, 6)]
    limits = elephan.explain(make(application={"writes": writes})).limits
    assert all(limits.at(second) is Limit.APPLICATION for second in (1.5, 3.5, 5.5))
    assert all(limits.at(second) is not Limit.APPLICATION for second in (2.15, 4.15, 6.15))


def test_random_losses_are_told_from_congestion(make: Make) -> None:
    assert elephan.explain(make(loss=0.02)).limits.main is Limit.RANDOM_LOSS


def test_a_short_connection_has_one_limit(tmp_path: Path) -> None:
    found = elephan.explain(captures.write(tmp_path / "one.pcap", captures.transfer(segments=4)))
    assert sum(share.fraction for share in found.limits.shares) == pytest.approx(1)
    assert found.limits.intervals[0].start_s <= 0.0502


def test_intervals_have_no_gaps_and_shares_add_up(make: Make) -> None:
    found = elephan.explain(make())
    ends = [interval.end_s for interval in found.limits.intervals]
    assert [interval.start_s for interval in found.limits.intervals[1:]] == ends[:-1]
    assert sum(found.limits.fractions.values()) == pytest.approx(1)


def test_the_document_and_the_answer_name_no_host(make: Make) -> None:
    found: Explanation = elephan.explain(make())
    text = str(found.document())
    assert not any(address in text for (address, _) in found.connection.flow.hosts)
    assert found.text.startswith("A sent ")


def test_the_page_draws_the_flow_and_names_no_host_and_no_file(make: Make, tmp_path: Path) -> None:
    found = elephan.explain(make())
    page = read(explanation_report(found, tmp_path))
    hosts = [address for address, _ in found.connection.flow.hosts]
    assert not any(text in page for text in (*hosts, found.capture.path.name))
    assert found.text.split(".")[0] in page
    assert '"edge of the receive window"' in page
