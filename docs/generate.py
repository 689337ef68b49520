"""Writes docs/reference from what the program itself knows, so that the reference cannot differ from the program.

Run it after a change of the schema, the command line, a metric or an algorithm; a test compares what it would write
with what is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic.fields import FieldInfo

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- written by docs/generate.py: change the program, not this page -->\n\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def scenario_page() -> str:
    """Every table and field of a scenario file, and every named stack."""
    from elephan.scenario import units
    from elephan.scenario.schema import TABLES, ScenarioTable
    from elephan.scenario.stacks import STACKS, TITLES, Stack

    parts = [
        "# Scenario reference\n",
        "Every field of a scenario file. Tables and fields that are not here are refused.\n",
    ]
    for name, model in {"": ScenarioTable, **TABLES}.items():
        title = f"`[[{name}]]`" if name in ("link", "flow") else f"`[{name}]`" if name else "The file itself"
        if name in ("application", "datagrams"):
            title = f"`{name}` of a flow"
        parts.append(f"## {title}\n")
        if name:
            text = (model.__doc__ or "").replace("``", "`").split(": ", 1)[1]
            parts.append(text[:1].upper() + text[1:] + "\n")
        rows = [
            (
                f"`{field.alias or key}`",
                "required" if field.is_required() else _default(field),
                field.description or "",
                _example(field.examples),
            )
            for key, field in model.model_fields.items()
            if (field.alias or key) not in TABLES or name
        ]
        parts.append(table(["field", "default", "what", "example"], rows))
    parts.append("## Units\n")
    groups = {
        "rate": units.RATE_UNITS | units.RATE_ALIASES,
        "time": units.TIME_UNITS | units.TIME_ALIASES,
        "size": units.SIZE_UNITS | units.SIZE_ALIASES,
        "buffer": units.PACKET_UNITS | units.PACKET_ALIASES | {"% BDP": 1, "BDP": 1, "unlimited": 1},
        "amount of data, window": units.SEGMENT_UNITS | units.SEGMENT_ALIASES,
    }
    parts.append(table(["quantity", "units"], [(k, ", ".join(f"`{u}`" for u in v)) for k, v in groups.items()]))
    parts.append("Buffers, amounts and windows may be sizes too.\n")
    parts.append("## Named stacks\n")
    parts.append(table(["name", "what it is"], [(f"`{name}`", TITLES[name]) for name in STACKS]))
    fields = list(Stack.__dataclass_fields__)
    parts.append(
        table(
            ["canonical field", *(f"`{name}`" for name in STACKS)],
            [
                (f"`{field}`", *(_stack_value(field, getattr(stack, field)) for stack in STACKS.values()))
                for field in fields
            ],
        )
    )
    return "\n".join(parts)


def _example(examples: list[Any] | None) -> str:
    from elephan.scenario.toml import write_value

    return ", ".join(f"`{write_value(example)}`" for example in examples or [])


def _default(field: FieldInfo) -> str:
    """A field's default as a user would write it; empty where it is nothing."""
    from pydantic import TypeAdapter

    from elephan.scenario.toml import write_value

    value = field.get_default(call_default_factory=True)
    if field.is_required() or value is None or value in ({}, ()):
        return ""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, *field.metadata])
    written = adapter.dump_python(value)
    return f"`{write_value(written)}`" if written != {} else ""


def _stack_value(field: str, value: Any) -> str:
    from elephan.scenario.units import format_time

    if value is None:
        return "unlimited"
    return (
        format_time(value) if field.endswith("_ps") else str(value).lower() if isinstance(value, bool) else str(value)
    )


def command_page() -> str:
    """The help of every verb."""
    from elephan.cli.main import VERBS, cli

    parts = ["# Command line\n", "What `elephan --help` and `elephan VERB --help` print.\n"]
    names = ["-h", "--help"]
    context = click.Context(
        cli, info_name="elephan", max_content_width=100, terminal_width=100, help_option_names=names
    )
    parts.append(f"```text\n{cli.get_help(context)}\n```\n")
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        inner = click.Context(command, info_name=verb, parent=context, max_content_width=100, terminal_width=100)
        parts.append(f"## {verb}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


def metrics_page() -> str:
    """The registry of metrics."""
    from elephan import metrics

    parts = ["# Metrics\n", "Each number has one definition, and everything that shows it uses that one.\n"]
    for name, metric in sorted(metrics.registry().items()):
        parts.append(f"## `{name}`\n\n{metric.doc.strip()}\n\nUnit: {metric.unit}. Source: {metric.source}.\n")
    return "\n".join(parts)


def algorithms_page() -> str:
    """Every algorithm with its presets and parameters, and every queue discipline."""
    from elephan.scenario import catalog

    parts = ["# Algorithms and queues\n", "`elephan show NAME` prints the same.\n"]
    for title, entries in (("Algorithms", catalog.algorithms()), ("Queues", catalog.queues())):
        parts.append(f"## {title}\n")
        for name, entry in entries.items():
            parts.append(f"### `{name}`: {entry['title']}\n\n{entry.get('doc', '')}\n\nSource: {entry['source']}\n")
            presets = [p for p in entry.get("presets", []) if p["name"]]
            if presets:
                rows = [(f"`{name}:{p['name']}`", p["title"], _settings(p["overrides"])) for p in presets]
                parts.append(table(["preset", "what it is", "changes"], rows))
            parameters = entry.get("parameters", [])
            if parameters:
                parts.append(table(["parameter", "default", "allowed", "what", "source"], map(_parameter, parameters)))
    return "\n".join(parts)


def _settings(overrides: dict[str, Any]) -> str:
    return ", ".join(f"`{name} = {_literal(value)}`" for name, value in overrides.items())


def _literal(value: Any) -> str:
    return "unlimited" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"


def _parameter(parameter: dict[str, Any]) -> tuple[str, ...]:
    choices, low, high = parameter.get("choices"), parameter.get("min"), parameter.get("max")
    allowed = (
        ", ".join(choices) if choices else "" if low is None and high is None else f"{_bound(low)} to {_bound(high)}"
    )
    default = _literal(parameter["default"]) if "default" in parameter else ""
    unit = f" {parameter['unit']}" if parameter.get("unit") else ""
    return f"`{parameter['name']}`", default + unit, allowed, parameter.get("doc", ""), parameter.get("source", "")


def _bound(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:g}"


PAGES = {
    "scenario.md": scenario_page,
    "command-line.md": command_page,
    "metrics.md": metrics_page,
    "algorithms.md": algorithms_page,
}


def render(name: str) -> str:
    """One page of the reference."""
    os.environ["COLUMNS"] = "100"
    return NOTE + PAGES[name]()


def main() -> None:
    """Write the pages that are named, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PAGES:
        (FOLDER / name).write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
