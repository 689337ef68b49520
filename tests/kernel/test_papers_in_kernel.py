"""The kernel's column of a paper: what stands for its scenarios there, what is left out, and how claims are judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kernel.victim import stated

from elephan import papers
from elephan.backends.kernel import bpf, calibration, host
from elephan.backends.kernel.twin import twin
from elephan.cli.main import run_command
from elephan.evaluation import in_kernel as evaluation_in_kernel
from elephan.evaluation import kernel_runs
from elephan.evaluation.conditions import Value, Where
from elephan.evaluation.evidence import Evidence
from elephan.evaluation.experiments import Experiment
from elephan.evaluation.measurement import Measurement, constant
from elephan.evaluation.tables import made
from elephan.papers import in_kernel, results
from elephan.papers.claims import Claim, parse_claims
from elephan.papers.judging import Judgment
from elephan.papers.paper import Paper
from elephan.papers.results import PaperResult
from elephan.papers.schema import ClaimsTable
from elephan.report.figures import Figure
from elephan.runs import Run, Store, run_id, sweep
from elephan.runs.work import PREPARATION_S
from elephan.scenario import Scenario, ScenarioError

MISSING = host.missing()
needs_kernel = pytest.mark.skipif(bool(MISSING), reason="; ".join(f"{k}: {v}" for k, v in MISSING.items()) or "can")
needs_objects = pytest.mark.skipif(bool(bpf.missing()), reason=bpf.missing() or "can")
NS2 = {"base": "ns2-sack1", "receive_window": "500 segments", "initial_ssthresh": "500 segments"}


def small(algorithm: str, **more: Any) -> Scenario:
    fields: dict[str, Any] = {"duration": "3 s", "measure": {"from": "1 s"}, "rate": "20 Mbit/s", "title": algorithm}
    return stated([{"algorithm": algorithm, **more.pop("flow", {})}], **(fields | more))


SCENARIOS: Mapping[str, Scenario] = {
    "old cubic": small("cubic:2005", stack=NS2, send_jitter="8 us"),
    "reno": small("reno"),
    "marked": small("cubic", queue="codel"),
}


class Tiny:
    """Measures a flow's rate in one scenario; a rule needs no run."""

    def __init__(self, runs: Evidence) -> None:
        self._runs = runs

    def points(self, parameter: str, claim: Claim) -> Sequence[Value]:
        raise AssertionError(parameter)

    def measure(self, metric: str, subject: str, where: Where, claim: Claim) -> Measurement:
        if metric == "rule":
            return constant(2.0)
        found = self._runs.of(SCENARIOS[subject])
        sample = tuple(float(self._runs.metric(run, "utilization")) for run in found)
        return Measurement(sample=sample, runs=tuple(run.id for run in found))


def _claim(name: str, subject: str, expected: float, metric: str = "utilization") -> dict[str, Any]:
    return {
        "id": name, "figure": "Fig 1", "experiment": "E", "metric": metric,
        "subject": subject, "relation": ">=", "tolerance_kind": "bound", "expected": expected, "basis": "text",
        "certainty": "certain", "check": "simulation", "robustness": "high", "quote": "fills the path",
    }  # fmt: skip


def _no_figures(runs: Evidence) -> Sequence[Figure]:
    return ()


