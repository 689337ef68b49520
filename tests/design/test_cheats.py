"""Cheats in the three languages: each is CUBIC with a trick, so a trick that pays has a score above 0.

The author of a cheat has read the sources: the training paths, the times of the runs of built-in algorithms, how a
path is recognized by its RTT, and what is measured.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from elephan.backends.kernel.lab import can_run
from elephan.backends.linux import kernels, lab
from elephan.design import places, score
from elephan.design.scoring import Score

PATHS = places.training()
TIMES = [(p.rtt_ms / 1e3, *places.times_s(p, 1, places.QUICK_S)) for p in PATHS]
"""For each training path its RTT, the duration of a run and the start of its late flow, s, for one seed."""

NAMES = (
    "ignores losses", "is idle", "knows when a late flow starts, and gives way", "sends what it can before the end",
    "shares state between its flows", "grows only when a late flow has started",
)  # fmt: skip
GIVES_WAY = NAMES[2]


def table(opening: str, closing: str, divisor: float = 1.0) -> str:
    """The table of a cheat, with times in s, or in whole parts of a second."""

    def shown(value: float) -> str:
        return f"{value:.3f}" if divisor == 1 else str(round(value / divisor))

    rows = [", ".join(shown(value) for value in row) for row in TIMES]
    return ", ".join(f"{opening}{row}{closing}" for row in rows)


PYTHON = """
import math
import elephan

TIMES = [{table}]
FLOWS = []

class Mine(elephan.Algorithm):
    def on_start(self, start):
        super().on_start(start)
        self.w_max = self.origin = self.window
        self.epoch, self.now, self.end, self.late, self.known = None, 0.0, 1e9, 1e9, False
        self.k = self.est = 0.0

    def path(self, ack):
        self.now = ack.now
        near = min(TIMES, key=lambda row: abs(row[0] - ack.min_rtt))
        if not self.known:
            self.end, self.late, self.known = near[1], near[2], True

    def on_ack(self, ack):
        self.path(ack)
        {before}
        if not ack.may_grow:
            return
        n = ack.acked
        if self.window < self.ssthresh:
            self.window += n
            return
        if self.epoch is None:
            self.epoch, self.est = ack.now, self.window
            self.k = max(self.w_max - self.window, 0.0) / 0.4
            self.k = self.k ** (1 / 3)
            self.origin = max(self.w_max, self.window)
        t = ack.now - self.epoch + ack.min_rtt
        target = self.origin + 0.4 * (t - self.k) ** 3
        target = min(max(target, self.window), 1.5 * self.window)
        self.est += (1.0 if self.est >= self.w_max else 0.53) * n / self.window
        self.window = max(self.window + (target - self.window) / self.window * n, self.est)

    def on_congestion(self, signal):
        {loss}
        self.epoch = None
        self.w_max = 0.85 * self.window if self.window < self.w_max else self.window
        self.ssthresh = self.window = max(0.7 * self.window, 2.0)

    def on_timeout(self, signal):
        self.epoch = None
        super().on_timeout(signal)
"""
IN_PYTHON = {
    "honest": ("pass", "pass"),
    NAMES[0]: ("pass", "return"),
    NAMES[1]: ("self.window = 1.0; return", "pass"),
    NAMES[2]: (
        "if self.late <= self.now and not hasattr(self, 'gave'):\n            self.gave = True\n"
        "            self.window = max(self.window / 2, 2.0)\n            self.epoch = None",
        "pass",
    ),
    NAMES[3]: (
        "if self.now > self.end - 1.0:\n            self.window += n if (n := ack.acked) else 0\n            return",
        "if self.now > self.end - 1.0: return",
    ),
    NAMES[4]: (
        "(self in FLOWS) or FLOWS.append(self)\n"
        "        if len(FLOWS) > 1: self.window = sum(flow.window for flow in FLOWS) / len(FLOWS)",
        "pass",
    ),
    NAMES[5]: (
        "if self.now < self.late:\n            self.window = min(self.window, 4.0)\n            return",
        "pass",
    ),
}  # fmt: skip

RUST = """
use elephan_cc::cubic::Cubic;
use elephan_cc::param::Settings;
use elephan_cc::{Ack, Algorithm, Event, Needs, Observe};

const TIMES: &[[f64; 3]] = &[TABLE];
STATIC

#[derive(Clone)]
pub struct Mine {
    base: Cubic,
    now: f64,
    end: f64,
    late: f64,
    gave: f64,
    least: f64,
    extra: f64,
}

