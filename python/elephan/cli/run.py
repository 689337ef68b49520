"""``elephan run``: one scenario, once or with several seeds."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, patches, replicates, targets, unchanged
from elephan.cli.memory import memory_option
from elephan.cli.progress import meter
from elephan.cli.tables import Missing
from elephan.scenario.errors import ScenarioError
from elephan.writing import whole_file

if TYPE_CHECKING:
    from elephan.progress import Meter
    from elephan.runs import Run, Store
    from elephan.scenario import Scenario

_FLOW_COLUMNS = {
    "flow": "name",
    "algorithm": "algorithm",
    "start s": "start_s",
    "goodput Mbit/s": "goodput_mbps",
    "on the wire Mbit/s": "throughput_mbps",
    "retransmits": "retransmits",
    "loss events": "loss_events",
    "ECN events": "ecn_events",
    "timeouts": "timeouts",
    "RTT mean ms": "rtt_mean_ms",
    "RTT p99 ms": "rtt_p99_ms",
    "smoothed RTT mean ms": "srtt_mean_ms",
    "cwnd mean": "cwnd_mean",
}
_DATAGRAM_COLUMNS = {"one-way mean ms": "owd_mean_ms", "one-way p99 ms": "owd_p99_ms"}
_LEAST = (
    "timeouts", "start s", "on the wire Mbit/s", "begun", "RTT p99 ms", "one-way p99 ms", "ECN events", "loss events",
    "target Mbit/s", "queue max packets", "drops", "cwnd mean", "retransmits",
)  # fmt: skip
"""Columns that may be left out on a narrow terminal, the least important first."""
_REASONS = {
    "rtt_": "no packet's round trip was sampled in the measured part (Linux tells only its smoothed RTT; a program's "
    "several connections have none together)",
    "srtt_": "no smoothed RTT was sampled in the measured part",
    "owd_": "only packets of datagrams and of programs have one-way delays, and only those of the measured part count",
    "cwnd_": "no congestion window was sampled in the measured part, as it is inside a program",
    "loss_events": "a program alone knows its loss events",
    "target_mbps": "only a source with a load has a target",
    "quantile": "a single flow has no quantiles",
    "timeouts": "a program alone knows its timeouts, and the backend or an earlier version of Elephan recorded none",
    "retransmits": "the backend does not count retransmissions, or the headers are encrypted as those of QUIC",
}
"""Prefixes of fields, each with the reason why such a field may have no value."""
_LINK_COLUMNS = {
    "link": "name",
    "utilization": "utilization",
    "loss rate": "loss_rate",
    "drops": "drops",
    "queue mean packets": "queue_mean_packets",
    "queue max packets": "queue_max_packets",
}
_SOURCE_COLUMNS = {
    "source": "name",
    "algorithm": "algorithm",
    "target Mbit/s": "target_mbps",
    "offered Mbit/s": "offered_mbps",
    "on the wire Mbit/s": "throughput_mbps",
    "begun": "transfers_begun",
    "completed of all": "transfers_completed",
    "retransmits of all": "retransmits",
}


@click.command("run")
@click.argument("scenario", metavar="SCENARIO.toml")
@common.backend_option
@patches.patch_option
@patches.before_after_option
@common.set_option
@common.seeds_option
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Also copy each run's folder to DIR.")
@click.option("--force", is_flag=True, help="Run the scenario again even if the result is saved.")
@common.programs_option
@click.option(
    "--check-repeat",
    is_flag=True,
    help="Make each run twice, compare packets, outputs and tables, and keep it if equal.",
)
@common.jobs_option
@memory_option
@common.store_option
@common.json_option
def command(
    scenario: str,
    backend: str,
    patch: str | None,
    before_after: bool,
    assignments: Sequence[str],
    seeds: int | None,
    out: str | None,
    force: bool,
    allow_programs: bool,
    check_repeat: bool,
    jobs: int | None,
    memory: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Run one scenario.

    A saved result is reused. The numbers are for the scenario's measurement window.
    """
    from elephan import runs

    common.check_backend(backend)
    if before_after and patch is None:
        raise ScenarioError("there is no patch to compare with; write --patch FILE", source="--before-after")
    if check_repeat and before_after:
        raise ScenarioError("has no use for a comparison of kernels; leave it out", source="--check-repeat")
    if check_repeat and jobs is not None:
        raise ScenarioError("has no use with --check-repeat, which makes one run after the other", source="--jobs")
    unpatched, backend = backend, patches.patched(backend, patch)
    stated = common.load_scenario(scenario, common.overrides_of(assignments))
    wanted = stated.replicates(seeds) if seeds else [stated]
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
    where = runs.Store(store)
    try:
        with meter() as progress:
            made: list[Sequence[Run]] = []
            if check_repeat:
                made.append(_twice(wanted, backend, where, memory, progress, allow_programs=allow_programs))
            else:
                made = [
                    runs.sweep(
                        wanted,
                        on=on,
                        store=where,
                        jobs=jobs,
                        force=force,
                        progress=progress,
                        memory=memory,
                        allow_programs=allow_programs,
                    )
                    for on in (backend, *([unpatched] if before_after else []))
                ]
        done, *before = made
    except runs.SweepError as failed:
        if seeds is None and isinstance(failed.failures[0].error, ScenarioError):
            raise failed.failures[0].error from None  # the only run was rejected: the input is wrong
        raise
    if out is not None:
        for run in done:
            copy_run(run, Path(out) / run.id)
    if seeds is None and not before:
        for line in unchanged.without(done[0], scenario, common.overrides_of(assignments), where):
            common.warn(line)
    if as_json and before:
        common.print_json({
            "before": document(before[0]), "after": document(done), "differences": patches.document(before[0], done)
        })  # fmt: skip
        return
    if as_json:
        common.print_json(document(done) if seeds else done[0].summary())
        return
    if before:
        patches.print_difference(before[0], done)
    elif len(done) == 1:
        print_run(done[0])
    else:
        from elephan.cli.sweep import print_sweep  # slow, and not needed for one run

        print_sweep([], [{}] * len(done), done)
        print_intervals(document(done))
        replicates.tell(done, backend)
    if out is not None:
        common.say(f"copied to {out}")


