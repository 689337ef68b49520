"""A command on a host of a scenario's path, in virtual time: ``elephan lab linux exec``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elephan.backends.linux import guest
from elephan.backends.linux.backend import LinuxBackend, require
from elephan.backends.linux.plan import Plan
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.commands import PROGRAM

HOSTS = ("sender", "receiver")
"""Names of the hosts: the one at the beginning of the path and the one at its end."""
NAME = "exec"
"""Name of the command among the flows."""
SHELL = ("/bin/sh",)
INPUT_BYTES = 16 << 20
"""Most input of a command."""
_OF_PATH = ("rtt", "direction", "hops", "path", "reverse_path")


def with_command(scenario: Scenario, command: Sequence[str], host: str, start: str) -> Scenario:
    """A scenario with a command beside its flows, on the path of the first one; flows without a backend are on Linux.

    Raises:
        ScenarioError: the command is no program, or the scenario has a flow of this name.
    """
    tables = scenario.to_dict()
    flows: list[dict[str, Any]] = [dict(flow) for flow in tables.get("flow", ())]
    if any(flow.get("name") == NAME for flow in flows):
        raise ScenarioError(f"'{NAME}' is the name of the command; rename the flow", path="flow")
    if not any("backend" in flow for flow in flows):
        flows = [flow if PROGRAM in flow else flow | {"backend": "linux"} for flow in flows]
    place = {field: flows[0][field] for field in _OF_PATH if field in flows[0]} if flows else {}
    # The server is left out of the plan; a program of a scenario has one.
    program = {
        "server": ["true"], "client": list(command), "sender": "client" if host == HOSTS[0] else "server",
    }  # fmt: skip
    flows.append(place | {"name": NAME, "start": start, PROGRAM: program})
    return Scenario.from_dict(tables | {"flow": flows})


def execute(
    scenario: Scenario, seed: int | None = None, text: bytes = b"", tell: Callable[[bytes, bool], None] | None = None
) -> int | None:
    """Run the command of a scenario of :func:`with_command`, and end with it.

    Args:
        scenario: the scenario.
        seed: its seed, by default its own.
        text: input of the command.
        tell: called with each piece of output, and true if it is an error message.

    Returns:
        The exit status of the command; ``None`` if the scenario ended before it.

    Raises:
        ScenarioError: the scenario cannot be run here.
        GuestError: the guest failed or hung.
    """
    require()
    if len(text) > INPUT_BYTES:
        raise ScenarioError(f"the input of a command has at most {INPUT_BYTES >> 20} MiB", path="stdin")
    backend = LinuxBackend()
    backend.check(scenario)
    one = scenario.without_groups()
    plan, kernel = backend.planned(one, seed)
    plan.document["programs"][-1] |= {"server": None, "exec": True}
    with backend.memory.share(plan.memory_bytes, alone=False, go_on=lambda: True):
        return guest.execute(plan, kernel, text, tell or (lambda piece, is_error: None))


__all__ = ["HOSTS", "INPUT_BYTES", "NAME", "SHELL", "Plan", "execute", "with_command"]
