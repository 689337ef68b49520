"""Evolves formulas for growth and decrease from Reno, and judges the best of them on held-out paths.

    python examples/evolution/evolve.py [--candidates 3000] [--minutes 60] [--seed 1] [--out lineage.json]

It needs no language model, and about half a second of processor time for each candidate. The result is a JSON
document with all individuals, the ancestry of the best one, its full score, which includes the held-out paths, and
the time that it took.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from elephan.design import score
from elephan.design.evolution import Individual, evolve


def told(individual: Individual) -> None:
    """Prints each individual, so that one can watch."""
    growth, kept = individual.parameters.values()
    print(f"{individual.number:5d} {individual.score:+.4f}  growth {growth}  kept {kept}", flush=True)


def main() -> None:
    """Evolves, judges the best, and writes the lineage."""
    parser = argparse.ArgumentParser(description="Evolves formulas for growth and decrease from Reno.")
    parser.add_argument("--candidates", type=int, default=3000, help="largest number of individuals to judge")
    parser.add_argument("--minutes", type=float, default=60, help="time after which no more are judged")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random changes")
    parser.add_argument("--out", default="lineage.json", help="file of the lineage")
    given = parser.parse_args()
    began, used = time.monotonic(), time.process_time()
    until = began + 60 * given.minutes
    lineage = evolve(given.candidates, seed=given.seed, told=told, enough=lambda: time.monotonic() > until)
    seconds = {"wall_s": round(time.monotonic() - began), "processor_s": round(time.process_time() - used)}
    best = lineage.best
    full = score("expression", parameters=best.parameters, stage="full")
    document = {
        **lineage.to_json(),
        "seed": given.seed,
        "ancestry": [each.number for each in lineage.ancestry(best)],
        "full": {"combined_score": full.combined_score, "parts": full.parts},
        **seconds,
    }
    Path(given.out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"best: {best.parameters}, quick {best.score:+.4f}, full {full.combined_score:+.4f}, {seconds}")


if __name__ == "__main__":
    main()
