"""A process that runs trials of a class, or judges criteria of any candidate: ``python -m elephan.design.worker``.

It reads one request from stdin, restricts itself, loads the candidate, and answers with one JSON document for each
group of trials, and one for all criteria, on the descriptor that was its stdout. What the candidate prints goes to
stderr.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from importlib import import_module
from typing import Any

# All that a run imports, since a restricted process may not find it any more; and one thread only until then.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


from elephan.algorithm import AlgorithmError
from elephan.design import sandbox, trials
from elephan.design.places import Place
from elephan.design.trials import Trial, TrialError
from elephan.metrics import sweeps as sweeps
from elephan.scenario import ScenarioError, own

_CRITERIA = "elephan.design.criteria"
"""Imported if it is needed, since what judges takes a tenth of a second."""


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for module in [*request["modules"], *([_CRITERIA] if request["criteria"] else [])]:
        import_module(module)

    def answer(document: dict[str, Any]) -> None:
        answers.write(json.dumps(document) + "\n")
        answers.flush()

    limits = sandbox.restrict(
        [*sandbox.installed(), request["folder"]], request["memory_bytes"], request["processor_s"]
    )
    answer({"limits": limits})
    try:
        spec, peer = own.pin(request["spec"]), own.pin(request["peer"])
        own.make(spec, request["parameters"])
    except ScenarioError as error:
        answer({"failure": error.message})
        return
    answer({"loaded": True})
    for group in request["groups"]:
        wanted = [Trial(**{**trial, "place": Place(**trial["place"])}) for trial in group]
        try:
            found = trials.measure(spec, request["parameters"], wanted, peer=peer, jobs=1)
        except (TrialError, ScenarioError) as error:
            answer({"failure": str(error)})
            return
        answer({"measured": [asdict(found[trial]) for trial in wanted]})
    if request["criteria"]:
        from elephan.design import criteria

        try:
            judged = criteria.judge_here(spec, request["parameters"], request["criteria"])
        except (AlgorithmError, ScenarioError) as error:
            answer({"failure": str(error)})
            return
        # In the order of the request; a suite has an order of its own.
        by_name = {one.id: asdict(one) for one in judged}
        answer({"criteria": [by_name[name] for name in request["criteria"]]})


if __name__ == "__main__":
    main()
