"""Flows whose routers help: what a scenario says of them, what is refused, what is warned of, and that they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan.cli.main import run_command
from elephan.scenario import Scenario, ScenarioError, catalog

ROOT = Path(__file__).resolve().parents[2]
PATH: dict[str, Any] = {"rate": "20 Mbit/s", "rtt": "50 ms", "buffer": "1 BDP", "duration": "12 s"}


def dumbbell(flows: list[Any], queue: str, **more: Any) -> Scenario:
    return Scenario.dumbbell(flows, queue=queue, **(PATH | more))


def test_a_router_has_its_parameters_with_the_paper_s_defaults_on_both_ways_of_the_bottleneck() -> None:
    form = dumbbell(["xcp"], "xcp").canonical()
    queues = {link["name"]: link["queue"] for link in form["links"]}
    limits = {"limit_packets": 83, "limit_bytes": None}
    expected = limits | {"kind": "xcp", "alpha": 0.4, "beta": 0.226, "gamma": 0.1, "standing": 1.0}
    assert queues["bottleneck"] == queues["bottleneck/reverse"] == expected
    form = dumbbell(["vcp"], "vcp", queue_parameters={"t_q": "5 ms", "gamma": 0.9}).canonical()
    times = {"t_rho_ps": 200 * 10**9, "t_q_ps": 5 * 10**9}
    assert form["links"][0]["queue"] == limits | times | {"kind": "vcp", "kq": 0.5, "gamma": 0.9}


def test_every_parameter_of_a_router_is_documented() -> None:
    for name, parameters in {"xcp": "alpha beta gamma standing", "vcp": "t_rho t_q kq gamma"}.items():
        entry = catalog.queues()[name]
        assert [parameter["name"] for parameter in entry["parameters"]] == parameters.split()
        assert "SIGCOMM" in entry["source"]
        assert all(parameter["doc"] and parameter["default"] is not None for parameter in entry["parameters"])
    assert catalog.routers() == {"xcp", "vcp"}
    assert (catalog.router("vcp:ns2"), catalog.router("cubic")) == ("vcp", None)


@pytest.mark.parametrize(("algorithm", "queue"), [("xcp", "droptail"), ("xcp", "vcp"), ("vcp:ns2", "xcp")])
def test_a_flow_without_its_routers_is_refused(algorithm: str, queue: str) -> None:
    kind = algorithm.partition(":")[0]
    said = f"'{algorithm}' needs {kind} routers, and no link on its path has one; write queue = \"{kind}\""
    with pytest.raises(ScenarioError) as refused:
        dumbbell(["reno", algorithm], queue)
    assert str(refused.value) == f"flow[1].algorithm: {said}"
    source = {"algorithm": algorithm, "per_second": 1.0}
    with pytest.raises(ScenarioError) as refused:
        dumbbell(["reno"], queue, traffic=[source])
    assert str(refused.value) == f"traffic[0].algorithm: {said}"


def test_a_router_on_the_way_back_only_is_none() -> None:
    link = {"from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "50 packets", "duplex": False}
    back = link | {"name": "home", "from": "b", "to": "a", "queue": "xcp"}
    with pytest.raises(ScenarioError, match="needs xcp routers"):
        Scenario.from_dict(
            {
                "duration": "5 s",
                "link": [link | {"name": "out"}, back],
                "flow": [{"algorithm": "xcp", "path": ["out"], "reverse_path": ["home"]}],
            }
        )


def test_who_does_not_listen_is_named() -> None:
    found = dumbbell(["xcp", "cubic", "reno"], "xcp", measure={"from": "1 s"}).warnings()
    assert "bottleneck: its xcp router says nothing to cubic-2, reno-3, which share its buffer" in found
    assert not any("router" in line for line in dumbbell(["xcp", "xcp"], "xcp").warnings())
    assert not any("router" in line for line in dumbbell(["cubic"], "droptail").warnings())


def test_a_link_without_a_router_on_the_path_is_named() -> None:
    link = {"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "50 packets"}
    scenario = Scenario.from_dict(
        {
            "duration": "5 s",
            "link": [
                link | {"name": "west", "from": "a", "to": "b", "queue": "xcp"},
                link | {"name": "east", "from": "b", "to": "c"},
            ],
            "flow": [{"algorithm": "xcp", "path": ["west", "east"]}],
        }
    )
    assert scenario.warnings() == ["xcp-1: hears nothing of east, which has a queue but no xcp router"]


def test_a_router_on_a_link_whose_rate_changes_and_intervals_that_differ_are_named() -> None:
    steps = [{"at": "5 s", "rate": "10 Mbit/s"}]
    found = dumbbell(["xcp"], "xcp", rate_steps=steps).warnings()
    assert "bottleneck: its xcp router uses its rate at the start, 20 Mbit/s" in found
    found = dumbbell(["vcp"], "vcp", queue_parameters={"t_rho": "100 ms"}).warnings()
    assert found == ["vcp-1: reckons with routers that measure every 200 ms, and bottleneck does every 100 ms"]
    flow = {"algorithm": "vcp", "parameters": {"t_rho": 0.1}}
    assert dumbbell([flow], "vcp", queue_parameters={"t_rho": "100 ms"}).warnings() == []


@pytest.mark.parametrize("kind", ["xcp", "vcp"])
def test_such_a_flow_is_one_like_any_other(kind: str) -> None:
    """The same tables, metrics and event log; transfers that come and go, too."""
    source = {"algorithm": kind, "per_second": 2.0, "sizes": {"distribution": "constant", "mean": "30 kB"}}
    scenario = dumbbell(
        [kind, {"algorithm": kind, "start": "1 s"}],
        kind,
        duration="30 s",
        measure={"from": "20 s"},
        traffic=[source],
        events={"from": "25 s", "to": "25.2 s"},
    )
    summary = elephan.run(scenario).summary()
    link = next(row for row in summary["links"] if row["name"] == "bottleneck")
    assert link["drops"] == 0
    assert link["utilization"] > (0.97 if kind == "xcp" else 0.85)
    assert link["queue_mean_packets"] < 10
    assert summary["traffic"][0]["transfers_completed"] > 40
    result = elephan.run(scenario)
    assert result.flows["retransmits"].sum() == 0
    assert max(result.samples["cwnd"].drop_nulls().to_list()) > 10
    assert result.events is not None
    assert result.events["kind"].cast(str).is_in(["acked"]).any()


def test_pacing_spreads_what_bunches_of_acks_would_release_at_once() -> None:
    """One flow each way: the ACKs of each wait behind the data of the other."""
    flows: list[Any] = ["xcp", {"algorithm": "xcp", "direction": "left"}]

    def links(seed: int, **stack: bool) -> list[dict[str, Any]]:
        scenario = dumbbell(flows, "xcp", stack=stack, measure={"from": "6 s"}, seed=seed)
        return list(elephan.run(scenario).summary()["links"])

    # The bunches of ACKs depend on the phases of the two flows, and so on the seed.
    seeds = range(1, 4)
    paced = [link for seed in seeds for link in links(seed, pacing=True)]
    assert all(link["drops"] == 0 and link["utilization"] > 0.98 for link in paced), paced
    unpaced = [sum(link["drops"] for link in links(seed)) for seed in seeds]
    assert sum(drops > 0 for drops in unpaced) >= 2, unpaced


def test_a_parking_lot_has_a_router_at_every_hop() -> None:
    flows: list[dict[str, Any]] = [
        {"algorithm": "xcp"},
        *({"algorithm": "xcp", "hops": [hop, hop]} for hop in (1, 2, 3)),
    ]
    scenario = Scenario.from_dict(
        {
            "duration": "15 s",
            "measure": {"from": "8 s"},
            "parking_lot": {"hops": 3, "rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP", "queue": "xcp"},
            "flow": flows,
        }
    )
    rates = [row["goodput_mbps"] for row in elephan.run(scenario).summary()["flows"]]
    # Max-min: half of each hop for each of its two flows.
    assert all(abs(rate - 9.65) < 0.5 for rate in rates), rates


def test_the_example_of_the_documentation_runs_and_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    block = text.split("## Routers that help")[1].split("```toml\n")[1].split("```")[0]
    Path("routers.toml").write_text(block, encoding="utf-8")
    assert run_command(["run", "routers.toml"]) == 0
    assert "xcp-1" in capsys.readouterr().out
    run = elephan.run(Scenario.load("routers.toml"))
    rates = [row["goodput_mbps"] for row in run.summary()["flows"][:3]]
    assert sum(rates) ** 2 / (3 * sum(rate * rate for rate in rates)) > 0.99
    assert run.summary()["links"][0]["drops"] == 0
