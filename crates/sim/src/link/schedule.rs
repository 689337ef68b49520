//! Transmitters without a constant rate: rates that change at given times, given opportunities to send, or a radio.

use super::radio::Radio;
use super::steps::Steps;
use crate::spec::{Impairments, OPPORTUNITY_BYTES};
use crate::time::Time;

/// Rates or opportunities of a link without a constant rate.
#[derive(Clone, Debug)]
pub(super) enum Schedule {
    Steps(Steps),
    Trace(Trace),
    Radio(Radio),
}

/// Opportunities to send a number of bytes each, repeated periodically.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    times_ms: Vec<u64>,
    /// Index of the next opportunity, and the start of its period.
    next: usize,
    round_began: Time,
    /// Time and remaining bytes of the last used opportunity.
    at: Time,
    left: u64,
}

impl Schedule {
    /// Schedule of the link `name` in the run `seed`, if it has one; its first rate is `rate_bps`.
    pub(super) fn new(rate_bps: u64, impairments: &Impairments, seed: u64, name: &str) -> Option<Self> {
        if impairments.aggregation.is_some() || impairments.retransmission.is_some() {
            return Some(Self::Radio(Radio::new(Steps::new(rate_bps, impairments), impairments, seed, name)));
        }
        if !impairments.rate_trace_ms.is_empty() {
            return Some(Self::Trace(Trace::new(impairments.rate_trace_ms.clone())));
        }
        if impairments.rate_steps.is_empty() {
            return None;
        }
        Some(Self::Steps(Steps::new(rate_bps, impairments)))
    }

    /// Start of the transmission of a packet that arrives at `now`, with the transmitter busy until `free`.
    pub(super) fn start(&mut self, now: Time, free: Time) -> Time {
        match self {
            Self::Steps(_) => free.max(now),
            Self::Trace(trace) => trace.next_after(now),
            Self::Radio(radio) => radio.start(now, free),
        }
    }

    /// Start of the next packet's transmission, if the packet already waits at `now` and the transmitter is busy until
    /// `free`; `waiting` packets waited at the start of the previous transmission.
    pub(super) fn next_start(&mut self, now: Time, free: Time, waiting: u64) -> Time {
        match self {
            Self::Steps(_) => free.max(now),
            Self::Trace(trace) => trace.next_after(Time(now.0.saturating_sub(1))),
            Self::Radio(radio) => radio.next_start(free.max(now), waiting),
        }
    }

    /// End of the transmission of a packet of `bytes`; the transmission begins at `start`.
    pub(super) fn send(&mut self, start: Time, bytes: u64) -> Time {
        match self {
            Self::Steps(steps) => steps.send(start, bytes),
            Self::Trace(trace) => trace.send(bytes),
            Self::Radio(radio) => radio.send(start, bytes),
        }
    }

    /// True if the link layer gives up the next packet, of `bytes`.
    pub(super) fn gives_up(&mut self, bytes: u64) -> bool {
        if let Self::Radio(radio) = self { radio.gives_up(bytes) } else { false }
    }

    /// Delay of the last packet by its retransmissions.
    pub(super) fn later(&self) -> Time {
        if let Self::Radio(radio) = self { radio.later() } else { Time::ZERO }
    }

    /// Shortest time from a packet's arrival to the departure of its last byte.
    pub(super) fn least(&self, bytes: u64) -> Time {
        match self {
            Self::Steps(steps) | Self::Radio(Radio { rate: steps, .. }) => steps.least(bytes),
            Self::Trace(_) => Time::ZERO,
        }
    }

    pub(super) fn is_trace(&self) -> bool {
        matches!(self, Self::Trace(_))
    }
}

impl Trace {
    fn new(times_ms: Vec<u64>) -> Self {
        Self { times_ms, next: 0, round_began: Time::ZERO, at: Time::ZERO, left: 0 }
    }

    fn peek(&self) -> Time {
        self.round_began.later(Time(self.times_ms[self.next] * Time::MILLISECOND.0))
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.times_ms.len() {
            self.next = 0;
            self.round_began =
                self.round_began.later(Time(self.times_ms[self.times_ms.len() - 1] * Time::MILLISECOND.0));
        }
    }

    /// Time of the next opportunity after `now`. The opportunity in use counts as the next opportunity if some of its
    /// bytes remain. Earlier opportunities are lost.
    fn next_after(&mut self, now: Time) -> Time {
        if self.left > 0 && self.at > now {
            return self.at;
        }
        self.left = 0;
        let round = self.times_ms[self.times_ms.len() - 1] * Time::MILLISECOND.0;
        if self.round_began.0.saturating_add(round) <= now.0 {
            // Whole periods have passed.
            self.round_began += Time((now - self.round_began).0 / round * round);
            self.next = 0;
        }
        while self.peek() <= now {
            self.advance();
        }
        self.peek()
    }

