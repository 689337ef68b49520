//! A delay line with jitter, changes of the route, reordering and duplication.
//!
//! Packets in flight are kept in the order of arrival at the far end. A packet is handed over when no later packet can
//! arrive before it, so the next node gets the packets in order, as from any other link.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::packet::Packet;
use crate::random::Stream;
use crate::spec::{Impairments, JitterSpec, ReorderSpec};
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct Wire {
    /// Time of each change of the route, and the propagation delay from this time on.
    routes: Vec<(Time, Time)>,
    route: usize,
    jitter: Option<(JitterSpec, Stream)>,
    reorder: Option<(ReorderSpec, Stream)>,
    duplicate: Option<(f64, Stream)>,
    /// True if packets stay in order when the delay becomes shorter.
    steps_in_order: bool,
    /// True if packets that the link layer retransmits stay in order.
    in_order: bool,
    /// Arrival time of the latest packet on this route, reordered packets excluded.
    latest: Time,
    flying: InFlight,
    launched: u64,
}

/// Packets in flight. Nearly all of them arrive in the order of their departures, and a queue is faster than a heap.
#[derive(Clone, Debug, Default)]
struct InFlight {
    in_order: VecDeque<Flying>,
    /// Packets that arrive before one that left earlier.
    others: BinaryHeap<Reverse<Flying>>,
}

impl InFlight {
    fn push(&mut self, packet: Flying) {
        if self.in_order.back().is_none_or(|last| last.arrives <= packet.arrives) {
            self.in_order.push_back(packet);
        } else {
            self.others.push(Reverse(packet));
        }
    }

    /// The packet that arrives next, and true if it is one of those in order.
    fn next(&self) -> Option<(&Flying, bool)> {
        match (self.in_order.front(), self.others.peek()) {
            (Some(first), Some(Reverse(other))) if other < first => Some((other, false)),
            (Some(first), _) => Some((first, true)),
            (None, other) => other.map(|Reverse(other)| (other, false)),
        }
    }

    /// Removes the packet that arrives next, if it arrives before `horizon`.
    #[inline]
    fn pop_before(&mut self, horizon: Time) -> Option<Flying> {
        if self.others.is_empty() {
            return if self.in_order.front()?.arrives < horizon { self.in_order.pop_front() } else { None };
        }
        let (_, is_in_order) = self.next().filter(|(next, _)| next.arrives < horizon)?;
        if is_in_order { self.in_order.pop_front() } else { self.others.pop().map(|Reverse(other)| other) }
    }

    fn iter(&self) -> impl Iterator<Item = &Flying> {
        self.in_order.iter().chain(self.others.iter().map(|Reverse(other)| other))
    }
}

/// A packet in flight, ordered by arrival at the far end and then by departure.
#[derive(Clone, Copy, Debug)]
struct Flying {
    arrives: Time,
    order: u64,
    packet: Packet,
}

impl Ord for Flying {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrives, self.order).cmp(&(other.arrives, other.order))
    }
}
impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Flying {}

/// Fate of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// True if the packet is duplicated.
    pub twice: bool,
    /// True if the packet is delayed so that it arrives out of order.
    pub late: bool,
}

impl Wire {
    /// The delay line of the link `name` in the run `seed`, with the initial delay `delay`.
    pub(super) fn new(delay: Time, impairments: &Impairments, seed: u64, name: &str) -> Self {
        let mut routes = vec![(Time::ZERO, delay)];
        routes.extend(impairments.delay_steps.iter().map(|step| (Time(step.at_ps), Time(step.delay_ps))));
        let stream = |what: &str| Stream::new(seed, &format!("link {name} {what}"));
        Self {
            routes,
            route: 0,
            jitter: impairments.jitter.clone().map(|jitter| (jitter, stream("jitter"))),
            reorder: impairments.reorder.map(|reorder| (reorder, stream("reordering"))),
            duplicate: (impairments.duplicate > 0.0).then(|| (impairments.duplicate, stream("duplicates"))),
            steps_in_order: impairments.steps_in_order,
            in_order: impairments.retransmission.is_none_or(|again| again.in_order),
            latest: Time::ZERO,
            flying: InFlight::default(),
            launched: 0,
        }
    }

    /// Lower bound of a packet's delay over the run.
    pub(super) fn least(&self) -> Time {
        self.routes.iter().map(|route| route.1).min().unwrap_or(Time::ZERO)
    }

