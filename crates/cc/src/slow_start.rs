//! Slow starts, shared by the algorithms: standard (RFC 5681), limited (RFC 3742), HyStart (Linux's),
//! HyStart++ (RFC 9406), SEARCH and Rapid Start, which are drafts.
//!
//! Difference from Linux: HyStart's ACK-train test assumes an unpaced sender. HyStart++ counts at most L = 8 segments of an ACK for every
//! sender; RFC 9406 requires this only of senders that do not pace.

use crate::ack::Ack;
use crate::linux::{Recovery, Sample};
use crate::param::choices;

mod rapid;
mod search;

use self::rapid::Rapid;
use self::search::{Expected, Search};

choices! {
    /// Form of slow start:
    /// * `standard`: the window grows by one segment for each segment acknowledged (RFC 5681).
    /// * `limited`: the window grows by at most about half `limited_max_ssthresh` segments a round trip (RFC 3742).
    /// * `hystart`: slow start ends when ACK trains or delays indicate a full pipe (Linux 5.x and later).
    /// * `hystart++`: a delay increase starts a conservative phase, which then ends slow start (RFC 9406).
    /// * `search`: slow start ends when the path delivers clearly less than was sent a round trip ago
    ///   (draft-chung-ccwg-search-09).
    /// * `search-delivered`: slow start ends when the path delivers clearly less than twice of what it delivered a round
    ///   trip ago (draft-chung-ccwg-search-06; SEARCH 3.1 for Linux).
    /// * `rapid`: the window triples each round trip until a queue builds up, and the first loss reduces it by what was
    ///   delivered (draft-kazuho-ccwg-rapid-start).
    pub enum SlowStartKind {
        Standard = "standard", Limited = "limited", Hystart = "hystart", HystartPlusPlus = "hystart++",
        Search = "search", SearchDelivered = "search-delivered", Rapid = "rapid",
    }
}

/// Smallest window at which HyStart may end slow start, segments (Linux `hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Largest gap between two ACKs of one train, s (Linux `hystart_ack_delta_us`).
const ACK_DELTA_S: f64 = 0.002;
/// Allowance of an ACK train for segmentation offload (Linux `hystart_ack_delay`): the number of largest bursts whose
/// time at the pacing rate is allowed, and the largest allowance, s.
const ALLOWED_BURSTS: f64 = 4.0;
const MOST_ALLOWED_S: f64 = 0.001;
/// Linux's pacing rate in slow start, windows for each round trip (`tcp_pacing_ss_ratio`).
const PACING_FACTOR: f64 = 2.0;
/// Number of RTT samples in a round from which the round's minimum is used (RFC 9406 §4.3 N_RTT_SAMPLE; Linux).
const MIN_SAMPLES: u32 = 8;
/// Divisor of the growth in the conservative phase (RFC 9406 §4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Largest number of segments counted for one ACK (L in RFC 9406 §4.3, without pacing).
const MOST_OF_AN_ACK: f64 = 8.0;
/// Length of the conservative phase, rounds (RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;

/// Delay increase that counts as a queue, s: an eighth of the RTT, between 4 and 16 ms (RFC 9406 §4.3; Linux).
#[must_use]
pub fn delay_threshold(rtt: f64) -> f64 {
    (rtt / 8.0).clamp(0.004, 0.016)
}

/// Time by which segmentation offload may lengthen an ACK train, s; 0 without offload.
fn allowance_s(ack: &Ack, window: f64) -> f64 {
    let bursts = ALLOWED_BURSTS * ack.sample.map_or(0.0, |sample| sample.largest_burst);
    (bursts * ack.srtt / (PACING_FACTOR * window)).min(MOST_ALLOWED_S)
}

/// Whole microseconds of a time of `seconds`.
fn whole_us(seconds: f64) -> f64 {
    // The thousandth of a microsecond corrects a product that rounding put just below a whole number.
    (seconds * 1e6 + 1e-3).floor()
}

