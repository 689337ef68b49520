"""A matrix as colors: what it shows, on the screen and in print."""

from __future__ import annotations

import json
import math
from pathlib import Path

from elephan.report.figures import COLORS, save
from elephan.report.matrix import Matrix

SHARES = Matrix(
    "shares", "Who wins", "Signed.", ("a", "b"), ("a", "b"), ((0.0, 0.5), (-0.5, math.nan)), "A (1)", (-1.0, 1.0)
)


def test_the_colors_of_a_signed_matrix_part_at_zero() -> None:
    (heat,) = SHARES.spec()["data"]
    assert [share for share, _ in heat["colorscale"]] == [0, 0.5, 1]
    assert heat["colorscale"][2][1] == COLORS[0]
    assert heat["z"] == [[0.0, 0.5], [-0.5, None]]
    (plain,) = Matrix("m", "M", "", ("a",), ("b",), ((1.0,),), "U (1)", (0.0, 1.0)).spec()["data"]
    assert [share for share, _ in plain["colorscale"]] == [0, 1]


def test_a_matrix_is_json_for_the_screen_and_the_same_bytes_in_print(tmp_path: Path) -> None:
    json.dumps(SHARES.spec(), allow_nan=False)
    first = [path.read_bytes() for path in save(SHARES, tmp_path)]
    assert first == [path.read_bytes() for path in save(SHARES, tmp_path)]
    assert all(len(octets) > 1000 for octets in first)
