//! TCP Hybla (Caini C, Firrincieli R, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004). The sending
//! rate on a path with a long RTT grows as fast as that of standard TCP on a path with the reference RTT.
//!
//! Variant: ρ is the smallest RTT over 25 ms (Linux's reference; ns-3 has 50 ms), at least 1 and at most 16,
//! real-valued. The paper's text was not available; according to other texts Hybla also scales the initial window by ρ
//! (`scale_start`, off).
//!
//! Linux (presets `linux`, `linux-2.6`) computes ρ in eighths from the smallest *smoothed* RTT, reads 2^ρ from a table
//! for eighths, counts in 1/128 of a segment, and starts from a window of ρ segments. From a timeout to the end of the
//! recovery, its window grows as standard TCP's. Since the increment is truncated, the window of 2.6.22 does not grow
//! above 128ρ² segments; in later versions it then grows by one segment for each window acknowledged. ns-2's TCP/Linux
//! is `linux-2.6`.

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::linux::Recovery;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, flag, num, params, value, word};
use crate::reports::{Signal, Start};
use crate::slow_start::SlowStartKind;

params! {
    /// Parameters of Hybla.
    pub struct HyblaParams {
        /// RTT of the reference connection (RTT_0).
        rtt0: f64 = num(0.025, 1e-3, 10.0, Unit::Seconds), "Linux tcp_hybla.c; ns-3 has 50 ms; Caini & Firrincieli 2004 (unverified)";
        /// Largest ρ. In slow start each segment acknowledged adds 2^ρ - 1 segments.
        rho_max: f64 = num(16.0, 1.0, 20.0, Unit::None), "Linux tcp_hybla.c (a shift of at most 16)";
        /// Largest window; 0: no limit.
        window_max: f64 = num(0.0, 0.0, 1e9, Unit::Segments), "Linux tcp_hybla.c has 65,535";
        /// Multiply the initial window by ρ at the first RTT sample.
        scale_start: bool = flag(false), "Caini & Firrincieli 2004 (unverified)";
    }
}

/// Linux's table of 2^(i/8) in 1/128, for which the exact values are 128, 139.6, 152.2, 166.0, 181.0, 197.4, 215.3 and
/// 234.8.
const FRACTIONS: [f64; 8] = [128.0, 139.0, 152.0, 165.0, 181.0, 197.0, 215.0, 234.0];

/// TCP Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    win: LossWindow,
    p: HyblaParams,
    rho: f64,
    /// Growth for each segment acknowledged in slow start, 2^ρ - 1 segments; Linux's form counts 1/128 segments.
    leap: f64,
    /// RTT from which ρ is computed, s; infinite before the first sample.
    rtt_min: f64,
    /// Linux's count of 1/128 segments.
    cents: f64,
    /// True from a timeout to the end of the recovery, while Linux grows as standard TCP.
    reno: bool,
    /// True if the handshake's RTT gave ρ before anything was sent.
    timed: bool,
}

