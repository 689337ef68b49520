//! DCTCP (RFC 8257; Alizadeh M et al., "Data Center TCP (DCTCP)", SIGCOMM 2010). On marks the window falls by half of
//! the smoothed fraction of the segments that queues had marked.
//!
//! Variant: α is computed from the marks of each round trip (RFC 8257 §3.3, steps 1 to 8). The window is reduced at the
//! first mark of a window of data, as in RFC 3168, the paper and all kernels, while the RFC's step 9 reduces it at the
//! end (`reaction = window-end`). Losses halve the window (RFC 8257 §3.5). A loss after a mark in the same window of
//! data halves the window that was in force before the mark, so that there is only one reduction.
//!
//! Preset `linux`: whole segments, and the endpoint lowers the window over the round trip after a mark, in which it
//! does not grow (the state CWR). The kernel computes α by shifts in units of 1/1024, so α becomes 0 below 16/1024, and
//! fractions of marks below one in 64 are ignored. Marks in fast recovery, and during the recovery after a timeout,
//! count towards α but do not reduce the window.

use crate::ack::Ack;
use crate::algorithm::{Ecn, Needs};
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, switch, word};
use crate::reports::{Cause, Signal};

choices! {
    /// Time of the reductions for marks:
    /// * `first-mark`: a reduction at the first mark after the window of data of the last reduction.
    /// * `window-end`: a reduction at the end of a round trip with marks, after the update of α.
    pub enum Reaction { FirstMark = "first-mark", WindowEnd = "window-end" }
}

params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        /// Weight of a new sample in α (g).
        g: f64 = num(0.0625, 1e-4, 1.0, Unit::None), "RFC 8257 §4.2";
        /// α before the first sample.
        initial_alpha: f64 = num(1.0, 0.0, 1.0, Unit::None), "RFC 8257 §3.3; Linux dctcp_alpha_on_init";
        /// Time of the reductions for marks.
        reaction: Reaction = choice("first-mark", Reaction::WORDS), "SIGCOMM 2010; Linux; RFC 8257 §3.3: window-end";
        /// Let the window grow in the window of data after a reduction.
        grow_after_mark: bool = flag(true), "RFC 8257 §3.3 is silent; Linux does not (CWR state)";
    }
}

/// Linux's unit of α.
const ALPHA_ONE: f64 = 1024.0;

/// Smoothed fraction of marked segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkShare {
    pub alpha: f64,
    /// Delivered segments and marked segments of this observation.
    pub acked: f64,
    pub marked: f64,
}

observed! {
    self: MarkShare;
    /// Smoothed fraction of marked segments (α).
    alpha = self.alpha, plain();
    /// Segments delivered in the current observation.
    acked = self.acked, number(Unit::Segments);
    /// Marked segments among them.
    marked = self.marked, number(Unit::Segments);
}

impl MarkShare {
    pub(crate) fn new(alpha: f64) -> Self {
        Self { alpha, acked: 0.0, marked: 0.0 }
    }

    #[inline]
    pub(crate) fn count(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.marked;
    }

    /// Ends the observation: moves α towards the observed fraction by the fraction `g` of the difference.
    pub(crate) fn close(&mut self, g: f64) {
        if self.acked > 0.0 {
            let share = (self.marked / self.acked).min(1.0);
            self.alpha = ((1.0 - g) * self.alpha + g * share).clamp(0.0, 1.0);
        }
        (self.acked, self.marked) = (0.0, 0.0);
    }

