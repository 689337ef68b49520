"""Papers on Linux in virtual time: twins of scenarios, the plan, the budget and the page. The kernel is pretended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elephan import papers
from elephan.backends.linux import kernels
from elephan.backends.linux.twin import twin
from elephan.cli.main import run_command
from elephan.evaluation import in_kernel as evaluation_in_kernel
from elephan.papers import in_kernel, linux_board
from elephan.report import figures
from elephan.runs import Store
from elephan.scenario import Scenario, ScenarioError

NS2 = {"base": "ns2-sack1", "receive_window": "500 segments", "initial_ssthresh": "500 segments"}


def small(algorithm: str, *others: dict[str, Any], parameters: dict[str, Any] | None = None, **more: Any) -> Scenario:
    flow = {"algorithm": algorithm, **({"parameters": parameters} if parameters else {})}
    fields = {
        "duration": "3 s",
        "measure": {"from": "1 s"},
        "rate": "20 Mbit/s",
        "rtt": "40 ms",
        "buffer": "50 packets",
    }
    return Scenario.dumbbell([flow, *others], **(fields | more))


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with Debian's HZ, so that plans are made anywhere."""
    monkeypatch.setattr(kernels, "chosen", lambda _hz=None: SimpleNamespace(hz=250))


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator stands for Linux, so that all but its runs is tried anywhere; no figure is drawn for print."""
    monkeypatch.setattr(figures, "save", lambda figure, folder: [])
    real = evaluation_in_kernel.CARRIERS["linux"]
    monkeypatch.setitem(evaluation_in_kernel.CARRIERS, "linux", replace(real, backend="sim", require=lambda: None))
    monkeypatch.setattr("elephan.papers.results.KernelColumn.host", "a pretended kernel")


# ---- twins ----


def test_an_algorithm_that_linux_has_is_linuxs_own_with_its_endpoint() -> None:
    found = twin(small("cubic:2005", stack=NS2, send_jitter="8 us"))
    [flow] = found.scenario.form.flows
    assert flow.algorithm == "cubic:linux"
    assert (flow.stack.receive_window, flow.stack.recovery, flow.stack.detection) == (500, "prr", "rack")
    assert found.differences[0] == "the kernel's own endpoint: loss detection, recovery, timeouts and delayed ACKs"
    assert "cubic:2005 is Linux's own cubic, with arithmetic linux and not fluid" in found.differences[-1]
    assert "no send_jitter of 8 us: real senders have their own" in found.differences


def test_an_algorithm_that_linux_lacks_is_compiled_into_it() -> None:
    found = twin(small("fast:ns2-1.1", parameters={"alpha": 40}))
    [flow] = found.scenario.form.flows
    assert flow.algorithm == "fast"
    assert flow.parameters["alpha"] == 40
    assert "fast:ns2-1.1 is Elephan's C source of it, compiled into the kernel" in found.differences


def test_a_stated_value_that_the_module_can_have_is_given_to_it() -> None:
    [flow] = twin(small("cubic:2005", parameters={"beta": 0.8})).scenario.form.flows
    assert (flow.algorithm, dict(flow.parameters)) == ("cubic:linux", {"beta": 0.8})


def test_datagrams_and_background_traffic_stay_simulated_in_the_same_queues() -> None:
    udp = {"datagrams": {"rate": "1 Mbit/s"}, "name": "udp"}
    scenario = small("hstcp", udp, stack=NS2)
    found = twin(scenario)
    tcp, datagrams = found.scenario.form.flows
    assert (tcp.backend, datagrams.backend) == ("linux", None)
    assert datagrams.stack.payload_bytes == scenario.form.flows[1].stack.payload_bytes
    assert "datagrams simulated, in the same queues: the engine is the path" in found.differences


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (small("reno", parameters={"increase": 0.3}), "'increase' of reno is 1 always, and this flow has 0.3"),
        (small("htcp", parameters={"delta_l": 0.5}), "'delta_l' of htcp is 1 always, and this flow has 0.5"),
        (small("ledbat"), "has no 'ledbat'"),
        (small("cubic", internals=True), "internals"),
    ],
    ids=["another rule", "another value", "no module", "internals"],
)
def test_another_experiment_is_refused(scenario: Scenario, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        twin(scenario)


def test_background_traffic_without_a_flow_is_refused() -> None:
    """Nothing of such a scenario would run on Linux."""
    source = {"algorithm": "reno", "load": "10 Mbit/s", "sizes": {"mean": "50 kB"}}
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"}
    scenario = Scenario.from_dict({"duration": "3 s", "dumbbell": path, "traffic": [source]})
    with pytest.raises(ScenarioError, match="has 1 to 100 flows"):
        twin(scenario)


@pytest.mark.parametrize("name", ["weigle2006", "hcc2011"])
def test_a_whole_paper_can_be_carried_but_for_what_it_says(name: str) -> None:
    store = Store("no such folder")
    planned = evaluation_in_kernel.carried(
        papers.get(name, quick=True).experiments.values(),
        (),
        store,
        replace(evaluation_in_kernel.CARRIERS["linux"], backend="sim"),
        path=name,
    )
    asked = {
        scenario.hash for e in papers.get(name, quick=True).experiments.values() for scenario in e.scenarios.values()
    }
    assert len(planned.pieces) + len(planned.refused) == len(asked)
    assert len(planned.refused) <= 0.05 * len(asked), planned.left_out
    assert planned.takes_s > 0


# ---- runs, budget and page ----


def test_a_twin_beside_simulated_flows_is_simulated_whole(tmp_path: Path) -> None:
    """Its flows run on Linux by the scenario's own words, which the simulator refuses."""
    scenario = small("hstcp", {"datagrams": {"rate": "1 Mbit/s"}, "name": "udp"}, stack=NS2)
    found = twin(scenario)
    piece = SimpleNamespace(twin=found, scenario=scenario)
    outcome: Any = SimpleNamespace(piece=piece, valid=True)
    stand_ins = evaluation_in_kernel.simulated([outcome], 1, Store(tmp_path), None)
    [run] = stand_ins.of(scenario)
    assert [flow.backend for flow in run.scenario.form.flows] == [None, None]
    assert run.flows["goodput_mbps"].sum() > 10


