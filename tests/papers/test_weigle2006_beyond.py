"""The question beyond weigle2006: who wins among all algorithms."""

from __future__ import annotations

import pytest
from tests.runs import synthetic
from tests.runs.synthetic import constant

from elephan import papers
from elephan.evaluation.evidence import Evidence
from elephan.papers.weigle2006 import beyond as subject
from elephan.papers.weigle2006.setup import PROTOCOLS, Setup, label


def test_everyone_is_asked_and_nobody_who_needs_the_path() -> None:
    names = subject.names()
    assert names[: len(PROTOCOLS)] == PROTOCOLS
    assert {"reno", "bbr", "hcc", "compound", "vegas"} <= set(names)
    assert not {"fixed", "dctcp", "prague", "xcp", "vcp"} & set(names)
    question = papers.get("weigle2006").beyond
    assert question is not None
    (experiment,) = question.experiments.values()
    assert len(experiment.scenarios) == len(names) ** 2


def test_pairs_of_the_paper_are_the_papers_own_runs() -> None:
    paper = papers.get("weigle2006")
    assert paper.beyond is not None
    (experiment,) = paper.beyond.experiments.values()
    for name, scenario in paper.experiments["weigle2006.F2"].scenarios.items():
        assert experiment.scenarios[name].hash == scenario.hash


def test_the_answer_counts_who_wins_in_which_order() -> None:
    """The first of three algorithms wins against the second in both orders; against the third, who came first does."""
    everyone = ("bic", "reno", "vegas")
    scenarios = subject.scenarios_of(Setup(), everyone)
    wins = {("bic", "reno"): (90.0, 10.0), ("reno", "bic"): (10.0, 90.0), ("bic", "vegas"): (80.0, 20.0)}
    wins |= {("vegas", "bic"): (80.0, 20.0)}
    runs = []
    for name in scenarios:
        first, second = name.split(">")
        rates = wins.get((first, second), (50.0, 50.0))
        flows = dict(zip((f"{first}-1", f"{second}-2"), map(constant, rates), strict=True))
        runs.append(synthetic.run(scenarios[name], flows))
    found = Evidence(runs)
    values = subject.grid(found, scenarios, everyone)
    assert values["bic", "reno"] == pytest.approx(0.8)
    shares, orders, own = subject.answer(found, scenarios, everyone)
    assert "most bic" in shares
    assert "Of 3 pairs of different algorithms, one algorithm wins in both orders in 1, the first flow in 1" in orders
    assert "and the late-starting flow in 0; 1 are even" in orders
    assert own.startswith("Two flows of one algorithm share evenly in 3 of 3")
    of_these = [run for run in runs if run.manifest["title"] != scenarios["vegas>vegas"].title]
    assert " evenly in 2 of 2 cases" in subject.answer(Evidence(of_these), scenarios, everyone)[2]
    (figure,) = subject.figures(found, scenarios, everyone)
    (heat,) = figure.spec()["data"]
    assert heat["z"][everyone.index("reno")][everyone.index("bic")] == pytest.approx(-0.8)


def test_nothing_is_said_of_runs_that_are_not_there() -> None:
    scenarios = subject.scenarios_of(Setup(), ("bic", "reno"))
    assert subject.answer(Evidence(), scenarios, ("bic", "reno")) == []
    assert subject.figures(Evidence(), scenarios, ("bic", "reno")) == []
    assert label(("bic", "reno")) in scenarios
