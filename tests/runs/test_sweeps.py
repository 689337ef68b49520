"""Sweeps: all cores, nothing twice, nothing finished lost, every failure named."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.runs import synthetic

from elephan import backends, runs
from elephan.backends import Cancelled, Progress, RawResult
from elephan.runs import Interrupted, ReplicateError, Store, SweepError
from elephan.runs.work import work
from elephan.scenario import Scenario, ScenarioError

H = TypeVar("H", bound=synthetic.WrittenBackend)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> synthetic.WrittenBackend:
    return use(monkeypatch, synthetic.WrittenBackend())


def use(monkeypatch: pytest.MonkeyPatch, backend: H) -> H:
    monkeypatch.setattr(backends, "get", lambda name, memory=None: backend)
    return backend


def some(count: int, **more: Any) -> list[Scenario]:
    return [synthetic.scenario(duration=f"{20 + i} s", title=f"number {i}", **more) for i in range(count)]


def test_results_come_in_the_order_of_the_input(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    wanted = some(5)
    done = runs.sweep(wanted, store=Store(tmp_path), jobs=3)
    assert [run.scenario for run in done] == wanted
    assert all(not run.cached for run in done)
    assert {run.manifest["title"] for run in done} == {f"number {i}" for i in range(5)}


def test_the_longest_run_begins_first(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    wanted = some(4)
    runs.sweep(wanted, store=Store(tmp_path), jobs=1)
    assert written.computed == [(scenario.hash, 1) for scenario in reversed(wanted)]


def test_a_run_is_made_while_another_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: synthetic.WrittenBackend
) -> None:
    both_computed, save = threading.Event(), Store.save

    def slow_save(store: Store, run: runs.Run, *, replace: bool = False) -> runs.Run:
        while len(written.computed) < 2 and not both_computed.wait(0.01):
            assert time.monotonic() < deadline_s, "the second run waits for the first to be written"
        both_computed.set()
        return save(store, run, replace=replace)

    deadline_s = time.monotonic() + 10
    monkeypatch.setattr(Store, "save", slow_save)
    wanted = some(3)
    runs.sweep(wanted, store=Store(tmp_path), jobs=1)
    assert written.computed == [(scenario.hash, 1) for scenario in reversed(wanted)]


def test_nothing_is_written_beside_a_run_that_measures_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: synthetic.WrittenBackend
) -> None:
    begun: list[int] = []
    save = Store.save

    def watched_save(store: Store, run: runs.Run, *, replace: bool = False) -> runs.Run:
        time.sleep(0.05)
        begun.append(len(written.computed))
        return save(store, run, replace=replace)

    monkeypatch.setattr(Store, "save", watched_save)
    monkeypatch.setattr(written, "measures", True, raising=False)
    runs.sweep(some(3), store=Store(tmp_path), jobs=1)
    assert begun == [1, 2, 3]


def test_each_run_is_passed_on_once_as_soon_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: synthetic.WrittenBackend
) -> None:
    store, wanted = Store(tmp_path), some(4)
    runs.sweep(wanted[:2], store=store)
    passed_on: list[runs.Run] = []
    seen = threading.Event()
    compute = written.run

    def one_after_the_other(scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        # The last run waits until the calling thread has been given the others.
        if scenario == wanted[2]:
            assert seen.wait(10)
        return compute(scenario, seed, progress)

    def each(run: runs.Run) -> None:
        assert threading.current_thread() is threading.main_thread()
        passed_on.append(run)
        if len(passed_on) == 3:
            seen.set()

    monkeypatch.setattr(written, "run", one_after_the_other)
    done = runs.sweep([*wanted, wanted[0]], store=store, jobs=1, each=each)
    assert [run.scenario for run in passed_on] == [wanted[0], wanted[1], wanted[3], wanted[2]]
    assert {run.id for run in passed_on} == {run.id for run in done}


def test_what_is_saved_is_not_run_again(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    runs.sweep(some(2), store=Store(tmp_path))
    done = runs.sweep(some(4), store=Store(tmp_path))
    assert len(written.computed) == 4
    assert [run.cached for run in done] == [True, True, False, False]
    runs.sweep(some(2), store=Store(tmp_path), force=True)
    assert len(written.computed) == 6


def test_the_same_run_asked_for_twice_is_made_once(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    scenario = synthetic.scenario()
    first, second = runs.sweep([scenario, (scenario, 1)], store=Store(tmp_path))
    assert first is second
    assert len(written.computed) == 1


def test_a_new_engine_makes_its_own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, synthetic.WrittenBackend(release="1"))
    runs.sweep(some(1), store=Store(tmp_path))
    newer = use(monkeypatch, synthetic.WrittenBackend(release="2"))
    assert not runs.sweep(some(1), store=Store(tmp_path))[0].cached
    assert len(newer.computed) == 1
    assert runs.run(some(1)[0], store=Store(tmp_path)).cached


def test_one_failure_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, synthetic.WrittenBackend(broken=["number 1"]))
    with pytest.raises(SweepError, match=r"1 of 3 runs failed: number 1 \(seed 1\): .*1 cannot be run") as caught:
        runs.sweep(some(3), store=Store(tmp_path))
    assert [run is None for run in caught.value.runs] == [False, True, False]
    assert caught.value.failures[0].scenario.title == "number 1"
    assert len(Store(tmp_path).ids()) == 2


def test_equal_replicates_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, synthetic.WrittenBackend(seeds_matter=False))
    scenario = synthetic.scenario()
    with pytest.raises(ReplicateError, match="seeds 1 and 2 gave equal results"):
        runs.sweep([(scenario, 1), (scenario, 2)], store=Store(tmp_path))
    still = synthetic.scenario(start_jitter="0 s")
    assert len(runs.sweep([(still, 1), (still, 2)], store=Store(tmp_path))) == 2


def test_equal_replicates_are_no_error_where_nothing_may_have_been_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, synthetic.WrittenBackend(seeds_matter=False))
    rarely = synthetic.scenario(start_jitter="0 s", loss=1e-9)
    assert rarely.is_random
    assert len(runs.sweep([(rarely, 1), (rarely, 2)], store=Store(tmp_path))) == 2


def test_different_replicates_are_fine(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    done = runs.sweep(synthetic.scenario().replicates(4), store=Store(tmp_path))
    assert [run.seed for run in done] == [1, 2, 3, 4]
    assert len({run.manifest["tables_sha256"] for run in done}) == 4


def test_progress_ends_with_everything_done(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    told: list[tuple[float, float, int, int]] = []
    runs.sweep(some(3), store=Store(tmp_path), progress=lambda *state: told.append(state))
    whole = sum(work(scenario) for scenario in some(3))
    assert told[-1] == pytest.approx((whole, whole, 3, 3))
    assert [state[0] for state in told] == sorted(state[0] for state in told)


def test_what_was_saved_before_is_no_work(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    store, three = Store(tmp_path), some(3)
    runs.sweep(three[:2], store=store)
    told: list[tuple[float, float, int, int]] = []
    runs.sweep(three, store=store, progress=lambda *state: told.append(state))
    assert told[-1] == pytest.approx((work(three[2]), work(three[2]), 3, 3))


def test_work_is_what_the_narrowest_links_can_carry() -> None:
    (scenario,) = some(1)
    (link,) = [link for link in scenario.canonical()["links"] if link["name"] == "bottleneck"]
    stack = scenario.canonical()["flows"][0]["stack"]
    per_s = link["rate_bps"] / 8 / (stack["payload_bytes"] + stack["header_bytes"])
    assert work(scenario) == pytest.approx(per_s * scenario.canonical()["duration_ps"] / 1e12)


def test_a_limited_source_is_the_work_of_its_own_rate() -> None:
    small = {"name": "small", "datagrams": {"rate": "5 Mbit/s", "size": "52 B"}}
    alone, beside = (
        Scenario.dumbbell(
            [{"name": "one", "algorithm": "reno"}, *more],
            rate="400 Mbit/s", rtt="100 ms", buffer="100 packets", duration="10 s",
        )
        for more in ([], [small])
    )  # fmt: skip
    assert work(beside) - work(alone) == pytest.approx(10 * 5e6 / (8 * 52))


def test_links_with_buffers_cost_and_are_shared() -> None:
    """Links that all have the bottleneck's rate: it is the shared one that is full, once for both flows."""
    links = [("a", "b"), *((f"s{i}", "a") for i in (1, 2)), *(("b", f"r{i}") for i in (1, 2))]
    scenario = Scenario.model_validate(
        {
            "duration": "10 s",
            "link": [
                {
                    "name": f"{here}-{there}",
                    "from": here,
                    "to": there,
                    "rate": "100 Mbit/s",
                    "delay": "5 ms",
                    "buffer": "100 packets",
                }
                for here, there in links
            ],
            "flow": [{"name": f"reno-{i}", "algorithm": "reno", "path": [f"s{i}-a", "a-b", f"b-r{i}"]} for i in (1, 2)],
        }
    )
    form = scenario.canonical()
    stack = form["flows"][0]["stack"]
    segments = 10 * 100e6 / 8 / (stack["payload_bytes"] + stack["header_bytes"])
    bounded = sum(
        form["links"][i]["queue"]["limit_packets"] is not None
        for i in (*form["flows"][0]["path"], *form["flows"][0]["reverse_path"])
    )
    assert bounded == 6
    assert work(scenario) == pytest.approx(segments * (1 + 0.2 * 4))


