"""A page in Chromium without a window: what it has become, and what its console says."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_TRIES = 5


def unpacked(text: str) -> Any:
    """Data of a page, which are compressed there."""
    return json.loads(gzip.decompress(b64decode(text)))


def read(page: Path) -> str:
    """The text of a page with its data unpacked, as its script does it."""
    text = page.read_text(encoding="utf-8")
    data = r'(<script type="text/plain" id="(?!living-(?:worker|engine))[^"]*">)(.*?)</script>'
    return re.sub(data, lambda found: found[1] + json.dumps(unpacked(found[2]), ensure_ascii=False), text)


def browse(page: Path, *options: str, until: Callable[[str], bool] = lambda _: True) -> tuple[str, str]:
    """Chromium's dump of a page, and its console.

    Chromium's virtual time may pass before it has drawn a frame, on a busy host: until the page is as wanted, it is
    opened again, a few times.
    """
    assert BROWSER is not None
    drawn, said = "", ""
    for _ in range(_TRIES):
        done = subprocess.run(
            [
                BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000",
                "--enable-logging=stderr", "--window-size=1200,6000", *options, "--dump-dom", f"file://{page}",
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        drawn, said = done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
        if until(drawn):
            break
    return drawn, said
