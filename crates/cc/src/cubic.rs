//! CUBIC (RFC 9438; Rhee I, Xu L, "CUBIC: a new TCP-friendly high-speed TCP variant", PFLDnet 2005). It remembers the
//! window at which it last lost a packet and returns to it fast, then lingers there before it probes beyond: the window
//! is a cubic function of the time since that loss.
//!
//! Variant: RFC 9438, equations by number, but for two rules. Slow start ends by HyStart and not by HyStart++
//! (`slow_start = hystart++` gives the RFC's rule), and a loss reduces the window and not the flight size (`reduce_from
//! = flight` follows the RFC literally), which RFC 9438 §4.6 allows if the window does not grow while the application
//! limits the flow, as is the case here.
//!
//! Presets:
//! * `2005` keeps 0.8 of the window on a loss, grows by at most `s_max` segments/s (value not verified in the paper)
//!   and estimates Reno's window from the time. It does not bound the growth in a round trip to a factor of 1.5.
//! * `linux` is Linux 5.x and later with whole segments, time in units of 1/1024 s and a divisor computed once a
//!   millisecond (`module`).
//! * `linux-2.6` is Linux 2.6.22, with the growth cap above the origin only and an estimate of segments per ACK.
//! * `ns2` is `linux-2.6` without TCP timestamps, which ns-2's TCP/Linux does not use by default. The smallest RTT then
//!   stays unknown, which disables the cap.
//!
//! In all presets the window grows by at most one segment for each segment acknowledged, as in slow start. The time of
//! the cubic function stops while the flow is idle or limited by the application (in Linux only while it is idle).

mod module;
mod parameters;
mod root;

use self::module::Module;
pub use self::parameters::{CapRegion, CubicParams, RenoEstimate};
use self::parameters::{Epoch, NO_EPOCH};
use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, switch, value, word};
use crate::reports::{Cause, Signal, Start};

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    win: LossWindow,
    p: CubicParams,
    /// Increase of standard TCP that matches β: 3(1-β)/(1+β) segments a round trip (RFC 9438 §4.3).
    alpha: f64,
    last_ack: f64,
    epoch: Epoch,
    saved: Epoch,
    linux: Module,
}

