"""Writes board/facts.json: what the board's front page says beside the verdicts, from what was measured and is stored.

python benches/board_facts.py
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import linux_agreement

ROOT = Path(__file__).resolve().parents[1]
FACTS = ROOT / "board" / "facts.json"
NS2 = ROOT / "docs" / "reference" / "ns2.md"
PAPERS = ROOT / "docs" / "papers-on-linux.md"
AGREES = ("same", "not settled", "differs")
"""Verdicts of a line of the comparison with ns-2."""


def facts() -> dict[str, Any]:
    """Results as rows of title, text and command; the papers; and what is known of each algorithm."""
    return {"facts": [speed(), transfers(), linux(), ns2()], "papers": papers(), "algorithms": algorithms()}


def bench() -> dict[str, Any]:
    """The stored measurement of the engine's speed."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / "bench.json").read_text(encoding="utf-8"))
    return found


def speed() -> dict[str, str]:
    """The engine's speed, and ns-2's in the same session."""
    found = bench()
    millions = found["engine"]["segments_per_second"] / 1e6
    text = f"{millions:.1f} million segments per second on one core ({found['workload']})"
    if found["ratio_to_ns2"] is not None:
        text += f"; {found['ratio_to_ns2']:.0f} times as fast as ns-2 in the same session"
    return {"title": "Speed", "text": text, "command": "elephan bench"}


def transfers() -> dict[str, str]:
    """The engine's speed with many short transfers, and with many flows."""
    found = bench()
    most = max(found["crowds"], key=lambda one: one["flows"])
    text = (
        f"{found['transfers']['segments_per_second'] / 1e6:.1f} million segments per second in "
        f"{found['transfers']['transfers']:,} transfers, {most['segments_per_second'] / 1e6:.1f} million with "
        f"{most['flows']:,} flows at {most['rate']}"
    )
    return {"title": "Speed with transfers and crowds", "text": text, "command": "elephan bench"}


def linux() -> dict[str, str]:
    """Runs that agree with Linux in virtual time."""
    rows = list(linux_agreement.measured_rows().values())
    single, within = sum(len(row.seeds) for row in rows), sum(row.within for row in rows)
    releases = ", ".join(sorted({row.release for row in rows}))
    bounds = (
        f"{100 * linux_agreement.BOUND:.0f} % of goodput and window, "
        f"{100 * linux_agreement.BOUND_LOSSES:.0f} % of retransmissions"
    )
    return {
        "title": f"Linux {releases} in virtual time",
        "text": f"{within:,} of {single:,} single runs within all bounds ({bounds})",
        "command": "python benches/linux_agreement.py",
    }


def ns2() -> dict[str, str]:
    """Lines of the comparison with ns-2, by verdict."""
    counts = Counter(verdict for _, verdict in ns2_lines())
    same, between, other = (counts[name] for name in AGREES)
    text = f"{sum(counts.values())} lines: {same} are the same, chance leaves {between} open, {other} differ"
    return {"title": "ns-2.35, TCP/Linux", "text": text, "command": "python benches/ns2/compare.py"}


def ns2_lines() -> Iterator[tuple[str, str]]:
    """The preset and the verdict of each line of the comparison with ns-2."""
    heading: list[str] = []
    for line in NS2.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`*") for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if "verdict" in cells:
            heading = cells
        elif heading and len(cells) == len(heading) and not cells[0].startswith("---"):
            row = dict(zip(heading, cells, strict=True))
            if row["verdict"].strip("* ") in AGREES:
                yield row["preset"].strip("` "), row["verdict"].strip("* ")
        elif not cells:
            heading = []


def papers() -> list[dict[str, Any]]:
    """The scoreboard: claims of each paper that hold in the simulator and on Linux, in their quick forms."""
    found = re.findall(
        r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| \d+ \| \d+ \| \d+ \|$",
        PAPERS.read_text(encoding="utf-8"), re.MULTILINE,
    )  # fmt: skip
    rows = []
    for name, *numbers in found:
        claims, hold, differ, *there = map(int, numbers)
        on_linux = there if sum(there) else [None, None]
        rows.append({"id": name, "claims": claims, "hold": hold, "differ": differ, "on_linux": on_linux})
    return rows


def algorithms() -> list[dict[str, Any]]:
    """For each algorithm: single runs within all bounds of Linux, lines of the comparison with ns-2, and its time for a
    segment."""
    runs, within, lines = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    for row in linux_agreement.measured_rows().values():
        name = row.algorithm.partition(":")[0]
        runs[name] += len(row.seeds)
        within[name] += row.within
    for preset, verdict in ns2_lines():
        lines.setdefault(preset.partition(":")[0], Counter())[verdict] += 1
    times = bench()["algorithms"]
    return [
        {
            "name": name, "linux": [within[name], runs[name]] if runs[name] else None,
            "ns2": [lines[name][verdict] for verdict in AGREES] if name in lines else None,
            "ns_per_segment": round(times[name], 1) if name in times else None,
        }
        for name in sorted({*runs, *lines, *times})
    ]  # fmt: skip


def main() -> None:
    """Write the facts."""
    FACTS.parent.mkdir(exist_ok=True)
    FACTS.write_text(json.dumps(facts(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
