"""Writes docs/reference and docs/algorithms from the program's own data, so that pages and program agree.

Run this script after a change of the schema, the command line, a metric or an algorithm; a test compares its output
with the pages.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import api
import click
import rfc9743
from algorithm_pages import algorithm_page, algorithms_index, changes
from pydantic.fields import FieldInfo
from writing import ROOT, table

SCHEMA = ROOT.parent / "python" / "elephan" / "scenario" / "canonical.schema.json"
NOTE = "<!-- written by docs/generate.py: change the program, not this page -->\n\n"


def scenario_page() -> str:
    """The page of every table and field of a scenario file, and of every named stack."""
    from elephan.scenario import channels, units
    from elephan.scenario.schema import TABLES, ScenarioTable
    from elephan.scenario.stacks import STACKS, TITLES, Stack

    parts = [
        "# Scenario reference\n",
        "This page lists every table and field of a scenario file. Other tables and fields are refused.\n",
    ]
    for name, model in {"": ScenarioTable, **TABLES}.items():
        listed = name in ("link", "flow", "traffic", "rate_steps", "delay_steps")
        title = f"`[[{name}]]`" if listed else f"`[{name}]`" if name else "The file itself"
        if name in ("application", "datagrams"):
            title = f"`{name}` of a flow"
        if name == "sizes":
            title = "`sizes` of a source of transfers"
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
        parts.append(table(["field", "default", "meaning", "example"], rows))
    parts.append("## Units\n")
    groups = {
        "rate": units.RATE_UNITS | units.RATE_ALIASES,
        "time": units.TIME_UNITS | units.TIME_ALIASES,
        "size": units.SIZE_UNITS | units.SIZE_ALIASES,
        "buffer": units.PACKET_UNITS | units.PACKET_ALIASES | {"% BDP": 1, "BDP": 1, "unlimited": 1},
        "amount of data, window": units.SEGMENT_UNITS | units.SEGMENT_ALIASES,
    }
    parts.append(table(["quantity", "units"], [(k, ", ".join(f"`{u}`" for u in v)) for k, v in groups.items()]))
    parts.append("Buffers, amounts and windows may also be given as sizes.\n")
    parts.append("## Channels\n")
    parts.append(
        "These are the models of `channel`, with their parameters and sources ([Radio channels](../channels.md)).\n"
    )
    for name, channel in channels.MODELS.items():
        parts.append(f"### `{name}`\n\n{channel.title[:1].upper() + channel.title[1:]} ({channel.source}).\n")
        rows = [
            (
                f"`{key}`",
                f"`{known.default:g} {known.unit}`",
                known.text,
                f"{known.low:g} to {known.high:g} {known.unit}",
            )
            for key, known in channel.parameters.items()
        ]
        parts.append(table(["parameter", "default", "meaning", "range"], rows))
    parts.append("## Named stacks\n")
    parts.append(table(["name", "description"], [(f"`{name}`", TITLES[name]) for name in STACKS]))
    fields = list(Stack.__struct_fields__)
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
    """A field's default as a user would write it; empty if the field has no default."""
    from pydantic import TypeAdapter

    from elephan.scenario.toml import write_value

    value = field.get_default(call_default_factory=True)
    if field.is_required() or value is None or value in ({}, ()) or not (field.metadata or isinstance(value, float)):
        return ""
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    written = adapter.dump_python(value)
    return f"`{write_value(written)}`" if written != {} else ""


def _stack_value(field: str, value: Any) -> str:
    from elephan.scenario.units import format_time

    if value is None:
        return "unlimited"
    return (
        format_time(value) if field.endswith("_ps") else str(value).lower() if isinstance(value, bool) else str(value)
    )


