//! TCP Westwood+ (Grieco LA, Mascolo S, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", CCR 2004). The window grows as in standard TCP; on a loss the threshold becomes the estimated
//! bandwidth times the smallest RTT.
//!
//! Variant: one bandwidth sample a round trip (the "+" of the name), a single pole of 0.9, and a loss that never raises
//! the window. The bandwidth is computed from the ACKs themselves. The paper's text was not available: filter and floor
//! are those of ns-3 and Linux. ns-3 averages each sample with the previous sample (Tustin); this average is not
//! copied. Linux (presets `linux`, `linux-2.6`) filters twice with 7/8, in whole bytes per jiffy. Linux halves the
//! window during recovery. When recovery ends, the window becomes the estimate, which may be *above* the window before
//! the loss. ns-2's TCP/Linux (preset `ns2`) runs the module of 2.6.22 without the event at the end of recovery. In
//! this module the threshold becomes half of the window, the estimate is only the smallest window during recovery, and
//! all other rules are standard TCP's.

mod module;
mod parameters;

use self::module::Module;
pub use self::parameters::{Filter, Response, WestwoodParams};
use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, FLOOR, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, switch, word};
use crate::reports::{Signal, Start};

/// TCP Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    win: LossWindow,
    p: WestwoodParams,
    segment_bytes: f64,
    /// Bandwidth smoothed once and, for Linux, twice: segments/s, or bytes per jiffy in integer arithmetic.
    y1: f64,
    bwe: f64,
    sampled: bool,
    /// Current sample: segments delivered, and the sample's start time.
    bk: f64,
    t0: f64,
    linux: Module,
    /// Smallest RTT: s, or jiffies in integer arithmetic; infinite before the first sample.
    rtt_min: f64,
    relearn: bool,
    /// Estimate at the start of the current recovery, if the end of recovery uses it.
    repairing: Option<f64>,
}

impl Westwood {
    const LINUX: [(&'static str, Setting); 5] = [
        word("arithmetic", "linux"),
        word("filter", "twice"),
        word("response", "at-exit"),
        switch("estimate_on_timeout", true),
        switch("relearn_rtt", true),
    ];

    const fn linux26(arithmetic: &'static str, response: &'static str) -> [(&'static str, Setting); 4] {
        [
            word("arithmetic", arithmetic),
            word("filter", "twice"),
            word("response", response),
            switch("estimate_on_timeout", false),
        ]
    }

    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "westwood",
        title: "TCP Westwood+",
        kind: Kind::Loss,
        signals: &["loss", "ECN", "RTT", "bandwidth from ACKs"],
        source: "Grieco & Mascolo, CCR 34(2), 2004",
        doc: "Westwood+ grows as standard TCP does. On a loss the window becomes the estimated bandwidth times the \
              smallest RTT, so a random loss costs little and a full queue is just emptied. The default samples once a \
              round trip, filters with 0.9 and never raises the window on a loss.",
        presets: &[
            Preset::new("", "Westwood+ with a single pole of 0.9", &[]),
            Preset::new(
                "linux",
                "Linux: filtered twice in whole bytes, the estimate at the end of recovery",
                &Self::LINUX,
            ),
            Preset::new("linux-2.6", "Linux 2.6.22", &Self::linux26("linux-2.6", "at-exit")),
            Preset::new(
                "ns2",
                "ns-2.35 TCP/Linux: Linux 2.6.22 without the end of recovery, with byte counting",
                &Self::linux26("ns2", "floor"),
            ),
        ],
        tables: &[WestwoodParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self {
            win: LossWindow::new(settings)?,
            p: WestwoodParams::read(settings)?,
            segment_bytes: Start::default().segment_bytes,
            y1: 0.0,
            bwe: 0.0,
            sampled: false,
            bk: 0.0,
            t0: 0.0,
            linux: Module::default(),
            rtt_min: f64::INFINITY,
            relearn: false,
            repairing: None,
        })
    }

    /// Filtered estimate of the bandwidth, segments/s.
    fn bandwidth(&self) -> f64 {
        if self.win.integer() { self.bwe * self.linux.hz() / self.segment_bytes } else { self.bwe }
    }

    /// Time since the start of the current sample, and the shortest duration of a sample.
    #[inline]
    fn elapsed(&self, now: f64) -> (f64, f64) {
        if self.win.integer() {
            self.linux.elapsed((self.t0, now), self.p.sample_min)
        } else {
            (now - self.t0, self.p.sample_min)
        }
    }

    /// Takes one sample of bandwidth into the filter.
    fn filter(&mut self, sample: f64) {
        let whole = |x: f64| if self.win.integer() { x.floor() } else { x };
        if !self.sampled || (self.y1 == 0.0 && self.bwe == 0.0) {
            self.sampled = true;
            (self.y1, self.bwe) = (sample, sample);
        } else if self.p.filter == Filter::Twice {
            self.y1 = whole((7.0 * self.y1 + sample) / 8.0);
            self.bwe = whole((7.0 * self.bwe + self.y1) / 8.0);
        } else {
            self.bwe = self.p.pole * self.bwe + (1.0 - self.p.pole) * sample;
        }
    }

    /// Estimated bandwidth times the smallest RTT, segments; the window itself before the first measurement.
    fn estimate(&self) -> f64 {
        if self.rtt_min.is_infinite() || !self.sampled {
            return if self.win.integer() { FLOOR } else { (0.5 * self.win.w).max(FLOOR) };
        }
        let segments = self.bwe * self.rtt_min / if self.win.integer() { self.segment_bytes } else { 1.0 };
        self.win.whole(segments).max(FLOOR)
    }

    /// Ends the current bandwidth sample if it is older than `rtt`.
    #[inline]
    fn end_sample(&mut self, now: f64, rtt: f64) {
        let (elapsed, sample_min) = self.elapsed(now);
        if rtt > 0.0 && elapsed > rtt.max(sample_min) {
            let sample =
                if self.win.integer() { (self.bk * self.segment_bytes / elapsed).floor() } else { self.bk / elapsed };
            self.filter(sample);
            (self.bk, self.t0) = (0.0, now);
        }
    }

    fn update_rtt_min(&mut self, rtt: f64) {
        self.rtt_min = if self.relearn { rtt } else { self.rtt_min.min(rtt) };
        self.relearn = false;
    }

    /// Takes the sample of an ACK as Linux does.
    #[inline]
    fn measure_as_linux(&mut self, ack: &Ack) {
        let Some(rtt) = self.linux.next_rtt(ack) else { return };
        self.end_sample(ack.now, rtt);
        self.bk += self.linux.taken(ack, rtt);
        self.update_rtt_min(rtt);
        if self.linux.takes_end() {
            self.use_estimate();
        }
    }

    /// Sets the window to the estimate.
    fn use_estimate(&mut self) {
        self.win.ssthresh = self.estimate();
        self.win.w = self.win.ssthresh;
    }

    /// True if the window becomes the estimate at the signal, and not at the end of the recovery or the reduction.
    fn at_once(&self) -> bool {
        self.p.response == Response::AtOnce
    }

    fn half(&self, signal: &Signal) -> f64 {
        0.5 * self.win.reduced_from(signal)
    }
}

observed! {
    self: Westwood, self.win;
    /// Filtered estimate of the bandwidth (BWE).
    bwe = self.bandwidth(), number(Unit::SegmentsPerSecond);
    /// Smallest RTT.
    rtt_min_s = if self.win.integer() { self.linux.seconds(self.rtt_min) } else { self.rtt_min }, number(Unit::Seconds);
}

impl LossBased for Westwood {
    own_window!();

