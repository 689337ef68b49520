"""Candidates in C, and the confirmation of failures, on Linux in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import lab
from elephan.design import confirming, objective, places, score, space, trials
from elephan.design.goals import goal
from elephan.design.searching import Found, Judge
from elephan.design.trials import TrialError

SIMPLE = Path(__file__).parents[2] / "examples" / "tcp_simple.c"
LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)
on_linux = pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
ROUTE = {"rate": 10.0, "rtt": 10.0, "buffer": 10.0, "route.longer": 100.0, "route.at": 1.0}


@pytest.mark.large
@on_linux
def test_a_candidate_in_c_has_a_score() -> None:
    found = score(str(SIMPLE), paths=1, seeds=1)
    assert not found.failures
    assert -2 < found.combined_score < 2
    assert found.artifacts["contained"]["network"] == "not restricted"


@pytest.mark.large
@on_linux
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("for (;;)\n\t\tcpu_relax();", "no run ended for 60 s|no progress in 30 s of processor time; tcp_bad.c"),
        ("emergency_restart();", "the guest restarted at .* tcp_bad.c"),
        ("*(volatile int *)0 = 1;", "the guest ended without a result: Kernel panic"),
    ],
)
def test_a_callback_that_never_returns_ends_with_its_reason(tmp_path: Path, step: str, reason: str) -> None:
    text = SIMPLE.read_text(encoding="utf-8").replace("#include <net", "#include <linux/reboot.h>\n#include <net")
    honest = "\tif (!tcp_is_cwnd_limited(sk))\n\t\treturn;"
    assert honest in text
    file = tmp_path / "tcp_bad.c"
    file.write_text(text.replace(honest, f"\t{step}"), encoding="utf-8")
    trial = trials.plan(places.training()[:1], 1, 5.0)[:1]
    with pytest.raises(TrialError, match=reason):
        trials.measure_on_linux(str(file), {}, trial, jobs=1, wall_s=60.0)


@pytest.mark.large
@on_linux
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ('panic("no");', "the guest ended without a result: Kernel panic - not syncing: no"),
        ('filp_open("/tmp/left", O_CREAT | O_WRONLY, 0644);', ""),
        ("undeclared = 1;", "tcp_bad.c:"),
    ],
)
def test_a_misbehaving_candidate_in_c_leaves_nothing(tmp_path: Path, step: str, reason: str) -> None:
    text = SIMPLE.read_text(encoding="utf-8").replace(
        "#include <net/tcp.h>", "#include <linux/fs.h>\n#include <net/tcp.h>"
    )
    before, name = "static struct tcp_congestion_ops simple __read_mostly = {\n", "\t.name\t"
    init = f"static void simple_init(struct sock *sk)\n{{\n\t{step}\n}}\n\n{before}\t.init\t\t= simple_init,\n"
    assert before + name in text
    file = tmp_path / "tcp_bad.c"
    file.write_text(text.replace(before, init), encoding="utf-8")
    found = score(str(file), paths=1, seeds=1)
    assert [reason in failure["reason"] for failure in found.failures] == ([True] if reason else [])
    assert not Path("/tmp/left").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["tcp_bad.c"]


def test_a_wrong_file_in_c_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "tcp_mine.c"
    file.write_text("int x;\n", encoding="utf-8")
    found = score(str(file), paths=1, seeds=1)
    assert found.combined_score == objective.WORST
    assert "tcp_congestion_ops" in found.failures[0]["reason"]


@pytest.mark.large
@on_linux
def test_a_failure_is_confirmed_on_linux() -> None:
    judge = Judge("vegas:linux", goal("underuse"), space.space())
    found = Found(ROUTE, 0.9, (0.9,), 0.1, judge.scenario(ROUTE), ROUTE, 1, 1.0)
    assert confirming.on_linux(judge, found, seeds=1)["fails"] == [True]


def test_an_algorithm_that_linux_lacks_has_a_reason() -> None:
    judge = Judge("copa", goal("underuse"), space.space())
    found = Found(ROUTE, 0.9, (0.9,), 0.1, judge.scenario(ROUTE), ROUTE, 1, 1.0)
    assert confirming.on_linux(judge, found, seeds=1)["why"]