def form_page() -> str:
    """The page of every definition in the JSON Schema of the canonical form."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    definitions = {schema["title"]: schema} | schema["$defs"]
    parts = [FORM_INTRODUCTION]
    for name, definition in definitions.items():
        parts.append(f"## {name}\n\n{_line(definition['description'])}\n")
        variants = definition.get("oneOf", [])
        if variants and all("const" in variant for variant in variants):
            rows = [(f"`{variant['const']}`", _line(variant["description"])) for variant in variants]
            parts.append(table(["value", "meaning"], rows))
            continue
        for variant in variants:
            parts.append(f'### `"kind": "{variant["properties"]["kind"]["const"]}"`\n')
            parts.append(_line(variant["description"]) + "\n")
            parts += _keys(variant)
        parts += [] if variants else _keys(definition)
    return "\n".join(parts)


def _keys(schema: dict[str, Any]) -> list[str]:
    """The table of an object's keys, with the required keys first."""
    properties, required = schema["properties"], schema.get("required", [])
    names = [*required, *sorted(properties.keys() - set(required))]
    rows = [
        (
            f"`{name}`",
            _json_type(properties[name]),
            "required" if name in required else f"`{json.dumps(properties[name]['default'])}`",
            _line(properties[name]["description"]),
        )
        for name in names
        if "const" not in properties[name]
    ]
    if schema.get("additionalProperties"):
        rows.append(("any other", _json_type(schema["additionalProperties"]), "", "Parameter of the discipline."))
    return [table(["key", "type", "default", "meaning"], rows)] if rows else []


def _json_type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_json_type(member) for member in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    inner = schema.get("items") or next(iter(schema.get("prefixItems", [])), None) or schema.get("additionalProperties")
    words = [f"{kind} of {_json_type(inner)}" if kind in ("array", "object") and inner else kind for kind in kinds]
    return " or ".join(words)


def _line(text: str) -> str:
    return " ".join(text.split())


FORM_INTRODUCTION = """# Canonical form reference

The canonical form is the JSON document that an engine runs. The hash of a result is computed from it. A run's
`manifest.json` has the canonical form as `scenario`, and in Python it is `Scenario.canonical()` and `Run.canonical`.
If a key is absent, it has its default. Unknown keys are ignored, except in `impairments`. Names end with the unit:
`_ps` is picoseconds, `_bps` is bit/s, and `_ppb` is 10⁻⁹.

This page is generated from the JSON Schema `python/elephan/scenario/canonical.schema.json`. The schema is also in the
package (`importlib.resources.files("elephan.scenario")`), and is generated from the engine's types. In Python,
`Scenario.form` and `Run.form` are typed objects of the same names (`elephan.scenario.form`). A member of a union is a
class whose name begins with the kind: `"kind": "gilbert_elliott"` of `LossSpec` is `GilbertElliottLoss`.
"""


def command_page() -> str:
    """The help text of every command."""
    from elephan.cli.main import VERBS, cli

    parts = ["# Command line\n", "This is the output of `elephan --help` and `elephan VERB --help`.\n"]
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
        for name, each in command.commands.items() if isinstance(command, click.Group) else ():
            context_of = click.Context(each, info_name=name, parent=inner, max_content_width=100, terminal_width=100)
            parts.append(f"### {verb} {name}\n\n```text\n{each.get_help(context_of)}\n```\n")
    return "\n".join(parts)


MANUAL = "../wheel/data/share/man/man1/elephan.1"
"""Path of the man page, in the tree of data files that a wheel installs beside the command."""


def man_page() -> str:
    """The help text of every command as a man page."""
    from elephan.cli.main import VERBS, cli
    from elephan.version import __version__

    context = click.Context(cli, info_name="elephan")
    lines = [
        f'.TH ELEPHAN 1 "" "elephan {__version__}" "Elephan"',
        ".SH NAME",
        "elephan \\- laboratory for TCP congestion control on long fat networks",
        ".SH SYNOPSIS",
        ".B elephan",
        "VERB [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        _roff(cli.help or ""),
        ".SH VERBS",
    ]
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        lines += _man_of(command, click.Context(command, info_name=verb, parent=context))
    lines += [
        ".SH SHELL COMPLETION",
        _roff('eval "$(_ELEPHAN_COMPLETE=bash_source elephan)" in ~/.bashrc; zsh_source and fish_source likewise.'),
        ".SH ENVIRONMENT",
        ".TP\n.B ELEPHAN_STORE\nFolder of saved results, .elephan/runs by default.",
    ]
    return "\n".join(lines) + "\n"


