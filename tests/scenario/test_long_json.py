"""Documents of recordings: written fast, with the bytes of the standard library, and shared between scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elephan.scenario import Scenario, imports, long_json, named, overrides, timed

ROWS = long_json.Rows({"at_ps": 10**9 * i, "rate_bps": 5_000_000 + i} for i in range(1500))
DOCUMENT: dict[str, Any] = {
    "links": [{"name": 'Süd "1" \x7f', "impairments": {"rate_steps": ROWS, "delay_steps": []}, "loss": 1e-07}],
    "flows": [{"name": "a", "start_ps": 10**22, "x": None, "y": [True, 1e16, -0.5]}] * 1200,
    "empty": {},
}


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("sort_keys", [True, False])
def test_the_bytes_are_those_of_the_standard_library(sort_keys: bool, ensure_ascii: bool) -> None:
    options: dict[str, Any] = {"sort_keys": sort_keys, "ensure_ascii": ensure_ascii}
    plain = json.loads(json.dumps(DOCUMENT))
    assert long_json.dumps(DOCUMENT, **options) == json.dumps(plain, separators=(",", ":"), **options)


def test_what_is_read_is_what_json_reads() -> None:
    given = {"a": (1, 2), "long": {"rows": ROWS}, "b": {"c": [(3,)]}}
    read = long_json.as_read(given)
    assert read == {"a": [1, 2], "long": {"rows": list(ROWS)}, "b": {"c": [[3]]}}
    assert read["long"]["rows"] is ROWS
    assert long_json.as_read({1: [2], "rows": ROWS}) == {"1": [2], "rows": list(ROWS)}, "keys are texts"
    for undefined in ({"a": float("nan")}, {"a": float("inf"), "rows": ROWS}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            long_json.as_read(undefined)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setenv(named.ENVIRONMENT, str(tmp_path / "imported"))
    folder = tmp_path / "pairs"
    folder.mkdir()
    (folder / "bw_1.txt").write_text("".join(f"{ms}\n" for ms in range(4000) for _ in range(1 + ms // 10 % 3)))
    (folder / "delay_1.txt").write_text("".join(f"{20 + i % 5}\n" for i in range(400)))
    imports.import_folder(str(folder))
    return Scenario.from_dict({"duration": "8 s", "path": "1", "flow": [{"algorithm": "cubic"}]})


def test_changed_scenarios_share_tables_and_have_the_hash_of_their_file(recorded: Scenario) -> None:
    other = recorded.replace({"flow[0].algorithm": "bbr"})
    for link, ours in zip(other.link, recorded.link, strict=True):
        assert link.rate_table is ours.rate_table
        assert link.delay_table is ours.delay_table
    assert recorded.link[0].delay_table is recorded.link[1].delay_table, "a pair has one delay"
    steps = [found.canonical()["links"][0]["impairments"]["rate_steps"] for found in (recorded, other)]
    assert isinstance(steps[0], long_json.Rows)
    assert steps[0] is steps[1]
    for found in (recorded, other, recorded.with_seed(9), recorded.replace(duration="5 s")):
        again = Scenario.from_dict(found.to_dict())
        assert (again.hash, again.canonical_json()) == (found.hash, found.canonical_json())
        assert Scenario.from_toml(found.to_toml()).canonical_json() == found.canonical_json()
    # A value within a table can be set too.
    tables = [one.link[0].rate_table for one in (recorded, recorded.replace({"link[0].rate_table.repeat": "9 s"}))]
    table, longer = tables
    assert table is not None
    assert longer is not None
    assert longer.repeat == 9 * 10**12
    assert timed.toml("rate", table).startswith('{ rows = [["0 s", "12 Mbit/s"]')


def test_a_path_that_is_imported_again_is_read_again(recorded: Scenario, tmp_path: Path) -> None:
    (tmp_path / "pairs" / "bw_1.txt").write_text("".join(f"{ms}\n" for ms in range(4000)))
    imports.import_folder(str(tmp_path / "pairs"))
    again = Scenario.from_dict({"duration": "8 s", "path": "1", "flow": [{"algorithm": "cubic"}]})
    assert again.hash != recorded.hash


def test_overrides_leave_the_tables_that_they_are_given() -> None:
    raw: dict[str, Any] = {"flow": [{"algorithm": "cubic", "sizes": [1, 2]}], "measure": {"from": "1 s"}}
    changed = overrides.apply_overrides(raw, {"flow[0].sizes[1]": 5, "measure.from": "2 s"})
    assert raw == {"flow": [{"algorithm": "cubic", "sizes": [1, 2]}], "measure": {"from": "1 s"}}
    assert changed == {"flow": [{"algorithm": "cubic", "sizes": [1, 5]}], "measure": {"from": "2 s"}}
