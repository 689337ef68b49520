"""Records the tour: real commands in a terminal, as an asciicast (version 2) and as a picture that moves.

    python docs/tour.py [FOLDER]

``make docs`` runs this. If only times differ from the files that are there, it leaves them as they are. Waits for an
output are those of the commands, but cut to two seconds; the pauses after a command are for reading.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import pyte

ROOT = Path(__file__).parent
COLUMNS, ROWS = 112, 30
LONGEST_S = 2.0
"""Longest wait for an output in the recording, s."""
STEP_S = 0.3
"""Time between two states of the picture, s."""
STILL = 1
"""The scene that a picture without motion has."""
PLAIN = "#d8dee4"
FONTS = 'ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace'
COLORS = {"red": "#ff9c8f", "green": "#6fd08c", "brown": "#e3cf6b", "blue": "#7cb8ff", "cyan": "#8ad6d6"}
TYPED_S = 0.035
"""Time between two typed letters."""
PROMPT = "\x1b[32m$\x1b[0m "
_TIMES = re.compile(r"(made in |runs, )[\d.]+ m?s\b")

LATE = """duration = "120 s"

[dumbbell]
rate = "100 Mbit/s"
rtt = "100 ms"
buffer = "20% BDP"

[[flow]]
name = "first"
algorithm = "cubic"

[[flow]]
name = "late"
algorithm = "htcp"
start = "20 s"
"""
SLOW = """duration = "20 s"

[dumbbell]
rate = "100 Mbit/s"
rtt = "60 ms"
buffer = "40 packets"

[[flow]]
algorithm = "cubic"
"""


@dataclass(frozen=True)
class Scene:
    """A screen of the tour.

    Attributes:
        says: a comment, which is typed first.
        commands: commands, of which each may fail if that is what it shows.
        reading_s: time to read the last output.
    """

    says: str
    commands: tuple[str, ...]
    reading_s: float


SCENES = (
    Scene("A scenario says what happens: a path, and two flows that share it.", ("cat late.toml",), 11),
    Scene("Run it: the engine simulates each packet of both flows.", ("elephan run late.toml",), 18),
    Scene(
        "Which algorithm leaves most to the first flow? A typing error costs one line.",
        (
            "elephan sweep late.toml --grid flow[1].algorithm=reno,cubik,htcp",
            "elephan sweep late.toml --grid flow[1].algorithm=reno,cubic,htcp,bbr3",
        ),
        16,
    ),
    Scene(
        "Does a smaller beta meet RFC 9743 on wireless paths, and is it worse than before?",
        ("elephan evaluate cubic --quick --only wireless-use --parameter beta=0.6 --against cubic",),
        22,
    ),
    Scene(
        "Why is a transfer slow? From its packets, explain says what limited it.",
        (
            "elephan run slow.toml --json > slow.json",
            "elephan show last --pcapng slow.pcapng",
            "elephan explain slow.pcapng --limits",
        ),
        20,
    ),
    Scene(
        "Do you believe the board? Make its runs again here, and compare each byte.",
        ("elephan reproduce rmcat-tcp/reno/long-delay",),
        14,
    ),
)
END = "Go on with 'elephan demo', or 'elephan play' for the laboratory in a page."


class Recording:
    """Output with its times, and the times at which the scenes are complete."""

    def __init__(self) -> None:
        self.events: list[tuple[float, str]] = []
        self.now = 0.0
        self.ends: list[float] = []

    def put(self, text: str, after_s: float = 0.0) -> None:
        """Adds output after a wait."""
        self.now += after_s
        self.events.append((self.now, text))

    def type(self, text: str) -> None:
        """Adds a line that is typed behind the prompt."""
        for letter in text:
            self.put(letter, TYPED_S)
        self.put("\r\n", 0.4)


def ran(command: str, folder: Path) -> Iterator[tuple[float, str]]:
    """Runs a command in a terminal; yields its output with the time since the last."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    beside = Path(sys.executable).parent
    known = {name: value for name, value in os.environ.items() if not name.startswith(("ELEPHAN_", "COLUMNS", "LINES"))}
    environment = known | {"TERM": "xterm-256color", "PATH": f"{beside}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=other, stderr=other,
        start_new_session=True,
    )  # fmt: skip
    os.close(other)
    decoder, before = codecs.getincrementaldecoder("utf-8")("replace"), time.monotonic()
    while True:
        try:
            found = os.read(main, 65536)
        except OSError:  # Linux's answer when the last writer has closed its end
            break
        if not found:
            break
        now = time.monotonic()
        yield now - before, decoder.decode(found)
        before = now
    os.close(main)
    if process.wait() == 127:
        raise SystemExit(f"'{command}' was not found")


def record(scenes: Sequence[Scene] = SCENES) -> Recording:
    """Records the scenes, in a folder of their own with an empty store."""
    made = Recording()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "late.toml").write_text(LATE, encoding="utf-8")
        (folder / "slow.toml").write_text(SLOW, encoding="utf-8")
        (folder / "board").symlink_to(ROOT.parent / "board")
        for scene in scenes:
            made.put("\x1b[H\x1b[2J" + PROMPT)
            made.type(f"# {scene.says}")
            for command in scene.commands:
                made.put(PROMPT)
                made.type(command)
                for after_s, text in ran(command, folder):
                    made.put(text.replace(name, "~"), min(after_s, LONGEST_S))
            made.put(PROMPT, 0.2)
            made.now += scene.reading_s
            made.ends.append(made.now - 1.0)
        made.type(f"# {END}")
        made.now += 3.0
    return made


