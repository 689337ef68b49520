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

/// Largest growth of a window in a round trip, relative to it, at which bursts may be trains: that of BBRv3 where it probes is
/// an eighth. If the window doubles, as in slow start, single segments decide which flow's are lost.
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

    /// Adapts the length of trains where a round trip begins with a window of `cwnd` segments and an RTT of `rtt`, s.
    #[inline(never)]
    pub fn begin_round(&mut self, cwnd: f64, rtt: f64) {
        (self.growth, self.rtt) = ((rtt - self.rtt).max(0.0), rtt);
        self.share = (2.0 * self.share).min(1.0);
        self.is_steady = cwnd - self.window <= cwnd * MOST_GROWTH;
        self.window = cwnd;
    }

    /// True if an RTT of `rtt`, s, shows a queue that will soon be nearly as long as at the last loss.
    #[inline]
    pub fn nears_loss(&self, rtt: f64) -> bool {
        rtt + ROUNDS_AHEAD * self.growth >= self.nearly_full
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
