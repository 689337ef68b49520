//! H-TCP (Shorten R, Leith D, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06). The increase depends on the time since the last loss. The decrease depends on the ratio of
//! the smallest to the largest RTT.
//!
//! Variant: adaptive backoff and the bandwidth switch are on, and RTT scaling is off. The ns-2 code of 2005 was not
//! available, and is assumed to have the same settings. Measurements follow Linux. The window grows by at most one
//! segment for each segment acknowledged, as Linux's counter implies. The clock Δ counts from the end of recovery, as
//! in Linux. The clock stops while the connection is idle or limited by its application. No known implementation stops
//! the clock. If the clock did not stop here, α would be huge when sending resumes.
//!
//! Differences:
//! * Linux scales with the RTT by default and computes in units of 1/128 (preset `linux`).
//! * Linux 2.6.22 measures the smoothed RTT, and only after the first loss (preset `linux-2.6`, ns-2's TCP/Linux).
//! * FreeBSD has neither adaptive backoff nor scaling and floors α at 1 (preset `freebsd`). FreeBSD's misplaced ageing
//!   of the largest RTT is not copied.

mod module;

use self::module::Module;
use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::jiffies::Jiffies;
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, flag, num, params, switch, value, word};
use crate::reports::{Signal, Start};

params! {
    /// Parameters of H-TCP.
    pub struct HtcpParams {
        /// Time after a loss in which H-TCP grows as standard TCP (Δ_L).
        delta_l: f64 = num(1.0, 0.0, 1e6, Unit::Seconds), "Shorten & Leith 2004; draft-leith-tcp-htcp-06 §4.1";
        /// Smallest fraction of the window kept on a loss.
        beta_min: f64 = num(0.5, 0.1, 1.0, Unit::None), "draft-leith-tcp-htcp-06 §4.2";
        /// Largest fraction of the window kept on a loss.
        beta_max: f64 = num(0.8, 0.1, 1.0, Unit::None), "draft-leith-tcp-htcp-06 §4.2";
        /// On a loss, keep the fraction of the window that equals the ratio of the smallest to the largest RTT; off:
        /// keep `beta_min`.
        adaptive_backoff: bool = flag(true), "draft-leith-tcp-htcp-06 §4.2; Linux";
        /// Keep only `beta_min` if the throughputs of two successive epochs differ.
        bandwidth_switch: bool = flag(true), "Linux tcp_htcp.c";
        /// Relative difference of the throughputs from which the bandwidth switch reacts.
        throughput_ratio: f64 = num(0.2, 0.0, 1.0, Unit::None), "draft-leith-tcp-htcp-06 §4.2; Linux";
        /// Scale α with the RTT.
        rtt_scaling: bool = flag(false), "Linux has it on, FreeBSD off";
        /// RTT at which the scaling factor is 1.
        rtt_ref: f64 = num(0.1, 1e-3, 10.0, Unit::Seconds), "Linux tcp_htcp.c";
        /// Smallest α, after compensation for β; 0: no limit.
        alpha_min: f64 = num(0.0, 0.0, 1.0, Unit::Segments), "FreeBSD and ns-3 have 1, Linux none";
        /// Smallest RTT from which the backoff is adaptive.
        backoff_rtt_min: f64 = num(0.0, 0.0, 1.0, Unit::Seconds), "Linux has 10 ms";
        /// Largest difference between an RTT sample and the largest RTT so far; larger samples are ignored.
        rtt_max_slew: f64 = num(0.02, 0.0, 10.0, Unit::Seconds), "Linux tcp_htcp.c";
        /// Measure the smoothed RTT, in congestion avoidance after the first loss.
        smoothed_rtt: bool = flag(false), "Linux 2.6.22";
    }
}

/// Percentage of the difference between the largest and the smallest RTT that is kept after a loss (Linux, FreeBSD).
const RTT_MAX_AGEING_PERCENT: f64 = 95.0;
/// Smallest time between two computations of α, s.
const ALPHA_PERIOD_S: f64 = 0.001;

/// α(Δ) before scaling, segments a round trip; `x` is the time beyond Δ_L, s.
#[must_use]
pub fn alpha_of(x: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { 1.0 + 10.0 * x + x * x / 4.0 }
}

