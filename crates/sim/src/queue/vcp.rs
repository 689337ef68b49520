//! VCP's router: compares its input and its queue with the capacity in fixed intervals, and writes the load into the
//! ECN bits of departing packets (Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005).
//!
//! Variant: the persistent queue is that of the authors' ns-2 code, the mean of the samples of an interval, smoothed
//! with weight 1/4. The load factor is not rounded up to whole percents. Only ECN-capable packets carry the load; an
//! overload marks all of them.

use elephan_cc::Load;
use elephan_cc::param::{BuildError, MS, S, Settings, US, duration, num};

use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use super::{Backlog, DropTail};
use crate::packet::Packet;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

elephan_cc::params! {
    /// Parameters of VCP.
    pub struct VcpParameters {
        /// Interval over which the load is measured (t_ρ), longer than most RTTs.
        t_rho: Time = duration(200.0 * MS, 100.0 * US, 100.0 * S), "SIGCOMM 2005";
        /// Interval between two samples of the queue (t_q).
        t_q: Time = duration(10.0 * MS, 100.0 * US, 100.0 * S), "SIGCOMM 2005";
        /// Fraction of the persistent queue that counts as load (κ_q).
        kq: f64 = num(0.5, 0.0, 100.0, Unit::None), "SIGCOMM 2005";
        /// Target utilization (γ).
        gamma: f64 = num(0.98, 0.01, 2.0, Unit::None), "SIGCOMM 2005";
    }
}

/// Weight of the last interval in the persistent queue.
const NEW: f64 = 0.25;

/// State and arithmetic of a router.
#[derive(Clone, Debug)]
struct Router {
    p: VcpParameters,
    /// Capacity of the link, bytes/s.
    capacity: f64,
    /// Bytes that arrived in this interval.
    input: f64,
    /// Sum of the samples of this interval, bytes, and their number.
    sampled: f64,
    samples: u32,
    /// Persistent queue, bytes.
    queue: f64,
    load: Load,
    sample_due: Time,
    interval_due: Time,
}

impl Router {
    fn new(p: VcpParameters, rate_bps: u64) -> Self {
        Self {
            p,
            capacity: rate_bps as f64 / 8.0,
            input: 0.0,
            sampled: 0.0,
            samples: 0,
            queue: 0.0,
            load: Load::Low,
            sample_due: p.t_q,
            interval_due: p.t_rho,
        }
    }

    /// Applies the samples and intervals due by `now`, while `waiting` bytes waited.
    #[inline]
    fn catch_up(&mut self, now: Time, waiting: u64) {
        if self.sample_due.min(self.interval_due) <= now {
            self.handle_timers(now, waiting);
        }
    }

    #[cold]
    fn handle_timers(&mut self, now: Time, waiting: u64) {
        while self.sample_due.min(self.interval_due) <= now {
            if self.sample_due <= self.interval_due {
                self.sampled += waiting as f64;
                self.samples += 1;
                self.sample_due += self.p.t_q;
            } else {
                self.end_interval();
            }
        }
    }

    fn end_interval(&mut self) {
        let mean = self.sampled / f64::from(self.samples.max(1));
        self.queue += NEW * (mean - self.queue);
        self.load = code(self.load_factor());
        (self.input, self.sampled, self.samples) = (0.0, 0.0, 0);
        self.interval_due += self.p.t_rho;
    }

    /// Load factor ρ of the interval that ends.
    fn load_factor(&self) -> f64 {
        (self.input + self.p.kq * self.queue) / (self.p.gamma * self.capacity * self.p.t_rho.seconds())
    }
}

fn code(load_factor: f64) -> Load {
    if load_factor < elephan_cc::vcp::LOW_BELOW {
        Load::Low
    } else if load_factor < 1.0 {
        Load::High
    } else {
        Load::Overload
    }
}

