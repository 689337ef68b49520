//! TCP Vegas (Brakmo L, Peterson L, "TCP Vegas: end to end congestion avoidance on a global internet", JSAC 13(8),
//! 1995). Once a round trip the window changes by at most one segment, so that between `alpha` and `beta` of the flow's
//! own segments wait in queues.
//!
//! Variant: the paper's rules as later sources report them, since the paper's text on parameters was not available. The
//! RTT is the mean of the round, the window doubles every other round trip in slow start, recovery is standard TCP's,
//! and a loss reduces the window by a quarter. Not modelled: the fine-grained retransmission timer, which belongs to
//! the endpoint, and the halving for a segment lost twice.
//!
//! Differences:
//! * ns-2 (preset `ns2`) rounds the difference and spreads the increase over a round. A round with one segment in
//!   flight may raise the base RTT there, which is not copied.
//! * Linux (preset `linux`) divides by the base RTT and not by the RTT, so the difference is larger, and takes it in
//!   whole segments. It uses the smallest RTT of the round, doubles the window every round trip of slow start and
//!   halves it on a loss.
//! * Linux 2.6 (preset `linux-2.6`, which ns-2's TCP/Linux runs) divides by the RTT in halves of a segment, and takes
//!   the number of segments sent in the previous round for the window. After each recovery it counts rounds anew, from
//!   the start of the last round before it. It leaves slow start with a threshold of 2 and never changes it otherwise.
//! * ns-3 (preset `ns3`) is Linux with the paper's difference rounded up. The threshold stays between three quarters of
//!   the window and one segment below it, and a loss sets the window to that threshold, and not to half of the window.
//! * INET changes the window by a segment with every ACK of a round and subtracts unsigned numbers; it has no preset.

mod module;
mod parameters;

pub use self::parameters::{Diff, VegasParams};
use self::parameters::{FLOOR, Linux26};
use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::linux;
use crate::linux::Restart;
use crate::loss_window::window_getters;
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, switch, value, word};
use crate::plain_window::PlainWindow;
use crate::reports::{Signal, Start};
use crate::round_trip::{AckedBeyond, RoundRtt, RoundTrip};

/// TCP Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    p: VegasParams,
    win: PlainWindow,
    slow_starting: bool,
    /// True in a round of slow start in which the window grows, false in a round that only measures.
    growing: bool,
    /// False from a timeout to the end of the recovery; until then standard slow start applies.
    enabled: bool,
    base: f64,
    round: RoundTrip,
    /// Growth for each segment acknowledged, while an increase is spread.
    per_ack: f64,
    /// Segments in queues at the last decision; NaN before the first decision.
    last_diff: f64,
    linux26: Linux26,
    /// End of the round trip in Linux (`beg_snd_nxt`).
    end: AckedBeyond,
    /// True if the flow was in slow start before the last signal.
    saved: bool,
}

