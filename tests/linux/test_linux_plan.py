"""Scenarios as plans of guests: devices, routes, refusals, parameters of modules. No kernel is needed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from elephan.backends import get
from elephan.backends.linux import accurate
from elephan.backends.linux import plan as plans
from elephan.backends.linux.kernels import Kernel
from elephan.backends.linux.plan import Plan
from elephan.scenario import Scenario, ScenarioError, catalog
from elephan.scenario.document import write

FLOW = {"algorithm": "cubic:linux"}
MINE = str(Path(__file__).parents[2] / "examples" / "tcp_simple.c")


def dumbbell(*flows: dict[str, Any], **more: Any) -> Scenario:
    settings = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "333 packets", "duration": "5 s"} | more
    return Scenario.dumbbell(list(flows) or [FLOW], **settings)


def plan(*flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return Plan.of(dumbbell(*flows, **more), 250).document


def test_the_bottleneck_holds_its_buffer_and_the_packet_in_transmission() -> None:
    made = plan()
    watched = [device["netem"] for device in made["devices"] if device["watched"]]
    assert [(netem["rate_bps"], netem["limit"], netem["delay_ns"]) for netem in watched] == [
        (100_000_000, 334, 0)
    ] * len(watched)
    assert watched


def test_both_directions_have_the_scenarios_delay() -> None:
    made = plan()
    for origin, to, key in ((0, 1, "receiver"), (1, 0, "sender")):
        namespace, delay_ns = origin, 0
        while namespace != to:
            [route] = [r for r in made["routes"] if (r["namespace"], r["to"]) == (namespace, made["flows"][0][key])]
            device = made["devices"][route["device"]]
            assert device["from"] == namespace
            delay_ns += (device["netem"] or {"delay_ns": 0})["delay_ns"]
            namespace = device["to"]
        assert delay_ns == 20_000_000


def test_segments_are_cut_where_they_leave_a_host_and_nowhere_else() -> None:
    made = plan(FLOW, FLOW | {"rtt": "80 ms"})
    assert {device["host"] for device in made["devices"] if device["from"] < 2} == {True}
    assert not any(
        device["host"] or device["netem"] is None
        for device in made["devices"]
        if min(device["from"], device["to"]) >= 2
    )


def test_a_receivers_window_grows_while_it_acknowledges_each_segment() -> None:
    """tcp_grow_window: two segments for each, once the sixteen of any connection are over."""
    for quick_acks, growth in [(1080, 1064), (16, 0), (5000, 4984)]:
        document = plan({"algorithm": "reno", "stack": {"base": "linux", "quick_acks": quick_acks}})
        [back] = [route for route in document["routes"] if route["receive_window"] is not None]
        [flow] = document["flows"]
        assert flow["receive_window_bytes"] == (back["receive_window"] + 2 * growth) * 1448
        assert back["receive_window"] >= 20


@pytest.mark.parametrize("rate", ["1 Mbit/s", "100 Mbit/s", "10 Gbit/s"])
def test_a_receive_window_is_a_whole_number_of_segments_and_of_its_units(rate: str) -> None:
    """Windows of 2^15 to 2^16 - 1 units are announced (tcp_select_initial_window)."""
    document = plan({"algorithm": "reno", "stack": "linux"}, rate=rate, rtt="40 ms", buffer="1 BDP")
    [flow] = document["flows"]
    window, unit = flow["receive_window_bytes"], 1
    while window // unit >= 2**16:
        unit *= 2
    assert window % 1448 == window % unit == 0


def test_neither_the_first_window_nor_waiting_data_reach_the_receive_buffer() -> None:
    """tcp_select_initial_window and tcp_grow_window: otherwise the window grows by more, or in several steps."""
    for rate in ["1 Mbit/s", "1 Gbit/s"]:
        document = plan({"algorithm": "reno", "stack": "linux"}, rate=rate, rtt="40 ms", buffer="1 BDP")
        [back] = [route for route in document["routes"] if route["receive_window"] is not None]
        [flow] = document["flows"]
        assert back["receive_window"] * 1448 <= flow["receive_buffer_bytes"]
        last = flow["receive_buffer_bytes"] * 2 * 1448 / (1448 + 856)
        assert last >= flow["receive_window_bytes"] + flow["read_bytes"]


def test_fewer_quick_acks_than_linux_has_are_refused() -> None:
    with pytest.raises(ScenarioError, match="Linux acknowledges at least 16 segments one by one"):
        plan({"algorithm": "reno", "stack": {"base": "linux", "quick_acks": 8}})


def test_all_looks_at_sample_times_are_in_the_plan() -> None:
    made = plan(measure={"from": "1.2345 s"})
    assert 100_000_000 % made["look_ns"] == 0
    assert made["more_looks_ns"] == [1_234_500_000, 5_000_000_000]


@pytest.mark.parametrize(
    ("rate", "rtt", "more", "look_ms"),
    [
        ("100 Mbit/s", "40 ms", {}, 10),
        ("1 Mbit/s", "1 ms", {}, 10),  # a packet takes 12 ms
        ("1 Mbit/s", "1 ms", {"rate_steps": [{"at": "1 s", "rate": "100 Mbit/s"}]}, 1),
        ("64 kbit/s", "1 ms", {}, 20),
    ],
)
def test_looks_are_as_far_apart_as_packets(rate: str, rtt: str, more: dict[str, Any], look_ms: int) -> None:
    assert plan(rate=rate, rtt=rtt, **more)["look_ns"] == look_ms * 10**6


def test_a_flow_does_not_give_up() -> None:
    """Six lost SYNs would end a run at a loss of 95 %, at which the simulator's flows go on."""
    sysctls = plan()["sysctls"]
    assert [sysctls[f"net/ipv4/tcp_{name}_retries"] for name in ("syn", "synack")] == ["127", "255"]


