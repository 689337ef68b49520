"""Comparison of accurate ECN (RFC 9768) in the simulator and in Linux, packet by packet in captures of both.

    .venv/bin/python benches/linux_accurate.py

For each scenario, the simulator writes a capture of its receiver's side, and Linux's frames are captured there, on the
engine's path. The handshake's flags and options, each segment's sequence numbers, size and codepoint, and each ACK's
number, counter (ACE), AccECN option, SACK blocks and size are compared in order. Pure ACKs of Linux are ECN-capable,
which those of the simulator are not, so their codepoint is not compared; nor are D-SACK blocks. The script needs tshark
and a kernel with accurate ECN, Linux 6.18 or later. It prints a row for each scenario with the number of equal packets
and the largest difference of their times, and the packets around the first difference.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linux_frames

from elephan import Scenario, export, runs
from elephan.backends import get
from elephan.backends.linux.backend import LinuxBackend

FIELDS = (
    "frame.time_epoch", "ip.src", "tcp.seq", "tcp.ack", "tcp.len", "tcp.flags", "ip.dsfield.ecn",
    "tcp.options.sack_le", "tcp.options.sack_re", "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb",
    "tcp.options.acc_ecn.ee1b", "ip.len",
)  # fmt: skip
PUSH, SYN = 0x8, 0x2
_SACK_BYTES, _BLOCK_BYTES = 4, 8
QUEUES: dict[str, dict[str, Any]] = {
    "step": {"queue": "threshold", "queue_parameters": {"mark": "20 packets"}},
    "codel": {"queue": "codel"},
    "dualpi2": {"queue": "dualpi2"},
}


@dataclass(frozen=True)
class Frame:
    """A packet: its time, and the content that is compared."""

    at_ms: float
    content: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.at_ms:11.3f} {' '.join(word or '-' for word in self.content)}"


@dataclass(frozen=True)
class Case:
    """A scenario: algorithm, queue, losses of data and of ACKs, option."""

    algorithm: str
    queue: str
    loss: float = 0.0
    ack_loss: float = 0.0
    option: bool = True

    def scenario(self, seconds: float, seed: int) -> Scenario:
        stack = {"base": "linux", "ecn": True, "accurate_ecn": True, "accurate_ecn_option": self.option}
        flow = {
            "algorithm": f"{self.algorithm}:linux", "stack": stack, "path": ["there"], "reverse_path": ["back"],
        }  # fmt: skip
        link = {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": "1000 packets", "duplex": False}
        there = link | {"name": "there", "from": "a", "to": "b", "loss": self.loss} | QUEUES[self.queue]
        back = link | {"name": "back", "from": "b", "to": "a", "loss": self.ack_loss}
        return Scenario.from_dict(
            {"title": str(self), "duration": f"{seconds} s", "seed": seed, "link": [there, back], "flow": [flow]}
        )

    def __str__(self) -> str:
        option = "with the option" if self.option else "without it"
        return f"{self.algorithm} | {self.queue} | {self.loss:g} | {self.ack_loss:g} | {option}"


CASES = [
    *(Case(algorithm, queue) for algorithm in ("cubic", "reno", "dctcp") for queue in QUEUES),
    *(Case(algorithm, "step", loss=0.001) for algorithm in ("cubic", "reno", "dctcp")),
    *(Case(algorithm, "step", ack_loss=loss) for algorithm in ("cubic", "dctcp") for loss in (0.1, 0.5, 0.8)),
    *(Case(algorithm, "step", option=False) for algorithm in ("cubic", "dctcp")),
    *(Case(algorithm, "step", ack_loss=0.5, option=False) for algorithm in ("cubic", "dctcp")),
]


def frames_of(capture: Path) -> Iterator[tuple[bool, Frame]]:
    """The packets of a capture in order; true for those of the receiver."""
    receiver = ""
    for line in linux_frames.fields_of(capture, FIELDS):
        time, source, *words = line.split("\t")
        seq, ack, length, flags, codepoint, *rest = words
        whole, _, fraction = time.partition(".")
        at_ms = (int(whole) - linux_frames.START_EPOCH_S) * 1e3 + int(fraction) / 10 ** (len(fraction) - 3)
        is_syn = bool(int(flags, 16) & SYN)
        is_shown = is_syn or int(length) > 0
        if not receiver and is_syn and int(ack or 0):
            receiver = source
        is_back = source == receiver
        rest = _without_report(int(ack or 0), rest)
        # The simulator's application ends no writes. Its captures begin with a handshake whose times are invented.
        content = (seq, ack, length, f"{int(flags, 16) & ~PUSH:03x}", codepoint if is_shown else "", *rest)
        is_timed = int(length) > 0 or (is_back and not is_syn)
        yield is_back, Frame(at_ms if is_timed else 0.0, content)


def _without_report(ack: int, words: list[str]) -> list[str]:
    """The fields from the SACK blocks on without a D-SACK block (RFC 2883), which the simulator's captures lack."""
    left, right, *option, size = words
    lefts, rights = left.split(","), right.split(",")
    if not left or int(lefts[0]) >= ack:
        return words
    saved = _BLOCK_BYTES if len(lefts) > 1 else _BLOCK_BYTES + _SACK_BYTES
    return [",".join(lefts[1:]), ",".join(rights[1:]), *option, str(int(size) - saved)]


