"""Writes board/facts.json: what the board's front page says beside the verdicts, from what was measured.

    python benches/board_facts.py [PAPERS.json]

``PAPERS.json`` is the output of ``elephan papers --json``; without it, the line about papers stays as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benches import linux_agreement

ROOT = Path(__file__).resolve().parents[1]
FACTS = ROOT / "board" / "facts.json"


def speed() -> dict[str, str]:
    """The engine's speed, and ns-2's in the same session."""
    found = json.loads((ROOT / "docs" / "bench.json").read_text(encoding="utf-8"))
    millions = found["engine"]["segments_per_second"] / 1e6
    text = f"{millions:.1f} million segments per second on one core ({found['workload']})"
    if found["ratio_to_ns2"] is not None:
        text += f"; {found['ratio_to_ns2']:.0f} times as fast as ns-2 in the same session"
    return {"title": "Speed", "text": text, "command": "elephan bench"}


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


def papers(found: dict[str, Any]) -> dict[str, str]:
    """The scoreboard of the papers."""
    totals = found["totals"]
    judged = totals["reproduced"] + totals["differs"]
    return {
        "title": "Five papers, 2006 to 2011",
        "text": f"{totals['reproduced']} of {judged} judged claims reproduced, {totals['differs']} differ, "
        f"{totals['weak']} could hardly fail and do not count",
        "command": "elephan papers",
    }


def main() -> None:
    """Write the facts."""
    before = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else []
    facts = [speed(), linux()]
    if len(sys.argv) > 1:
        facts.append(papers(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    else:
        facts += [one for one in before if one["command"] == "elephan papers"]
    FACTS.parent.mkdir(exist_ok=True)
    FACTS.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
