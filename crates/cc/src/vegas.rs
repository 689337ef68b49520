//! TCP Vegas (L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global internet", JSAC 13(8), 1995):
//! once a round trip the window moves by one segment, so that between `alpha` and `beta` of the flow's own segments wait
//! in queues.
//!
//! Variant: the paper's rules as the sources report them (its parameter text was not available): the mean RTT of the
//! round, doubling every other round trip, standard recovery with a quarter given up on a loss. Its fine-grained
//! retransmission timer is the endpoint's business and not modelled, nor is the halving for a segment lost twice.
//! Differences: ns-2 (preset `ns2`) rounds the difference and spreads the increase over a round; it lets a round with one
//! segment in flight raise the base RTT, which is not copied. Linux (preset `linux`) divides by the base RTT and not by
//! the RTT, so that its difference is larger, in whole segments, takes the smallest RTT of the round, doubles every round
//! trip and halves on a loss.

use crate::algorithm::{Ack, Algorithm, Signal, Start};
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, flag, num, params};

choices! {
    /// How the segments that the flow has in queues are computed.
    pub enum Diff {
        /// w (1 - base/rtt).
        Paper = "paper",
        /// The same to the nearest whole segment.
        Ns2 = "ns2",
        /// w (rtt - base)/base, truncated.
        Linux = "linux",
    }
}

choices! {
    /// Which RTT stands for a round.
    pub enum RoundRtt {
        /// The mean of its samples.
        Mean = "mean",
        /// The smallest of them.
        Min = "min",
    }
}

params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Segments in queues below which the window grows.
        alpha: f64 = num(2.0, 0.0, 1e6, "segments"), "Brakmo & Peterson 1995 (1 or 2); ns-2 has 1";
        /// Segments in queues above which it shrinks.
        beta: f64 = num(4.0, 0.0, 1e6, "segments"), "Brakmo & Peterson 1995 (3 or 4); ns-2 has 3";
        /// Segments in queues above which slow start ends.
        gamma: f64 = num(1.0, 0.0, 1e6, "segments"), "Brakmo & Peterson 1995; ns-2; Linux";
        /// How the segments in queues are computed.
        diff: Diff = choice("paper", Diff::WORDS), "Brakmo & Peterson 1995; ns-2 tcp-vegas.cc; Linux tcp_vegas.c";
        /// Which RTT stands for a round.
        round_rtt: RoundRtt = choice("mean", RoundRtt::WORDS), "ns-2: mean; Linux: min";
        /// Samples that a round needs; with fewer it is standard TCP on one ACK.
        samples_min: f64 = num(1.0, 1.0, 1e3, ""), "Linux has 3";
        /// Slow start doubles every other round trip and measures in between.
        double_every_other: bool = flag(true), "Brakmo & Peterson 1995; Linux: every round trip";
        /// Spread an increase over the round that follows.
        spread_increase: bool = flag(false), "ns-2 tcp-vegas.cc";
        /// Part of the window given up on a loss.
        decrease: f64 = num(0.25, 0.0, 1.0, ""), "ns-2 tcp-vegas.cc; Linux has 0.5";
        /// Window after a timeout.
        timeout_window: f64 = num(1.0, 1.0, 10.0, "segments"), "RFC 5681 §3.1; ns-2 has 2";
        /// Forget the base RTT when sending resumes after an idle time.
        forget_base: bool = flag(false), "Linux tcp_vegas.c";
    }
}

/// Smallest window, segments.
const FLOOR: f64 = 2.0;

/// TCP Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    p: VegasParams,
    w: f64,
    ssthresh: f64,
    initial_window: f64,
    slow_starting: bool,
    /// In a round of slow start that grows, not one that measures.
    growing: bool,
    /// Off between a timeout and the end of its recovery: standard slow start.
    enabled: bool,
    base: f64,
    rtt_sum: f64,
    rtt_min: f64,
    samples: u32,
    round_began: f64,
    /// Growth for each segment acknowledged, while an increase is spread.
    per_ack: f64,
    saved: Option<(f64, f64, bool)>,
}

impl Vegas {
    /// What the registry says about it.
    pub const ENTRY: Entry = Entry {
        name: "vegas",
        title: "TCP Vegas",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "Brakmo & Peterson, JSAC 13(8), 1995",
        doc: "Once a round trip it compares its window with what the base RTT would need: with fewer than alpha segments in \
              queues it grows by one, with more than beta it shrinks by one. The default is the paper's arithmetic.",
        presets: &[
            Preset { name: "", title: "JSAC 1995, alpha 2, beta 4", overrides: &[] },
            Preset {
                name: "ns2",
                title: "ns-2 TCP/Vegas: alpha 1, beta 3",
                overrides: &[
                    ("alpha", Setting::Num(1.0)),
                    ("beta", Setting::Num(3.0)),
                    ("diff", Setting::Text("ns2")),
                    ("spread_increase", Setting::Bool(true)),
                    ("timeout_window", Setting::Num(2.0)),
                ],
            },
            Preset {
                name: "linux",
                title: "Linux",
                overrides: &[
                    ("diff", Setting::Text("linux")),
                    ("round_rtt", Setting::Text("min")),
                    ("samples_min", Setting::Num(3.0)),
                    ("double_every_other", Setting::Bool(false)),
                    ("decrease", Setting::Num(0.5)),
                    ("forget_base", Setting::Bool(true)),
                ],
            },
        ],
        tables: &[VegasParams::TABLE],
    };

