"""Callbacks of an algorithm: its arguments, its answers, and its exceptions."""

from __future__ import annotations

import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import elephan
from elephan import _engine, backends, runs
from elephan.export.recording import Recorder
from elephan.runs import Store, SweepError
from elephan.scenario import Scenario, ScenarioError

CALLBACKS = ["on_ack", *(callback for callback, _, _ in _engine.events())]
PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "30 packets", "duration": "6 s"}


class Quiet(elephan.Algorithm):
    def on_ack(self, ack: elephan.Ack) -> None:
        pass

    def on_congestion(self, told: elephan.Signal) -> None:
        pass


def result(maker: Callable[..., elephan.Algorithm], **more: Any) -> runs.Run:
    flow: dict[str, Any] = {key: more.pop(key) for key in ("size", "stop", "stack", "application") if key in more}
    scenario = Scenario.dumbbell([{"algorithm": maker, **flow}], **(PATH | more))
    return runs.Run.from_tables(scenario, backends.get("sim").run(scenario).tables)


def told(**more: Any) -> dict[str, list[tuple[Any, ...]]]:
    """The arguments of every callback of one run, by its name."""
    heard: dict[str, list[tuple[Any, ...]]] = {}

    class Listener(elephan.Algorithm):
        def on_ack(self, ack: elephan.Ack) -> None:
            heard.setdefault("on_ack", []).append((ack,))
            if ack.may_grow:
                self.window += ack.acked / (1.0 if self.window < self.ssthresh else self.window)

        def on_start(self, start: elephan.Start) -> None:
            super().on_start(start)
            heard.setdefault("on_start", []).append((start,))

        def on_congestion(self, told: elephan.Signal) -> None:
            heard.setdefault("on_congestion", []).append((told,))
            self.ssthresh = self.window = max(self.window / 2, 2.0)

        def on_timeout(self, told: elephan.Signal) -> None:
            heard.setdefault("on_timeout", []).append((told,))
            super().on_timeout(told)

        def on_recovery_exit(self, now: float) -> None:
            heard.setdefault("on_recovery_exit", []).append((now,))

        def moderate(self, window: float) -> None:
            heard.setdefault("moderate", []).append((window,))
            super().moderate(window)

        def on_undo(self, now: float) -> None:
            heard.setdefault("on_undo", []).append((now,))

    made = result(Listener, **more)
    heard["losses"] = [(int(made.flows["loss_events"][0]),)]
    heard["timeouts"] = [(int(made.flows["timeouts"][0]),)]
    return heard


def test_each_event_is_told_once() -> None:
    heard = told(loss="3%", buffer="5 packets", stack="rfc6675", duration="20 s")
    assert len(heard["on_start"]) == 1
    assert len(heard["on_congestion"]) == heard["losses"][0][0] > 5
    assert len(heard["on_timeout"]) == heard["timeouts"][0][0] > 0
    assert len(heard["on_recovery_exit"]) > 5


def test_a_linux_host_tells_of_pauses_and_of_losses_in_a_reduction() -> None:
    heard: dict[str, list[Any]] = {}

    class Listener(Quiet):
        def on_start(self, start: elephan.Start) -> None:
            super().on_start(start)
            self.window = 40.0

        def on_idle_timeouts(self, timeouts: int) -> None:
            heard.setdefault("on_idle_timeouts", []).append(timeouts)
            self.window = max(self.window / 2**timeouts, 20.0)

        def on_idle(self, now: float, idle: float) -> None:
            heard.setdefault("on_idle", []).append(idle)

        def on_restart(self, restart: elephan.Restart) -> None:
            heard.setdefault("on_restart", []).append(restart)

        def on_loss_in_reduction(self, now: float, window: float) -> None:
            heard.setdefault("on_loss_in_reduction", []).append(window)

    # The timeout is about 240 ms: 900 ms of silence have three.
    pauses = {"rate": "4 Mbit/s", "on": "300 ms", "off": "900 ms", "times": "constant"}
    result(Listener, application=pauses, duration="10 s")
    assert set(heard["on_idle_timeouts"]) == {3}
    assert "on_idle" not in heard
    pausing = [told.idle for told in heard["on_restart"] if told.idle > 0.5]
    assert len(pausing) == len(heard["on_idle_timeouts"]) > 5
    assert pausing == pytest.approx([0.9] * len(pausing), abs=0.008)
    heard.clear()

    result(Listener, stack={"base": "linux", "ecn": True}, queue="codel", loss="2%", duration="20 s")
    assert all(window >= 1 for window in heard["on_loss_in_reduction"])
    assert heard["on_loss_in_reduction"]