def _man_of(command: click.Command, context: click.Context) -> list[str]:
    """The section of a command, and of its subcommands."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f".SS {_roff(usage)}", _roff(command.help or "")]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            lines += [".TP", f".B {_roff(record[0])}", _roff(record[1])]
    for name, each in command.commands.items() if isinstance(command, click.Group) else ():
        lines += _man_of(each, click.Context(each, info_name=name, parent=context))
    return lines


def _roff(text: str) -> str:
    """Text for roff: paragraphs, with escaped characters that roff would interpret as commands."""
    paragraphs = [" ".join(part.split()) for part in text.replace("\b", "").split("\n\n")]
    safe = (one.replace("\\", "\\e").replace("-", "\\-") for one in paragraphs if one)
    return "\n.PP\n".join("\\&" + one if one[0] in ".'" else one for one in safe)


def metrics_page() -> str:
    """The page of the registry of metrics."""
    from elephan import metrics

    known = metrics.registry()
    parts = ["# Metrics\n", "Each metric has one definition, which all outputs of Elephan use.\n"]
    parts.append(
        "A metric describes the run, each flow, or a link. The link is the bottleneck, unless another one is named.\n"
    )
    rows = [(f"[`{name}`](#{name})", metric.scope, metric.unit, metric.title) for name, metric in known.items()]
    parts.append(table(["metric", "of", "unit", "definition in short"], rows))
    for name, metric in known.items():
        parts.append(f"## `{name}`\n\n{metric.doc.strip()}\n\nUnit: {metric.unit}. Source: {metric.source}.\n")
    return "\n".join(parts)


def tables_page() -> str:
    """The page of every column of every table of a run."""
    from elephan.runs.columns import TABLES

    parts = [TABLES_INTRODUCTION]
    for name, known in TABLES.items():
        only = f" This table exists only in runs of {known.only}." if known.only else ""
        parts.append(f"## `{name}`\n\nA row is {known.rows}.{only}\n")
        rows = [
            (
                f"`{column.name}`",
                column.kind,
                column.unit,
                column.text + (f" Only in {column.only}." if column.only else ""),
                column.nulls or "never",
                "yes" if column.required else "",
            )
            for column in known.columns
        ]
        parts.append(table(["column", "type", "unit", "meaning", "null", "every backend"], rows))
    return "\n".join(parts)


def labs_page() -> str:
    """The teacher's sheet of the labs."""
    from elephan.course.sheet import sheet

    return LABS_INTRODUCTION + sheet()


LABS_INTRODUCTION = """# The labs: a sheet for the teacher

Ten labs, one a week, with times, goals, solutions and the usual wrong answers ([how to hold them](../labs.md)).
Solutions are those of the labs' own runs. Answers to predictions are not marked; texts are for you to read.

"""


TABLES_INTRODUCTION = """# Tables of a run

`Run.flows`, `Run.samples` and so on are Polars data frames. In the store, each table is a Parquet file of the same
name. `elephan show RUN --csv DIR` writes the tables as CSV. Every run has `flows`, `samples` and `links`.
`run.tables()` returns all tables of a run.

Types are those of Polars. A `Categorical` is a name; Parquet files have it as a dictionary of strings. The column
*null* gives the cases in which the simulator has no value. Columns marked under *every backend* exist with every
backend, in the same units; integer types may differ. The model does not compute some columns, such as retransmissions,
and leaves them null. A backend may add columns.

In Python, `elephan.runs.columns.TABLES` has the same information.
"""


def queues_page() -> str:
    """The page of every queue discipline with its presets and parameters."""
    from elephan.scenario import catalog

    parts = ["# Queues\n", QUEUES_INTRODUCTION]
    for name, entry in catalog.all_queues().items():
        parts.append(f"## `{name}`: {entry['title']}\n\nSource: {entry['source']}\n")
        parts += _tables(name, entry)
    return "\n".join(parts)