    /// # Errors
    /// As [`Settings::read`], and [`BuildError::Conflict`] where `alpha` is above `beta`.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = VegasParams::read(settings)?;
        if p.alpha > p.beta {
            return settings.conflict(format!("alpha {} must not be above beta {}", p.alpha, p.beta));
        }
        Ok(Self {
            p,
            w: 1.0,
            ssthresh: f64::INFINITY,
            initial_window: 1.0,
            slow_starting: true,
            growing: !p.double_every_other,
            enabled: true,
            base: f64::INFINITY,
            rtt_sum: 0.0,
            rtt_min: f64::INFINITY,
            samples: 0,
            round_began: 0.0,
            per_ack: 0.0,
            saved: None,
        })
    }

    /// Segments of this flow in queues.
    fn diff(&self, rtt: f64) -> f64 {
        match self.p.diff {
            Diff::Paper => self.w * (1.0 - self.base / rtt),
            Diff::Ns2 => (self.w * (1.0 - self.base / rtt) + 0.5).floor(),
            Diff::Linux => (self.w * (rtt - self.base) / self.base).floor(),
        }
    }

    fn leave_slow_start(&mut self) {
        self.slow_starting = false;
        self.growing = false;
        self.per_ack = 0.0;
    }

    fn round_in_slow_start(&mut self, rtt: f64) {
        let measured = !self.p.double_every_other || !self.growing;
        if measured && self.diff(rtt) > self.p.gamma {
            self.leave_slow_start();
            self.w = if self.p.diff == Diff::Linux {
                self.w.min((self.w * self.base / rtt).floor() + 1.0)
            } else {
                self.w * 7.0 / 8.0
            }
            .max(FLOOR);
            self.ssthresh = self.ssthresh.min(self.w);
        } else if self.p.double_every_other {
            self.growing = !self.growing;
        }
    }

    fn round_in_avoidance(&mut self, rtt: f64, may_grow: bool) {
        let diff = self.diff(rtt);
        self.per_ack = 0.0;
        if diff > self.p.beta {
            self.w = (self.w - 1.0).max(FLOOR);
            self.ssthresh = self.ssthresh.min(self.w);
        } else if diff < self.p.alpha {
            if self.p.spread_increase {
                self.per_ack = 1.0 / self.w;
            } else if may_grow {
                self.w += 1.0;
            }
        }
    }

    /// The decision of a round that ends with this ACK.
    fn end_round(&mut self, ack: &Ack) {
        let enough = f64::from(self.samples) >= self.p.samples_min;
        if enough {
            let rtt = match self.p.round_rtt {
                RoundRtt::Mean => self.rtt_sum / f64::from(self.samples),
                RoundRtt::Min => self.rtt_min,
            };
            if self.slow_starting {
                self.round_in_slow_start(rtt);
            } else {
                self.round_in_avoidance(rtt, ack.may_grow());
            }
            if self.p.diff == Diff::Linux {
                // Linux keeps the threshold at three quarters of the window.
                self.ssthresh = self.ssthresh.max(0.75 * self.w);
            }
        } else if !self.slow_starting && ack.may_grow() {
            self.w += ack.acked / self.w;
        }
        self.forget_round(ack.now);
    }

    fn forget_round(&mut self, now: f64) {
        (self.samples, self.rtt_sum, self.rtt_min, self.round_began) = (0, 0.0, f64::INFINITY, now);
    }

    fn reduce(&mut self, signal: &Signal) {
        self.saved = Some((self.w, self.ssthresh, self.slow_starting));
        let given_up = (self.p.decrease * self.w).floor();
        self.ssthresh = (self.w - given_up).max(FLOOR);
        self.leave_slow_start();
        self.forget_round(signal.now);
    }
}

impl Algorithm for Vegas {
    fn on_start(&mut self, start: &Start) {
        self.w = start.initial_window.max(1.0);
        self.initial_window = self.w;
        self.ssthresh = start.initial_ssthresh.max(FLOOR);
        self.slow_starting = self.w < self.ssthresh;
        self.round_began = start.now;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
        }
        if ack.in_recovery {
            return;
        }
        if ack.round_start && self.enabled {
            self.end_round(ack);
        }
        if let Some(rtt) = ack.rtt {
            self.samples += 1;
            self.rtt_sum += rtt;
            self.rtt_min = self.rtt_min.min(rtt);
        }
        if !ack.window_limited {
            return;
        }
        if self.slow_starting {
            if self.growing || !self.enabled {
                self.w = (self.w + ack.acked).min(self.ssthresh);
            }
            if self.w >= self.ssthresh {
                self.leave_slow_start();
            }
        } else if self.per_ack > 0.0 {
            self.w += self.per_ack * ack.acked;
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.reduce(signal);
        self.w = self.ssthresh;
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.reduce(signal);
        self.ssthresh = self.saved.map_or(FLOOR, |(w, _, _)| w / 2.0).max(FLOOR);
        self.w = self.p.timeout_window;
        self.slow_starting = self.w < self.ssthresh;
        self.growing = !self.p.double_every_other;
        self.enabled = self.p.diff != Diff::Linux;
    }

    fn on_idle(&mut self, now: f64, _idle: f64) {
        self.w = self.w.min(self.initial_window);
        self.per_ack = 0.0;
        self.forget_round(now);
        if self.p.forget_base {
            self.base = f64::INFINITY;
        }
    }

    fn on_recovery_exit(&mut self, now: f64) {
        self.enabled = true;
        self.forget_round(now);
    }

    fn on_undo(&mut self, _now: f64) {
        if let Some((w, ssthresh, slow_starting)) = self.saved.take() {
            self.w = self.w.max(w);
            self.ssthresh = self.ssthresh.max(ssthresh);
            self.slow_starting = slow_starting && self.w < self.ssthresh;
        }
    }

    fn moderate(&mut self, window: f64) {
        self.w = self.w.min(window.max(1.0));
    }

    #[inline]
    fn window(&self) -> f64 {
        self.w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
}
