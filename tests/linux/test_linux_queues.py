"""The kernel's own queue disciplines in guests: names, options and refusals; runs where a kernel is built."""

from __future__ import annotations

import struct
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from elephan.backends import RawResult, base, get
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import build, kernels, lab
from elephan.backends.linux.guest import GuestError
from elephan.backends.linux.plan import Plan
from elephan.cli.main import run_command
from elephan.scenario import Scenario, ScenarioError, catalog

LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
needs_kernel = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
large = pytest.mark.large

BOTH = ("codel", "fq_codel", "pie", "red")
"""Disciplines that the engine and the kernel have."""


def dumbbell(*flows: dict[str, Any], **more: Any) -> Scenario:
    settings = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1000 packets", "duration": "20 s"}
    measured = {"measure": {"from": "5 s"}, "queue": "linux:codel"}
    return Scenario.dumbbell(list(flows) or [{"algorithm": "cubic:linux"}], **settings | measured | more)


def watched(scenario: Scenario) -> dict[str, Any]:
    """The device of the bottleneck in the direction of the data."""
    [device, *_] = [one for one in Plan.of(scenario, 250).document["devices"] if one["watched"]]
    return dict(device)


def options(scenario: Scenario) -> dict[int, bytes]:
    return {kind: bytes(value) for kind, value in watched(scenario)["queue"]["options"]}


def words(found: dict[int, bytes]) -> dict[int, int]:
    return {kind: struct.unpack("=I", value)[0] for kind, value in found.items() if len(value) == 4}


# ---- names and parameters; no kernel is needed ----


@pytest.mark.parametrize("kind", BOTH)
def test_the_names_and_defaults_are_those_of_the_engine(kind: str) -> None:
    own = {p["name"]: p for p in catalog.queues()[kind]["parameters"]}
    kernels = {p["name"]: p for p in catalog.all_queues()[f"linux:{kind}"]["parameters"]}
    shared = own.keys() & kernels.keys()
    assert shared
    for name in shared - {"weight"}:
        assert {key: own[name][key] for key in ("type", "unit", "default")} == {
            key: kernels[name][key] for key in ("type", "unit", "default")
        }, name


def test_a_simulated_queue_keeps_its_name() -> None:
    assert set(catalog.queues()).isdisjoint({f"linux:{kind}" for kind in (*BOTH, "fq")})
    assert catalog.queue_of("droptail:ns2") == ("droptail", "ns2")
    assert catalog.queue_of("linux:codel") == ("linux:codel", "")


def test_durations_are_microseconds_and_limits_packets() -> None:
    scenario = dumbbell(queue_parameters={"target": "7 ms", "interval": "90 ms", "ecn": False}, buffer="120 packets")
    assert words(options(scenario)) == {1: 7000, 2: 120, 3: 90_000, 4: 0}


def test_weights_of_pie_are_sixteenths_as_in_tc() -> None:
    assert words(options(dumbbell(queue="linux:pie"))) == {1: 15_000, 2: 1000, 3: 15_000, 4: 2, 5: 20, 6: 1}


def test_dualpi2_has_its_weights_in_256ths_and_its_small_numbers_in_bytes() -> None:
    found = options(dumbbell(queue="linux:dualpi2", queue_parameters={"ecn_mask": 3, "classic_percent": 20}))
    assert words(found) == {1: 1000, 2: 2**32 - 1, 3: 15_000, 4: 16_000, 5: 41, 6: 819, 8: 1000}
    assert {kind: list(value) for kind, value in found.items() if len(value) == 1} == {10: [2], 13: [20], 14: [3]}


def test_a_configuration_has_what_only_later_kernels_have(tmp_path: Path) -> None:
    plain = build._config(tmp_path)
    assert "DUALPI2" not in plain
    (tmp_path / "net" / "sched").mkdir(parents=True)
    (tmp_path / "net" / "sched" / "sch_dualpi2.c").touch()
    assert build._config(tmp_path) == plain + "CONFIG_NET_SCH_DUALPI2=y\n"