    fn send(&mut self, bytes: u64) -> Time {
        let mut rest = bytes;
        loop {
            if self.left == 0 {
                self.at = self.peek();
                self.left = OPPORTUNITY_BYTES;
                self.advance();
            }
            let part = rest.min(self.left);
            rest -= part;
            self.left -= part;
            if rest == 0 {
                return self.at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps::bit_ps;
    use super::*;
    use crate::spec::RateStep;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time(ms * Time::MILLISECOND.0)
    }

    fn steps(rate_bps: u64, steps: &[(u64, u64)]) -> Schedule {
        let step = |&(at, rate_bps): &(u64, u64)| RateStep { at_ps: ms(at).0, rate_bps };
        let impairments = Impairments { rate_steps: steps.iter().map(step).collect(), ..Impairments::default() };
        Schedule::new(rate_bps, &impairments, 1, "l").expect("there are steps")
    }

    #[test]
    fn a_packet_that_is_being_sent_goes_on_at_the_new_rate() {
        // 1,000 bytes at 8 Mbit/s take 1 ms. The rate is 4 Mbit/s from 10 ms on, the link is down from 20 ms to 30 ms,
        // and then the rate is 8 Mbit/s.
        let mut link = steps(8_000_000, &[(10, 4_000_000), (20, 0), (30, 8_000_000)]);
        assert_eq!(link.send(ms(3), 1000), ms(4));
        assert_eq!(link.send(Time(ms(9).0 + ms(1).0 / 2), 1000), ms(11));
        assert_eq!(link.send(ms(19), 1000), Time(ms(30).0 + ms(1).0 / 2));
        assert_eq!(link.send(ms(40), 1000), ms(41));
    }

    proptest! {
        /// If packets are sent back to back, the number of bytes sent until a time equals the integral of the rate.
        #[test]
        fn what_is_sent_is_the_integral_of_the_rate(
            first in 1_000_000_u64..1_000_000_000, sizes in proptest::collection::vec(40_u64..9000, 1..300),
            rates in proptest::collection::vec((1_u64..5, prop_oneof![Just(0_u64), 1_000_000_u64..1_000_000_000]), 0..8),
        ) {
            let mut at = 0;
            let mut list: Vec<(u64, u64)> = rates.iter().map(|&(gap, rate)| { at += gap; (at, rate) }).collect();
            list.push((at + 1, 10_000_000));
            let mut link = steps(first, &list);
            let mut free = Time::ZERO;
            for &bytes in &sizes { free = link.send(free, bytes); }
            let mut possible = 0_u128;
            let mut edges = vec![(0, first)];
            edges.extend(list);
            for (k, &(from, rate)) in edges.iter().enumerate() {
                let to = edges.get(k + 1).map_or(Time::NEVER, |e| ms(e.0)).min(free);
                possible += u128::from(to.since(ms(from)).0) * u128::from(rate);
            }
            let sent = bit_ps(sizes.iter().sum());
            // Each packet's end is rounded down to a ps.
            let slack = u128::from(*[first, 1_000_000_000].iter().max().expect("two")) * (sizes.len() as u128 + 1);
            prop_assert!(possible <= sent && sent - possible <= slack, "{} {}", sent, possible);
        }
    }

    fn trace(times_ms: &[u64]) -> Schedule {
        let impairments = Impairments { rate_trace_ms: times_ms.to_vec(), ..Impairments::default() };
        Schedule::new(1, &impairments, 1, "l").expect("there is a trace")
    }

    fn carry(link: &mut Schedule, now: Time, free: Time, bytes: u64) -> (Time, Time) {
        let start = link.start(now, free);
        (start, link.send(start, bytes))
    }

    #[test]
    fn an_opportunity_is_for_what_came_before_it_and_its_rest_for_what_waits() {
        let mut link = trace(&[1, 5, 5, 8]);
        // A packet that arrives at the instant of an opportunity cannot use it.
        assert_eq!(carry(&mut link, ms(1), Time::ZERO, 1500), (ms(5), ms(5)));
        assert_eq!(carry(&mut link, ms(2), ms(5), 700), (ms(5), ms(5)));
        // 800 bytes of the second opportunity at 5 ms remain.
        assert_eq!(carry(&mut link, ms(3), ms(5), 1000), (ms(5), ms(8)));
        // The trace ends at 8 ms and begins again, with its first opportunity at 9 ms. The remaining bytes of the
        // opportunity at 8 ms can be used.
        assert_eq!(carry(&mut link, ms(4), ms(8), 1300), (ms(8), ms(8)));
        assert_eq!(carry(&mut link, ms(4), ms(8), 1), (ms(9), ms(9)));
        // No packet waited, so the remaining bytes are lost.
        assert_eq!(carry(&mut link, ms(10), ms(9), 40), (ms(13), ms(13)));
    }

    #[test]
    fn a_trace_that_is_always_used_carries_its_bytes_in_each_round() {
        let mut link = trace(&[0, 2, 3, 3, 10]);
        let mut free = Time::ZERO;
        let mut carried = 0;
        loop {
            let (_, end) = carry(&mut link, Time(1), free, 300);
            if end > ms(1000) {
                break;
            }
            (free, carried) = (end, carried + 300);
        }
        // 100 rounds of five opportunities. The opportunity at 0 is before the first packet; the last opportunity of a
        // round, at 10 ms, and the first of the next round are at the same time.
        assert_eq!(carried, 1500 * (100 * 5 - 1 + 1));
    }
}
