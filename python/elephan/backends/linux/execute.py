"""A command on a host of a scenario's path, in virtual time: ``elephan lab linux exec``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elephan.backends.linux import guest
from elephan.backends.linux.backend import LinuxBackend, require
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.commands import PROGRAM

HOSTS = ("sender", "receiver")
"""Names of the hosts: the one at the beginning of the path and the one at its end."""
NAME = "exec"
"""Name of the command among the flows."""
SHELL = ("/bin/sh",)
INPUT_BYTES = 16 << 20
"""Most input of a command."""
Tell = Callable[[bytes, bool], None]
"""Takes a piece of output, and true if it is an error message."""
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


class Command:
    """The command of a scenario of :func:`with_command`, which can be run several times.

    Args:
        scenario: the scenario.
        seed: its seed, by default its own.

    Raises:
        ScenarioError: the scenario cannot be run here.
    """

    def __init__(self, scenario: Scenario, seed: int | None = None) -> None:
        require()
        backend = LinuxBackend()
        backend.check(scenario)
        self._memory = backend.memory
        self._plan, self._kernel = backend.planned(scenario.without_groups(), seed)
        self._plan.document["programs"][-1] |= {"server": None, "exec": True}

    def run(self, text: bytes = b"", tell: Tell | None = None) -> guest.End | None:
        """Run the command, and end with it.

        Args:
            text: input of the command.
            tell: called with each piece of output, and true if it is an error message.

        Returns:
            Its end; ``None`` if the scenario ended before it.

        Raises:
            ScenarioError: the input is too long.
            GuestError: the guest failed or hung.
        """
        if len(text) > INPUT_BYTES:
            raise ScenarioError(f"the input of a command has at most {INPUT_BYTES >> 20} MiB", path="stdin")
        with self._memory.share(self._plan.memory_bytes, alone=False, go_on=lambda: True):
            return guest.execute(self._plan, self._kernel, text, tell or (lambda piece, is_error: None))


class Shell:
    """A shell whose time stands still between two lines: a line is run after all lines before it, which repeat exactly.

    Args:
        command: a shell that reads commands from its input.
    """

    def __init__(self, command: Command) -> None:
        self._command = command
        self._lines: list[str] = []
        self._told = (b"", b"")
        self.end = guest.End(0, 0.0)

    def take(self, line: str, tell: Tell) -> bool:
        """Run a line and pass on its output.

        Returns:
            False if the scenario ended before the line; the line is forgotten then.

        Raises:
            ScenarioError, GuestError: the errors of :meth:`Command.run`; the line is forgotten.
        """
        made = [bytearray(), bytearray()]
        lines = [*self._lines, line]
        text = "".join(f"{each}\n" for each in lines).encode()
        end = self._command.run(text, lambda piece, is_error: made[is_error].extend(piece))
        outputs = (bytes(made[0]), bytes(made[1]))
        pairs = tuple(zip(outputs, self._told, strict=True))
        if not all(output.startswith(told) for output, told in pairs):
            tell(b"elephan: the lines before did not repeat; this is the output of all\n", True)
            pairs = tuple((output, b"") for output in outputs)
        for is_error, (output, told) in enumerate(pairs):
            tell(output[len(told) :], bool(is_error))
        if end is None:
            return False
        self._lines, self._told, self.end = lines, outputs, end
        return True


__all__ = ["HOSTS", "INPUT_BYTES", "NAME", "SHELL", "Command", "Shell", "with_command"]
