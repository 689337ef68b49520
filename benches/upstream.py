"""Differences of quinn and s2n-quic from the RFCs, each shown by runs with the unchanged and with a changed crate.

    .venv/bin/python benches/upstream.py                     # every difference, one table row for each run
    .venv/bin/python benches/upstream.py quinn-window        # one difference
    .venv/bin/python benches/upstream.py --program quinn-window+quinn-cubic-friendly

The last command prints the path of a program that is built with these changes. To judge this program by a suite, type
``ELEPHAN_QUIC=PROGRAM elephan evaluate quinn:cubic --on quic``.

Each change is a patch in benches/upstream. The script copies the crate that Cargo.lock names to .elephan/upstream and
applies the patch to the copy. The programs in .elephan/upstream differ only by these patches. The first build takes
some minutes of processor time, and each further build takes half a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from elephan import Scenario
from elephan.backends import quic

ROOT = Path(__file__).resolve().parents[1]
CHANGES = ROOT / "benches" / "upstream"
CALLS = CHANGES / "controller.rs"
FOLDER = ROOT / ".elephan" / "upstream"
CRATES = ("quinn-proto", "s2n-quic-core")
COPIED = ("Cargo.toml", "Cargo.lock", "crates", "examples/quic_transfer")
PROFILE = "quick"
"""Build profile without optimization across crates: faster to build than a release, with bit-identical results."""


@dataclass(frozen=True)
class Result:
    """Tables of a run, and quinn's qlog of its first flow."""

    tables: Mapping[str, pl.DataFrame]
    log: list[dict[str, Any]]

    def flow(self, index: int = 0) -> dict[str, Any]:
        """A row of the table `flows`."""
        return self.tables["flows"].row(index, named=True)

    def samples(self, from_s: float = 10.0) -> pl.DataFrame:
        """Samples of the first flow from `from_s` on."""
        return self.tables["samples"].filter((pl.col("flow") == self.flow()["name"]) & (pl.col("time_s") >= from_s))


Measure = Callable[[Result], str]
VISIBLE = "quinn-visible"
"""Patch in all programs: it lets controller.rs create an RTT estimator of quinn."""


def goodput(result: Result) -> str:
    """Text with the goodput of each flow."""
    rates = result.tables["flows"]["goodput_mbps"]
    return "goodput " + " and ".join(f"{float(rate):.3f}" for rate in rates) + " Mbit/s"


def lost(result: Result) -> str:
    """Text with the fraction of the first flow's packets that were lost."""
    flow = result.flow()
    return f"{flow['retransmits'] / flow['segments_sent']:.2%} of the packets lost"


def rtt(result: Result) -> str:
    """Text with the mean RTT of the first flow."""
    return f"mean RTT {result.flow()['rtt_mean_ms']:.1f} ms"


def at_minimum(result: Result) -> str:
    """Text with the mean number of datagrams in flight while the congestion window is two datagrams."""
    found = result.samples().filter(pl.col("cwnd") < 2.01)
    return f"{float(found['in_flight'].to_numpy().mean()):.2f} datagrams in flight at a window of 2"


def offered(result: Result) -> str:
    """Text with the mean number of packets that arrive at the bottleneck per 100 ms in the second half of a run."""
    rows = result.tables["links"].filter(pl.col("link") == "bottleneck").sort("time_s")
    times, arrived = rows["time_s"].to_numpy(), rows["arrived_packets"].to_numpy()
    later = times >= times[-1] / 2
    per_s = (arrived[-1] - arrived[later][0]) / (times[-1] - times[later][0])
    return f"{per_s * 0.1:.2f} packets offered in a base RTT"


def log_rtt(result: Result) -> str:
    """Text with the smallest RTT in quinn's log."""
    values = [event["data"]["min_rtt"] for event in result.log if "min_rtt" in event.get("data", {})]
    return f"min_rtt {min(values):.4g} in the log"


def log_triggers(result: Result) -> str:
    """Text with the number of lost packets in quinn's log for each trigger of the loss detection."""
    names = [event["data"].get("trigger") for event in result.log if event.get("name") == "recovery:packet_lost"]
    return ", ".join(f"{names.count(name)} {name}" for name in sorted(set(names)))