def pairs(case: Case, seconds: float, seed: int) -> dict[str, tuple[list[Frame], list[Frame]]]:
    """The packets of the sender and of the receiver, in the simulator and on Linux."""
    scenario = case.scenario(seconds, seed)
    form = scenario.to_dict()
    real = Scenario.from_dict(form | {"flow": [flow | {"backend": "linux"} for flow in form["flow"]]})
    backend = get("linux")
    assert isinstance(backend, LinuxBackend)
    with tempfile.TemporaryDirectory() as folder:
        run = runs.run(Scenario.from_dict(form | {"events": True}), store=runs.Store(Path(folder) / "store"))
        export.write_pcapng(run, export.events_of(run), Path(folder) / "ours.pcapng", at="receiver")
        backend.run(real, captures=Path(folder))
        sides = [list(frames_of(Path(folder) / f"{name}.pcapng")) for name in ("ours", "receivers")]
    return {
        name: tuple([frame for is_back, frame in side if is_back == back] for side in sides)  # type: ignore[misc]
        for name, back in (("segments", False), ("ACKs", True))
    }


def equal_pairs(ours: list[Frame], theirs: list[Frame]) -> int:
    """Number of packets before the first packet that differs."""
    both = zip(ours, theirs, strict=False)
    differ = (i for i, (one, other) in enumerate(both) if one.content != other.content)
    return next(differ, min(len(ours), len(theirs)))


def late_ms(ours: list[Frame], theirs: list[Frame]) -> float:
    """Largest difference of the times of equal packets, ms."""
    both = zip(ours, theirs, strict=False)
    return max(
        (abs(one.at_ms - other.at_ms) for one, other in itertools.islice(both, equal_pairs(ours, theirs))), default=0.0
    )


def main() -> None:
    """Compare all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose row has this text")
    parser.add_argument("--around", type=int, default=4, help="packets shown on each side of a difference")
    given = parser.parse_args()
    for case in CASES:
        if given.only not in str(case):
            continue
        found = pairs(case, given.seconds, given.seed)
        counts = [
            f"{equal_pairs(*both)} of {len(both[0])} and {len(both[1])}, {late_ms(*both):.3f} ms"
            for both in found.values()
        ]
        marks = sum(frame.content[4] == "3" for frame in found["segments"][1])
        print(f"{case} | {marks} marks | {' | '.join(counts)}", flush=True)
        for name, (ours, theirs) in found.items():
            equal = equal_pairs(ours, theirs)
            if equal < len(ours):
                for i in range(max(0, equal - given.around), equal + given.around):
                    left, right = (str(side[i]) if i < len(side) else "" for side in (ours, theirs))
                    print(f"  {'*' if i >= equal else ' '} {name} {left:72s} | {right}")


if __name__ == "__main__":
    main()