impl Cubic {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "cubic",
        title: "CUBIC",
        kind: Kind::Loss,
        signals: &["loss", "ECN", "RTT"],
        source: "RFC 9438; Rhee & Xu, PFLDnet 2005; Ha, Rhee & Xu, 2008",
        doc: "The window is a cubic function of the time since the last loss. The window grows fast up to its value at \
              that loss, slowly around this value, and then faster and faster. CUBIC's window is never smaller than \
              the window that standard TCP would have. The default is RFC 9438 with HyStart; a loss reduces the window \
              and not the flight size.",
        presets: &[
            Preset::new("", "RFC 9438", &[word("slow_start", "hystart")]),
            Preset::new(
                "abe",
                "RFC 9438 with RFC 8511: keeps 0.85 on an ECN echo",
                &[word("slow_start", "hystart"), value("beta_ecn", 0.85)],
            ),
            Preset::new(
                "rfc8312",
                "RFC 8312: closed form of the Reno window, no cap on the target",
                &[word("slow_start", "standard"), word("reno_estimate", "time"), value("target_cap", 0.0)],
            ),
            Preset::new(
                "2005",
                "PFLDnet 2005: keeps 0.8, at most 160 segments/s",
                &[
                    word("slow_start", "standard"),
                    value("beta", 0.8),
                    value("beta_ecn", 0.8),
                    word("reno_estimate", "time"),
                    value("target_cap", 0.0),
                    value("s_max", 160.0),
                ],
            ),
            Preset::new(
                "linux",
                "Linux 5.x and later",
                &[
                    word("slow_start", "hystart"),
                    word("arithmetic", "linux"),
                    value("c", 410.0 / 1024.0),
                    value("beta", 717.0 / 1024.0),
                    value("beta_ecn", 717.0 / 1024.0),
                ],
            ),
            Preset::new("linux-2.6", "Linux 2.6.22", &Self::linux26(true)),
            Preset::new("ns2", "ns-2.35 TCP/Linux: Linux 2.6.22 without timestamps", &Self::linux26(false)),
        ],
        tables: &[CubicParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    const fn linux26(timestamps: bool) -> [(&'static str, Setting); 8] {
        [
            word("slow_start", "standard"),
            word("arithmetic", "linux-2.6"),
            value("c", 410.0 / 1024.0),
            value("beta", 819.0 / 1024.0),
            value("beta_ecn", 819.0 / 1024.0),
            value("s_max", 160.0),
            word("s_max_region", "above-origin"),
            switch("timestamps", timestamps),
        ]
    }

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = CubicParams::read(settings)?;
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            alpha: 3.0 * (1.0 - p.beta) / (1.0 + p.beta),
            last_ack: 0.0,
            epoch: NO_EPOCH,
            saved: NO_EPOCH,
            linux: Module::new(p.beta),
        })
    }

    /// W_cubic(t) by equation 1 of RFC 9438; `t` is the time since the epoch began, s.
    #[inline]
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.epoch.k;
        self.p.c * x * x * x + self.epoch.origin
    }

    /// The estimate of Reno's window (W_est, RFC 9438 §4.3), after `inv` windows were acknowledged.
    #[inline]
    fn reno_window(&mut self, t: f64, srtt: f64, inv: f64) -> f64 {
        match self.p.reno_estimate {
            RenoEstimate::Acked => {
                let e = &mut self.epoch;
                e.w_est += inv * if e.w_est >= e.cwnd_prior { 1.0 } else { self.alpha };
                e.w_est
            }
            RenoEstimate::Time if srtt > 0.0 => self.p.beta * self.epoch.w_max + self.alpha * t / srtt,
            RenoEstimate::Time | RenoEstimate::Off => 0.0,
        }
    }

    /// Applies RFC 9438 §4.2 to §4.5 to an ACK of `n` segments in congestion avoidance.
    #[inline]
    fn grow_fluid(&mut self, ack: &Ack, n: f64) {
        if !self.epoch.begun {
            self.epoch.begin(ack.now, self.win.w, self.p.c);
        }
        let t = ack.now - self.epoch.start;
        let w = self.win.w;
        let inv = n / w;
        let w_est = self.reno_window(t, ack.srtt, inv);
        if self.w_cubic(t) < w_est {
            self.win.w = w.max(w_est.min(w + n));
            return;
        }
        let mut target = self.w_cubic(t + ack.srtt).max(w);
        if self.p.target_cap > 0.0 {
            target = target.min(self.p.target_cap * w);
        }
        if self.p.s_max > 0.0 && (self.p.s_max_region == CapRegion::Always || t >= self.epoch.k) {
            target = target.min(w + self.p.s_max * ack.srtt);
        }
        self.win.w = w + (inv * (target - w).max(0.0)).min(n);
    }

    /// `value` during an epoch; NaN if there is no epoch.
    fn in_epoch(&self, value: f64) -> f64 {
        if self.epoch.begun { value } else { f64::NAN }
    }

    /// W_est; NaN if Reno's window is not estimated from ACKs. An estimate from the time has no state.
    fn reno_estimate(&self) -> f64 {
        match self.p.reno_estimate {
            RenoEstimate::Off => f64::NAN,
            RenoEstimate::Time if !self.win.integer() => f64::NAN,
            RenoEstimate::Time | RenoEstimate::Acked => self.epoch.w_est,
        }
    }

    /// Excludes a period of `seconds`, such as an idle period, from the epoch: moves the epoch's start forward.
    fn freeze(&mut self, seconds: f64, now: f64) {
        for epoch in [&mut self.epoch, &mut self.saved] {
            epoch.start = (epoch.start + seconds).min(now);
        }
    }
}

