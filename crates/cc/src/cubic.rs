//! CUBIC (RFC 9438; Rhee I, Xu L, "CUBIC: a new TCP-friendly high-speed TCP variant", PFLDnet 2005). The window is a
//! cubic function of the time since the last loss, flat around the window at which that loss happened.
//!
//! Variant: RFC 9438, equations by number. The default differs from the RFC in two rules. Slow start ends by HyStart
//! and not by HyStart++ (`slow_start = hystart++` gives the RFC's rule). A loss reduces the window and not the flight
//! size (`reduce_from = flight` follows the RFC literally). RFC 9438 §4.6 allows this reduction if the window does not
//! grow while the application limits the flow; here this condition holds.
//!
//! Presets:
//! * `2005` keeps 0.8 of the window on a loss, grows by at most `s_max` segments/s (value not verified in the paper)
//!   and estimates Reno's window from the time. This preset does not bound the growth in a round trip to a factor of
//!   1.5.
//! * `linux` is Linux 5.x and later with whole segments, time in units of 1/1024 s and a divisor computed once a
//!   millisecond. The cube root is exact here; Linux's is within 0.2 %.
//! * `linux-2.6` is Linux 2.6.22, with the growth cap above the origin only and an estimate of segments per ACK.
//! * `ns2` is `linux-2.6` without TCP timestamps, which ns-2's TCP/Linux does not use by default. The smallest RTT
//!   stays unknown, which disables the cap.
//!
//! In all presets the window grows by at most one segment for each segment acknowledged, as in slow start. The time of
//! the cubic function stops while the flow is idle or limited by the application (in Linux only while it is idle).

mod root;

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::jiffies::Jiffies;
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{AckRatio, Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Setting, Settings, choice, choices, flag, num, params, switch, value, word,
};
use crate::reports::{Cause, Signal, Start};

choices! {
    /// Estimate of the window of a standard TCP flow:
    /// * `acked`: the estimate grows with each segment acknowledged (RFC 9438, equation 4).
    /// * `time`: the estimate is a function of the time since the loss (RFC 8312, equation 4; PFLDnet 2005).
    /// * `off`: there is no estimate of Reno's window.
    pub enum RenoEstimate { Acked = "acked", Time = "time", Off = "off" }

    /// Scope of the growth cap:
    /// * `always`: the cap applies on both sides of the last maximum (PFLDnet 2005).
    /// * `above-origin`: the cap applies beyond the last maximum (Linux 2.6.22).
    pub enum CapRegion { Always = "always", AboveOrigin = "above-origin" }
}

params! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// Steepness of the curve (C).
        c: f64 = num(0.4, 1e-6, 1e6, Unit::SegmentsPerSecondCubed), "RFC 9438 §5";
        /// Fraction of the window kept on a loss (β_cubic; papers write β for 1 minus this).
        beta: f64 = num(0.7, 0.1, 0.999, Unit::None), "RFC 9438 §4.6; PFLDnet 2005 has 0.8";
        /// Fraction of the window kept on an ECN echo.
        beta_ecn: f64 = num(0.7, 0.1, 0.999, Unit::None), "RFC 9438 §4.6; RFC 8511 §3 allows 0.85";
        /// Set the plateau below the last maximum if that maximum is lower than the one before.
        fast_convergence: bool = flag(true), "RFC 9438 §4.7";
        /// Estimate of the window that standard TCP would have; CUBIC's window is never smaller.
        reno_estimate: RenoEstimate = choice("acked", RenoEstimate::WORDS), "RFC 9438 §4.3";
        /// Largest target, in windows; 0: no limit.
        target_cap: f64 = num(1.5, 0.0, 1e3, Unit::Windows), "RFC 9438 eq. 2";
        /// Largest growth (S_max); 0: no limit.
        s_max: f64 = num(0.0, 0.0, 1e9, Unit::SegmentsPerSecond), "PFLDnet 2005 (value not verified); Linux 2.6.22 has 16 per 0.1 s";
        /// Side of the last maximum on which `s_max` applies.
        s_max_region: CapRegion = choice("always", CapRegion::WORDS), "PFLDnet 2005; Linux 2.6.22";
        /// Use of TCP timestamps, without which Linux 2.6 never learns the smallest RTT. Linux 2.6 form only.
        timestamps: bool = flag(true), "Linux 2.6.22 tcp_cubic.c; ns-2 ts_option_ is off";
    }
}

