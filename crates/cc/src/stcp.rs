//! Scalable TCP (Kelly T, "Scalable TCP: improving performance in highspeed wide area networks", CCR 33(2), 2003).
//!
//! Variant: the paper's constants. Each segment acknowledged adds 0.01 segments, and a loss reduces the window by one
//! eighth. Up to a window of `legacy_window` the flow behaves as standard TCP.
//!
//! Differences:
//! * The paper adds 0.01 segments for each ACK, so that delayed ACKs halve the growth. Here each acknowledged segment
//!   counts.
//! * Linux has no legacy window. Linux's window grows by one segment for each min(w, C) segments acknowledged, which is
//!   standard TCP's growth below C. A loss reduces any window by an eighth, truncated, so a window of fewer than 8
//!   segments is not reduced.
//! * Originally C was 50 ACKs, chosen for delayed ACKs. With a receiver that acknowledges every segment, the
//!   growth was 2 % a round trip (preset `linux-2.6`, and ns-2's TCP/Linux). Today C is 100 segments (preset `linux`).

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params, value, word};
use crate::reports::Signal;

params! {
    /// Parameters of Scalable TCP.
    pub struct StcpParams {
        /// Growth for each segment acknowledged (a).
        increase: f64 = num(0.01, 1e-6, 1.0, Unit::Segments), "Kelly 2003; RFC 3649 §8";
        /// Fraction of the window given up on a loss (b).
        decrease: f64 = num(0.125, 0.0, 1.0, Unit::None), "Kelly 2003; RFC 3649 §8";
        /// Largest window at which standard TCP's rules apply (lwnd).
        legacy_window: f64 = num(16.0, 0.0, 1e9, Unit::Segments), "Kelly 2003 (value not verified in its text)";
    }
}

/// Scalable TCP.
#[derive(Clone, Debug)]
pub struct Stcp {
    win: LossWindow,
    p: StcpParams,
    /// Number of segments acknowledged for one segment of growth (C = 1/a).
    per_step: f64,
}

impl Stcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "stcp",
        title: "Scalable TCP",
        kind: Kind::Loss,
        signals: &["loss"],
        source: "T. Kelly, CCR 33(2), 2003; RFC 3649 §8",
        doc: "Scalable TCP has multiplicative increase and decrease: the window grows by 1 % each round trip and \
              shrinks by one eighth on a loss, so the time to recover from a loss does not depend on the window. Two \
              synchronized flows keep the ratio of their windows. The default counts every acknowledged segment.",
        presets: &[
            Preset::new("", "Kelly 2003", &[]),
            Preset::new(
                "linux",
                "Linux since 2020: 1/100 for each segment, no legacy window",
                &[word("arithmetic", "linux"), value("legacy_window", 0.0)],
            ),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, ns-2 TCP/Linux: 1/50 for each ACK",
                &[word("arithmetic", "linux-2.6"), value("legacy_window", 0.0), value("increase", 0.02)],
            ),
        ],
        tables: &[StcpParams::TABLE, LossParams::TABLE],
        variables: &[LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = StcpParams::read(settings)?;
        Ok(Self { win: LossWindow::new(settings)?, p, per_step: 1.0 / p.increase })
    }
}

observed! { self: Stcp, self.win; }

