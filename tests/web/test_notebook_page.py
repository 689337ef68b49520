"""Notebooks in a page: all cells under Node, the numbers of Python, and the page in Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.web import wasm
from tests.web.test_playground import browser

from elephan.runs import Store, sweep
from elephan.scenario import Scenario
from elephan.web import notebook, page
from elephan.web.notebook import notebooks_page

__all__ = ["browser"]
ROOT = Path(__file__).resolve().parents[2]
CELLS = page.BUILT / "notebook.mjs"
NOTEBOOKS = notebook.notebooks()

pytestmark = [
    wasm.needs_node,
    pytest.mark.skipif(not CELLS.exists(), reason="the page is not built: make web"),
]


def said(notebooks: list[dict[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """Sayings of the cells of notebooks under Node."""
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, str(ROOT / "web" / "notebooks.mjs"), str(wasm.ENGINE), str(CELLS)],
        input=json.dumps(page.data() | {"notebooks": notebooks}), capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip
    found: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return found


def cell(*code: str) -> list[tuple[str, str]]:
    """Sayings of cells, as kinds and texts."""
    parts = [{"kind": "code", "text": text} for text in code]
    return [(one["kind"], one["text"]) for one in said([{"id": "own", "parts": parts}])["own"]]


@cache
def all_said() -> dict[str, list[dict[str, str]]]:
    return said(list(NOTEBOOKS))


def test_there_are_ten_and_each_has_text_and_cells() -> None:
    assert len(NOTEBOOKS) == 10
    for one in NOTEBOOKS:
        kinds = [part["kind"] for part in one["parts"]]
        assert kinds[0] == "text"
        assert kinds.count("code") >= 2
        assert not any("```" in part["text"] for part in one["parts"])


@pytest.mark.parametrize("one", NOTEBOOKS, ids=lambda one: one["id"])
def test_every_sentence_that_a_notebook_checks_is_true(one: dict[str, Any]) -> None:
    found = all_said()[one["id"]]
    kinds = {line["kind"] for line in found}
    assert not kinds & {"wrong", "error"}, [line for line in found if line["kind"] in ("wrong", "error")]
    assert "right" in kinds
    assert kinds & {"figure", "table"}


def test_a_cell_has_the_numbers_of_elephan_run(tmp_path: Path) -> None:
    lines = cell(
        'run = await simulate({ rate: 12.5, rtt: 33, buffer: "150% BDP", loss: 0.1, queue: "codel", duration: 20,'
        ' flows: ["cubic", { algorithm: "reno", start: 2, rtt: 80 }] });',
        "table(run.flows); print(run.toml); print(run.utilization);",
    )
    flows = json.loads(lines[0][1])
    (run,) = sweep([Scenario.from_toml(lines[1][1], source="cell")], on="sim", store=Store(tmp_path), jobs=1)
    summary = run.summary()
    assert [flow["goodput_mbps"] for flow in flows] == [flow["goodput_mbps"] for flow in summary["flows"]]
    assert float(lines[2][1]) == pytest.approx(summary["links"][0]["utilization"], rel=1e-3)


@pytest.mark.parametrize(("rate", "rtt", "share"), [(50, 40, "1 BDP"), (20, 60, "20% BDP"), (12.5, 33, "150%BDP")])
def test_a_buffer_in_products_is_that_of_a_scenario(rate: float, rtt: float, share: str) -> None:
    asked = f'run = await simulate({{ rate: {rate}, rtt: {rtt}, buffer: "{share}", duration: 5 }}); print(run.toml);'
    (line,) = cell(asked)
    packets = tomllib.loads(line[1])["dumbbell"]["buffer"]
    scenario = Scenario.dumbbell(["cubic"], rate=f"{rate} Mbit/s", rtt=f"{rtt} ms", buffer=share, duration="5 s")
    assert packets == f"{scenario.canonical()['links'][0]['queue']['limit_packets']} packets"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('await simulate({ flows: ["cubik"] })', "flow 1: 'cubik' is not an algorithm of this page"),
        ("await simulate({ rtt_ms: 4 })", "'rtt_ms' is no field of a run; allowed: rate, rtt"),
        ('await simulate({ flows: [{ algorithm: "reno", begin: 1 }] })', "'begin' is no field of a flow; allowed:"),
        ('await simulate({ buffer: "much" })', "buffer: 'much' is neither a number of packets nor a text"),
        ("await simulate({ rate: -1 })", "rate_mbps: -1 is not within 1 to 1000"),
        ("plot(await simulate(), 'window')", "'window' is not a quantity; allowed: cwnd, rate, rtt, queue"),
        ("print(missing)", "'missing' is not known; a cell above may have to run first"),
        ("print(document.title)", "'document' is not known"),
        ("table = 3", "'table' is a function of the notebook"),
        ("const x = ;", "Unexpected token"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(code: str, line: str) -> None:
    ((kind, text),) = cell(code)
    assert kind == "error"
    assert text.startswith(line)
    assert "\n" not in text


def test_the_page_runs_cells_by_keys_and_asks_nobody(browser: object, tmp_path: Path) -> None:
    file = tmp_path / "notebooks.html"
    file.write_text(notebooks_page(), encoding="utf-8")
    assert file.stat().st_size < 1_000_000
    opened = browser.new_page(viewport={"width": 400, "height": 800})  # type: ignore[attr-defined]
    requests: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(f"{file.as_uri()}#06-delay")
    opened.wait_for_function("window.elephanNotebook.ready")
    assert opened.inner_text("#title") == "Algorithms that listen to the delay"
    opened.locator("textarea").first.fill(
        'run = await simulate({ duration: 5 }); plot(run); table(run.flows); check(true, "done"); fetch'
    )
    opened.locator("textarea").first.press("Shift+Enter")
    opened.wait_for_function("window.elephanNotebook.ran === 1")
    assert opened.locator(".cell .fig-panel").count() == 2
    assert opened.locator(".cell td.num").count() > 3
    assert "✓ done" in opened.inner_text(".output")
    assert "'fetch' is not known" in opened.inner_text(".output")
    opened.select_option("#notebook", "01-sawtooth")
    opened.click("#all")
    opened.wait_for_function("window.elephanNotebook.ran === 4", timeout=120_000)
    assert opened.locator(".said.right").count() == 2
    assert opened.locator(".said.wrong").count() == 0
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    assert [url for url in requests if not url.startswith(("file:", "blob:"))] == []
    assert wrong == []
    opened.close()