@needs_kernel
def test_a_discipline_that_the_kernel_lacks_is_one_line() -> None:
    if (kernels.chosen(250).tree / "net" / "sched" / "sch_dualpi2.c").exists():
        pytest.skip("the kernel has DualPI2")
    with pytest.raises(GuestError, match="this kernel has no queue discipline 'dualpi2'"):
        get("linux").run(dumbbell(queue="linux:dualpi2", duration="1 s", measure={}))


def test_thresholds_of_red_are_bytes_and_its_weight_a_shift() -> None:
    given = {"min": "10 packets", "max": "40 packets", "weight": 2.0**-9, "max_p": 0.5, "adaptive": True}
    found = options(dumbbell(queue="linux:red", queue_parameters=given))
    limit, low, high, shift, _, scale, flags = struct.unpack("=IIIBBBB", found[1])
    assert (limit, low, high, shift, flags) == (1000 * 1500, 10 * 1500, 40 * 1500, 9, 1 | 4)
    assert words(found)[3] == pytest.approx(2**31, abs=1)
    table = found[2]
    assert len(table) == 256
    assert (table[0], max(table)) == (0, 31)
    # One packet takes 600 us, and the average is halved after 355 of them: ln 2 / 2^-9.
    half_life_us = 355 * 600
    assert half_life_us / 2 < 1 << scale <= half_life_us
    for halvings in (2, 5, 20):
        assert table[(halvings * half_life_us) >> scale] == pytest.approx(halvings, abs=1)


def test_a_receiver_has_its_senders_congestion_control_on_any_path() -> None:
    flow = {"algorithm": "dctcp:linux", "stack": {"base": "linux", "ecn": True}}
    [marked] = Plan.of(dumbbell(flow), 250).document["flows"]
    [plain] = Plan.of(dumbbell(flow, queue="droptail"), 250).document["flows"]
    assert (marked["receiver_congestion"], plain["receiver_congestion"]) == ("dctcp", "dctcp")


@pytest.mark.parametrize(
    ("more", "path", "why"),
    [
        ({"queue_parameters": {"targat": "5 ms"}}, "queue_parameters.targat", "did you mean 'target'"),
        ({"queue": "linux:pie", "queue_parameters": {"burst": "1 s"}}, "burst", "not a parameter of linux:pie"),
        ({"queue": "linux:pie", "queue_parameters": {"alpha": 0.1}}, "alpha", "no multiple of 1/16"),
        ({"queue": "linux:dualpi2", "queue_parameters": {"beta": 3.2}}, "beta", "the nearest is 3.19921875"),
        ({"queue": "linux:red", "queue_parameters": {"gentle": True}}, "gentle", "not a parameter of linux:red"),
        ({"queue": "linux:red", "queue_parameters": {"weight": 0.002}}, "weight", "the nearest is 0.001953125"),
        ({"queue": "linux:cobel"}, "queue", "did you mean 'linux:codel'"),
    ],
)
def test_what_the_kernel_does_not_have_is_refused_by_name(more: dict[str, Any], path: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why) as error:
        dumbbell(**more)
    assert error.value.path is not None
    assert error.value.path.endswith(path)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"queue_parameters": {"target": "1500 ns"}}, "target has to be whole microseconds"),
        (
            {"queue": "linux:red", "queue_parameters": {"max": "3000 packets", "weight": 2.0**-12}},
            "beyond the kernel's 32 bits; lower max, or raise weight",
        ),
        ({"loss": 0.01}, "has no random losses in a guest"),
        ({"loss": {"packets": [10]}}, "the path of this scenario is the engine"),
    ],
)
def test_what_a_guest_cannot_do_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        Plan.of(dumbbell(**more), 250)


def test_beside_simulated_flows_the_kernels_queue_is_refused() -> None:
    scenario = dumbbell({"algorithm": "cubic:linux", "backend": "linux"}, {"algorithm": "bbr3"})
    with pytest.raises(
        ScenarioError, match=r"the engine \(flows say where they run\); leave that out, or write 'codel'"
    ):
        Plan.of(scenario, 250)


def test_a_patched_kernel_has_the_queues_of_the_kernel() -> None:
    base.refuse_other_backends("linux+0123456789ab", dumbbell(queue="linux:dualpi2"))
    with pytest.raises(ScenarioError, match="the backend 'kernel' has no queue 'linux:dualpi2'"):
        base.refuse_other_backends("kernel", dumbbell(queue="linux:dualpi2"))