def heard_on(**more: Any) -> dict[str, list[tuple[Any, ...]]]:
    """The arguments of every callback of a class that defines them all, by name."""
    heard: dict[str, list[tuple[Any, ...]]] = {}

    class Steady(Quiet):
        def on_start(self, start: elephan.Start) -> None:
            super().on_start(start)
            self.window = 40.0

    def noted(name: str) -> Callable[..., Any]:
        def callback(self: elephan.Algorithm, *given: Any) -> Any:
            heard.setdefault(name, []).append(given)
            return getattr(Steady, name)(self, *given)

        return callback

    names = [*CALLBACKS, "takes_reduction"]
    result(type("Listener", (Steady,), {name: noted(name) for name in names}), **more)
    return heard


def test_every_event_of_the_engine_arrives() -> None:
    marks: dict[str, Any] = {"stack": {"base": "linux", "ecn": True}, "queue": "codel", "duration": "20 s"}
    pauses = {"rate": "4 Mbit/s", "on": "300 ms", "off": "2 s", "times": "constant"}
    reordered = heard_on(**marks, reorder={"share": 0.02, "delay": "60 ms"})
    idle = heard_on(application=pauses, stack="rfc6675")
    heard = reordered | idle | heard_on(application=pauses) | heard_on(stack="rfc6675", loss="20%")
    assert set(heard) - {"takes_reduction"} == set(CALLBACKS)

    (first,) = reordered["on_sample"][0]
    (following,) = next(given for given in reordered["on_ack"] if given[0].now == first.now)
    assert (first.sample.window, following.sample.then) == (40.0, "repair")
    assert pickle.loads(pickle.dumps(following)).sample.una == first.sample.una
    assert heard_on(stack="rfc6675")["on_ack"][0][0].sample is None


def test_a_class_has_a_method_for_each_event_and_the_recorder_passes_each_on() -> None:
    asked = {"takes_reduction", "observe"}
    methods = {name for name, value in vars(elephan.Algorithm).items() if callable(value) and not name.startswith("_")}
    assert methods - asked == set(CALLBACKS)
    assert methods - {"observe"} <= set(vars(Recorder))


def test_a_reduction_that_a_class_asks_for_is_told_as_a_mark_is() -> None:
    causes: list[str] = []

    class Asking(Quiet):
        asked = False

        def takes_reduction(self) -> bool:
            self.asked, asks = True, not self.asked
            return asks

        def on_congestion(self, told: elephan.Signal) -> None:
            causes.append(told.cause)

    result(Asking)
    assert causes == ["ecn"]


def test_an_answer_that_is_no_truth_value_is_named() -> None:
    class Wrong(Quiet):
        def takes_reduction(self) -> bool:
            return "often"  # type: ignore[return-value]

    with pytest.raises(elephan.AlgorithmError, match="takes_reduction returned 'often', which is neither True nor F"):
        result(Wrong)


def test_an_ack_has_the_field_units() -> None:
    heard = told()
    (start,), acks = heard["on_start"][0], [ack for (ack,) in heard["on_ack"]]
    assert start.initial_window == 10
    assert start.segment_bytes == 1448
    assert 0.040 < acks[0].rtt < 0.042  # 40 ms, and the transmission of a packet
    assert all(ack.min_rtt == min(a.rtt for a in acks[: i + 1]) for i, ack in enumerate(acks[:50]))
    assert [ack.now for ack in acks] == sorted(ack.now for ack in acks)
    assert sum(ack.round_start for ack in acks) < len(acks) / 5
    first = heard["on_congestion"][0][0]
    assert (first.cause, first.repeated) == ("loss", False)
    assert first.in_flight > 30


