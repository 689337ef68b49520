"""Agreement of the quick score with the full one: Kendall's τ over the built-in algorithms and mutants of them.

    python benches/score_order.py [MUTANTS]

A mutant has one parameter of a built-in algorithm, drawn with a fixed seed, multiplied or divided by up to 4. One whose
full score is that of its parent has another value of a parameter that plays no part, so it is no other candidate and is
replaced by the next. The last lines are τ and the processor time of a candidate in each stage.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator

from scipy.stats import kendalltau

from elephan.design import score
from elephan.scenario import ScenarioError, catalog

MUTANTS = 50
FACTOR = 4.0


def algorithms() -> list[str]:
    """Algorithms that need no router of their own, and whose rule is not a parameter."""
    entries = catalog.algorithms().items()
    return [name for name, entry in entries if entry["router"] is None and name not in catalog.OF_THE_USER]


def mutants(seed: int = 1) -> Iterator[tuple[str, dict[str, float]]]:
    """Algorithms with one parameter that is changed, without end."""
    draw = random.Random(seed)
    while True:
        name = draw.choice(algorithms())
        numbers = [p for p in catalog.algorithms()[name]["parameters"] if p["type"] == "number" and p["default"]]
        factor = FACTOR ** draw.uniform(-1, 1)
        if not numbers:
            continue
        parameter = draw.choice(numbers)
        value = min(max(parameter["default"] * factor, parameter["min"]), parameter["max"])
        changed = {parameter["name"]: float(f"{value:.3g}")}
        try:
            catalog.check_parameters(name, changed)
        except ScenarioError:
            continue
        yield name, changed


def processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MUTANTS
    scores: dict[str, dict[str, list[float]]] = {"quick": {}, "full": {}}
    spent = dict.fromkeys(scores, 0.0)
    score("cubic", stage="full")  # the baseline's runs are shared by all candidates
    score("cubic")

    def judge(label: str, name: str, parameters: dict[str, float]) -> None:
        for stage, found in scores.items():
            begun = processor_s()
            judged = score(name, stage=stage, parameters=parameters)
            found[label] = [judged.combined_score, judged.parts.get("training", 0.0)]
            spent[stage] += processor_s() - begun

    for name in algorithms():
        judge(name, name, {})
    seen = len(scores["full"]) + wanted
    for name, parameters in mutants():
        if len(scores["full"]) == seen:
            break
        label = f"{name} {', '.join(f'{key}={value:g}' for key, value in parameters.items())}"
        if label not in scores["full"]:
            judge(label, name, parameters)
            if scores["full"][label] == scores["full"][name]:
                for found in scores.values():
                    del found[label]
    for label, (value, *_) in sorted(scores["full"].items(), key=lambda row: -row[1][0]):
        print(f"{label:<50} quick {scores['quick'][label][0]:+8.3f}  full {value:+8.3f}")
    order = [[found[label][0] for label in scores["full"]] for found in scores.values()]
    print(f"{len(order[0])} candidates, tau {kendalltau(*order).statistic:.3f}")
    for stage, seconds in spent.items():
        print(f"{stage}: {seconds / len(order[0]):.2f} s of processor time for a candidate, on average")


if __name__ == "__main__":
    main()
