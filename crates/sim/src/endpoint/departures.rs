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

    /// Departure of the last of `count` packets sent every `gap`, `behind` others before `now`, and the time by which that
    /// of the first is ahead of it. The packets draw the delays that they would draw alone. They leave now or later, as the
    /// packets of one event do. Most leave with the latest before them, since none overtakes another, so a queue finds them
    /// as close as they were sent, and on average as late as they leave alone.
    pub fn next_train(&mut self, now: Time, gap: Time, behind: u32, count: u32) -> (Time, Time) {
        let sent = |place: u32| now.since(Time(gap.0 * u64::from(behind + place)));
        let first = self.next(sent(count - 1));
        let (mut last, mut later) = (first, 0);
        for place in (0..count - 1).rev() {
            last = self.next(sent(place));
            later += last.since(first).0;
        }
        let span = Time(gap.0 * u64::from(count - 1)).min(last.since(first));
        let mean = first + Time(later / u64::from(count));
        ((mean + Time(span.0 / 2)).min(last).max(now), span)
    }

    /// Latest departure so far, if departures are delayed.
    #[must_use]
    pub fn last(&self) -> Time {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_train_leaves_as_its_packets_do(
            jitter_ps in 1u64..1_000,
            bursts in prop::collection::vec((0u64..2_000, 0u64..20, 1u32..9, 1u32..9), 1..20),
        ) {
            let (mut alone, mut together) = [1, 1].map(|seed| Departures::new(seed, "f", jitter_ps)).into();
            let (mut now, mut before) = (Time(10_000), Time::ZERO);
            for (later, gap, first, second) in bursts {
                now += Time(later);
                for (behind, count) in [(second, first), (0, second)] {
                    let sent = |place: u32| now.since(Time(gap * u64::from(behind + place)));
                    let left: Vec<Time> = (0..count).rev().map(|place| alone.next(sent(place))).collect();
                    let (at, span) = together.next_train(now, Time(gap), behind, count);
                    let last = left[left.len() - 1];
                    prop_assert!(span <= Time(gap * u64::from(count - 1)) && span <= last.since(left[0]));
                    prop_assert!(at <= last.max(now));
                    let sum: u64 = left.iter().map(|departure| departure.0).sum();
                    let wanted = Time(sum / u64::from(count)) + Time(span.0 / 2);
                    prop_assert!(at.0.abs_diff(wanted.min(last).max(now).0) <= 1);
                    prop_assert!(at >= now.max(before), "no departure in the past, none before another");
                    before = at;
                }
            }
        }
    }
}
