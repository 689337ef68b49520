"""``elephan compare``: the operator's question, on one path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from elephan.cli import common
from elephan.cli.progress import meter
from elephan.scenario.errors import ScenarioError

_COLUMNS = {
    "algorithm": "algorithm",
    "against": "against",
    "goodput_mbps": "goodput Mbit/s",
    "other_goodput_mbps": "others Mbit/s",
    "share": "share",
    "jain": "jain",
    "utilization": "used",
    "loss_rate": "loss rate",
    "queue_delay_ms": "queue ms",
    "rtt_p99_ms": "RTT p99 ms",
    "late_comer_converges_s": "converges s",
    "harm_to_other": "harm",
    "harm_among_others": "harm by own",
    "background_mbps": "background Mbit/s",
    "background_p50_ms": "its p50 ms",
    "background_p99_ms": "its p99 ms",
}


_OPTIONS = {
    "dumbbell.rate": "--rate",
    "dumbbell.rtt": "--rtt",
    "dumbbell.buffer": "--buffer",
    "dumbbell.loss": "--loss",
    "duration": "--duration",
    "stack": "--stack",
    "background": "--background",
    "flows": "--flows",
}


@contextmanager
def named_options() -> Iterator[None]:
    """Errors about a field name the option that the user wrote.

    Raises:
        ScenarioError: what was raised inside, under the option's name.
    """
    try:
        yield
    except ScenarioError as error:
        field = error.path or error.source or ""
        option = next((o for name, o in _OPTIONS.items() if field == name or field.startswith(f"{name}.")), None)
        source = option or ("compare" if error.source is None else error.source)
        raise ScenarioError(error.message, path="" if option else error.path, source=source) from None


@click.command("compare")
@click.argument("algorithms", nargs=-1, required=True, metavar="ALG…")
@click.option("--rate", required=True, metavar="RATE", help="Rate of the bottleneck, for example '10 Gbit/s'.")
@click.option("--rtt", required=True, metavar="TIME", help="Two-way propagation delay, for example '120 ms'.")
@click.option("--buffer", "buffer_size", required=True, metavar="BUFFER", help="'4 MB', '1000 packets' or '20% BDP'.")
@click.option("--loss", metavar="P", help="Random loss on the path, for example 0.001%.")
@click.option(
    "--flows", type=common.Count(1, 1000), metavar="N", default=1, show_default=True, help="Flows of each algorithm."
)
@click.option(
    "--background", metavar="LOAD", help="Load of background traffic, each way: '20%' of the rate, or '100 Mbit/s'."
)
@click.option("--duration", metavar="TIME", help="Simulated time of each run.")
@click.option("--stack", metavar="STACK", help="TCP stack of the endpoints. [default: linux]")
@common.jobs_option
@common.store_option
@common.json_option
def command(
    algorithms: Sequence[str],
    rate: str,
    rtt: str,
    buffer_size: str,
    loss: str | None,
    flows: int,
    background: str | None,
    duration: str | None,
    stack: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Which algorithm for this path, and who gets hurt?

    Each algorithm alone, against its own kind, and against the ones that are out there.
    """
    import elephan
    from elephan import runs

    extra: dict[str, Any] = {"duration": duration, "stack": stack, "jobs": jobs}
    with named_options(), meter() as progress:
        table = elephan.compare(
            list(algorithms),
            rate=rate,
            rtt=rtt,
            buffer=buffer_size,
            loss=loss,
            flows=flows,
            background=background,
            store=runs.Store(store),
            progress=progress,
            **{name: value for name, value in extra.items() if value is not None},
        )
    rows = table.to_dicts()
    if as_json:
        path = {"rate": rate, "rtt": rtt, "buffer": buffer_size, "loss": loss, "background": background}
        common.print_json({"path": path, "rows": rows})
        return
    header = [_COLUMNS.get(name, name) for name in table.columns]
    beside = f", background {background} each way" if background else ""
    common.print_table(f"{rate}, {rtt}, buffer {buffer_size}{beside}", header, [list(row.values()) for row in rows])
    common.say(
        "harm: the part of their goodput that the others lose; harm by own: what as many more of themselves cost them"
    )
