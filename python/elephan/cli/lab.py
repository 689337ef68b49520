"""``elephan lab``: the kernel backend's host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elephan.cli import common, lab_installed, lab_linux, targets
from elephan.scenario.units import PS_PER_S
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from elephan.backends import RawResult
    from elephan.runs import Run
    from elephan.scenario import Scenario


class _Tasks(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb of ``elephan lab``, or name the most similar verb in the error message."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise click.UsageError(f"'{args[0]}' is not a task of lab; {hint(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


@click.group("lab", cls=_Tasks, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Check this host's abilities for --on kernel and --on linux, and list the leftovers of killed runs."""
    if context.invoked_subcommand is None:
        common.say(context.get_help())


command.add_command(lab_linux.command)
command.add_command(lab_installed.install)
command.add_command(lab_installed.uninstall)
command.add_command(lab_installed.status)


@command.command("check")
@common.json_option
def check(as_json: bool) -> int:
    """Print the abilities of this host, and remedies for the missing ones.

    The exit status is 1 if no scenario can be run with --on kernel.
    """
    from elephan.backends.kernel import lab
    from elephan.backends.linux import lab as guests

    items, virtual = lab.check(), guests.check()
    able, able_virtual = lab.can_run(items), lab.can_run(virtual)
    if as_json:
        common.print_json(
            {
                "can_run": able,
                "items": [item.to_json() for item in items],
                "linux": {"can_run": able_virtual, "items": [item.to_json() for item in virtual]},
            }
        )
    else:
        rows = [[item.name, _verdict(item), item.found, item.help] for item in (*items, *virtual)]
        common.print_table("", ["what", "", "found", "what would help"], rows)
        common.say(
            "this host can run scenarios on real Linux TCP" if able else "this host cannot run on real Linux TCP"
        )
        common.say(f"this host {'can' if able_virtual else 'cannot'} run scenarios in virtual time (--on linux)")
    return 0 if able else 1


def _verdict(item: object) -> str:
    from elephan.backends.kernel.lab import Item

    assert isinstance(item, Item)
    return "yes" if item.ok else "no, and needed" if item.needed else "no"


@command.command("clean")
@common.json_option
def clean(as_json: bool) -> None:
    """Remove the leftovers of killed runs on this host, and nothing else."""
    from elephan.backends.kernel import records

    removed = records.remove_abandoned()
    if as_json:
        common.print_json({"removed": removed})
        return
    for line in removed:
        common.say(f"removed {line}")
    if not removed:
        common.say("nothing was left over")


@command.command("calibrate")
@click.option("--quick", is_flag=True, help="CUBIC alone, at 40 ms.")
@common.json_option
def calibrate(quick: bool, as_json: bool) -> int:
    """Measure the rates at which this host's runs are valid, and save them for warnings about later runs.

    The runs are Reno and CUBIC at 100, 400, 622 and 1000 Mbit/s, 40 and 100 ms, in real time; they take about six
    minutes. The exit status is 1 if even the lowest rate fails.
    """
    from elephan.backends.kernel import calibration
    from elephan.backends.kernel.backend import KernelBackend
    from elephan.cli.progress import meter

    wanted = calibration.scenarios(("cubic",), rtts_ms=(40,)) if quick else calibration.scenarios()
    with meter() as progress:
        found = calibration.calibrate(wanted, KernelBackend(), progress)
    path = found.save()
    if as_json:
        common.print_json(found.to_json() | {"saved": str(path)})
    else:
        columns = {
            "algorithm": "algorithm",
            "Mbit/s": "rate_mbps",
            "RTT ms": "rtt_ms",
            "goodput of ideal": "goodput_part",
            "late p50 µs": "late_p50_us",
            "late p99 µs": "late_p99_us",
            "cores used by the path": "link_processor",
            "stolen by others": "stolen_part",
            "honest": "honest",
        }
        rows = [[getattr(result, name) for name in columns.values()] for result in found.results]
        common.print_table(found.host, list(columns), rows)
        common.say(f"this host carries up to {found.honest_mbps} Mbit/s honestly")
        common.say(f"saved in {path}")
    return 0 if found.honest_mbps else 1


@command.command("shell", context_settings={"ignore_unknown_options": True})
@click.option("--rate", required=True, metavar="RATE", help="Rate of the path, for example '100 Mbit/s'.")
@click.option("--rtt", required=True, metavar="TIME", help="Two-way propagation delay, for example '40 ms'.")
@click.option("--buffer", "buffer_size", required=True, metavar="BUFFER", help="'4 MB', '1000 packets' or '20% BDP'.")
@click.option("--algorithm", default="cubic", show_default=True, metavar="ALG", help="Congestion control, both ways.")
@click.option("--loss", metavar="P", help="Random loss on the way up, for example 0.001%.")
@click.option("--longest", default="1 h", show_default=True, metavar="TIME", help="Latest end of the path.")
@click.option(
    "--out", metavar="DIR", callback=targets.writable_folder, help="Folder for the run. [default: shell-DATE-TIME]"
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM…]")
def shell(
    rate: str,
    rtt: str,
    buffer_size: str,
    algorithm: str,
    loss: str | None,
    longest: str,
    out: str | None,
    program: tuple[str, ...],
) -> int:
    """Run a program of your own on an emulated path, and measure its traffic.

    The program (your shell, if none is given) runs as the user who called sudo. The only host at the other end of the
    path is this host, at the address $ELEPHAN_HOST. The exit status is that of the program.
    """
    from elephan.backends.kernel import shell as path

    stated = path.Stated(rate, rtt, buffer_size, algorithm, loss, longest)
    done = path.run(stated, program)
    if done.raw is None:
        common.warn("the program ended before there was anything to measure")
        return done.status
    folder = path.default_folder() if out is None else Path(out)
    run = save_shell(done.scenario, done.raw, program, folder)
    summary = run.summary()
    flows = {"flow": "name", "goodput Mbit/s": "goodput_mbps", "retransmits": "retransmits", "losses": "loss_events",
             "RTT mean ms": "rtt_mean_ms", "cwnd mean": "cwnd_mean"}  # fmt: skip
    common.print_table("", list(flows), [[row[name] for name in flows.values()] for row in summary["flows"]])
    for warning in run.warnings:
        common.warn(warning)
    common.say(f"{folder} (elephan show {folder})")
    return done.status


def save_shell(scenario: Scenario, raw: RawResult, program: Sequence[str], folder: Path) -> Run:
    """Save the measurements of a program as a run, for ``elephan show`` and :meth:`elephan.Run.load`."""
    from elephan.runs.execute import assemble
    from elephan.runs.files import write_json
    from elephan.runs.provenance import provenance
    from elephan.runs.saved import SUMMARY

    wall_seconds = scenario.duration / PS_PER_S  # the path is in real time
    origin = provenance(engine=str(raw.summary["engine_version"]), wall_seconds=wall_seconds)
    run = assemble(scenario, raw, "shell", scenario.seed, origin)
    run.manifest["program"] = list(program)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / SUMMARY, run.summary() | {"dir": str(folder.absolute())})
    run.to_parquet(folder)
    return run
