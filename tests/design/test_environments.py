"""Environments for learning: the interfaces' own checks, and what makes them valid."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from elephan import Scenario, ScenarioError
from elephan.design.environments import (
    FEATURES,
    MEASURES,
    REWARDS,
    Flows,
    Outcomes,
    shared_paths,
    train_paths,
    unseen_paths,
)

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from pettingzoo.test import parallel_api_test, parallel_seed_test  # noqa: E402

from elephan.design.environments import CongestionEnv, CongestionVectorEnv, SharedPathEnv  # noqa: E402


def path(rate: str = "20 Mbit/s", rtt: str = "40 ms", duration: str = "5 s", flows: int = 1, **more: str) -> Scenario:
    rows = [{"algorithm": "fixed", "name": f"flow-{i + 1}"} for i in range(flows)]
    return Scenario.dumbbell(flows=rows, rate=rate, rtt=rtt, buffer="100% BDP", duration=duration, **more)


def measured(measures: np.ndarray, name: str) -> np.ndarray:
    return np.asarray(measures[..., MEASURES.index(name)])


@pytest.mark.parametrize("pacing", [False, True])
@pytest.mark.parametrize("step", [None, "10 ms"])
def test_gymnasium_s_checker_finds_nothing(pacing: bool, step: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not within the.*spec.*")
        check_env(CongestionEnv([path(), path("5 Mbit/s")], step=step, pacing=pacing), skip_render_check=True)


def test_pettingzoo_s_tests_pass() -> None:
    def made() -> SharedPathEnv:
        return SharedPathEnv([path(flows=3, duration="2 s")])

    parallel_api_test(made(), num_cycles=200)
    parallel_seed_test(made)


def test_a_step_is_an_rtt_or_a_fixed_time() -> None:
    def durations(step: str | None) -> np.ndarray:
        flows = Flows([path()], step=step)
        flows.reset(0, 0, 1)
        taken = [measured(flows.step([[[0.0]]]).measures, "duration_s")[0, 0] for _ in range(20)]
        return np.array(taken)

    assert np.median(durations(None)) == pytest.approx(0.041, rel=0.1)
    # Ten segments arrive in a few milliseconds of each RTT, so most steps of 10 ms are extended until one does.
    tens = durations("10 ms") / 0.01
    assert tens == pytest.approx(np.round(tens))
    assert tens.min() == pytest.approx(1)


def test_the_same_seed_gives_the_same_numbers_whatever_runs_beside() -> None:
    alone, beside = Flows([path()]), Flows([path(), path("5 Mbit/s")], count=3)
    first, _ = alone.reset(0, 0, 7)
    for run, (on, seed) in enumerate([(1, 7), (0, 7), (0, 8)]):
        features, _ = beside.reset(run, on, seed)
        if run == 1:
            assert (features == first).all()
    for action in np.linspace(-0.5, 0.5, 30):
        one, many = alone.step([[[action]]]), beside.step(np.full((3, 1, 1), action))
        assert (one.features[0] == many.features[1]).all()
        assert one.rewards[0] == many.rewards[1]
        assert (many.measures[1] != many.measures[2]).any(), "another seed is another run"


def test_a_window_of_the_path_fills_it_without_a_queue() -> None:
    flows = Flows([path()])
    flows.reset(0, 0, 1)
    wanted = 20e6 * 0.04 / 12_000
    step = flows.step([[[0.0]]])
    for _ in range(60):
        window = measured(step.measures, "window_segments")[0, 0]
        step = flows.step([[[np.clip(np.log2(wanted / window), -1, 1)]]])
    assert step.rewards[0, 0] > 0.9
    assert step.features[0, 0, FEATURES.index("delay")] < 0.1


def test_a_window_without_bound_loses_segments_and_its_reward() -> None:
    flows = Flows([path()], reward="power")
    flows.reset(0, 0, 1)
    steps = [flows.step([[[1.0 if i < 8 else 0.0]]]) for i in range(20)]
    assert max(step.features[0, 0, FEATURES.index("loss")] for step in steps) > 0.1
    assert steps[-1].rewards[0, 0] < 0.7


def test_several_flows_share_the_path() -> None:
    env = SharedPathEnv([path(flows=2, duration="10 s")])
    env.reset(seed=1)
    delivered = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        _, rewards, _, _, infos = env.step({name: np.zeros(1) for name in env.agents})
        for name, info in infos.items():
            delivered[name] += info["acked_segments"]
        assert set(rewards) == set(infos)
    # Windows that stay at ten segments share it evenly.
    assert delivered["flow-1"] == pytest.approx(delivered["flow-2"], rel=0.05)


def test_a_run_that_ends_begins_anew_in_the_same_step() -> None:
    env = CongestionVectorEnv(3, [path(duration="1 s")])
    first, info = env.reset(seed=1)
    assert first.shape == (3, len(FEATURES))
    assert (info["path"] == 0).all()
    for _ in range(40):
        observations, rewards, terminated, truncated, info = env.step(np.zeros((3, 1)))
        assert observations.shape == first.shape
        assert rewards.shape == (3,)
        assert not terminated.any()
        if truncated.any():
            assert (info["_final_obs"] == truncated).all()
            assert (info["final_obs"][truncated] != observations[truncated]).any()
            return
    pytest.fail("no run of 1 s has ended after 40 steps")


def test_rewards_are_as_defined() -> None:
    numbers = {"throughput": 500.0, "loss": 0.01, "rtt_s": 0.05, "gradient": 0.1, "base_rtt_s": 0.04, "fair": 1000.0}
    step = Outcomes(**{name: np.array([value]) for name, value in {**numbers, "segment_bits": 12000.0}.items()})
    expected = {
        "power": 0.5 * 0.8,
        "aurora": 10 * 500 - 1000 * 0.05 - 2000 * 0.01,
        "vivace": 6**0.9 - 900 * 6 * 0.1 - 11.35 * 6 * 0.01,
    }
    assert {name: float(reward(step)[0]) for name, reward in REWARDS.items()} == pytest.approx(expected)


def test_training_and_test_paths_have_nothing_in_common() -> None:
    def axes(scenarios: tuple[Scenario, ...]) -> list[set[str]]:
        return [set(column) for column in zip(*((s.title or "").split(", ") for s in scenarios), strict=True)]

    train, unseen = train_paths(), unseen_paths()
    assert (len(train), len(unseen)) == (20, 12)
    for ours, theirs in list(zip(axes(train), axes(unseen), strict=True))[:3]:
        assert not ours & theirs
    assert len(shared_paths(3)[0].form.flows) == 3


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: CongestionEnv([]), "paths: has no scenario; write for example train_paths()"),
        (lambda: CongestionEnv("path.toml"), "paths: takes a list of scenarios"),  # type: ignore[arg-type]
        (lambda: CongestionEnv(path()), "paths: takes a list of scenarios"),  # type: ignore[arg-type]
        (lambda: CongestionEnv([path()], agent="flow-2"), "agents: 'flow-2' is not a flow of"),
        (lambda: CongestionEnv([path()], reward="powder"), "reward: 'powder' is not a reward; did you mean 'power'?"),
        (lambda: CongestionEnv([path()], step="0 s"), "0 s"),
        (lambda: CongestionEnv([path()]).step(np.zeros(1)), "a run has not begun; call reset first"),
        (
            lambda: CongestionEnv([path()]).reset(options={"path": 1}),
            "options.path: 1 is not allowed; it must be from 0",
        ),
        (
            lambda: CongestionEnv([path(duration="10 ms", sample_period="5 ms")]).reset(),
            "duration: ends before an agent has received an ACK",
        ),
        (lambda: Flows([path()], count=0), "count: 0 is not allowed"),
    ],
)
def test_wrong_input_gets_one_line(made: object, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        made()  # type: ignore[operator]
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_action_outside_its_space_is_refused() -> None:
    env = CongestionEnv([path()])
    env.reset(seed=1)
    for action in (1.5, float("nan")):
        with pytest.raises(ScenarioError, match="it must be from -1 to 1"):
            env.step(np.array([action]))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import elephan.design.environments as environments

    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "elephan.design.environments.one")
    with pytest.raises(ImportError, match=r"CongestionEnv needs gymnasium: pip install 'elephan\[learning\]'"):
        environments.__getattr__("CongestionEnv")