def test_only_what_is_needed_is_told() -> None:
    assert {ack.window_at_send for (ack,) in told()["on_ack"]} == {0.0}
    seen: list[float] = []

    class Needy(Quiet):
        needs = ("window_at_send",)

        def on_ack(self, ack: elephan.Ack) -> None:
            seen.append(ack.window_at_send)

    result(Needy)
    assert set(seen) == {10.0}


def test_an_algorithm_can_be_tried_without_a_simulation() -> None:
    made = Quiet()
    made.on_start(elephan.Start(initial_window=4, initial_ssthresh=64))
    assert (made.window, made.ssthresh, made.recovery_floor) == (4.0, 64.0, 64.0)
    made.window = 20.0
    made.on_timeout(elephan.Signal(repeated=True))
    assert (made.window, made.ssthresh) == (1.0, 64.0)
    made.window = 20.0
    made.on_timeout(elephan.Signal())
    assert (made.window, made.ssthresh) == (1.0, 10.0)
    made.window = 9.0
    made.moderate(30.0)
    made.moderate(5.0)
    assert made.window == 5.0
    made.keep(4.0)
    made.on_idle_timeouts(3)
    assert (made.window, made.takes_reduction()) == (4.0, False)
    ack = elephan.Ack(now=2.0, rtt=0.5, delivery=elephan.Delivery(rate=10.0))
    assert (ack.sent_at, ack.may_grow, ack.delivery.rate if ack.delivery else None) == (1.5, True, 10.0)
    assert not elephan.Ack(in_recovery=True).may_grow
    assert repr(elephan.Sent(now=1.5, retransmission=True)) == "Sent(now=1.5, in_flight=1.0, retransmission=True)"
    with pytest.raises(AttributeError):
        ack.now = 3.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="cause: 'hail' is neither 'loss' nor 'ecn'"):
        elephan.Signal(cause="hail")


def answering(**attributes: Any) -> type[elephan.Algorithm]:
    class Wrong(Quiet):
        def on_ack(self, ack: elephan.Ack) -> None:
            for name, value in attributes.items():
                setattr(self, name, value)

    return Wrong


@pytest.mark.parametrize(
    ("attributes", "line"),
    [
        ({"window": 0.5}, "window is 0.5; it must be from 1 to 268435456 segments"),
        ({"window": float("nan")}, "window is NaN; it must be"),
        ({"window": float("inf")}, "window is inf; it must be"),
        ({"window": "ten"}, "window is 'ten', which is not a number"),
        ({"ssthresh": -1.0}, "ssthresh is -1; it must be a number of segments above 0"),
        ({"ssthresh": None}, "ssthresh is None, which is not a number"),
        ({"pacing_rate": 100.0}, "pacing_rate is set, but 'pacing' is not among its needs"),
        ({"needs": ("pacing",), "pacing_rate": 100.0}, "pacing_rate is set, but 'pacing' is not among its needs"),
    ],
)
def test_an_answer_without_sense_ends_the_run(attributes: dict[str, Any], line: str) -> None:
    with pytest.raises(elephan.AlgorithmError, match=r"^Wrong-1: on_ack raised (Value|Type)Error: " + line) as raised:
        result(answering(**attributes))
    assert raised.value.time_s < 0.1


def test_a_pacing_rate_of_zero_is_no_rate() -> None:
    paced = type("Paced", (answering(pacing_rate=0.0),), {"needs": ("pacing",)})
    with pytest.raises(elephan.AlgorithmError, match="pacing_rate is 0; it must be segments per second above 0"):
        result(paced)