@pytest.fixture
def paper() -> Paper:
    tables = [
        _claim("old", "old cubic", 0.5),
        _claim("reno", "reno", 0.5),
        _claim("marked", "marked", 0.5),
        _claim("rule", "reno", 2.0, metric="rule"),
    ]
    stated = [{"id": "E", "title": "one flow", "figure": "Fig 1"}]
    claims = parse_claims(
        made(ClaimsTable, {"schema_version": 2, "paper": "tiny", "experiment": stated, "claim": tables})
    )
    experiment = Experiment("tiny.E", "one flow", "Fig 1", SCENARIOS)
    return Paper("tiny", "A tiny paper", "Nobody, 2026", claims, {"tiny.E": experiment}, Tiny, _no_figures)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator stands for the kernel, so that all but its runs is tried anywhere."""
    pretend(monkeypatch)
    monkeypatch.setattr(results.KernelColumn, "host", "a pretended host")


def pretend(monkeypatch: pytest.MonkeyPatch, failed: Callable[[Run], list[str]] = lambda _run: []) -> None:
    real = evaluation_in_kernel.CARRIERS["kernel"]
    mine = replace(real, backend="sim", require=lambda: None, failed_checks=failed)
    monkeypatch.setitem(evaluation_in_kernel.CARRIERS, "kernel", mine)


def simulated(paper: Paper, tmp_path: Path, store: Store) -> PaperResult:
    return papers.reproduce(paper, jobs=1, store=store, out=tmp_path / "report")


# ---- twins ----


def test_a_twin_keeps_the_network_and_the_flows_and_states_what_it_lacks() -> None:
    scenario = SCENARIOS["old cubic"]
    found = twin(scenario)
    before, after = scenario.canonical(), found.scenario.canonical()
    same = [key for key in before if key not in ("flows", "send_jitter_ps")]
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    (flow,), (own,) = before["flows"], after["flows"]
    assert own["name"] == flow["name"] == "cubic:2005-1"
    assert (own["algorithm"], own["parameters"]) == ("cubic:linux", {})
    told = ("payload_bytes", "initial_window", "receive_window")
    assert [own["stack"][key] for key in told] == [flow["stack"][key] for key in told] == [1000, 1, 500]
    assert own["stack"]["recovery"] == "prr"
    assert found.differences == (
        "the kernel's own endpoint: loss detection, recovery, timeouts and delayed ACKs",
        "packets of 1052 B on the path and not 1040 B, since headers have 52 B",
        "no send_jitter of 8 us: real senders have their own",
        "cubic:2005 is Linux's own cubic, with arithmetic linux and not fluid, beta 0.7002 and not 0.8, beta_ecn "
        "0.7002 and not 0.8, reno_estimate acked and not time, s_max 0 and not 160, slow_start hystart and not "
        "standard, target_cap 1.5 and not 0",
    )
    assert found.duration_s == 3.0


def test_a_scenario_of_todays_linux_is_its_own_twin() -> None:
    scenario = small("reno:linux")
    found = twin(scenario)
    assert found.differences == ("reno:linux is Linux's own reno",)
    assert {**found.scenario.canonical(), "flows": 0} == {**scenario.canonical(), "flows": 0}


def test_an_initial_threshold_that_ends_slow_start_is_missed() -> None:
    low = small("reno", stack={"base": "linux", "initial_ssthresh": "50 segments"})
    assert any("no initial threshold of 50 segments" in line for line in twin(low).differences)


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (
            small("reno", flow={"parameters": {"increase": 0.3}}),
            "'increase' of reno is 1 always, and this flow has 0.3",
        ),
        (small("hybla"), "has no 'hybla'"),
        (stated([{"datagrams": {"rate": "1 Mbit/s"}, "name": "udp"}, "reno"]), "cannot do datagrams"),
        (small("reno", rate="10 Gbit/s"), "was not calibrated beyond 1000 Mbit/s"),
    ],
    ids=["another rule", "no module", "datagrams", "rate"],
)
def test_what_would_be_another_experiment_is_refused(scenario: Scenario, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        twin(scenario)


def test_a_rate_that_the_host_did_not_carry_is_refused() -> None:
    rows = [calibration.Result("reno", rate, 40, 1.0, 5.0, 40.0, 0.5, 0.0, valid=rate < 50) for rate in (10, 100)]
    calibration.Calibration(calibration.host_name(), "2026-11-22", rows).save()
    assert twin(small("reno", rate="10 Mbit/s")).scenario.flow_names == ["reno-1"]
    with pytest.raises(ScenarioError, match="up to 10 Mbit/s honestly in its calibration, and this path has 20 Mbit/s"):
        twin(small("reno"))


@needs_objects
def test_an_object_has_the_papers_rules_as_far_as_it_can() -> None:
    flow = {"parameters": {"alpha": 40, "known_rtt": 0.02}}
    found = twin(small("fast:ns2-1.1", flow=flow))
    (own,) = found.scenario.canonical()["flows"]
    assert own["algorithm"] == "fast"
    assert own["parameters"] == {"alpha": 40.0, "known_rtt": 0.02, "filter_max": 1 / 256, "update_every": 1.0}
    assert found.differences == ("fast:ns2-1.1, with timing paper and not ns2",)
    (beside,) = twin(small("hstcp", flow={"parameters": {"halve_in_slow_start": True}})).differences
    assert beside.startswith("hstcp, without halve_in_slow_start: ns-2's agent halves on a loss in slow start")
    with pytest.raises(ScenarioError, match="in the kernel 'timing' of fast is paper always, and this flow has ns2"):
        twin(small("fast", flow={"parameters": {"timing": "ns2"}}))


@needs_kernel
@needs_objects
def test_the_pairs_of_a_figure_can_all_be_carried() -> None:
    found = papers.plan_in_kernel("weigle2006", figure="F5", quick=True)
    assert [piece.label for piece in found.pieces] == ["fast>stcp", "bic>hstcp"]
    assert [piece.twin.scenario.flow_names for piece in found.pieces] == [["fast-1", "stcp-2"], ["bic-1", "hstcp-2"]]


# ---- plans ----


@pytest.mark.usefixtures("pretended")
def test_a_plan_says_how_long_it_takes_and_what_is_left_out(paper: Paper, tmp_path: Path) -> None:
    planned = in_kernel.plan(paper, store=Store(tmp_path / "store"))
    assert [piece.label for piece in planned.to_run] == ["old cubic", "reno"]
    assert planned.takes_s == 2 * (3 + PREPARATION_S["kernel"])
    assert list(planned.lines()) == [
        "in the kernel: 2 runs one after the other, 10 s of real time; 0 are saved",
        "left out: tiny.E, 1 run: link bottleneck: the backend 'kernel' cannot do a queue 'codel'; 'sim' can",
    ]
    some = in_kernel.plan(paper, only=["REN*"], store=Store(tmp_path / "store"))
    assert [piece.label for piece in some.to_run] == ["reno"]
    assert "1 run one after the other, 5 s of real time; 0 are saved, 1 not asked for" in next(some.lines())
    assert len(in_kernel.plan(paper, only=["e/*"], store=Store(tmp_path / "store")).to_run) == 2
    with pytest.raises(ScenarioError, match="'vegas' is the label of no run here; there are 'old cubic', 'reno'"):
        in_kernel.plan(paper, only=["vegas"])
    assert [kernel_runs.duration(s) for s in (30, 600, 9000, 64500)] == [
        "30 s",
        "10 min",
        "2 h 30 min",
        "17 h 55 min",
    ]


def test_where_nothing_can_be_run_it_says_what_is_missing(
    paper: Paper, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(host, "missing", lambda: {"root": "run the same command with sudo"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match="needs root; run the same command with sudo; see elephan lab check"):
        in_kernel.plan(paper)
    assert run_command(["paper", "weigle2006", "--quick", "--figure", "F4", "--on", "kernel"]) == 2
    assert capsys.readouterr().err.startswith("elephan: weigle2006: the backend 'kernel' needs root")
    monkeypatch.setattr(host, "missing", dict)
    assert run_command(["paper", "leith2008", "--quick", "--figure", "F1", "--on", "kernel"]) == 2
    assert "nothing of this can be run in the kernel: leith2008.F1: flow[1].datagrams" in capsys.readouterr().err
    assert not list(tmp_path.glob(".elephan/runs/*")), "it is said before anything is run"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--on", "model"], "--on: papers do not run on 'model'; allowed: kernel, linux, sim"),
        (["--only", "reno"], "--only: it selects runs in the kernel; write --on kernel --only"),
        (["--again"], "--again: it selects runs in the kernel; write --on kernel --again"),
    ],
)
def test_options_that_do_not_belong_together_are_told(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["paper", "weigle2006", *words]) == 2
    assert line in capsys.readouterr().err


# ---- columns ----


def test_a_difference_that_the_twin_has_too_is_told_from_the_hosts(paper: Paper) -> None:
    """Only the verdicts matter here: simulated, by the twin, and in the kernel."""
    verdicts = {
        "old": ("reproduced", "differs", "differs"),
        "reno": ("reproduced", "reproduced", "differs"),
        "marked": ("reproduced", "not_judged", "not_judged"),
        "rule": ("reproduced", "reproduced", "reproduced"),
    }
    by_name = {claim.id.removeprefix("tiny."): claim for claim in paper.claims.claims}
    judged = [
        {name: Judgment(by_name[name], each[i], "") for name, each in verdicts.items()}  # type: ignore[arg-type]
        for i in range(3)
    ]
    column = results.KernelColumn(kernel_runs.KernelRuns((), (), {}, evaluation_in_kernel.CARRIERS["kernel"]), [])
    column.judgments = {one.claim.id: one for one in judged[2].values()}
    column.twins = {one.claim.id: one for name, one in judged[1].items() if name != "marked"}
    simulated = list(judged[0].values())
    assert column.other_verdicts(simulated) == ["tiny.old", "tiny.reno"]
    assert column.by_twin(simulated) == ["tiny.old"]
    assert column.totals == {"reproduced": 1, "weak": 0, "differs": 2, "not_judged": 1}


@pytest.mark.usefixtures("pretended")
def test_claims_have_a_second_verdict_and_one_that_is_missing_says_why(paper: Paper, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    result = simulated(paper, tmp_path, store)
    heard: list[tuple[float, ...]] = []
    planned = in_kernel.plan(paper, only=["reno"], store=store)
    in_kernel.add(result, planned, store=store, progress=lambda *told: heard.append(told))
    document = json.loads(json.dumps(result.to_json()))
    column = {claim["id"]: claim["kernel"] for claim in document["claims"]}
    assert column["tiny.reno"]["verdict"] == "reproduced"
    assert column["tiny.reno"]["runs"] == [run_id(twin(SCENARIOS["reno"]).scenario.hash, "sim", 1)]
    assert "'cubic:2005' has no run in the kernel: it was not run" in column["tiny.old"]["why"]
    assert "cannot do a queue 'codel'" in column["tiny.marked"]["why"]
    assert column["tiny.rule"]["why"] == in_kernel.NOT_MEASURED
    assert document["kernel"]["totals"] == {"reproduced": 1, "weak": 0, "differs": 0, "not_judged": 3}
    assert document["totals"] == {"reproduced": 4, "weak": 0, "differs": 0, "not_judged": 0}
    assert document["kernel"]["left_out"][0]["runs"] == ["marked"]
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "kernel's<br>verdict" in page
    assert "cannot do a queue" in page
    assert (tmp_path / "report" / "kernel-beside.svg").exists()
    assert heard[-1][2:] == (1, 1)
    # The kernel is pretended, so that the twin in the simulator is the very same run.
    assert column["tiny.reno"]["twin_simulated"]["measured"] == column["tiny.reno"]["measured"]
    assert column["tiny.old"]["twin_simulated"] is None


@pytest.mark.usefixtures("pretended")
def test_a_run_that_is_not_valid_is_shown_and_not_judged_by(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    result = simulated(paper, tmp_path, store)
    late = "the host was too busy"
    busy = twin(SCENARIOS["old cubic"]).scenario.hash
    pretend(monkeypatch, lambda run: [late] if run.manifest["scenario_hash"] == busy else [])
    column = in_kernel.add(result, in_kernel.plan(paper, store=store), store=store)
    assert (column.judgments["tiny.old"].verdict, column.judgments["tiny.reno"].verdict) == ("not_judged", "reproduced")
    assert f"it is not valid: {late}" in column.judgments["tiny.old"].why
    row = next(row for row in result.to_json()["kernel"]["runs"] if row["label"] == "old cubic")
    assert row["valid"] is False
    assert f"it is not valid: {late}" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert in_kernel.plan(paper, store=store).to_run == [], "it is saved, and not made again"
    assert [piece.label for piece in in_kernel.plan(paper, again=True, store=store).to_run] == ["old cubic"]


@pytest.mark.usefixtures("pretended")
def test_a_run_that_fails_is_told_and_the_others_go_on(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    result = simulated(paper, tmp_path, store)
    planned = in_kernel.plan(paper, store=store)

    def sometimes(scenarios: Any, **more: Any) -> Sequence[Run]:
        from elephan.runs import Failure, Sweep, SweepError

        bad = [one for one in scenarios if one[0].title == "cubic:2005"]
        made = sweep([one for one in scenarios if one not in bad], **more)
        if bad and more.get("on"):
            raise SweepError(
                [Failure(scenario, seed, RuntimeError("no namespace")) for scenario, seed in bad], Sweep([None], bad)
            )
        return made

    monkeypatch.setattr(evaluation_in_kernel, "sweep", sometimes)
    column = in_kernel.add(result, planned, store=store)
    assert column.failed == 1
    assert "it failed: no namespace" in column.judgments["tiny.old"].why
    assert column.judgments["tiny.reno"].verdict == "reproduced"


@needs_kernel
def test_a_small_paper_in_the_kernel(paper: Paper, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    result = simulated(paper, tmp_path, store)
    planned = in_kernel.plan(paper, store=store)
    column = in_kernel.add(result, planned, jobs=1, store=store)
    if not all(outcome.valid for outcome in column.outcomes):
        pytest.skip(f"this host is too busy: {[outcome.why for outcome in column.outcomes]}")
    assert [column.judgments[f"tiny.{name}"].verdict for name in ("old", "reno")] == ["reproduced", "reproduced"]
    assert {name: one.verdict for name, one in column.twins.items()} == dict.fromkeys(column.twins, "reproduced")
    assert list(column.twins) == ["tiny.old", "tiny.reno"]
    assert column.host.startswith("Linux ")
    (run,) = column.runs.of(SCENARIOS["old cubic"])
    assert run.backend == "kernel"
    assert run.manifest["engine_summary"]["kernel"]["congestion_controls"] == ["cubic"]
    assert in_kernel.plan(paper, store=store).to_run == []
    saved = in_kernel.add(result, in_kernel.plan(paper, store=store), store=store)
    assert saved.judgments == column.judgments, "what is saved is judged alike"
    assert saved.other_verdicts(result.claims) == saved.by_twin(result.claims) == []
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "The same experiments in today" in page
