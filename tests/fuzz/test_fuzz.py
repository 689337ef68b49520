"""The generator reaches all that can be written, failures are seen, and a few hundred scenarios do not fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.fuzz import __main__ as runner
from tests.fuzz import checks, generator, limits, trial
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import AGAIN_EVERY, CANCELLED, FAILED, RAN, REFUSED, Outcome
from tests.fuzz.worker import Worker

import elephan
from elephan.runs import Run, invariants
from elephan.runs.execute import compute
from elephan.scenario import catalog
from elephan.scenario.schema import TABLES, HostClock, ScenarioTable, field_names

SEEDS = range(100)
"""Those of ``make test``; ``make verify`` runs twice as many, and ``make fuzz`` others."""


@pytest.fixture(scope="module")
def written() -> dict[str, set[str]]:
    """Words that many seeds write: fields by their table, algorithms, queues, and parameters by their owner."""
    found: dict[str, set[str]] = {}
    for seed in range(6000):
        for owner, name in _names(generator.tables(seed), ""):
            found.setdefault(owner, set()).add(name)
    return found


def _names(node: Any, table: str) -> Iterator[tuple[str, str]]:
    for row in node if isinstance(node, list) else [node]:
        if not isinstance(row, dict):
            continue
        for name, value in row.items():
            yield table, name
            if name == "algorithm" and isinstance(value, str):
                yield "algorithms", value
            if name == "queue" and isinstance(value, str):
                yield "queues", value
            if name == "parameters" and isinstance(value, dict):
                yield from (("algorithm " + str(row.get("algorithm")).partition(":")[0], given) for given in value)
            elif name == "queue_parameters" and isinstance(value, dict):
                yield from (("queue " + str(row.get("queue", "droptail")).partition(":")[0], given) for given in value)
            elif isinstance(value, dict | list):
                yield from _names(value, name)


@pytest.mark.parametrize("table", ["", *sorted(TABLES), "sender_clock", "receiver_clock"])
def test_every_field_is_written(written: dict[str, set[str]], table: str) -> None:
    clocks = {"sender_clock": HostClock, "receiver_clock": HostClock}
    models: dict[str, Any] = {"": ScenarioTable} | TABLES | clocks
    # Drawn scenarios run in the simulator, which has neither flows of another backend nor programs.
    undrawn = {"flow": {"backend", "program"}, "program": set(field_names(TABLES["program"]))}
    assert set(field_names(models[table])) - written.get(table, set()) == undrawn.get(table, set())


def test_every_algorithm_and_queue_is_written_with_each_of_its_parameters(written: dict[str, set[str]]) -> None:
    for kind, entries in (("algorithm", catalog.algorithms()), ("queue", catalog.queues())):
        names = set(catalog.spellings(entries)) - {"droptail"}
        assert names - written[f"{kind}s"] == set()
        for name, entry in entries.items():
            declared = {parameter["name"] for parameter in entry["parameters"]}
            assert declared - written.get(f"{kind} {name}", set()) == set(), name


def test_a_seed_gives_the_same_scenario_again() -> None:
    assert generator.tables(5) == generator.tables(5) != generator.tables(6)


@pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(range(2 * len(SEEDS)), marks=pytest.mark.large)], ids=lambda seeds: str(len(seeds))
)
def test_random_scenarios_are_refused_in_one_line_or_run(seeds: range) -> None:
    tally = runner.Tally()
    with Worker() as worker:
        for seed in seeds:
            tally.add(seed, worker.seed(seed))
    assert tally.families == {}
    assert tally.kinds[RAN] > len(seeds) / 2
    assert tally.kinds[REFUSED] > len(seeds) / 10


DUMBBELL: dict[str, Any] = {
    "duration": "2 s",
    "dumbbell": {"rate": "4 Mbit/s", "rtt": "20 ms", "buffer": "20 packets"},
    "flow": [{"algorithm": "cubic"}, {"algorithm": "reno", "start": "1 s"}],
}


def test_a_panic_is_a_failure_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicError(BaseException):
        """Exception of the binding where the engine panics."""

    def panic(*_: Any) -> Run:
        raise PanicError("a clock\nwent back")

    monkeypatch.setattr(trial, "compute", panic)
    assert trial.attempt(DUMBBELL) == Outcome(FAILED, "PanicError: a clock went back")


def test_a_run_that_takes_longer_than_its_size_justifies_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = {"duration": "100 h", "sample_period": "1 h"} | {
        name: value for name, value in DUMBBELL.items() if name != "duration"
    }
    monkeypatch.setattr(limits, "PATIENCE_S", 0.0)
    assert trial.attempt(endless).kind == CANCELLED
    monkeypatch.setattr(limits, "BASE_S", 0.0)
    monkeypatch.setattr(limits, "LONGEST_S", 0.5)
    monkeypatch.setattr(limits, "SECONDS_PER_EVENT", 0.0)
    monkeypatch.setattr(limits, "size_of", lambda _: limits.Size(events=0.0, samples=0.0, slots=0.0))
    outcome = trial.attempt(endless)
    assert outcome.kind == FAILED
    assert outcome.why.startswith("over its limits: ")


def test_impossible_numbers_are_found() -> None:
    run = trial._run(elephan.Scenario.from_dict(DUMBBELL), 60)
    assert list(checks.problems(run)) == []
    tables = run.tables()
    altered = {
        "samples": tables["samples"].with_columns(pl.col("cwnd") * 0.01, pl.col("retransmits").reverse()),
        "flows": tables["flows"].with_columns(pl.col("rtt_p99_ms") * 0.5, pl.lit(-1.0).alias("goodput_mbps")),
        "links": tables["links"].with_columns(pl.col("queue_min") + 10**6, pl.col("dropped_packets") + 10**6),
    }
    extra = {"conservation": run.manifest["conservation"] | {"sent": 0}}
    wrong = Run.from_tables(run.scenario, tables | altered, extra=extra)
    found = " ".join(checks.problems(wrong))
    for words in (
        "samples.cwnd is 0.", "samples.retransmits falls", "rtt_p95_ms is", "goodput_mbps is -1",
        "queue_mean is outside", "packets left of", "packets were sent or duplicated",
    ):  # fmt: skip
        assert words in found


def test_a_process_that_dies_is_reported_and_replaced() -> None:
    with Worker() as worker:
        dead = worker._ask({"form": DUMBBELL})
        assert dead.kind == FAILED
        assert dead.why.startswith("the process died, exit status 1: KeyError")
        assert worker.form(DUMBBELL).kind == RAN


def test_a_failure_is_made_smaller() -> None:
    class Stub(Worker):
        """Fails wherever Reno is."""

        def form(self, form: dict[str, Any], again: bool = False) -> Outcome:
            reno = [flow for flow in form.get("flow", []) if flow.get("algorithm") == "reno"]
            return Outcome(FAILED, f"it fails {id(form)} times") if reno else Outcome(RAN)

    first = Stub().form(DUMBBELL)
    smallest, outcome = shrink(DUMBBELL, first, Stub())
    assert smallest == {"flow": [{"algorithm": "reno"}]}
    assert outcome.family == first.family


def test_the_runner_ends_with_one_line_of_counts(capsys: pytest.CaptureFixture[str]) -> None:
    refused = next(seed for seed in range(100) if seed % AGAIN_EVERY and _refused(seed))
    assert runner.main(["--first", str(refused), "--count", "1", "--jobs", "1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"1 scenarios from seed {refused} in ")
    assert "1 refused, 0 ran, 0 cancelled, 0 failed (0 kinds of failure)" in last


def _refused(seed: int) -> bool:
    return trial.attempt(generator.tables(seed)).kind == REFUSED


def test_a_failure_ends_the_runner_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(Worker, "seed", lambda _, seed: Outcome(FAILED, f"it fails at {seed}"))
    assert runner.main(["--first", "7", "--count", "2", "--jobs", "1"]) == 1
    assert "seed 7: it fails at 7" in capsys.readouterr().out
    monkeypatch.undo()
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"duration": "1 s"}', encoding="utf-8")
    assert runner.main(["--file", str(scenario)]) == 0
    assert "refused: there is no path" in capsys.readouterr().out


def test_a_plain_scenario_is_accepted_and_obeys_every_rule_in_the_model() -> None:
    form = generator.plain(99000050)
    scenario = elephan.Scenario.from_dict(form)
    assert generator.plain(99000050) == form
    run = compute(elephan.backends.get("model"), scenario, 1)
    sizes = [flow.size_segments for flow in run.form.flows]
    assert any(sizes)
    assert list(invariants.problems(run)) == []