class Failing(Quiet):
    """Raises at the first callback after a time."""

    def __init__(self, at: float = 3.0) -> None:
        self.at = at

    def on_ack(self, ack: elephan.Ack) -> None:
        if ack.now > self.at:
            raise LookupError("no such window")


def test_an_exception_carries_its_cause_and_the_simulated_time() -> None:
    with pytest.raises(elephan.AlgorithmError) as raised:
        result(Failing)
    error = raised.value
    assert (error.flow, error.callback) == ("Failing-1", "on_ack")
    assert 3.0 < error.time_s < 3.1
    assert str(error) == f"Failing-1: on_ack raised LookupError: no such window at {error.time_s:.6f} s"
    assert isinstance(error.__cause__, LookupError)
    trace = error.__cause__.__traceback__
    assert trace is not None
    assert trace.tb_frame.f_code.co_name == "on_ack"
    sent = pickle.loads(pickle.dumps(error))
    assert str(sent) == str(error)
    assert 'raise LookupError("no such window")' in sent.trace


def test_nothing_is_called_after_the_first_exception_and_the_run_ends_at_once() -> None:
    calls: list[str] = []

    class Once(Quiet):
        def on_ack(self, ack: elephan.Ack) -> None:
            calls.append("on_ack")
            raise LookupError

        def on_congestion(self, told: elephan.Signal) -> None:
            calls.append("on_congestion")

        def on_timeout(self, told: elephan.Signal) -> None:
            calls.append("on_timeout")

    begun_s = time.perf_counter()
    with pytest.raises(elephan.AlgorithmError):
        result(Once, rate="1 Gbit/s", duration="40000 s", sample_period="10000 s")
    assert calls == ["on_ack"]
    assert time.perf_counter() - begun_s < 30  # it would take hours to the end


def test_any_callback_may_raise() -> None:
    for name in ("on_start", "on_congestion", "on_recovery_exit", "recovery_floor"):

        def fail(self: elephan.Algorithm, *told: object) -> None:
            raise LookupError

        broken: Any = property(fail) if name == "recovery_floor" else fail
        grow = {"on_ack": lambda self, ack: setattr(self, "window", self.window + ack.acked)}
        with pytest.raises(elephan.AlgorithmError, match=name):
            result(type("Broken", (Quiet,), grow | {name: broken}))


def test_the_other_runs_of_a_sweep_go_on(tmp_path: Path) -> None:
    store = Store(tmp_path)
    flows: list[Any] = ["reno", Failing, {"algorithm": Failing, "parameters": {"at": 99.0}}, Quiet]
    wanted = [Scenario.dumbbell([flow], **PATH) for flow in flows]
    with pytest.raises(SweepError) as raised:
        runs.sweep(wanted, store=store, jobs=2)
    assert [run is not None for run in raised.value.runs] == [True, False, True, True]
    (failure,) = raised.value.failures
    assert isinstance(failure.error, elephan.AlgorithmError)
    assert len(store.ids()) == 3
    # A saved run is not run again; the failed one is.
    with pytest.raises(SweepError, match="1 of 4 runs failed"):
        runs.sweep(wanted, store=store)


def test_even_leaving_the_interpreter_only_ends_the_run(tmp_path: Path) -> None:
    class Leaving(Quiet):
        def on_ack(self, ack: elephan.Ack) -> None:
            raise SystemExit(3)

    with pytest.raises(SweepError, match="on_ack raised SystemExit: 3"):
        runs.sweep([Scenario.dumbbell([Leaving], **PATH)], store=Store(tmp_path))


def test_ctrl_c_inside_a_callback_is_not_the_algorithms() -> None:
    class Interrupted(Quiet):
        def on_ack(self, ack: elephan.Ack) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        result(Interrupted)


