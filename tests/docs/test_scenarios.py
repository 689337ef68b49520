"""Every scenario of ``docs/scenarios.md`` runs, and together they show all that a scenario can say."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from elephan.export import events_of, write_pcapng, write_qlog
from elephan.runs import Run, Store, run
from elephan.scenario import Scenario
from elephan.scenario.catalog import queues

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenarios.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
FILES = re.findall(r"`([\w]+\.(?:csv|trace))`:\n\n```(?:csv|text)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def load(text: str, folder: Path) -> Scenario:
    for name, contents in FILES:
        (folder / name).write_text(contents, encoding="utf-8")
    return Scenario.from_toml(text, source=PAGE.name, folder=folder)


def title(text: str) -> str:
    return text.partition("\n")[0].partition('"')[2].rstrip('"')


@pytest.mark.parametrize("text", BLOCKS, ids=title)
def test_a_scenario_runs_as_it_stands(text: str, tmp_path: Path) -> None:
    stated = load(text, tmp_path)
    result = run(stated, store=Store(tmp_path))
    summary = result.summary()
    for row in summary["flows"]:
        assert row["segments_delivered"] > 0, row["name"]
    for row in summary.get("traffic", []):
        assert row["transfers_completed"] > 0, row["name"]
    assert Scenario.from_toml(stated.to_toml()).hash == stated.hash


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Each field of a canonical form, with its name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def field(name: str, good: Callable[[Any], bool] = bool) -> Callable[[dict[str, Any]], bool]:
    return lambda form: any(found == name and good(value) for found, value in walk(form))


def arrivals(kind: str) -> Callable[[dict[str, Any]], bool]:
    return field("arrivals", lambda value: isinstance(value, dict) and value["kind"] == kind)


def sizes(kind: str) -> Callable[[dict[str, Any]], bool]:
    return field("sizes", lambda value: value["kind"] == kind)


def loss(kind: str) -> Callable[[dict[str, Any]], bool]:
    return field("loss", lambda value: value["kind"] == kind)


def bursts(kind: str) -> Callable[[dict[str, Any]], bool]:
    return field("bursts", lambda value: value[0]["kind"] == kind)


SHOWN: dict[str, Callable[[dict[str, Any]], bool]] = {
    "a flow without end": field("size_segments", lambda value: value is None),
    "a sized flow": field("size_segments"),
    "a limited application": lambda form: any(
        "application" in flow and not flow.get("datagrams") for flow in form["flows"]
    ),
    "a receive window of 64 KB": field("receive_window", lambda value: value == 64_000 // 1448),
    "on and off, exponential": bursts("exponential"),
    "on and off, Pareto": bursts("pareto"),
    "datagrams": field("datagrams"),
    "Poisson datagrams": field("poisson"),
    "a variable bit rate": field("frames"),
    "transfers at a load": arrivals("load"),
    "transfers per second": arrivals("poisson"),
    "users": arrivals("users"),
    "a replayed list": arrivals("list"),
    "lognormal-Pareto sizes": sizes("lognormal_pareto"),
    "Pareto sizes": sizes("pareto"),
    "drawn round trips": field("rtts"),
    "reverse traffic": lambda form: any(
        form["links"][source["flow"]["path"][1]]["name"].endswith("/reverse") for source in form.get("traffic", [])
    ),
    "transfers alone": lambda form: not form["flows"],
    "a bound in bytes": field("limit_bytes"),
    "the packet being sent counts": field("count_in_service"),
    "Bernoulli losses": loss("bernoulli"),
    "Gilbert-Elliott losses": loss("gilbert_elliott"),
    "listed losses": loss("list"),
    "jitter": field("jitter"),
    "reordering": field("reorder"),
    "duplicates": field("duplicate"),
    "steps of the rate": field("rate_steps"),
    "tables over time": field("steps_in_order"),
    "a trace": field("rate_trace_ms"),
    "bursts of a radio link": field("aggregation"),
    "retransmission by the link layer": field("retransmission"),
    "losses for a time": loss("interval"),
    "losses in intervals": loss("intervals"),
    "losses after the transmitter": field("loss_on_wire"),
    "bursts in time": loss("timed_states"),
    "an encoder": lambda form: any((flow.get("application") or {}).get("rate_steps") for flow in form["flows"]),
    "writes": field("writes"),
    "ACKs that are counted": field("acks_counted"),
    "changes of route": field("delay_steps"),
    "a wrong base RTT": field("base_rtt_error_ps"),
    "a host's delay": field("host_ack_ps"),
    "a host's clock": field("receiver_clock"),
    "ECN": field("ecn"),
    "accurate ECN": lambda form: any(flow["algorithm"] in ("dctcp", "prague") for flow in form["flows"]),
    "UDT": lambda form: any(flow["algorithm"].startswith("udt") for flow in form["flows"]),
    "internal variables": field("internals"),
    "an event log": field("events"),
} | {f"the queue {name}": field("kind", partial(operator.eq, name)) for name in queues()}


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("page")
    return [load(text, folder).canonical() for text in BLOCKS]


@pytest.mark.parametrize("what", SHOWN)
def test_the_page_shows(what: str, forms: list[dict[str, Any]]) -> None:
    assert any(SHOWN[what](form) for form in forms)


def test_the_page_is_linked() -> None:
    root = PAGE.parents[1]
    assert "\nscenarios\n" in (root / "docs" / "index.md").read_text(encoding="utf-8")
    assert "(docs/scenarios.md)" in (root / "README.md").read_text(encoding="utf-8")


def test_a_run_leaves_by_every_way(tmp_path: Path) -> None:
    result: Run = run(load(BLOCKS[-1], tmp_path), store=Store(tmp_path / "store"))
    events = events_of(result)
    assert {path.name for path in result.to_csv(tmp_path / "csv")} >= {"flows.csv", "events.csv"}
    assert {path.name for path in result.to_parquet(tmp_path / "parquet")} >= {"flows.parquet", "samples.parquet"}
    assert write_pcapng(result, events, tmp_path / "run.pcapng") > 100
    assert write_qlog(result, events, tmp_path / "run.qlog") > 100
