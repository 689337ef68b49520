//! TCP Prague (RFC 9331's requirements; draft-briscoe-iccrg-prague-congestion-control; L4STeam Linux `tcp_prague` 0.6):
//! DCTCP for the Internet, for paths whose queues mark ECT(1) packets early (L4S).
//!
//! Variant: the Linux code's rules, real-valued, since the draft was not available. α is kept from the first mark on. A
//! mark reduces the window by α/2, at most once a round trip. Each segment without a mark adds 1/w and marked segments
//! add nothing, so two marks a round trip balance the growth. From 500 round trips after slow start, the behavior is
//! independent of RTTs below 25 ms: growth is scaled by (RTT/25 ms)², and α is updated and the window reduced at most
//! once in 25 ms. The pacing rate is w/RTT, and 2 w/RTT while the window is below half of the threshold. A loss halves
//! the window.
//!
//! On a host with segmentation offload a burst carries 2⁻¹² s of the pacing rate, and at least two segments, since the
//! code heeds `tcp_min_tso_segs`; its authors advise to set that to 1, for which there is `tso = false`.
//!
//! Differences from the code: the window falls at once and not by one segment an ACK. The detection of a queue with
//! classic ECN, which is off in the code, and scalings other than `rate` are left out.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Ecn, Needs};
use crate::dctcp::MarkShare;
use crate::event::Event;
use crate::loss_window::{LossParams, LossWindow, window_getters};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, flag, num, params, switch};
use crate::reports::{Signal, Start};

params! {
    /// Parameters of Prague.
    pub struct PragueParams {
        /// Weight of a new sample in α (g).
        g: f64 = num(0.0625, 1e-4, 1.0, Unit::None), "tcp_prague PRAGUE_SHIFT_G; RFC 8257 §4.2";
        /// α before the first sample.
        initial_alpha: f64 = num(1.0, 0.0, 1.0, Unit::None), "tcp_prague; picoquic has 0";
        /// Behave on a path with an RTT below `rtt_virtual` as on a path whose RTT is `rtt_virtual`.
        rtt_independence: bool = flag(true), "tcp_prague prague_rtt_scaling; RFC 9331 §4.3";
        /// RTT below which the behavior does not depend on the RTT.
        rtt_virtual: f64 = num(0.025, 1e-6, 10.0, Unit::Seconds), "tcp_prague prague_rtt_target";
        /// Round trips between slow start and the beginning of RTT independence.
        transition: f64 = num(500.0, 0.0, 1e9, Unit::RoundTrips), "tcp_prague prague_rtt_transition";
    }
}

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    win: LossWindow,
    p: PragueParams,
    share: MarkShare,
    saw_mark: bool,
    /// Round trips since slow start ended.
    rounds: f64,
    /// Growth for a window of unmarked segments.
    scale: f64,
    srtt: f64,
    share_closed_at: f64,
    /// End of the last window of data with a mark, s: segments sent earlier belong to this window of data.
    marked_at: f64,
    reduced_at: f64,
    /// True in fast recovery, in which the window does not grow, and in the recovery after a timeout, in which marks do
    /// not reduce the window.
    in_loss: bool,
    repairing: bool,
    pending: bool,
}

/// Number of the longest bursts in a second: each takes 2⁻¹² s (`prague_burst_shift`).
const BURSTS_PER_S: u16 = 1 << 12;

/// Error of a segment's computed send time, s: a segment sent right after a mark's arrival may seem to precede the
/// arrival by this time.
const CLOCK_ERROR_S: f64 = 1e-9;