impl Hybla {
    const fn linux(arithmetic: &'static str) -> [(&'static str, Setting); 2] {
        [word("arithmetic", arithmetic), value("window_max", 65535.0)]
    }

    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "hybla",
        title: "TCP Hybla",
        kind: Kind::Loss,
        signals: &["loss", "ECN", "RTT"],
        source: "Caini & Firrincieli, Int. J. Satellite Communications and Networking 22(5), 2004",
        doc: "Hybla is standard TCP without the disadvantage of long round trips: the increase for each segment \
              acknowledged is multiplied, so that the sending rate grows as on a path of 25 ms. The default computes \
              ρ from the smallest RTT, in real-valued arithmetic.",
        presets: &[
            Preset::new("", "Hybla with RTT_0 = 25 ms", &[]),
            Preset::new("ns3", "ns-3: RTT_0 = 50 ms", &[value("rtt0", 0.05)]),
            Preset::new("linux", "Linux: eighths and 1/128, from a window of ρ", &Self::linux("linux")),
            Preset::new("linux-2.6", "Linux 2.6.22, ns-2 TCP/Linux: no growth above 128ρ²", &Self::linux("linux-2.6")),
        ],
        tables: &[HyblaParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if another slow start is selected for Linux's
    /// form, which has its own slow start.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let win = LossWindow::new(settings)?;
        if win.integer() && LossParams::read(settings)?.slow_start != SlowStartKind::Standard {
            return settings.conflict("slow_start must be 'standard' where arithmetic is not 'fluid'");
        }
        Ok(Self {
            win,
            p: HyblaParams::read(settings)?,
            rho: 1.0,
            leap: 1.0,
            rtt_min: f64::INFINITY,
            cents: 0.0,
            reno: false,
            timed: false,
        })
    }

    /// Value of ρ that corresponds to an RTT.
    fn rho_of(&self, rtt: f64) -> f64 {
        let rho = (rtt / self.p.rtt0).clamp(1.0, self.p.rho_max);
        if self.win.integer() { (8.0 * rho + 1e-9).floor() / 8.0 } else { rho }
    }

    #[cold]
    fn learn(&mut self, rtt: f64, may_grow: bool) {
        let first = self.rtt_min.is_infinite();
        self.rtt_min = rtt;
        self.rho = self.rho_of(rtt);
        let whole = self.rho.floor();
        self.leap = if self.win.integer() {
            libm::exp2(whole) * FRACTIONS[(8.0 * (self.rho - whole)) as usize & 7] - 128.0
        } else {
            libm::exp2(self.rho) - 1.0
        };
        if first && may_grow && !self.reno && self.win.in_slow_start() {
            if self.win.integer() {
                self.win.w = self.win.whole(self.rho);
            } else if self.p.scale_start {
                self.win.w = (self.win.w + (self.rho - 1.0) * self.win.initial()).min(self.win.ssthresh);
            }
        }
    }

    /// Grows the window by slow start's rule on an ACK. Returns the number of acknowledged segments that remain for
    /// congestion avoidance.
    #[inline]
    fn slow_start(&mut self, ack: &Ack) -> f64 {
        // The shared slow start adds one segment for each segment acknowledged, and decides when slow start ends. The
        // additional growth is added here.
        let (before, threshold) = (self.win.w, self.win.ssthresh);
        let left = self.win.slow_start(ack);
        let plain = self.win.w - before;
        if plain > 0.0 {
            self.win.w = (before + plain * self.leap).min(threshold);
        }
        left
    }

    /// Linux's rules for one ACK. Hybla's growth counts each ACK once, however many segments the ACK acknowledges.
    #[inline]
    fn grow_linux(&mut self, ack: &Ack) {
        // Linux also counts an ACK that delivers no new segment.
        if !ack.may_grow() || (ack.acked <= 0.0 && ack.sample.is_none()) {
            return;
        }
        if self.reno {
            let n = self.win.slow_start(ack);
            if n > 0.0 {
                self.win.grow_per_round(n, 1.0);
            }
            return;
        }
        let slow_start = self.win.w < self.win.ssthresh;
        let increment = if slow_start {
            self.leap
        } else {
            // ρ² in units of 1/128.
            (128.0 * self.rho * self.rho / self.win.w).floor()
        };
        if increment < 128.0 {
            self.win.counter += 1.0;
        }
        self.win.w += (increment / 128.0).floor();
        self.cents += increment % 128.0;
        if self.cents >= 128.0 {
            self.win.w += 1.0;
            self.cents -= 128.0;
            self.win.counter = 0.0;
        }
        if self.win.arithmetic == Arithmetic::Linux && increment == 0.0 && self.win.counter >= self.win.w {
            self.win.w += 1.0;
            self.win.counter = 0.0;
        }
        if slow_start {
            self.win.w = self.win.w.min(self.win.ssthresh);
        }
    }
}

observed! {
    self: Hybla, self.win;
    /// Normalized round-trip time, RTT / RTT_0 (ρ).
    rho = self.rho, plain();
    /// RTT from which ρ is computed.
    rtt_min_s = self.rtt_min, number(Unit::Seconds);
}

impl LossBased for Hybla {
    own_window!();