/// H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    win: LossWindow,
    p: HtcpParams,
    alpha: f64,
    beta: f64,
    alpha_until: f64,
    /// Start of Δ, s.
    t_last: f64,
    last_ack: f64,
    linux: Module,
    /// Smallest RTT, s (jiffies in integer arithmetic); infinite while unknown.
    rtt_min: f64,
    /// Largest RTT, in the same unit; 0 while unknown.
    rtt_max: f64,
    adaptive_ok: bool,
    lost: bool,
    /// Throughput, segments/s: the current one, the epoch's largest, and the previous epoch's largest.
    b_now: f64,
    b_max: f64,
    b_old: f64,
    packets: f64,
    packets_since: f64,
    saved: (f64, f64, f64),
}

impl Htcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "htcp",
        title: "H-TCP",
        kind: Kind::Loss,
        signals: &["loss", "RTT", "throughput"],
        source: "Shorten & Leith, PFLDnet 2004; draft-leith-tcp-htcp-06",
        doc: "The increase grows with the time since the last loss. A loss reduces the window just so far that the \
              queue empties, to the fraction smallest RTT / largest RTT. By default, adaptive backoff and the \
              bandwidth switch are on and RTT scaling is off, which is assumed to be the setting of the ns-2 code of \
              2005.",
        presets: &[
            Preset::new("", "PFLDnet 2004, as in ns-2 in 2005 (RTT scaling off)", &[]),
            Preset::new(
                "linux",
                "Linux: RTT scaling, whole segments",
                &[word("arithmetic", "linux"), switch("rtt_scaling", true), value("backoff_rtt_min", 0.01)],
            ),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, ns-2 TCP/Linux",
                &[
                    word("arithmetic", "linux-2.6"),
                    switch("rtt_scaling", true),
                    value("backoff_rtt_min", 0.01),
                    switch("smoothed_rtt", true),
                ],
            ),
            Preset::new(
                "freebsd",
                "FreeBSD: halves the window, α at least 1",
                &[switch("adaptive_backoff", false), switch("bandwidth_switch", false), value("alpha_min", 1.0)],
            ),
        ],
        tables: &[HtcpParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if `beta_min` is above `beta_max`.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = HtcpParams::read(settings)?;
        if p.beta_min > p.beta_max {
            return settings.conflict(format!("beta_min {} must not be above beta_max {}", p.beta_min, p.beta_max));
        }
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            alpha: 1.0,
            beta: p.beta_min,
            alpha_until: f64::NEG_INFINITY,
            t_last: 0.0,
            last_ack: 0.0,
            linux: Module::new(Jiffies::default()),
            rtt_min: f64::INFINITY,
            rtt_max: 0.0,
            adaptive_ok: false,
            lost: false,
            b_now: 0.0,
            b_max: 0.0,
            b_old: 0.0,
            packets: 0.0,
            packets_since: 0.0,
            saved: (0.0, 0.0, 0.0),
        })
    }

    /// RTT scale: the RTT divided by the reference RTT, between 0.1 and 2. Linux rounds down the inverse in eighths.
    fn scale(&self) -> f64 {
        if !self.p.rtt_scaling || self.rtt_min.is_infinite() {
            1.0
        } else if self.win.integer() {
            self.linux.scale(self.p.rtt_ref, self.rtt_min)
        } else {
            (self.rtt_min / self.p.rtt_ref).clamp(0.1, 2.0)
        }
    }

    /// α(Δ) before scaling; in Linux a whole number of segments, from jiffies.
    fn unscaled_alpha(&self, now: f64) -> f64 {
        if self.win.integer() {
            self.linux.alpha((self.t_last, now), self.p.delta_l)
        } else {
            alpha_of(now - self.t_last - self.p.delta_l)
        }
    }

    /// True for the arithmetic of today's Linux.
    fn is_linux(&self) -> bool {
        self.win.arithmetic == Arithmetic::Linux
    }

    fn update_alpha(&mut self, now: f64) {
        let alpha0 = self.unscaled_alpha(now);
        let alpha1 = if self.win.integer() && self.p.rtt_scaling && self.rtt_min.is_finite() {
            self.linux.scaled(alpha0, self.p.rtt_ref, self.rtt_min)
        } else {
            alpha0 * self.scale()
        };
        let alpha1 = alpha1.max(1.0);
        let alpha = 2.0 * (1.0 - self.beta) * alpha1;
        self.alpha = if alpha > 0.0 { alpha.max(self.p.alpha_min) } else { 1.0 };
        self.alpha_until = now + ALPHA_PERIOD_S;
    }

    /// Updates β for this loss, and the reference throughput for the next one.
    fn update_beta(&mut self) {
        if self.p.bandwidth_switch {
            let old = std::mem::replace(&mut self.b_old, self.b_max);
            if (self.b_max - old).abs() > self.p.throughput_ratio * old {
                self.beta = self.p.beta_min;
                self.adaptive_ok = false;
                return;
            }
        }
        let known = self.rtt_min > self.constant(self.p.backoff_rtt_min) && self.rtt_max > 0.0;
        if self.adaptive_ok && known && self.p.adaptive_backoff {
            self.beta = (self.rtt_min / self.rtt_max).clamp(self.p.beta_min, self.p.beta_max);
            if self.win.integer() {
                self.beta = (self.beta * 128.0).floor() / 128.0;
            }
        } else {
            self.beta = self.p.beta_min;
            self.adaptive_ok = true;
        }
    }

    /// Constant time, in the unit of the RTTs.
    fn constant(&self, seconds: f64) -> f64 {
        if self.win.integer() { self.linux.constant(seconds) } else { seconds }
    }

    /// Time between two instants, in the unit of the RTTs.
    fn between(&self, from: f64, to: f64) -> f64 {
        if self.win.integer() { self.linux.between(from, to) } else { to - from }
    }

    /// Round trips since the end of the last recovery, truncated as in Linux.
    fn rounds_since_loss(&self, now: f64) -> f64 {
        (self.between(self.t_last, now) / self.rtt_min).floor()
    }

    /// A time in the unit of the arithmetic, converted to s.
    fn seconds(&self, time: f64) -> f64 {
        if self.win.integer() { self.linux.seconds(time) } else { time }
    }

    fn measure_rtt(&mut self, ack: &Ack) {
        let rtt = match ack.rtt {
            Some(_) if self.p.smoothed_rtt => {
                if self.win.in_slow_start() {
                    return;
                }
                ack.srtt
            }
            Some(rtt) => rtt,
            None => return,
        };
        let rtt = self.linux.round_trip(self.win.arithmetic, rtt);
        self.rtt_min = self.rtt_min.min(rtt);
        if !ack.was_open() || (self.p.smoothed_rtt && !(self.lost && self.rounds_since_loss(ack.now) > 3.0)) {
            return;
        }
        self.rtt_max = self.rtt_max.max(self.rtt_min);
        if rtt > self.rtt_max && rtt <= self.rtt_max + self.constant(self.p.rtt_max_slew) {
            self.rtt_max = rtt;
        }
    }

    #[inline]
    fn measure_throughput(&mut self, ack: &Ack) {
        if ack.was_repairing() {
            self.packets = 0.0;
            self.packets_since = ack.now;
            return;
        }
        self.packets += ack.sampled();
        if self.packets >= self.win.w - self.alpha.floor().max(1.0) {
            self.sample_throughput(ack.now);
        }
    }

    fn sample_throughput(&mut self, now: f64) {
        let elapsed = self.between(self.packets_since, now);
        // Without an RTT the comparison with infinity fails, and counting continues.
        if elapsed <= 0.0 || elapsed < self.rtt_min {
            return;
        }
        let sample = self.win.whole(self.packets * if self.win.integer() { self.linux.hz() } else { 1.0 } / elapsed);
        if self.rounds_since_loss(now) <= 3.0 {
            (self.b_now, self.b_max) = (sample, sample);
        } else {
            self.b_now = self.win.whole(0.75 * self.b_now + 0.25 * sample);
            self.b_max = self.b_max.max(self.b_now);
        }
        self.packets = 0.0;
        self.packets_since = now;
    }

    /// Excludes a period of `seconds` from the clock Δ.
    fn freeze(&mut self, seconds: f64, now: f64) {
        self.t_last = (self.t_last + seconds).min(now);
        self.saved.0 = (self.saved.0 + seconds).min(now);
        self.alpha_until = f64::NEG_INFINITY;
    }
}

