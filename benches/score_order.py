"""Agreement of the quick score with the full one: Kendall's τ over the built-in algorithms and mutants of them.

    python benches/score_order.py [MUTANTS [FILE]]

A mutant has one parameter of a built-in algorithm, drawn with a fixed seed, multiplied or divided by up to 4. One whose
full score is that of its parent has another value of a parameter that plays no part, so it is no other candidate and is
replaced by the next. The last lines are τ with its standard error, which halves of the candidates give, and the
processor time of a candidate in each stage. The scores are kept in the file, if one is named, from which an interrupted
measurement continues.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import stdev

from scipy.stats import kendalltau

from elephan.design import score
from elephan.scenario import ScenarioError, catalog

MUTANTS = 50
FACTOR = 4.0
HALVES = 400

Scores = dict[str, dict[str, list[float]]]
"""By stage and candidate: the score, that on the training paths alone, and the processor time, s."""


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


def order(one: Sequence[float], other: Sequence[float]) -> str:
    """τ of two scores, with its standard error over the choice of candidates: that of halves of them (delete-half)."""
    draw = random.Random(1)
    halves = [draw.sample(range(len(one)), len(one) // 2) for _ in range(HALVES)]
    taus = [kendalltau([one[i] for i in half], [other[i] for i in half]).statistic for half in halves]
    return f"{kendalltau(one, other).statistic:.3f} +- {stdev(taus):.3f}"


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else MUTANTS
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    known: Scores = json.loads(file.read_text()) if file is not None and file.exists() else {"quick": {}, "full": {}}
    score("cubic", stage="full")  # the baseline's runs are shared by all candidates
    score("cubic")

    def judge(label: str, name: str, parameters: dict[str, float]) -> None:
        if label in known["full"]:
            return
        for stage, found in known.items():
            begun = processor_s()
            judged = score(name, stage=stage, parameters=parameters)
            found[label] = [judged.combined_score, judged.parts.get("training", 0.0), processor_s() - begun]
        if file is not None:
            file.write_text(json.dumps(known))

    kept = algorithms()
    for name in kept:
        judge(name, name, {})
    wanted += len(kept)
    for name, parameters in mutants():
        if len(kept) == wanted:
            break
        label = f"{name} {', '.join(f'{key}={value:g}' for key, value in parameters.items())}"
        if label not in kept:
            judge(label, name, parameters)
            if known["full"][label][0] != known["full"][name][0]:
                kept.append(label)
    quick, full = ({label: found[label] for label in kept} for found in known.values())
    for label, (value, *_) in sorted(full.items(), key=lambda row: -row[1][0]):
        print(f"{label:<50} quick {quick[label][0]:+8.3f}  full {value:+8.3f}")
    ours, theirs, training = ([row[i] for row in of.values()] for of, i in ((quick, 0), (full, 0), (full, 1)))
    print(f"{len(kept)} candidates, tau {order(ours, theirs)}; of the training paths alone {order(training, theirs)}")
    for stage, found in (("quick", quick), ("full", full)):
        seconds = sum(row[2] for row in found.values())
        print(f"{stage}: {seconds / len(kept):.2f} s of processor time for a candidate, on average")


if __name__ == "__main__":
    main()