/// Segments by which the window grows for each segment acknowledged beyond `max_ssthresh` (RFC 3742 §2).
#[must_use]
pub fn limited_increment(window: f64, max_ssthresh: f64) -> f64 {
    if window <= max_ssthresh { 1.0 } else { 1.0 / (window / (max_ssthresh / 2.0)).floor() }
}

/// State of HyStart and HyStart++ over the round trips.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    start: f64,
    train_end: f64,
    rtt_min: f64,
    previous_rtt_min: f64,
    css_baseline: f64,
    samples: u32,
    css_rounds: u32,
    /// Segment after the last round's segments (Linux's `end_seq`); `None` before the first sample.
    end: Option<u32>,
    begun: bool,
    found: bool,
}

const NO_ROUNDS: Rounds = Rounds {
    start: 0.0,
    train_end: 0.0,
    rtt_min: f64::INFINITY,
    previous_rtt_min: f64::INFINITY,
    css_baseline: f64::INFINITY,
    samples: 0,
    css_rounds: 0,
    end: None,
    begun: false,
    found: false,
};

/// The slow start of one connection.
#[derive(Clone, Debug)]
pub struct SlowStart {
    kind: SlowStartKind,
    max_ssthresh: f64,
    rounds: Rounds,
    /// True if HyStart takes Linux's samples.
    is_sampled: bool,
    form: Option<Form>,
}

/// State of a form of slow start that follows every ACK of a connection.
#[derive(Clone, Debug)]
enum Form {
    Search(Box<Search>),
    Rapid(Box<Rapid>),
}

/// Result of one ACK in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Growth of the window, segments, for each segment acknowledged.
    Grow(f64),
    /// The end of slow start, since the pipe is full: the current window, less the overshoot, becomes the slow start
    /// threshold.
    Leave {
        /// Segments.
        overshoot: f64,
    },
}

const LEAVE: Step = Step::Leave { overshoot: 0.0 };

impl SlowStart {
    /// Slow start of a new connection. `max_ssthresh`, segments, is for [`SlowStartKind::Limited`] only.
    #[must_use]
    pub fn new(kind: SlowStartKind, max_ssthresh: f64) -> Self {
        let form = match kind {
            SlowStartKind::Search => Some(Form::Search(Search::new(Expected::Sent).into())),
            SlowStartKind::SearchDelivered => Some(Form::Search(Search::new(Expected::TwiceDelivered).into())),
            SlowStartKind::Rapid => Some(Form::Rapid(Rapid::new().into())),
            _ => None,
        };
        Self { kind, max_ssthresh, rounds: NO_ROUNDS, is_sampled: false, form }
    }

    /// True if each lost segment must be counted ([`SlowStart::on_lost`]).
    #[must_use]
    pub fn counts_losses(&self) -> bool {
        self.kind == SlowStartKind::Rapid
    }

    /// Follows an ACK, in a recovery too. Returns the window of a recovery that this form of slow start has a rule for.
    #[inline]
    pub fn follow(&mut self, ack: &Ack) -> Option<f64> {
        match self.form.as_mut()? {
            Form::Search(search) => {
                search.count(ack);
                None
            }
            Form::Rapid(rapid) => rapid.follow(ack.acked),
        }
    }

    /// Counts a lost segment.
    pub fn on_lost(&mut self) {
        if let Some(Form::Rapid(rapid)) = self.form.as_mut() {
            rapid.on_lost();
        }
    }

    /// Begins a recovery in slow start at a window of `window` segments, which an algorithm would reduce to `target`.
    /// Returns the window of the recovery if this form of slow start has a rule for it.
    pub fn retreat(&mut self, window: f64, target: f64, initial: f64) -> Option<f64> {
        match self.form.as_mut()? {
            Form::Search(_) => None,
            Form::Rapid(rapid) => rapid.retreat(window, target, initial),
        }
    }

    /// Ends the recovery.
    pub fn end_recovery(&mut self) {
        if let Some(Form::Rapid(rapid)) = self.form.as_mut() {
            rapid.end_recovery();
        }
    }

