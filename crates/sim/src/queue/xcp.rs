//! XCP's router. Once per mean round-trip time the router computes the desired change of the link's traffic, and
//! divides this change among the departing packets (Katabi, Handley, Rohrs, SIGCOMM 2002).
//!
//! Variant: the paper's Appendix A with changes of rate, as the paper recommends. The input is divided by the interval;
//! the pseudo-code omits this division. Two values that the paper leaves open are ns-2's: the first interval is 50 ms,
//! and no interval is shorter than 1 ms. While no packet carries a round-trip time, the last mean RTT is used.

use elephan_cc::param::{BuildError, Settings, num};

use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use super::{Backlog, DropTail};
use crate::packet::Packet;
use crate::sidecar::{Header, PacketHeaders};
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of XCP.
    pub struct XcpParameters {
        /// Fraction of the spare capacity distributed in a mean RTT; stable below 0.555.
        alpha: f64 = num(0.4, 1e-6, 10.0, Unit::None), "SIGCOMM 2002 section 4";
        /// Fraction of the standing queue drained in a mean RTT; α²√2 for stability.
        beta: f64 = num(0.226, 0.0, 10.0, Unit::None), "SIGCOMM 2002 section 4";
        /// Fraction of the traffic redistributed between flows in a mean RTT.
        gamma: f64 = num(0.1, 0.0, 1.0, Unit::None), "SIGCOMM 2002 section 3.5.2";
        /// Interval whose smallest queue counts as the standing queue, in mean propagation delays.
        standing: f64 = num(1.0, 0.01, 10.0, Unit::None), "SIGCOMM 2002 section 3.5.1; ns-2: 0.5";
    }
}

/// Mean RTT before the first sample, s.
const INITIAL_RTT_S: f64 = 0.05;
/// Shortest interval, s.
const INTERVAL_LEAST_S: f64 = 0.001;

/// State and arithmetic of a router. Names follow the paper; rates are in bytes/s.
#[derive(Clone, Debug)]
struct Router {
    p: XcpParameters,
    capacity: f64,
    /// Mean RTT over the flows (d), s.
    d: f64,
    /// Start and end of the control interval.
    since: Time,
    control_due: Time,
    /// Sums over the packets that arrived in this interval: bytes, spacing, rtt × spacing.
    input: f64,
    spacings: f64,
    rtt_spacings: f64,
    xi_p: f64,
    xi_n: f64,
    /// Remaining positive and negative change of rate.
    residue_pos: f64,
    residue_neg: f64,
    /// Standing queue (Q), bytes: the smallest queue of the last propagation delay.
    standing: f64,
    least: f64,
    queue_due: Time,
}

impl Router {
    fn new(p: XcpParameters, rate_bps: u64) -> Self {
        let first = Time::from_seconds(INITIAL_RTT_S);
        Self {
            p,
            capacity: rate_bps as f64 / 8.0,
            d: INITIAL_RTT_S,
            since: Time::ZERO,
            control_due: first,
            input: 0.0,
            spacings: 0.0,
            rtt_spacings: 0.0,
            xi_p: 0.0,
            xi_n: 0.0,
            residue_pos: 0.0,
            residue_neg: 0.0,
            standing: 0.0,
            least: f64::INFINITY,
            queue_due: first,
        }
    }

    /// Applies the timers due by `now`, while `waiting` bytes waited.
    #[inline]
    fn catch_up(&mut self, now: Time, waiting: u64) {
        if self.queue_due.min(self.control_due) <= now {
            self.handle_timers(now, waiting);
        }
    }

    #[cold]
    fn handle_timers(&mut self, now: Time, waiting: u64) {
        while self.queue_due.min(self.control_due) <= now {
            if self.rests(waiting as f64) {
                self.skip_to(now, waiting as f64);
            }
            if self.queue_due <= self.control_due {
                self.end_queue_interval(waiting as f64);
            } else {
                self.end_control_interval();
            }
        }
    }

    /// True if an interval without packets changes only the times of the next intervals.
    fn rests(&self, waiting: f64) -> bool {
        let sums =
            [self.input, self.spacings, self.rtt_spacings, self.xi_p, self.xi_n, self.residue_pos, self.residue_neg];
        sums.iter().all(|&sum| sum == 0.0) && self.standing == waiting && self.least == waiting
    }