impl Prague {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "prague",
        title: "TCP Prague",
        kind: Kind::Loss,
        signals: &["ECN marks counted", "RTT", "loss", "pacing"],
        source: "RFC 9331; draft-briscoe-iccrg-prague-congestion-control; L4STeam tcp_prague 0.6",
        doc: "DCTCP for the Internet's low-latency service. Prague paces, reduces its window in proportion to the \
              share of marks, and grows only for unmarked segments. After some time, Prague is as aggressive at RTTs \
              below 25 ms as at 25 ms.",
        presets: &[
            Preset::new("", "L4STeam Linux 0.6", &[]),
            Preset::new("rtt-dependent", "without independence of the RTT", &[switch("rtt_independence", false)]),
        ],
        tables: &[PragueParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, MarkShare::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = PragueParams::read(settings)?;
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            share: MarkShare::new(p.initial_alpha),
            saw_mark: false,
            rounds: 0.0,
            scale: 1.0,
            srtt: 0.0,
            share_closed_at: 0.0,
            marked_at: f64::NEG_INFINITY,
            reduced_at: f64::NEG_INFINITY,
            in_loss: false,
            repairing: false,
            pending: false,
        })
    }

    fn independent(&self) -> bool {
        self.p.rtt_independence && !self.win.in_slow_start() && self.rounds >= self.p.transition
    }

    /// Growth in a round trip of `rtt` s, as a fraction of the growth in a virtual RTT.
    fn scale_of(&self, rtt: f64) -> f64 {
        let part = (rtt / self.p.rtt_virtual).min(1.0);
        part * part
    }

    #[cold]
    fn end_round(&mut self, now: f64) {
        let early = self.saw_mark && self.independent() && now - self.share_closed_at < self.p.rtt_virtual;
        if early {
            return;
        }
        if self.saw_mark {
            self.share.close(self.p.g);
            self.share_closed_at = now;
        } else {
            self.share = MarkShare::new(self.share.alpha);
        }
        if !self.win.in_slow_start() {
            self.rounds += 1.0;
        }
        self.scale = if self.independent() { self.scale_of(self.srtt) } else { 1.0 };
    }

    /// Reduces the window at the first mark of a window of data.
    fn react(&mut self, now: f64) {
        self.pending = false;
        self.marked_at = now;
        if self.independent() && now - self.reduced_at < self.p.rtt_virtual {
            return;
        }
        self.reduced_at = now;
        self.win.lower_to(self.win.w * (1.0 - self.share.alpha / 2.0));
    }
}

observed! {
    self: Prague, self.share, self.win;
    /// Round trips since slow start ended.
    rounds = self.rounds, number(Unit::RoundTrips);
    /// Additive increase for each round trip without marks.
    scale = self.scale, number(Unit::Segments);
}

impl Prague {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start);
        self.share_closed_at = start.now;
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.win.reduce_to(0.5 * self.win.reduced_from(signal));
        (self.in_loss, self.pending, self.marked_at) = (true, false, signal.now);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.win.time_out(0.5 * self.win.reduced_from(signal), signal);
        (self.in_loss, self.repairing, self.pending, self.marked_at) = (false, true, false, signal.now);
    }

    fn on_undo(&mut self) {
        (self.in_loss, self.repairing) = (false, false);
        self.win.undo();
    }
}

impl Algorithm for Prague {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.win.follow(ack);
        self.share.count(ack);
        self.saw_mark |= ack.marked > 0.0;
        let unmarked = (ack.acked - ack.marked).max(0.0);
        if unmarked > 0.0 && !self.in_loss {
            let n = self.win.slow_start(&Ack { acked: unmarked, ..*ack });
            if n > 0.0 {
                self.win.grow_per_round(n, self.scale);
            }
        }
        if ack.round_start {
            self.end_round(ack.now);
        }
        self.pending |= ack.marked > 0.0 && !self.repairing && ack.sent_at() >= self.marked_at - CLOCK_ERROR_S;
        if self.pending && !ack.in_recovery {
            self.react(ack.now);
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.win.idle(),
            Event::Moderate { window } | Event::Keep { window } => self.win.moderate(window),
            Event::Lost(_) => self.win.on_lost(),
            Event::RecoveryExit { .. } => {
                self.win.end_recovery();
                (self.in_loss, self.repairing) = (false, false);
            }
            Event::Undo { .. } => self.on_undo(),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        self.win.needs(Needs { ecn: Ecn::L4s, pacing: true, bursts_per_s: Some(BURSTS_PER_S), ..Needs::default() })
    }

