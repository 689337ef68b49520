//! The queue of a link that decides at departures.

use crate::queue::{Backlog, Served};
use crate::time::Time;

/// The queue, and the time at which the transmitter takes its next packet.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) queue: Served,
    /// Time at which the transmitter takes the next packet; [`Time::NEVER`] if none waits.
    pub(super) ready: Time,
}

impl Service {
    pub(super) fn new(queue: Served) -> Self {
        Self { queue, ready: Time::NEVER }
    }

    /// Records that the transmitter is free from `ready` on and that `waiting` packets wait.
    #[inline(always)]
    pub(super) fn set_ready(&mut self, ready: Time, waiting: u64) {
        self.ready = if waiting > 0 { ready } else { Time::NEVER };
    }

    #[inline(always)]
    pub(super) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Sum of the times for which the packets waiting at `at` have waited, ps.
    pub(super) fn waited(&self, at: Time) -> u128 {
        let mut sum = 0;
        self.queue.for_each(|packet| sum += u128::from((at - packet.at).0));
        sum
    }
}