def cast(made: Recording) -> str:
    """The recording as an asciicast, version 2: a header and one line for each output."""
    header = {
        "version": 2, "width": COLUMNS, "height": ROWS, "title": "Elephan: a tour (waits are cut to two seconds)",
        "env": {"TERM": "xterm-256color", "SHELL": "/bin/bash"},
    }  # fmt: skip
    rows = [header, *([round(at, 3), "o", text] for at, text in made.events)]
    # A player stays on the last output until the end of the recording.
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in [*rows, [round(made.now, 3), "o", ""]])


Cells = tuple[tuple[str, str, bool], ...]
"""A line of the screen: texts, each with its color and its weight."""


def lines(made: Recording) -> list[tuple[int, float, float, Cells]]:
    """Lines of the screen, each with its row, from when until when, and its text."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    shown: dict[int, tuple[float, Cells]] = {}
    found = []
    steps = [*made.events, (made.now, "")]
    for (at, text), (after, _) in zip(steps, [*steps[1:], (made.now + 1, "")], strict=True):
        stream.feed(text)
        if int(at / STEP_S) == int(after / STEP_S):
            continue
        for row in range(ROWS):
            cells, (since, before) = _cells(screen.buffer[row]), shown.get(row, (0.0, ()))
            if cells != before:
                if before:
                    found.append((row, since, at, before))
                shown[row] = (at, cells)
    return found + [(row, since, made.now, cells) for row, (since, cells) in shown.items() if cells]


def _cells(row: Mapping[int, pyte.screens.Char]) -> Cells:
    letters = [row[column] for column in range(COLUMNS)]
    while letters and letters[-1].data == " ":
        letters.pop()
    grouped = groupby(letters, key=lambda letter: (letter.fg, letter.bold))
    return tuple(("".join(letter.data for letter in part), fg, bold) for (fg, bold), part in grouped)


def picture(made: Recording) -> str:
    """The recording as a picture that moves without a script; where nothing moves, it is one screen."""
    wide, high = round(COLUMNS * 7.23 + 24), ROWS * 17 + 24
    end, every = f"{made.now:.1f}", lines(made)
    still = [one for one in every if one[1] < made.ends[STILL] <= one[2]]
    moving = "\n".join(
        f'<g visibility="hidden"><set attributeName="visibility" to="visible" begin="m.begin+{since:.2f}s" '
        f'dur="{max(until - since, 0.01):.2f}s"/>{_text(row, cells)}</g>'
        for row, since, until, cells in every
    )
    style = f"text{{font:12px {FONTS};fill:{PLAIN};white-space:pre}}.b{{font-weight:700}}"
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">
<title>A tour of Elephan in a terminal</title>
<desc>{escape(" ".join(scene.says for scene in SCENES))}</desc>
<style>{style}</style>
<rect width="{wide}" height="{high}" rx="8" fill="#14181d"/>
<rect width="0" height="0"><animate id="m" attributeName="x" from="0" to="0" begin="0s;m.end" dur="{end}s"/></rect>
<g><set attributeName="display" to="none" begin="0s"/>{"".join(_text(row, cells) for row, _, _, cells in still)}</g>
{moving}
</svg>
"""


def _text(row: int, cells: Cells) -> str:
    """A line as text; its length is given, since fonts differ in the width of their letters."""
    count = sum(len(text) for text, _, _ in cells)
    spans = "".join(_span(*part) for part in cells)
    return f'<text x="12" y="{row * 17 + 26}" xml:space="preserve" textLength="{count * 7.23:.1f}">{spans}</text>'


def _span(text: str, fg: str, bold: bool) -> str:
    style = (f' fill="{COLORS.get(fg, PLAIN)}"' if fg != "default" else "") + (' class="b"' if bold else "")
    return f"<tspan{style}>{escape(text, quote=False)}</tspan>" if style else escape(text, quote=False)


def said(text: str) -> str:
    """Text that a recording leaves on an endless screen, without its times, for a comparison.

    A busy host draws lines of progress, which a later output removes.
    """
    outputs = "".join(json.loads(line)[2] for line in text.splitlines()[1:])
    screen = pyte.Screen(1000, outputs.count("\n") + 2)
    pyte.Stream(screen).feed(outputs.replace("\x1b[H\x1b[2J", ""))
    return _TIMES.sub(r"\1- s", "\n".join(line.rstrip() for line in screen.display).rstrip())


def main() -> None:
    """Writes the recording and the picture, unless those that are there say the same."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    file, made = folder / "tour.cast", record()
    text = cast(made)
    if file.exists() and said(file.read_text(encoding="utf-8")) == said(text) and (folder / "tour.svg").exists():
        return
    file.write_text(text, encoding="utf-8")
    (folder / "tour.svg").write_text(picture(made), encoding="utf-8")
    print(f"{file}: {made.now:.0f} s")


if __name__ == "__main__":
    main()
