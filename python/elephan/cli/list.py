"""``elephan list``: names of algorithms, queues, metrics and others."""

from __future__ import annotations

from typing import Any

import click

from elephan.cli import common
from elephan.cli.completion import KINDS
from elephan.scenario import ScenarioError, catalog, channels, own, transports
from elephan.scenario.words import hint, listed

_HELP = f"""The names that can be used in a scenario, in a claim, or on this command line.

KIND selects one list; the default is all of them: {listed(KINDS)}.
"""


@click.command("list", help=_HELP, short_help="names of algorithms, queues, metrics and others")
@click.argument("kind", required=False, metavar="[KIND]")
@common.json_option
def command(kind: str | None, as_json: bool) -> None:
    """The names that can be used in a scenario, in a claim, or on this command line."""
    if kind is not None and kind not in KINDS:
        raise ScenarioError(f"'{kind}' is not a kind of name; {hint(kind, KINDS)}", source="list")
    entries = [entry for wanted in ([kind] if kind else KINDS) for entry in entries_of(wanted)]
    if as_json:
        common.print_json(entries)
        return
    for wanted in [kind] if kind else KINDS:
        rows = [[entry["name"], entry["title"], entry["source"]] for entry in entries if entry["list"] == wanted]
        common.print_table(wanted, ["name", "what it is", "source"], rows)


def entries_of(kind: str) -> list[dict[str, Any]]:
    """The names of one kind, with ``kind``, ``title``, ``source`` and ``parameters``; the field ``list`` of each row is
    the kind."""
    if kind == "algorithms":
        entries = [*catalog.algorithms().values(), *transports.listing().values(), *own.listing()]
        return [row | {"list": kind} for entry in entries for row in _with_presets(entry)]
    if kind == "queues":
        return [row | {"list": kind} for entry in catalog.all_queues().values() for row in _with_presets(entry)]
    if kind == "channels":
        return [_channel(name, model) for name, model in channels.MODELS.items()]
    if kind == "papers":
        from elephan import papers

        return [entry | {"list": kind} for entry in papers.listing()]
    if kind == "suites":
        from elephan.suites import loading

        return [entry | {"list": kind} for entry in loading.listing()]
    if kind == "metrics":
        from elephan import metrics

        return [_entry(kind, m.name, m.unit, m.title, m.source) for m in metrics.registry().values()]
    if kind == "stacks":
        from elephan.scenario.stacks import STACKS, TITLES

        return [_entry(kind, name, "stack", TITLES[name], "") for name in STACKS]
    from elephan import backends

    return [_entry(kind, name, "backend", backends.kind(name).title, "") for name in backends.names()]


def _channel(name: str, model: channels.Model) -> dict[str, Any]:
    parameters = [
        {"name": key, "default": known.default, "unit": known.unit, "title": known.text}
        for key, known in model.parameters.items()
    ]
    return _entry("channels", name, "channel", model.title, model.source) | {"parameters": parameters}


def _entry(list_name: str, name: str, kind: str, title: str, source: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "title": title, "source": source, "parameters": [], "list": list_name}


def _with_presets(entry: catalog.Descriptor) -> list[dict[str, Any]]:
    """An algorithm or a queue, then each of its presets with the changed values."""
    row = {name: entry.get(name, "") for name in ("name", "kind", "title", "source")}
    if entry.get("router"):
        row |= {"router": entry["router"]}
    # The name of a transport without a controller does not select an algorithm.
    rows = [] if entry["kind"] == "transport" else [row | {"parameters": entry.get("parameters", [])}]
    for preset in entry.get("presets", []):
        if preset["name"] and preset["name"] != entry["name"]:
            changed = [{"name": name, "value": value} for name, value in dict(preset.get("overrides") or {}).items()]
            rows.append(
                row | {"name": f"{entry['name']}:{preset['name']}", "title": preset["title"], "parameters": changed}
            )
    return rows
