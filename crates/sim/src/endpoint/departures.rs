//! Send jitter: the delay between the decision to send a packet and its departure from the host.

use crate::random::{Name, Stream};
use crate::time::Time;

/// Largest number of packets of a train whose delays are drawn: those of the others before them have the same mean.
const MOST_DRAWN: u32 = 64;

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
    /// of the first is ahead of it. The packets draw the delays that they would draw alone, of a long train the last ones. They
    /// leave now or later, as the packets of one event do. Most leave with the latest before them, since none overtakes
    /// another, so a queue finds them as close as they were sent, and on average as late as they leave alone.
    pub fn next_train(&mut self, now: Time, gap: Time, behind: u32, count: u32) -> (Time, Time) {
        let sent = |place: u32| now.since(Time(gap.0 * u64::from(behind + place)));
        let drawn = count.min(MOST_DRAWN);
        let first = self.next(sent(drawn - 1));
        let (mut last, mut later) = (first, 0);
        for place in (0..drawn - 1).rev() {
            last = self.next(sent(place));
            later += last.since(first).0;
        }
        let before = Time(gap.0 * u64::from(count - drawn));
        let span = Time(gap.0 * u64::from(count - 1)).min(last.since(first) + before);
        let mean = (first + Time(later / u64::from(drawn))).since(Time(before.0 / 2));
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

    #[test]
    fn a_long_train_leaves_when_its_packets_do_on_average() {
        let jitter_ps = 100_000;
        let mut late = [0.0; 2];
        for round in 1..400_u64 {
            let (mut alone, mut together) = [round; 2].map(|seed| Departures::new(seed, "f", jitter_ps)).into();
            let (now, gap, count) = (Time(1_000_000_000), Time(30_000), 5000_u64);
            let sent = |place: u64| now.since(Time(gap.0 * place));
            let left: u64 = (0..count).rev().map(|place| alone.next(sent(place)).0 - sent(place).0).sum();
            let (at, span) = together.next_train(now, gap, 0, count as u32);
            late[0] += left as f64 / count as f64 / 400.0;
            late[1] += (at.0 as f64 - span.0 as f64 / 2.0 - (now.0 - gap.0 * (count - 1) / 2) as f64) / 400.0;
        }
        // The last packets do not know the delays of those before them, so they leave a twentieth of the largest one early.
        assert!((late[1] - late[0]).abs() < 0.1 * jitter_ps as f64, "{late:?}");
    }

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