    /// Skips all but the last intervals before `now`, since a path may be idle for millions of intervals.
    fn skip_to(&mut self, now: Time, waiting: f64) {
        let skipped = |due: Time, interval: Time| Time((now.since(due).0 / interval.0) * interval.0);
        let (queue, control) = (self.queue_interval(waiting), Time::from_seconds(self.d));
        self.queue_due += skipped(self.queue_due, queue);
        let later = skipped(self.control_due, control);
        if later > Time::ZERO {
            self.control_due += later;
            self.since = self.control_due - control;
        }
    }

    fn queue_interval(&self, waiting: f64) -> Time {
        let propagation = self.d - waiting / self.capacity;
        Time::from_seconds((self.p.standing * propagation).max(INTERVAL_LEAST_S))
    }

    fn end_queue_interval(&mut self, waiting: f64) {
        self.standing = self.least.min(waiting);
        self.least = waiting;
        self.queue_due = self.queue_due.later(self.queue_interval(waiting));
    }

    fn end_control_interval(&mut self) {
        let rate = self.input / (self.control_due - self.since).seconds();
        if self.spacings > 0.0 {
            self.d = (self.rtt_spacings / self.spacings).max(INTERVAL_LEAST_S);
        }
        let (phi, h) = if self.input > 0.0 { self.aggregate(rate) } else { (0.0, 0.0) };
        self.residue_pos = (h + phi.max(0.0)) / self.d;
        self.residue_neg = (h + (-phi).max(0.0)) / self.d;
        self.xi_p = if self.spacings > 0.0 { self.residue_pos / self.spacings } else { 0.0 };
        self.xi_n = if self.input > 0.0 { self.residue_neg / self.input } else { 0.0 };
        (self.input, self.spacings, self.rtt_spacings) = (0.0, 0.0, 0.0);
        self.since = self.control_due;
        self.control_due = self.control_due.later(Time::from_seconds(self.d));
    }

    /// Desired change of the aggregate in a mean RTT (φ) and redistributed traffic (h), bytes, at an input `rate`.
    fn aggregate(&self, rate: f64) -> (f64, f64) {
        let XcpParameters { alpha, beta, gamma, .. } = self.p;
        let phi = alpha * self.d * (self.capacity - rate) - beta * self.standing;
        (phi, (gamma * rate * self.d - phi.abs()).max(0.0))
    }

    fn arrive(&mut self, bytes: u64, header: Option<&mut Header>, waiting: u64) {
        self.least = self.least.min(waiting as f64);
        self.input += bytes as f64;
        if let Some(header) = header.filter(|header| header.rtt > 0.0) {
            self.spacings += header.spacing;
            self.rtt_spacings += header.rtt * header.spacing;
        }
    }

    /// Writes the feedback into a departing packet, unless an earlier router has written less.
    fn depart(&mut self, bytes: u64, header: &mut Header) {
        if header.rtt <= 0.0 {
            header.feedback = 0.0;
            return;
        }
        let (pos, neg) = (self.xi_p * header.spacing, self.xi_n * bytes as f64);
        let feedback = pos - neg;
        let given = header.feedback;
        if given >= feedback {
            header.feedback = feedback;
            self.residue_pos -= pos;
            self.residue_neg -= neg;
        } else if given > 0.0 {
            self.residue_pos -= given;
            self.residue_neg -= feedback - given;
        } else {
            self.residue_neg -= feedback.max(0.0) - given;
        }
        if self.residue_pos <= 0.0 {
            self.xi_p = 0.0;
        }
        if self.residue_neg <= 0.0 {
            self.xi_n = 0.0;
        }
    }
}

/// A queue with an XCP router.
#[derive(Clone, Debug)]
pub struct Xcp {
    tail: DropTail,
    held: Held,
    router: Router,
}

impl AtDeparture for Xcp {
    const ENTRY: Entry = Entry {
        router: Some(elephan_cc::Router::Xcp),
        ..Entry::new(
            "xcp",
            "Explicit control protocol",
            "Katabi, Handley, Rohrs, SIGCOMM 2002",
            &[XcpParameters::TABLE],
        )
    };

