"""A user's program on an emulated path: its namespace has one device, and the host is the other end of the path.

Both directions are measured as flows. The flow ``up`` goes from the program to the host, and ``down`` from the host to
the program.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.backends.base import RawResult
from elephan.backends.kernel import backend, host, session
from elephan.backends.kernel.plan import Plan
from elephan.backends.kernel.records import Record
from elephan.backends.kernel.session import KernelError, Logs, Program, Session, command, inside
from elephan.scenario import Scenario
from elephan.unhurried import unhurried

if TYPE_CHECKING:
    import polars as pl

HOST_ENVIRONMENT = "ELEPHAN_HOST"
_DEVICE_HEX = 4
_LEAST_PERIODS = 2
_PS_PER_S = 10**12
_LINKS = ("bottleneck", "bottleneck/reverse")


@dataclass(frozen=True)
class Stated:
    """The path for a program, as stated by the user.

    Attributes:
        longest: time after which the path is closed.
    """

    rate: str
    rtt: str
    buffer: str
    algorithm: str
    loss: str | None = None
    longest: str = "1 h"

    def scenario(self, duration: str) -> Scenario:
        """Both directions as flows of a dumbbell."""
        more: dict[str, Any] = {} if self.loss is None else {"loss": self.loss}
        flows = [
            {"name": "up", "algorithm": self.algorithm},
            {"name": "down", "algorithm": self.algorithm, "direction": "left"},
        ]
        return Scenario.dumbbell(
            flows, rate=self.rate, rtt=self.rtt, buffer=self.buffer, duration=duration, measure={"from": "0 s"},
            start_jitter="0 s", title="a program of its own", **more,
        )  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Exit status and output of a program.

    Attributes:
        status: exit status of the program.
        scenario: the path, with the program's duration.
        raw: the tables; ``None`` if the program ended before there was anything to measure.
    """

    status: int
    scenario: Scenario
    raw: RawResult | None


def run(path: Stated, program: Sequence[str]) -> Outcome:
    """Run a program on a path as the calling user, and wait for its end.

    Raises:
        ScenarioError: the path cannot be emulated here; the message has the reason.
        KernelError: the run failed.
    """
    plan = _plan(path)
    host.require()
    thoughts: list[pl.DataFrame] = []
    with backend.alone(None), unhurried(), backend.algorithms(plan, thoughts) as names:
        before = host.processor_times()
        with _opened(plan, names[0]) as (opened, started_ns, programs):
            status = _run_as_user(opened, program, plan)
            elapsed_s = (time.monotonic_ns() - started_ns) / 1e9
            logs = _logs(programs, before, started_ns)
    period_s = plan.form.sample_period_ps / _PS_PER_S
    periods = int(elapsed_s / period_s)
    if periods < _LEAST_PERIODS:
        return Outcome(status, path.scenario(path.longest), None)
    scenario = path.scenario(f"{periods * round(period_s * 1000)} ms")
    done = replace(plan, form=scenario.form)
    cut = _cut(logs, periods + 1)
    return Outcome(status, scenario, backend.result(done, cut, names, host.state(), thoughts))


def _plan(path: Stated) -> Plan:
    plan = Plan.of(path.scenario(path.longest))
    # One pair of addresses serves both directions.
    first, second = plan.flows
    return replace(plan, flows=[first, replace(second, sender=first.receiver, receiver=first.sender)])


