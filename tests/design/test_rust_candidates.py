"""Candidates in Rust: what a review rejects, and files that are compiled, loaded and contained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import elephan
from elephan.cli.main import main
from elephan.design import objective, places, remote, reviewed_rust, score, trials, tune
from elephan.design.contained import ContainedError
from elephan.design.evolution.exporting import export
from elephan.design.reviewed import ReviewError
from elephan.scenario import ScenarioError, rust_files

EXAMPLE = Path(__file__).parents[2] / "examples/my_stcp.rs"
LINKS = EXAMPLE.parent / "paths/links.toml"
MINE = """
use elephan_cc::{Ack, Algorithm, Event, Observe};

#[derive(Clone)]
pub struct Mine {
    window: f64,
    acks: u32,
}

impl Default for Mine {
    fn default() -> Self {
        Self { window: 10.0, acks: 0 }
    }
}

impl Observe for Mine {}

impl Algorithm for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        self.acks += 1;
        if self.acks == 50 {
            STEP
        }
        if ack.may_grow() {
            self.window += ack.acked / self.window;
        }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::Congestion(_) | Event::Timeout(_) = event {
            self.window = (self.window / 2.0).max(2.0);
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn ssthresh(&self) -> f64 {
        f64::INFINITY.min(self.window)
    }
}
"""


def written(folder: Path, step: str = "", before: str = "") -> Path:
    file = folder / "mine.rs"
    file.write_text(before + MINE.replace("STEP", step), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("let _ = std::time::Instant::now();", "line 22: uses std::time; a candidate is arithmetic and may use array"),
        ("let _ = ::std::fs::read(\"x\");", "line 22: uses std::fs"),
        ("use std::{collections::BTreeMap, env};", "line 22: uses std::env"),
        ("std::process::exit(0);", "line 22: uses std::process"),
        ("let _ = std::process::Command::new(\"true\").spawn();", "line 22: uses std::process"),
        ("let _ = std::net::TcpStream::connect(\"1.1.1.1:80\");", "line 22: uses std::net"),
        ("use std as other;", "line 22: uses std as a whole"),
        ("static N: u32 = 1;", "line 22: has a static, which flows would share"),
        ("unsafe {}", "line 22: is unsafe"),
        ("let _ = include_str!(\"/etc/passwd\");", "line 22: reads a file"),
        ("let _ = cr\"\\\"; let _ = std::env::args(); // \"", "line 22: uses std::env"),
        ("#[path = \"/etc/passwd\"] mod other;", "line 22: has the attribute path"),
        ("mod other;", "line 22: has its module other in another file"),
        ("let _: std::collections::HashMap<u8, u8>;", "line 22: has an order that is not seeded"),
    ],
)  # fmt: skip
def test_what_a_candidate_has_no_use_for_is_rejected(tmp_path: Path, step: str, reason: str) -> None:
    with pytest.raises(ReviewError) as raised:
        reviewed_rust.review(rust_files.read(written(tmp_path, step)))
    assert reason in str(raised.value)


def test_words_in_texts_and_comments_are_none() -> None:
    text = "/* unsafe */ // static\nfn f<'a>(x: &'a str) -> char { let _ = r#\"unsafe \"\"#; '\"' }"
    found = [word for _, word in rust_files.words(text)]
    assert not {"unsafe", "static"} & set(found)
    assert found.count("'a") == 2
    reviewed_rust.review(rust_files.read(EXAMPLE))


def test_the_algorithm_of_a_file_is_found(tmp_path: Path) -> None:
    assert rust_files.algorithm(rust_files.read(EXAMPLE)) == "MyStcp"
    (tmp_path / "none.rs").write_text("// impl Algorithm for Mine\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="it has no algorithm; write impl elephan_cc::Algorithm for Mine"):
        rust_files.algorithm(rust_files.read(tmp_path / "none.rs"))


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ("[dependencies]\nserde = '1'", "needs serde; an algorithm in a crate may use elephan-cc and libm alone"),
        ("[package]\nbuild = 'make.rs'", "has a build script, which is not run"),
        ("[dependencies", "Cargo.toml: "),
        ("", "a crate with an algorithm has a src/lib.rs"),
    ],
)
def test_a_crate_with_more_than_an_algorithm_is_rejected(tmp_path: Path, stated: str, reason: str) -> None:
    (tmp_path / "Cargo.toml").write_text(stated, encoding="utf-8")
    found = score(str(tmp_path), stage="loads")
    assert found.combined_score == objective.WORST
    assert reason in found.failures[0]["reason"]


def test_a_file_that_is_missing_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        score(str(tmp_path / "none.rs"))


compiled = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")


@compiled
@pytest.mark.large
def test_a_file_is_the_class_and_the_built_in_algorithm() -> None:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "10 s"}
    runs = [
        elephan.run(elephan.Scenario.dumbbell([{"name": "one", "algorithm": name}], **path))
        for name in ("stcp", str(EXAMPLE), f"{EXAMPLE.with_suffix('.py')}:MyStcp")
    ]
    tables = [run.samples for run in runs]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


@compiled
@pytest.mark.large
def test_parameters_of_a_file_are_those_of_the_built_in_algorithm() -> None:
    given = {"increase": 0.02, "legacy_window": 5}
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "10 s"}
    flows = [{"name": "one", "algorithm": name, "parameters": given} for name in ("stcp", str(EXAMPLE))]
    scenarios = [elephan.Scenario.dumbbell([flow], **path) for flow in flows]
    builtin, own = (elephan.run(scenario).samples for scenario in scenarios)
    assert builtin.equals(own)
    (found,) = elephan.batch(scenarios[1], [{"flow[0].parameters.increase": 0.1}], "sum_goodput_mbps").iter_rows()
    (same,) = elephan.batch(scenarios[0], [{"flow[0].parameters.increase": 0.1}], "sum_goodput_mbps").iter_rows()
    assert found == same


@compiled
@pytest.mark.large
def test_parameters_of_a_file_are_shown_checked_and_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", str(EXAMPLE), "--json"])
    increase = json.loads(capsys.readouterr().out)["parameters"][0]
    assert (increase["name"], increase["default"], increase["min"], increase["max"]) == ("increase", 0.01, 1e-6, 1)
    with pytest.raises(ScenarioError, match=r"incrase: .*not a parameter.*did you mean 'increase'"):
        score(str(EXAMPLE), parameters={"incrase": 1.0}, paths=1, seeds=1)
    with pytest.raises(ScenarioError, match=r"increase: .*2.* not allowed"):
        score(str(EXAMPLE), parameters={"increase": 2.0}, paths=1, seeds=1)
    with pytest.raises(ScenarioError, match="not allowed"):
        tune(str(EXAMPLE), ["decrease=0.5..1.5"])
    gentle = score(str(EXAMPLE), parameters={"increase": 0.001}, paths=2, seeds=1)
    assert gentle.parts["delay"] > score(str(EXAMPLE), paths=2, seeds=1).parts["delay"]
    tuned = tune(str(EXAMPLE), ["increase=0.001..0.02"], on_paths=LINKS, settings=3, seeds=8, duration_s=3.0)
    assert len(tuned.settings) == 3
    assert not any(setting.why for setting in tuned.settings)


@compiled
@pytest.mark.large
@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ('settings.conflict("both are 1")', "both are 1"),
        ('panic!("no")', "it panicked when it was made"),
    ],
)
def test_a_file_that_cannot_be_made_is_a_failure(tmp_path: Path, made: str, reason: str) -> None:
    file = written(tmp_path)
    tunable = f"""
