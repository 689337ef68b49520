"""Perturbed replicates: what a seed moves, by how much, and that a replicate alone is the one among others."""

from __future__ import annotations

from typing import Any

import pytest

from elephan import backends
from elephan.backends.kernel.plan import Plan
from elephan.backends.kernel.twin import twin
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.units import PS_PER_S

MS = PS_PER_S // 1000


def stated(flows: Any = ("cubic", "cubic"), **more: Any) -> Scenario:
    fields: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "100 ms", "buffer": "1 BDP", "duration": "20 s"}
    return Scenario.dumbbell(flows, **(fields | more))


def jitters(scenario: Scenario) -> tuple[int, int]:
    return scenario.form.start_jitter_ps, scenario.form.send_jitter_ps


def test_hosts_resolve_to_several_rtts_and_a_fifth_of_a_millisecond() -> None:
    assert jitters(stated()) == (10 * MS, 0)
    assert jitters(stated(perturb="hosts")) == (400 * MS, MS // 5)
    assert jitters(stated(perturb="none")) == (0, 0)


def test_send_jitter_is_at_most_a_hundredth_of_the_shortest_round_trip() -> None:
    assert jitters(stated(rtt="4 ms", perturb="hosts")) == (16 * MS, MS // 25)
    unequal = stated(["cubic", {"algorithm": "cubic", "rtt": "5 ms"}], rtt="4 ms", perturb="hosts")
    assert jitters(unequal) == (20 * MS, MS // 25)
    spread = [{"algorithm": "cubic", "count": 50, "rtts": [[0, "10 ms"], [1, "90 ms"]]}]
    group = stated(spread, rtt="4 ms", perturb="hosts")
    start_ps, send_ps = jitters(group)
    rtts = [sum(group.form.links[i].delay_ps for i in (*flow.path, *flow.reverse_path)) for flow in group.form.flows]
    assert start_ps == 4 * max(rtts)
    assert send_ps == min(rtts) // 100 < MS // 5
    assert max(rtts) > 80 * MS


def test_a_stated_jitter_stays_also_where_it_is_the_default() -> None:
    assert jitters(stated(perturb="hosts", start_jitter="10 ms")) == (10 * MS, MS // 5)
    assert jitters(stated(perturb="hosts", send_jitter="0 s")) == (400 * MS, 0)
    assert jitters(stated(perturb="none", start_jitter="3 ms")) == (3 * MS, 0)


def test_the_hash_is_that_of_the_resolved_jitters() -> None:
    written = stated(start_jitter="400 ms", send_jitter="0.2 ms")
    assert stated(perturb="hosts").hash == written.hash
    assert stated(perturb="none").hash == stated(start_jitter="0 s").hash
    assert stated().hash != written.hash


def test_a_replicate_is_the_run_of_the_same_file_with_its_seed() -> None:
    plain = stated(seed=3)
    several = plain.replicates(4)
    assert [scenario.seed for scenario in several] == [3, 4, 5, 6]
    for scenario in several:
        alone = plain.with_overrides({"perturb": "hosts", "seed": scenario.seed})
        assert alone == scenario
        assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert plain.replicates(1) == [plain]


def test_what_is_stated_of_perturb_is_not_replaced() -> None:
    lossy = stated(perturb="none", loss="0.1%")
    assert lossy.perturbed() is lossy
    assert jitters(lossy.replicates(2)[1]) == (0, 0)
    assert jitters(stated().perturbed()) == (400 * MS, MS // 5)


def test_seeds_of_a_bare_path_are_refused_with_what_to_write() -> None:
    with pytest.raises(ScenarioError, match=r'8 equal runs.*write perturb = "hosts"'):
        stated(perturb="none").replicates(8)
    with pytest.raises(ScenarioError, match="perturb: 'host' is not a perturbation; did you mean 'hosts'"):
        stated(perturb="host")


def test_round_trips_of_weeks_are_refused() -> None:
    weeks = {"rtt": "1500000 s", "buffer": "10 packets", "duration": "100 s"}
    assert jitters(stated(**weeks))[0] == 10 * MS
    with pytest.raises(ScenarioError, match="perturb: starts over 4 RTTs would be over 53 days; write a start_jitter"):
        stated(**weeks, perturb="hosts").canonical()
    assert jitters(stated(**weeks, perturb="hosts", start_jitter="1 s"))[0] == PS_PER_S


def test_it_is_said_in_words() -> None:
    assert stated(perturb="hosts").perturbation == "starts over 400 ms, packets up to 0.2 ms late"
    assert stated(perturb="none").perturbation == ""


def test_a_start_that_may_be_past_the_end_is_warned_about() -> None:
    short = stated(rtt="600 ms", duration="2 s", perturb="hosts")
    assert any("past the end of the run" in line for line in short.warnings())
    assert not any("past the end" in line for line in stated(perturb="hosts").warnings())
    brief = {"duration": "5 ms", "sample_period": "1 ms"}
    assert any(": start_jitter moves its start by up to 10 ms" in line for line in stated(**brief).warnings())
    assert not any("past the end" in line for line in stated(**brief, start_jitter="0 s").warnings())


def test_hosts_of_the_kernel_perturb_by_themselves() -> None:
    plan = Plan.of(stated(perturb="hosts"), seed=2)
    assert (plan.form.start_jitter_ps, plan.form.send_jitter_ps, plan.form.seed) == (400 * MS, 0, 2)
    with pytest.raises(ScenarioError, match="cannot do send_jitter"):
        Plan.of(stated(perturb="hosts", send_jitter="0.1 ms"))
    assert jitters(twin(stated(perturb="hosts")).scenario) == (400 * MS, 0)


def test_the_model_runs_perturbed_seeds_and_its_results_need_not_differ() -> None:
    moved = stated(perturb="hosts")
    backends.get("model").check(moved)
    assert not backends.get("model").must_differ(moved)
    assert backends.get("sim").must_differ(moved)
    assert not backends.get("sim").must_differ(stated(perturb="none", loss="0.1%"))
