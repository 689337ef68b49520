//! Trains of a sender: the segments that ACKs release within a small part of a round trip leave together, with the last of
//! them, as one packet that stands for all.
//!
//! Nothing is sent earlier or later than otherwise, as far as the last segment of a train is concerned; the others are taken
//! to have left evenly since the first of them could. A sender in slow start, one that repairs losses, and one whose window is
//! small send single segments.

use crate::packet::{HAS_TRAINS, MOST_IN_TRAIN};
use crate::spec::Allowed;
use crate::time::Time;

/// Length of trains after a recovery, relative to the usual.
const SHARE_AFTER_RECOVERY: f64 = 1.0 / 16.0;

/// Largest growth of a window or a pacing rate in a round trip, relative to it, at which bursts may be trains: that of BBRv3's
/// window where it probes is an eighth, and behind ProbeRTT its rate stays. If both double, as in slow start, single segments
/// decide which flow's are lost.
const MOST_GROWTH: f64 = 1.0 / 6.0;

/// State of a sender's trains.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    allowed: Allowed,
    /// Time since which segments wait for a train; [`Time::NEVER`] if none do.
    since: Time,
    /// Share of the usual length of a train, which doubles each round trip after a recovery.
    pub(super) share: f64,
    /// Window at the beginning of this round trip, segments, and true if it had hardly grown since that of the last one.
    window: f64,
    pub(super) is_steady: bool,
    /// RTT from which a queue is nearly as long as at the last loss, s.
    nearly_full: f64,
    /// RTT at the beginning of this round trip, and its growth over the last one, s.
    rtt: f64,
    growth: f64,
    /// Segments in flight at the beginning of this round trip.
    flight: f64,
    /// RTT at the beginning of this round trip without the segments that were in flight then, and its growth, s: the part of
    /// the other flows in the queue, if it is not empty.
    others: f64,
    growth_of_others: f64,
    /// Pacing rate at the beginning of this round trip, segments/s.
    pace: f64,
    /// Number of ACKs that the one at hand stands for, and time by which the RTT of the first is shorter, s.
    pub(super) acks: u32,
    pub(super) shorter_rtt: f64,
    /// True if a capture decides what is sent and when, and not the sender.
    pub(super) are_led: bool,
}

/// Part of the longest queue from which single segments leave, if the queue will be as long in this number of round trips:
/// where two flows meet a full queue, one train takes what both would have lost. Without, H-TCP beside BIC on 1 Gbit/s x 60 ms
/// with 0.3 BDP has 0.86 of its share in single segments; with it, 0.995 +- 0.017 (12 seeds).
const NEARLY_FULL: f64 = 0.99;
const ROUNDS_AHEAD: f64 = 2.0;

/// Smallest number of trains in what a queue grows by in a round trip, while it is nearly full. Single segments in their place
/// are a fifth of a CUBIC flow beside BBRv3, whose probes lengthen the queue (10 Gbit/s x 300 ms, 1 BDP).
const TRAINS_PER_GROWTH: f64 = 256.0;

impl Default for Trains {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            since: Time::NEVER,
            share: 1.0,
            window: 0.0,
            is_steady: false,
            nearly_full: f64::INFINITY,
            rtt: 0.0,
            growth: 0.0,
            flight: 0.0,
            others: 0.0,
            growth_of_others: 0.0,
            pace: 0.0,
            acks: 1,
            shorter_rtt: 0.0,
            are_led: false,
        }
    }
}

impl Trains {
    /// True if a train may have several segments.
    #[inline(always)]
    pub fn are_allowed(&self) -> bool {
        HAS_TRAINS && self.allowed.longest > 1
    }

    /// True if no other flow's segments meet these at a queue.
    pub fn is_alone(&self) -> bool {
        self.allowed.alone
    }

    /// Allows these trains.
    pub fn allow(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// Largest number of segments of a train.
    pub fn longest(&self) -> u32 {
        self.allowed.longest.clamp(1, MOST_IN_TRAIN)
    }

    /// Largest number of segments that wait for each other.
    pub fn longest_wait(&self) -> u32 {
        self.allowed.waiting.clamp(1, MOST_IN_TRAIN / 2)
    }

    /// Shortens the trains while losses are repaired, which show at an RTT of `rtt` and after which the queue may still be full.
    #[inline]
    pub fn begin_anew(&mut self, rtt: f64, min_rtt: f64) {
        if self.share >= 1.0 {
            self.nearly_full = min_rtt + NEARLY_FULL * (rtt - min_rtt);
        }
        (self.share, self.is_steady) = (SHARE_AFTER_RECOVERY, false);
    }

    /// Adapts the length of trains where a round trip begins with an RTT of `rtt`, s, a window of `cwnd` segments, of which
    /// `flight` are in flight, and a pacing rate of `pace` segments/s, which is not a number without pacing.
    #[inline(never)]
    pub fn begin_round(&mut self, rtt: f64, cwnd: f64, flight: f64, pace: f64) {
        (self.growth, self.rtt) = ((rtt - self.rtt).max(0.0), rtt);
        let others = if self.allowed.alone { 0.0 } else { rtt - self.flight / self.allowed.rate };
        (self.growth_of_others, self.others) = ((others - self.others).max(0.0), others);
        self.flight = flight;
        self.share = (2.0 * self.share).min(1.0);
        let is_steady = |before: f64, now: f64| now - before <= now * MOST_GROWTH;
        self.is_steady = is_steady(self.window, cwnd) || is_steady(self.pace, pace);
        (self.window, self.pace) = (cwnd, pace);
    }

    /// True if an RTT of `rtt`, s, shows a queue that will soon be nearly as long as at the last loss.
    #[inline]
    pub fn nears_loss(&self, rtt: f64) -> bool {
        rtt + ROUNDS_AHEAD * self.growth >= self.nearly_full
    }

    /// Largest train near a loss, segments: a small part of what the queue grows by in a round trip, and so of what is lost.
    #[inline]
    pub fn most_near_loss(&self) -> f64 {
        self.growth * self.allowed.rate / TRAINS_PER_GROWTH
    }

    /// The same for a sender that paces and has a window of `cwnd` segments: its own part of the queue ends where the window is
    /// full, so that a queue which BBR fills by probing is not taken for one that grows on.
    #[inline]
    pub fn nears_loss_within(&self, rtt: f64, cwnd: f64) -> bool {
        let most = self.others + ROUNDS_AHEAD * self.growth_of_others + cwnd / self.allowed.rate;
        self.nears_loss(rtt) && most >= self.nearly_full
    }

    /// True if segments wait.
    #[inline(always)]
    pub fn has_waiting(&self) -> bool {
        HAS_TRAINS && self.since != Time::NEVER
    }

    /// Time since which segments wait.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Lets segments wait that could leave from `since` on.
    pub fn wait_from(&mut self, since: Time) {
        self.since = self.since.min(since);
    }

    /// Ends the wait at `now`. Returns the time for which segments have waited.
    pub fn end_wait(&mut self, now: Time) -> Time {
        now.since(std::mem::replace(&mut self.since, Time::NEVER))
    }
}
