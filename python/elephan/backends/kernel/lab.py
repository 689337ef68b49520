"""This host's check list for the kernel backend."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass
from typing import Any

from elephan.backends.kernel import bpf, calibration, host, records
from elephan.backends.kernel.plan import BUILT_IN
from elephan.backends.kernel.traces import started_of

_CORES_WANTED = 2
_BUSY = 0.5
_USEC_STAMPS = (6, 7)


@dataclass(frozen=True)
class Item:
    """A requirement of the kernel backend, or an item that improves its runs.

    Attributes:
        name: name of the item.
        needed: true if no scenario can run without it.
        ok: true if the host has it.
        found: the state of the item on the host.
        help: a remedy, if the item is missing.
    """

    name: str
    needed: bool
    ok: bool
    found: str
    help: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON form, as in the document of ``elephan lab check --json``."""
        return asdict(self)


def check() -> list[Item]:
    """All items of this host."""
    missing = host.missing()
    items = [
        Item(what, True, what not in missing, "there" if what not in missing else "missing", missing.get(what, ""))
        for what in ("Linux", "root", host.PROGRAM, "ip", "network namespaces", host.PATH)
    ]
    if missing and host.PATH not in missing:
        items[-1] = Item(host.PATH, True, False, "not tried", "what is missing above, first")
    if "Linux" in missing:
        return items[:1]
    return [*items, *_algorithms(), _timestamps(), _scheduling(), _cores(), _load(), _calibrated(), _left_over()]


def can_run(items: list[Item]) -> bool:
    """True if a scenario can be run at all."""
    return all(item.ok for item in items if item.needed)


def _algorithms() -> list[Item]:
    there = host.congestion_controls()
    items = []
    for name, own in BUILT_IN.items():
        help_ = "" if own in there else f"modprobe tcp_{own}, or a kernel with CONFIG_TCP_CONG_{own.upper()}"
        items.append(Item(f"Linux's {name}", False, own in there, "there" if own in there else "missing", help_))
    why = bpf.missing()
    named = ", ".join(bpf.names())
    items.append(
        Item("algorithms in BPF", False, not why, "missing" if why else f"can be given to the kernel: {named}", why)
    )
    return items


def _timestamps() -> Item:
    release = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    ok = release >= _USEC_STAMPS
    return Item(
        "TCP timestamps in µs", False, ok, f"Linux {platform.release()}",
        "" if ok else "Linux 6.7 or later; before, one-way delays are to 1 ms",
    )  # fmt: skip


def _scheduling() -> Item:
    path = host.program()
    if path is None:
        return Item("SCHED_DEADLINE", False, False, "not known", "run 'make programs' first")
    done = subprocess.run([str(path), "reserve"], capture_output=True, text=True, check=False)
    why = done.stderr.strip().removeprefix(f"{host.PROGRAM}: ")
    ok = done.returncode == 0
    return Item(
        "SCHED_DEADLINE", False, ok, "allowed" if ok else why,
        "" if ok else "root, and kernel.sched_rt_runtime_us at its default; without it a busy host delays packets",
    )  # fmt: skip


def _cores() -> Item:
    count = host.state()["cores"]
    ok = count >= _CORES_WANTED
    help_ = "" if ok else f"{_CORES_WANTED} or more: the path alone keeps one busy"
    return Item("processor", False, ok, f"{count} cores", help_)


def _load() -> Item:
    state = host.state()
    ok = state["load_1min"] <= _BUSY * state["cores"]
    return Item(
        "a quiet host", False, ok, f"load {state['load_1min']:.1f} on {state['cores']} cores",
        "" if ok else "stop other computations; each run records if the host was too busy",
    )  # fmt: skip


def _calibrated() -> Item:
    known = calibration.load()
    found = f"up to {known.honest_mbps} Mbit/s on {known.made[:10]}" if known else "not yet"
    return Item("calibration", False, known is not None, found, "" if known else "elephan lab calibrate")


def _left_over() -> Item:
    gone = [record.name for record in records.records() if started_of(record.pid) != record.started]
    found = f"of {len(gone)} runs that were killed" if gone else "nothing"
    return Item("left over", False, not gone, found, "elephan lab clean" if gone else "")