def test_another_seed_is_another_phase() -> None:
    phases = {Plan.of(dumbbell(), 250, seed).document["phase_ns"] for seed in range(1, 9)}
    assert len(phases) == 8
    assert all(0 <= phase < 4_000_000 for phase in phases)


@pytest.mark.parametrize(
    ("flows", "more", "sentence"),
    [
        ([FLOW | {"stack": "ns2"}], {}, "which do not support"),
        ([FLOW | {"stack": {"hz": 1000}}], {}, "elephan lab linux build --hz 1000"),
        ([{"algorithm": "copa"}], {}, "Linux has no 'copa'"),
        ([{"algorithm": "cubic:rfc8312"}], {}, "Linux has its own cubic"),
        ([{"algorithm": "reno", "parameters": {"increase": 2}}], {}, "has none that can be set, and no 'increase'"),
        ([FLOW, FLOW | {"parameters": {"beta": 0.5}}], {}, "a kernel has one set of parameters of cubic"),
        ([FLOW | {"backend": "linux"}, {"algorithm": MINE}], {}, "this flow is simulated; write backend"),
    ],
)  # fmt: skip
def test_a_scenario_that_a_guest_cannot_run_is_refused_in_one_sentence(
    flows: list[dict[str, Any]], more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ScenarioError, match=sentence) as refused:
        Plan.of(dumbbell(*flows, **more), 250)
    assert "\n" not in str(refused.value)


def test_parameters_of_modules_are_in_the_modules_units() -> None:
    made = Plan.of(dumbbell({"algorithm": "cubic:linux", "parameters": {"beta": 0.5, "fast_convergence": False}}), 250)
    assert made.arguments == ["tcp_cubic.beta=512", "tcp_cubic.fast_convergence=0"]
    assert Plan.of(dumbbell(), 250).arguments == []


def test_the_guest_draws_the_simulators_losses() -> None:
    made = plan(loss=1e-4)
    [lossy] = [d["netem"] for d in made["devices"] if d["netem"] and d["netem"]["loss"]]
    assert lossy["loss"] == math.ceil(1e-4 * 2**53)
    assert lossy["loss_key"] == catalog.engine().stream_key(1, "link bottleneck loss")


def test_devices_are_in_the_order_of_the_flows_names() -> None:
    """Packets that arrive together are in this order."""
    flows = [{"algorithm": "cubic", "name": name} for name in ("z", "b", "a")]
    form = dumbbell(*flows).form
    firsts = [flow.path[0] for flow in form.flows]
    listed = plans._in_order_of_flows(form)
    assert sorted(firsts, key=listed.index) == [firsts[2], firsts[1], firsts[0]]