@pytest.mark.parametrize("backend", ["sim", "model", "kernel", "quic"])
def test_other_backends_refuse_it_in_one_line(backend: str) -> None:
    with pytest.raises(ScenarioError, match="has no queue 'linux:codel'; write --on linux, or 'codel' for") as error:
        get(backend).check(dumbbell({"algorithm": "cubic"}))
    assert error.value.path == "dumbbell.queue"
    assert "or '" not in _refusal(dumbbell({"algorithm": "cubic"}, queue="linux:fq"))


def _refusal(scenario: Scenario) -> str:
    with pytest.raises(ScenarioError) as error:
        get("sim").check(scenario)
    return str(error.value)


def test_the_names_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["show", "linux:fq"]) == 0
    assert "initial_quantum" in capsys.readouterr().out
    assert run_command(["list", "queues"]) == 0
    assert "linux:fq_codel" in capsys.readouterr().out


# ---- runs ----


def flow(result: RawResult) -> dict[str, Any]:
    return pl.DataFrame(result.tables["flows"]).row(0, named=True)


def smoothed_ms(result: RawResult, flow: int = 0) -> float:
    """Mean over the samples from 4 s on, the measured part, of the smoothed RTT of a flow."""
    name = pl.DataFrame(result.tables["flows"])["name"][flow]
    samples = pl.DataFrame(result.tables["samples"])
    rows = samples.filter((pl.col("flow").cast(pl.String) == name) & (pl.col("time_s") >= 4))
    return float(rows.select(1e3 * pl.col("srtt_s").mean()).item())


def bottleneck(result: RawResult) -> pl.DataFrame:
    return pl.DataFrame(result.tables["links"]).filter(pl.col("link") == "bottleneck")


def mean_queue(result: RawResult) -> float:
    """Mean of the waiting packets from 5 s on."""
    link = bottleneck(result).filter(pl.col("time_s") >= 5)
    first, last = link.row(0, named=True), link.row(-1, named=True)
    grown = last["queue_integral_packet_s"] - first["queue_integral_packet_s"]
    return float(grown / (last["time_s"] - first["time_s"]))


@needs_kernel
@pytest.mark.parametrize("kind", ["pie", *(pytest.param(kind, marks=large) for kind in ("codel", "fq_codel"))])
def test_a_queue_of_the_kernel_holds_the_queue_of_the_engine(kind: str) -> None:
    """One Reno flow of Linux through both: the queue waits in the discipline, before the link, and not behind it."""
    reno = {"algorithm": "reno:linux"}
    kernels, engines = (get("linux").run(dumbbell(reno, queue=queue)) for queue in (f"linux:{kind}", kind))
    assert flow(kernels)["goodput_mbps"] == pytest.approx(flow(engines)["goodput_mbps"], rel=0.06)
    assert mean_queue(kernels) == pytest.approx(mean_queue(engines), rel=0.35, abs=2)
    last = bottleneck(kernels).row(-1, named=True)
    assert last["dropped_packets"] > 0
    assert last["marked_packets"] == 0
    assert last["delivered_bytes"] == pytest.approx(last["delivered_packets"] * 1500, rel=0.001)
    # The RTT is the propagation time plus the queue's waiting time.
    waiting_ms = mean_queue(kernels) * 1500 * 8 / 20e6 * 1e3
    assert smoothed_ms(kernels) == pytest.approx(40 + waiting_ms, abs=2.5)


@needs_kernel
@pytest.mark.parametrize("kind", ["codel", "red", *(pytest.param(kind, marks=large) for kind in ("fq_codel", "pie"))])
def test_marks_of_the_kernel_arrive(kind: str) -> None:
    stack = {"base": "linux", "ecn": True}
    result = get("linux").run(dumbbell({"algorithm": "reno:linux", "stack": stack}, queue=f"linux:{kind}"))
    marked = bottleneck(result).row(-1, named=True)["marked_packets"]
    assert marked > 5
    # An echo of a mark stays until the sender has answered it: at least one segment for each.
    assert flow(result)["marked_segments"] >= marked - 2
    if kind != "pie":  # PIE drops while its probability is above a tenth, as in slow start
        assert flow(result)["retransmits"] < marked