    /// Ends the observation in Linux's integers, with `g` as a shift. Without any marks, an α below 1/g units becomes
    /// 0.
    fn close_linux(&mut self, g: f64) {
        let mut units = self.alpha * ALPHA_ONE;
        let fall = (units * g).floor();
        units -= if fall > 0.0 { fall } else { units };
        if self.marked > 0.0 {
            units += (self.marked * (ALPHA_ONE * g) / self.acked.max(1.0)).floor();
        }
        self.alpha = units.min(ALPHA_ONE) / ALPHA_ONE;
        (self.acked, self.marked) = (0.0, 0.0);
    }
}

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    win: LossWindow,
    p: DctcpParams,
    share: MarkShare,
    /// Time of the last reduction, s: segments sent earlier belong to the window of data before this reduction.
    reduced_at: f64,
    /// Window before the last reduction, if marks caused the reduction.
    window_before: Option<f64>,
    /// True if a mark arrived with an ACK on which the window must not change.
    pending: bool,
    /// True in the recovery after a timeout, in which the window is already reduced.
    repairing: bool,
    /// True if the endpoint has to begin a reduction for a mark.
    asks: bool,
    /// Linux's observation ends when all segments below this one are acknowledged.
    observed_below: u32,
}

/// Error of a segment's computed send time, s: a segment sent right after a reduction may seem to precede the reduction
/// by this time.
const CLOCK_ERROR_S: f64 = 1e-9;

impl Dctcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "dctcp",
        title: "DCTCP",
        kind: Kind::Loss,
        signals: &["ECN marks counted", "loss"],
        source: "RFC 8257; Alizadeh et al., SIGCOMM 2010",
        doc: "DCTCP is for data centers whose switches mark segments above a queue threshold. The larger the fraction \
              of marked segments, the larger the reduction of the window, up to one half. The queue stays short and \
              varies little. The default reduces the window at the first mark of a window of data.",
        presets: &[
            Preset::new("", "RFC 8257", &[]),
            Preset::new(
                "rfc-letter",
                "RFC 8257 §3.3, step by step: reduces where a window of data ends",
                &[word("reaction", "window-end")],
            ),
            Preset::new(
                "linux",
                "Linux: whole segments, α in 1/1024, no growth after a mark for a round trip",
                &[word("arithmetic", "linux"), switch("grow_after_mark", false)],
            ),
        ],
        tables: &[DctcpParams::TABLE, LossParams::TABLE],
        variables: &[MarkShare::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = DctcpParams::read(settings)?;
        Ok(Self {
            win: LossWindow::new(settings)?,
            p,
            share: MarkShare::new(p.initial_alpha),
            reduced_at: f64::NEG_INFINITY,
            window_before: None,
            pending: false,
            repairing: false,
            asks: false,
            observed_below: 0,
        })
    }

    #[inline]
    fn end_round(&mut self) {
        if self.win.integer() { self.share.close_linux(self.p.g) } else { self.share.close(self.p.g) }
    }

    /// True if the endpoint reduces the window for marks, over the round trip after a mark (the state CWR).
    #[inline]
    fn is_linux(&self) -> bool {
        self.win.integer() && !self.p.grow_after_mark && self.p.reaction == Reaction::FirstMark
    }

    /// True if an ACK ends Linux's observation: all segments that were outstanding at its start are acknowledged. The rounds
    /// of other algorithms end with the first ACK of a later segment.
    fn ends_observation(&mut self, ack: &Ack) -> bool {
        let Some(sample) = ack.sample else { return ack.round_start };
        let ends = sample.una >= self.observed_below;
        if ends {
            self.observed_below = sample.next;
        }
        ends
    }

    /// Handles an ACK as Linux does.
    fn acknowledge_as_linux(&mut self, ack: &Ack) {
        self.share.count(ack);
        if self.ends_observation(ack) {
            self.end_round();
        }
        self.asks = ack.marked > 0.0 && !self.repairing;
        if !self.asks {
            let n = self.win.slow_start(ack);
            if n > 0.0 {
                self.grow(ack, n);
            }
        }
    }

    /// Records a loss, after which the window of data counts as reduced. In Linux this holds only after a mark (the state
    /// CWR): a recovery ends before its window of data, and the window may grow at once.
    fn repaired_from(&mut self, now: f64) {
        self.reduced_at = if self.p.grow_after_mark { now } else { f64::NEG_INFINITY };
    }

    /// Window after a reduction for marks.
    fn lowered(&self) -> f64 {
        let w = self.win.w;
        w - self.win.whole(w * self.share.alpha / 2.0)
    }

    fn react(&mut self, now: f64) {
        self.window_before = Some(self.win.w);
        self.win.lower_to(self.lowered());
        self.reduced_at = now;
        self.pending = false;
    }
}