    #[inline]
    fn requires(&self) -> Needs {
        Needs { hz: self.win.integer(), ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.linux = Module::new(start.hz);
        self.segment_bytes = start.segment_bytes;
        self.t0 = start.now;
    }

    fn on_linux(&mut self, event: &linux::Event) {
        match event {
            linux::Event::Sample(ack) if self.win.arithmetic == Arithmetic::Linux => {
                self.measure_as_linux(ack);
                self.linux.note_sampled();
            }
            _ => {}
        }
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if ack.sample.is_some() && self.win.arithmetic == Arithmetic::Linux {
            self.measure_as_linux(ack);
            return;
        }
        let counted = self.linux.counted(ack);
        let Some(latest) = ack.rtt else {
            self.bk += if ack.sample.is_some() { counted } else { 0.0 };
            return;
        };
        let rtt = self.linux.round_trip(self.win.arithmetic, ack, latest);
        self.end_sample(ack.now, rtt);
        self.bk += counted;
        self.update_rtt_min(rtt);
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, 1.0);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        if self.at_once() { self.estimate().min(self.win.w) } else { self.half(signal) }
    }

    fn after_reduction(&mut self, _signal: &Signal) {
        self.repairing = (!self.at_once()).then(|| self.estimate());
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        match (self.p.estimate_on_timeout, self.win.arithmetic) {
            // Linux's threshold may be above the window.
            (true, Arithmetic::Linux) => self.estimate(),
            (true, _) => self.estimate().min(self.win.w),
            (false, _) => self.half(signal),
        }
    }

    fn after_timeout(&mut self, signal: &Signal) {
        self.relearn |= self.p.relearn_rtt && !signal.repeated;
        self.repairing = None;
    }

    fn resume(&mut self, now: f64, _idle: f64) {
        // The sample that spans the idle period is discarded.
        (self.bk, self.t0) = (0.0, now);
    }

    fn recovered(&mut self, _now: f64) {
        let Some(floor) = self.repairing.take() else { return };
        if self.p.response != Response::AtExit {
            // If the floor is above half of the window, ns-2's window stays at the floor.
            self.win.w = self.win.w.max(floor);
        } else if !self.linux.ends_with_next_ack() {
            self.use_estimate();
        }
    }

    fn undone(&mut self, _restored: bool) {
        self.repairing = None;
    }

    fn lowest_in_recovery(&self) -> f64 {
        if self.p.response == Response::AtOnce { self.win.ssthresh } else { self.estimate() }
    }
}

#[cfg(test)]
mod tests;
