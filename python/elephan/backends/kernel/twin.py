"""Twin of a scenario for a real Linux kernel: the same network and flows, with the kernel's own endpoints.

A twin keeps the settings that a socket or a route accepts: segment sizes, initial and receive windows, start times. All
other properties of the endpoints are the kernel's, and each difference is stated. An algorithm that Linux has runs as
Linux's own module. Any other algorithm runs as its BPF object, with the scenario's parameters as far as the object
supports them. A scenario that would become a different experiment is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from elephan.backends.kernel import bpf, calibration
from elephan.backends.kernel.plan import BUILT_IN, Plan, stated_settings
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import Parameter, algorithms
from elephan.scenario.form import FlowSpec, Spec, StackSpec
from elephan.scenario.lookups import wire_bytes
from elephan.scenario.stacks import STACKS
from elephan.scenario.units import format_time

BESIDE_THE_RULES = {
    "halve_in_slow_start": "ns-2's agent halves on a loss in slow start whatever the algorithm",
    "known_owd": "the clocks of two hosts have no common zero, so the smallest delay seen is used instead",
}
"""Parameters of the simulator's model and not of the algorithm's rules; a twin may leave them out, and states this."""

_LINUX = STACKS["linux"]
_TOLD = ("payload_bytes", "header_bytes", "initial_window", "initial_ssthresh", "receive_window", "pacing")
"""Settings of Linux's endpoint that a twin takes from the scenario."""

# Linux has fractions in units of 1/1024, so 0.7 is 0.7002 in Linux.
_SAME_PART = 2e-3


@dataclass(frozen=True)
class Twin:
    """Twin of a scenario: the scenario that the kernel runs in place of the original.

    Attributes:
        scenario: the scenario that is run.
        differences: differences from the original, one clause each.
    """

    scenario: Scenario
    differences: tuple[str, ...]

    @property
    def duration_s(self) -> float:
        """Duration of the twin's run, s, without the preparation."""
        return self.scenario.form.duration_ps / 1e12


def twin(scenario: Scenario) -> Twin:
    """The twin of a scenario.

    Raises:
        ScenarioError: the kernel backend cannot run the same experiment; the message has the reason.
    """
    form = scenario.form
    tables = scenario.to_dict()
    lines = list(dict.fromkeys(endpoints(form)))
    if form.send_jitter_ps:
        lines.append(f"no send_jitter of {format_time(form.send_jitter_ps)}: real senders have their own")
    tables |= {"send_jitter": "0 s", "flow": []}
    tables.pop("stack", None)
    for i, (flow, table) in enumerate(zip(form.flows, scenario.to_dict().get("flow", []), strict=True)):
        mine, told = _flow(flow, table, f"flow[{i}]")
        tables["flow"].append(mine)
        lines += [line for line in told if line not in lines]
    made = Scenario.from_dict(tables)
    plan = Plan.of(made)
    _check_rate(plan.rate_bps)
    return Twin(made, tuple(lines))


def _check_rate(rate_bps: int) -> None:
    """Reject a rate at which this host's runs are known to be invalid, before hours of runs."""
    known = calibration.load()
    if known is not None:
        if (why := calibration.warning(rate_bps)) is not None:
            raise ScenarioError(why)
        return
    most = max(calibration.RATES_MBPS)
    if rate_bps > most * 1_000_000:
        raise ScenarioError(
            f"this path has {rate_bps / 1e6:g} Mbit/s, and this host was not calibrated beyond {most} Mbit/s; "
            "see elephan lab calibrate"
        )


# ---- endpoints ----


def endpoints(form: Spec) -> Iterator[str]:
    """Clauses on the differences between the kernel's endpoints and the scenario's endpoints; a clause may be repeated
    for several flows."""
    linux = {name: getattr(_LINUX, name) for name in StackSpec.__struct_fields__}
    for flow in form.flows:
        stack, settings = flow.stack, stated_settings(flow.stack)
        told = {name: settings[name] for name in _TOLD}
        if flow.algorithm != "datagrams" and linux | settings != linux | told:
            yield "the kernel's own endpoint: loss detection, recovery, timeouts and delayed ACKs"
        wire, real = wire_bytes(stack), stack.payload_bytes + _LINUX.header_bytes
        if wire != real:
            yield f"packets of {real} B on the path and not {wire} B, since headers have {_LINUX.header_bytes} B"
        threshold, window = stack.initial_ssthresh, stack.receive_window
        if threshold is not None and (window is None or threshold < window):
            yield f"no initial threshold of {threshold} segments: slow start goes on to the first sign of congestion"