impl Vegas {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "vegas",
        title: "TCP Vegas",
        kind: Kind::Delay,
        signals: &["RTT", "loss"],
        source: "Brakmo & Peterson, JSAC 13(8), 1995",
        doc: "Once a round trip, Vegas compares its window with the window needed at the base RTT. The window \
              grows by one segment if fewer than alpha segments are in queues, and shrinks by one segment if more than \
              beta are. The default is the paper's arithmetic.",
        presets: &[
            Preset::new("", "JSAC 1995, alpha 2, beta 4", &[]),
            Preset::new(
                "ns2",
                "ns-2 TCP/Vegas: alpha 1, beta 3",
                &[
                    value("alpha", 1.0),
                    value("beta", 3.0),
                    word("diff", "ns2"),
                    switch("spread_increase", true),
                    value("timeout_window", 2.0),
                ],
            ),
            Preset::new(
                "linux",
                "Linux",
                &[
                    word("diff", "linux"),
                    word("round_rtt", "min"),
                    value("samples_min", 3.0),
                    switch("double_every_other", false),
                    value("decrease", 0.5),
                    switch("forget_base", true),
                ],
            ),
            Preset::new(
                "ns3",
                "ns-3",
                &[
                    word("diff", "ns3"),
                    word("round_rtt", "min"),
                    value("samples_min", 3.0),
                    switch("double_every_other", false),
                ],
            ),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, as in ns-2's TCP/Linux",
                &[
                    word("diff", "linux-2.6"),
                    word("round_rtt", "min"),
                    value("samples_min", 3.0),
                    switch("double_every_other", false),
                    value("decrease", 0.5),
                    switch("forget_base", true),
                ],
            ),
        ],
        tables: &[VegasParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if `alpha` is above `beta`.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = VegasParams::read(settings)?;
        if p.alpha > p.beta {
            return settings.conflict(format!("alpha {} must not be above beta {}", p.alpha, p.beta));
        }
        Ok(Self {
            p,
            win: PlainWindow::NEW,
            slow_starting: true,
            growing: true,
            enabled: true,
            base: f64::INFINITY,
            round: RoundTrip::NEW,
            per_ack: 0.0,
            last_diff: f64::NAN,
            linux26: Linux26::default(),
            end: AckedBeyond::NEW,
            saved: false,
        })
    }

    /// Segments of this flow in queues.
    fn diff(&self, rtt: f64) -> f64 {
        match self.p.diff {
            Diff::Paper => self.win.w * (1.0 - self.base / rtt),
            Diff::Ns2 => (self.win.w * (1.0 - self.base / rtt) + 0.5).floor(),
            Diff::Ns3 => self.win.w.floor() - (self.win.w.floor() * self.base / rtt).floor(),
            Diff::Linux26 => (2.0 * self.win.w - self.target_linux26(self.win.w, rtt)) / 2.0,
            // Linux computes in whole microseconds.
            Diff::Linux => (self.win.w * ((rtt - self.base) * 1e6).round() / (self.base * 1e6).round()).floor(),
        }
    }

    /// Lowers the window, but not below the floor. A window already below the floor, after a timeout or moderation, is
    /// not raised.
    fn lower_to(&mut self, w: f64) {
        self.win.w = w.max(FLOOR.min(self.win.w));
    }

    fn leave_slow_start(&mut self) {
        self.slow_starting = false;
        self.growing = false;
        self.per_ack = 0.0;
    }

    /// Lowers the threshold to the window, so that a lowered window does not cause slow start.
    fn lower_threshold(&mut self) {
        let below = if self.p.diff == Diff::Ns3 { (self.win.w - 1.0).max(FLOOR) } else { self.win.w };
        self.win.ssthresh = self.win.ssthresh.min(below);
    }

    fn round_in_slow_start(&mut self, rtt: f64) {
        let measured = !self.p.double_every_other || !self.growing;
        if measured {
            self.last_diff = self.diff(rtt);
        }
        if measured && self.last_diff > self.p.gamma {
            self.leave_slow_start();
            let lowered = if matches!(self.p.diff, Diff::Linux | Diff::Ns3) {
                self.win.w.min((self.win.w * self.base / rtt).floor() + 1.0)
            } else {
                self.win.w * 7.0 / 8.0
            };
            self.lower_to(lowered);
            self.lower_threshold();
        } else if self.p.double_every_other {
            self.growing = !self.growing;
        }
    }

    fn round_in_avoidance(&mut self, rtt: f64, may_grow: bool) {
        let diff = self.diff(rtt);
        self.last_diff = diff;
        self.per_ack = 0.0;
        if diff > self.p.beta {
            self.lower_to(self.win.w - 1.0);
            self.lower_threshold();
        } else if diff < self.p.alpha {
            if self.p.spread_increase {
                self.per_ack = 1.0 / self.win.w;
            } else if may_grow {
                self.win.w += 1.0;
            }
        }
    }

    /// Changes the window at the end of a round; this ACK ends the round.
    fn end_round(&mut self, ack: &Ack) {
        let enough = f64::from(self.round.samples) >= self.p.samples_min;
        if enough {
            let rtt = self.round.rtt(self.p.round_rtt);
            if self.slow_starting {
                self.round_in_slow_start(rtt);
            } else {
                self.round_in_avoidance(rtt, ack.may_grow());
            }
            if matches!(self.p.diff, Diff::Linux | Diff::Ns3) {
                // Linux and ns-3 keep the threshold at three quarters of the window.
                self.win.ssthresh = self.win.ssthresh.max(0.75 * self.win.w);
            }
        } else if !self.slow_starting && ack.may_grow() {
            self.win.w += ack.acked / self.win.w;
        }
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.round = RoundTrip::NEW;
    }

    fn reduce(&mut self, signal: &Signal) {
        self.win.save(signal);
        self.saved = if signal.repeated { self.saved } else { self.slow_starting };
        let given_up = self.p.decrease * self.win.w;
        // Linux rounds the remaining window down (tcp_reno_ssthresh); the other forms round the decrease down.
        let given_up =
            if matches!(self.p.diff, Diff::Linux | Diff::Linux26) { given_up.ceil() } else { given_up.floor() };
        if self.p.diff == Diff::Ns3 {
            self.lower_threshold();
        } else {
            self.win.ssthresh = (self.win.w - given_up).max(FLOOR);
        }
        self.linux26.counted = 0.0;
        self.leave_slow_start();
        self.forget_round();
    }
}