/// Time after which Linux computes its divisor again if the window has not changed, s (`HZ / 32`).
const LINUX_PERIOD_S: f64 = 1.0 / 32.0;
/// Time after an epoch's start during which Linux ignores RTT samples for the smallest RTT, s (`HZ`).
const LINUX_EARLY_S: f64 = 1.0;
/// Time units per second of Linux's cubic function.
const BICTCP_HZ: f64 = 1024.0;
/// Linux's divisor before the first loss: the largest value in Linux 5.x, and the only value in 2.6.22.
const UNKNOWN_CNT: f64 = 20.0;
const UNKNOWN_CNT_26: f64 = 50.0;

/// State of an epoch: the epoch in progress, or the epoch that is restored if a loss was spurious.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begun: bool,
    start: f64,
    k: f64,
    origin: f64,
    w_est: f64,
    w_max: f64,
    cwnd_prior: f64,
}

const NO_EPOCH: Epoch =
    Epoch { begun: false, start: 0.0, k: 0.0, origin: 0.0, w_est: 0.0, w_max: 0.0, cwnd_prior: 0.0 };

/// State that only Linux's form keeps.
#[derive(Clone, Copy, Debug)]
struct Linux {
    cnt: f64,
    at_window: f64,
    at_time: f64,
    /// Segments (in Linux 2.6 ACKs) counted towards the next segment of `w_est`.
    acked: f64,
    /// Smallest RTT, s; 0 while unknown.
    delay_min: f64,
    beta_scale: f64,
    ratio: AckRatio,
}