QUEUES_INTRODUCTION = """`elephan show NAME` prints the same information.

In a scenario file, a duration is written with its unit (`"5 ms"`). A length in packets is written as
`"20 packets"` or as a fraction of the BDP (`"20% BDP"`). An amount is written in one of these ways or in bytes
(`"30 kB"`).
"""


def _tables(name: str, entry: dict[str, Any]) -> list[str]:
    """Tables of presets and parameters; empty if there are none."""
    from elephan.scenario import catalog

    parts = []
    presets = [p for p in entry.get("presets", []) if p["name"]]
    if presets:
        rows = [(f"`{name}:{p['name']}`", p["title"], changes(p["overrides"])) for p in presets]
        parts.append(table(["preset", "description", "changes"], rows))
    found = [catalog.parameter_row(parameter) for parameter in entry["parameters"]]
    if found:
        parts.append(table(list(found[0]), [[f"`{row['parameter']}`", *list(row.values())[1:]] for row in found]))
    return parts


def suite_page() -> str:
    """The page of every table and field of a suite's file."""
    from elephan.suites.schema import TABLES, SuiteTable

    parts = [
        "# Suite reference\n",
        "This page lists every field of `suite.toml`, the file of a suite of criteria. Other fields are refused,\n"
        "except in cells, whose fields are the placeholders of an experiment. A table may have `columns` and `rows`\n"
        "in place of fields, and is then one table a row ([how](../evaluate.md#a-suite-of-your-own)).\n",
    ]
    for name, model in {"": SuiteTable, **TABLES}.items():
        title, _, text = (model.__doc__ or "").replace("``", "`").partition(": ")
        parts.append(f"## {title}\n" if name else "## The file itself\n")
        if name:
            parts.append(text[:1].upper() + text[1:] + "\n")
        rows = [
            (
                f"`{field.alias or key}`",
                "required" if field.is_required() else _plain_default(field),
                field.description or "",
                _example(field.examples),
            )
            for key, field in model.model_fields.items()
            if (field.alias or key) not in TABLES or name
        ]
        parts.append(table(["field", "default", "meaning", "example"], rows))
    return "\n".join(parts)


def matrix_page() -> str:
    """The page of the algorithms' verdicts by the suite rfc9743, from the measurements of docs/rfc9743.py."""
    from elephan.scenario import catalog
    from elephan.suites import load

    found = rfc9743.load()
    rows = found["algorithms"]
    names = [row["algorithm"] for row in rows]
    missing = sorted(set(catalog.algorithms()) - set(names))
    newer = [c.id for c in load("rfc9743").table.criterion if c.id not in rows[0]["criteria"]]
    marks = {"pass": "pass", "concern": "concern", "fail": "**fail**", "not_settled": "open", "not_judged": "–"}
    parts = [
        "# Algorithms by RFC 9743\n",
        f"`elephan evaluate ALG --quick` judged {len(names)} algorithms with their default presets on "
        f"{' and '.join(sorted({row['measured'] for row in rows}))}, with eight seeds and six paths.\n"
        "The verdicts are those of the simulator, by Elephan's limits ([evaluation](../evaluate.md)).\n"
        "*fail*: a *must* is not met; *concern*: a *should* or a *consider* is not met; "
        "*open*: eight seeds do not settle the verdict; –: no run can judge the section.\n",
        *([f"{found['note']}\n"] if "note" in found else []),
        *([f"Algorithms not measured yet: {', '.join(f'`{name}`' for name in missing)}.\n"] if missing else []),
        *([f"Criteria newer than this measurement: {', '.join(f'`{name}`' for name in newer)}.\n"] if newer else []),
        *_newer_criteria(found.get("newer"), newer, marks),
        "## Summary\n\nThe numbers in parentheses are the measured values of the criteria.\n",
        _matrix_words(rows),
        "## Sections and algorithms\n",
        table(
            ["algorithm", *(f"§{section}" for section in found["titles"])],
            [[f"`{row['algorithm']}`", *(marks[row["sections"][s]] for s in found["titles"])] for row in rows],
        ),
        "## Each algorithm in words\n",
        table(
            ["algorithm", "answer of `elephan evaluate`"],
            [[f"`{row['algorithm']}`", row["answer"].partition(": ")[2].replace("<", "&lt;")] for row in rows],
        ),
        "## Sections\n",
        table(["§", "section"], found["titles"].items()),
    ]
    return "\n".join(parts)


