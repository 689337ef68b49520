"""Evolves formulas for growth and decrease from Reno, and judges the best of them on held-out paths.

    python examples/evolution/evolve.py [--candidates 3000] [--minutes 60] [--seed 1] [--out lineage.json]

It needs no language model, and about a third of a second of processor time for each candidate. The best of many has
luck with the one seed that it was judged with, so the fittest are judged again with four seeds, and the best of these
is taken. The result is a JSON document with all individuals, the finalists, the ancestry of the best one, its full
score and Reno's, which include the held-out paths, and the time that it took.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from elephan.design import score
from elephan.design.evolution import Individual, Lineage, evolve


def told(individual: Individual) -> None:
    """Prints each individual, so that one can watch."""
    growth, kept = individual.parameters.values()
    print(f"{individual.number:5d} {individual.score:+.4f}  growth {growth}  kept {kept}", flush=True)


def judged_again(lineage: Lineage, count: int) -> list[Individual]:
    """The fittest individuals with their quick scores of four seeds, the best first.

    Equal scores mostly are the same rule in other words, so only the shortest of them takes part.
    """
    distinct = {each.score: each for each in reversed(lineage.fittest(len(lineage.individuals)))}
    again = [
        replace(each, score=score("expression", parameters=each.parameters).combined_score)
        for each in sorted(distinct.values(), key=lambda each: -each.fitness)[:count]
    ]
    return sorted(again, key=lambda each: -each.fitness)


def main() -> None:
    """Evolves, judges the best, and writes the lineage."""
    parser = argparse.ArgumentParser(description="Evolves formulas for growth and decrease from Reno.")
    parser.add_argument("--candidates", type=int, default=3000, help="largest number of individuals to judge")
    parser.add_argument("--minutes", type=float, default=60, help="time after which no more are judged")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random changes")
    parser.add_argument("--finalists", type=int, default=12, help="number of the fittest that are judged again")
    parser.add_argument("--out", default="lineage.json", help="file of the lineage")
    given = parser.parse_args()
    began, used = time.monotonic(), time.process_time()
    until = began + 60 * given.minutes
    lineage = evolve(given.candidates, seed=given.seed, told=told, enough=lambda: time.monotonic() > until)
    seconds = {"wall_s": round(time.monotonic() - began), "processor_s": round(time.process_time() - used)}
    finalists = judged_again(lineage, max(1, given.finalists))
    best, reno = finalists[0], lineage.individuals[0]
    full, of_reno = (score("expression", parameters=each.parameters, stage="full") for each in (best, reno))
    document = {
        **lineage.to_json(),
        "best": best.number,
        "seed": given.seed,
        "finalists": [{"number": each.number, "score": each.score} for each in finalists],
        "ancestry": [each.number for each in lineage.ancestry(best)],
        "full": {"combined_score": full.combined_score, "parts": full.parts},
        "reno": {"combined_score": of_reno.combined_score, "parts": of_reno.parts},
        **seconds,
    }
    Path(given.out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"best: {best.parameters}, with four seeds {best.score:+.4f}, ", end="")
    print(f"full {full.combined_score:+.4f} where Reno has {of_reno.combined_score:+.4f}, {seconds}")


if __name__ == "__main__":
    main()
