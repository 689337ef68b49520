//! Losses of a link that do not depend on its queue.

use crate::random::Stream;
use crate::ring::Fifo;
use crate::spec::{LinkSpec, LossInterval, LossSpec};
use crate::time::Time;

/// Rule by which a link loses packets.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    None,
    Bernoulli { p: f64, stream: Stream },
    Intervals { intervals: Vec<LossInterval>, next: usize, stream: Stream },
    GilbertElliott { bad: bool, change: [f64; 2], loss: [f64; 2], stream: Stream },
    TimedStates { states: States, loss: [f64; 2], stream: Stream },
    List { packets: Vec<u64>, next: usize },
}

/// A state that is good or bad for exponentially distributed times. Its stream is its own, so that the times do not depend
/// on the packets.
#[derive(Clone, Debug)]
pub(super) struct States {
    bad: bool,
    until: Time,
    means_ps: [u64; 2],
    stream: Stream,
}

impl States {
    fn new(means_ps: [u64; 2], mut stream: Stream) -> Self {
        let [good_ps, bad_ps] = means_ps.map(|mean| mean as f64);
        let bad = stream.uniform() < bad_ps / (good_ps + bad_ps);
        let mut states = Self { bad, until: Time::ZERO, means_ps, stream };
        states.stay();
        states
    }

    /// Draws the duration of the present state.
    fn stay(&mut self) {
        let mean = self.means_ps[usize::from(self.bad)] as f64;
        let length = (-libm::log(1.0 - self.stream.uniform()) * mean) as u64;
        self.until = self.until.later(Time(length.max(1)));
    }

    /// True if the state is bad at `now`; times do not decrease.
    fn is_bad(&mut self, now: Time) -> bool {
        while self.until <= now {
            self.bad = !self.bad;
            self.stay();
        }
        self.bad
    }
}

impl Loss {
    /// The losses of a link in the run `seed`.
    pub(super) fn new(spec: &LinkSpec, seed: u64) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("link {} loss{what}", spec.name));
        match &spec.loss {
            LossSpec::None => Loss::None,
            LossSpec::Bernoulli { p } => Loss::Bernoulli { p: *p, stream: stream("") },
            &LossSpec::Interval { p, from_ps, to_ps } => {
                Loss::Intervals { intervals: vec![LossInterval { p, from_ps, to_ps }], next: 0, stream: stream("") }
            }
            LossSpec::Intervals { intervals } => {
                Loss::Intervals { intervals: intervals.clone(), next: 0, stream: stream("") }
            }
            LossSpec::GilbertElliott { to_bad, to_good, in_good, in_bad } => {
                let mut stream = stream("");
                let bad = stream.uniform() < to_bad / (to_bad + to_good);
                Loss::GilbertElliott { bad, change: [*to_bad, *to_good], loss: [*in_good, *in_bad], stream }
            }
            &LossSpec::TimedStates { good_ps, bad_ps, in_good, in_bad } => Loss::TimedStates {
                states: States::new([good_ps, bad_ps], stream(" states")),
                loss: [in_good, in_bad],
                stream: stream(""),
            },
            LossSpec::List { packets } => {
                let mut packets = packets.clone();
                packets.sort_unstable();
                packets.dedup();
                Loss::List { packets, next: 0 }
            }
        }
    }

    /// True if packet number `index`, which is here at `now`, is lost. Times and numbers do not decrease.
    pub(super) fn hits(&mut self, now: Time, index: u64) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { p, stream } => stream.uniform() < *p,
            Loss::Intervals { intervals, next, stream } => {
                while intervals.get(*next).is_some_and(|one| one.to_ps <= now.0) {
                    *next += 1;
                }
                let here = intervals.get(*next).filter(|one| one.from_ps <= now.0);
                here.is_some_and(|one| stream.uniform() < one.p)
            }
            Loss::GilbertElliott { bad, change, loss, stream } => {
                *bad ^= stream.uniform() < change[usize::from(*bad)];
                stream.uniform() < loss[usize::from(*bad)]
            }
            Loss::TimedStates { states, loss, stream } => stream.uniform() < loss[usize::from(states.is_bad(now))],
            Loss::List { packets, next } => {
                let hit = packets.get(*next) == Some(&index);
                *next += usize::from(hit);
                hit
            }
        }
    }
}