@contextlib.contextmanager
def _opened(plan: Plan, congestion: str) -> Iterator[tuple[Session, int, list[Program]]]:
    """Open the path between the program's namespace and the host; yields the session, the start time and the
    programs."""
    record = Record.new()
    device = f"elephan{record.name[-_DEVICE_HEX:]}"
    opened = Session(record, record.folder(), f"{record.name}-shell", f"{record.name}-path", "")
    record.namespaces, record.devices = [opened.senders, opened.path], [device]
    flow = plan.flows[0]
    with record.kept(), contextlib.ExitStack() as ending:
        _end_connections(flow.receiver)
        ending.callback(_end_connections, flow.receiver)
        session.write_plan(opened.folder, plan.document({0: congestion, 1: congestion}) | {
            "mirrored": True,
        })  # fmt: skip
        for namespace in record.namespaces:
            command("ip", "netns", "add", namespace)
        link = ("ip", "-n", opened.path, "link", "add")
        command(*link, "left", "type", "veth", "peer", "name", "path", "netns", opened.senders)
        command(*link, "right", "type", "veth", "peer", "name", device, "netns", str(os.getpid()))
        inside(opened.path, "\n".join(f"ip link set {d} mtu {plan.largest_bytes} up" for d in ("left", "right")))
        inside(opened.senders, session.host_script(plan, "path", flow.sender))
        inside(opened.senders, _last_steps("path", flow.receiver, flow.sender, congestion))
        command("sh", "-ec", session.device_script(plan, device, flow.receiver))
        command("sh", "-ec", _last_steps(device, flow.sender, flow.receiver, congestion))
        programs = [opened.start("link", opened.path, "left", "right")]
        programs.append(opened.start("watch", opened.senders, flow.receiver, log="up"))
        programs.append(opened.start("watch", None, flow.sender, log="down"))
        for each in programs:
            ending.callback(each.end)
        for each in programs:
            each.wait_until_ready()
        started_ns = time.monotonic_ns()
        for each in programs:
            each.go(started_ns)
        yield opened, started_ns, programs


def _end_connections(address: str) -> None:
    """End the connections that this host opened from its address on the path; otherwise, retransmissions of these
    connections would reach the next path.

    Without CONFIG_INET_DIAG_DESTROY in the kernel, the connections end by their own timeouts.
    """
    subprocess.run(["ss", "-tKH", "src", address], capture_output=True, check=False)


def _last_steps(device: str, to: str, own: str, congestion: str) -> str:
    wire = host.program()
    return f"{wire} offload {device}\n{wire} route {device} {to} {own} {congestion}"


def _run_as_user(opened: Session, program: Sequence[str], plan: Plan) -> int:
    """Run a program in its namespace, as the user who called sudo; Ctrl-C reaches the program only."""
    environment = dict(os.environ) | {HOST_ENVIRONMENT: plan.flows[0].receiver}
    become: list[str] = []
    if (asked := os.environ.get("SUDO_UID")) is not None and int(asked) != 0:
        user = pwd.getpwuid(int(asked))
        if shutil.which("setpriv") is None:
            raise KernelError("setpriv is not installed: apt-get install util-linux")
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "--"]
        environment |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
        for name in [name for name in environment if name.startswith("SUDO_")]:
            del environment[name]
    interactive = [os.environ.get("SHELL", "/bin/sh")]
    arguments = ["ip", "netns", "exec", opened.senders, *become, *(program or interactive)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # This process ignores Ctrl-C, but the program must not.
        restore = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
        # The program is started in another thread, so that no signal raises an exception between the program's start
        # and the wait.
        with ThreadPoolExecutor(1) as other:
            # The main thread waits, so no other Python code runs during the fork.
            started = other.submit(lambda: subprocess.Popen(arguments, env=environment, preexec_fn=restore))  # noqa: PLW1509
            try:
                return started.result().wait()
            except BaseException:
                started.result().kill()
                raise
    finally:
        signal.signal(signal.SIGINT, before)


def _logs(programs: Sequence[Program], before: dict[str, int], started_ns: int) -> Logs:
    """Stop the programs, and read their logs."""
    for each in programs:
        each.process.terminate()
    link, up, down = (each.result() for each in programs)
    # The programs' logs do not show whether the route uses fine timestamps.
    send = up | {"flows": [up["flows"][0], down["flows"][0]], "starts_s": [0.0, 0.0], "fine_timestamps": None}
    send["look_gap_s"] = max(up["look_gap_s"], down["look_gap_s"])
    shares = host.processor_shares(before, host.processor_times())
    return Logs(link, send, {"processor_s": down["processor_s"]}, shares, started_ns)


def _cut(logs: Logs, count: int) -> Logs:
    """Truncate all samples to a common length, since the programs do not end at the same instant."""

    def shorter(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"samples": {name: values[:count] for name, values in entry["samples"].items()}}

    link = logs.link | {
        "times_s": logs.link["times_s"][:count],
        "flows": [shorter(flow) for flow in logs.link["flows"]],
        "links": [shorter(each) for each in logs.link["links"] if each["name"] in _LINKS],
    }
    return replace(logs, link=link, send=logs.send | {"flows": [shorter(flow) for flow in logs.send["flows"]]})


def default_folder() -> Path:
    """A new folder for the results of a program."""
    return Path(time.strftime("shell-%Y%m%d-%H%M%S"))
