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

    const fn linux26(response: &'static str) -> [(&'static str, Setting); 4] {
        [
            word("arithmetic", "linux-2.6"),
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
            Preset::new("linux-2.6", "Linux 2.6.22", &Self::linux26("at-exit")),
            Preset::new("ns2", "ns-2.35 TCP/Linux: Linux 2.6.22 without the end of recovery", &Self::linux26("floor")),
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
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::Sample;
    use crate::reports::Cause;
    use crate::testing::{Driver, close, settings};

    fn westwood(preset: &str) -> Westwood {
        Westwood::new(&settings(&Westwood::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn ten_megabit_and_a_tenth_of_a_second_are_83_segments() {
        let mut w = westwood("");
        (w.bwe, w.rtt_min, w.sampled, w.win.w) = (10e6 / 8.0 / 1500.0, 0.1, true, 200.0);
        Driver::new().lose(&mut w);
        close(w.window(), 83.333, 1e-4);
        assert_eq!(w.window(), w.ssthresh());
        // Linux's estimate is 1,250 whole bytes a millisecond.
        let mut linux = westwood("linux");
        (linux.bwe, linux.rtt_min, linux.sampled, linux.segment_bytes) = (1250.0, 100.0, true, 1500.0);
        assert_eq!(linux.estimate(), 83.0);
    }

    // The pole is ns-3's; the paper's was not verified.
    #[test]
    fn the_filters_have_their_published_steps() {
        let mut w = westwood("");
        (w.bwe, w.sampled) = (8.0, true);
        w.filter(10.0);
        close(w.bwe, 8.2, 1e-12);
        let mut linux = westwood("linux");
        (linux.y1, linux.bwe, linux.sampled) = (8000.0, 8000.0, true);
        linux.filter(16000.0);
        assert_eq!((linux.y1, linux.bwe), (9000.0, 8125.0));
    }

    #[test]
    fn linux_rounds_round_trips_up_to_jiffies() {
        // 40.12 ms are 41 jiffies of 1 ms or 11 jiffies of 4 ms; Linux 2.6 truncates.
        for (preset, hz, jiffies) in [("linux", 1000.0, 41.0), ("linux", 250.0, 11.0), ("linux-2.6", 1000.0, 40.0)] {
            let (mut d, mut w) = (Driver::new(), westwood(preset));
            w.on_event(&Event::Start(Start { hz, ..Start::default() }));
            d.ack(&mut w, 1.0, 0.040_12, 0.003);
            assert_eq!(w.rtt_min, jiffies, "{preset} at {hz}");
        }
    }

    #[test]
    fn at_ten_milliseconds_a_sample_takes_more_than_fifty() {
        for preset in ["", "linux", "linux-2.6"] {
            let (mut d, mut w) = (Driver::new(), westwood(preset));
            d.start_at(&mut w, 10.0);
            let mut acks = 0;
            while !w.sampled {
                d.ack(&mut w, 1.0, 0.01, 0.003);
                acks += 1;
            }
            assert_eq!(acks, 17, "{preset}: 51 ms");
        }
    }

    #[test]
    fn the_estimate_is_the_rate_of_the_acks() {
        for preset in ["", "linux", "linux-2.6"] {
            let (mut d, mut w) = (Driver::new(), westwood(preset));
            d.start_at(&mut w, 500.0);
            for _ in 0..6000 {
                d.ack(&mut w, 2.0, 0.1, 0.0005);
            }
            close(w.estimate(), 4000.0 * 0.1, 0.02);
        }
    }

    #[test]
    fn a_loss_never_raises_the_window_but_linux_s_recovery_may() {
        let presets = [("", 200.0), ("linux", 400.0), ("linux-2.6", 400.0), ("ns2", 400.0)];
        let cases = presets.into_iter().flat_map(|case| [Cause::Loss, Cause::Ecn].map(|cause| (case, cause)));
        for ((preset, after), cause) in cases {
            let (mut d, mut w) = (Driver::new(), westwood(preset));
            d.start_at(&mut w, 500.0);
            for _ in 0..6000 {
                d.ack(&mut w, 2.0, 0.1, 0.0005);
            }
            w.win.w = 200.0;
            let signal = d.signal(&w, cause);
            w.on_event(&Event::Congestion(signal));
            assert_eq!(w.window(), if preset.is_empty() { 200.0 } else { 100.0 });
            w.on_event(&Event::RecoveryExit { now: d.now });
            close(w.window(), after, 0.02);
            assert_eq!(w.ssthresh(), if preset == "ns2" { 100.0 } else { w.window() });
        }
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_linux_learns_the_rtt_anew() {
        let (mut d, mut w) = (Driver::new(), westwood("linux"));
        d.start_at(&mut w, 500.0);
        for _ in 0..6000 {
            d.ack(&mut w, 2.0, 0.1, 0.0005);
        }
        d.time_out(&mut w);
        close(w.ssthresh(), 400.0, 0.02);
        assert_eq!(w.window(), 1.0);
        d.ack(&mut w, 1.0, 0.15, 0.15);
        assert_eq!(w.rtt_min, 150.0);
        let mut old = westwood("linux-2.6");
        d.start_at(&mut old, 500.0);
        d.time_out(&mut old);
        assert_eq!(old.ssthresh(), 250.0);
    }

    #[test]
    fn a_pause_is_in_no_sample() {
        let (mut d, mut w) = (Driver::new(), westwood(""));
        d.start_at(&mut w, 500.0);
        for _ in 0..4000 {
            d.ack(&mut w, 2.0, 0.1, 0.0005);
        }
        let before = w.bwe;
        d.now += 10.0;
        w.on_event(&Event::Idle { now: d.now, idle: 10.0 });
        for _ in 0..400 {
            d.ack(&mut w, 2.0, 0.1, 0.0005);
        }
        close(w.bwe, before, 0.02);
    }

    #[test]
    fn linux_counts_the_first_ack_as_a_duplicate_and_the_last_of_a_recovery_before_its_end() {
        let (mut d, mut w) = (Driver::new(), westwood("linux"));
        d.start_at(&mut w, 20.0);
        let sample = Some(Sample { acked: 2.0, ..Sample::default() });
        let mut ack = |w: &mut Westwood| {
            d.now += 0.06;
            w.on_ack(&Ack { sample, in_recovery: true, ..d.make_ack(w, 2.0, 0.1, false) });
        };
        ack(&mut w);
        assert_eq!((w.bk, w.linux.accounted, w.rtt_min), (1.0, 1.0, 100.0));
        w.repairing = Some(0.0);
        w.on_event(&Event::RecoveryExit { now: 0.0 });
        ack(&mut w);
        assert_eq!((w.bk, w.sampled), (2.0, true), "the sample ended after 120 ms");
        assert_eq!((w.window(), w.ssthresh()), (w.estimate(), w.estimate()));
    }

    #[test]
    fn linux_s_threshold_at_a_timeout_is_the_estimate_even_above_the_window() {
        for (preset, threshold) in [("", 20.0), ("linux", 40.0)] {
            let (d, mut w) = (Driver::new(), westwood(preset));
            d.start_at(&mut w, 20.0);
            let segments = if preset.is_empty() { 1.0 } else { w.segment_bytes / 1000.0 };
            (w.bwe, w.rtt_min, w.sampled) = (400.0 * segments, 0.1, true);
            w.rtt_min *= if preset.is_empty() { 1.0 } else { 1000.0 };
            d.time_out(&mut w);
            close(w.ssthresh(), threshold, 0.05);
        }
    }

    #[test]
    fn linux_takes_off_duplicate_acks_only_on_the_slow_path() {
        for (is_slow, counted, left) in [(true, 7.0, 0.0), (false, 10.0, 3.0)] {
            let (mut d, mut w) = (Driver::new(), westwood("linux"));
            w.linux.accounted = 3.0;
            let sample = Some(Sample { acked: 10.0, is_slow, ..Sample::default() });
            let ack = Ack { sample, ..d.make_ack(&w, 1.0, 0.1, false) };
            assert_eq!((w.linux.counted(&ack), w.linux.accounted), (counted, left));
        }
    }
}