impl LossBased for Stcp {
    own_window!();

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        if self.win.integer() {
            self.win.grow_one_in(n, self.win.w.min(self.per_step));
        } else if self.win.w <= self.p.legacy_window {
            self.win.grow_per_round(n, 1.0);
        } else {
            self.win.w += n * self.p.increase;
        }
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let from = self.win.reduced_from(signal);
        if from <= self.p.legacy_window || self.win.must_halve() {
            return from / 2.0;
        }
        from - self.win.whole(from * self.p.decrease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::reports::Start;
    use crate::testing::{Driver, close, settings};

    fn stcp(preset: &str) -> Stcp {
        Stcp::new(&settings(&Stcp::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    /// Round trips, with the fraction of the last one, until the window reaches `target`.
    fn rounds_to(s: &mut Stcp, target: f64) -> f64 {
        let mut d = Driver::new();
        let mut rounds = 0.0;
        loop {
            let before = s.window();
            d.round(s, 0.1);
            if s.window() >= target {
                return rounds + libm::log(target / before) / libm::log(s.window() / before);
            }
            rounds += 1.0;
        }
    }

    #[test]
    fn a_loss_is_regained_in_13_4_round_trips_at_any_window() {
        for w in [1000.0, 100_000.0] {
            let (d, mut s) = (Driver::new(), stcp(""));
            d.start_at(&mut s, w);
            d.lose(&mut s);
            close(s.window(), 0.875 * w, 1e-12);
            close(rounds_to(&mut s, w), libm::log(8.0 / 7.0) / libm::log(1.01), 2e-3);
        }
        close(libm::log(8.0 / 7.0) / libm::log(1.01), 13.42, 1e-3);
    }

    #[test]
    fn the_window_doubles_in_69_7_round_trips() {
        let (d, mut s) = (Driver::new(), stcp(""));
        d.start_at(&mut s, 100_000.0);
        close(rounds_to(&mut s, 200_000.0), 69.66, 2e-3);
    }

    #[test]
    fn a_round_trip_at_1000_adds_10_and_a_loss_takes_an_eighth() {
        let (mut d, mut s) = (Driver::new(), stcp(""));
        d.start_at(&mut s, 1000.0);
        d.round(&mut s, 0.1);
        close(s.window(), 1010.0, 1e-9);
        let mut s = stcp("");
        d.start_at(&mut s, 1000.0);
        d.lose(&mut s);
        assert_eq!(s.window(), 875.0);
    }

    #[test]
    fn below_the_legacy_window_it_is_standard_tcp_where_linux_keeps_all() {
        let (d, mut s, mut linux) = (Driver::new(), stcp(""), stcp("linux"));
        d.start_at(&mut s, 4.0);
        d.start_at(&mut linux, 4.0);
        d.lose(&mut s);
        d.lose(&mut linux);
        assert_eq!((s.window(), linux.window()), (2.0, 4.0));
        let mut d = Driver::new();
        let mut s = stcp("");
        d.start_at(&mut s, 10.0);
        d.round(&mut s, 0.1);
        close(s.window(), 11.0, 5e-3);
    }

    // The legacy window is the only one of these values that was not verified in the paper.
    #[test]
    fn the_peak_law_meets_standard_tcp_near_the_legacy_window() {
        let p = StcpParams::read(&settings(&Stcp::ENTRY, "", &[]).expect("it is right")).expect("it is right");
        let peak = p.increase / p.decrease;
        close(peak, 0.08, 1e-12);
        let rate = peak * peak / 1.5;
        close(rate, 4.267e-3, 1e-3);
        close(peak / rate, 18.75, 1e-12);
        close((1.5 / rate).sqrt(), 18.75, 1e-12);
        close(p.increase / libm::log(1.0 / (1.0 - p.decrease)), 0.07489, 1e-3);
    }

    #[test]
    fn linux_2_6_takes_51_acks_for_a_segment_and_linux_now_100() {
        let (mut d, mut old, mut now) = (Driver::new(), stcp("linux-2.6"), stcp("linux"));
        old.on_event(&Event::Start(Start {
            now: 0.0,
            initial_window: 1000.0,
            initial_ssthresh: 500.0,
            ..Start::default()
        }));
        d.start_at(&mut now, 1000.0);
        for acks in 1..=100 {
            d.ack(&mut old, 1.0, 0.1, 1e-4);
            d.ack(&mut now, 1.0, 0.1, 1e-4);
            assert_eq!(old.window(), if acks < 51 { 1000.0 } else { 1001.0 });
            assert_eq!(now.window(), if acks < 100 { 1000.0 } else { 1001.0 });
        }
    }
}
