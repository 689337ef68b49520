"""``--patch``: a patch of the Linux kernel that ``--on linux`` runs, and its effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.runs import Run

BACKEND = "linux"

patch_option = click.option(
    "--patch", metavar="FILE", help="With --on linux: a kernel with this change of its source; trusted code."
)

before_after_option = click.option(
    "--before-after", is_flag=True, help="With --patch: also run the kernel without it, and compare."
)


def among(names: Sequence[str], patch: str | None, *, before_after: bool) -> list[str]:
    """Names of backends, of which ``linux`` gets a patch; with ``before_after``, the one without it comes before.

    Raises:
        ScenarioError: no backend can be patched, the patch cannot be read, or there is none to compare with.
    """
    if patch is None:
        if before_after:
            raise ScenarioError("there is no patch to compare with; write --patch FILE", source="--before-after")
        return list(names)
    if BACKEND not in names:
        return [patched(name, patch) for name in names]
    changed = [BACKEND, patched(BACKEND, patch)] if before_after else [patched(BACKEND, patch)]
    return [one for name in names for one in (changed if name == BACKEND else [name])]


def patched(backend: str, patch: str | None) -> str:
    """The name of a backend with a patch.

    Raises:
        ScenarioError: the backend cannot be patched, or the patch cannot be read.
    """
    if patch is None:
        return backend
    if backend != BACKEND:
        raise ScenarioError(
            f"a patch changes the kernel of --on {BACKEND}, and this is --on {backend}", source="--patch"
        )
    from elephan.backends.linux import changes

    return f"{BACKEND}+{changes.read_patch(Path(patch)).word}"


def document(before: Sequence[Run], after: Sequence[Run]) -> list[dict[str, Any]]:
    """Each quantity before and after the patch: means, and the mean difference of equal seeds with its 95 %
    interval."""
    from elephan.backend_comparison import FLOW_QUANTITIES, LINK_QUANTITIES
    from elephan.metrics import interval

    ones, others = ([run.summary() for run in group] for group in (before, after))
    rows = []
    for part, quantities in (("flows", FLOW_QUANTITIES), ("links", LINK_QUANTITIES)):
        for position, row in enumerate(ones[0][part]):
            for key, quantity in quantities.items():
                values = [_values(group, part, position, key) for group in (ones, others)]
                if None in values[0] or None in values[1]:
                    continue
                pairs = [(float(a), float(b)) for a, b in zip(*values, strict=True)]
                found = interval([b - a for a, b in pairs])
                rows.append({
                    "of": str(row["name"]),
                    "quantity": quantity,
                    "before": sum(a for a, _ in pairs) / len(pairs),
                    "after": sum(b for _, b in pairs) / len(pairs),
                    "difference": found.value,
                    "low": found.low,
                    "high": found.high,
                    "why": found.reason or None,
                })  # fmt: skip
    return rows


def _values(group: Sequence[Mapping[str, Any]], part: str, position: int, key: str) -> list[Any]:
    return [summary[part][position][key] for summary in group]


def print_difference(before: Sequence[Run], after: Sequence[Run]) -> None:
    """Print the values before and after the patch as a table."""
    rows = []
    for row in document(before, after):
        span = "" if row["why"] else f" [{common.show_cell(row['low'])}, {common.show_cell(row['high'])}]"
        difference = f"{common.show_cell(row['difference'])}{span}"
        rows.append([row["of"], row["quantity"], row["before"], row["after"], difference])
    seeds = f"{len(before)} seeds" if len(before) > 1 else "one seed; --seeds N gives intervals"
    common.print_table(
        f"before and after the patch, {seeds}", ["of", "quantity", "before", "after", "difference, 95 % interval"], rows
    )
