"""Twin of a scenario for Linux in virtual time: the same network and flows, with the kernel's own endpoints.

An algorithm that Linux has runs as Linux's own module. Any other algorithm runs as Elephan's C source, compiled into
the kernel, with the scenario's parameters as far as the source has them. Datagrams and background traffic are
simulated, in the same queues. Each difference between a flow and its twin is reported; a scenario that would become a
different experiment is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from elephan.backends.kernel.twin import (
    Twin,
    check_stated,
    differences,
    endpoints,
    preset,
    same,
    stack_table,
)
from elephan.backends.linux import kernels, twins
from elephan.backends.linux.modules import MODULES, is_settable
from elephan.backends.linux.plan import Plan
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import Parameter, algorithms
from elephan.scenario.form import FlowSpec
from elephan.scenario.units import format_time

_Table = dict[str, Any]


def twin(scenario: Scenario) -> Twin:
    """The twin of a scenario.

    Raises:
        ScenarioError: Linux in virtual time cannot run the same experiment; the message has the reason.
    """
    form = scenario.form
    tables = scenario.to_dict()
    simulated = [i for i, flow in enumerate(form.flows) if flow.datagrams or flow.algorithm == "datagrams"]
    mixed = bool(simulated or form.traffic)
    real = [flow for i, flow in enumerate(form.flows) if i not in simulated]
    lines = list(dict.fromkeys(endpoints(msgspec.structs.replace(form, flows=tuple(real)))))
    if form.send_jitter_ps:
        lines.append(f"no send_jitter of {format_time(form.send_jitter_ps)}: real senders have their own")
    if mixed:
        what = [*(["datagrams"] if simulated else []), *(["background traffic"] if form.traffic else [])]
        lines.append(f"{' and '.join(what)} simulated, in the same queues: the engine is the path")
    common = tables.pop("stack", {})
    made: _Table = {**tables, "send_jitter": "0 s", "flow": []}
    if form.traffic:
        made["traffic"] = [_with_stack(table, common) for table in tables["traffic"]]
    for i, (flow, table) in enumerate(zip(form.flows, tables.get("flow", []), strict=True)):
        if i in simulated:
            made["flow"].append(dict(table))
            continue
        mine, told = _flow(flow, table, f"flow[{i}]")
        made["flow"].append(mine | ({"backend": "linux"} if mixed else {}))
        lines += [line for line in told if line not in lines]
    found = Scenario.from_dict(made)
    kernel = kernels.chosen(next((flow.stack.hz for flow in found.form.flows if flow.stack.hz is not None), None))
    Plan.of(found.without_groups(), kernel.hz)
    return Twin(found, tuple(lines))


def _with_stack(table: Mapping[str, Any], common: str | Mapping[str, Any]) -> _Table:
    """A flow's table with its complete stack, which no longer refers to the scenario's common stack."""
    own = table.get("stack", {})
    given, mine = ({"base": stack} if isinstance(stack, str) else dict(stack) for stack in (common, own))
    stack = mine if "base" in mine else given | mine
    return {**table, **({"stack": stack} if stack else {})}


def _flow(flow: FlowSpec, table: Mapping[str, Any], where: str) -> tuple[_Table, list[str]]:
    """The table of a flow's twin, and its differences from the original.

    Raises:
        ScenarioError: neither Linux nor Elephan's C source supports a parameter's value that the flow states.
    """
    name = flow.algorithm.partition(":")[0]
    if flow.source_sha256 is not None or name not in algorithms():
        return dict(table), []  # the plan of the twin refuses it, with the reason
    entry = algorithms()[name]
    defaults = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    wanted = defaults | preset(flow.algorithm) | dict(flow.parameters)
    mine: _Table = {**table, "name": flow.name, "algorithm": name, "stack": _stack(flow)}
    mine.pop("parameters", None)
    if name in MODULES:
        if any(known["name"] == "linux" for known in entry["presets"]):
            mine["algorithm"] = f"{name}:linux"
        linux = defaults | preset(f"{name}:linux")
        other = {key: value for key, value in wanted.items() if not same(value, linux[key])}
        given = {key: value for key, value in flow.parameters.items() if key in other and is_settable(name, key, value)}
        lost = {key: linux[key] for key in other if key not in given}
        check_stated(flow, lost, f"{where}.parameters")
        own = f"{flow.algorithm} is Linux's own {name}"
        return mine | ({"parameters": given} if given else {}), differences(own, lost, wanted) or [own]
    if twins.file_of(flow) is None:
        return mine, []  # the plan of the twin refuses it, with the reason
    lost = {key: defaults[key] for key in _unsettable(flow, wanted, defaults)}
    check_stated(flow, lost, f"{where}.parameters")
    given = {key: value for key, value in wanted.items() if key not in lost and value != defaults[key]}
    own = f"{flow.algorithm} is Elephan's C source of it, compiled into the kernel"
    return mine | ({"parameters": given} if given else {}), [own, *differences(flow.algorithm, lost, wanted)]


def _stack(flow: FlowSpec) -> _Table:
    """The stack of a twin's flow, with its form of ECN."""
    given = {name: getattr(flow.stack, name) for name in ("ecn", "accurate_ecn", "accurate_ecn_option")}
    table = stack_table(flow.stack) | {name: True for name, value in given.items() if value}
    return table | ({"receiver_ecn": flow.stack.receiver_ecn} if flow.stack.receiver_ecn != "accurate" else {})


def _unsettable(flow: FlowSpec, wanted: Mapping[str, Parameter], defaults: Mapping[str, Parameter]) -> Iterator[str]:
    """The parameters that the C source of a flow's algorithm does not accept."""
    file, name = twins.file_of(flow), flow.algorithm.partition(":")[0]
    if file is None:
        return
    for key, value in wanted.items():
        if value == defaults[key]:
            continue
        try:
            twins.arguments_of(msgspec.structs.replace(flow, algorithm=name, parameters={key: value}), file)
        except ScenarioError:
            yield key