@needs_kernel
@pytest.mark.parametrize("seeds", [(1, 2), pytest.param((1, 2, 3), marks=large)], ids=["two seeds", "three seeds"])
def test_red_drops_and_marks_as_much_in_the_kernel_as_in_the_engine(seeds: tuple[int, ...]) -> None:
    """The average falls while the queue is idle in both; without that, every packet after a burst is marked."""
    flow_ = {"algorithm": "reno:linux", "stack": {"base": "linux", "ecn": True}}
    real = {"queue": "linux:red", "queue_parameters": {"harddrop": True}}
    plain = {"queue": "red", "queue_parameters": {"gentle": False, "weight": 2.0**-11}}
    kernels, engines = (
        [get("linux").run(dumbbell(flow_, seed=seed, **queue)) for seed in seeds] for queue in (real, plain)
    )
    # Means of six seeds: 14.7 Mbit/s in the kernel (14.3 to 15.6), 13.3 Mbit/s in the engine (13.0 to 13.5).
    goodputs = [fmean(flow(one)["goodput_mbps"] for one in runs) for runs in (kernels, engines)]
    assert goodputs[0] == pytest.approx(goodputs[1], rel=0.15)
    queues = [fmean(mean_queue(one) for one in runs) for runs in (kernels, engines)]
    assert queues[0] == pytest.approx(queues[1], abs=1)
    for what in ("marked_packets", "dropped_packets"):
        counts = [fmean(bottleneck(one).row(-1, named=True)[what] for one in runs) for runs in (kernels, engines)]
        assert counts[0] == pytest.approx(counts[1], rel=0.3), what


@needs_kernel
@pytest.mark.parametrize(
    ("kind", "rules"),
    [("fq_codel", ["newton", "whole_backlog", "count_bound_drops"]), pytest.param("codel", ["newton"], marks=large)],
)
def test_with_linuxs_rules_codel_drops_as_many_packets_as_in_the_kernel(kind: str, rules: list[str]) -> None:
    flows = {"algorithm": "cubic:linux", "count": 4}
    path = {"rate": "10 Mbit/s", "duration": "15 s"}
    engines = {"queue": kind, "queue_parameters": dict.fromkeys(rules, True)}
    plain = {"queue": kind}
    kernel, engine, other = (
        bottleneck(get("linux").run(dumbbell(flows, **path, **queue))).row(-1, named=True)
        for queue in ({"queue": f"linux:{kind}"}, engines, plain)
    )
    assert engine["dropped_packets"] == pytest.approx(kernel["dropped_packets"], abs=2)
    assert engine["queue_integral_packet_s"] == pytest.approx(kernel["queue_integral_packet_s"], rel=0.02)
    assert abs(other["queue_integral_packet_s"] - engine["queue_integral_packet_s"]) > abs(
        kernel["queue_integral_packet_s"] - engine["queue_integral_packet_s"]
    )


@needs_kernel
def test_fair_queues_keep_a_flood_from_a_slow_flow() -> None:
    """A flow of 1 Mbit/s beside three CUBIC flows in a buffer of 200 ms: the kernel's fq serves it at once."""
    slow = {"algorithm": "cubic:linux", "application": {"rate": "1 Mbit/s"}, "name": "slow"}
    flood = {"algorithm": "cubic:linux", "count": 3, "name": "flood"}
    path = {"buffer": "333 packets", "duration": "10 s"}
    scenario, tail = (dumbbell(slow, flood, queue=queue, **path) for queue in ("linux:fq", "droptail"))
    fair, plain = (get("linux").run(one) for one in (scenario, tail))
    assert flow(fair)["name"] == flow(plain)["name"] == "slow"
    assert smoothed_ms(fair) < 50
    assert smoothed_ms(plain) > 100


@needs_kernel
def test_the_same_seed_gives_the_same_bytes() -> None:
    scenario = dumbbell({"algorithm": "cubic:linux", "count": 3}, queue="linux:fq_codel", duration="4 s", measure={})
    first, second = (get("linux").run(scenario) for _ in range(2))
    for name in first.tables:
        assert pl.DataFrame(first.tables[name]).equals(pl.DataFrame(second.tables[name])), name
