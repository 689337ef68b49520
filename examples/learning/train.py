"""Trains the network of the algorithm ``policy`` by CMA-ES, and writes it as a file.

    python examples/learning/train.py [--rounds 60] [--population 12] [--seed 1] [--out network.txt]

The policy is one layer: the tanh of a weighted sum of the ten features. All candidates of a round run on all training
paths at once, each in its own run of the engine. The fitness of a candidate is the mean over the paths of the
logarithm of its power (throughput / capacity · base RTT / RTT), so that a path on which it fails is not made up for
by others.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

from elephan.design.environments import FEATURES, MEASURES, Flows, train_paths

DURATION = "10 s"
BEGIN = {"delay": -1.0, "bias": 0.1}
"""First weights: more for a short queue and less for a long one, in balance at a tenth of the RTT."""
DEVIATION = 0.2
Numbers = NDArray[np.float64]


def fitness(candidates: Numbers, flows: Flows, seed: int) -> Numbers:
    """The fitness of each candidate, whose weights and bias are a row."""
    paths = len(flows.paths)
    weights = np.repeat(candidates, paths, axis=0)
    observed = np.stack([flows.reset(run, run % paths, seed)[0][0] for run in range(flows.count)])
    earned, lasted = np.zeros(flows.count), np.full(flows.count, 1e-9)
    while True:
        actions = np.tanh((observed * weights[:, :-1]).sum(axis=1) + weights[:, -1])
        step = flows.step(actions[:, None, None])
        duration = step.measures[:, 0, MEASURES.index("duration_s")]
        earned += step.rewards[:, 0] * duration
        lasted += duration
        observed = step.features[:, 0]
        if step.over.all():
            power = np.maximum(earned / lasted, 1e-3).reshape(-1, paths)
            return np.asarray(np.log(power).mean(axis=1))


def written(row: Numbers) -> str:
    """The text of a network of one layer."""
    return f"network 1\n1\n{len(FEATURES)} 1\n" + "\n".join(f"{weight:.6g}" for weight in row) + "\n"


def main() -> None:
    """Trains, prints each round, and writes the network."""
    parser = argparse.ArgumentParser(description="Trains the network of the algorithm policy.")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of CMA-ES")
    parser.add_argument("--population", type=int, default=12, help="candidates of a round")
    parser.add_argument("--seed", type=int, default=1, help="seed of the candidates and of the runs")
    parser.add_argument("--out", default="network.txt", help="file of the network")
    given = parser.parse_args()
    paths = train_paths(duration=DURATION)
    flows = Flows(paths, count=given.population * len(paths))
    begin = np.array([BEGIN.get(name, 0.0) for name in (*FEATURES, "bias")])
    search = CMA(begin, DEVIATION, population_size=given.population, seed=given.seed)
    began = time.process_time()
    for round_ in range(given.rounds):
        candidates = np.stack([search.ask() for _ in range(given.population)])
        found = fitness(candidates, flows, given.seed + round_)
        search.tell(list(zip(candidates, -found, strict=True)))
        power, seconds = np.exp(found), time.process_time() - began
        print(f"round {round_}: power {power.mean():.3f}, best {power.max():.3f}, {seconds:.0f} s", flush=True)
        Path(given.out).write_text(written(search.mean), encoding="utf-8")


if __name__ == "__main__":
    main()