observed! {
    self: Htcp, self.win;
    /// Additive increase for each round trip (α).
    alpha = self.alpha, number(Unit::Segments);
    /// Fraction of the window kept on a loss (β).
    beta = self.beta, plain();
    /// Time since the last congestion event, at the last ACK (Δ).
    delta_s = (self.last_ack - self.t_last).max(0.0), number(Unit::Seconds);
    /// Smallest RTT.
    rtt_min_s = self.seconds(self.rtt_min), number(Unit::Seconds);
    /// Largest RTT since the last congestion event.
    rtt_max_s = self.seconds(self.rtt_max), number(Unit::Seconds);
    /// Throughput of the last measurement (B).
    b_now = self.b_now, number(Unit::SegmentsPerSecond);
    /// Largest throughput of the previous congestion epoch.
    b_old = self.b_old, number(Unit::SegmentsPerSecond);
}

impl LossBased for Htcp {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        Needs { hz: self.win.integer(), every_ack: self.win.integer(), ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.linux = Module::new(Jiffies::new(start.hz));
        self.t_last = start.now;
        self.last_ack = start.now;
        // Linux's first measurement has no beginning (`lasttime` is 0), so its throughput is 0.
        self.packets_since = if self.is_linux() { f64::NEG_INFINITY } else { start.now };
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if !self.linux.begins(ack) {
            return;
        }
        self.measure_rtt(ack);
        if self.p.bandwidth_switch {
            self.measure_throughput(ack);
        }
        // Linux's clock also counts while the application limits the flow.
        if !(ack.window_limited || (self.is_linux() && ack.sample.is_some())) {
            self.freeze(ack.now - self.last_ack, ack.now);
        }
        self.last_ack = ack.now;
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.measure(ack);
        let slow_start = self.win.in_slow_start();
        let n = self.win.slow_start(ack);
        // Linux drops what slow start leaves of an ACK, and counts the sample of an ACK without new segments.
        let is_linux = self.is_linux() && ack.sample.is_some();
        let grows = if is_linux { !slow_start && ack.may_grow() } else { n > 0.0 };
        if grows {
            self.grow(ack, n);
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        if self.win.integer() {
            if self.linux.grow(ack, n, self.alpha, &mut self.win) {
                self.update_alpha(ack.now);
            }
            return;
        }
        if ack.now >= self.alpha_until {
            self.update_alpha(ack.now);
        }
        self.win.grow_per_round(n, self.alpha.min(self.win.w));
    }

