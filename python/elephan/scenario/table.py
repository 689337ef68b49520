"""Base of the models of a scenario's tables."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the scenario file: frozen, without extra fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        arbitrary_types_allowed=True,
        # The validator of a table is built at its first use: most tables are only used as parts of a scenario.
        defer_build=True,
    )
