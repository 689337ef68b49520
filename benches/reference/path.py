"""A draw as commands for a Linux guest, and its run: namespaces, tc and a small program in C."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from draws import Draw, Way

from elephan.backends.linux.kernels import Kernel

ORIGIN_S = 2.0
"""The guest's time at the start of a run."""

NAMES = {"hstcp": "highspeed", "stcp": "scalable"}
"""Linux's names of congestion controls that Elephan names otherwise."""

LIMIT_S = 600
HERE = Path(__file__).parent

# a and b are the hosts. Data from a cross the queue at r, then the late packets' detour at x, then the delay at w.
# Neighbours know each other, so that no flow waits for ARP.
HEAD = """export PATH=/usr/sbin:/usr/bin:/sbin:/bin ORIGIN={origin}
set -e
for n in a r x w b; do ip netns add $n; done
join() {{
    ip link add $1$2 netns $1 address 02:00:00:00:$3:01 type veth peer name $2$1 netns $2 address 02:00:00:00:$3:02
    ip -n $1 addr add 10.0.$3.1/24 dev $1$2; ip -n $1 link set $1$2 mtu {mtu} up
    ip -n $2 addr add 10.0.$3.2/24 dev $2$1; ip -n $2 link set $2$1 mtu {mtu} up
    ip -n $1 neigh add 10.0.$3.2 lladdr 02:00:00:00:$3:02 dev $1$2
    ip -n $2 neigh add 10.0.$3.1 lladdr 02:00:00:00:$3:01 dev $2$1
}}
join a r 0; join r x 1; join x w 2; join w b 3
ip -n a route add default via 10.0.0.2; ip -n r route add default via 10.0.1.2
ip -n x route add 10.0.3.0/24 via 10.0.2.2; ip -n x route add 10.0.0.0/24 via 10.0.1.1
ip -n w route add default via 10.0.2.1; ip -n b route add default via 10.0.3.1
for n in r x w; do ip netns exec $n sysctl -qw net.ipv4.ip_forward=1; done
sysctl -qw net.ipv4.tcp_mem="60000 60000 60000"
for n in a b; do
    ip netns exec $n sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_ecn={ecn} \\
        net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_wmem="4096 16384 16777216"
done
"""
ETHERNET_BYTES = 14


def queue(device: str, behind: str, way: Way, rate_mbps: float, mtu: int, verb: str) -> list[str]:
    """Commands that add or change the bottleneck.

    Linux's queues count the bytes of Ethernet's header too: netem is told to leave them out, and tbf, which cannot,
    gets a higher rate. netem has no other queue than its own, and a change of its rate leaves the packets in the queue
    as they were, so tbf serves the other queues and the variable rates. tbf lets a packet go when its transmission
    would begin, and netem at the device ``behind`` adds the time of the transmission.
    """
    rate = f"netem rate {rate_mbps * 1e6:.0f}bit -{ETHERNET_BYTES}"
    tc = f"tc -n {device[0]} qdisc {verb} dev {device}"
    if way.queue == "droptail" and not way.rates:
        return [f"{tc} root {rate} limit {way.packets + 1}"]
    frame, limit = mtu + ETHERNET_BYTES, way.packets
    made = [
        f"{tc} root handle 1: tbf rate {rate_mbps * 1e6 * frame / mtu:.0f}bit burst {frame} limit {limit}",
        f"tc -n {behind[0]} qdisc {verb} dev {behind} root {rate} limit 1000000",
    ]
    if verb == "add":
        kinds = {
            "droptail": f"pfifo limit {limit}",
            "codel": f"codel limit {limit} ecn",
            "fq_codel": f"fq_codel limit {limit} ecn",
        }
        made.append(f"{tc} parent 1:1 handle 2: {kinds[way.queue]}")
    return made


def delay(device: str, way: Way, delay_ms: float, verb: str) -> str:
    """The command that adds or changes the delay, with losses and duplicates."""
    loss = f" loss gemodel {100 * way.loss:.6f}%" if way.loss else ""
    twice = f" duplicate {100 * way.duplicate:.6f}%" if way.duplicate else ""
    return f"tc -n {device[0]} qdisc {verb} dev {device} root netem limit 1000000 delay {delay_ms:.6f}ms{loss}{twice}"


