"""Steps of agents per second of processor time, on one core, with actions given as an array.

    python benches/environments.py [RUNS]

The first row is the engine's own interface with 64 runs (or RUNS) of 20 Mbit/s × 40 ms at one step an RTT; the window
fills the path. The others add what Gymnasium and PettingZoo need: one environment at a time, and dictionaries.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from elephan import Scenario
from elephan.design.environments import MEASURES, CongestionEnv, CongestionVectorEnv, Flows, SharedPathEnv

RUNS = 64
WINDOW = MEASURES.index("window_segments")
BDP = 20e6 * 0.04 / 12_000


def path(flows: int = 1) -> Scenario:
    rows = [{"algorithm": "fixed", "name": f"flow-{i + 1}"} for i in range(flows)]
    return Scenario.dumbbell(rows, rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="60 s")


def towards(window: np.ndarray) -> np.ndarray:
    return np.clip(np.log2(BDP / window), -1, 1)[..., None]


def engine(runs: int) -> int:
    flows = Flows([path()], count=runs)
    measures = np.stack([flows.reset(run, 0, run + 1)[1] for run in range(runs)])
    steps = 0
    while True:
        step = flows.step(towards(measures[..., WINDOW]))
        measures, steps = step.measures, steps + runs
        if step.over.any():
            return steps


def vector(runs: int) -> int:
    env = CongestionVectorEnv(runs, [path()])
    _, info = env.reset(seed=1)
    steps = 1000
    for _ in range(steps):
        *_, info = env.step(towards(info["window_segments"]))
    return steps * runs


def one() -> int:
    env, steps, over = CongestionEnv([path()]), 0, False
    _, info = env.reset(seed=1)
    while not over:
        _, _, _, over, info = env.step(towards(np.array(info["window_segments"])))
        steps += 1
    return steps


def shared() -> int:
    env, steps = SharedPathEnv([path(2)]), 0
    _, infos = env.reset(seed=1)
    while env.agents:
        *_, infos = env.step({name: towards(np.array(infos[name]["window_segments"]) * 2) for name in env.agents})
        steps += len(infos)
    return steps


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    cases = {
        f"{runs} runs": lambda: engine(runs),
        f"CongestionVectorEnv, {runs} runs": lambda: vector(runs),
        "CongestionEnv": one,
        "SharedPathEnv, 2 agents": shared,
    }
    for name, work in cases.items():
        work()
        began = time.process_time()
        steps = work()
        print(f"{name}: {steps / (time.process_time() - began):,.0f} steps/s")


if __name__ == "__main__":
    main()
