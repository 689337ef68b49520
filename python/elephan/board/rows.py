"""Rows that somebody added to the board: a folder with ``row.toml`` and perhaps a file of code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from elephan.board.contents import BoardError
from elephan.design.scoring import LOADS, score
from elephan.evaluation.tables import read
from elephan.scenario import Scenario, ScenarioError, own
from elephan.scenario.errors import one_line
from elephan.scenario.fields import chosen

FILE = "row.toml"
_NAME = re.compile(r"[a-z][a-z0-9_-]{1,39}")
_MOST_BYTES = 100_000
"""Largest file of a row."""
LICENSES = ("MIT OR Apache-2.0", "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC")


class _Table(BaseModel):
    """The table of ``row.toml``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str = Field(min_length=3, max_length=120)
    algorithm: str = Field(min_length=1, max_length=200)
    parameters: dict[str, float | int | str | bool] = {}
    source: str = Field(min_length=8, max_length=400)
    statement: str = Field(min_length=20, max_length=2000)
    license: Annotated[str, chosen(LICENSES, "a license of a row")]
    contact: str = Field(min_length=3, max_length=200)


class Row:
    """A row of the board.

    Args:
        folder: its folder, whose name is the row's.

    Raises:
        BoardError: the row is not as the board needs it; the message is one line.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        if _NAME.fullmatch(self.name) is None:
            raise BoardError(f"'{self.name}' is no name of a row: use a to z, 0 to 9, '-' and '_', 2 to 40 of them")
        self.table = _table(folder / FILE, self.name)
        self._check_files()

    @property
    def spec(self) -> str:
        """The algorithm's name, with the path of its file."""
        spec = self.table.algorithm
        return str((self.folder / spec).resolve()) if own.names_file(spec) else spec

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters that differ from the preset."""
        return dict(self.table.parameters)

    def check(self) -> None:
        """Check that the algorithm is there and has these parameters. Code is loaded in a restricted process.

        Raises:
            BoardError: it is not, or it has not.
        """
        try:
            if own.names_file(self.table.algorithm):
                for failure in score(self.spec, stage=LOADS, parameters=self.parameters).failures:
                    raise BoardError(f"row '{self.name}': {one_line(failure['reason'])}")
            else:
                path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
                flow = {"algorithm": self.spec, "parameters": self.parameters}
                Scenario.from_dict({"duration": "1 s", "dumbbell": path, "flow": [flow]})
        except ScenarioError as error:
            raise BoardError(f"row '{self.name}': {one_line(str(error))}") from None

    def _check_files(self) -> None:
        for file in sorted(self.folder.rglob("*")):
            if file.is_symlink() or not (file.is_file() or file.is_dir()):
                raise BoardError(f"row '{self.name}': '{file.name}' is not a plain file")
            if file.is_file() and file.stat().st_size > _MOST_BYTES:
                raise BoardError(f"row '{self.name}': '{file.name}' has more than {_MOST_BYTES // 1000} kB")
        spec = self.table.algorithm
        if own.names_file(spec):
            path = (self.folder / spec.partition(":")[0]).resolve()
            if self.folder.resolve() not in path.parents or not path.is_file():
                raise BoardError(f"row '{self.name}': '{spec}' must be a file of the row's folder")


def _table(file: Path, name: str) -> _Table:
    try:
        return read(file, _Table)
    except ScenarioError as error:
        told = ScenarioError(error.message, path=error.path, source=f"row '{name}': {FILE}")
        raise BoardError(str(told)) from None


def rows(folder: Path) -> list[Row]:
    """The rows of a board's folder, by name.

    Raises:
        BoardError: a row is not as the board needs it.
    """
    return [Row(one) for one in sorted((folder / "rows").glob("*")) if one.is_dir()]