class SlowBackend(synthetic.WrittenBackend):
    """Takes a while, as an engine does: asks for leave to go on every few milliseconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self.begun = threading.Event()

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """A result after a number of steps."""
        steps = 1 if scenario.title == "number 0" else max(1, int(self._seconds / 0.01))
        for i in range(steps):
            if progress is not None and not progress(i / steps):
                raise Cancelled
            time.sleep(0.01)
            if i == 5:
                self.begun.set()
        return super().run(scenario, seed, None)


def test_an_interrupt_stops_within_a_second_and_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = use(monkeypatch, SlowBackend(60))
    wanted = [*some(1), *some(3)[1:]]
    runs.sweep(wanted[:1], store=Store(tmp_path))
    interrupted_at: list[float] = []

    def press_ctrl_c() -> None:
        slow.begun.wait(10)
        interrupted_at.append(time.monotonic())
        _thread.interrupt_main()

    threading.Thread(target=press_ctrl_c).start()
    with pytest.raises(Interrupted, match="1 finished runs are saved") as caught:
        runs.sweep(wanted, store=Store(tmp_path), jobs=2)
    assert time.monotonic() - interrupted_at[0] < 1
    assert [run.scenario.title for run in caught.value.runs] == ["number 0"]
    assert Store(tmp_path).ids() == [caught.value.runs[0].id]
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".tmp")] == []


def test_progress_may_cancel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SlowBackend(60))
    with pytest.raises(Cancelled):
        runs.sweep(some(2)[1:], store=Store(tmp_path), progress=lambda *state: False)
    assert len(Store(tmp_path).ids()) == 0


def test_a_progress_callback_that_fails_stops_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SlowBackend(60))

    def fail(*state: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        runs.sweep(some(2)[1:], store=Store(tmp_path), progress=fail)


def test_what_another_sweep_computes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = use(monkeypatch, SlowBackend(0.5))
    results: list[Sequence[Any]] = []
    threads = [
        threading.Thread(target=lambda: results.append(runs.sweep(some(4), store=Store(tmp_path), jobs=1)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    assert [run.id for run in results[0]] == [run.id for run in results[1]]
    assert len(slow.computed) == 4


def test_run_gives_the_saved_result_of_its_seed(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    scenario = synthetic.scenario()
    assert runs.run(scenario, seed=3, store=Store(tmp_path)).seed == 3
    assert runs.run(scenario, seed=3, store=Store(tmp_path)).cached
    assert not runs.run(scenario, seed=4, store=Store(tmp_path)).cached
    again = runs.run(scenario, seed=3, store=Store(tmp_path), force=True)
    assert not again.cached
    assert again.scenario.seed == 3
    with pytest.raises(Cancelled):
        runs.run(scenario, seed=5, store=Store(tmp_path), progress=lambda fraction: False)


def test_a_manifest_says_where_a_result_comes_from(tmp_path: Path, written: synthetic.WrittenBackend) -> None:
    manifest = runs.run(synthetic.scenario(), store=Store(tmp_path)).manifest
    assert manifest["versions"]["engine"] == "1"
    assert manifest["backend"] == "sim"
    assert manifest["host"]["cpu"]
    assert manifest["conservation"]["sent"] == 1
    assert Scenario.from_toml(manifest["scenario_toml"]).hash == manifest["scenario_hash"]
    assert manifest["scenario"]["links"]


def test_a_store_that_cannot_be_is_found_out_before_anything_runs(
    tmp_path: Path, written: synthetic.WrittenBackend
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="File exists"):
        runs.sweep(some(2), store=Store(tmp_path / "file"))
    assert written.computed == []


def test_no_such_backend() -> None:
    with pytest.raises(ScenarioError, match="'simm' is not a backend; did you mean 'sim'"):
        runs.sweep([synthetic.scenario()], on="simm")
