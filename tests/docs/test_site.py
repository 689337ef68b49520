"""The documentation as a site: built without warnings, no dead link, and the playground runs in the front page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests import scripts

import elephan

ROOT = Path(__file__).resolve().parents[2]
API = scripts.load("docs/api.py")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="needs the dependency group docs: make docs")
    pytest.importorskip("furo", reason="needs the dependency group docs: make docs")
    pytest.importorskip("sphinx_copybutton", reason="needs the dependency group docs: make docs")
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--quiet",
        "-b",
        "html",
        str(ROOT / "docs"),
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


class Page(HTMLParser):
    """Addresses that a page refers to, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.addresses.append(value)
            elif name == "id" and value:
                self.places.add(value)


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "elephan.html"}
    assert len(pages) > 60
    dead = []
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (target in pages and unquote(parts.fragment) not in pages[target].places):
                dead.append((path.name, address))
    assert dead == []


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    for package in API.PACKAGES:
        page = Page((site / API.FOLDER / f"{API.slug(package)}.html").read_text("utf-8"))
        last = {place.rpartition(".")[2] for place in page.places if place.startswith("elephan.")}
        assert set(API.names(package)) <= last, package
    assert API.names("elephan") == sorted(
        name for name in elephan.__all__ if name not in elephan._PACKAGES and name != "__version__"
    )


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian's package chromium)")
@pytest.mark.parametrize("address", ["index.html", "algorithms/hcc.html"])
def test_the_playground_runs_in_a_frame(site: Path, address: str) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if "The playground is not in this build" in (site / "elephan.html").read_text("utf-8"):
        pytest.skip("the engine for the browser is not built: make web")
    with api.sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        said: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / address).as_uri())
        page.locator("iframe.playground").scroll_into_view_if_needed()
        for _ in range(600):
            if len(page.frames) > 1 and page.frames[1].evaluate("window.elephan?.timings.runs > 0"):
                break
            page.wait_for_timeout(100)
        assert page.frames[1].evaluate("elephan.numbers().utilization") > 0.9
        browser.close()
    assert said == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests), requests