def _newer_criteria(found: dict[str, Any] | None, newer: Sequence[str], marks: dict[str, str]) -> list[str]:
    """Table of the criteria that were added to the suite after the matrix was measured."""
    if not found or not newer:
        return []
    rows = found["algorithms"]
    cells = [
        [f"`{name}`", *(marks[row[one]["verdict"]] if one in row else "" for one in newer)]
        for name, row in rows.items()
    ]
    return [
        "## Newer criteria\n",
        f"These criteria were measured on {found['measured']}. The verdicts of sections below do not include them.\n",
        table(["algorithm", *(f"`{one}`" for one in newer)], cells),
    ]


def _matrix_words(rows: Sequence[dict[str, Any]]) -> str:
    """For each *must* the algorithms that fail it, with their values; then the algorithms without a failure."""
    said = []
    musts = [name for name, row in rows[0]["criteria"].items() if row["force"] == "must"]
    for name in musts:
        failed = [row for row in rows if row["criteria"].get(name, {}).get("verdict") == "fail"]
        if failed:
            section = failed[0]["criteria"][name]["section"]
            listed = ", ".join(f"`{row['algorithm']}` ({row['criteria'][name]['value']:.3g})" for row in failed)
            said.append(f"- §{section}, failures of the *must* {name}: {listed}.")
    clean = [row["algorithm"] for row in rows if all(row["criteria"][name]["verdict"] == "pass" for name in musts)]
    said.append(f"- Algorithms that pass every *must*: {', '.join(f'`{name}`' for name in clean) or 'none'}.")
    for name in ("standing-queue", "shallow-loss", "own-share"):
        kept = [row["algorithm"] for row in rows if row["criteria"][name]["verdict"] == "concern"]
        text = {
            "standing-queue": "A standing queue of more than one RTT at a deep buffer (§5.1.2)",
            "shallow-loss": "More than 5 % of loss at buffers of 0.1 to 2 BDP (§5.1.3)",
            "own-share": "Starvation beside a CUBIC flow on at least one path (§5.2.1)",
        }[name]
        said.append(f"- {text}: {', '.join(f'`{one}`' for one in kept) or 'none'}.")
    return "\n".join(said) + "\n"


def _plain_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "" if value is None or value in ({}, (), False) else f"`{json.dumps(value)}`"


def pages() -> dict[str, Callable[[], str]]:
    """The function that writes each page, by the page's path in docs."""
    from elephan.scenario import catalog

    return {
        "reference/scenario.md": scenario_page,
        "reference/suite.md": suite_page,
        "reference/rfc9743.md": matrix_page,
        "reference/canonical.md": form_page,
        "reference/command-line.md": command_page,
        MANUAL: man_page,
        "reference/metrics.md": metrics_page,
        "reference/queues.md": queues_page,
        "reference/tables.md": tables_page,
        "reference/labs.md": labs_page,
        "reference/api.md": api.index,
        **{f"{api.FOLDER}/{api.slug(name)}.md": partial(api.page, name) for name in api.PACKAGES},
        "algorithms/index.md": algorithms_index,
        **{f"algorithms/{name}.md": partial(algorithm_page, name) for name in catalog.algorithms()},
    }


def render(name: str) -> str:
    """The text of one page."""
    os.environ["COLUMNS"] = "100"
    note = NOTE if name.endswith(".md") else '.\\" written by docs/generate.py: change the program, not this page\n'
    return note + pages()[name]()


def main() -> None:
    """Write the named pages, or all pages."""
    for name in sys.argv[1:] or pages():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