observed! {
    self: Vegas;
    /// Smallest RTT (BaseRTT).
    base_s = self.base, number(Unit::Seconds);
    /// Segments of the flow in queues (Diff) at the last decision; null before the first one.
    diff = self.last_diff, number(Unit::Segments);
    /// 1 during slow start.
    slow_starting = self.slow_starting, plain();
    /// RTT samples of the current round trip.
    samples = self.round.samples, number(Unit::Samples);
}

impl Vegas {
    fn on_start(&mut self, start: &Start) {
        let whole = self.p.diff == Diff::Linux26;
        let initial_window = if whole { start.initial_window.floor() } else { start.initial_window };
        self.win.start(&Start { initial_window, ..*start }, FLOOR);
        self.slow_starting = self.win.w < self.win.ssthresh;
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.reduce(signal);
        self.win.w = self.win.ssthresh;
        self.enabled = !matches!(self.p.diff, Diff::Linux26 | Diff::Ns3);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        let (w, ssthresh) = (self.win.w, self.win.ssthresh);
        self.reduce(signal);
        let half = if self.p.diff == Diff::Ns3 {
            ssthresh.min(w - 1.0)
        } else if matches!(self.p.diff, Diff::Linux | Diff::Linux26) {
            (w / 2.0).floor()
        } else {
            w / 2.0
        };
        self.win.ssthresh = if signal.repeated { ssthresh } else { half.max(FLOOR) };
        self.win.w = self.p.timeout_window + signal.kept;
        self.slow_starting = self.win.w < self.win.ssthresh;
        self.growing = true;
        self.enabled = !matches!(self.p.diff, Diff::Linux | Diff::Linux26 | Diff::Ns3);
    }

    fn on_idle(&mut self) {
        self.win.idle();
        self.per_ack = 0.0;
        self.linux26.enable = true;
        self.forget_round();
        if self.p.forget_base {
            self.base = f64::INFINITY;
        }
    }

    /// Forgets all samples (`tcp_vegas_cwnd_event`).
    fn on_restart(&mut self, restart: &Restart) {
        self.base = f64::INFINITY;
        self.end.begin(restart.next);
        self.forget_round();
    }

    fn on_recovery_exit(&mut self) {
        self.enabled = true;
        self.linux26.enable = true;
        self.forget_round();
    }

    fn on_undo(&mut self) {
        if self.win.undo() {
            self.slow_starting = self.saved && self.win.w < self.win.ssthresh;
        }
        // The timeout ends any recovery.
        self.on_recovery_exit();
    }

    fn keep(&mut self, window: f64) {
        self.win.w = window.max(1.0);
        self.slow_starting = self.win.w < self.win.ssthresh;
    }

    fn moderate(&mut self, window: f64) {
        if window < self.win.w {
            let linux26 = self.p.diff == Diff::Linux26;
            self.win.moderate(if linux26 { window.floor() } else { window });
            self.slow_starting = self.win.w < self.win.ssthresh;
            self.growing = true;
        }
    }
}

impl Algorithm for Vegas {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.p.diff == Diff::Linux26 {
            self.ack_linux26(ack);
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
        }
        if let Some(sample) = ack.sample.filter(|_| self.p.diff == Diff::Linux) {
            self.ack_linux(ack, &sample);
            return;
        }
        if ack.in_recovery {
            return;
        }
        self.round.add(ack);
        // The ACK that starts a round acknowledges a segment of the previous round.
        if ack.round_start && self.enabled {
            self.end_round(ack);
        }
        if !ack.window_limited {
            return;
        }
        if self.slow_starting {
            if self.growing || !self.enabled {
                self.win.w = (self.win.w + ack.acked).min(self.win.ssthresh);
            }
            if self.win.w >= self.win.ssthresh {
                self.leave_slow_start();
            }
        } else if self.per_ack > 0.0 {
            self.win.w += self.per_ack * ack.acked;
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.on_idle(),
            Event::Moderate { window } => self.moderate(window),
            Event::Keep { window } => self.keep(window),
            Event::RecoveryExit { .. } => self.on_recovery_exit(),
            Event::Undo { .. } => self.on_undo(),
            Event::Linux(linux::Event::Restart(ref restart)) => self.on_restart(restart),
            Event::Linux(linux::Event::IdleTimeouts { timeouts }) => self.win.restart_after(timeouts),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        let of_linux = self.p.diff == Diff::Linux;
        Needs {
            restarts: of_linux,
            idle_timeouts: of_linux,
            every_rtt: self.p.round_rtt == RoundRtt::Mean,
            every_ack: true,
            ..Needs::default()
        }
    }

    window_getters!();

    fn recovery_floor(&self) -> f64 {
        self.win.ssthresh * 0.5
    }
}

#[cfg(test)]
mod tests;
