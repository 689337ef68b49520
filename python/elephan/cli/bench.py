"""``elephan bench``: the engine's speed on this machine, with its upper bound and ns-2's speed."""

from __future__ import annotations

from typing import Any

import click

from elephan.cli import common


@click.command("bench")
@click.option(
    "--repeat",
    type=common.Count(1, 99),
    metavar="N",
    default=3,
    show_default=True,
    help="Timings of each workload; the result is the median.",
)
@click.option("--no-ns2", is_flag=True, help="Omit ns-2 even if it is installed.")
@common.json_option
def command(repeat: int, no_ns2: bool, as_json: bool) -> None:
    """The engine's speed on this machine: delivered segments a second on one core.

    linux: two flows of the default stack. engine: the same flows with the stack of ns-2, as in the rows that follow.
    recovery: the same path while it recovers from the overshoot of slow start. bound: the same path with a fixed
    window, no algorithm and no probes. transfers: about 100,000 short transfers on 10 Gbit/s at a load of 60 %. ns2:
    the same workload in ns-2, where it is installed. slowest: the built-in algorithm that costs most. python: an
    algorithm written in Python. crowds: 2 to 100,000 CUBIC flows over one bottleneck of 10 Gbit/s (100 Gbit/s) and
    100 ms, the time to build such a scenario, and up to 1,000 flows in ns-2 while the link is full. resolutions: two
    CUBIC flows from 100 Mbit/s to 100 Gbit/s, in single segments and in trains.
    """
    from elephan import benchmark

    document = benchmark.measure(repeat, common.warn, with_ns2=not no_ns2)
    if as_json:
        common.print_json(document)
        return
    rows = []
    for name in ("linux", "engine", "recovery", "bound", "transfers", "ns2", "slowest", "python"):
        row = document[name]
        if row is not None:
            rows.append([name, row["segments_per_second"] / 1e6, row["ns_per_segment"], row["segments_delivered"]])
    common.print_table(document["workload"], ["", "million segments/s", "ns a segment", "segments"], rows)
    fields = ("flows", "rate", "ns_per_segment", "slowdown", "build_seconds", "segments_delivered")
    crowds = [
        [*(row[field] for field in fields), *((row["ns2"] or {}).get(field) for field in ("ns_per_segment", "ratio"))]
        for row in document["crowds"]
    ]
    header = ["flows", "bottleneck", "ns a segment", "times two flows'", "s to build", "segments", "ns-2: ns", "ratio"]
    common.print_table("CUBIC flows that share a bottleneck, 100 ms", header, crowds)
    paths = [
        [row["rate"], row["rtt"], row["segment"]["ns_per_segment"], row["train"]["ns_per_segment"], row["ratio"]]
        for row in document["resolutions"]
    ]
    header = ["rate", "RTT", "ns a segment", "in trains", "ratio"]
    common.print_table("Two CUBIC flows at both resolutions, buffer of 1 BDP", header, paths)
    say_algorithms(document)
    common.say(f"a segment of the default stack costs {document['linux_slowdown']:.2f} times one of ns-2's stack")
    common.say(f"recovery is {document['recovery_slowdown']:.2f} times slower than the engine's steady state")
    common.say(f"the engine is {document['bound_slowdown']:.2f} times slower than its bound")
    common.say(f"a segment of a short transfer costs {document['transfers_slowdown']:.2f} times the engine's")
    if document["ratio_to_ns2"] is not None:
        common.say(f"the engine is {document['ratio_to_ns2']:.1f} times faster than ns-2")


def say_algorithms(document: dict[str, Any]) -> None:
    """Print the meaning of the rows about single algorithms."""
    slowest, python = document["slowest"], document["python"]
    slowdown = document["algorithms_slowdown"][slowest["algorithm"]]
    common.say(
        f"the slowest built-in algorithm is {slowest['algorithm']}, at {slowdown:.1f} times Reno's cost a segment"
    )
    if python is not None:
        common.say(
            f"Reno in Python is {python['slowdown']:.1f} times slower than the built-in one: "
            f"{python['extra_ns_per_ack']:.0f} ns more for each ACK"
        )