def test_threads_and_one_thread_give_the_same_results(tmp_path: Path) -> None:
    class Aimd(Quiet):
        def on_ack(self, ack: elephan.Ack) -> None:
            if ack.may_grow:
                self.window += ack.acked / self.window

        def on_congestion(self, told: elephan.Signal) -> None:
            self.ssthresh = self.window = max(self.window * 0.7, 2.0)

    wanted = Scenario.dumbbell([Aimd, "cubic"], **PATH).replicates(6)
    results = [
        [run.manifest["tables_sha256"] for run in runs.sweep(wanted, store=Store(tmp_path / f"{jobs}"), jobs=jobs)]
        for jobs in (1, 4)
    ]
    assert results[0] == results[1]
    assert len(set(results[0])) == 6


def test_each_flow_of_each_run_has_an_object_of_its_own() -> None:
    made: dict[int, list[float]] = {}

    class Noted(Quiet):
        def on_start(self, start: elephan.Start) -> None:
            super().on_start(start)
            made.setdefault(id(self), []).append(start.now)
            kept.append(self)

    kept: list[elephan.Algorithm] = []
    flows = [{"algorithm": Noted, "name": f"f{i}"} for i in range(2)]
    for _ in range(2):
        backends.get("sim").run(Scenario.dumbbell(flows, **PATH))
    assert [len(starts) for starts in made.values()] == [1, 1, 1, 1]


def test_one_object_is_not_an_algorithm_of_several_flows() -> None:
    with pytest.raises(ScenarioError, match="Quiet is given as one object; give the class"):
        Scenario.dumbbell([Quiet()], **PATH)  # type: ignore[list-item]


class Paced(Quiet):
    """A fixed window, paced at 80 % of the bottleneck's 10 Mbit/s."""

    needs = ("pacing", "delivery", "one_way_delay")
    pacing_rate = 0.8 * 10e6 / (8 * 1500)

    def on_start(self, start: elephan.Start) -> None:
        self.window = 200.0


def test_a_pacing_rate_is_obeyed() -> None:
    made = result(Paced)
    assert float(made.flows["throughput_mbps"][0]) == pytest.approx(8.0, rel=0.01)
    assert int(made.flows["loss_events"][0]) == 0


def test_delivery_rates_and_one_way_delays_are_told_to_who_needs_them() -> None:
    rates: list[float] = []
    delays: list[float] = []

    class Listening(Paced):
        def on_ack(self, ack: elephan.Ack) -> None:
            assert ack.delivery is not None
            assert ack.owd is not None
            delays.append(ack.owd)
            if ack.delivery.rate is not None and ack.now > 1.0:
                rates.append(ack.delivery.rate)
                assert ack.delivery.delivered > ack.delivery.prior_delivered

    result(Listening)
    assert sum(rates) / len(rates) == pytest.approx(Paced.pacing_rate, rel=0.03)
    assert min(delays) == pytest.approx(0.02, abs=0.003)
    assert all(ack.delivery is None and ack.owd is None for (ack,) in told()["on_ack"])


def test_every_segment_sent_and_lost_is_told_where_that_is_defined() -> None:
    sent: list[elephan.Sent] = []
    lost: list[elephan.Lost] = []

    class Counting(Quiet):
        def on_start(self, start: elephan.Start) -> None:
            self.window = 100.0

        def on_sent(self, told: elephan.Sent) -> None:
            sent.append(told)

        def on_lost(self, told: elephan.Lost) -> None:
            lost.append(told)

    made = result(Counting)
    assert len(sent) == int(made.flows["segments_sent"][0])
    assert sum(told.retransmission for told in sent) == int(made.flows["retransmits"][0]) > 0
    assert len(lost) >= int(made.flows["retransmits"][0])
    assert all(told.now > told.sent_at for told in lost)


def test_marks_are_counted_for_who_needs_them() -> None:
    marked: list[float] = []

    class Marked(Quiet):
        needs = ("accurate_ecn",)

        def on_start(self, start: elephan.Start) -> None:
            self.window = 60.0

        def on_ack(self, ack: elephan.Ack) -> None:
            marked.append(ack.marked)

    result(Marked, queue="threshold", queue_parameters={"mark": "10 packets"})
    assert sum(marked) > 100