    /// Takes a packet whose last bit leaves the transmitter at `now`, and which the link layer delays by `later`.
    /// Packets come in order.
    pub(super) fn launch(&mut self, packet: Packet, now: Time, later: Time) -> Launch {
        while self.routes.get(self.route + 1).is_some_and(|next| next.0 <= now) {
            self.route += 1;
            if !self.steps_in_order {
                self.latest = Time::ZERO;
            }
        }
        let mut arrives = now + self.routes[self.route].1;
        if let Some((jitter, stream)) = &mut self.jitter {
            arrives += draw(jitter, stream);
        }
        if self.in_order {
            arrives += later;
        }
        arrives = arrives.max(self.latest);
        self.latest = arrives;
        if !self.in_order {
            arrives += later;
        }
        let mut launch = Launch { twice: false, late: false };
        if let Some((reorder, stream)) = &mut self.reorder {
            if stream.uniform() < reorder.p {
                launch.late = true;
                arrives += Time(reorder.delay_ps);
            }
        }
        if let Some((p, stream)) = &mut self.duplicate {
            launch.twice = stream.uniform() < *p;
        }
        for _ in 0..=u8::from(launch.twice) {
            self.flying.push(Flying { arrives, order: self.launched, packet });
            self.launched += 1;
        }
        launch
    }

    /// Time at which the next packet arrives at the far end.
    pub(super) fn head(&self) -> Time {
        self.flying.next().map_or(Time::NEVER, |(next, _)| next.arrives)
    }

    /// The next packet that arrives before `horizon`, with its time.
    #[inline]
    pub(super) fn land(&mut self, horizon: Time) -> Option<(Packet, Time)> {
        self.flying.pop_before(horizon).map(|next| (next.packet, next.arrives))
    }

    pub(super) fn for_each(&self, look: impl FnMut(&Packet)) {
        self.flying.iter().map(|next| &next.packet).for_each(look);
    }
}