def stack_table(stack: StackSpec) -> dict[str, Any]:
    """The stack of a twin's flow: Linux's stack with the settings of the scenario that a socket or a route
    accepts."""
    window = stack.receive_window
    table = {
        "base": "linux",
        "payload": f"{stack.payload_bytes} B",
        "initial_window": f"{stack.initial_window} segments",
        "receive_window": "unlimited" if window is None else f"{window} segments",
    }
    return table | ({"pacing": True} if stack.pacing else {})


# ---- flows and their algorithms ----


def _flow(flow: FlowSpec, table: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[str]]:
    """The table of a flow's twin, and its differences from the original."""
    name, _, _ = flow.algorithm.partition(":")
    offered = bpf.available()
    if name not in BUILT_IN and offered.get(name, "not there"):
        return dict(table), []  # the check of the twin rejects the flow with the reason
    entry = algorithms()[name]
    defaults = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    wanted = preset(flow.algorithm) | dict(flow.parameters)
    mine: dict[str, Any] = {**table, "name": flow.name, "algorithm": name, "stack": stack_table(flow.stack)}
    mine.pop("parameters", None)
    if name in BUILT_IN:
        if any(preset["name"] == "linux" for preset in entry["presets"]):
            mine["algorithm"] = f"{name}:linux"
        linux = defaults | preset(f"{name}:linux")
        lost = {key: linux[key] for key, value in (defaults | wanted).items() if not same(value, linux[key])}
        check_stated(flow, lost, f"{where}.parameters")
        own = f"{flow.algorithm} is Linux's own {name}"
        return mine, differences(own, lost, defaults | wanted) or [own]
    unsettable = bpf.unsettable(name, wanted)
    lost = {key: defaults[key] for key in unsettable}
    check_stated(flow, lost, f"{where}.parameters")
    if given := {key: value for key, value in wanted.items() if key not in lost and value != defaults[key]}:
        mine["parameters"] = given
    return mine, differences(flow.algorithm, lost, wanted)


def preset(algorithm: str) -> dict[str, Parameter]:
    """The parameters that an algorithm's preset sets, with their values."""
    name, _, preset = algorithm.partition(":")
    found = (entry["overrides"] for entry in algorithms()[name]["presets"] if entry["name"] == preset)
    return dict(next(found, {}))


def check_stated(flow: FlowSpec, lost: Mapping[str, Parameter], where: str) -> None:
    """Reject a twin that lacks a value stated in the scenario file, since the experiment is about this value.

    Raises:
        ScenarioError: the kernel does not accept the value.
    """
    for key in sorted(set(flow.parameters) & set(lost) - set(BESIDE_THE_RULES)):
        raise ScenarioError(
            f"in the kernel '{key}' of {flow.algorithm.partition(':')[0]} is {_show(lost[key])} always, "
            f"and this flow has {_show(flow.parameters[key])}",
            path=where,
        )


def differences(whose: str, lost: Mapping[str, Parameter], wanted: Mapping[str, Parameter]) -> list[str]:
    """Clauses on the parameters that the kernel does not accept: for each, the kernel's value and the wanted value."""
    beside = [f"{whose}, without {key}: {why}" for key, why in BESIDE_THE_RULES.items() if key in lost]
    rules = [
        f"{key} {_show(value)} and not {_show(wanted[key])}"
        for key, value in sorted(lost.items())
        if key not in BESIDE_THE_RULES
    ]
    return [*([f"{whose}, with {', '.join(rules)}"] if rules else []), *beside]


def same(one: Parameter, other: Parameter) -> bool:
    """True if two values are equal to the precision with which Linux counts."""
    if isinstance(one, bool | str) or isinstance(other, bool | str):
        return one == other
    return math.isclose(one, other, rel_tol=_SAME_PART)


def _show(value: Parameter) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.4g}"