    /// Updates β and the measurements; returns the window after a loss.
    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.saved = (self.t_last, self.rtt_max, self.b_old);
        self.update_beta();
        self.update_alpha(signal.now);
        if self.rtt_max > self.rtt_min {
            let range = self.rtt_max - self.rtt_min;
            let aged = if self.win.integer() {
                (range * RTT_MAX_AGEING_PERCENT / 100.0).floor()
            } else {
                RTT_MAX_AGEING_PERCENT / 100.0 * range
            };
            self.rtt_max = self.rtt_min + aged;
        }
        self.t_last = signal.now;
        self.alpha_until = f64::NEG_INFINITY;
        self.lost = true;
        let keep = if self.win.must_halve() { 0.5 } else { self.beta };
        keep * self.win.reduced_from(signal)
    }

    fn after_timeout(&mut self, signal: &Signal) {
        if signal.repeated {
            // Linux's module saves its state at each timeout (`htcp_reset`), and the endpoint its window at the first.
            self.saved = (self.t_last, self.rtt_max, self.b_old);
        }
        self.t_last = signal.now;
    }

    fn on_linux(&mut self, event: &linux::Event) {
        match event {
            linux::Event::Sample(ack) => {
                self.measure(ack);
                self.linux.note_sampled();
            }
            linux::Event::LossInReduction { now, .. } => {
                // The state is saved anew, and the clock Δ restarts (`htcp_state`).
                self.saved = (self.t_last, self.rtt_max, self.b_old);
                self.t_last = *now;
            }
            _ => {}
        }
    }

    fn resume(&mut self, now: f64, idle: f64) {
        self.freeze(idle, now);
        self.last_ack = now;
        self.packets = 0.0;
        self.packets_since = now;
    }

    fn recovered(&mut self, now: f64) {
        self.t_last = now;
        self.alpha_until = f64::NEG_INFINITY;
    }

    fn undone(&mut self, restored: bool) {
        if restored {
            (self.t_last, self.rtt_max, self.b_old) = self.saved;
            self.alpha_until = f64::NEG_INFINITY;
        }
    }
}

#[cfg(test)]
mod tests;
