"""Contents of the board: its verdicts, and the runs that each of them comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from elephan.scenario import Scenario
from elephan.writing import whole_file

FOLDER = "board"
"""The board's folder in a source tree."""
PLACE = "{board}"
"""Stands for the board's folder in a scenario whose algorithm is a file of a row."""
_TEXT, _NUMBER = pl.String, pl.Float64
VERDICTS: dict[str, Any] = {
    "suite": _TEXT, "subject": _TEXT, "criterion": _TEXT, "section": _TEXT, "force": _TEXT, "text": _TEXT,
    "quantity": _TEXT, "unit": _TEXT, "required": _TEXT, "value": _NUMBER, "low": _NUMBER, "high": _NUMBER,
    "least": _NUMBER, "most": _NUMBER,
    "verdict": _TEXT, "weak": pl.Boolean, "why": _TEXT, "backend": _TEXT, "command": _TEXT, "runs": pl.List(_TEXT),
}  # fmt: skip
"""Columns of ``verdicts``: value, interval and allowed range (``least`` to ``most``, infinite without a bound) are in
``unit``; ``runs`` are ids, the deciding cell's first."""
RUNS: dict[str, Any] = {"id": _TEXT, "scenario": _TEXT, "seed": pl.UInt64, "backend": _TEXT, "tables_sha256": _TEXT,
                        "version": _TEXT}  # fmt: skip
"""Columns of ``runs``: ``scenario`` is the hash, ``tables_sha256`` the digest of the contents of all tables."""
SCENARIOS: dict[str, Any] = {"hash": _TEXT, "title": _TEXT, "toml": _TEXT}
"""Columns of ``scenarios``: ``toml`` is the scenario as a file."""
TABLES = {"verdicts": VERDICTS, "runs": RUNS, "scenarios": SCENARIOS}


class BoardError(ValueError):
    """The board, or a cell of it, is not there or not readable; the message is one line."""


@dataclass(frozen=True)
class Cell:
    """One run of the board: a scenario, a seed, and the digest of its tables."""

    id: str
    scenario: Scenario
    seed: int
    backend: str
    tables_sha256: str
    version: str


@dataclass(frozen=True)
class Board:
    """The board of a folder.

    Attributes:
        folder: the folder.
        verdicts: one row for each criterion of a suite and a subject; columns :data:`VERDICTS`.
        runs: one row for each run; columns :data:`RUNS`.
        scenarios: one row for each scenario; columns :data:`SCENARIOS`.
        date: day on which it was made, ISO 8601; empty if it is empty.
    """

    folder: Path
    verdicts: pl.DataFrame
    runs: pl.DataFrame
    scenarios: pl.DataFrame
    date: str = ""

    @classmethod
    def empty(cls, folder: Path) -> Board:
        """A board without verdicts."""
        verdicts, runs, scenarios = (pl.DataFrame(schema=columns) for columns in TABLES.values())
        return cls(folder, verdicts, runs, scenarios)

    @classmethod
    def read(cls, folder: Path) -> Board:
        """Read the board of a folder.

        Raises:
            BoardError: a file is missing or not readable, or has other columns.
        """
        tables = {}
        for name, columns in TABLES.items():
            file = folder / f"{name}.parquet"
            try:
                tables[name] = pl.read_parquet(file)
            except FileNotFoundError:
                if not folder.exists():
                    where = "the board is a folder of Elephan's source tree; go there, or name it with --board DIR"
                    raise BoardError(f"there is no folder '{folder}': {where}") from None
                raise BoardError(f"the folder '{folder}' is no board: {file.name} is missing") from None
            except (OSError, pl.exceptions.PolarsError) as error:
                raise BoardError(f"'{file}' is not readable: {str(error).splitlines()[0]}") from None
            if dict(tables[name].schema) != columns:
                raise BoardError(f"'{file}' has other columns than {', '.join(columns)}")
        try:
            date = str(json.loads((folder / "board.json").read_text(encoding="utf-8"))["date"])
        except (OSError, ValueError, KeyError, TypeError):
            raise BoardError(f"the folder '{folder}' is no board: board.json is missing or damaged") from None
        return cls(folder, **tables, date=date)

    def write(self) -> None:
        """Write the board into its folder.

        Raises:
            OSError: the folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            with whole_file(self.folder / f"{name}.parquet") as place:
                getattr(self, name).write_parquet(place, compression="zstd", compression_level=19)
        with whole_file(self.folder / "board.json") as place:
            place.write_text(json.dumps({"date": self.date}) + "\n", encoding="utf-8")

    def with_verdicts(
        self, verdicts: Sequence[dict[str, Any]], manifests: Iterable[Mapping[str, Any]], date: str
    ) -> Board:
        """The board with these verdicts in place of those of the same suites and subjects, without runs that no verdict
        names."""
        new = pl.DataFrame(list(verdicts), schema=VERDICTS)
        kept = self.verdicts.join(new.select("suite", "subject").unique(), on=["suite", "subject"], how="anti")
        every = pl.concat([kept, new]).sort("suite", "subject", maintain_order=True)
        runs, scenarios = _runs(manifests, self.folder)
        named = every["runs"].explode(empty_as_null=True).drop_nulls().unique()
        all_runs = pl.concat([runs, self.runs]).unique("id", keep="first").filter(pl.col("id").is_in(named.implode()))
        found = pl.concat([scenarios, self.scenarios]).unique("hash", keep="first")
        found = found.filter(pl.col("hash").is_in(all_runs["scenario"].unique().implode()))
        return Board(self.folder, every, all_runs.sort("id"), found.sort("hash"), date)

    def cells(self, ids: Iterable[str]) -> list[Cell]:
        """The runs of these ids.

        Raises:
            BoardError: the board has no run of an id.
        """
        rows = {row["id"]: row for row in self.runs.iter_rows(named=True)}
        texts = dict(self.scenarios.select("hash", "toml").iter_rows())
        found = []
        for name in ids:
            if name not in rows:
                raise BoardError(f"the board has no run '{name}'")
            row = rows[name]
            text = texts[row["scenario"]].replace(PLACE, str(self.folder.resolve()))
            scenario = Scenario.from_toml(text, source=f"board, run {name}")
            found.append(Cell(name, scenario, row["seed"], row["backend"], row["tables_sha256"], row["version"]))
        return found


def _runs(manifests: Iterable[Mapping[str, Any]], folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of runs and of their scenarios."""
    runs, scenarios = [], {}
    for manifest in manifests:
        key = str(manifest["scenario_hash"])
        runs.append({
            "id": manifest["id"], "scenario": key, "seed": manifest["seed"], "backend": manifest["backend"],
            "tables_sha256": manifest["tables_sha256"], "version": str(manifest["versions"]["engine"]),
        })  # fmt: skip
        if key not in scenarios:
            text = str(manifest["scenario_toml"]).replace(str(folder.resolve()), PLACE)
            scenarios[key] = {"hash": key, "title": manifest.get("title") or "", "toml": text}
    return pl.DataFrame(runs, schema=RUNS), pl.DataFrame(list(scenarios.values()), schema=SCENARIOS)