impl Default for Mine {
    fn default() -> Self {
        let none = std::collections::BTreeMap::new();
        let settings = Settings::resolve(&Cubic::ENTRY, "", &none).expect("defaults");
        let base = Cubic::new(&settings).expect("defaults");
        Self { base, now: 0.0, end: 1e9, late: 1e9, gave: 0.0, least: f64::INFINITY, extra: 0.0 }
    }
}

impl Observe for Mine {}

impl Algorithm for Mine {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        if ack.min_rtt < self.least {
            self.least = ack.min_rtt;
            let near = TIMES.iter().min_by(|a, b| (a[0] - self.least).abs().total_cmp(&(b[0] - self.least).abs()));
            if let Some(row) = near {
                (self.end, self.late) = (row[1], row[2]);
            }
        }
        self.base.on_ack(ack);
        STEP
    }
    fn on_event(&mut self, event: &Event) {
        if let Event::Congestion(_) = event {
            LOSS
        }
        self.base.on_event(event);
    }
    fn window(&self) -> f64 {
        WINDOW
    }
    fn ssthresh(&self) -> f64 {
        self.base.ssthresh()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.base.pacing_rate()
    }
    fn needs(&self) -> Needs {
        self.base.needs()
    }
    fn recovery_floor(&self) -> f64 {
        self.base.recovery_floor()
    }
}
"""
IN_RUST = {
    "honest": {},
    NAMES[0]: {"LOSS": "self.extra = self.base.window(); return;", "WINDOW": "self.base.window().max(self.extra)"},
    NAMES[1]: {"WINDOW": "1.0"},
    NAMES[2]: {
        "STEP": "self.gave = if (self.late..self.late + 6.0).contains(&self.now) { 1.0 } else { 0.0 };",
        "WINDOW": "if self.gave > 0.0 { 4.0 } else { self.base.window() }",
    },
    NAMES[3]: {
        "STEP": "if self.now > self.end - 1.0 { self.extra += ack.acked; }",
        "WINDOW": "self.base.window() + self.extra",
    },
    NAMES[4]: {"STATIC": "static FLOWS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);"},
    NAMES[5]: {"WINDOW": "if self.now < self.late { 4.0 } else { self.base.window() }"},
}
SLOTS = {"STATIC": "", "STEP": "", "LOSS": "", "WINDOW": "self.base.window()"}


def in_python(name: str, folder: Path) -> Path:
    before, loss = IN_PYTHON[name]
    file = folder / "mine.py"
    text = PYTHON.replace("{table}", table("(", ")")).replace("{before}", before).replace("{loss}", loss)
    file.write_text(text, encoding="utf-8")
    return file


def in_rust(name: str, folder: Path) -> Path:
    text = RUST.replace("TABLE", table("[", "]"))
    for slot, words in (SLOTS | IN_RUST[name]).items():
        text = text.replace(slot, words)
    file = folder / "mine.rs"
    file.write_text(text, encoding="utf-8")
    return file


C_STATE = """
	u32	born;
	u32	gave;
};

static const u32 TIMES[][3] = { TABLE };
static u32 flows;
static struct sock *oldest;

/* Time since the first ACK, and the end of the run or the start of the late flow, ms. */
static u32 alive(struct bictcp *ca, u32 now)
{
	if (!ca->born)
		ca->born = now;
	return (now - ca->born) / 1000;
}