fn draw(jitter: &JitterSpec, stream: &mut Stream) -> Time {
    match jitter {
        JitterSpec::Uniform { max_ps } => Time(stream.below(max_ps + 1)),
        JitterSpec::Exponential { mean_ps } => Time((-libm::log(1.0 - stream.uniform()) * *mean_ps as f64) as u64),
        JitterSpec::Normal { mean_ps, deviation_ps } => loop {
            // Box and Muller 1958; the second number of the pair is not used, so that draws are independent.
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
            let standard = radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform());
            let delay_ps = *mean_ps as f64 + *deviation_ps as f64 * standard;
            if delay_ps >= 0.0 {
                return Time(delay_ps as u64);
            }
        },
        JitterSpec::Samples { samples_ps } => Time(samples_ps[stream.below(samples_ps.len() as u64) as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::spec::DelayStep;

    const MS: u64 = Time::MILLISECOND.0;

    fn packet(segment: u32) -> Packet {
        Packet::new(Time::ZERO, Time::ZERO, FlowId(0), segment, 1000, 0, 0)
    }

    /// Sends `n` packets `gap` apart. Returns segments and delays in order of arrival.
    fn fly(impairments: &Impairments, n: u32, gap: Time) -> Vec<(u32, Time)> {
        let mut wire = Wire::new(Time(10 * MS), impairments, 1, "l");
        for k in 0..n {
            wire.launch(packet(k), Time(gap.0 * u64::from(k)), Time::ZERO);
        }
        let landed = std::iter::from_fn(|| wire.land(Time::NEVER));
        landed.map(|(p, at)| (p.segment(), at - Time(gap.0 * u64::from(p.segment())))).collect()
    }

    /// Mean and its standard error, ps.
    fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let n = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / n;
        let variance = values.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    #[test]
    fn jitter_has_the_mean_of_its_distribution_and_keeps_the_order() {
        // A normal distribution truncated at zero has the mean μ + σ φ(μ/σ) / Φ(μ/σ): for μ = σ, 1.287600 σ.
        let cases = [
            (JitterSpec::Uniform { max_ps: 4 * MS }, 2.0),
            (JitterSpec::Exponential { mean_ps: 3 * MS }, 3.0),
            (JitterSpec::Normal { mean_ps: 10 * MS, deviation_ps: MS }, 10.0),
            (JitterSpec::Normal { mean_ps: 2 * MS, deviation_ps: 2 * MS }, 2.0 * 1.287_600),
            (JitterSpec::Samples { samples_ps: vec![MS, MS, 2 * MS, 8 * MS] }, 3.0),
        ];
        for (jitter, mean_ms) in cases {
            let impairments = Impairments { jitter: Some(jitter), ..Impairments::default() };
            // The packets are so far apart that no packet waits for the previous packet.
            let landed = fly(&impairments, 40_000, Time(Time::SECOND.0));
            let (mean, error) = moments(landed.iter().map(|&(_, delay)| delay.0 as f64));
            let expected = (10.0 + mean_ms) * MS as f64;
            assert!((mean - expected).abs() < 5.0 * error, "{impairments:?}: {mean} ± {error}, expected {expected}");
            // Packets close together also stay in order.
            let landed = fly(&impairments, 5000, Time(MS / 100));
            assert!(landed.windows(2).all(|pair| pair[0].0 < pair[1].0), "{impairments:?}");
        }
    }

    #[test]
    fn the_share_that_comes_late_is_overtaken_and_the_share_that_comes_twice_comes_twice() {
        let n = 100_000;
        let impairments = Impairments {
            reorder: Some(ReorderSpec { p: 0.02, delay_ps: 5 * MS }),
            duplicate: 0.01,
            ..Impairments::default()
        };
        let landed = fly(&impairments, n, Time(MS));
        let twice = (landed.len() - n as usize) as f64;
        let late = landed.iter().filter(|&&(_, delay)| delay == Time(15 * MS)).count() as f64;
        let late_and_twice = landed.windows(2).filter(|p| p[0] == p[1] && p[0].1 == Time(15 * MS)).count() as f64;
        let within =
            |count: f64, p: f64| (count - f64::from(n) * p).abs() < 5.0 * (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!(within(late - late_and_twice, 0.02), "{late} came late");
        assert!(within(twice, 0.01), "{twice} came twice");
        assert!(landed.iter().all(|&(_, delay)| delay == Time(15 * MS) || delay == Time(10 * MS)));
        // A packet delayed by five gaps arrives after the next four packets and just before the fifth.
        let (late_at, _) = landed.iter().enumerate().find(|(_, p)| p.1 == Time(15 * MS)).expect("some come late");
        let (k, before) = (landed[late_at].0, &landed[..late_at]);
        assert!(before.iter().any(|p| p.0 == k + 4) && !before.iter().any(|p| p.0 == k + 5));
    }

    #[test]
    fn a_packet_that_is_sent_again_holds_up_later_ones_or_is_overtaken() {
        for in_order in [true, false] {
            let again = crate::spec::RetransmissionSpec { p: 0.5, tries: 2, delay_ps: 5 * MS, in_order };
            let impairments = Impairments { retransmission: Some(again), ..Impairments::default() };
            assert_eq!(impairments.disorders(), !in_order);
            let mut wire = Wire::new(Time(10 * MS), &impairments, 1, "l");
            for k in 0..10 {
                let later = if k == 3 { Time(5 * MS) } else { Time::ZERO };
                wire.launch(packet(k), Time(u64::from(k) * MS), later);
            }
            let landed: Vec<_> =
                std::iter::from_fn(|| wire.land(Time::NEVER)).map(|(p, at)| (p.segment(), at.0 / MS)).collect();
            let times = if in_order {
                [10, 11, 12, 18, 18, 18, 18, 18, 18, 19]
            } else {
                [10, 11, 12, 14, 15, 16, 17, 18, 18, 19]
            };
            let order = if in_order { [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] } else { [0, 1, 2, 4, 5, 6, 7, 3, 8, 9] };
            assert_eq!(landed, order.into_iter().zip(times).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_shorter_delay_leaves_the_order_if_packets_do_not_overtake() {
        let delay_steps = vec![DelayStep { at_ps: 50 * MS, delay_ps: 2 * MS }];
        let impairments = Impairments { delay_steps, steps_in_order: true, ..Impairments::default() };
        assert!(!impairments.disorders());
        let landed = fly(&impairments, 100, Time(MS));
        assert!(landed.windows(2).all(|pair| pair[0].0 < pair[1].0));
        // Packet 49 arrives at 59 ms; the packets sent until 57 ms wait for it, and the next have the new delay.
        for (segment, delay) in landed {
            let sent = u64::from(segment);
            let expected = if sent < 50 { 10 } else { (59_u64.saturating_sub(sent)).max(2) };
            assert_eq!(delay, Time(expected * MS), "packet {segment}");
        }
    }

    #[test]
    fn a_shorter_route_lets_packets_overtake_and_a_longer_one_leaves_a_gap() {
        let steps =
            vec![DelayStep { at_ps: 50 * MS, delay_ps: 2 * MS }, DelayStep { at_ps: 100 * MS, delay_ps: 30 * MS }];
        let impairments = Impairments { delay_steps: steps, ..Impairments::default() };
        let wire = Wire::new(Time(10 * MS), &impairments, 1, "l");
        assert_eq!(wire.least(), Time(2 * MS));
        let landed = fly(&impairments, 150, Time(MS));
        let delay = |k: u32| landed.iter().find(|p| p.0 == k).expect("it arrives").1;
        assert_eq!(
            (delay(49), delay(50), delay(99), delay(100)),
            (Time(10 * MS), Time(2 * MS), Time(2 * MS), Time(30 * MS))
        );
        let order: Vec<u32> = landed.iter().map(|p| p.0).collect();
        // Packets 42 to 49 were in flight on the long route until 52 to 59 ms; packets 50 to 57 also arrive at 52 to 59
        // ms.
        let place = |k: u32| order.iter().position(|&s| s == k).expect("it arrives");
        assert!(place(50) < place(43) && place(42) < place(50) && place(49) < place(58));
        assert!(order[100..].windows(2).all(|pair| pair[0] < pair[1]));
    }
}
