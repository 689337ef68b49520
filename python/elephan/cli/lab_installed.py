"""``elephan lab install``, ``uninstall`` and ``status``: an algorithm in BPF for the whole host."""

from __future__ import annotations

import sys

import click

from elephan.cli import common


@click.command("install")
@click.argument("algorithm", metavar="ALG")
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@click.option("--as", "name", metavar="NAME", help="Name of the algorithm for sockets. [default: the algorithm's name]")
@click.option("--allow", is_flag=True, help="Allow unprivileged processes to use the algorithm.")
@click.option(
    "--default", "as_default", is_flag=True, help="Make the algorithm the default of all new sockets of this host."
)
@click.option(
    "--print-unit",
    is_flag=True,
    help="Print a systemd unit that installs the algorithm at each start; install nothing.",
)
@common.json_option
def install(
    algorithm: str,
    assignments: tuple[str, ...],
    name: str | None,
    allow: bool,
    as_default: bool,
    print_unit: bool,
    as_json: bool,
) -> None:
    """Register ALG, one of the algorithms in BPF, for this host until 'lab uninstall' or a restart.

    Root's sockets may use the algorithm by its name, and all sockets with --allow. Only --default makes the algorithm
    the default.
    """
    from elephan.backends.kernel import bpf, installed

    given = common.overrides_of(assignments)
    if print_unit:
        own_name, _ = bpf.resolve(algorithm, given)
        words = ["install", algorithm, *(word for text in assignments for word in ("--set", text))]
        words += ["--as", name] if name else []
        words += [option for option, wanted in (("--allow", allow), ("--default", as_default)) if wanted]
        common.say(installed.unit([sys.executable, "-m", "elephan", "lab", *words], name or own_name).rstrip())
        return
    done = installed.install(algorithm, given, name, allow=allow, as_default=as_default)
    if as_json:
        common.print_json(done.to_json())
        return
    allowed = "all sockets may use it" if allow else "root's sockets may use it"
    who = "every new socket uses it" if as_default else allowed
    common.say(f"installed {done.name} until 'elephan lab uninstall {done.name}' or a restart; {who}")


@click.command("uninstall")
@click.argument("name", metavar="NAME")
@common.json_option
def uninstall(name: str, as_json: bool) -> None:
    """Uninstall an algorithm; refused for the host's default, and while connections use the algorithm."""
    from elephan.backends.kernel import installed

    installed.uninstall(name)
    if as_json:
        common.print_json({"uninstalled": name})
        return
    common.say(f"uninstalled {name}")


@click.command("status")
@common.json_option
def status(as_json: bool) -> None:
    """List the installed algorithms, and the connections that use them."""
    from elephan.backends.kernel import installed

    found = [record.to_json() for record in installed.everything()]
    if as_json:
        common.print_json({"installed": found})
        return
    if not found:
        common.say("nothing is installed")
        return
    rows = [
        [
            row["name"],
            row["algorithm"],
            ", ".join(f"{name} = {value}" for name, value in row["parameters"].items()),
            "yes" if row["allowed"] else "no",
            "yes" if row["default"] else "no",
            row["connections"],
        ]
        for row in found
    ]
    common.print_table("", ["name", "algorithm", "parameters", "allowed to all", "default", "connections"], rows)
