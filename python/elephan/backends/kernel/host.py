"""This host: its kernel and processors, the requirements that it meets, and its load."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from elephan import parts
from elephan.backends.kernel.records import Record, to_its_end
from elephan.scenario import ScenarioError

PROGRAM = "elephan-wire"
PATH = "veth and packet sockets"
"""Requirement that is checked only if no other requirement is missing."""

ENVIRONMENT = "ELEPHAN_WIRE"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def program() -> Path | None:
    """The program for the path and its hosts: ``$ELEPHAN_WIRE``, or the package's."""
    return parts.program(PROGRAM, ENVIRONMENT)


def congestion_controls() -> list[str]:
    """Names of the congestion controls that this kernel's sockets may select."""
    try:
        return _AVAILABLE.read_text(encoding="utf-8").split()
    except OSError:
        return []


def missing() -> dict[str, str]:
    """Requirements that this host lacks, each with a remedy; empty if it can run the backend."""
    found = {}
    if sys.platform != "linux":
        return {"Linux": f"this is {platform.system()}"}
    if os.geteuid() != 0:
        found["root"] = "network namespaces and raw sockets need root: run the same command with sudo"
    if not found and program() is None:
        found[PROGRAM] = "it is not built: run 'make programs' in the source tree"
    if shutil.which("ip") is None:
        found["ip"] = "iproute2 is not installed: apt-get install iproute2"
    if not Path("/proc/self/ns/net").exists():
        found["network namespaces"] = "the kernel has none; it must be built with CONFIG_NET_NS"
    elif not found and (why := _no_path()):
        found[PATH] = why
    return found


@lru_cache(maxsize=1)
def _no_path() -> str:
    """Reason why this host cannot create a namespace with a pair of devices; empty if it can."""
    record = Record.new()
    name = f"{record.name}-check"
    record.namespaces = [name]
    steps = (["ip", "netns", "add", name], ["ip", "-n", name, "link", "add", "left", "type", "veth", "peer", "right"])
    with record.kept():
        for step in steps:
            done = to_its_end(*step)
            if done.returncode:
                return f"'{' '.join(step)}' fails: {done.stderr.strip()}"
        done = to_its_end("ip", "netns", "exec", name, str(program()), "probe", "left")
        return done.stderr.strip() if done.returncode else ""


def require() -> None:
    """Raise an error if this host cannot run any scenario.

    Raises:
        ScenarioError: a requirement is missing; the message lists the missing requirements, each with a remedy.
    """
    for what, why in missing().items():
        raise ScenarioError(f"the backend 'kernel' needs {what}; {why}")


def state() -> dict[str, Any]:
    """Current state of the host: kernel, processor, clock rate policy, load."""
    policy = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "governor": policy.read_text(encoding="utf-8").strip() if policy.exists() else "not visible",
        "load_1min": os.getloadavg()[0],
        "congestion_controls": congestion_controls(),
    }


def processor_times() -> dict[str, int]:
    """Clock ticks of all cores since boot, by kind of use."""
    line = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    return dict(zip(_STAT_FIELDS, map(int, line[: len(_STAT_FIELDS)]), strict=True))


def processor_shares(before: dict[str, int], after: dict[str, int]) -> dict[str, float]:
    """Fractions of the cores' time by kind of use, between two readings of the counters."""
    spent = {name: after[name] - before[name] for name in before}
    total = sum(spent.values())
    return {name: ticks / total for name, ticks in spent.items()} if total else {}