def selection(paper: str = "weigle2006") -> Any:
    """The small paper with its shortest experiment alone."""
    whole = papers.get(paper, quick=True)
    experiments = {name: e for name, e in whole.experiments.items() if name.endswith("F4")}
    return replace(whole, experiments=experiments, claims=whole.claims.of_experiments(experiments))


@pytest.mark.usefixtures("pretended")
def test_a_spent_budget_leaves_runs_for_the_next_call(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    paper = selection()
    result = papers.reproduce(paper, seeds=1, jobs=1, store=store, out=tmp_path / "report")
    planned = in_kernel.plan(paper, store=store, on="linux")
    assert [piece.label for piece in planned.to_run] == ["hstcp>htcp", "htcp>hstcp"]
    column = in_kernel.add(result, planned, jobs=1, store=store, until_s=0.0)
    assert {outcome.why for outcome in column.outcomes} == {"the budget was spent before it was run"}
    assert column.failed == 0
    whole = in_kernel.add(result, planned, jobs=1, store=store)
    assert all(outcome.valid for outcome in whole.outcomes)
    assert in_kernel.plan(paper, store=store, on="linux").to_run == []


@pytest.mark.usefixtures("pretended")
def test_the_page_has_the_verdicts_and_what_was_not_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    arguments: dict[str, Any] = {"jobs": 1, "store": store, "out": tmp_path, "progress": None}
    nothing = linux_board.run([selection()], budget_s=1e-9, **arguments)
    assert "| weigle2006.F4 | 2 | the budget was spent before it was run |" in linux_board.page(nothing)
    assert "no claim is judged by runs on Linux yet" in linux_board.page(nothing)
    found = linux_board.run([selection()], budget_s=None, **arguments)
    path = linux_board.write(found, tmp_path)
    page = path.read_text(encoding="utf-8")
    [row] = found["papers"]
    judged = [claim for claim in row["claims"] if claim["kernel"]["verdict"] != "not_judged"]
    assert judged
    for claim in judged:
        assert f"`{claim['id'].removeprefix('weigle2006.')}`" in page
    assert f"of {len(judged)} judged claims hold on Linux" in page
    assert "the kernel's own endpoint: loss detection" in page
    kept = json.loads((tmp_path / linux_board.DOCUMENT).read_text(encoding="utf-8"))
    assert linux_board.page(kept) == page, "the page is made from the saved document alone"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["papers", "--on", "kernel"], "--on: all papers do not run on 'kernel'; allowed: linux, sim"),
        (["papers", "--budget", "2h"], "--budget: it is for runs on Linux; write --on linux --budget"),
        (["papers", "--on", "linux", "--budget", "soon"], "--budget: "),
        (["paper", "weigle2006", "--on", "linux", "--again"], "--again: no host disturbs runs in virtual time"),
        (["paper", "weigle2006", "--budget", "2h"], "--budget: it selects runs in the kernel; write --on kernel"),
    ],
)
def test_options_that_do_not_belong_together_are_told(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2
    assert line in capsys.readouterr().err