@dataclass(frozen=True)
class Case:
    """A path on which a difference from an RFC has an effect, with the measures that show the effect."""

    algorithms: tuple[str, ...]
    path: dict[str, Any]
    measures: tuple[Measure, ...]
    changes: tuple[str, ...]
    """Sets of patches, each with names joined by plus signs; the unchanged crate is run first."""
    title: str = ""
    run: dict[str, Any] = field(default_factory=lambda: {"duration": "120 s", "measure": {"from": "10 s"}})

    @property
    def log_is_read(self) -> bool:
        """True if a measure reads quinn's log."""
        return bool({log_rtt, log_triggers} & set(self.measures))

    def scenario(self) -> Scenario:
        """The path with its flows; packets have 1,500 bytes, of which 1,440 bytes are stream data."""
        flows = [{"algorithm": name} for name in self.algorithms]
        stack = {"payload": "1440 B", "header": "60 B"}
        return Scenario.from_dict(
            {"dumbbell": self.path, "flow": flows, "stack": stack, "sample_period": "20 ms"} | self.run
        )


LOSSY = {"rate": "10 Mbit/s", "rtt": "50 ms", "buffer": "100 packets", "loss": "15 %"}
HALF = {"rate": "10 Mbit/s", "rtt": "100 ms", "buffer": "1 BDP", "loss": "50 %"}
SHORT = {"duration": "30 s", "measure": {"from": "15 s"}}
LONG = {"duration": "120 s", "measure": {"from": "30 s"}}