def test_the_send_buffer_is_the_simulators() -> None:
    for path in ({}, {"rate": "1 Gbit/s", "rtt": "300 ms"}):
        form = dumbbell(FLOW, **path).form
        [doubled] = catalog.engine().send_buffers(json.dumps(write(form)))
        assert Plan.of(dumbbell(FLOW, **path), 250).document["flows"][0]["send_buffer_bytes"] == -(-doubled // 2)


# ---- the engine as the path ----

LINUX = FLOW | {"backend": "linux"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"queue": "red"}, "a queue 'red'"),
        ({"queue": "codel"}, "a queue 'codel'"),
        ({"rate": "100000001 bit/s"}, "no whole number of bytes"),
        ({"loss": {"to_bad": "0.1%", "to_good": "20%"}}, "losses in bursts"),
        ({"jitter": {"uniform": "1 ms"}}, "a link with jitter"),
    ],
)  # fmt: skip
def test_what_netem_cannot_be_the_engine_is(more: dict[str, Any], why: str) -> None:
    made = Plan.of(dumbbell(**more), 250)
    assert why in made.outside
    assert made.real == [0]
    assert [device["to"] for device in made.document["devices"]] == [None, None]
    assert made.document["zero_ns"] % 10**9 == made.document["phase_ns"]
    assert Plan.of(dumbbell(), 250).outside == ""


def test_flows_without_a_backend_are_the_engines_where_another_has_one() -> None:
    made = Plan.of(dumbbell({"algorithm": "bbr3"}, LINUX, {"algorithm": "copa"}), 250)
    assert (made.real, made.modules) == ([1], ["cubic"])
    assert [flow["name"] for flow in made.document["flows"]] == ["cubic:linux-2"]
    sizes = [flow.get("foreign") for flow in made.engine_form["flows"]]
    assert sizes == [None, {"smallest_bytes": 40, "largest_bytes": 1500}, None]


ACCURATE = {"base": "linux", "ecn": True, "accurate_ecn": True}


def test_accurate_ecn_is_a_setting_of_both_hosts() -> None:
    option = "net/ipv4/tcp_ecn_option"
    for stack, expected in (
        ({"base": "linux", "ecn": True}, []),
        (ACCURATE, [{"net/ipv4/tcp_ecn": "3", option: "0"}] * 2),
        (ACCURATE | {"accurate_ecn_option": True}, [{"net/ipv4/tcp_ecn": "3", option: "2"}] * 2),
        (
            ACCURATE | {"receiver_ecn": "classic"},
            [{"net/ipv4/tcp_ecn": "3", option: "0"}, {"net/ipv4/tcp_ecn": "2", option: "0"}],
        ),
    ):
        assert plan({"algorithm": "cubic:linux", "stack": stack})["host_sysctls"] == expected
    # DCTCP asks without being told, and CUBIC does not.
    unasked = {"base": "linux", "accurate_ecn": True}
    assert [
        bool(plan({"algorithm": name, "stack": unasked})["host_sysctls"]) for name in ("dctcp:linux", "cubic:linux")
    ] == [True, False]


@pytest.mark.parametrize(
    ("stacks", "line"),
    [
        ([ACCURATE, {"base": "linux", "ecn": True}], r"flow\[1\].stack.accurate_ecn: .* flow\[0\] has another"),
        ([ACCURATE, ACCURATE | {"accurate_ecn_option": True}], r"one setting of accurate ECN for all connections"),
        ([ACCURATE | {"receiver_ecn": "broken"}], "no Linux answers as a receiver with broken ECN"),
        ([ACCURATE | {"header": "60 B"}], "Linux's segments have 52 B of headers here, and this flow has 60 B"),
    ],
)
def test_accurate_ecn_that_linux_cannot_have_is_refused(stacks: list[dict[str, Any]], line: str) -> None:
    with pytest.raises(ScenarioError, match=line):
        plan(*({"algorithm": "cubic:linux", "stack": stack} for stack in stacks))


