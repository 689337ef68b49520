"""The hand tuning of Katto and others (2008) beside a front: YeAH's step and Compound's decrease on their path.

    python benches/tune_hybrids.py [SETTINGS]

The paper tries steps of 1.01, 1.03 and 1.1 for YeAH, and decreases of 1/2 and 1/8 for Compound, at 100 Mbit/s, 40 ms
and a buffer of one BDP under random losses. Here 24 settings of each range have a front of goodput alone and harm
beside a flow, with 8 seeds of 30 s at four loss rates. The other flow is CUBIC, not the paper's Reno.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from elephan.design import tune
from elephan.design.tuning import Tuning

# Every third path is held out.
LOSSES = (1e-5, 1e-4, 3e-5, 1e-3, 1e-2, 3e-3)
BY_HAND = {
    ("yeah", "stcp_count", "5.0..200.0"): {"1.01": 100.0, "1.03": 1 / 0.03, "1.1": 10.0},
    ("compound", "beta", "0.05..0.7"): {"1/2": 0.5, "1/8": 0.125},
}
GOALS = ("goodput", "harm")


def tuned(of: tuple[str, str, str], settings: int, file: Path, fixed: dict[str, float]) -> Tuning:
    name, parameter, ends = of
    return tune(
        name, [f"{parameter}={ends}"], on_paths=file, front=GOALS, fixed=fixed, settings=settings, seeds=8,
        duration_s=30.0, budget_s=1e6,
    )  # fmt: skip


def main() -> None:
    settings = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "paths.toml"
        path = "[[path]]\nrate_mbps = 100\nrtt_ms = 40\nbuffer_bdp = 1\nloss = "
        file.write_text("\n".join(f"{path}{loss}" for loss in LOSSES), encoding="utf-8")
        for of, by_hand in BY_HAND.items():
            found = tuned(of, settings, file, {})
            for setting in found.front:
                terms = ", ".join(f"{goal} {setting.term(goal):+.3f}" for goal in GOALS)
                print(f"{of[0]} {of[1]} {setting.parameters.get(of[1], 'own value')}: {terms}", flush=True)
            for label, value in by_hand.items():
                own = tuned(of, 1, file, {of[1]: value}).settings[0]
                better = [
                    s for s in found.settings
                    if s.terms and not s.given_up and all(s.term(goal) > own.term(goal) + 1e-3 for goal in GOALS)
                ]  # fmt: skip
                terms = ", ".join(f"{goal} {own.term(goal):+.3f}" for goal in GOALS)
                print(f"by hand, {label} ({of[1]} {value:g}): {terms}; {len(better)} settings surpass it", flush=True)


if __name__ == "__main__":
    main()
