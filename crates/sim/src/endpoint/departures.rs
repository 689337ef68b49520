//! Send jitter: the delay between the decision to send a packet and its departure from the host.

use crate::random::{Name, Stream};
use crate::time::Time;

/// Departure times of a host's packets; the packets stay in order.
#[derive(Clone, Debug)]
pub struct Departures {
    jitter_ps: u64,
    stream: Stream,
    last: Time,
}

impl Departures {
    /// Departures of the flow `name` in the run `seed`, each delayed by up to `jitter_ps`.
    #[must_use]
    pub fn new(seed: u64, name: &str, jitter_ps: u64) -> Self {
        let stream = Name::default().and("flow ").and(name).and(" departures").stream(seed);
        Self { jitter_ps, stream, last: Time::ZERO }
    }

    /// True if departures are delayed.
    #[must_use]
    #[inline(always)]
    pub fn is_jittered(&self) -> bool {
        self.jitter_ps > 0
    }

    /// Departure time of a packet sent at `now`.
    pub fn next(&mut self, now: Time) -> Time {
        if self.is_jittered() {
            self.last = (now + Time(self.stream.below(self.jitter_ps))).max(self.last);
            return self.last;
        }
        now
    }

    /// Departure of the last of `count` packets sent every `gap`, the last one at `now`, and the time by which that of the
    /// first is ahead of it. The packets draw the delays that they would draw alone.
    pub fn next_train(&mut self, now: Time, gap: Time, count: u32) -> (Time, Time) {
        let sent = |behind: u32| now.since(Time(gap.0 * u64::from(behind)));
        let first = self.next(sent(count - 1));
        let last = (0..count - 1).rev().fold(first, |_, behind| self.next(sent(behind)));
        (last, last.since(first))
    }

    /// Latest departure so far, if departures are delayed.
    #[must_use]
    pub fn last(&self) -> Time {
        self.last
    }
}
