//! Trains of a sender: the segments that ACKs release within a small part of a round trip leave together, with the last of
//! them, as one packet that stands for all.
//!
//! Nothing is sent earlier or later than otherwise, as far as the last segment of a train is concerned; the others are taken
//! to have left evenly since the first of them could. A sender in slow start, one that repairs losses, and one whose window is
//! small send single segments.

use crate::packet::{HAS_TRAINS, MOST_IN_TRAIN};
use crate::time::Time;

/// Length of trains after a recovery, relative to the usual.
const SHARE_AFTER_RECOVERY: f64 = 1.0 / 16.0;

/// State of a sender's trains.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    /// Largest number of segments of a train; 1 for a sender of single segments.
    pub(super) longest: u32,
    /// Time since which segments wait for a train; [`Time::NEVER`] if none do.
    since: Time,
    /// Share of the usual length of a train, which doubles each round trip after a recovery.
    pub(super) share: f64,
    /// True if a capture decides what is sent and when, and not the sender.
    pub(super) are_led: bool,
}

impl Default for Trains {
    fn default() -> Self {
        Self { longest: 1, since: Time::NEVER, share: 1.0, are_led: false }
    }
}

impl Trains {
    /// True if a train may have several segments.
    #[inline(always)]
    pub fn are_allowed(&self) -> bool {
        HAS_TRAINS && self.longest > 1
    }

    /// Allows trains of at most `longest` segments.
    pub fn allow(&mut self, longest: u32) {
        self.longest = longest.clamp(1, MOST_IN_TRAIN / 2);
    }

    /// Adapts the length of trains at an ACK: a round trip may begin, or the sender repairs losses, after which the queue may
    /// still be full.
    #[inline]
    pub fn note_round(&mut self, begins: bool, repairs: bool) {
        if repairs {
            self.share = SHARE_AFTER_RECOVERY;
        } else if begins {
            self.share = (2.0 * self.share).min(1.0);
        }
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
