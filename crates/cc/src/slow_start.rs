//! Slow starts, shared by the algorithms: standard (RFC 5681), limited (RFC 3742), HyStart (as Linux has it) and
//! HyStart++ (RFC 9406).
//!
//! Differences from Linux: HyStart's ACK-train test has no allowance for segmentation offload, since segments here are
//! sent one by one, and takes the sender to be unpaced. Differences from RFC 9406: L is infinite (every segment
//! acknowledged counts), which the RFC reserves for paced senders.

use crate::algorithm::Ack;
use crate::param::choices;

choices! {
    /// How the window grows until the first sign of congestion.
    pub enum SlowStartKind {
        /// One segment for each segment acknowledged (RFC 5681).
        Standard = "standard",
        /// At most about half `limited_max_ssthresh` segments a round trip (RFC 3742).
        Limited = "limited",
        /// Left when ACK trains or delays show that the pipe is full (Linux 5.x and later).
        Hystart = "hystart",
        /// Delay increase, then a cautious phase (RFC 9406).
        HystartPlusPlus = "hystart++",
    }
}

/// Window from which HyStart looks for the exit, segments (Linux `hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs closer together than this belong to one train, s (Linux `hystart_ack_delta_us`).
const ACK_DELTA_S: f64 = 0.002;
/// RTT samples that a round needs before its minimum counts (RFC 9406 §4.3 N_RTT_SAMPLE; Linux).
const MIN_SAMPLES: u32 = 8;
/// Growth in the conservative phase is divided by this (RFC 9406 §4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Rounds that the conservative phase lasts (RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;

/// Delay increase that counts as a queue, s: an eighth of the RTT, between 4 and 16 ms (RFC 9406 §4.3; Linux).
#[must_use]
pub fn delay_threshold(rtt: f64) -> f64 {
    (rtt / 8.0).clamp(0.004, 0.016)
}

/// Segments by which the window grows for each segment acknowledged beyond `max_ssthresh` (RFC 3742 §2).
#[must_use]
pub fn limited_increment(window: f64, max_ssthresh: f64) -> f64 {
    if window <= max_ssthresh { 1.0 } else { 1.0 / (window / (max_ssthresh / 2.0)).floor() }
}

/// What HyStart and HyStart++ remember of the round trips.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    start: f64,
    train_end: f64,
    rtt_min: f64,
    previous_rtt_min: f64,
    css_baseline: f64,
    samples: u32,
    css_rounds: u32,
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
    begun: false,
    found: false,
};

/// The slow start of one connection.
#[derive(Clone, Debug)]
pub struct SlowStart {
    kind: SlowStartKind,
    max_ssthresh: f64,
    rounds: Rounds,
}

/// What one ACK does in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Grow by this many segments for each segment acknowledged.
    Grow(f64),
    /// The pipe is full: the window of now becomes the slow start threshold.
    Leave,
}

impl SlowStart {
    /// `max_ssthresh` in segments, for [`SlowStartKind::Limited`] only.
    #[must_use]
    pub fn new(kind: SlowStartKind, max_ssthresh: f64) -> Self {
        Self { kind, max_ssthresh, rounds: NO_ROUNDS }
    }

    /// Looks at an ACK that arrives in slow start with the window at `window` segments.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, window: f64) -> Step {
        match self.kind {
            SlowStartKind::Standard => Step::Grow(1.0),
            SlowStartKind::Limited => Step::Grow(limited_increment(window, self.max_ssthresh)),
            SlowStartKind::Hystart => self.hystart(ack, window),
            SlowStartKind::HystartPlusPlus => self.hystart_plus_plus(ack),
        }
    }

    /// A loss or an ECN echo ended slow start. HyStart++ is for the first slow start of a connection only.
    pub fn on_congestion(&mut self) {
        self.rounds.found |= self.kind == SlowStartKind::HystartPlusPlus;
    }

    /// A timeout: HyStart starts afresh (Linux), HyStart++ stays off (RFC 9406 §4.3).
    pub fn on_timeout(&mut self) {
        let over = self.kind == SlowStartKind::HystartPlusPlus;
        self.rounds = Rounds { found: over, ..NO_ROUNDS };
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
            // Half the RTT: without pacing a full train reaches back one forward delay only.
            r.found |= ack.now - r.start > ack.min_rtt / 2.0;
        }
        r.rtt_min = r.rtt_min.min(rtt);
        if r.samples < MIN_SAMPLES {
            r.samples += 1;
        } else {
            r.found |= r.rtt_min > ack.min_rtt + delay_threshold(ack.min_rtt);
        }
        if r.found { Step::Leave } else { Step::Grow(1.0) }
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
                return Step::Leave;
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
        Step::Grow(if r.css_baseline.is_finite() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 })
    }
}