def _twice(
    wanted: Sequence[Scenario],
    backend: str,
    where: Store,
    memory: int | None,
    progress: Meter,
    *,
    allow_programs: bool,
) -> list[Run]:
    """Runs that were made twice and repeat, one after the other.

    Raises:
        NotRepeatableError: a second run differs.
    """
    from elephan import runs

    done: list[Run] = []
    for scenario in wanted:
        finished = len(done)

        def tell(fraction: float, finished: int = finished) -> None:
            progress(finished + fraction, len(wanted), finished, len(wanted))

        done.append(
            runs.run(
                scenario, backend, store=where, progress=tell, memory=memory, allow_programs=allow_programs,
                check_repeat=True,
            )
        )  # fmt: skip
    common.say(f"{'the run' if len(done) == 1 else f'each of the {len(done)} runs'} was made twice, with equal results")
    return done


def copy_run(run: Run, target: Path) -> None:
    """Copy a run's files into a folder. The manifest is last, since a folder without it is not a run."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(run.dir.iterdir(), key=lambda file: file.name == "manifest.json"):
        if file.is_file():
            with whole_file(target / file.name) as copy, file.open("rb") as source, copy.open("wb") as destination:
                shutil.copyfileobj(source, destination)


def document(done: Sequence[Run]) -> dict[str, Any]:
    """Document for several seeds of one scenario: the runs, and each metric's mean with its 95 % interval (Student's
    t).

    ``why`` is the reason for a missing interval. A time that some seeds did not reach has no mean; ``never`` is the
    number of these seeds. A metric that is not defined for every seed is left out.
    """
    from elephan.metrics import get, interval
    from elephan.runs.result import defined

    summaries = [run.summary() for run in done]
    names = sorted(set.intersection(*(set(defined(summary)) for summary in summaries)))
    metrics, never = {}, {}
    for name in names:
        values = [summary["metrics"][name] for summary in summaries]
        if None in values:
            never[name] = values.count(None)
        else:
            found = interval(values).cut(get(name).within)
            metrics[name] = {"mean": found.value, "low": found.low, "high": found.high, "why": found.reason or None}
    return {
        "runs": summaries,
        "metrics": metrics,
        "never": never,
        "perturb": done[0].scenario.perturb,
        "outcomes": replicates.found(done).to_json(),
    }


def print_run(run: Run) -> None:
    """Print a run's numbers as tables, its warnings, and its folder."""
    from elephan.runs.result import flow_columns, flow_rows, measured_range, whole_run

    summary = run.summary()
    title = f"measured from {measured_range(summary)}"
    crowd = summary.get("crowd")
    datagrams = any(flow.get("owd_mean_ms") is not None for flow in crowd or summary["flows"])
    columns, flows = flow_rows(summary, flow_columns(_FLOW_COLUMNS, summary) | (_DATAGRAM_COLUMNS if datagrams else {}))
    if crowd is not None:
        title += f"; quantiles over the flows of each group, {len(summary['flows']):,} recorded (--json has these)"
    elif flows is not summary["flows"]:
        title += f"; quantiles over {len(summary['flows']):,} flows (--json has each)"
    tables = [
        (columns, flows),
        (_LINK_COLUMNS, summary["links"]),
        (_SOURCE_COLUMNS, summary.get("traffic", [])),
    ]
    for columns, rows in tables:
        if rows:
            cells = [[_cell(row, field) for field in columns.values()] for row in rows]
            common.print_table(title, list(columns), cells, least=_LEAST)
            title = ""
    totals = whole_run(summary)
    if totals is not None:
        common.say(totals)
    if beside := replicates.alone(run):
        common.say(beside)
    for warning in summary["warnings"]:
        common.warn(warning)
    state = "saved before" if summary["cached"] else f"made in {summary['wall_seconds']:.2f} s"
    common.say(f"{summary['dir']} ({state})")


def _cell(row: Mapping[str, Any], field: str) -> Any:
    """The table cell for a field of a summary's row; the reason if the field has no value."""
    if row[field] is not None:
        return row[field]
    known = row.get("undefined") or {}
    reasons = [known.get(field), *(reason for start, reason in _REASONS.items() if field.startswith(start))]
    return Missing(next((reason for reason in reasons if reason), "not measured in the measured part"))


def print_intervals(found: dict[str, Any]) -> None:
    """Print means over seeds with their intervals, the reasons for missing intervals, and times that some seeds did not
    reach."""
    rows = [[name, value["mean"], value["low"], value["high"]] for name, value in found["metrics"].items()]
    common.print_table("over the seeds, with 95 % intervals", ["metric", "mean", "low", "high"], rows)
    without: dict[str, list[str]] = {}
    for name, value in found["metrics"].items():
        if value["why"] is not None:
            without.setdefault(value["why"], []).append(name)
    for why, names in without.items():
        of = "any metric" if len(names) == len(found["metrics"]) else ", ".join(names)
        common.say(f"no interval of {of}: {why}")
    for name, count in found["never"].items():
        common.say(f"{name}: never with {count} of {len(found['runs'])} seeds")