impl elephan_cc::Tunable for Mine {{
    const PARAMETERS: &'static [elephan_cc::Parameter] = &[];
    fn tuned(settings: &elephan_cc::param::Settings) -> Result<Self, elephan_cc::BuildError> {{ {made} }}
}}
"""
    file.write_text(file.read_text(encoding="utf-8") + tunable, encoding="utf-8")
    found = score(str(file), paths=1, seeds=1)
    assert reason in found.failures[0]["reason"]


@compiled
@pytest.mark.large
def test_an_exported_crate_runs_as_its_formulas(tmp_path: Path) -> None:
    formulas = {"growth": "1.4651", "kept": "0.5 - rtt"}
    export(formulas, "rust", tmp_path / "evolved", "evolved")
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "10 s"}
    flows: list[dict[str, object]] = [
        {"algorithm": "expression", "parameters": formulas},
        {"algorithm": str(tmp_path / "evolved")},
    ]
    runs = [elephan.run(elephan.Scenario.dumbbell([{"name": "one", **flow}], **path)) for flow in flows]
    assert runs[0].samples.equals(runs[1].samples)


@compiled
@pytest.mark.large
def test_a_candidate_in_rust_is_scored_and_contained() -> None:
    found, class_ = score(str(EXAMPLE)), score(f"{EXAMPLE.with_suffix('.py')}:MyStcp")
    assert not found.failures
    assert found.artifacts["contained"]["network"] == class_.artifacts["contained"]["network"]
    # Two texts draw other times; the score of this one has a standard deviation of 0.04.
    assert found.combined_score == pytest.approx(class_.combined_score, abs=0.2)


@compiled
@pytest.mark.large
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("let v: Vec<u8> = Vec::new(); let _ = v[self.acks as usize];", "panicked: mine.rs:22: index out of bounds"),
        ("self.window = f64::NAN;", "window is NaN; it must be from 1 to 268435456 segments"),
        ("let x = ;", "mine.rs: mine.rs:22:"),
        ("let mut all = Vec::new(); loop { all.push([0_u8; 1 << 20]); }", "ended in its runs"),
    ],
)  # fmt: skip
def test_a_misbehaving_candidate_in_rust_ends_with_its_reason(tmp_path: Path, step: str, reason: str) -> None:
    found = score(str(written(tmp_path, step)), seeds=1, paths=1)
    assert found.combined_score == objective.WORST
    assert reason in found.failures[0]["reason"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.rs"]


@compiled
@pytest.mark.large
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("std::process::exit(0);", "its process ended in its runs with exit status 0"),
        ("std::process::abort();", "its process ended in its runs by SIG"),
        ("std::process::Command::new(\"true\").spawn().expect(\"fork\");", "fork: Os { code: 1,"),
        ("std::fs::write(\"/tmp/left\", \"x\").expect(\"write\");", "write: Os { code: 1, kind: PermissionDenied"),
        ("std::fs::remove_file(\"/tmp\").expect(\"remove\");", "remove: Os { code: 1, kind: PermissionDenied"),
        ("std::net::UdpSocket::bind(\"0.0.0.0:0\").expect(\"bind\");", "bind: Os { code: 1, kind: PermissionDenied"),
        ("std::hint::black_box(vec![1_u8; 100 << 30]);", "allocation of 107374182400 bytes failed"),
    ],
)  # fmt: skip
def test_a_compiled_library_that_has_no_text_to_review_is_contained(tmp_path: Path, step: str, reason: str) -> None:
    found = score(str(rust_files.library(rust_files.read(written(tmp_path, step)))), seeds=1, paths=1)
    assert found.combined_score == objective.WORST
    assert reason in found.failures[0]["reason"]
    assert not Path("/tmp/left").exists()


@compiled
@pytest.mark.large
def test_an_endless_loop_in_rust_ends_at_the_limit(tmp_path: Path) -> None:
    library = rust_files.library(rust_files.read(written(tmp_path, "loop {}")))
    trial = trials.plan(places.training()[:1], 1, 5.0)[:1]
    with pytest.raises(ContainedError, match="took more than 5 s, in its runs"):
        remote.run(str(library), {}, [trial], jobs=1, wall_s=5.0)
