"""Pages: whole, readable without a network, and drawn by a real browser."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from tests.report.browsing import BROWSER, browse, unpacked
from tests.runs import synthetic
from tests.runs.synthetic import WrittenBackend, constant

from elephan import backends, papers, report
from elephan.papers import overview, reporting
from elephan.papers.reproduction import select
from elephan.papers.results import PaperResult, Sensitivity
from elephan.report import figures, plots
from elephan.report.backends import backends_report
from elephan.runs import Store
from elephan.runs.prune import referenced
from elephan.scenario import ScenarioError

LIMIT_BYTES = 1_000_000


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperResult]:
    """The quick part of weigle2006 in a backend that answers at once."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "get", lambda name, memory=None: WrittenBackend())
        yield papers.reproduce("weigle2006", quick=True, store=Store(folder / "runs"), out=folder / "out", jobs=2)


def page(result: PaperResult) -> str:
    """The page, with the claims unpacked as its script does it."""
    assert result.report_path is not None
    text = result.report_path.read_text(encoding="utf-8")
    return re.sub(r'<script type="text/plain" id="claims-rows">(.*?)</script>', lambda found: unpacked(found[1]), text)


class Outline(HTMLParser):
    """Ids, links and loaded addresses of a page, and whether its elements are closed."""

    VOID = frozenset({"meta", "link", "br", "input", "img", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.inner: list[str] = []
        self.loaded: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if known.get("id"):
            self.ids.append(str(known["id"]))
        if tag == "a" and str(known.get("href", "")).startswith("#"):
            self.inner.append(str(known["href"])[1:])
        if known.get("src") or (tag == "link" and known.get("href")):
            self.loaded.append(str(known.get("src") or known.get("href")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    return found


def test_a_claim_stands_with_its_conditions(reproduced: PaperResult) -> None:
    """Those of a pair's claim without the flows, which its subject names."""
    claim = next(j.claim for j in reproduced.claims if j.claim.id == "weigle2006.region.bic_cubic")
    assert (claim.conditions or {})["buffer_pkts"] == 1555
    assert "<td>bic&gt;cubic<br><small>region, buffer_pkts 1555</small></td>" in page(reproduced)


def test_the_report_is_one_small_file_that_loads_nothing(reproduced: PaperResult) -> None:
    text = page(reproduced)
    found = outline(text)
    assert len(text.encode()) < LIMIT_BYTES
    assert found.open == []
    assert [address for address in found.loaded if not address.startswith("data:")] == []
    assert "@import" not in text.partition("</style>")[0]
    assert "url(" not in text.partition("</style>")[0]


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(reproduced: PaperResult) -> None:
    found = outline(page(reproduced))
    assert len(found.ids) == len(set(found.ids))
    assert {link for link in found.inner if not link.startswith("run=")} <= set(found.ids)


def test_the_report_has_all_that_was_asked_of_it(reproduced: PaperResult) -> None:
    text = page(reproduced)
    for judgment in reproduced.claims:
        assert judgment.claim.id.removeprefix("weigle2006.") in text
    for assumption in reproduced.paper.assumptions:
        assert str(escape(assumption.name)) in text
    for number in range(2, 9):
        assert f'data-figure="figure{number}"' in text
    assert "Only a part of the paper was run" in text


def test_each_run_is_in_the_page_beside_the_report(reproduced: PaperResult) -> None:
    assert reproduced.report_path is not None
    text = (reproduced.report_path.parent / reporting.RUNS_PAGE).read_text(encoding="utf-8")
    found = re.search(r'id="explorer-data">(.*?)</script>', text)
    assert found is not None
    shown = unpacked(found[1])["runs"]
    assert [run["hash"] for run in shown] == list(
        dict.fromkeys(run.manifest["scenario_hash"] for run in reproduced.runs)
    )
    for run in shown:
        assert f'href="#{run["hash"]}"' in text
        assert "[dumbbell]" in run["toml"]
        assert "receive_window" in run["toml"]
    linked = set(re.findall(rf'href="{reporting.RUNS_PAGE}#([^"]+)"', page(reproduced)))
    assert linked
    assert linked <= {run["hash"] for run in shown}


def test_figures_for_print_lie_beside_the_report(reproduced: PaperResult) -> None:
    assert reproduced.report_path is not None
    names = {path.name for path in reproduced.report_path.parent.iterdir()}
    assert {f"figure{number}.{kind}" for number in range(2, 9) for kind in ("pdf", "svg")} <= names


def test_the_document_has_the_documented_fields(reproduced: PaperResult) -> None:
    document = reproduced.to_json()
    assert {"paper", "claims", "totals", "runs", "segments_delivered", "wall_seconds", "report"} <= set(document)
    assert sum(document["totals"].values()) == len(document["claims"]) == len(reproduced.claims)
    assert document["runs"] == 129
    assert Path(document["report"]).is_file()


def test_what_is_saved_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = WrittenBackend()
    monkeypatch.setattr(backends, "get", lambda name, memory=None: backend)
    store = Store(tmp_path / "runs")
    finished = []
    for _ in range(2):
        papers.reproduce(
            "weigle2006", figure="8", quick=True, store=store, out=tmp_path / "out",
            progress=lambda done_s, total_s, runs, of: finished.append((runs, of)),
        )  # fmt: skip
    assert len(backend.computed) == 2
    assert finished[-1] == (2, 2)


def test_a_figure_may_be_named_in_several_ways() -> None:
    paper = papers.get("weigle2006")
    for name in ("3", "Fig 3", "f3", "weigle2006.F3"):
        assert list(select(paper, name)[0]) == ["weigle2006.F3"]
    with pytest.raises(ScenarioError, match="'F99' is not a figure of weigle2006"):
        select(paper, "F99")
    quick = papers.get("weigle2006", quick=True)
    assert {e.seeds for e in select(quick, "2")[0].values()} == {1}


def test_a_paper_that_is_not_there_gets_the_nearest() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'weigle2006'"):
        papers.reproduce("weigle2005")


def test_the_page_over_all_papers_links_their_reports(reproduced: PaperResult, tmp_path: Path) -> None:
    assert reproduced.report_path is not None
    folder = reproduced.report_path.parent.parent
    board = overview.write([reproduced], folder)
    text = board.report_path.read_text(encoding="utf-8")
    found = outline(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert 'href="out/report.html"' in text
    linked = set(re.findall(r'href="out/report.html#([^"]+)"', text))
    assert linked
    assert linked <= set(outline(page(reproduced)).ids)
    document = board.to_json()
    assert document["totals"] == reproduced.totals
    for name in ("question", "kind", "certainty", "robustness", "check"):
        counted = [sum(counts.values()) for counts in document["boards"][name].values()]
        assert sum(counted) == len(reproduced.claims)
    assert {finding["lesson"] for finding in document["findings"]} <= set(overview.LESSONS)


def test_the_report_of_a_run_shows_its_numbers_and_its_scenario(tmp_path: Path) -> None:
    scenario = synthetic.scenario(starts=["0 s", "20 s"])
    run = synthetic.run(scenario, {"cubic-1": constant(60.0), "bic-2": constant(20.0)})
    text = report.run_report(run, tmp_path).read_text()
    found = outline(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert scenario.hash in text
    assert "Congestion window" in text
    assert re.search(r"asymmetry</td><td class=\"num\">0\.5", text)


@pytest.fixture(scope="module")
def kinds(reproduced: PaperResult, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    board = overview.write([reproduced], folder)
    assert board.report_path is not None
    scenario = synthetic.scenario(starts=["0 s", "20 s"])
    run = synthetic.run(scenario, {"cubic-1": constant(60.0), "bic-2": constant(20.0)})
    goodputs = {"cubic-1": constant(20.0), "bic-2": constant(60.0)}
    other = synthetic.run(scenario.replace(title="<b>another</b>"), goodputs)
    compared: dict[str, Any] = {"lines": [], "refused": {}}
    assert reproduced.report_path is not None
    return {
        "paper": reproduced.report_path,
        "runs": reproduced.report_path.parent / reporting.RUNS_PAGE,
        "board": board.report_path,
        "run": report.run_report(run, folder / "run"),
        "backends": backends_report(compared, {"sim": run, "model": run}, folder / "backends"),
        "plot": plots.write_html(plots.plot([run, other]), [run, other], folder / "plot.html"),
    }


KINDS = ["paper", "runs", "board", "run", "backends", "plot"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_allows_no_request_and_no_script_but_its_own(kind: str, kinds: dict[str, Path]) -> None:
    text = kinds[kind].read_text(encoding="utf-8")
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert found is not None
    rules = dict(rule.strip().split(" ", 1) for rule in unescape(found[1]).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = {f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts}
    # A page that runs something has the engine besides, in a worker that it makes itself.
    alive = {"'wasm-unsafe-eval'", "blob:"} if 'id="living"' in text else set()
    assert set(rules["script-src"].split()) == hashes | alive
    assert rules.get("worker-src") == ("blob:" if alive else None)
    # The policy holds from where it stands: before everything else that could ask for something.
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert not re.search(r"\son\w+=", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("kind", "drawings"), [("paper", 1), ("runs", 1), ("board", 0), ("run", 1), ("backends", 1), ("plot", 1)]
)
def test_a_browser_draws_the_page_without_an_error(kind: str, drawings: int, kinds: dict[str, Path]) -> None:
    # Figures that are in sight: of a paper the first one, and in the page of its runs the chosen run.
    plotted = re.compile(r'data-drawn="[1-9]')
    drawn, said = browse(kinds[kind], until=lambda page: len(plotted.findall(page)) == drawings)
    assert said == ""
    assert len(plotted.findall(drawn)) == drawings
    if drawings:
        assert drawn.count('class="u-wrap"') >= drawings
    if kind == "paper":
        assert re.search(r'id="shown"[^>]*>\d+ of \d+ claims', drawn)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_asks_nobody_whatever_stands_in_a_page(kinds: dict[str, Path], tmp_path: Path) -> None:
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *what: object) -> None:
            pass

    text = kinds["run"].read_text(encoding="utf-8")
    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        foreign = (
            f'<img src="{address}/img"><script src="{address}/script"></script>'
            f'<script>fetch("{address}/fetch")</script>'
            f'<link rel="stylesheet" href="{address}/css"><iframe src="{address}/frame"></iframe>'
            f'<div style="background: url({address}/background); height: 9px">x</div>'
        )
        page = tmp_path / "foreign.html"
        page.write_text(text.replace("<main", foreign + "<main", 1), encoding="utf-8")
        drawn, said = browse(page)
        server.shutdown()
    assert asked == []
    assert said.count("Content Security Policy") >= 5
    # Its own figures are drawn all the same.
    assert 'data-drawn="' in drawn


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_figure_can_be_saved_under_the_policy(kinds: dict[str, Path], tmp_path: Path) -> None:
    text = kinds["run"].read_text(encoding="utf-8")
    script = (
        "addEventListener('load', () => setTimeout(async () => {"
        "const node = document.querySelector('[data-drawn]');"
        "const url = elephanFigures.picture(node).toDataURL();"
        "document.title = 'saved ' + url.slice(0, 14); }, 2000));"
    )
    own = f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    text = text.replace("script-src ", f"script-src {own} ", 1)
    page = tmp_path / "saving.html"
    page.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    drawn, said = browse(page)
    assert said == ""
    assert "<title>saved data:image/png" in drawn


def test_a_page_names_the_runs_of_other_readings(
    reproduced: PaperResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "save", lambda figure, folder: [])
    (variant, *_) = reproduced.paper.variants
    reading = Sensitivity(variant, ("0123456789abcdef",), 0, 0, 0, (), ())
    reporting.write(replace(reproduced, sensitivity=[reading]), tmp_path)
    assert referenced([tmp_path]) >= {"0123456789abcdef", *(run.manifest["scenario_hash"] for run in reproduced.runs)}