/// Linux's state at the start of a connection and after a timeout.
const NO_LINUX: Linux = Linux {
    cnt: 1.0,
    at_window: 0.0,
    at_time: f64::NEG_INFINITY,
    acked: 0.0,
    delay_min: 0.0,
    beta_scale: 0.0,
    ratio: AckRatio::START,
};

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
    linux: Linux,
    jiffies: Jiffies,
    /// True if the sample of the next ACK is already taken.
    is_sampled: bool,
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
        let beta = (p.beta * 1024.0).round();
        let beta_scale = ((8.0 * (1024.0 + beta) / 3.0).floor() / (1024.0 - beta)).floor();
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            alpha: 3.0 * (1.0 - p.beta) / (1.0 + p.beta),
            last_ack: 0.0,
            epoch: NO_EPOCH,
            saved: NO_EPOCH,
            linux: Linux { beta_scale, ..NO_LINUX },
            jiffies: Jiffies::default(),
            is_sampled: false,
        })
    }

    /// W_cubic(t) by equation 1 of RFC 9438; `t` is the time since the epoch began, s.
    #[inline]
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.epoch.k;
        self.p.c * x * x * x + self.epoch.origin
    }

    #[cold]
    fn begin_epoch(&mut self, now: f64) {
        let (e, w) = (&mut self.epoch, self.win.w);
        if e.w_max <= w {
            e.w_max = w;
        }
        // RFC 9438 eq. 2 of §4.2.
        e.k = libm::cbrt((e.w_max - w) / self.p.c);
        (e.begun, e.start, e.origin, e.w_est) = (true, now, e.w_max, w);
        if e.cwnd_prior == 0.0 {
            e.cwnd_prior = w;
        }
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
            self.begin_epoch(ack.now);
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

    fn linux_26(&self) -> bool {
        self.win.arithmetic == Arithmetic::Linux26
    }

    /// Updates Linux's smallest RTT. Linux ignores samples in the first second of an epoch.
    #[inline]
    fn linux_delay(&mut self, ack: &Ack) {
        let since = self.jiffies.between(self.epoch.start, ack.now);
        let early = self.epoch.begun && since < self.jiffies.quotient(LINUX_EARLY_S);
        let Some(rtt) = ack.rtt else { return };
        if early || (self.linux_26() && !self.p.timestamps) {
            return;
        }
        if self.linux.delay_min == 0.0 || rtt < self.linux.delay_min {
            self.linux.delay_min = rtt;
        }
        if let Some(sample) = ack.sample.as_ref().filter(|_| !self.linux_26()) {
            self.win.sample_hystart(ack, sample, self.linux.delay_min);
        }
    }

    /// Linux's divisor from the cubic function: number of acknowledged segments for one segment of window.
    fn linux_cubic_cnt(&self, now: f64) -> f64 {
        let (e, w) = (&self.epoch, self.win.w);
        let hz = self.jiffies.hz();
        // Linux 2.6 takes the delay from TCP timestamps, which count jiffies.
        let delay_jiffies = if self.linux_26() {
            (self.linux.delay_min * hz).floor()
        } else {
            self.jiffies.from_measured(self.linux.delay_min)
        };
        let t = ((self.jiffies.between(e.start, now) + delay_jiffies) * BICTCP_HZ / hz).floor();
        let k = (e.k * BICTCP_HZ).floor();
        let offs = (t - k).abs() / BICTCP_HZ;
        let delta = (self.p.c * offs * offs * offs).floor();
        let target = if t < k { e.origin - delta } else { e.origin + delta };
        let mut cnt = if target > w { (w / (target - w)).floor() } else { 100.0 * w };
        if self.linux_26() && self.p.s_max > 0.0 && self.linux.delay_min > 0.0 {
            // Linux 2.6 keeps the delay in eighths of a jiffy; the delay is at least one eighth.
            let delay = delay_jiffies.max(0.125) / hz;
            if t >= k || self.p.s_max_region == CapRegion::Always {
                cnt = cnt.max((w / (self.p.s_max * delay)).floor());
            }
        }
        cnt
    }

    /// Linux's rules for one ACK in congestion avoidance.
    fn grow_linux(&mut self, now: f64, n: f64) {
        self.linux.acked += n;
        let w = self.win.w;
        let elapsed = self.jiffies.between(self.linux.at_time, now);
        if self.linux.at_window != w || elapsed > self.jiffies.quotient(LINUX_PERIOD_S) {
            if !(self.epoch.begun && elapsed == 0.0) || self.linux_26() {
                if !self.epoch.begun {
                    let unknown = self.epoch.w_max;
                    self.begin_epoch(now);
                    // Linux does not use the window at an epoch's start as a maximum.
                    self.epoch.w_max = unknown;
                    self.linux.acked = n;
                    if !self.linux_26() {
                        let missing = self.epoch.origin - w;
                        self.epoch.k = root::time_to(missing, (self.p.c * 1024.0).round()) / BICTCP_HZ;
                    }
                }
                self.linux.at_window = w;
                self.linux.at_time = now;
                self.linux.cnt = self.linux_cubic_cnt(now);
                if self.epoch.w_max == 0.0 {
                    let most = if self.linux_26() { UNKNOWN_CNT_26 } else { self.linux.cnt.min(UNKNOWN_CNT) };
                    self.linux.cnt = most;
                }
            }
            self.linux_friendly(w);
        }
        self.win.grow_one_in(n, self.linux.cnt);
    }

    /// Updates Linux's Reno estimate, and applies the last limits on the divisor.
    fn linux_friendly(&mut self, w: f64) {
        let l = &mut self.linux;
        if self.p.reno_estimate != RenoEstimate::Off {
            let per_segment = (w * l.beta_scale / 8.0).floor().max(1.0);
            // Linux adds segments while the count exceeds the divisor.
            let steps = ((l.acked / per_segment).ceil() - 1.0).max(0.0);
            l.acked -= steps * per_segment;
            self.epoch.w_est += steps;
            if self.epoch.w_est > w {
                l.cnt = l.cnt.min((w / (self.epoch.w_est - w)).floor());
            }
        }
        l.cnt = if self.win.arithmetic == Arithmetic::Linux26 { l.ratio.divide(l.cnt) } else { l.cnt.max(2.0) };
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
    /// Time from the epoch's start to the last ACK (t); null when K is null.
    t_s = self.in_epoch(self.last_ack - self.epoch.start), number(Unit::Seconds);
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
        self.jiffies = Jiffies::new(start.hz);
        self.last_ack = start.now;
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        // Linux moves the epoch only after an idle period (`cubictcp_cwnd_event`).
        if !ack.window_limited && (self.win.arithmetic != Arithmetic::Linux || ack.sample.is_none()) {
            self.freeze(ack.now - self.last_ack, ack.now);
        }
        self.last_ack = ack.now;
        if self.win.integer() && ack.acked > 0.0 {
            if !std::mem::take(&mut self.is_sampled) {
                self.linux_delay(ack);
            }
            if !ack.in_recovery {
                self.linux.ratio.update(ack.acked);
            }
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if self.win.integer() {
            self.grow_linux(ack.now, n);
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
        if self.linux_26() {
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
        self.linux = Linux { beta_scale: self.linux.beta_scale, ..NO_LINUX };
    }

    fn on_linux(&mut self, event: &linux::Event) {
        match event {
            linux::Event::Sample(ack) if self.win.integer() => {
                self.linux_delay(ack);
                self.is_sampled = true;
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