    type Parameters = XcpParameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        XcpParameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        Self { tail: place.tail(false), held: Held::default(), router: Router::new(p, place.rate_bps) }
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut impl PacketHeaders) {
        let waiting = self.held.backlog();
        self.router.catch_up(packet.at, waiting.bytes);
        self.router.arrive(packet.bytes(), headers.header(&packet), waiting.bytes);
        if self.tail.admits(waiting, packet.bytes()) {
            self.held.push(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Packet>, headers: &mut impl PacketHeaders) -> Option<Packet> {
        self.router.catch_up(now, self.held.backlog().bytes);
        let packet = self.held.take()?;
        if let Some(header) = headers.header(&packet) {
            self.router.depart(packet.bytes(), header);
        }
        Some(packet)
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        std::iter::once(&self.held)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: XcpParameters = XcpParameters { alpha: 0.4, beta: 0.226, gamma: 0.1, standing: 1.0 };
    const SIZE: u64 = 1500;

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{got} is not {expected}");
    }

    /// Header of a packet whose sender has an RTT of 100 ms and a window of 1.25 MB.
    fn header(feedback: f64) -> Header {
        Header { rtt: 0.1, spacing: SIZE as f64 * 0.1 / 1.25e6, feedback }
    }

    /// A router at 1 Gbit/s after an interval of 100 ms in which 10 MB arrived, with a standing queue of 50 kB.
    fn loaded() -> Router {
        let mut router = Router::new(PAPER, 1_000_000_000);
        router.catch_up(Time::from_seconds(0.05), 0);
        (router.d, router.control_due, router.standing) = (0.1, Time::from_seconds(0.15), 50_000.0);
        router.queue_due = Time::NEVER;
        for _ in 0..6666 {
            router.arrive(SIZE, Some(&mut header(0.0)), 50_000);
        }
        router.arrive(1000, Some(&mut Header { spacing: header(0.0).spacing * 2.0 / 3.0, ..header(0.0) }), 50_000);
        router
    }

    #[test]
    fn a_router_that_skips_idle_intervals_is_in_the_state_of_one_that_does_not() {
        let p = XcpParameters { standing: 1.3, ..PAPER };
        let (mut skips, mut walks) = (Router::new(p, 80_000_000), Router::new(p, 80_000_000));
        let mut header = Header { rtt: 0.0371, spacing: 0.002, feedback: 9e9 };
        for router in [&mut skips, &mut walks] {
            router.catch_up(Time(40 * Time::MILLISECOND.0), 3000);
            router.arrive(1000, Some(&mut header), 3000);
        }
        for ms in [300, 301, 90_000, 90_001, 3_600_000] {
            let now = Time(ms * Time::MILLISECOND.0);
            skips.catch_up(now, 3000);
            while walks.queue_due.min(walks.control_due) <= now {
                if walks.queue_due <= walks.control_due {
                    walks.end_queue_interval(3000.0);
                } else {
                    walks.end_control_interval();
                }
            }
            assert_eq!(format!("{skips:?}"), format!("{walks:?}"));
        }
    }

    #[test]
    fn the_aggregate_feedback_is_the_spare_capacity_less_the_standing_queue() {
        let router = loaded();
        let (phi, h) = router.aggregate(100e6);
        near(phi, 988_700.0);
        near(h, 11_300.0);
    }

    #[test]
    fn a_window_of_packets_gets_the_aggregate_feedback() {
        let mut router = loaded();
        router.catch_up(Time::from_seconds(0.15), 50_000);
        near(router.d, 0.1);
        let packet = header(f64::INFINITY);
        // The values are changes of the window, bytes: ξp rtt² s / cwnd and ξn rtt s.
        near(router.xi_p * packet.spacing * packet.rtt, 150.0);
        near(router.xi_n * SIZE as f64 * packet.rtt, 1.695);
        let mut sum = 0.0;
        for _ in 0..6666 {
            let mut packet = header(f64::INFINITY);
            router.depart(SIZE, &mut packet);
            sum += packet.feedback * packet.rtt;
        }
        near(sum, 988_700.0 * 6666.0 / (10e6 / 1500.0));
        assert!(router.residue_pos > 0.0 && router.residue_neg > 0.0);
        for _ in 0..2 {
            router.depart(SIZE, &mut header(f64::INFINITY));
        }
        assert_eq!((router.xi_p, router.xi_n), (0.0, 0.0));
    }

    #[test]
    fn the_constants_are_those_of_the_stability_theorem() {
        near(PAPER.alpha * PAPER.alpha * std::f64::consts::SQRT_2, 0.226_274_17);
        let limit = std::f64::consts::PI / (4.0 * std::f64::consts::SQRT_2);
        near(limit, 0.555_360_37);
        assert!(PAPER.alpha < limit);
    }

    #[test]
    fn a_router_that_wants_less_overwrites_and_one_that_wants_more_is_charged_what_was_given() {
        let mut router = loaded();
        router.catch_up(Time::from_seconds(0.15), 50_000);
        let (pos, neg) = (router.residue_pos, router.residue_neg);
        let mut packet = header(10.0);
        router.depart(SIZE, &mut packet);
        assert_eq!(packet.feedback, 10.0);
        near(pos - router.residue_pos, 10.0);
        near(neg - router.residue_neg, 1500.0 - 16.95 - 10.0);
        // An earlier router has already reduced the rate, so this router takes less. A positive change that this router
        // does not give also counts as taken.
        let (pos, neg) = (router.residue_pos, router.residue_neg);
        let mut packet = header(-20.0);
        router.depart(SIZE, &mut packet);
        assert_eq!((packet.feedback, router.residue_pos), (-20.0, pos));
        near(neg - router.residue_neg, 1500.0 - 16.95 + 20.0);
    }

    #[test]
    fn a_packet_without_a_round_trip_time_gets_nothing_and_counts_for_no_mean() {
        let mut router = loaded();
        let before = (router.spacings, router.rtt_spacings);
        let mut packet = Header { rtt: 0.0, feedback: f64::INFINITY, ..header(0.0) };
        router.arrive(SIZE, Some(&mut packet), 0);
        router.arrive(40, None, 0);
        assert_eq!(
            (router.spacings, router.rtt_spacings, router.input),
            (before.0, before.1, 10_001_540.0 - 1.0 + 1.0)
        );
        router.depart(SIZE, &mut packet);
        assert_eq!(packet.feedback, 0.0);
    }

    #[test]
    fn the_mean_is_one_over_flows_and_not_over_packets() {
        let mut router = Router::new(PAPER, 1_000_000_000);
        router.catch_up(Time::from_seconds(0.05), 0);
        // Two flows in 1 s: 10 packets in 20 ms, and 10 in 200 ms, so that one flow sends ten times as many packets.
        for _ in 0..500 {
            router.arrive(SIZE, Some(&mut Header { rtt: 0.02, spacing: 0.002, feedback: 0.0 }), 0);
        }
        for _ in 0..50 {
            router.arrive(SIZE, Some(&mut Header { rtt: 0.2, spacing: 0.02, feedback: 0.0 }), 0);
        }
        router.catch_up(router.control_due, 0);
        near(router.d, 0.11);
    }

    #[test]
    fn the_standing_queue_is_the_least_of_the_last_propagation_delay() {
        let mut router = Router::new(PAPER, 8_000_000);
        router.control_due = Time::NEVER;
        let ms = |ms: u64| Time(ms * Time::MILLISECOND.0);
        router.catch_up(ms(50), 0);
        assert_eq!((router.standing, router.queue_due), (0.0, ms(100)));
        for (at, waiting) in [(60, 9000), (70, 4000), (80, 6000)] {
            router.catch_up(ms(at), waiting);
            router.arrive(SIZE, None, waiting);
        }
        // The smallest queue was 0, at the start of the interval.
        router.catch_up(ms(100), 10_000);
        assert_eq!(router.standing, 0.0);
        // The standing queue of 10 kB takes 10 ms of the 50 ms.
        assert_eq!(router.queue_due, ms(140));
        for (at, waiting) in [(110, 12_000), (120, 4000), (130, 6000)] {
            router.catch_up(ms(at), waiting);
            router.arrive(SIZE, None, waiting);
        }
        router.catch_up(ms(140), 8000);
        assert_eq!(router.standing, 4000.0);
    }
}
