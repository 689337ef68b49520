//! The transmitter of a radio link: bursts of packets after an access to the medium, and retransmission by the link layer.
//!
//! A burst consists of the packets that wait when the medium is gained, up to a maximum number. Each packet reaches the
//! far end with its own last bit, since a receiver of IEEE 802.11n passes on each MPDU of an A-MPDU separately. The
//! transmission time of a packet that needs several transmissions is the sum of their times. If a packet is given up,
//! its transmission time is added to that of the next packet, since the packet given up is no longer in the queue.

use super::steps::Steps;
use crate::random::Stream;
use crate::spec::{AggregationSpec, Impairments, RetransmissionSpec};
use crate::time::Time;

#[derive(Clone, Debug)]
pub(super) struct Radio {
    pub(super) rate: Steps,
    bursts: Option<(AggregationSpec, Stream)>,
    again: Option<(RetransmissionSpec, Stream)>,
    /// Time at which the medium is gained for the current burst.
    gained: Time,
    /// Packets sent in the current burst.
    sent: u64,
    /// Number of transmissions of the next packet.
    tries: u32,
    /// Bytes of packets that were given up. Their transmission time is added to that of the next packet.
    debt: u64,
}

impl Radio {
    /// Transmitter of the link `name` with the given rates, in the run `seed`.
    pub(super) fn new(rate: Steps, impairments: &Impairments, seed: u64, name: &str) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("link {name} {what}"));
        Self {
            rate,
            bursts: impairments.aggregation.map(|bursts| (bursts, stream("contention"))),
            again: impairments.retransmission.map(|again| (again, stream("retransmission"))),
            gained: Time::ZERO,
            sent: u64::MAX,
            tries: 1,
            debt: 0,
        }
    }

    /// Start of the transmission of a packet that arrives at `now`, with the transmitter busy until `free`.
    pub(super) fn start(&mut self, now: Time, free: Time) -> Time {
        let Some((bursts, _)) = &self.bursts else { return free.max(now) };
        if now <= self.gained && self.sent < u64::from(bursts.packets) {
            return if self.sent == 0 { self.gained } else { free };
        }
        self.gain(free.max(now))
    }

    /// Start of the next packet's transmission, not before `ready`, if `waiting` packets waited at the start of the
    /// previous transmission.
    pub(super) fn next_start(&mut self, ready: Time, waiting: u64) -> Time {
        let Some((bursts, _)) = &self.bursts else { return ready };
        if waiting == 0 {
            self.sent = u64::MAX;
            return ready;
        }
        // The first packet of a burst is sent when the medium is gained; the packets waiting at that time are the rest
        // of the burst.
        let most = u64::from(bursts.packets);
        if self.sent == 1 {
            self.sent = most.saturating_sub(waiting).max(1);
        }
        if self.sent < most { ready } else { self.gain(ready) }
    }

    /// Time at which the medium is gained, if the access begins at `from`.
    fn gain(&mut self, from: Time) -> Time {
        if let Some((bursts, stream)) = &mut self.bursts {
            self.gained = from + Time(bursts.access_ps);
            if bursts.contention_ps > 0 {
                self.gained += Time((-libm::log(1.0 - stream.uniform()) * bursts.contention_ps as f64) as u64);
            }
            self.sent = 0;
        }
        self.gained
    }

    /// End of the transmission of a packet of `bytes`; the transmission begins at `start`.
    pub(super) fn send(&mut self, start: Time, bytes: u64) -> Time {
        self.sent = self.sent.saturating_add(1);
        let all = bytes * u64::from(self.tries) + std::mem::take(&mut self.debt);
        self.rate.send(start, all)
    }

    /// Draws the number of transmissions of the next packet; returns true if the number exceeds the limit.
    pub(super) fn gives_up(&mut self, bytes: u64) -> bool {
        let Some((again, stream)) = &mut self.again else { return false };
        self.tries = 1;
        while stream.uniform() < again.p {
            if self.tries == again.tries {
                self.debt = self.debt.saturating_add(bytes * u64::from(self.tries));
                return true;
            }
            self.tries += 1;
        }
        false
    }

    /// Delay of the last packet by its retransmissions.
    pub(super) fn later(&self) -> Time {
        self.again.as_ref().map_or(Time::ZERO, |(again, _)| Time(again.delay_ps * u64::from(self.tries - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = Time::MILLISECOND.0 / 1000;
    const RATE: u64 = 12_000_000;

    fn radio(aggregation: Option<AggregationSpec>, retransmission: Option<RetransmissionSpec>) -> Radio {
        let impairments = Impairments { aggregation, retransmission, ..Impairments::default() };
        Radio::new(Steps::new(RATE, &impairments), &impairments, 1, "l")
    }

    fn bursts(packets: u32, access_us: u64, contention_us: u64) -> Option<AggregationSpec> {
        Some(AggregationSpec { packets, access_ps: access_us * US, contention_ps: contention_us * US })
    }

    /// Sends a packet of 1500 bytes, whose transmission takes 1 ms and which arrives at `now_us`. Returns the times at
    /// which the packet's first and last bit are sent, us.
    fn carry(radio: &mut Radio, now_us: u64, free_us: u64) -> (u64, u64) {
        let start = radio.start(Time(now_us * US), Time(free_us * US));
        (start.0 / US, radio.send(start, 1500).0 / US)
    }

    #[test]
    fn a_burst_has_what_waits_when_the_medium_is_gained_up_to_its_number() {
        let mut radio = radio(bursts(3, 500, 0), None);
        assert_eq!(carry(&mut radio, 1000, 0), (1500, 2500));
        // The packet arrives before the medium is gained.
        assert_eq!(carry(&mut radio, 1500, 2500), (2500, 3500));
        // This packet and two others arrive later; the fourth exceeds the burst.
        assert_eq!(carry(&mut radio, 1501, 3500), (4000, 5000));
        assert_eq!(carry(&mut radio, 1502, 5000), (5000, 6000));
        assert_eq!(carry(&mut radio, 4000, 6000), (6000, 7000));
        assert_eq!(carry(&mut radio, 4000, 7000), (7500, 8500));
        // Nothing was sent for a while.
        assert_eq!(carry(&mut radio, 20_000, 8500), (20_500, 21_500));
    }

    #[test]
    fn a_busy_radio_carries_bursts_over_access_and_their_own_time() {
        let (n, access_us, contention_us) = (8, 400, 600);
        let mut radio = radio(bursts(n, access_us, contention_us), None);
        let (mut free, packets) = (0_u64, 80_000_u64);
        for _ in 0..packets {
            free = carry(&mut radio, free.saturating_sub(20_000), free).1;
        }
        // A burst takes access + contention + 8 ms on average; 10,000 exponential draws have an error of 1 %.
        let expected = packets as f64 / f64::from(n) * (400.0 + 600.0 + 8000.0);
        assert!((free as f64 / expected - 1.0).abs() < 4.0 * 0.01 * 600.0 / 9000.0, "{free} {expected}");
    }

    #[test]
    fn a_queue_that_decides_at_departures_has_the_same_bursts() {
        let mut radio = radio(bursts(3, 500, 0), None);
        let mut at = radio.start(Time(0), Time(0));
        let mut begun = Vec::new();
        for waiting in [4, 3, 2, 1, 0] {
            begun.push(at.0 / US);
            let free = radio.send(at, 1500);
            at = radio.next_start(free, waiting);
        }
        // Five packets wait: the first burst has three, the second two. The next packet arrives when none waits, and
        // gains the medium anew.
        assert_eq!(begun, [500, 1500, 2500, 4000, 5000]);
        assert_eq!(radio.start(Time(5500 * US), Time(6000 * US)), Time(6500 * US));
    }

    #[test]
    fn a_packet_is_sent_until_it_arrives_or_is_given_up() {
        let (p, tries, n) = (0.3_f64, 4, 200_000);
        let again = RetransmissionSpec { p, tries, delay_ps: 7 * US, in_order: true };
        let mut radio = radio(None, Some(again));
        let (mut free, mut lost, mut later) = (Time::ZERO, 0_u32, 0);
        for _ in 0..n {
            if radio.gives_up(1500) {
                lost += 1;
                continue;
            }
            let start = radio.start(Time::ZERO, free);
            free = radio.send(start, 1500);
            later += radio.later().0 / (7 * US);
        }
        let n = f64::from(n);
        let residual = p.powi(4);
        let error = (residual * (1.0 - residual) * n).sqrt();
        assert!((f64::from(lost) - residual * n).abs() < 4.0 * error, "{lost}");
        // The mean number of transmissions of a packet, of 1 ms each, is (1 − p⁴) / (1 − p). The transmissions of the
        // last packets that are given up may not be included.
        let sent = (1.0 - residual) / (1.0 - p) * n;
        assert!((free.0 as f64 / (1000.0 * US as f64) / sent - 1.0).abs() < 0.01, "{free:?} {sent}");
        // Retransmissions of the arriving packets: all transmissions, minus the first of each packet, minus those of
        // packets that are given up.
        let retransmitted = sent - (1.0 - residual) * n - 4.0 * residual * n;
        assert!((later as f64 / retransmitted - 1.0).abs() < 0.02, "{later} {retransmitted}");
    }
}