observed! {
    self: Cubic, self.win;
    /// Time from the beginning of an epoch to its plateau (K); null between a loss and the first growth after it.
    k_s = self.in_epoch(self.epoch.k), number(Unit::Seconds);
    /// Time from the epoch's start to the last ACK (t), without the idle periods before that ACK; null when K is null.
    t_s = self.in_epoch(self.epoch.elapsed), number(Unit::Seconds);
    /// Window of the plateau, which is the cubic function's value at t = K; null when K is null.
    origin = self.in_epoch(self.epoch.origin), number(Unit::Segments);
    /// Window at the last loss, after fast convergence (W_max).
    w_max = self.epoch.w_max, number(Unit::Segments);
    /// Window that standard TCP would have (W_est), if it is estimated from ACKs; null otherwise.
    w_est = self.in_epoch(self.reno_estimate()), number(Unit::Segments);
}

impl LossBased for Cubic {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        let is_linux = self.win.arithmetic == Arithmetic::Linux;
        Needs { hz: self.win.integer(), restarts: is_linux, ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.linux.start(start.hz);
        self.last_ack = start.now;
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        // Linux moves the epoch only after an idle period (`cubictcp_cwnd_event`).
        if !ack.window_limited && (self.win.arithmetic != Arithmetic::Linux || ack.sample.is_none()) {
            self.freeze(ack.now - self.last_ack, ack.now);
        }
        self.last_ack = ack.now;
        self.epoch.elapsed = ack.now - self.epoch.start;
        if self.win.integer() && ack.acked > 0.0 {
            self.linux.measure(ack, &self.epoch, (&self.p, &mut self.win));
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if self.win.integer() {
            self.linux.grow(ack.now, n, &mut self.epoch, (&self.p, &mut self.win));
        } else {
            self.grow_fluid(ack, n);
        }
    }

    /// Records the maximum; returns the window after a loss (RFC 9438 §4.6, §4.7).
    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.saved = self.epoch;
        let w = self.win.w;
        let beta = if signal.cause == Cause::Ecn { self.p.beta_ecn } else { self.p.beta };
        let converge = self.p.fast_convergence && w < self.epoch.w_max;
        self.epoch.w_max = if converge { self.win.whole(w * (1.0 + beta) / 2.0) } else { w };
        self.epoch.cwnd_prior = w;
        self.epoch.begun = false;
        if self.win.arithmetic == Arithmetic::Linux26 {
            // Linux 5 keeps the divisor for 1/32 s if the loss leaves the window of the divisor's last update. The studies
            // with Linux 2.6 are reproduced with a new divisor.
            self.linux.at_window = 0.0;
        }
        let keep = if self.win.must_halve() { 0.5 } else { beta };
        keep * self.win.reduced_from(signal)
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        // The next epoch starts from the window that slow start reaches (RFC 9438 §4.8; Linux also forgets the whole
        // state).
        self.epoch = NO_EPOCH;
        self.linux.forget();
    }

    fn on_linux(&mut self, event: &linux::Event) {
        match event {
            linux::Event::Sample(ack) if self.win.integer() => {
                self.linux.sample(ack, &self.epoch, (&self.p, &mut self.win));
            }
            // The epoch moves by the idle time (`cubictcp_cwnd_event`).
            linux::Event::Restart(restart) => self.freeze(restart.idle, restart.now),
            _ => {}
        }
    }

    fn resume(&mut self, now: f64, idle: f64) {
        self.freeze(idle, now);
        self.last_ack = now;
    }

    fn undone(&mut self, restored: bool) {
        // RFC 9438 §4.9: the epoch is restored only if the loss had lowered the window. Linux restores only the window; the
        // studies with Linux 2.6 are reproduced with the epoch of before.
        if restored && self.win.arithmetic != Arithmetic::Linux {
            self.epoch = self.saved;
        }
    }
}

#[cfg(test)]
mod tests;