/// A queue with a VCP router.
#[derive(Clone, Debug)]
pub struct Vcp {
    tail: DropTail,
    held: Held,
    router: Router,
}

impl AtDeparture for Vcp {
    const ENTRY: Entry = Entry {
        router: Some(elephan_cc::Router::Vcp),
        ..Entry::new(
            "vcp",
            "Variable-structure congestion control protocol",
            "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005",
            &[VcpParameters::TABLE],
        )
    };

    type Parameters = VcpParameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        VcpParameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        Self { tail: place.tail(false), held: Held::default(), router: Router::new(p, place.rate_bps) }
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) {
        let waiting = self.held.backlog();
        self.router.catch_up(packet.at, waiting.bytes);
        self.router.input += packet.bytes() as f64;
        if self.tail.admits(waiting, packet.bytes()) {
            self.held.push(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Packet>, _: &mut impl PacketHeaders) -> Option<Packet> {
        self.router.catch_up(now, self.held.backlog().bytes);
        let packet = self.held.take()?;
        Some(packet.loaded(self.router.load))
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
    use crate::packet::{FlowId, flag};

    fn paper(rate_bps: u64) -> Router {
        let (t_rho, t_q) = (Time(200 * Time::MILLISECOND.0), Time(10 * Time::MILLISECOND.0));
        Router::new(VcpParameters { t_rho, t_q, kq: 0.5, gamma: 0.98 }, rate_bps)
    }

    #[test]
    fn the_load_is_what_came_and_half_of_what_waits_over_98_percent_of_the_capacity() {
        let mut router = paper(100_000_000);
        (router.input, router.queue) = (2.4e6, 20e3);
        assert!((router.load_factor() - 0.98367).abs() < 5e-6, "{}", router.load_factor());
        assert_eq!(code(router.load_factor()), Load::High);
    }

    #[test]
    fn the_codes_change_at_80_and_at_100_percent() {
        let codes = [0.0, 0.7999, 0.8, 0.9999, 1.0, 3.0].map(code);
        assert_eq!(codes, [Load::Low, Load::Low, Load::High, Load::High, Load::Overload, Load::Overload]);
    }

    #[test]
    fn an_interval_ends_every_200_ms_and_the_queue_moves_by_a_quarter_of_its_mean() {
        let mut router = paper(100_000_000);
        let ms = |ms: u64| Time(ms * Time::MILLISECOND.0);
        // 8 kB in the first half, 24 kB in the second: 16 kB on average.
        router.catch_up(ms(100), 8000);
        router.input = 2.45e6;
        router.catch_up(ms(199), 24_000);
        assert_eq!((router.load, router.queue), (Load::Low, 0.0));
        router.catch_up(ms(200), 24_000);
        // 2.45 MB are 98 % of the capacity, and there is a queue.
        assert_eq!((router.load, router.queue, router.input), (Load::Overload, 4000.0, 0.0));
        router.catch_up(ms(400), 0);
        assert_eq!((router.load, router.queue), (Load::Low, 3000.0));
    }

    #[test]
    fn a_packet_keeps_the_highest_load_of_its_path_and_one_without_ecn_none() {
        let packet = |flags| Packet::new(Time(1), Time(1), FlowId(0), 0, 1500, flags, 0);
        let first = packet(flag::ECT1);
        assert_eq!(first.load(), Load::Low);
        for (path, heard) in [
            ([Load::Low, Load::High], Load::High),
            ([Load::High, Load::Low], Load::High),
            ([Load::Overload, Load::High], Load::Overload),
            ([Load::High, Load::Overload], Load::Overload),
            ([Load::Low, Load::Low], Load::Low),
        ] {
            assert_eq!(path.into_iter().fold(first, Packet::loaded).load(), heard);
        }
        assert_eq!(packet(0).loaded(Load::Overload).flags(), 0);
        assert_eq!(packet(flag::ACK).loaded(Load::Overload).flags(), flag::ACK);
    }
}
