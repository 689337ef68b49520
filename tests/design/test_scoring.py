"""Scores: the baseline has 0, cheats are below it, and a failure has the worst score and its reason."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from elephan.design import baseline, criteria, objective, places, score, trials, verdicts
from elephan.design.candidates import Candidate
from elephan.design.verdicts import Criterion
from elephan.runs import Store, run
from elephan.scenario import Scenario, ScenarioError

EXAMPLES = Path(__file__).parents[2] / "examples"
RENO = """
import elephan

class Mine(elephan.Algorithm):
    {before}
    def on_ack(self, ack):
        {step}
        if ack.may_grow:
            self.window += ack.acked * (1 if self.window < self.ssthresh else 1 / self.window)

    def on_congestion(self, signal):
        {congestion}
        self.ssthresh = self.window = max(self.window / 2, 2.0)
"""


def candidate(tmp_path: Path, step: str = "pass", congestion: str = "pass", before: str = "") -> str:
    file = tmp_path / "mine.py"
    file.write_text(RENO.format(step=step, congestion=congestion, before=before), encoding="utf-8")
    return str(file)


def test_the_baseline_has_zero() -> None:
    found = score("cubic", seeds=1)
    assert found.combined_score == 0
    assert set(found.parts.values()) == {0.0}


def test_a_class_has_the_score_of_the_same_algorithm_up_to_its_draws() -> None:
    builtin, own = (score(name, paths=8) for name in ("reno", "examples/my_reno.py"))
    assert not own.failures
    assert own.combined_score == pytest.approx(builtin.combined_score, abs=0.1)


def test_a_score_repeats(tmp_path: Path) -> None:
    file = candidate(tmp_path)
    assert score(file, seeds=1, paths=6).parts == score(file, seeds=1, paths=6).parts


def test_a_text_draws_its_own_times_of_a_few() -> None:
    def times(author: str) -> list[tuple[float, float]]:
        return [(t.duration_s, t.late_s) for t in trials.plan(places.training(), 1, places.QUICK_S, author)]

    drawn = [times(f"{i}") for i in range(40)]
    assert times("1") == drawn[1] != drawn[2]
    assert {len(set(each)) for each in zip(*drawn, strict=True)} == {4}
    assert all(0.2 <= late_s / duration_s <= 0.5 for each in drawn for duration_s, late_s in each)


def test_numbers_of_the_baseline_are_kept_for_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = trials.plan(places.training()[:2], 1, 5.0)
    made = baseline.measure(wanted, jobs=1)
    (file,) = (tmp_path / "elephan" / "scores").iterdir()

    def again() -> dict[trials.Trial, trials.Measured]:
        monkeypatch.setattr(baseline, "_known", {})  # as a new process has it
        return baseline.measure(wanted, jobs=1)

    with monkeypatch.context() as patched:
        patched.setattr(trials, "measure", lambda *_, **__: pytest.fail("a run that was made before"))
        assert repr(again()) == repr(made)
    file.write_text("[damaged", encoding="utf-8")
    assert repr(again()) == repr(made)
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder", encoding="utf-8")
    assert repr(again()) == repr(made)


def test_seeds_that_a_candidate_has_seen_do_not_come_again(tmp_path: Path) -> None:
    print_seed = "def on_start(self, start):\n        super().on_start(start)\n        print(start.seed)\n"
    seen = score(candidate(tmp_path, before=print_seed), seeds=1, paths=12).artifacts["output"].split()[1:]
    assert len(seen) > 25
    known = (
        f"def on_start(self, start):\n        super().on_start(start)\n        assert str(start.seed) not in {seen}\n"
    )
    assert not score(candidate(tmp_path, before=known), seeds=1, paths=12).failures


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"step": "import time"}, "line 7: imports time; a candidate is arithmetic"),
        ({"step": "x = ack.__class__"}, "line 7: uses __class__"),
        ({"step": "open('x')"}, "line 7: uses open"),
        ({"step": "elephan.Ack.may_grow = True"}, "line 7: changes elephan.Ack.may_grow; keep state in self"),
        ({"step": "elephan.metrics.goodput"}, "line 7: uses elephan.metrics"),
        ({"step": "import random; random.random()"}, "whose generator is not seeded"),
        ({"step": "import random; random._os.fork()"}, "line 7: uses random._os"),
        ({"step": "getattr(ack, '__class__')"}, "line 7: uses getattr"),
        ({"step": "self.window = float('nan')"}, "window is NaN"),
        ({"step": "1 +"}, "line 7: invalid syntax"),
        (
            {"before": "n = [0]", "step": "self.n[0] += 1; self.window = 2.0 + self.n[0] % 7"},
            "two runs with the same seed",
        ),
    ],
)
def test_a_failure_has_the_worst_score_and_its_reason(tmp_path: Path, change: dict[str, str], reason: str) -> None:
    found = score(candidate(tmp_path, **change), seeds=1)
    assert found.combined_score == objective.WORST
    assert reason in found.failures[0]["reason"]


def of_suite(**verdicts: str) -> list[Criterion]:
    forces = {"collapse": "must", "use": "should"}
    return [Criterion(name, "5.1", forces[name], verdict, "said so") for name, verdict in verdicts.items()]


def test_the_stage_suite_adds_the_verdicts_of_its_criteria(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Candidate, "judge", lambda *_, **__: of_suite(collapse="pass", use="concern"))
    found = score("cubic", stage="suite", seeds=1, paths=1)
    assert not found.failures
    assert found.parts["criteria_met"] == 0.5
    assert [row["id"] for row in found.artifacts["criteria"]] == ["use"]


def test_a_must_of_the_suite_that_is_not_met_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Candidate, "judge", lambda *_, **__: of_suite(collapse="fail", use="fail"))
    found = score("cubic", stage="suite", seeds=1, paths=1)
    assert found.combined_score == objective.WORST
    assert found.failures == [{"stage": "suite", "reason": "collapse (section 5.1, a must): said so"}]
    assert "held_out" in found.parts


def test_a_must_of_the_suite_without_its_runs_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Criterion("collapse", "5.1", "must", "not_settled", "no run", is_whole=False)]
    rows += [Criterion("use", "5.1", "should", "not_settled", "no run", is_whole=False)]
    monkeypatch.setattr(Candidate, "judge", lambda *_, **__: rows)
    found = score("cubic", stage="suite", seeds=1, paths=1)
    assert found.combined_score == objective.WORST
    reason = (
        "collapse (section 5.1, a must): not all of its runs fit into 600 s; elephan evaluate has a larger --budget"
    )
    assert [failure["reason"] for failure in found.failures] == [reason]


def test_baselines_on_linux_run_once_for_all_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with criteria._store("linux") as store:
        for algorithm in ("cubic", f"{EXAMPLES / 'my_reno.py'}:MyReno"):
            path = {"rate": "5 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "duration": "1 s"}
            run(Scenario.dumbbell([{"algorithm": algorithm}], **path), store=store)
        assert len(store.ids()) == 2
    with criteria._store("linux") as store:
        assert [kept.scenario.flow[0].algorithm for kept in store] == ["cubic"]
    monkeypatch.setattr(criteria, "_KEPT", timedelta(seconds=-2))
    with criteria._store("linux") as store:
        assert not store.ids()
    assert not Store(baseline.folder() / "linux-suite").ids()


def test_a_share_of_the_suite_is_judged_as_evaluate_judges_it() -> None:
    from elephan.suites import evaluate

    (there,) = evaluate(["reno"], verdicts.SUITE, only=["collapse-silence"], quick=True)
    (here,) = criteria.judge_here("reno", {}, ["collapse-silence"])
    assert (here.id, here.verdict, here.why) == ("collapse-silence", there.outcomes[0].verdict, there.outcomes[0].why)


def test_the_shares_have_every_criterion_once() -> None:
    from elephan import suites

    names = sorted(row.id for row in suites.load(verdicts.SUITE).table.criterion)
    first, second = criteria.shares(2)
    assert sorted([*first, *second]) == names
    assert abs(len(first) - len(second)) < len(names) / 2


def test_a_file_without_an_algorithm_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("window = 1\n", encoding="utf-8")
    found = score(str(file))
    assert found.failures == [{"stage": "loads", "reason": "it has no algorithm; write class Mine(elephan.Algorithm)"}]


def test_held_out_paths_are_never_named() -> None:
    found = score("fixed", stage="full", seeds=1)
    assert "held_out" in found.parts
    assert found.combined_score == min(found.parts["held_out"], found.parts["training"])
    from elephan.design import places

    hidden = places.drawn(places.HELD_OUT, hidden=True)
    assert not any(f"{place.rate_mbps:g} Mbit/s, {place.rtt_ms:g} ms" in str(found.to_json()) for place in hidden)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cubik", {}, "score: 'cubik' is neither an algorithm nor a file; did you mean 'cubic'?"),
        ("./none.py", {}, "score: none.py: no such file"),
        (str(EXAMPLES / "my_ren.py"), {}, f"no such file; did you mean '{EXAMPLES / 'my_reno.py'}'?"),
        (str(EXAMPLES / "my_reno"), {}, f"no such file; did you mean '{EXAMPLES / 'my_reno.py'}'?"),
        ("cubic", {"stage": "quik"}, "stage: 'quik' is not a stage; did you mean 'quick'?"),
        ("cubic", {"prefer": "speed"}, "prefer: 'speed' is not a preference"),
        ("cubic", {"prefer": "short-flows"}, "prefer: 'short-flows' needs background transfers"),
    ],
)
def test_wrong_input_is_one_line(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        score(name, **options)  # type: ignore[arg-type]
    assert message in str(raised.value)
