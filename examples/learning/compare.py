"""Compares the algorithm ``policy`` with CUBIC and BBRv3 on the unseen paths, alone and beside a CUBIC flow.

    python examples/learning/compare.py [--network network.txt] [--json]

It needs no Gymnasium: the network runs in the simulator, as any algorithm does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import elephan
from elephan import Scenario
from elephan.design.environments import unseen_paths
from elephan.scenario.lookups import base_rtt_ps

ALGORITHMS = ("policy", "cubic", "bbr3")
DURATION = "30 s"


def flow(algorithm: str, name: str, network: str | None) -> dict[str, Any]:
    """A flow's table."""
    parameters = {"network": network} if algorithm == "policy" and network is not None else {}
    return {"name": name, "algorithm": algorithm, "parameters": parameters}


def measured(path: Scenario, algorithm: str, network: str | None) -> dict[str, float]:
    """Utilization, queueing delay over the base RTT, and the share beside CUBIC, of an algorithm on a path."""
    rtt_ms = base_rtt_ps(path.form, path.form.flows[0]) / 1e9
    found = {}
    for name, rivals in {"alone": (), "beside": ("cubic",)}.items():
        flows = [flow(algorithm, "own", network), *(flow(rival, "other", None) for rival in rivals)]
        run = path.replace({"flow": flows, "measure": {"from": "10 s"}})
        (row,) = elephan.batch(
            run, {"seed": [1]}, ["utilization", "mean_queue_delay_ms", "goodput_mbps"], progress=False
        ).to_dicts()
        own = row["goodput_mbps[own]"]
        if name == "alone":
            found = {"utilization": row["utilization"], "delay_rtts": row["mean_queue_delay_ms"] / rtt_ms}
        else:
            found["share"] = own / (own + row["goodput_mbps[other]"])
    return found


def main() -> None:
    """Prints a table, or a JSON document."""
    parser = argparse.ArgumentParser(description="Compares the learned policy with CUBIC and BBRv3 on unseen paths.")
    parser.add_argument("--network", help="file of another network than the trained one")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    given = parser.parse_args()
    network = None if given.network is None else Path(given.network).read_text(encoding="utf-8")
    rows = [
        {"path": path.title, **{name: measured(path, name, network) for name in ALGORITHMS}}
        for path in unseen_paths(duration=DURATION)
    ]
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print("utilization % / queueing delay in base RTTs / share % beside CUBIC")
    for row in rows:
        cells = [
            f"{100 * one['utilization']:3.0f} / {one['delay_rtts']:4.2f} / {100 * one['share']:2.0f}"
            for one in (row[name] for name in ALGORITHMS)
        ]
        print(f"{row['path']!s:46}", *(f"{name} {cell}  " for name, cell in zip(ALGORITHMS, cells, strict=True)))


if __name__ == "__main__":
    main()
