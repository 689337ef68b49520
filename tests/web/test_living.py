"""Living reports in Chromium: the published run again, and with another buffer, algorithm and RTT."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.test_playground import browser, pytestmark

from elephan.cli.main import run_command
from elephan.report import pages
from elephan.report.run import run_report
from elephan.runs import Run, Store, sweep
from elephan.scenario import Scenario
from elephan.web.living import fits, living

__all__ = ["browser", "pytestmark"]
MOST_BYTES = 700_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scenario = Scenario.dumbbell(
        ["cubic", "fast"], rate="20 Mbit/s", rtt="60 ms", buffer="50% BDP", duration="30 s", title="two of a kind"
    )
    (done,) = sweep([scenario], on="sim", store=Store(tmp_path_factory.mktemp("store")), jobs=1)
    return done


def test_a_report_grows_by_less_than_700_kb(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = run_report(run, tmp_path / "alive").stat().st_size
    monkeypatch.setattr(pages, "living", lambda _: None)
    assert 300_000 < alive - run_report(run, tmp_path / "still").stat().st_size <= MOST_BYTES


def test_what_a_browser_cannot_carry_is_not_offered() -> None:
    path = {"rate": "1 Gbit/s", "rtt": "100 ms", "buffer": "1 BDP"}
    assert fits(Scenario.dumbbell(["cubic"], **path, duration="20 s").canonical())
    assert not fits(Scenario.dumbbell(["cubic"], **path, duration="300 s").canonical())
    assert not fits(Scenario.dumbbell(["cubic"] * 9, **path, duration="20 s").canonical())
    assert living([]) is None


def test_the_reader_runs_it_here(browser: object, run: Run, tmp_path: Path) -> None:
    report = run_report(run, tmp_path)
    page = browser.new_page()  # type: ignore[attr-defined]
    requests: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(report.as_uri())
    assert not any(url.startswith("blob:") for url in requests), "the engine starts when it is asked to"
    page.click("#living-controls button")
    until_alive(page, 1)
    here = page.inner_text("#living-numbers tr:nth-child(2)").split()
    assert here[-1] == here[-2] == f"{run.summary()['links'][0]['utilization']:.3g}"
    picture = page.locator("#living-pictures figure[data-panel=queue] canvas")
    for i, change in enumerate(
        [
            "const e = document.getElementById('living-buffer'); e.value = 50; e.dispatchEvent(new Event('input'))",
            "const e = document.getElementById('living-rtt'); e.value = -50; e.dispatchEvent(new Event('input'))",
            "const e = document.getElementById('living-algorithm-1');"
            "e.value = 'bbr'; e.dispatchEvent(new Event('change'))",
        ]
    ):
        before = picture.screenshot()
        page.evaluate(f"() => {{ {change} }}")
        until_alive(page, i + 2)
        assert picture.screenshot() != before
    assert said == []
    assert all(url.startswith((report.as_uri(), "blob:", "data:")) for url in requests)
    page.close()


def until_alive(page: object, count: int) -> None:
    for _ in range(1500):
        if page.evaluate(f"window.elephanLiving?.runs >= {count}"):  # type: ignore[attr-defined]
            return
        page.wait_for_timeout(20)  # type: ignore[attr-defined]
    raise AssertionError(page.inner_text("#living-status"))  # type: ignore[attr-defined]


def until(page: object, condition: str) -> None:
    """Waits for a condition that the page's layout meets soon."""
    for _ in range(500):
        if page.evaluate(condition):  # type: ignore[attr-defined]
            return
        page.wait_for_timeout(20)  # type: ignore[attr-defined]
    raise AssertionError(condition)


PATH = ["--rate", "10 Mbit/s", "--rtt", "40 ms", "--buffer", "50 packets", "--duration", "20 s", "--seeds", "2"]
SUITE = Path(__file__).resolve().parents[2] / "examples" / "home_link"
REPORTS = {
    "compare": ["compare", "cubic", "reno", *PATH],
    "evaluate": ["evaluate", "reno", "--suite", str(SUITE), "--quick"],
    "paper": ["paper", "katto2008", "--quick", "--figure", "f9", "--no-sensitivity"],
}


@pytest.mark.parametrize("verb", ["compare", "evaluate", pytest.param("paper", marks=pytest.mark.large)])
def test_reports_of_comparisons_evaluations_and_papers_run_again(browser: object, verb: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run_command([*REPORTS[verb], "--jobs", "1", "--store", str(store), "--out", str(tmp_path / verb)]) == 0
    page = browser.new_page()  # type: ignore[attr-defined]
    said: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / verb / "report.html").as_uri())
    page.click("#living-controls button")
    until_alive(page, 1)
    label = page.evaluate("document.querySelector('#living-controls select').selectedOptions[0].textContent")
    published = Store(store).get(label.rpartition("(")[2].rstrip(")"))
    assert here(page) == [f"{published.summary()['links'][0]['utilization']:.3g}"] * 2
    picture = page.locator("#living-pictures figure[data-panel=queue] canvas")
    before = picture.screenshot()
    page.evaluate(
        "() => { const e = document.getElementById('living-buffer');e.value = 60; e.dispatchEvent(new Event('input')) }"
    )
    until_alive(page, 2)
    assert picture.screenshot() != before
    page.set_viewport_size({"width": 400, "height": 900})
    until(page, "document.documentElement.scrollWidth <= 400")
    assert said == []
    assert all(url.startswith(((tmp_path / verb).as_uri(), "blob:", "data:")) for url in requests)
    page.close()


def here(page: object) -> list[str]:
    """Utilization of the bottleneck: here, and published."""
    words: list[str] = page.inner_text("#living-numbers tr:nth-child(2)").split()  # type: ignore[attr-defined]
    return words[-2:]


def test_the_address_names_a_run_and_its_seed(browser: object, run: Run, tmp_path: Path) -> None:
    report = run_report(run, tmp_path)
    page = browser.new_page()  # type: ignore[attr-defined]
    page.goto(f"{report.as_uri()}#run={run.manifest['scenario_hash']}-sim-s7")
    until_alive(page, 1)
    assert "with seed 7" in page.inner_text("#living-controls select >> nth=0")
    page.evaluate(f"location.hash = '#run={run.id}'")
    until_alive(page, 2)
    shown = page.inner_text("#living-numbers tr:nth-child(2)").split()
    assert shown[-1] == f"{run.summary()['links'][0]['utilization']:.3g}"
    page.close()
