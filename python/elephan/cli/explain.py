"""``elephan explain``: what limited a flow of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from elephan.cli import common, targets

if TYPE_CHECKING:
    from elephan.explanation import Explanation
    from elephan.explanation.connection import Flow


@click.command("explain")
@click.argument("file", metavar="FILE")
@click.option(
    "--flow", "number", type=common.Count(1, 10**12), metavar="N",
    help="Number of the connection, from the list. [default: the one with the most data]",
)  # fmt: skip
@click.option("--addresses", is_flag=True, help="Show the hosts' addresses in the list of connections.")
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Write a report there.")
@common.json_option
def command(file: str, number: int | None, addresses: bool, out: str | None, as_json: bool) -> None:
    """Explain what limited a flow of a capture, and when.

    FILE is a capture in pcap or pcapng, also in gzip or zstd, from the sender, the receiver or between them; 128 bytes
    of each packet are enough (tcpdump -s 128). The host that sends the data is called A, and the other B.
    """
    from elephan.explanation import explain

    found = explain(file, flow=number)
    page = None
    if out is not None:
        from elephan.explanation.reporting import explanation_report

        page = explanation_report(found, out)
    if as_json:
        common.print_json(found.document() | ({} if page is None else {"report": str(page)}))
        return
    common.say(found.text)
    print_explanation(found, addresses=addresses)
    if page is not None:
        common.say(str(page))


def print_explanation(found: Explanation, *, addresses: bool) -> None:
    """Print the tables, and what the capture lacks."""
    rows = [[str(share.limit), f"{100 * share.fraction:.1f}"] for share in found.limits.shares]
    common.print_table("Limits", ["limit", "% of time"], rows)
    for share in found.limits.shares:
        common.say(f"{share.limit}: {share.evidence}.")
    if len(found.capture.flows) > 1 or addresses:
        _print_flows(found.capture.flows, found.connection.flow.number, addresses=addresses)
    for note in found.notes:
        common.warn(note)


def _print_flows(flows: tuple[Flow, ...], chosen: int, *, addresses: bool) -> None:
    from elephan.explanation.explaining import MOST_LISTED
    from elephan.explanation.wording import size

    header = ["flow", "sent", "packets", "start s", "duration s", *(["A", "B"] if addresses else [])]
    rows = []
    for flow in flows[:MOST_LISTED]:
        mark = " *" if flow.number == chosen else ""
        cells = [f"{flow.number}{mark}", size(flow.sent_bytes), str(flow.packets)]
        cells += [f"{flow.start_s:.3g}", f"{flow.duration_s:.3g}"]
        rows.append(cells + ([f"{address} {port}" for address, port in flow.hosts] if addresses else []))
    common.print_table(f"{len(flows)} connections with data, * explained here", header, rows)
    if len(flows) > MOST_LISTED:
        common.say(f"{len(flows) - MOST_LISTED} smaller connections are not listed; --flow N explains any of them.")
