//! Standard TCP congestion avoidance: AIMD(1, 1/2), as NewReno and SACK TCP use it (RFC 5681, RFC 6582, RFC 6675).
//!
//! Variant: byte counting (every segment acknowledged counts), so delayed ACKs do not slow the growth. The endpoint
//! does the recovery. Differences: RFC 5681 halves the flight size; the default here halves the window, as Linux and
//! ns-2 do (`reduce_from`, preset `rfc5681`). Linux keeps whole segments and a counter (preset `linux`); Linux 2.6
//! without byte counting counts ACKs and needs w + 1 ACKs for a step (preset `linux-2.6`). ns-2's TCP/Linux has byte
//! counting on (preset `ns2`).

use crate::ack::Ack;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params, value, word};
use crate::reports::{Cause, Signal};

params! {
    /// Parameters of standard TCP.
    pub struct RenoParams {
        /// Additive increase for each round trip (a).
        increase: f64 = num(1.0, 0.0, 1e6, Unit::Segments), "RFC 5681 §3.1";
        /// Fraction of the window given up on a loss (b).
        decrease: f64 = num(0.5, 0.0, 1.0, Unit::None), "RFC 5681 §3.1";
        /// Fraction of the window given up on an ECN echo.
        decrease_ecn: f64 = num(0.5, 0.0, 1.0, Unit::None), "RFC 3168 §6.1.2; RFC 8511 §3 allows 0.2";
    }
}

/// Standard TCP.
#[derive(Clone, Debug)]
pub struct Reno {
    pub(crate) win: LossWindow,
    p: RenoParams,
}

impl Reno {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "reno",
        title: "NewReno / SACK TCP",
        kind: Kind::Loss,
        signals: &["loss", "ECN"],
        source: "RFC 5681, RFC 6582, RFC 6675",
        doc: "Reno is standard TCP: it adds one segment each round trip and halves the window on a loss. Reno is the \
              baseline, and other algorithms behave like it at small windows. The default counts every acknowledged \
              segment and halves the window; RFC 5681 halves the flight size.",
        presets: &[
            Preset::new("", "RFC 5681 with byte counting, real-valued window", &[]),
            Preset::new("rfc5681", "RFC 5681: halves the flight size", &[word("reduce_from", "flight")]),
            Preset::new("abe", "RFC 8511: reduces the window by a fifth on an ECN echo", &[value("decrease_ecn", 0.2)]),
            Preset::new("linux", "Linux", &[word("arithmetic", "linux")]),
            Preset::new("linux-2.6", "Linux 2.6.22", &[word("arithmetic", "linux-2.6")]),
            Preset::new("ns2", "ns-2.35 TCP/Linux: Linux 2.6.22 with byte counting", &[word("arithmetic", "ns2")]),
        ],
        tables: &[RenoParams::TABLE, LossParams::TABLE],
        variables: &[LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self { win: LossWindow::new(settings)?, p: RenoParams::read(settings)? })
    }
}

observed! { self: Reno, self.win; }