def script(draw: Draw, late: bool) -> str:
    """The guest's first program."""
    lines = [HEAD.format(origin=ORIGIN_S, mtu=draw.mtu, ecn=int(draw.ecn))]
    if not draw.offload:
        lines += ["ip netns exec a ./flow offload ar", "ip netns exec b ./flow offload bw"]
    for way, (first, second, third) in ((draw.there, ("rx", "xw", "wb")), (draw.reverse, ("wx", "xr", "ra"))):
        lines += queue(first, second, way, way.rate_mbps, draw.mtu, "add")
        if way.late:
            in_time = 100 * (1 - way.late)
            lines.append(
                f"tc -n {second[0]} qdisc add dev {second} root netem limit 1000000 "
                f"delay {way.late_ms:.6f}ms reorder {in_time:.6f}%"
            )
        lines.append(delay(third, way, way.delay_ms, "add"))
        for at_s, rate_mbps in way.rates:
            changes = queue(first, second, way, rate_mbps, draw.mtu, "change")
            lines += [f"./flow at {at_s} {change} &" for change in changes]
        for at_s, delay_ms in way.delays:
            lines.append(f"./flow at {at_s} {delay(third, way, delay_ms, 'change')} &")
    for i, flow in enumerate(draw.flows):
        client, server, host = ("b", "a", "10.0.0.1") if flow.back else ("a", "b", "10.0.3.2")
        port = 5001 + i
        name = NAMES.get(flow.algorithm, flow.algorithm)
        end, keep = draw.duration_s, draw.payload if late else 0
        period_s, on_s = flow.period_ms / 1e3, flow.on_periods * flow.period_ms / 1e3
        sizes = f"{flow.size_segments * draw.payload} {flow.write_segments * draw.payload}"
        lines += [
            f"ip netns exec {server} ./flow serve {port} {name} {flow.buffer_bytes} {keep} &",
            f"ip netns exec {client} ./flow send {host} {port} {name} {flow.start_s:.6f} {sizes} "
            f"{period_s:.6f} {on_s:.6f} {flow.off_s:.6f} {end} client{i} &",
            'clients="$clients $!"',
        ]
    return "\n".join(
        [*lines, "for c in $clients; do wait $c; done", "for n in r x w b a; do tc -n $n -s qdisc; done > qdiscs", ""]
    )


@dataclass(frozen=True)
class Sample:
    """A row of a socket's TCP_INFO."""

    time_s: float
    cwnd: int
    ssthresh: int
    srtt_us: int
    acked: int
    sacked: int
    retransmits: int
    window: int
    mss: int


@dataclass(frozen=True)
class Ended:
    """A flow that a guest ran: its start and completion (-1 if not complete), and samples."""

    started_s: float
    done_s: float
    samples: list[Sample]


def read(path: Path) -> Ended:
    """A file that the program wrote."""
    head, *rows = path.read_text(encoding="ascii").splitlines()
    started, done = map(float, head.split())
    split = (row.split() for row in rows)
    return Ended(started, done, [Sample(float(words[0]), *map(int, words[1:])) for words in split])


@lru_cache(maxsize=1)
def program(folder: Path) -> Path:
    """The compiled program."""
    made = folder / "flow"
    subprocess.run(["gcc", "-O1", "-o", made, HERE / "flow.c", "-lm", "-lpthread"], check=True)
    return made


INIT = """here=$(readlink /proc/self/cwd)
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mount -t hostfs -o $here none /mnt
cd /mnt; sh ./script > log 2>&1; echo $? > status; poweroff -f > /dev/null 2>&1
"""


def run(draw: Draw, seed: int, kernel: Kernel, late: bool = False, keep: Path | None = None) -> list[Ended]:
    """Run a draw in a guest. Raises ``RuntimeError`` if a command in the guest fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(program(build_folder()), folder / "flow")
        (folder / "init").write_text(INIT, encoding="ascii")
        (folder / "script").write_text(script(draw, late), encoding="ascii")
        (folder / "uml").mkdir()
        words = [
            str(kernel.folder / "linux"), "mem=512M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
            "init=/bin/sh", "time-travel=inf-cpu", "time-travel-start=1000000000", "uml_dir=/proc/self/cwd/uml/",
            "umid=guest", "con=null", "con0=null,fd:1", "quiet", "panic=-1", "--", "/proc/self/cwd/init",
        ]  # fmt: skip
        environment = {
            "LD_PRELOAD": str(kernel.folder / "seeded.so"), "ELEPHAN_GUEST_SEED": str(1000 * draw.number + seed),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/",
        }  # fmt: skip
        with (folder / "console").open("wb") as console:
            subprocess.run(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False, start_new_session=True,
            )  # fmt: skip
        if keep is not None:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
        status = folder / "status"
        if not status.exists() or status.read_text(encoding="ascii").strip() != "0":
            log = folder / "log"
            raise RuntimeError(log.read_text() if log.exists() else (folder / "console").read_text(errors="replace"))
        return [read(folder / f"client{i}") for i in range(len(draw.flows))]


@lru_cache(maxsize=1)
def build_folder() -> Path:
    """A folder for the compiled program, for the time of this process."""
    folder = Path(tempfile.mkdtemp(prefix=f"flow-{os.getpid()}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