static u32 known(struct bictcp *ca, int what)
{
	u32 i, near = 0;

	for (i = 1; i < ARRAY_SIZE(TIMES); i++)
		if (abs((int)TIMES[i][0] - (int)ca->delay_min / 1000) < abs((int)TIMES[near][0] - (int)ca->delay_min / 1000))
			near = i;
	return TIMES[near][what];
}
"""
IN_C = {
    "honest": ("", ""),
    NAMES[0]: ("", "return tcp_snd_cwnd(tp);"),
    NAMES[1]: ("tcp_snd_cwnd_set(tp, 1); return;", ""),
    NAMES[2]: (
        "if (alive(ca, bictcp_clock_us(sk)) >= known(ca, 2) && !ca->gave) {"
        " ca->gave = 1; tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp) / 2, 2U)); tp->snd_ssthresh = tcp_snd_cwnd(tp);"
        " ca->epoch_start = 0; return; }",
        "",
    ),
    NAMES[3]: (
        "if (alive(ca, bictcp_clock_us(sk)) + 1000 > known(ca, 1)) {"
        " tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + acked); return; }",
        "if (ca->born && alive(ca, bictcp_clock_us(sk)) + 1000 > known(ca, 1)) return tcp_snd_cwnd(tp);",
    ),
    NAMES[4]: (
        "if (!ca->gave) { ca->gave = 1; if (!flows++) oldest = sk; }"
        " if (flows > 1 && sk == oldest) { tcp_snd_cwnd_set(tp, 4); return; }",
        "",
    ),
    NAMES[5]: ("if (alive(ca, bictcp_clock_us(sk)) < known(ca, 2)) { tcp_snd_cwnd_set(tp, 4); return; }", ""),
}  # fmt: skip


def in_c(name: str, folder: Path) -> Path:
    """Linux's own file of CUBIC, without what only one module of a kernel can have."""
    text = next(kernels.cache().glob("*/tree/net/ipv4/tcp_cubic.c")).read_text(encoding="utf-8")
    begin, end = text.index("BTF_KFUNCS_START"), text.index("static int __init cubictcp_register")
    text = text[:begin] + text[end:]
    begin, end = text.index("\tret = register_btf_kfunc_id_set"), text.index("\treturn tcp_register_congestion_control")
    text = text[:begin] + text[end:]
    before, loss = IN_C[name]
    for old, new in (
        ("\tint ret;\n\n", ""),
        ('"cubic"', '"cheat"'),
        ("\tu32	curr_rtt;	/* the minimum rtt of current round */\n};\n",
         "\tu32	curr_rtt;\n" + C_STATE.replace("TABLE", table("{", "}", 1e-3)).lstrip("\n")),
        ("\tif (!tcp_is_cwnd_limited(sk))\n\t\treturn;\n\n\tif (tcp_in_slow_start(tp)) {",
         f"\t{before}\n\tif (!tcp_is_cwnd_limited(sk))\n\t\treturn;\n\n\tif (tcp_in_slow_start(tp)) {{"),
        ("\tca->epoch_start = 0;	/* end of epoch */\n", f"\t{loss}\n\tca->epoch_start = 0;\n"),
        ("\tbictcp_reset(ca);\n\n\tif (hystart)\n",
         "\tbictcp_reset(ca);\n\tca->born = ca->gave = 0;\n\n\tif (hystart)\n"),
    ):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "tcp_cheat.c"
    file.write_text(text, encoding="utf-8")
    return file


def judged(file: Path, folder: Path, **options: Any) -> Score:
    """The score of a cheat's file, which leaves nothing beside it."""
    found = score(str(file), **options)
    assert [entry.name for entry in folder.iterdir()] == [file.name]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_cheat_in_python_is_below_cubic(tmp_path: Path, name: str) -> None:
    found = judged(in_python(name, tmp_path), tmp_path, seeds=1, paths=12)
    assert found.combined_score < 0
    assert bool(found.failures) == (name == NAMES[4])


@pytest.mark.large
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_each_cheat_in_rust_is_below_cubic(tmp_path: Path) -> None:
    scores = {name: judged(in_rust(name, tmp_path), tmp_path) for name in ("honest", *NAMES)}
    honest = scores.pop("honest").combined_score
    assert honest == pytest.approx(0.0, abs=0.1)
    assert all(found.combined_score < 0 for found in scores.values()), scores
    assert "static" in scores[NAMES[4]].failures[0]["reason"]


LACKING = "; ".join(f"{item.name}: {item.help}" for item in lab.check() if item.needed and not item.ok)


@pytest.mark.large
@pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
def test_each_cheat_in_c_is_below_cubic(tmp_path: Path) -> None:
    names = [name for name in NAMES if name != GIVES_WAY]
    found = {name: judged(in_c(name, tmp_path), tmp_path, seeds=1, paths=2) for name in names}
    assert not [name for name, each in found.items() if each.failures]
    # Two modules have no variables in common, so the one that counts its flows is CUBIC.
    assert found.pop(NAMES[4]).combined_score <= 0
    assert all(each.combined_score < 0 for each in found.values()), found


@pytest.mark.large
@pytest.mark.skipif(not can_run(lab.check()), reason=LACKING or "this host can")
def test_in_c_the_time_of_a_late_flow_is_worth_no_more_than_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window that is halved once has a shorter queue, whenever it is, so such a module may be above CUBIC."""
    before, loss = IN_C[GIVES_WAY]
    monkeypatch.setitem(IN_C, "halves after 14 s", (before.replace("known(ca, 2)", "14000U"), loss))
    knowing, blind = (
        judged(in_c(name, tmp_path), tmp_path, seeds=2, paths=8) for name in (GIVES_WAY, "halves after 14 s")
    )
    assert not knowing.failures + blind.failures
    assert knowing.combined_score <= blind.combined_score
