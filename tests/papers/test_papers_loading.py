"""A paper's experiments and variants from its tables, and its figures from runs whose metrics are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measurement import Measurement, NotJudgedError, combined
from elephan.evaluation.tables import made
from elephan.papers import drawing, paper
from elephan.papers.claims import ClaimSet, parse_claims
from elephan.papers.loading import about
from elephan.papers.paper import Code, Maker
from elephan.papers.schema import ClaimsTable, VariantTable
from elephan.report.charts import BarChart, LineChart
from elephan.scenario import Scenario, ScenarioError


class Setup(paper.Setup):
    """A set-up with one value of each kind."""

    stated: ClassVar = {"rate_mbps": 20, "code": {"reno": "reno", "cubic": "cubic"}, "rtts_ms": (10,), "scale": 1}


def pair(setup: Setup, protocol: str, buffer_pkts: int, second: str = "reno") -> Scenario:
    return Scenario.dumbbell(
        [setup.code[protocol], second],
        title=f"{protocol} and {second}, {buffer_pkts}",
        rate=f"{setup.rate_mbps} Mbit/s",
        rtt=f"{setup.rtts_ms[0]} ms",
        buffer=f"{buffer_pkts} packets",
        duration="3 s",
    )


class Rules:
    """A measurer whose metric is the sum over two parts of a run."""

    def __init__(self, runs: Evidence, setup: Setup) -> None:
        self._runs = runs
        self._setup = setup

    def points(self, parameter: str, criterion: Any) -> Sequence[Any]:
        raise AssertionError(parameter)

    def measure(self, metric: str, subject: str, where: Mapping[str, Any], criterion: Any) -> Measurement:
        runs = self._runs.of(pair(self._setup, subject, where["buffer_pkts"]))
        part = Measurement(tuple(float(self._runs.metric(run, metric)) for run in runs))
        return combined([part, part], sum)


CODE = Code(Setup, {"pair": pair}, Rules, lambda setup: None, scaled=frozenset(("mbps",)))  # type: ignore[arg-type, return-value]  # no question
RUNS = {"scenario": "pair", "grid": {"protocol": "both", "buffer_pkts": [10, 20]}, "quick_grid": {"buffer_pkts": [20]}}


def stated(*runs: Mapping[str, Any]) -> ClaimSet:
    experiment = {"id": "E", "title": "two flows", "figure": "Fig 1", "seeds": 3, "runs": [*runs] or [RUNS]}
    lists = {"both": ["reno", "cubic"]}
    tables = {"schema_version": 2, "paper": "weigle2006", "lists": lists, "experiment": [experiment]}
    return parse_claims(made(ClaimsTable, tables))


def maker(*runs: Mapping[str, Any], quick: bool = False) -> Maker:
    return Maker("weigle2006", stated(*runs), CODE, about("weigle2006").names, quick)


def test_an_experiment_has_a_run_for_each_point_of_its_grid() -> None:
    (experiment,) = maker().experiments(Setup()).values()
    assert (experiment.id, experiment.figure, experiment.seeds) == ("weigle2006.E", "Fig 1", 3)
    labels = [f"{name} and reno, {count}" for name in ("reno", "cubic") for count in (10, 20)]
    assert list(experiment.scenarios) == labels
    assert [scenario.title for scenario in experiment.scenarios.values()] == labels


def test_a_quick_paper_has_fewer_points_and_one_seed() -> None:
    (experiment,) = maker(quick=True).experiments(Setup()).values()
    assert (list(experiment.scenarios), experiment.seeds) == (["reno and reno, 20", "cubic and reno, 20"], 1)


def test_points_may_have_several_values_and_labels_the_papers_names() -> None:
    grid = {"protocol, second": [["cubic", "reno"], ["reno", "cubic"]]}
    runs = {"scenario": "pair", "grid": grid, "with": {"buffer_pkts": 10}, "label": "{protocol_name}, then {second}"}
    (experiment,) = maker(runs).experiments(Setup()).values()
    assert list(experiment.scenarios) == ["CUBIC, then reno", "reno, then cubic"]


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    row = VariantTable(
        id="v", title="other", set={"code": {"cubic": "bic"}, "rtts_ms": [40]}, experiments=("E",),
        only={"protocol": ["cubic"]},
    )  # fmt: skip
    variant = maker().variant(row, Setup())
    assert [scenario.title for scenario in variant.scenarios] == ["cubic and reno, 10", "cubic and reno, 20"]
    (scenario, _) = variant.scenarios
    assert [flow.algorithm for flow in scenario.form.flows] == ["bic", "reno"]
    assert scenario.graph.rtt_ps(0) == 40 * 10**9


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({"scenario": "trio"}, "weigle2006.E: 'trio' is not a scenario of weigle2006"),
        ({"scenario": "pair", "grid": {"protocol": "all"}}, "'all' is not one of the lists both"),
        (RUNS | {"label": "{protocol}"}, "weigle2006.E: two runs have the label 'reno'"),
    ],
)
def test_an_experiment_that_cannot_be_made_is_refused(runs: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        maker(runs).experiments(Setup())


def test_a_value_that_the_set_up_lacks_is_refused() -> None:
    with pytest.raises(ScenarioError, match="'rate_mps' is not a value of the set-up; did you mean 'rate_mbps'"):
        Setup(rate_mps=10)
    assert Setup().but(code={"cubic": "bic"}) == Setup(code={"reno": "reno", "cubic": "bic"}) != Setup()


def test_a_variant_of_an_unknown_experiment_is_refused() -> None:
    row = VariantTable(id="v", title="other", set={}, experiments=("F",))
    with pytest.raises(ScenarioError, match=r"paper\.toml: variant v: 'F' is not an experiment"):
        maker().variant(row, Setup())


# ---- figures ----


class Given(Evidence):
    """Runs of two seeds, whose value is the buffer in packets plus the seed; some scenarios have none."""

    def __init__(self, missing: Sequence[str] = ()) -> None:
        super().__init__()
        self._missing = missing

    def of(self, scenario: Scenario) -> list[Any]:
        if scenario.title in self._missing:
            raise NotJudgedError("not part of this selection")
        packets = float(str(scenario.title).rpartition(" ")[2])
        return [SimpleNamespace(id=str(seed), value=packets + seed) for seed in (1, 2)]

    def metric(self, run: Any, name: str, window: Any = None, **options: Any) -> Any:
        return {"one": run.value} if name == "mbps" else run.value


def drawing_of(table: Mapping[str, Any], runs: Evidence, scale: int = 1) -> drawing.Drawing:
    figure = drawing.FigureTable(**{"id": "f", "title": "F", "caption": "", **table})
    tables = drawing.FiguresTable(styles={"reno": 4, "cubic": 5}, figure=(figure,))
    made = Maker("weigle2006", stated(), CODE, {"reno": "Reno"})
    return drawing.Drawing(made, Setup(scale=scale), tables, runs)


def drawn(table: Mapping[str, Any], runs: Evidence, scale: int = 1) -> Any:
    return drawing_of(table, runs, scale).figures()


LINES = {"experiment": "E", "x": "buffer_pkts", "x_label": "buffer", "y_label": "rate", "metric": "mbps", "flow": "one"}


def test_lines_are_medians_with_the_reach_over_seeds_at_the_papers_scale() -> None:
    (figure,) = drawn({"lines": [LINES]}, Given(), scale=10)
    assert isinstance(figure, LineChart)
    reno, cubic = figure.panels[0].series
    assert (reno.name, reno.style, cubic.name, cubic.style) == ("Reno", 4, "cubic", 5)
    assert (reno.x, reno.y, reno.low, reno.high) == ([10, 20], [115, 215], [110, 210], [120, 220])


def test_a_line_without_a_flow_is_measured_as_the_claims_are() -> None:
    (figure,) = drawn({"lines": [LINES | {"flow": "", "metric": "packets"}]}, Given())
    assert (figure.panels[0].series[0].y, figure.panels[0].series[0].low) == ([23, 43], [22, 42])


def test_what_was_not_run_is_left_out() -> None:
    (figure,) = drawn({"lines": [LINES]}, Given(["reno and reno, 10", "cubic and reno, 10", "cubic and reno, 20"]))
    (reno,) = figure.panels[0].series
    assert list(reno.x) == [20]
    assert drawn({"lines": [LINES]}, Given([f"{p} and reno, {n}" for p in ("reno", "cubic") for n in (10, 20)])) == []


def test_bars_have_a_group_for_each_protocol() -> None:
    bar = {"name": "first", "flow": "one", "at": {"buffer_pkts": 20}}
    panel = {"experiment": "E", "y_label": "rate", "metric": "mbps", "bars": [bar]}
    (figure,) = drawn({"bars": [panel]}, Given(["cubic and reno, 20"]))
    assert isinstance(figure, BarChart)
    assert figure.panels[0].groups == ("Reno", "cubic")
    assert (list(figure.panels[0].series[0].values), list(figure.panels[0].series[0].high)) == (
        [21.5, None],
        [22, None],
    )


PARTS = {"experiment": "E", "y_label": "rate"}
BARS = PARTS | {"metric": "goodput_mbps", "bars": [{"name": "first", "flow": "{protocol}-1"}]}
TRACES = PARTS | {"curves": [{"name": "first", "flow": "reno-1", "at": {"protocol": "reno"}}]}


@pytest.mark.parametrize(
    ("kind", "panel", "message"),
    [
        ("lines", LINES | {"experiment": "F"}, "experiment: 'F' is not an experiment"),
        ("lines", LINES | {"flow": "one"}, "flow: 'one' is not a flow"),
        ("lines", LINES | {"flow": "reno-1", "x": "protocol"}, "x: 'protocol' is not a number"),
        ("lines", LINES | {"flow": "reno-1", "name": "{protocl}"}, "'{protocl}' is not a place"),
        ("lines", LINES | {"flow": "reno-1"}, "metric: 'mbps' is not a metric"),
        ("lines", LINES | {"flow": "", "published": "Fig 1"}, "published: Fig 1 has no numbers of mbps"),
        ("bars", BARS | {"metric": "goodput"}, "metric: 'goodput' is not a metric"),
        ("bars", BARS | {"at": {"protocl": "reno"}}, "at: 'protocl' is not an argument"),
        ("bars", BARS | {"at": {"protocol": "bic"}}, "at: no run of 'E' has {'protocol': 'bic'}"),
        ("traces", TRACES | {"at": {"buffer_pkts": 30}}, "at: no run of 'E' has {'buffer_pkts': 30, "),
        ("traces", TRACES | {"published": "Fig 1"}, "published: 'reno-1' is not a flow with a number of Fig 1"),
    ],
)
def test_a_figure_of_what_the_paper_lacks_is_one_line(kind: str, panel: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        drawing_of({kind: [panel]}, Evidence()).check()
    assert str(caught.value).startswith(f"figures.toml: f.{kind}[0]")
    assert message in str(caught.value)


@pytest.mark.parametrize("table", [{"lines": 7}, {"lines": [7]}, {"each": 7}])
def test_panels_that_are_no_tables_are_one_line(table: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        made(drawing.FiguresTable, {"figure": [{"id": "f", "title": "F", "caption": "", **table}]})