CASES = {
    "quinn-window": [Case(("quinn:newreno",), LOSSY, (goodput, at_minimum), ("quinn-window",))],
    "quinn-bbr-pacing": [
        Case(
            ("quinn:bbr",),
            {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "50 packets"},
            (goodput, lost, rtt),
            ("quinn-bbr-pacing",),
        )
    ],
    "quinn-cubic-friendly": [
        Case(
            ("quinn:cubic",),
            LOSSY,
            (goodput,),
            ("quinn-cubic-friendly", "quinn-cubic-acked", "quinn-cubic-acked+quinn-cubic-friendly"),
        )
    ],
    "quinn-collapse": [
        Case((name,), HALF, (offered, goodput), changes, run={"duration": "300 s"})
        for name, changes in (
            ("quinn:cubic", ("quinn-probes", "quinn-cubic-acked", "quinn-cubic-acked+quinn-probes")),
            ("quinn:newreno", ("quinn-probes", "quinn-window")),
            ("cubic", ()),
        )
    ],
    "quinn-harm": [
        Case(
            (name, "cubic"),
            {"rate": "1 Mbit/s", "rtt": "600 ms", "buffer": "16 BDP"},
            (goodput,),
            changes,
            "1 Mbit/s, 600 ms, 16 BDP",
            {"duration": "600 s", "measure": {"from": "100 s"}},
        )
        for name, changes in (
            (
                "quinn:cubic",
                (
                    "quinn-cubic-target",
                    "quinn-cubic-acked",
                    "quinn-cubic-k",
                    "quinn-cubic-target+quinn-cubic-acked+quinn-cubic-k",
                ),
            ),
            ("cubic", ()),
        )
    ],
    "quinn-bbr-harm": [
        Case(
            (name, "cubic"),
            {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
            (goodput,),
            changes,
            "100 Mbit/s, 40 ms, 1 BDP",
            {"duration": "60 s", "measure": {"from": "10 s"}},
        )
        for name, changes in (("quinn:bbr", ("quinn-bbr-pacing",)), ("cubic", ()))
    ],
    "s2n-harm": [
        Case(
            (name, "cubic"),
            {"rate": "1 Mbit/s", "rtt": "1 ms", "buffer": "64 packets"},
            (goodput,),
            changes,
            "1 Mbit/s, 1 ms, 64 packets",
            {"duration": "600 s", "measure": {"from": "100 s"}},
        )
        for name, changes in (("s2n:cubic", ("s2n-cubic-rtt",)), ("cubic", ()))
    ],
    "quinn-cubic-k": [
        Case(
            ("quinn:cubic",),
            {"rate": "100 Mbit/s", "rtt": "100 ms", "buffer": "2 BDP", "loss": "0.01 %"},
            (goodput,),
            ("quinn-cubic-k",),
            run={"duration": "300 s", "measure": {"from": "20 s"}},
        )
    ],
    "quinn-rtt-order": [Case(("quinn:cubic",), LOSSY, (goodput,), ("quinn-rtt-order",))],
    "quinn-qlog": [
        Case(
            ("quinn:cubic",),
            {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "loss": "2 %"},
            (log_rtt, log_triggers),
            ("quinn-qlog-units+quinn-qlog-trigger",),
            run=SHORT,
        )
    ],
    "s2n-bbr": [
        Case(
            ("s2n:bbr",),
            {"rate": f"{rate} Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
            (goodput, rtt, lost),
            ("s2n-rate-sample", "s2n-pacer", "s2n-rate-sample+s2n-pacer"),
            f"{rate} Mbit/s",
            SHORT,
        )
        for rate in (20, 50, 100, 200)
    ],
    "s2n-cubic-rtt": [
        Case(
            ("s2n:cubic", "reno"),
            {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": buffer},
            (goodput,),
            ("s2n-cubic-rtt",),
            buffer,
            LONG,
        )
        for buffer in ("1 BDP", "4 BDP", "16 BDP")
    ],
}


CALLED = {
    "quinn-cubic-idle": ("idle", ("quinn-cubic-idle",)),
    "quinn-persistent": (
        "persistent",
        ("quinn-cubic-persistent+quinn-newreno-persistent", "quinn-cubic-threshold"),
    ),
}
"""Differences shown by direct calls of a controller. Each difference has the argument of controller.rs and sets of
patches."""


def cargo(*arguments: str, folder: Path = ROOT) -> str:
    """Runs cargo and returns its output; if cargo fails, the script ends with cargo's message."""
    done = subprocess.run(["cargo", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cargo {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def sources() -> dict[str, Path]:
    """Source folders of the crates in `CRATES`, in the versions of Cargo.lock."""
    packages = json.loads(cargo("metadata", "--format-version", "1", "--locked", "--features", "quic/s2n"))["packages"]
    return {one["name"]: Path(one["manifest_path"]).parent for one in packages if one["name"] in CRATES}


def program(changes: str) -> Path:
    """Builds the backend's program with patches, whose names are joined by plus signs; an empty text means no patch."""
    made = FOLDER / (changes or "unchanged") / quic.PROGRAM
    if made.is_file():
        return made
    tree = FOLDER / "tree"
    for name in COPIED:
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    for crate, source in sources().items():
        shutil.rmtree(tree / "changed" / crate, ignore_errors=True)
        shutil.copytree(source, tree / "changed" / crate)
    calls = tree / "crates" / "quic" / "src" / "bin" / CALLS.name
    calls.parent.mkdir(exist_ok=True)
    shutil.copy2(CALLS, calls)
    for change in (VISIBLE, *filter(None, changes.split("+"))):
        text = (CHANGES / f"{change}.patch").read_text(encoding="utf-8")
        subprocess.run(["patch", "--silent", "--strip=1"], cwd=tree / "changed", input=text, text=True, check=True)
    replaced = "".join(f'{crate} = {{ path = "changed/{crate}" }}\n' for crate in CRATES)
    manifest = tree / "Cargo.toml"
    excluded = manifest.read_text(encoding="utf-8").replace("[workspace]\n", '[workspace]\nexclude = ["changed"]\n', 1)
    manifest.write_text(f"{excluded}\n[patch.crates-io]\n{replaced}", encoding="utf-8")
    cargo("build", "--quiet", "--offline", "--profile", PROFILE, "-p", "quic", "--features", "quic/s2n", folder=tree)
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target"))
    made.parent.mkdir(exist_ok=True)
    for name in (CALLS.stem, quic.PROGRAM):
        shutil.copy2(target / PROFILE / name, made.parent / name)
    return made


def run(case: Case, changes: str) -> Result:
    """Runs a case with the program that has the given patches."""
    os.environ[quic.ENVIRONMENT] = str(program(changes))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "flow.sqlog"
        found = quic.QuicBackend().run_logged(case.scenario(), None, {0: log} if case.log_is_read else {})
        lines = log.read_text(encoding="utf-8").split("\n") if case.log_is_read else []
    events = [json.loads(line.lstrip("\x1e")) for line in lines if line.strip()]
    return Result({name: pl.DataFrame(table) for name, table in found.tables.items()}, events)


def rows(names: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each run: name of the difference, algorithms, path, patches, and measurements."""
    for name in names:
        asked, changed = CALLED.get(name, ("", ()))
        for changes in ("", *changed) if asked else ():
            command = [str(program(changes).parent / CALLS.stem), asked]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            yield name, "calls", "", changes or "none", "; ".join(said.splitlines())
        for case in CASES.get(name, []):
            for changes in ("", *case.changes):
                measured = "; ".join(measure(found) for found in [run(case, changes)] for measure in case.measures)
                yield name, " and ".join(case.algorithms), case.title, changes or "none", measured


def main() -> None:
    """Print the table, or the path of a program that is built with the given patches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*CASES, *CALLED]
    parser.add_argument("names", nargs="*", metavar="DIFFERENCE", help=f"some of {', '.join(known)} (default: all)")
    parser.add_argument("--program", metavar="CHANGES", help="build the program with these changes and print its path")
    chosen = parser.parse_args()
    if chosen.program is not None:
        print(program(chosen.program))
        return
    for name in chosen.names:
        if name not in known:
            parser.error(f"'{name}' is not a difference; write some of {', '.join(known)}")
    for row in rows(chosen.names or known):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