    /// True if HyStart++ is in its conservative phase.
    #[must_use]
    pub fn is_conservative(&self) -> bool {
        self.kind == SlowStartKind::HystartPlusPlus && !self.rounds.found && self.rounds.css_baseline.is_finite()
    }

    /// Handles an ACK in slow start at a window of `window` segments.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, window: f64) -> Step {
        match self.kind {
            SlowStartKind::Standard => Step::Grow(1.0),
            SlowStartKind::Limited => Step::Grow(limited_increment(window, self.max_ssthresh)),
            SlowStartKind::Hystart if self.is_sampled => Step::Grow(1.0),
            SlowStartKind::Hystart => self.hystart(ack, window),
            SlowStartKind::HystartPlusPlus => self.hystart_plus_plus(ack),
            SlowStartKind::Search | SlowStartKind::SearchDelivered | SlowStartKind::Rapid => self.own_form(ack),
        }
    }

    fn own_form(&mut self, ack: &Ack) -> Step {
        match self.form.as_mut() {
            Some(Form::Search(search)) => {
                search.overshoot(ack).map_or(Step::Grow(1.0), |overshoot| Step::Leave { overshoot })
            }
            Some(Form::Rapid(rapid)) => Step::Grow(rapid.growth(ack)),
            None => Step::Grow(1.0),
        }
    }

    /// Takes Linux's sample of an ACK in slow start at a window of `window` segments (`hystart_update`). Returns true if
    /// slow start ends. Linux also takes samples in a recovery, while the window is below the threshold.
    pub fn sample(&mut self, ack: &Ack, sample: &Sample, window: f64, delay_min: f64) -> bool {
        self.is_sampled = true;
        let Some(rtt) = ack.rtt.filter(|_| self.kind == SlowStartKind::Hystart && !self.rounds.found) else {
            return false;
        };
        let r = &mut self.rounds;
        if r.end.is_none_or(|end| sample.una > end) {
            // The first sample of a connection begins a round. After a timeout, the round lasts until new data are
            // acknowledged.
            let begins = r.end.is_some() || sample.then != Recovery::Repair;
            let train_end = if begins { ack.now } else { f64::NEG_INFINITY };
            *r = Rounds { start: ack.now, train_end, end: Some(sample.next), ..NO_ROUNDS };
        }
        if window < LOW_WINDOW {
            return false;
        }
        if ack.now - r.train_end <= ACK_DELTA_S {
            r.train_end = ack.now;
            let allowed_us = whole_us(allowance_s(ack, window));
            let threshold_us = ((whole_us(delay_min) + allowed_us) / 2.0).floor();
            r.found |= whole_us(ack.now) - whole_us(r.start) > threshold_us;
        }
        r.rtt_min = r.rtt_min.min(rtt);
        if r.samples < MIN_SAMPLES {
            r.samples += 1;
        } else {
            r.found |= r.rtt_min > delay_min + delay_threshold(delay_min);
        }
        r.found
    }

    /// Handles a loss or an ECN echo, which ends slow start. HyStart++ applies to the first slow start of a connection
    /// only.
    pub fn on_congestion(&mut self) {
        self.rounds.found |= self.kind == SlowStartKind::HystartPlusPlus;
    }

    /// Handles a timeout, after which HyStart and SEARCH start anew (Linux), and HyStart++ (RFC 9406 §4.3) and Rapid Start
    /// stay off.
    pub fn on_timeout(&mut self) {
        let over = self.kind == SlowStartKind::HystartPlusPlus;
        self.rounds = Rounds { found: over, ..NO_ROUNDS };
        match self.form.as_mut() {
            Some(Form::Search(search)) => search.reset(),
            Some(Form::Rapid(rapid)) => rapid.end(),
            None => {}
        }
    }

    fn hystart(&mut self, ack: &Ack, window: f64) -> Step {
        let Some(rtt) = ack.rtt else { return Step::Grow(1.0) };
        let r = &mut self.rounds;
        if r.found || window < LOW_WINDOW {
            return Step::Grow(1.0);
        }
        if ack.round_start || !r.begun {
            *r = Rounds { start: ack.now, train_end: ack.now, begun: true, ..NO_ROUNDS };
        }
        if ack.now - r.train_end <= ACK_DELTA_S {
            r.train_end = ack.now;
            // The limit is half of the RTT, since without pacing a train that fills the pipe spans only one forward
            // delay.
            let train = ack.now - r.start;
            // The allowance is never negative. It needs a division, so it is computed only if it matters.
            r.found |= train > ack.min_rtt / 2.0 && train > (ack.min_rtt + allowance_s(ack, window)) / 2.0;
        }
        r.rtt_min = r.rtt_min.min(rtt);
        if r.samples < MIN_SAMPLES {
            r.samples += 1;
        } else {
            r.found |= r.rtt_min > ack.min_rtt + delay_threshold(ack.min_rtt);
        }
        if r.found { LEAVE } else { Step::Grow(1.0) }
    }

    fn hystart_plus_plus(&mut self, ack: &Ack) -> Step {
        let r = &mut self.rounds;
        if r.found {
            return Step::Grow(1.0);
        }
        if ack.round_start {
            let in_css = r.css_baseline.is_finite();
            let css_rounds = if in_css { r.css_rounds + 1 } else { 0 };
            if css_rounds >= CSS_ROUNDS {
                r.found = true;
                return LEAVE;
            }
            *r = Rounds { previous_rtt_min: r.rtt_min, css_baseline: r.css_baseline, css_rounds, ..NO_ROUNDS };
        }
        if let Some(rtt) = ack.rtt {
            r.rtt_min = r.rtt_min.min(rtt);
            r.samples += 1;
        }
        if r.samples >= MIN_SAMPLES {
            if r.css_baseline.is_finite() {
                if r.rtt_min < r.css_baseline {
                    (r.css_baseline, r.css_rounds) = (f64::INFINITY, 0);
                }
            } else if r.previous_rtt_min.is_finite()
                && r.rtt_min >= r.previous_rtt_min + delay_threshold(r.previous_rtt_min)
            {
                r.css_baseline = r.rtt_min;
            }
        }
        let counted = if ack.acked > MOST_OF_AN_ACK { MOST_OF_AN_ACK / ack.acked } else { 1.0 };
        Step::Grow(if r.css_baseline.is_finite() { counted / CSS_GROWTH_DIVISOR } else { counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::param::Setting;
    use crate::reno::Reno;
    use crate::testing::{Driver, close, settings};

    fn reno(slow_start: &'static str) -> Reno {
        Reno::new(&settings(&Reno::ENTRY, "", &[("slow_start", Setting::Text(slow_start))]).expect("it is right"))
            .expect("it is right")
    }

    #[test]
    fn the_delay_threshold_is_an_eighth_between_4_and_16_ms() {
        for (rtt, threshold) in [(0.01, 0.004), (0.05, 0.00625), (0.1, 0.0125), (0.2, 0.016)] {
            close(delay_threshold(rtt), threshold, 1e-12);
        }
    }

    #[test]
    fn limited_slow_start_has_the_published_steps() {
        for (w, per_round) in [(100.0, 100.0), (149.0, 74.5), (150.0, 50.0), (1000.0, 50.0)] {
            close(w * limited_increment(w, 100.0), per_round, 1e-12);
        }
        close(1.0 / limited_increment(1000.0, 100.0), 20.0, 1e-12);
    }

    #[test]
    fn limited_slow_start_takes_1663_round_trips_to_83000() {
        let (mut w, mut rounds) = (1.0, 0);
        while w < 83_000.0 {
            w += w * limited_increment(w, 100.0);
            rounds += 1;
        }
        // The RFC's formula gives 1664.6; the RFC's text says 836.
        assert_eq!(rounds, 1663);
    }

    #[test]
    fn limited_slow_start_slows_down_beyond_its_threshold() {
        let (mut d, mut r) = (Driver::new(), reno("limited"));
        d.start(&mut r, 100.0);
        d.round(&mut r, 0.1);
        assert!(r.window() < 180.0);
        let before = r.window();
        d.round(&mut r, 0.1);
        assert!((45.0..75.0).contains(&(r.window() - before)));
    }

    #[test]
    fn hystart_leaves_when_the_delay_of_a_round_rises() {
        let (mut d, mut r) = (Driver::new(), reno("hystart"));
        d.start(&mut r, 20.0);
        d.burst(&mut r, 0.1, 0.01);
        assert!(r.ssthresh().is_infinite());
        // An increase of 12 ms is below the threshold for 100 ms, and 13 ms is above this threshold; slow start ends
        // with the ninth sample.
        d.burst(&mut r, 0.112, 0.01);
        assert!(r.ssthresh().is_infinite());
        let w = r.window();
        d.burst(&mut r, 0.113, 0.01);
        assert_eq!(r.ssthresh(), w + 8.0);
    }

    #[test]
    fn hystart_leaves_when_an_ack_train_fills_half_the_round_trip() {
        let (mut d, mut r) = (Driver::new(), reno("hystart"));
        d.start(&mut r, 64.0);
        d.burst(&mut r, 0.1, 0.049);
        assert!(r.ssthresh().is_infinite());
        d.burst(&mut r, 0.1, 0.06);
        assert!(r.ssthresh().is_finite());
        // ACKs that are more than 2 ms apart do not form a train.
        let (mut d, mut r) = (Driver::new(), reno("hystart"));
        d.start(&mut r, 20.0);
        d.burst(&mut r, 0.1, 0.09);
        assert!(r.ssthresh().is_infinite());
    }

    #[test]
    fn segmentation_offload_lengthens_the_largest_ack_train() {
        let sample = Sample { acked: 1.0, largest_burst: 45.0, ..Sample::default() };
        let ack = Ack { srtt: 0.1, sample: Some(sample), ..Ack::default() };
        assert_eq!(allowance_s(&ack, 100.0), 0.001, "90 ms of four bursts, at most 1 ms");
        close(allowance_s(&ack, 1e5), 180.0 * 0.1 / 2e5, 1e-15);
        assert_eq!(allowance_s(&Ack { sample: None, ..ack }, 100.0), 0.0);
    }

    #[test]
    fn hystart_leaves_small_windows_alone_and_works_again_after_a_timeout() {
        let (mut d, mut r) = (Driver::new(), reno("hystart"));
        d.start(&mut r, 4.0);
        d.burst(&mut r, 0.1, 0.01);
        d.burst(&mut r, 0.2, 0.01);
        assert!(r.ssthresh().is_infinite());
        while r.ssthresh().is_infinite() {
            d.burst(&mut r, 0.2, 0.01);
        }
        assert!(r.window() >= LOW_WINDOW);
        // The threshold is very large, so only HyStart can end the second slow start.
        r.on_event(&Event::Start(crate::Start {
            now: d.now,
            initial_window: 2000.0,
            initial_ssthresh: f64::INFINITY,
            ..crate::Start::default()
        }));
        d.time_out(&mut r);
        while r.window() < r.ssthresh() {
            d.burst(&mut r, 0.4, 0.01);
        }
        assert!(r.ssthresh() < 100.0);
    }

    #[test]
    fn hystart_plus_plus_grows_by_a_quarter_in_its_cautious_phase_and_leaves_after_five_rounds() {
        let (mut d, mut r) = (Driver::new(), reno("hystart++"));
        d.start(&mut r, 64.0);
        d.burst(&mut r, 0.1, 0.05);
        assert_eq!(r.window(), 128.0);
        d.burst(&mut r, 0.12, 0.05);
        // During the first seven samples the window still grows by one segment for each acknowledged segment.
        let mut before = r.window();
        close(before, 128.0 + 7.0 + 121.0 / 4.0, 1e-12);
        for round in 1..=4 {
            d.burst(&mut r, 0.12, 0.05);
            close(r.window(), before + before.floor() / 4.0, 1e-12);
            before = r.window();
            assert!(r.ssthresh().is_infinite(), "{round}");
        }
        d.burst(&mut r, 0.12, 0.05);
        assert_eq!(r.ssthresh(), before);
    }

    #[test]
    fn hystart_plus_plus_counts_eight_segments_of_an_ack() {
        for (acked, growth) in [(1.0, 1.0), (8.0, 8.0), (9.0, 8.0), (60.0, 8.0)] {
            let (mut d, mut r) = (Driver::new(), reno("hystart++"));
            d.start(&mut r, 64.0);
            d.ack(&mut r, acked, 0.1, 0.1);
            assert_eq!(r.window(), 64.0 + growth);
        }
    }

    #[test]
    fn hystart_plus_plus_needs_eight_samples_and_its_threshold() {
        // For an RTT of 20 ms the threshold is 4 ms, more than an eighth of the RTT. For an RTT of 200 ms the threshold
        // is 16 ms, less than an eighth of the RTT.
        for (rtt, threshold) in [(0.02, 0.004), (0.1, 0.0125), (0.2, 0.016)] {
            for (rise, growth) in [(0.99, 1.0), (1.01, 0.25)] {
                let (mut d, mut r) = (Driver::new(), reno("hystart++"));
                d.start(&mut r, 64.0);
                d.burst(&mut r, rtt, rtt / 2.0);
                d.burst(&mut r, rtt + rise * threshold, rtt / 2.0);
                let before = 128.0 + 7.0;
                close(r.window(), before + 121.0 * growth, 1e-9);
            }
        }
    }

    #[test]
    fn hystart_plus_plus_is_for_the_first_slow_start_only() {
        let (mut d, mut r) = (Driver::new(), reno("hystart++"));
        d.start(&mut r, 64.0);
        d.burst(&mut r, 0.1, 0.05);
        d.lose(&mut r);
        d.time_out(&mut r);
        for _ in 0..4 {
            d.burst(&mut r, 0.1, 0.05);
        }
        for _ in 0..2 {
            let before = r.window();
            d.burst(&mut r, 0.2, 0.05);
            assert!(r.window() >= (2.0 * before).min(r.ssthresh()));
        }
    }

    #[test]
    fn hystart_plus_plus_leaves_after_five_rounds_of_a_quarter_on_five_paths() {
        // RFC 9406 §4.2 and §4.3: the conservative phase begins with the first round whose smallest RTT is above that of
        // the round before by the threshold, and five rounds that grow by a quarter each follow.
        for (rate, rtt) in [(1e4, 0.6), (1.2e4, 0.03), (4e3, 0.06), (2e4, 0.02), (8e3, 0.1)] {
            let with_queue = |window: f64| (window / rate).max(rtt);
            let (mut d, mut r) = (Driver::new(), reno("hystart++"));
            d.start(&mut r, 10.0);
            let (mut window, mut last) = (10.0, rtt);
            while with_queue(window) < last + delay_threshold(last) {
                (last, window) = (with_queue(window), 2.0 * window);
            }
            // Seven samples of the round that shows the queue still count fully.
            let predicted = (window * 1.25 + 7.0 * 0.75) * 1.25_f64.powi(4);
            while r.ssthresh().is_infinite() {
                let round = with_queue(r.window());
                d.burst(&mut r, round, 0.9 * round);
            }
            close(r.ssthresh(), predicted, 0.05);
        }
    }

    #[test]
    fn hystart_plus_plus_resumes_when_the_delay_falls_back() {
        let (mut d, mut r) = (Driver::new(), reno("hystart++"));
        d.start(&mut r, 64.0);
        d.burst(&mut r, 0.1, 0.05);
        d.burst(&mut r, 0.12, 0.05);
        d.burst(&mut r, 0.105, 0.05);
        let before = r.window();
        d.burst(&mut r, 0.105, 0.05);
        close(r.window(), before + before.floor(), 1e-12);
    }
}