    #[inline]
    fn requires(&self) -> Needs {
        Needs { every_ack: self.win.integer(), ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        if let Some(rtt) = start.rtt {
            self.timed = true;
            self.learn(rtt, true);
        }
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        let sample = if self.win.integer() { (ack.srtt > 0.0).then_some(ack.srtt) } else { ack.rtt };
        if let Some(linux) = ack.sample.filter(|_| self.win.integer()) {
            // Linux behaves as standard TCP while segments are SACKed (`hybla_state`).
            self.reno = linux.then != Recovery::Open;
        }
        // Linux looks at the RTT only where the window may grow.
        let looks = !(ack.in_recovery && ack.sample.is_some() && self.win.integer());
        if let Some(rtt) = sample.filter(|_| looks) {
            if rtt < self.rtt_min {
                self.learn(rtt, ack.may_grow());
            }
        }
        if self.win.integer() {
            // If the window of ρ segments exceeds the number of segments sent before ρ was known, the window is not
            // full yet. A timed handshake gives ρ before the first segment.
            if self.timed || self.win.w <= ack.in_flight + ack.acked {
                self.grow_linux(ack);
            }
        } else {
            let n = self.slow_start(ack);
            if n > 0.0 {
                self.grow(ack, n);
            }
        }
        if self.p.window_max > 0.0 {
            self.win.w = self.win.w.min(self.p.window_max.max(1.0));
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, self.rho * self.rho);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        0.5 * self.win.reduced_from(signal)
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        self.reno = true;
    }

    fn recovered(&mut self, _now: f64) {
        self.reno = false;
    }

    fn undone(&mut self, _restored: bool) {
        self.reno = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::Sample;
    use crate::testing::{Driver, close, settings};

    fn hybla(preset: &str) -> Hybla {
        Hybla::new(&settings(&Hybla::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn rho_squared_segments_a_round_trip_and_two_to_the_rho_in_slow_start() {
        for (rtt, rho, leap, growth) in [(0.25, 10.0, 1023.0, 100.0), (0.0625, 2.5, 4.657, 6.25), (0.02, 1.0, 1.0, 1.0)]
        {
            let (mut d, mut h) = (Driver::new(), hybla(""));
            d.start(&mut h, 10.0);
            d.ack(&mut h, 1.0, rtt, rtt);
            close(h.rho, rho, 1e-12);
            close(h.window() - 10.0, leap, 1e-4);
            d.start_at(&mut h, 1000.0);
            for _ in 0..1000 {
                let before = h.window();
                d.ack(&mut h, 1.0, rtt, rtt / 1000.0);
                close(h.window() - before, growth / before, 1e-9);
            }
        }
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let (mut d, mut h) = (Driver::new(), hybla(""));
        h.on_event(&Event::Start(Start { initial_window: 10.0, initial_ssthresh: 500.0, ..Start::default() }));
        d.ack(&mut h, 1.0, 0.25, 0.25);
        assert_eq!(h.window(), 500.0);
    }

    #[test]
    fn rho_comes_from_the_smallest_rtt() {
        let (mut d, mut h) = (Driver::new(), hybla(""));
        d.start_at(&mut h, 100.0);
        d.ack(&mut h, 1.0, 0.1, 0.1);
        d.ack(&mut h, 1.0, 0.4, 0.1);
        assert_eq!(h.rho, 4.0);
        d.ack(&mut h, 1.0, 0.05, 0.1);
        assert_eq!(h.rho, 2.0);
    }

    #[test]
    fn linux_has_two_to_an_eighth_from_a_table_of_128ths() {
        let (mut d, mut h) = (Driver::new(), hybla("linux"));
        d.start(&mut h, 10.0);
        // 28.2 ms are nine eighths of 25 ms.
        d.ack(&mut h, 1.0, 0.0282, 0.1);
        assert_eq!((h.rho, h.leap), (1.125, 2.0 * 139.0 - 128.0));
        // The window starts from ρ segments, plus 150/128 of a segment.
        assert_eq!((h.window(), h.cents), (2.0, 22.0));
    }

    #[test]
    fn linux_2_6_stands_still_above_128_rho_squared_and_later_versions_do_not() {
        for (preset, after) in [("linux-2.6", 2049.0), ("linux", 2059.0)] {
            let (mut d, mut h) = (Driver::new(), hybla(preset));
            d.start_at(&mut h, 2049.0);
            for _ in 0..2056 * 10 {
                d.ack(&mut h, 1.0, 0.1, 1e-5);
            }
            assert_eq!(h.window(), after, "{preset}");
        }
    }

    #[test]
    fn linux_is_standard_tcp_until_a_timeout_is_repaired() {
        let (mut d, mut h) = (Driver::new(), hybla("linux"));
        d.start_at(&mut h, 1000.0);
        d.ack(&mut h, 1.0, 0.1, 0.1);
        d.time_out(&mut h);
        d.ack(&mut h, 1.0, 0.1, 0.1);
        assert_eq!(h.window(), 2.0);
        h.on_event(&Event::RecoveryExit { now: d.now });
        d.ack(&mut h, 1.0, 0.1, 0.1);
        assert_eq!(h.window(), 17.0);
    }

    #[test]
    fn linux_s_form_has_a_slow_start_of_its_own() {
        let other = [("slow_start", Setting::Text("hystart"))];
        let built = |preset| Hybla::new(&settings(&Hybla::ENTRY, preset, &other).expect("it is right"));
        assert!(built("").is_ok());
        let error = built("linux").expect_err("it is wrong").to_string();
        assert_eq!(error, "hybla: slow_start must be 'standard' where arithmetic is not 'fluid'");
    }

    #[test]
    fn a_loss_halves() {
        for preset in ["", "linux", "linux-2.6"] {
            let (d, mut h) = (Driver::new(), hybla(preset));
            d.start_at(&mut h, 1000.0);
            d.lose(&mut h);
            assert_eq!((h.window(), h.ssthresh(), h.recovery_floor()), (500.0, 500.0, 250.0));
        }
    }

    #[test]
    fn linux_grows_as_standard_tcp_while_segments_are_sacked() {
        for (then, grown) in [(Recovery::Open, 3.0), (Recovery::Disorder, 1.0)] {
            let (mut d, mut h) = (Driver::new(), hybla("linux"));
            h.on_event(&Event::Start(Start { initial_window: 10.0, rtt: Some(0.05), ..Start::default() }));
            h.win.ssthresh = f64::INFINITY;
            let (before, ack) = (h.window(), d.make_ack(&h, 1.0, 0.05, false));
            h.on_ack(&Ack { sample: Some(Sample { then, ..Sample::default() }), ..ack });
            assert_eq!(h.window() - before, grown, "{then:?}");
        }
    }
}