impl LossBased for Reno {
    own_window!();

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, self.p.increase);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        let b = if signal.cause == Cause::Ecn { self.p.decrease_ecn } else { self.p.decrease };
        (1.0 - b) * self.win.reduced_from(signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::reports::Start;
    use crate::testing::{Driver, close, settings};

    fn reno(preset: &str) -> Reno {
        Reno::new(&settings(&Reno::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    #[test]
    fn five_round_trips_of_slow_start_make_320_of_10() {
        for preset in ["", "linux", "linux-2.6"] {
            let (mut d, mut r) = (Driver::new(), reno(preset));
            d.start(&mut r, 10.0);
            for _ in 0..5 {
                d.round(&mut r, 0.1);
            }
            assert_eq!(r.window(), 320.0, "{preset}");
        }
    }

    #[test]
    fn a_sawtooth_of_100_has_50_round_trips_and_3750_segments() {
        let (mut d, mut r) = (Driver::new(), reno(""));
        d.start_at(&mut r, 100.0);
        d.lose(&mut r);
        let (mut rounds, mut segments) = (0, 0.0);
        while r.window() < 99.5 {
            segments += r.window();
            rounds += 1;
            d.round(&mut r, 0.1);
        }
        close(f64::from(rounds), 50.0, 0.03);
        close(segments, 3750.0, 0.02);
    }

    #[test]
    fn a_loss_at_20_leaves_10() {
        let (d, mut r) = (Driver::new(), reno(""));
        d.start_at(&mut r, 20.0);
        d.lose(&mut r);
        assert_eq!((r.window(), r.ssthresh()), (10.0, 10.0));
    }

    #[test]
    fn rfc_5681_halves_what_is_in_flight() {
        let (d, mut r) = (Driver::new(), reno("rfc5681"));
        d.start_at(&mut r, 100.0);
        r.on_event(&Event::Congestion(Signal { in_flight: 30.0, ..d.signal(&r, Cause::Loss) }));
        assert_eq!(r.window(), 15.0);
    }

    #[test]
    fn an_ecn_echo_gives_up_a_fifth_under_rfc_8511() {
        let (d, mut r) = (Driver::new(), reno("abe"));
        d.start_at(&mut r, 100.0);
        r.on_event(&Event::Congestion(d.signal(&r, Cause::Ecn)));
        assert_eq!(r.window(), 80.0);
        r.on_event(&Event::Congestion(d.signal(&r, Cause::Loss)));
        assert_eq!(r.window(), 40.0);
    }

    #[test]
    fn a_repeated_timeout_keeps_the_threshold() {
        let (d, mut r) = (Driver::new(), reno(""));
        d.start_at(&mut r, 64.0);
        d.time_out(&mut r);
        assert_eq!((r.window(), r.ssthresh()), (1.0, 32.0));
        r.on_event(&Event::Timeout(Signal { repeated: true, ..d.signal(&r, Cause::Loss) }));
        assert_eq!((r.window(), r.ssthresh()), (1.0, 32.0));
        d.time_out(&mut r);
        assert_eq!(r.ssthresh(), 2.0);
    }

    #[test]
    fn slow_start_goes_on_in_congestion_avoidance_with_what_is_left_of_the_ack() {
        let (mut d, mut r) = (Driver::new(), reno(""));
        r.on_event(&Event::Start(Start { now: 0.0, initial_window: 9.0, initial_ssthresh: 10.0, ..Start::default() }));
        d.ack(&mut r, 6.0, 0.1, 0.1);
        close(r.window(), 10.5, 1e-12);
    }

    #[test]
    fn linux_counts_segments_and_2_6_counts_acks_and_one_more() {
        let (mut d, mut now, mut old) = (Driver::new(), reno("linux"), reno("linux-2.6"));
        d.start_at(&mut now, 10.0);
        // Linux 2.6 is still in slow start if the window equals the threshold.
        old.on_event(&Event::Start(Start {
            now: 0.0,
            initial_window: 10.0,
            initial_ssthresh: 9.0,
            ..Start::default()
        }));
        for _ in 0..5 {
            d.ack(&mut now, 2.0, 0.1, 0.01);
        }
        assert_eq!(now.window(), 11.0);
        for acks in 1..=11 {
            d.ack(&mut old, 2.0, 0.1, 0.01);
            assert_eq!(old.window(), if acks < 11 { 10.0 } else { 11.0 });
        }
    }

    #[test]
    fn ns2_counts_segments_and_keeps_what_exceeds_a_step() {
        let (mut d, mut r) = (Driver::new(), reno("ns2"));
        r.on_event(&Event::Start(Start { now: 0.0, initial_window: 10.0, initial_ssthresh: 9.0, ..Start::default() }));
        let windows = [3.0; 7].map(|acked| {
            d.ack(&mut r, acked, 0.1, 0.01);
            r.window()
        });
        assert_eq!(windows, [10.0, 10.0, 10.0, 11.0, 11.0, 11.0, 12.0], "10 segments, and 11");
    }

    #[test]
    fn where_recovery_halves_the_rate_the_window_may_sink_to_half_of_the_target() {
        let (d, mut r) = (Driver::new(), reno(""));
        d.start_at(&mut r, 50.0);
        d.lose(&mut r);
        assert_eq!((r.ssthresh(), r.recovery_floor()), (25.0, 12.5));
    }

    #[test]
    fn a_spurious_loss_is_undone_once() {
        let (d, mut r) = (Driver::new(), reno(""));
        d.start(&mut r, 50.0);
        d.lose(&mut r);
        r.on_event(&Event::Undo { now: 0.0 });
        assert_eq!((r.window(), r.ssthresh()), (50.0, f64::INFINITY));
        d.lose(&mut r);
        d.lose(&mut r);
        r.on_event(&Event::Undo { now: 0.0 });
        r.on_event(&Event::Undo { now: 0.0 });
        assert_eq!(r.window(), 25.0);
    }

    #[test]
    fn an_idle_connection_starts_again_from_the_initial_window() {
        let (mut d, mut r) = (Driver::new(), reno(""));
        d.start(&mut r, 10.0);
        d.round(&mut r, 0.1);
        r.on_event(&Event::Idle { now: 5.0, idle: 4.0 });
        assert_eq!(r.window(), 10.0);
    }
}
