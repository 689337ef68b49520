"""``elephan compare-backends``: one scenario in several backends, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import click

from elephan.cli import common, replicates, targets
from elephan.cli.progress import meter


@click.command("compare-backends")
@click.argument("scenario", metavar="SCENARIO.toml")
@common.set_option
@common.seeds_option
@click.option("--in", "names", metavar="BACKEND,…", help="Backends. [default: all that can run it]")
@click.option(
    "--repeats", type=common.Count(1, 1000), metavar="N",
    help="Runs in the kernel, each in real time. [default: 3]",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", callback=targets.writable_folder, help="Folder of the report. [default: reports/HASH]"
)
@common.jobs_option
@common.store_option
@common.json_option
def command(
    scenario: str,
    assignments: Sequence[str],
    seeds: int | None,
    names: str | None,
    repeats: int | None,
    out: str | None,
    jobs: int | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Run one scenario in each backend that can run it, and print the results side by side.

    The other backends are compared with the simulator, or with its mean and range over several seeds. The kernel is
    measured several times: a difference no larger than the spread of its own runs is marked with ≈.
    """
    from elephan import backend_comparison, backends, runs

    chosen = [name.strip() for name in names.split(",")] if names else backends.names()
    for name in chosen:
        common.check_backend(name, "--in")

    stated = common.load_scenario(scenario, common.overrides_of(assignments))
    with meter() as progress:
        found = backend_comparison.compare_backends(
            stated, seeds=seeds or 1, repeats=repeats or backend_comparison.REPEATS, names=chosen, jobs=jobs,
            store=runs.Store(store), out=out, progress=progress,
        )  # fmt: skip
    if as_json:
        common.print_json(found.to_json())
        return
    others = [name for name in found.runs if name != backend_comparison.REFERENCE]
    header = ["of", "quantity", backend_comparison.REFERENCE, "its range", *(f"{n}, difference" for n in others)]
    rows = []
    for line in found.lines:
        spread = f"{common.show_cell(line.low)} to {common.show_cell(line.high)}" if line.low != line.high else ""
        beside = [_beside(line, name) for name in others]
        rows.append([line.of, line.quantity, line.reference, spread, *beside])
    common.print_table("", header, rows)
    replicates.tell(found.runs[backend_comparison.REFERENCE], backend_comparison.REFERENCE)
    for name in others:
        if measured := [line.repeatable[name] for line in found.lines if name in line.repeatable]:
            of = f"{sum(measured)} of {len(measured)} differences"
            common.say(f"{name}: {of} are within the spread of its own {len(found.runs[name])} runs (≈)")
        for warning in sorted({w for run in found.runs[name] for w in run.warnings}):
            common.warn(f"{name}: {warning}")
    for name, reason in found.refused.items():
        common.say(f"{name}: {reason}")
    common.say(f"report: {found.report_path}")


def _beside(line: object, name: str) -> str:
    from elephan.backend_comparison import Line

    assert isinstance(line, Line)
    value, difference = line.values.get(name), line.differences.get(name)
    same = "≈ " if line.repeatable.get(name) else ""
    part = "" if difference is None else f" ({same}{100 * difference:+.1f} %)"
    return common.show_cell(value) + part
