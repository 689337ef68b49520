"""``--memory``: memory limit of a command's runs."""

from __future__ import annotations

from typing import Any

import click

from elephan.scenario.errors import ScenarioError


class Memory(click.ParamType[int]):
    """An amount of memory with its unit: ``8 GB``, ``512 MiB``."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert the text to bytes."""
        from elephan.scenario.units import parse_size

        try:
            return parse_size(str(value))
        except ScenarioError as error:
            self.fail(str(error), param, ctx)


memory_option = click.option(
    "--memory", type=Memory(), metavar="SIZE",
    help="Memory limit of all simultaneous runs, '8 GB'. [default: 80 % of the free memory]",
)  # fmt: skip