def test_a_kernel_without_accurate_ecn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel = Kernel("0123", "6.12.117-1", 250, 0.0, 0.0, "", "")
    form = dumbbell({"algorithm": "cubic:linux", "stack": ACCURATE}).form
    with pytest.raises(ScenarioError, match=r"Linux 6.12.117 has no accurate ECN, which Linux 6.18 has"):
        accurate.require(form, [0], kernel)
    accurate.require(dumbbell().form, [0], kernel)
    (kernel.tree / "include" / "net").mkdir(parents=True)
    (kernel.tree / "include" / "net" / "tcp_ecn.h").touch()
    accurate.require(form, [0], kernel)


def test_a_stack_with_ecn_asks_for_it_on_its_routes() -> None:
    for flow, asked in ((FLOW, False), (FLOW | {"stack": {"base": "linux", "ecn": True}}, True)):
        routes = plan(flow)["routes"]
        assert {route["ecn"] for route in routes if route["mtu"] is not None} == {asked}
    for flow in (FLOW, LINUX):
        assert plan(flow)["flows"][0]["receiver_congestion"] == plan(flow)["flows"][0]["congestion"]


def test_a_flows_backend_is_in_the_id() -> None:
    assert dumbbell(FLOW).hash != dumbbell(LINUX).hash
    assert "backend" not in dumbbell(FLOW).canonical()["flows"][0]
    assert dumbbell(LINUX).canonical()["flows"][0]["backend"] == "linux"


def test_socket_buffers_hold_what_fits_onto_a_path_that_changes() -> None:
    bottleneck = {"rate_steps": [{"at": "1 s", "rate": "400 Mbit/s"}]}
    plain, faster = (plan(LINUX, **more)["flows"][0]["send_buffer_bytes"] for more in ({}, bottleneck))
    assert faster - plain > 2 * 300e6 / 8 * 0.04


def test_a_flow_that_names_the_simulator_is_simulated_beside_flows_that_name_nothing() -> None:
    made = Plan.of(dumbbell(FLOW, FLOW | {"algorithm": "bbr3", "backend": "sim"}), 250)
    assert (made.real, made.outside) == ([0], Plan.of(dumbbell(LINUX, {"algorithm": "bbr3"}), 250).outside)


@pytest.mark.parametrize("backend", ["sim", "model", "kernel", "quic"])
def test_other_backends_say_who_has_a_flow_of_linux(backend: str) -> None:
    with pytest.raises(ScenarioError, match="has no flows of 'linux'; write --on linux"):
        get(backend).check(dumbbell(LINUX))


@pytest.mark.parametrize(
    ("flow", "more", "sentence"),
    [
        (FLOW | {"backend": "linus"}, {}, "did you mean 'linux'"),
        ({"algorithm": "udt", "backend": "linux"}, {}, "'linux' has TCP alone, and this flow is of udt"),
        ({"algorithm": "quinn:cubic", "backend": "linux"}, {}, "'linux' has TCP alone, and this flow is of quinn"),
        ({"datagrams": {"rate": "1 Mbit/s"}, "backend": "linux"}, {}, "this flow is of datagrams"),
        (LINUX, {"events": True}, "has no event log"),
        (LINUX, {"record": 10}, 'write record = "all"'),
    ],
)
def test_a_flow_of_linux_is_of_tcp_and_keeps_all_samples(
    flow: dict[str, Any], more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ScenarioError, match=sentence) as refused:
        dumbbell(flow, **more)
    assert "\n" not in str(refused.value)


def test_each_flow_of_a_group_is_a_flow_of_linux() -> None:
    made = plan({"algorithm": "cubic", "count": 3}, {"algorithm": "reno"})
    assert [flow["congestion"] for flow in made["flows"]] == ["cubic", "cubic", "cubic", "reno"]


@pytest.mark.parametrize("field", ["duration", "sample_period"])
def test_a_time_that_linux_cannot_count_is_refused_before_the_run(field: str) -> None:
    with pytest.raises(ScenarioError, match=f"{field}: Linux counts whole ns; '.*' is not"):
        plan(**{field: "1.000000000823 s"})
