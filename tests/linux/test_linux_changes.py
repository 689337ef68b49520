"""Kernels with a change: C files, patches, our own algorithms. Tests that compile are skipped without a tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from elephan.backends import get
from elephan.backends.kernel import bpf
from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import build, changes, kernels, lab
from elephan.backends.linux.plan import Plan
from elephan.cli import patches
from elephan.cli.main import main, run_command
from elephan.runs.saved import run_id
from elephan.scenario import Scenario, ScenarioError, c_files

EXAMPLE = Path(__file__).parents[2] / "examples" / "tcp_simple.c"
TREES = [kernel for kernel in kernels.kernels() if kernel.tree.is_dir()]
needs_tree = pytest.mark.skipif(
    not can_run(lab.check()) or not TREES, reason="needs a kernel with its tree: elephan lab linux build"
)


def dumbbell(*flows: dict[str, Any]) -> Scenario:
    return Scenario.dumbbell(list(flows), rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP", duration="6 s")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "tcp_mine.c"
    path.write_text(EXAMPLE.read_text(encoding="utf-8").replace('"simple"', '"mine"'), encoding="utf-8")
    return path


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_module_and_its_parameter_are_the_files(mine: Path) -> None:
    plan = Plan.of(dumbbell({"algorithm": str(mine), "parameters": {"beta": 700}}), 250)
    assert (plan.modules, plan.arguments) == (["mine"], ["elephan_tcp_mine.beta=700"])
    assert plan.form.flows[0].algorithm == "tcp_mine.c"
    assert plan.form.flows[0].name == "tcp_mine-1"


def test_another_constant_is_another_id(mine: Path) -> None:
    before = dumbbell({"algorithm": str(mine)})
    changed(mine, "beta __read_mostly = 512", "beta __read_mostly = 513")
    after = dumbbell({"algorithm": str(mine)})
    assert run_id(before.hash, "linux", 1) != run_id(after.hash, "linux", 1)
    with pytest.raises(ScenarioError, match="has changed since the scenario was built"):
        Plan.of(before, 250)


def test_another_patch_is_another_backend_and_its_copy_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = []
    for constant in (1, 2):
        path = tmp_path / "my.patch"
        path.write_text(f"--- a/net/ipv4/tcp_cubic.c\n+++ b/net/ipv4/tcp_cubic.c\n@@ -1 +1 @@\n-0\n+{constant}\n")
        names.append(f"linux+{changes.read_patch(path).word}")
    assert len({run_id("0" * 8, name, 1) for name in names}) == 2
    assert [get(name).name for name in names] == names
    assert changes.kept_patch(names[0].partition("+")[2]).name == "my.patch"
    with pytest.raises(ScenarioError, match="no patch 'abc' is in the cache"):
        get("linux+abc")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"mine"', '"cubic"', "which is taken; change its .name"),
        ('"mine"', '"a_name_that_is_too_long"', "must have 1 to 15 letters"),
        (".name", ".eman", "no 'struct tcp_congestion_ops' with a .name in it"),
    ],
)
def test_a_file_without_a_name_of_its_own_is_refused(mine: Path, old: str, new: str, sentence: str) -> None:
    changed(mine, old, new)
    with pytest.raises(ScenarioError, match=sentence):
        Plan.of(dumbbell({"algorithm": str(mine)}), 250)


@pytest.mark.parametrize(
    "operations",
    [
        'struct tcp_congestion_ops one = { .ssthresh = x, .name = "mine" };',
        'struct tcp_congestion_ops one = { .name = "mine", .owner = (struct module *){ 0 } }; int a[] = { 1 };',
        'struct tcp_congestion_ops one __read_mostly =\n{\n\t.name\t= NAME,\n};\n#define NAME "mine"',
        'struct tcp_congestion_ops one = {\n.ssthresh = x, /* .name = "other" */\n  .name = "mine" } ;',
        'static char brace[] = "}"; static struct tcp_congestion_ops one = { .a = "}{", .name = "mine" };',
    ],
)
def test_the_name_is_found_however_the_file_is_laid_out(operations: str, tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.c").write_text(f"{operations}\n")
    assert c_files.read(tmp_path / "tcp_mine.c").name == "mine"


def test_a_patch_may_add_and_remove_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    new = "diff --git a/net/ipv4/new.c b/net/ipv4/new.c\nnew file mode 100644\n--- /dev/null\n+++ b/net/ipv4/new.c\n"
    gone = "--- a/net/ipv4/old.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-int old;\n"
    (tmp_path / "my.patch").write_text(f"{new}@@ -0,0 +1 @@\n+int new;\n{gone}")
    assert changes.read_patch(tmp_path / "my.patch").name == "my.patch"
    (tmp_path / "bad.patch").write_text("--- /dev/null\n+++ b/drivers/new.c\n@@ -0,0 +1 @@\n+int new;\n")
    with pytest.raises(ScenarioError, match=r"changes drivers/new\.c"):
        changes.read_patch(tmp_path / "bad.patch")


def test_the_next_call_removes_what_a_killed_build_left(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(changes, "_MEMORY", tmp_path)
    kernels.cache().mkdir(parents=True)
    left = [kernels.cache() / f"{kernels.BUILDING}x", tmp_path / f"{changes._workshops()}y"]
    for folder in left:
        (folder / "tree").mkdir(parents=True)
    base = kernels.Kernel("0" * 16, "6.12", 250, 0.0, 0.0, "", "")
    with build.idle() as free:
        assert free
        with pytest.raises(ScenarioError, match="built without its tree"):
            changes.changed(base, [c_files.read(mine)], None, print)
        assert all(folder.exists() for folder in left), "another build is under way"
    with pytest.raises(ScenarioError, match="built without its tree"):
        changes.changed(base, [c_files.read(mine)], None, print)
    assert not any(folder.exists() for folder in left)


@needs_tree
def test_a_kernel_that_warns_marks_its_run(mine: Path, tmp_path: Path) -> None:
    changed(mine, "static u32 ", "static int warned;\nstatic u32 ")
    text = mine.read_text(encoding="utf-8")
    body = re.search(r"ssthresh\(struct sock \*sk\)\s*\{", text)
    assert body is not None
    mine.write_text(f"{text[: body.end()]}\n\tWARN_ON(!warned++);{text[body.end() :]}", encoding="utf-8")
    done = get("linux").run(dumbbell({"algorithm": str(mine)}))
    assert not done.summary["linux"]["valid"]
    (line,) = [line for line in done.summary["warnings"] if "the kernel found a defect" in line]
    assert "WARNING: " in line
    assert "elephan_tcp_mine.c" in line
    assert "\n" not in line


def test_wrong_parameters_are_refused_with_the_nearest_word(mine: Path) -> None:
    with pytest.raises(ScenarioError, match=r"not a parameter of tcp_mine\.c; did you mean 'beta'"):
        dumbbell({"algorithm": str(mine), "parameters": {"bata": 1}})
    with pytest.raises(ScenarioError, match=r"0\.5 is not a whole number"):
        dumbbell({"algorithm": str(mine), "parameters": {"beta": 0.5}})


def test_two_files_of_one_name_are_refused(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "tcp_mine.c"
    other.write_bytes(mine.read_bytes())
    with pytest.raises(ScenarioError, match=r"both are called tcp_mine\.c; rename one"):
        Plan.of(dumbbell({"algorithm": str(mine)}, {"algorithm": str(other)}), 250)


@pytest.mark.parametrize("backend", ["sim", "model"])
def test_other_backends_say_who_runs_it(mine: Path, backend: str) -> None:
    with pytest.raises(ScenarioError, match="linux"):
        get(backend).run(dumbbell({"algorithm": str(mine)}))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hello\n", "not a patch"),
        ("--- a/drivers/x.c\n+++ b/drivers/x.c\n", "changes drivers/x.c; a patch changes files of net/ and include/"),
        ("--- a/net/../x.c\n+++ b/net/../x.c\n", "changes net/../x.c"),
    ],
)
def test_what_is_no_patch_of_the_network_code_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "my.patch").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=sentence):
        changes.read_patch(tmp_path / "my.patch")


@pytest.mark.parametrize(
    "algorithm", [name for name in bpf.names() if name in ("areno", "compound", "fast", "fusion", "hcc")]
)
def test_our_own_algorithms_are_modules_of_the_kernel(algorithm: str) -> None:
    plan = Plan.of(dumbbell({"algorithm": algorithm}), 250)
    assert plan.modules == [f"el_{algorithm}"]
    assert [file.unit for file in plan.files] == [f"elephan_{algorithm}"]


# ---- what compiles ----


@needs_tree
@pytest.mark.large
def test_a_compilers_error_has_the_files_own_line(mine: Path) -> None:
    line = (
        mine.read_text(encoding="utf-8")
        .splitlines()
        .index("	return max(tcp_snd_cwnd(tcp_sk(sk)) * beta / 1024, 2U);")
    )
    changed(mine, "tcp_snd_cwnd(tcp_sk(sk)) * beta", "tcp_snd_cwnd(tcp_sk(sk)) * betta")
    scenario = dumbbell({"algorithm": str(mine)})
    with pytest.raises(ScenarioError, match=rf"{mine}:{line + 1}: .betta. undeclared") as refused:
        get("linux").check(scenario)
    assert "\n" not in str(refused.value)


@needs_tree
def test_a_c_file_runs_and_its_parameter_counts(mine: Path) -> None:
    windows = []
    for beta in (512, 900):
        result = get("linux").run(dumbbell({"algorithm": str(mine), "parameters": {"beta": beta}}))
        [flow] = pl.DataFrame(result.tables["flows"]).to_dicts()
        windows.append(flow["cwnd_mean"])
        assert result.summary["linux"]["changes"][0].startswith("tcp_mine.c ")
    assert windows[1] > windows[0] + 2
    [reno] = pl.DataFrame(get("linux").run(dumbbell({"algorithm": "reno"})).tables["flows"]).to_dicts()
    assert windows[0] == pytest.approx(reno["cwnd_mean"], rel=0.02)


def test_a_patch_takes_the_place_of_linux_among_backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    patch = str(EXAMPLE.with_name("gentler_cubic.patch"))
    (named,) = patches.among(["linux"], patch, before_after=False)
    assert re.fullmatch("linux[+][0-9a-f]{12}", named)
    assert patches.among(["sim", "linux"], patch, before_after=True) == ["sim", "linux", named]
    assert patches.among(["sim"], None, before_after=False) == ["sim"]
    with pytest.raises(ScenarioError, match="and this is --on sim"):
        patches.among(["sim"], patch, before_after=False)


@needs_tree
def test_a_patch_that_does_not_apply_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my.patch"
    path.write_text("--- a/net/ipv4/tcp_cubic.c\n+++ b/net/ipv4/tcp_cubic.c\n@@ -10,1 +10,1 @@\n-no such line\n+x\n")
    example = EXAMPLE.parent / "small_window.toml"
    with pytest.raises(SystemExit) as ended:
        main(["run", str(example), "--on", "linux", "--patch", str(path), "--store", str(tmp_path / "store")])
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    [line] = lines
    assert "my.patch does not apply to Linux 6.12" in line
    assert line.endswith("net/ipv4/tcp_cubic.c, hunk 1 at line 10, is not as in the source")


@needs_tree
def test_the_example_beside_reno_runs(tmp_path: Path) -> None:
    short = ["--set", "duration=4 s", "--set", "flow[*].start=0 s", "--set", "measure.from=1 s"]
    path = EXAMPLE.with_name("own_in_linux.toml")
    assert run_command(["run", str(path), "--on", "linux", "--store", str(tmp_path), *short]) == 0