/// Packets lost after the transmitter. They are known at their arrival, and count as lost when their last bit has left.
#[derive(Clone, Debug, Default)]
pub(super) struct OnWire {
    /// Ends of transmission and bytes of the packets that have not left when the last sample was taken.
    leaving: Fifo<(Time, u64)>,
    left: u64,
    left_bytes: u64,
}

impl OnWire {
    pub(super) fn push(&mut self, end: Time, bytes: u64) {
        self.leaving.push((end, bytes));
    }

    /// Number and bytes of the lost packets that have left by `at`, and the number of those that have not. Times do not
    /// decrease.
    pub(super) fn left(&mut self, at: Time) -> (u64, u64, u64) {
        while let Some(&(_, bytes)) = self.leaving.front().filter(|(end, _)| *end <= at) {
            self.leaving.pop();
            self.left += 1;
            self.left_bytes += bytes;
        }
        (self.left, self.left_bytes, self.leaving.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = Time::MILLISECOND.0;

    fn loss(spec: &LossSpec) -> Loss {
        let link = serde_json::json!({
            "name": "l", "rate_bps": 1000, "delay_ps": 0, "loss": spec, "queue": {"kind": "droptail"},
        });
        Loss::new(&serde_json::from_value(link).expect("a link"), 7)
    }

    #[test]
    fn each_interval_has_its_own_probability_and_an_end_that_is_not_in_it() {
        let one = |p, from: u64, to: u64| LossInterval { p, from_ps: from * MS, to_ps: to * MS };
        let intervals = vec![one(1.0, 10, 20), one(0.25, 20, 20_020), one(1.0, 30_000, 30_001)];
        let mut loss = loss(&LossSpec::Intervals { intervals });
        let lost: Vec<u64> = (0..31_000).filter(|&ms| loss.hits(Time(ms * MS), ms)).collect();
        let inside = |from: u64, to: u64| lost.iter().filter(|&&ms| (from..to).contains(&ms)).count();
        assert_eq!((inside(0, 10), inside(10, 20), inside(20_020, 30_000), inside(30_000, 31_000)), (0, 10, 0, 1));
        // 20,000 packets with p = 0.25: the standard error is √(20,000 × 0.25 × 0.75) = 61.
        assert!((inside(20, 20_020) as f64 - 5000.0).abs() < 4.0 * 61.3, "{}", inside(20, 20_020));
    }

    #[test]
    fn one_interval_in_a_list_loses_the_packets_of_a_single_interval() {
        let (p, from_ps, to_ps) = (0.4, 3 * MS, 500 * MS);
        let mut single = loss(&LossSpec::Interval { p, from_ps, to_ps });
        let mut listed = loss(&LossSpec::Intervals { intervals: vec![LossInterval { p, from_ps, to_ps }] });
        assert!((0..600).all(|ms| single.hits(Time(ms * MS), ms) == listed.hits(Time(ms * MS), ms)));
    }

    #[test]
    fn states_last_for_their_mean_times_whatever_the_packets() {
        let (good_ps, bad_ps) = (200 * MS, 50 * MS);
        let spec = LossSpec::TimedStates { good_ps, bad_ps, in_good: 0.0, in_bad: 1.0 };
        let course = |gap: u64, n: u64| {
            let mut loss = loss(&spec);
            (0..n).map(|k| loss.hits(Time(k * gap), k)).collect::<Vec<_>>()
        };
        // One packet each ms for 10,000 s: 40,000 periods of 250 ms.
        let each_ms = course(MS, 10_000_000);
        let bad = each_ms.iter().filter(|&&lost| lost).count() as f64;
        let bursts = each_ms.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // The fraction of bad time is 0.2. Over n periods its standard error is √2 × 0.2 × 0.8 / √n = 0.0011. Some states
        // are shorter than a ms, and seen by no packet: with rates of 1/50 and 1/200 per ms, a start of a burst is seen
        // with the probability (1 − e^(−0.025)) / 0.025 = 0.9876.
        assert!((bad / 1e7 - 0.2).abs() < 5.0 * 0.0012, "{bad}");
        assert!((bursts / (40_000.0 * 0.9876) - 1.0).abs() < 5.0 / 200.0 / 1.4, "{bursts}");
        // The same times with a packet each 10 ms.
        let each_10_ms = course(10 * MS, 1_000_000);
        assert!(each_10_ms.iter().enumerate().all(|(k, &lost)| lost == each_ms[10 * k]));
    }
}