    window_getters!();

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        let gain = if self.win.w < 0.5 * self.win.ssthresh { 2.0 } else { 1.0 };
        (self.srtt > 0.0).then(|| gain * self.win.w / self.srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Setting;
    use crate::testing::{Driver, close, settings};

    fn prague(preset: &str, values: &[(&str, Setting)]) -> Prague {
        Prague::new(&settings(&Prague::ENTRY, preset, values).expect("it is right")).expect("it is right")
    }

    fn ack(d: &mut Driver, a: &mut Prague, marked: bool, round_start: bool, rtt: f64, after: f64) {
        d.now += after;
        let ack = d.make_ack(a, 1.0, rtt, round_start);
        a.on_ack(&Ack { marked: f64::from(u8::from(marked)), ..ack });
    }

    #[test]
    fn growth_below_the_virtual_rtt_is_scaled_by_the_square() {
        for (rtt, scale) in [(0.005, 0.04), (0.001, 0.0016), (0.025, 1.0), (0.1, 1.0)] {
            let (mut d, mut a) = (Driver::new(), prague("", &[("transition", Setting::Num(0.0))]));
            close(a.scale_of(rtt), scale, 1e-9);
            d.start_at(&mut a, 100.0);
            d.round(&mut a, rtt);
            let before = a.window();
            d.round(&mut a, rtt);
            close(a.window() - before, scale, 0.02);
        }
    }

    #[test]
    fn independence_begins_500_round_trips_after_slow_start() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        d.start_at(&mut a, 100.0);
        for round in 1..=502 {
            let before = a.window();
            d.round(&mut a, 0.005);
            // The first ACK of a round still has the old scale.
            let growth = a.window() - before;
            if round < 500 {
                close(growth, 1.0, 0.02);
            } else if round > 500 {
                close(growth, 0.04, 0.3);
            }
        }
    }

    #[test]
    fn a_mark_takes_half_of_alpha_once_a_round_trip() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        d.start_at(&mut a, 100.0);
        (a.share.alpha, a.saw_mark) = (0.2, true);
        ack(&mut d, &mut a, true, false, 0.1, 0.1);
        assert_eq!(a.window(), 90.0);
        // Marked segments add nothing.
        ack(&mut d, &mut a, true, false, 0.1, 0.05);
        assert_eq!(a.window(), 90.0);
        ack(&mut d, &mut a, true, false, 0.1, 0.051);
        assert_eq!(a.window(), 81.0);
    }

    #[test]
    fn independent_of_the_rtt_it_reacts_every_25_ms_at_most() {
        let (mut d, mut a) = (Driver::new(), prague("", &[("transition", Setting::Num(0.0))]));
        d.start_at(&mut a, 100.0);
        (a.share.alpha, a.saw_mark) = (0.2, true);
        let mut cuts = 0;
        for _ in 0..100 {
            let before = a.window();
            ack(&mut d, &mut a, true, false, 0.002, 0.0025);
            cuts += u32::from(a.window() < before);
        }
        assert_eq!(cuts, 10);
    }

    #[test]
    fn two_marks_a_round_trip_hold_the_window() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        d.start_at(&mut a, 100.0);
        a.share.alpha = 0.02;
        let mut sum = 0.0;
        for round in 0..2000 {
            let n = a.window().floor();
            for i in 0..n as u32 {
                let marked = i % (n as u32 / 2) == 1;
                ack(&mut d, &mut a, marked, i == 0, 0.1, 0.1 / n);
            }
            if round >= 1000 {
                sum += a.window() * a.share.alpha;
            }
        }
        close(sum / 1000.0, 2.0, 0.05);
    }

    #[test]
    fn alpha_stays_until_the_first_mark_and_that_halves() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        d.start(&mut a, 10.0);
        for _ in 0..3 {
            d.round(&mut a, 0.1);
        }
        assert_eq!((a.window(), a.share.alpha), (80.0, 1.0));
        ack(&mut d, &mut a, true, false, 0.1, 0.1);
        assert_eq!((a.window(), a.ssthresh()), (40.0, 40.0));
    }

    #[test]
    fn it_paces_at_a_window_a_round_trip_and_twice_that_far_below_the_threshold() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        assert_eq!(a.pacing_rate(), None);
        d.start(&mut a, 10.0);
        ack(&mut d, &mut a, false, false, 0.1, 0.1);
        close(a.pacing_rate().unwrap_or(0.0), 220.0, 1e-9);
        d.start_at(&mut a, 100.0);
        close(a.pacing_rate().unwrap_or(0.0), 1000.0, 1e-9);
    }

    #[test]
    fn a_loss_halves_and_nothing_grows_until_it_is_repaired() {
        let (mut d, mut a) = (Driver::new(), prague("", &[]));
        d.start_at(&mut a, 100.0);
        let signal = d.signal(&a, crate::Cause::Loss);
        a.on_event(&Event::Congestion(signal));
        ack(&mut d, &mut a, false, false, 0.1, 0.01);
        assert_eq!(a.window(), 50.0);
        a.on_event(&Event::RecoveryExit { now: d.now });
        ack(&mut d, &mut a, false, false, 0.1, 0.01);
        close(a.window(), 50.02, 1e-6);
    }
}
