"""``elephan compare``: comparison of algorithms on one path."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, patches, targets
from elephan.scenario.errors import ScenarioError
from elephan.scenario.words import number_of

if TYPE_CHECKING:
    from elephan.comparison import Answer, Comparison
    from elephan.scenario import Scenario

_OPTIONS = {
    "dumbbell.rate": "--rate",
    "dumbbell.rtt": "--rtt",
    "dumbbell.buffer": "--buffer",
    "dumbbell.loss": "--loss",
    "dumbbell.queue": "--queue",
    "duration": "--duration",
    "stack": "--stack",
    **{
        name: f"--{name}"
        for name in (
            "background",
            "flows",
            "rate",
            "rtt",
            "buffer",
            "trace",
            "path",
            "prefer",
            "budget",
            "scenario",
            "ecn",
            "queue",
            "loss",
        )
    },
}
_UNIT_STEP = 1000.0


@contextmanager
def named_options() -> Iterator[None]:
    """Within this context, replace a field in error messages by the name of the user's option.

    Raises:
        ScenarioError: the error that was raised within the context, with the option's name.
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
@click.option("--rate", metavar="RATE", help="Rate of the bottleneck, for example '10 Gbit/s'.")
@click.option("--rtt", metavar="TIME", help="Two-way propagation delay, for example '120 ms'.")
@click.option("--buffer", "buffer_size", metavar="BUFFER", help="'4 MB', '1000 packets' or '20% BDP'.")
@click.option("--loss", metavar="P", help="Random loss on the path, for example 0.001%. [default: none]")
@click.option(
    "--flows", type=common.Count(1, 1000), metavar="N", default=1, show_default=True, help="Flows of each algorithm."
)
@click.option(
    "--background", metavar="LOAD",
    help="Load of background traffic, each way: '20%' of the rate, or '100 Mbit/s'. [default: none]",
)  # fmt: skip
@click.option("--queue", metavar="QUEUE", help="Queue discipline of the bottleneck. [default: droptail]")
@click.option("--ecn", is_flag=True, help="Explicit congestion notification in the endpoints. [default: off]")
@click.option(
    "--trace", "traces", multiple=True, metavar="FILE",
    help="Rate over time in place of --rate, for both directions; twice: forward, reverse. Mahimahi's opportunities, a "
    "table (.csv, .parquet) or a model of netem-trace (.json).",
)  # fmt: skip
@click.option("--path", "named_path", metavar="NAME", help="A path of elephan paths, in place of --rate and --rtt.")
@click.option("--scenario", metavar="FILE", help="Path from a scenario file, in place of the options above.")
@click.option("--capture", metavar="FILE", help="Path from a capture (elephan explain), in place of the options above.")
@click.option(
    "--prefer", metavar="WHAT", default="balanced", show_default=True,
    help="Objective: balanced, goodput, delay, fairness or short-flows.",
)  # fmt: skip
@click.option("--rivals", metavar="A,B", default="cubic", show_default=True, help="Algorithms of the other flows.")
@click.option(
    "--seeds", type=common.Count(1, 1000), metavar="N",
    help="Replicates of each run. [default: 8, then 16 or 32 if these are not conclusive]",
)  # fmt: skip
@click.option("--budget", metavar="TIME", default="60s", show_default=True, help="Maximum wall time.")
@common.backend_option
@patches.patch_option
@click.option(
    "--duration", metavar="TIME",
    help="Simulated time of each run, measured in its second half. [default: until numbers no longer depend on it]",
)  # fmt: skip
@click.option("--horizon", metavar="TIME", help="Life of a flow: answer for flows that last no longer.")
@click.option("--stack", metavar="STACK", default="linux", show_default=True, help="TCP stack of the endpoints.")
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Write a report there.")
@common.jobs_option
@common.store_option
@common.json_option
def command(
    algorithms: Sequence[str],
    rate: str | None,
    rtt: str | None,
    buffer_size: str | None,
    loss: str | None,
    flows: int,
    background: str | None,
    queue: str | None,
    ecn: bool,
    traces: Sequence[str],
    named_path: str | None,
    scenario: str | None,
    capture: str | None,
    prefer: str,
    rivals: str,
    seeds: int | None,
    budget: str,
    backend: str,
    patch: str | None,
    duration: str | None,
    horizon: str | None,
    stack: str,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Recommend an algorithm for a path, and measure its harm to other flows.

    A first look comes within ten seconds. It is refined until the answer is settled, or until the budget is spent. The
    answer is for the long run, or for a stated --horizon; if the budget is too small for it, nothing is recommended.
    """
    from elephan import comparison, runs

    twice = next((name for i, name in enumerate(algorithms) if name in algorithms[:i]), None)
    if twice is not None:
        raise ScenarioError(f"'{twice}' is there twice; name each algorithm once", source="compare")
    others = [name.strip() for name in rivals.split(",") if name.strip()]
    if not others:
        raise ScenarioError(f"'{rivals}' names no algorithm; write for example --rivals cubic,bbr", source="--rivals")
    fitted: Scenario | str | None = scenario
    if capture is not None:
        if named_path is not None:
            raise ScenarioError("names a path, and so does --capture; give one of them", source="--path")
        fitted = _fitted(capture, scenario, as_json=as_json)
    if fitted is None and named_path is None:
        _check_path({"--rate": rate or traces, "--rtt": rtt, "--buffer": buffer_size})
    with named_options(), _shown(quiet=as_json) as watch:
        found = comparison.compare(
            list(algorithms), rate, rtt, buffer_size, loss=loss, flows=flows, background=background, queue=queue,
            ecn=ecn, trace=list(traces) or None, path=named_path, scenario=fitted, prefer=prefer,
            rivals=others, seeds=seeds, budget=budget, on=patches.patched(backend, patch),
            duration=duration, horizon=horizon, stack=stack, jobs=jobs, store=runs.Store(store), watch=watch,
        )  # fmt: skip
    report = found.report(out) if out is not None else None
    if as_json:
        common.print_json(found.to_json(report))
        return
    print_comparison(found)
    if report is not None:
        common.say(str(report))


def _check_path(given: Mapping[str, Any]) -> None:
    """Name all options of a path that are missing.

    Raises:
        ScenarioError: an option is missing.
    """
    missing = [option for option, value in given.items() if not value]
    if missing:
        raise ScenarioError(
            f"missing: {', '.join(missing)}; a path has a rate, an RTT and a buffer, as in --rate '100 Mbit/s' "
            "--rtt '40 ms' --buffer '1 BDP', or comes from a file, --scenario FILE",
            source="compare",
        )


class _Lines:
    """Prints answers to a pipe: the first answer, and each answer that recommends another algorithm than the previous
    answer."""

    def __init__(self) -> None:
        self._algorithm: str | None = None
        self._begun = False

    def __call__(self, words: Answer) -> None:
        if words.algorithm != self._algorithm or not self._begun:
            first = "now" if self._begun else "first look"
            self._begun = True
            self._algorithm = words.algorithm
            common.say(f"{first} ({words.after_s:.0f} s): {words.text}")
            sys.stdout.flush()


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Any]:
    """Gives the callback that shows answers. The callback overwrites one line on a terminal, prints lines on a pipe,
    and prints nothing with JSON."""
    if quiet:
        yield None
        return
    made = common.console()
    if not made.is_terminal:
        yield _Lines()
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text("comparing…"), console=made, transient=True, auto_refresh=False) as live:

        def watch(words: Answer) -> None:
            live.update(Text(f"{words.after_s:3.0f} s  {words.text}"), refresh=True)

        yield watch


def _fitted(capture: str, scenario: str | None, *, as_json: bool) -> Scenario:
    """The path of a capture, whose fit is judged in a line."""
    from elephan.explanation import explain
    from elephan.explanation.wording import check_words

    if scenario is not None:
        raise ScenarioError("states a path, and so does --capture; give one of them", source="--scenario")
    found = explain(capture)
    if not as_json:
        common.say(check_words(found.check))
    elif found.check.is_poor:
        common.warn(check_words(found.check))
    return found.scenario


def print_comparison(found: Comparison) -> None:
    """Print the answer, and a table that fits 80 columns."""
    common.say(found.answer.text)
    rivals = list(found.cast.rivals)
    unit, step = ("Gbit/s", _UNIT_STEP) if found.path.rate_bps >= 1e9 else ("Mbit/s", 1.0)
    means = {(row["algorithm"], row["against"], row["metric"]): row for row in found.rows}
    header = [
        "algorithm",
        f"goodput {unit}",
        "queue ms",
        *(f"{name} loses %" for name in rivals),
        "late share",
        "start s",
    ]
    rows = []
    for name in found.decision.order:
        cells = [name, _cell(means.get((name, "alone", "goodput_mbps")), 1 / step)]
        cells.append(_mean(means.get((name, "alone", "queueing_delay_ms"))))
        cells += [
            _cell(means.get((name, rival, "excess_harm")), 100.0, 2) if rival != name else "0" for rival in rivals
        ]
        cells += [_mean(means.get((name, _late(), "late_share"))), _mean(means.get((name, "alone", "startup_s")))]
        rows.append(cells)
    common.print_table(found.path.title, header, rows)
    common.say("goodput and queueing delay: of the algorithm alone.")
    common.say("loses: fraction of goodput that a rival's flows lose, relative to their goodput")
    common.say("beside as many flows of their own kind.")
    common.say("late share: share of a late-starting flow in its goodput and that of an earlier flow; 0.5 is equal.")
    common.say("start: time until the algorithm alone has 90 % of its goodput.")
    common.say(
        f"{number_of(len(found.runs), 'run')} of {found.evidence.duration_s:g} s, "
        f"{number_of(found.answer.seeds, 'seed')}, {found.wall_seconds:.0f} s of {found.budget_s:g} s; intervals: 95 %"
    )
    for note in found.answer.notes:
        common.warn(note)


def _late() -> str:
    from elephan.comparison.situations import LATE

    return LATE


def _mean(row: dict[str, Any] | None) -> str:
    from elephan.comparison.numbers import plain

    return "–" if row is None else plain(row["mean"])


def _cell(row: dict[str, Any] | None, factor: float, least: int = 3) -> str:
    """A mean with its interval."""
    from elephan.comparison.numbers import together

    if row is None:
        return "–"
    ends = None if row["low"] is None or row["high"] is None else (factor * row["low"], factor * row["high"])
    mean, low, high = together(factor * row["mean"], ends, least)
    return f"{mean} ({low} to {high})" if low else mean
