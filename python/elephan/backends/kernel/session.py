"""A run on this host: three namespaces, two pairs of devices, and three programs for the path and its hosts.

One namespace has the senders, another has the receivers, and the third, between them, has the path. The devices are not
visible in the host's own namespace.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.backends.base import Cancelled
from elephan.backends.kernel import host
from elephan.backends.kernel.plan import Plan
from elephan.backends.kernel.records import Record, to_its_end

PLAN = "plan.json"
_MAC = "02:e1:e9:00:00:01"
_READY_S = 20.0
_LEAD_S = 0.3
_LOOK_S = 0.2
_END_S = 30.0
_BUFFER_SYSCTL = "4096 131072 1073741823"
SYSCTLS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_rmem": _BUFFER_SYSCTL,
    "net/ipv4/tcp_wmem": _BUFFER_SYSCTL,
}
"""Sysctls of the hosts' namespaces; all other sysctls keep the kernel's defaults."""


class KernelError(RuntimeError):
    """A run on this host failed; the message has the reason."""


@dataclass(frozen=True)
class Logs:
    """Output of the three programs, and the load of the host during the run."""

    link: dict[str, Any]
    send: dict[str, Any]
    receive: dict[str, Any]
    processor: dict[str, float]
    started_ns: int
    """Start of the run by the monotonic clock, ns."""


def command(*arguments: str) -> None:
    """Run a program that changes the host.

    Raises:
        KernelError: the program fails; the message has its output.
    """
    done = to_its_end(*arguments)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise KernelError(f"'{' '.join(arguments)}' fails: {said[0] if said else done.returncode}")


def inside(namespace: str, script: str) -> None:
    """Run a shell script in a namespace.

    Raises:
        KernelError: the command fails.
    """
    command("ip", "netns", "exec", namespace, "sh", "-ec", script)


@dataclass(frozen=True)
class Session:
    """The namespaces of a run, and a folder for its files."""

    record: Record
    folder: Path
    senders: str
    path: str
    receivers: str

    def start(self, what: str, namespace: str | None, *devices: str, log: str | None = None) -> Program:
        """Start one of the programs in a namespace, or in the host's own namespace; :meth:`Program.go` starts the
        program's run."""
        written = self.folder / f"{log or what}.json"
        arguments = [str(host.program()), what, str(self.folder / PLAN), str(written), str(self.record.pid)]
        process = subprocess.Popen(
            [*(["ip", "netns", "exec", namespace] if namespace else []), *arguments, *devices],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,  # Ctrl-C reaches only this process, which ends the programs
        )  # fmt: skip
        return Program(what, process, written)


@dataclass(frozen=True)
class Program:
    """A program of a run."""

    what: str
    process: subprocess.Popen[str]
    log: Path

    def wait_until_ready(self) -> None:
        """Wait until the program reports that it is ready.

        Raises:
            KernelError: the program ended instead.
        """
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise self.failure()

    def go(self, started_ns: int) -> None:
        """Send the program the start time of the run, ns of the monotonic clock."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{started_ns}\n")
            self.process.stdin.flush()

    def check(self) -> None:
        """Check that the program is running.

        Raises:
            KernelError: the program has ended with an error.
        """
        if self.process.poll() not in (None, 0):
            raise self.failure()

    def failure(self) -> KernelError:
        """The error with the reason why the program ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_READY_S)
        code = self.process.poll()
        said = self.process.stderr.read().strip() if self.process.stderr and code is not None else ""
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
        return KernelError(said or f"{host.PROGRAM} {self.what} {how}")

    def result(self) -> dict[str, Any]:
        """The program's log, after waiting for its end.

        Raises:
            KernelError: the program failed, or does not end.
        """
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise KernelError(f"{host.PROGRAM} {self.what} does not end") from None
        self.check()
        return dict(json.loads(self.log.read_text(encoding="utf-8")))

    def end(self) -> None:
        """End the program."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@contextlib.contextmanager
def opened() -> Iterator[Session]:
    """Create namespaces connected by pairs of devices, without addresses; the namespaces are always removed at the end
    of the context."""
    record = Record.new()
    session = Session(record, record.folder(), *(f"{record.name}-{part}" for part in ("send", "path", "receive")))
    record.namespaces = [session.senders, session.path, session.receivers]
    with record.kept():
        for namespace in record.namespaces:
            command("ip", "netns", "add", namespace)
        for inner, namespace in (("left", session.senders), ("right", session.receivers)):
            pair = ("link", "add", inner, "type", "veth", "peer", "name", "path", "netns", namespace)
            command("ip", "-n", session.path, *pair)
        yield session


def write_plan(folder: Path, document: Mapping[str, Any]) -> None:
    """Write the plan to the file that the programs read."""
    (folder / PLAN).write_text(json.dumps(document), encoding="utf-8")


def host_script(plan: Plan, device: str, *addresses: str) -> str:
    """Shell script that configures a namespace as a host: its settings, its device, its addresses."""
    lines = [f"echo '{value}' > /proc/sys/{name}" for name, value in SYSCTLS.items()]
    return "\n".join([*lines, "ip link set lo up", device_script(plan, device, *addresses)])


def device_script(plan: Plan, device: str, *addresses: str) -> str:
    """Shell script for a device with its addresses; both ends of a path have the same link-layer address."""
    first = f"ip link set {device} address {_MAC} mtu {plan.largest_bytes} arp off up"
    return "\n".join([first, *(f"ip address add {address}/32 dev {device}" for address in addresses)])


def run(plan: Plan, names: Mapping[int, str], progress: Callable[[float], bool] | None) -> Logs:
    """Run a plan in real time.

    Args:
        plan: the plan of the run.
        names: the kernel's names of the flows' algorithms.
        progress: called with the progress; returning ``False`` cancels.

    Raises:
        KernelError: the run failed.
        Cancelled: ``progress`` returned ``False``.
    """
    with opened() as session, contextlib.ExitStack() as ending:
        write_plan(session.folder, plan.document(names))
        inside(session.path, "\n".join(f"ip link set {d} mtu {plan.largest_bytes} up" for d in ("left", "right")))
        inside(session.senders, host_script(plan, "path", *(flow.sender for flow in plan.flows)))
        inside(session.receivers, host_script(plan, "path", *(flow.receiver for flow in plan.flows)))
        programs = []
        for what, namespace, devices in (
            ("link", session.path, ("left", "right")),
            ("receive", session.receivers, ("path",)),
            ("send", session.senders, ("path",)),
        ):
            programs.append(session.start(what, namespace, *devices))
            ending.callback(programs[-1].end)
        for program in programs:
            program.wait_until_ready()
        before = host.processor_times()
        started_ns = time.monotonic_ns() + int(1e9 * (_LEAD_S + 2 * max(plan.round_trips_s)))
        for program in programs:
            program.go(started_ns)
        _follow(plan, programs, started_ns, progress)
        link, receive, send = (program.result() for program in programs)
        return Logs(link, send, receive, host.processor_shares(before, host.processor_times()), started_ns)


def _follow(plan: Plan, programs: list[Program], started_ns: int, progress: Callable[[float], bool] | None) -> None:
    """Wait for the end of the run, and check the programs meanwhile."""
    while (elapsed_s := (time.monotonic_ns() - started_ns) / 1e9) < plan.duration_s:
        for program in programs:
            program.check()
        if progress is not None and not progress(max(0.0, elapsed_s) / plan.duration_s):
            raise Cancelled
        time.sleep(min(_LOOK_S, max(0.0, plan.duration_s - elapsed_s)))