observed! { self: Dctcp, self.share, self.win; }

impl LossBased for Dctcp {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        Needs { ecn: Ecn::Accurate, reductions: self.is_linux(), ..Needs::default() }
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        if self.is_linux() {
            self.acknowledge_as_linux(ack);
            return;
        }
        self.share.count(ack);
        let at_end = self.p.reaction == Reaction::WindowEnd;
        let marked = if at_end { ack.round_start && self.share.marked > 0.0 } else { ack.marked > 0.0 };
        if ack.round_start {
            self.end_round();
        }
        let settled = ack.sent_at() >= self.reduced_at - CLOCK_ERROR_S;
        self.pending |= marked && settled && !self.repairing;
        if self.pending && !ack.in_recovery {
            self.react(ack.now);
            return;
        }
        if settled || self.p.grow_after_mark {
            let n = self.win.slow_start(ack);
            if n > 0.0 {
                self.grow(ack, n);
            }
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, 1.0);
    }

    fn takes_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        if signal.cause == Cause::Ecn {
            return self.lowered();
        }
        // One reduction for the marks and the loss of one window of data.
        let same = signal.now - self.reduced_at < signal.srtt;
        let from = self.window_before.take().filter(|_| same).unwrap_or_else(|| self.win.reduced_from(signal));
        (0.5 * from).min(self.win.w)
    }

    fn after_reduction(&mut self, signal: &Signal) {
        self.repaired_from(signal.now);
        self.pending = false;
    }

    fn on_linux(&mut self, event: &linux::Event) {
        match *event {
            // Half of the window that is left of the reduction (`dctcp_react_to_loss`).
            linux::Event::LossInReduction { window, .. } if self.is_linux() => self.win.lower_to(window / 2.0),
            _ => {}
        }
    }

    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        0.5 * self.win.reduced_from(signal)
    }

    fn after_timeout(&mut self, signal: &Signal) {
        (self.window_before, self.pending, self.repairing) = (None, false, true);
        self.repaired_from(signal.now);
    }

    fn recovered(&mut self, _now: f64) {
        self.repairing = false;
    }

    fn undone(&mut self, _restored: bool) {
        self.repairing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::Sample;
    use crate::testing::{Driver, close, settings};

    fn dctcp(preset: &str) -> Dctcp {
        Dctcp::new(&settings(&Dctcp::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    /// One ACK for one segment, marked or not.
    fn ack(d: &mut Driver, a: &mut Dctcp, marked: bool, round_start: bool, after: f64) {
        d.now += after;
        let ack = d.make_ack(a, 1.0, 0.1, round_start);
        a.on_ack(&Ack { marked: f64::from(u8::from(marked)), ..ack });
    }

    /// An observation of ten segments, `marks` of them marked.
    fn observe(share: &mut MarkShare, marks: f64) {
        share.count(&Ack { acked: 10.0, marked: marks, ..Ack::default() });
        share.close(0.0625);
    }

    #[test]
    fn alpha_moves_by_a_sixteenth() {
        let mut share = MarkShare::new(0.5);
        observe(&mut share, 0.0);
        assert_eq!(share.alpha, 0.46875);
        share.alpha = 0.5;
        observe(&mut share, 4.0);
        assert_eq!(share.alpha, 0.49375);
    }

    #[test]
    fn a_mark_takes_half_of_alpha() {
        for (preset, alpha, after) in [("", 0.1, 95.0), ("linux", 102.0 / 1024.0, 96.0), ("", 1.0, 50.0)] {
            let (mut d, mut a) = (Driver::new(), dctcp(preset));
            d.start_at(&mut a, 100.0);
            a.share.alpha = alpha;
            ack(&mut d, &mut a, true, false, 0.1);
            assert_eq!(Algorithm::takes_reduction(&mut a), preset == "linux");
            if preset == "linux" {
                a.on_event(&Event::Congestion(d.signal(&a, Cause::Ecn)));
            }
            assert_eq!((a.window(), a.ssthresh()), (after, after), "{preset}");
        }
    }

    #[test]
    fn a_loss_in_linux_s_reduction_halves_the_window_that_is_left() {
        let (mut d, mut a) = (Driver::new(), dctcp("linux"));
        d.start_at(&mut a, 100.0);
        a.share.alpha = 102.0 / ALPHA_ONE;
        ack(&mut d, &mut a, true, false, 0.1);
        a.on_event(&Event::Congestion(d.signal(&a, Cause::Ecn)));
        a.on_event(&Event::Linux(linux::Event::LossInReduction { now: d.now, window: 99.0 }));
        assert_eq!((a.window(), a.ssthresh()), (49.0, 49.0));
    }

    #[test]
    fn linux_s_alpha_in_1024ths_falls_to_nothing() {
        let mut share = MarkShare::new(102.0 / ALPHA_ONE);
        share.count(&Ack { acked: 10.0, marked: 4.0, ..Ack::default() });
        share.close_linux(0.0625);
        assert_eq!(share.alpha * ALPHA_ONE, 102.0 - 6.0 + 25.0);
        share.alpha = 15.0 / ALPHA_ONE;
        share.close_linux(0.0625);
        assert_eq!(share.alpha, 0.0);
    }

    #[test]
    fn linux_does_not_see_fewer_marks_than_one_in_64() {
        for (marks, units) in [(1.0, 96.0), (2.0, 97.0)] {
            let mut share = MarkShare::new(102.0 / ALPHA_ONE);
            share.count(&Ack { acked: 100.0, marked: marks, ..Ack::default() });
            share.close_linux(0.0625);
            assert_eq!(share.alpha * ALPHA_ONE, units);
        }
    }

    #[test]
    fn one_reduction_for_a_window_of_data() {
        let (mut d, mut a) = (Driver::new(), dctcp(""));
        d.start_at(&mut a, 100.0);
        a.share.alpha = 0.1;
        ack(&mut d, &mut a, true, false, 1.0);
        let mut last = a.window();
        // These ACKs arrive within a round trip, so their segments were sent before the reduction.
        for _ in 0..9 {
            ack(&mut d, &mut a, true, false, 0.01);
            assert!(a.window() > last);
            last = a.window();
        }
        ack(&mut d, &mut a, true, false, 0.011);
        close(a.window(), last * 0.95, 1e-9);
    }

    #[test]
    fn linux_leaves_the_reduction_to_the_endpoint_and_does_not_grow_on_a_marked_ack() {
        let (mut d, mut a) = (Driver::new(), dctcp("linux"));
        d.start_at(&mut a, 100.0);
        for _ in 0..3 {
            ack(&mut d, &mut a, true, false, 0.01);
            assert_eq!((a.window(), a.win.counter), (100.0, 0.0));
            assert_eq!([0; 2].map(|_| Algorithm::takes_reduction(&mut a)), [true, false]);
        }
        ack(&mut d, &mut a, false, false, 0.01);
        assert_eq!((a.win.counter, Algorithm::takes_reduction(&mut a)), (1.0, false));
    }

    #[test]
    fn linux_ends_an_observation_with_the_ack_of_its_last_segment() {
        let (mut d, mut a) = (Driver::new(), dctcp("linux"));
        d.start_at(&mut a, 100.0);
        let mut alphas = Vec::new();
        for (una, next) in [(1, 10), (9, 20), (10, 21), (20, 40), (21, 42)] {
            let sample = Some(Sample { una, next, ..Sample::default() });
            let ack = d.make_ack(&a, 1.0, 0.1, false);
            a.on_ack(&Ack { sample, ..ack });
            alphas.push(a.share.alpha * ALPHA_ONE);
        }
        assert_eq!(alphas, [960.0, 960.0, 900.0, 900.0, 844.0]);
    }

    #[test]
    fn by_its_letter_the_rfc_reduces_where_a_round_trip_ends() {
        let (mut d, mut a) = (Driver::new(), dctcp("rfc-letter"));
        d.start_at(&mut a, 100.0);
        a.share.alpha = 0.0;
        ack(&mut d, &mut a, true, false, 1.0);
        assert!(a.window() > 100.0);
        ack(&mut d, &mut a, false, true, 0.01);
        // Half of the segments of the observation were marked, so α = 1/32.
        close(a.window(), 100.01 * (1.0 - 1.0 / 64.0), 1e-4);
    }

    #[test]
    fn a_loss_halves_and_makes_one_reduction_with_a_mark() {
        let (mut d, mut a) = (Driver::new(), dctcp(""));
        d.start_at(&mut a, 100.0);
        d.lose(&mut a);
        assert_eq!(a.window(), 50.0);
        d.start_at(&mut a, 100.0);
        a.share.alpha = 0.1;
        ack(&mut d, &mut a, true, false, 1.0);
        assert_eq!(a.window(), 95.0);
        d.lose(&mut a);
        assert_eq!(a.window(), 50.0);
        // A loss one round trip later belongs to another window of data.
        d.now += 0.2;
        d.lose(&mut a);
        assert_eq!(a.window(), 25.0);
    }

    #[test]
    fn the_first_mark_ends_slow_start_with_a_half_and_the_floor_is_two() {
        let (mut d, mut a) = (Driver::new(), dctcp(""));
        d.start(&mut a, 10.0);
        d.round(&mut a, 0.1);
        // No marks in the first round: α is 15/16.
        ack(&mut d, &mut a, true, false, 0.1);
        close(a.window(), 20.0 * (1.0 - 0.5 * 0.9375), 0.05);
        for _ in 0..100 {
            a.share.alpha = 1.0;
            ack(&mut d, &mut a, true, false, 0.2);
        }
        assert!((2.0..3.0).contains(&a.window()));
    }

    #[test]
    fn marks_cut_nothing_while_a_timeout_is_repaired() {
        let (mut d, mut a) = (Driver::new(), dctcp(""));
        d.start_at(&mut a, 100.0);
        d.time_out(&mut a);
        for _ in 0..3 {
            ack(&mut d, &mut a, true, false, 0.2);
        }
        assert_eq!((a.window(), a.ssthresh()), (4.0, 50.0));
        a.on_event(&Event::RecoveryExit { now: d.now });
        ack(&mut d, &mut a, true, false, 0.2);
        assert_eq!(a.window(), 2.0);
    }

    #[test]
    fn a_mark_on_a_duplicate_ack_waits() {
        let (mut d, mut a) = (Driver::new(), dctcp(""));
        d.start_at(&mut a, 100.0);
        d.now = 1.0;
        let duplicate = d.make_ack(&a, 1.0, 0.1, false);
        a.on_ack(&Ack { marked: 1.0, in_recovery: true, ..duplicate });
        assert_eq!(a.window(), 100.0);
        ack(&mut d, &mut a, false, false, 0.001);
        assert_eq!(a.window(), 50.0);
    }

    #[test]
    fn linux_grows_at_once_after_the_recovery_of_a_loss() {
        let (mut d, mut a) = (Driver::new(), dctcp("linux"));
        d.start_at(&mut a, 4.0);
        d.lose(&mut a);
        assert_eq!(a.window(), 2.0);
        for _ in 0..2 {
            ack(&mut d, &mut a, false, false, 0.01);
        }
        assert_eq!(a.window(), 3.0, "both segments were sent before the loss");
    }
}
