//! Adapter for transports that count bytes: [`ByteDriver`] drives a [`Controller`] from events in bytes, packet numbers and
//! picoseconds, as a QUIC stack reports them (RFC 9002).
//!
//! The adapter contains no congestion control. The adapter converts units, feeds the [estimators](crate::estimators),
//! and applies the rules of RFC 9002 and RFC 9000 for a sender. These rules are one congestion event per recovery
//! period (RFC 9002 §7.3.2), persistent congestion (§7.6), a minimum window of two datagrams (§7.2) and a reset on a
//! new path (RFC 9000 §9.4).
//!
//! A segment of the algorithm is one datagram of the current MTU.
//!
//! Every input is accepted. An instant earlier than the previous event counts as the instant of that event. A packet
//! that was never sent counts as sent at the start. More than 2⁴⁰ bytes in one event count as 2⁴⁰ bytes. A datagram
//! size is clamped to 1 to 65,527 bytes.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Ecn, Needs};
use crate::estimators::{DeliverySampler, MinRtt, RoundCounter, SegmentRing, seconds};
use crate::event::Event;
use crate::registry::Controller;
use crate::reports::{Cause, Lost, Sent, Signal, Start};

/// Minimum window, datagrams (RFC 9002 §7.2).
const MINIMUM_DATAGRAMS: f64 = 2.0;
/// Largest number of packets in one acknowledgement or transmission, and largest span of packet numbers kept.
const MOST_OUTSTANDING: u64 = 1 << 20;
/// Delay that a receiver may add to an ACK, s (RFC 9000 §18.2, `max_ack_delay`).
const MAX_ACK_DELAY: f64 = 0.025;
/// Granularity of timers, s (RFC 9002 §6.1.2).
const GRANULARITY: f64 = 0.001;
/// Largest number of packets in one transmission; a larger step of the packet number is a gap of skipped numbers.
const MOST_SKIPPED: u64 = 1024;
/// Largest number of bytes in one event, 1 TiB.
const MOST_BYTES: u64 = 1 << 40;
/// Largest window, 1 PiB: the data of 25 hours at 100 Gbit/s.
const MOST_WINDOW_BYTES: u64 = 1 << 50;
/// The largest UDP payload, bytes.
const LARGEST_MTU: u32 = 65_527;
/// Latest instant, ps (53 days): sums of instants below this limit do not overflow.
const LATEST_PS: u64 = 1 << 62;

/// Initial properties of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// Instant, ps since an origin of the transport's choice.
    pub now_ps: u64,
    /// Datagram size, bytes of UDP payload, from 1 to 65,527.
    pub mtu_bytes: u32,
    /// Initial window, datagrams.
    pub initial_window: f64,
    /// Seed of algorithms that draw random numbers.
    pub seed: u64,
}

impl Connection {
    /// A connection with datagrams of `mtu_bytes`, an initial window of 10 datagrams (RFC 9002 §7.2), at instant 0.
    #[must_use]
    pub fn new(mtu_bytes: u32) -> Self {
        Self { now_ps: 0, mtu_bytes: mtu_bytes.clamp(1, LARGEST_MTU), initial_window: 10.0, seed: 0 }
    }
}

/// Capabilities of a transport beyond ACKs, losses and timeouts.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Offers {
    /// True if packets leave at [`ByteDriver::pacing_rate`].
    pub pacing: bool,
    /// True if each lost packet is reported by its number ([`ByteDriver::on_lost`]).
    pub losses: bool,
    /// True if each ACK brings the one-way delay of its newest packet ([`Acked::owd_ps`]).
    pub one_way_delay: bool,
    /// True if each ACK brings the number of marked bytes ([`Acked::marked_bytes`]).
    pub marks: bool,
}

impl Offers {
    /// Describes the first need of the algorithm that the transport does not meet; `None` if the transport meets all
    /// needs.
    #[must_use]
    pub fn missing(&self, needs: &Needs) -> Option<&'static str> {
        let cases = [
            (needs.pacing && !self.pacing, "a pacing rate that the transport obeys"),
            (needs.ecn != Ecn::Endpoint && !self.marks, "a count of CE marks with each ACK"),
            (needs.one_way_delay && !self.one_way_delay, "the one-way delay of packets"),
            (needs.losses && !self.losses, "each lost packet by its number"),
            (needs.router.is_some(), "routers that write into packets"),
        ];
        cases.into_iter().find_map(|(lacks, what)| lacks.then_some(what))
    }
}

/// An acknowledgement: all packets that one ACK frame newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Instant of arrival, ps.
    pub now_ps: u64,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Packet number of the newest packet newly acknowledged.
    pub newest: u64,
    /// Instant at which the newest packet was sent, ps.
    pub newest_sent_ps: u64,
    /// Bytes in flight after this ACK.
    pub in_flight_bytes: u64,
    /// True if the application, not the window, limited the sender.
    pub app_limited: bool,
    /// One-way delay of the newest packet plus the offset of the two clocks, ps, if the transport measures it.
    pub owd_ps: Option<i64>,
    /// Acknowledged bytes that carried an ECN mark of a queue, if the transport counts them.
    pub marked_bytes: u64,
}

/// Drives a [`Controller`] from a transport that counts bytes and packet numbers.
#[derive(Debug)]
pub struct ByteDriver {
    controller: Controller,
    /// The controller in its state before the start, for new paths.
    pristine: Option<Controller>,
    needs: Needs,
    connection: Connection,
    mtu: f64,
    now_ps: u64,
    in_flight: u64,
    path: Path,
    /// Send time of the newest packet when the current recovery period began, ps.
    recovery: Option<u64>,
    /// True if a recovery period has begun and none of its packets is acknowledged yet.
    recovering: bool,
}

/// Estimates of one path.
#[derive(Clone, Debug, Default)]
struct Path {
    sampler: DeliverySampler,
    rounds: RoundCounter,
    min_rtt: MinRtt,
    windows: SegmentRing<f64>,
    /// Smoothed RTT and its variation, s (RFC 9002 §5.3); 0 before the first sample.
    srtt: f64,
    rtt_var: f64,
    /// Next packet number to be sent.
    next: u64,
    /// Lowest packet number that may be outstanding.
    base: u64,
    last_sent_ps: u64,
}

impl Clone for ByteDriver {
    /// A driver with the same state.
    ///
    /// # Panics
    /// Panics for a user's algorithm that cannot be copied; [`ByteDriver::new`] rejects these.
    fn clone(&self) -> Self {
        let copy = |controller: &Controller| controller.try_clone();
        let (Some(controller), pristine) = (copy(&self.controller), self.pristine.as_ref().and_then(copy)) else {
            unreachable!("only controllers that can be copied are driven")
        };
        Self { controller, pristine, path: self.path.clone(), ..*self }
    }
}

impl ByteDriver {
    /// Starts a connection.
    ///
    /// # Errors
    /// A message that names the algorithm's first need that is missing in `offers`, or that states that the algorithm
    /// cannot be copied.
    pub fn new(controller: Controller, connection: Connection, offers: Offers) -> Result<Self, String> {
        let needs = controller.needs();
        if let Some(what) = offers.missing(&needs) {
            return Err(format!("the algorithm needs {what}, and the transport does not offer it"));
        }
        let pristine = controller.try_clone();
        if pristine.is_none() {
            return Err("the algorithm cannot be copied (Algorithm::clone_boxed)".to_owned());
        }
        let mut driver = Self {
            controller,
            pristine,
            needs,
            connection,
            mtu: f64::from(connection.mtu_bytes.clamp(1, LARGEST_MTU)),
            now_ps: connection.now_ps.min(LATEST_PS),
            in_flight: 0,
            path: Path::default(),
            recovery: None,
            recovering: false,
        };
        driver.start();
        Ok(driver)
    }

    fn start(&mut self) {
        self.controller.on_event(&Event::Start(Start {
            now: seconds(self.now_ps),
            initial_window: self.connection.initial_window,
            segment_bytes: self.mtu,
            seed: self.connection.seed,
            ..Start::default()
        }));
    }

    /// Converts an instant to s; an instant earlier than the previous event counts as the instant of that event.
    fn at(&mut self, now_ps: u64) -> f64 {
        self.now_ps = self.now_ps.max(now_ps.min(LATEST_PS));
        seconds(self.now_ps)
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes.min(MOST_BYTES) as f64 / self.mtu
    }

    /// Datagrams in flight, rounded to the nearest number.
    fn datagrams_in_flight(&self) -> u32 {
        (self.segments(self.in_flight) + 0.5).min(f64::from(u32::MAX)) as u32
    }

    /// Records that `bytes` were sent, in packets of which the last one has number `packet`.
    pub fn on_sent(&mut self, now_ps: u64, bytes: u64, packet: u64) {
        let now = self.at(now_ps);
        if self.in_flight == 0 && self.path.srtt > 0.0 {
            let idle = seconds(self.now_ps.saturating_sub(self.path.last_sent_ps));
            if idle > self.probe_timeout() {
                self.controller.on_event(&Event::Idle { now, idle });
            }
        }
        self.in_flight = self.in_flight.saturating_add(bytes);
        let in_flight = self.datagrams_in_flight();
        let packet = packet.min(u64::MAX - 1);
        let first = self.path.next.max(packet.saturating_sub(self.segments(bytes).min(MOST_SKIPPED as f64) as u64));
        // Skipped packet numbers are not outstanding and need no memory.
        let skipped = packet.saturating_sub(self.path.next) > MOST_SKIPPED;
        let base = if skipped { first } else { packet.saturating_sub(MOST_OUTSTANDING) };
        self.path.base = self.path.base.max(base);
        let window = self.controller.window();
        for number in first.min(packet)..=packet {
            if self.needs.delivery {
                self.path.sampler.on_sent(number, self.path.base, in_flight, self.now_ps);
            }
            if self.needs.window_at_send {
                self.path.windows.set(self.path.base, number, window);
            }
        }
        self.path.next = self.path.next.max(packet + 1);
        self.path.last_sent_ps = self.now_ps;
        if self.needs.sends {
            self.controller.on_event(&Event::Sent(Sent {
                now,
                in_flight: f64::from(in_flight),
                retransmission: false,
            }));
        }
    }

    /// Handles an ACK frame that acknowledges packets.
    pub fn on_acked(&mut self, acked: &Acked) {
        let now = self.at(acked.now_ps);
        let sent_ps = acked.newest_sent_ps.min(self.now_ps);
        let rtt = seconds(self.now_ps - sent_ps);
        self.take_rtt(rtt);
        self.in_flight = acked.in_flight_bytes;
        let count = self.segments(acked.bytes);
        let newest = acked.newest.min(u64::MAX - 1);
        self.path.base = self.path.base.max(newest.saturating_sub(MOST_OUTSTANDING));
        let delivery = self.needs.delivery.then(|| {
            let count = (count + 0.5).clamp(1.0, f64::from(u32::MAX)) as u32;
            self.path.sampler.on_delivered(newest, count, self.now_ps, self.path.min_rtt.get());
            self.path.sampler.sample()
        });
        if acked.app_limited && self.needs.delivery {
            self.path.sampler.on_application_limited(self.datagrams_in_flight());
        }
        let in_recovery = self.recovery.is_some_and(|began| sent_ps <= began);
        if self.recovering && !in_recovery {
            self.recovering = false;
            self.controller.on_event(&Event::RecoveryExit { now });
            if self.needs.rounds_restart {
                self.path.rounds.restart(self.path.next);
            }
        }
        let window_at_send = if self.needs.window_at_send { self.path.windows.get(newest) } else { None };
        self.controller.on_ack(&Ack {
            now,
            acked: count,
            rtt: Some(rtt),
            owd: acked.owd_ps.filter(|_| self.needs.one_way_delay).map(|ps| ps as f64 * 1e-12),
            min_rtt: self.path.min_rtt.get(),
            srtt: self.path.srtt,
            delivery: delivery.flatten(),
            in_flight: self.segments(self.in_flight),
            window_at_send: window_at_send.unwrap_or(0.0),
            round_start: self.path.rounds.on_ack(newest + 1, self.path.next),
            in_recovery,
            sample: None,
            window_limited: !acked.app_limited,
            marked: self.segments(acked.marked_bytes.min(acked.bytes)),
            answer: None,
        });
    }

    /// Smooths the RTT (RFC 9002 §5.3).
    fn take_rtt(&mut self, rtt: f64) {
        let path = &mut self.path;
        path.min_rtt.update(rtt);
        if path.srtt == 0.0 {
            (path.srtt, path.rtt_var) = (rtt, rtt / 2.0);
        } else {
            path.rtt_var += ((path.srtt - rtt).abs() - path.rtt_var) / 4.0;
            path.srtt += (rtt - path.srtt) / 8.0;
        }
    }

    /// Probe timeout, s (RFC 9002 §6.2.1); a sender that sent nothing for longer counts as idle.
    fn probe_timeout(&self) -> f64 {
        self.path.srtt + (4.0 * self.path.rtt_var).max(GRANULARITY) + MAX_ACK_DELAY
    }

    /// Handles the loss of packet number `packet`; called before [`ByteDriver::on_congestion`] of the same instant.
    /// Only a transport with [`Offers::losses`] calls this method.
    pub fn on_lost(&mut self, now_ps: u64, packet: u64) {
        self.at(now_ps);
        if self.needs.losses {
            let lost: Lost = self.path.sampler.on_lost(packet, self.now_ps);
            self.controller.on_event(&Event::Lost(lost));
        }
    }

    fn signal(&self, cause: Cause, repeated: bool) -> Signal {
        Signal {
            now: seconds(self.now_ps),
            in_flight: self.segments(self.in_flight),
            cause,
            srtt: self.path.srtt,
            min_rtt: self.path.min_rtt.get(),
            repeated,
            kept: 0.0,
        }
    }

    /// Handles a congestion event, in which `lost_bytes` were declared lost or an ECN mark was echoed. The newest lost
    /// or marked packet was sent at `sent_ps`. Packets sent before the current recovery period began cause no second
    /// reaction (RFC 9002 §7.3.2).
    pub fn on_congestion(&mut self, now_ps: u64, sent_ps: u64, cause: Cause, lost_bytes: u64) {
        self.at(now_ps);
        let sent_ps = sent_ps.min(self.now_ps);
        if self.recovery.is_none_or(|began| sent_ps > began) {
            let signal = self.signal(cause, false);
            self.controller.on_event(&Event::Congestion(signal));
            (self.recovery, self.recovering) = (Some(self.now_ps), true);
        }
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
    }

    /// Handles persistent congestion (RFC 9002 §7.6): every packet of a long period is lost. For the algorithm,
    /// persistent congestion is a retransmission timeout. The timeout keeps `ssthresh` if a recovery period has already
    /// lowered `ssthresh`.
    pub fn on_persistent_congestion(&mut self, now_ps: u64, lost_bytes: u64) {
        self.at(now_ps);
        let signal = self.signal(Cause::Loss, self.recovering);
        self.controller.on_event(&Event::Timeout(signal));
        (self.recovery, self.recovering) = (None, false);
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
    }

    /// Undoes the last reaction to congestion, which was spurious: every packet declared lost has been acknowledged.
    pub fn on_spurious_loss(&mut self, now_ps: u64) {
        let now = self.at(now_ps);
        self.controller.on_event(&Event::Undo { now });
        (self.recovery, self.recovering) = (None, false);
    }

    /// Handles the move of the connection to a new path: resets the algorithm and all estimates (RFC 9000 §9.4). A
    /// transport does not call this method if only the port of the peer has changed.
    pub fn on_path_change(&mut self, now_ps: u64) {
        self.at(now_ps);
        if let Some(pristine) = self.pristine.as_ref().and_then(Controller::try_clone) {
            self.controller = pristine;
        }
        let next = self.path.next;
        self.path = Path { next, base: next, ..Path::default() };
        self.path.rounds.restart(next);
        (self.recovery, self.recovering, self.in_flight) = (None, false, 0);
        self.start();
    }

    /// Changes the datagram size. A larger datagram size keeps the window in bytes; a smaller size keeps the window in
    /// datagrams, and thereby lowers the window in bytes.
    pub fn on_mtu(&mut self, mtu_bytes: u32) {
        let mtu_bytes = mtu_bytes.clamp(1, LARGEST_MTU);
        let mtu = f64::from(mtu_bytes);
        if mtu > self.mtu {
            let kept = self.controller.window() * self.mtu / mtu;
            self.controller.on_event(&Event::Moderate { window: kept.max(MINIMUM_DATAGRAMS) });
        }
        self.mtu = mtu;
        self.connection.mtu_bytes = mtu_bytes;
    }

    /// Congestion window, bytes; at least two datagrams, and at most 2⁵⁰.
    #[must_use]
    pub fn window(&self) -> u64 {
        ((self.controller.window().max(MINIMUM_DATAGRAMS) * self.mtu) as u64).min(MOST_WINDOW_BYTES)
    }

    /// Slow start threshold, bytes; `None` before the first loss.
    #[must_use]
    pub fn ssthresh(&self) -> Option<u64> {
        let ssthresh = self.controller.ssthresh();
        ssthresh.is_finite().then_some((ssthresh * self.mtu) as u64)
    }

    /// Pacing rate, bytes per second; `None` without pacing.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.controller.pacing_rate().map(|rate| rate * self.mtu)
    }

    /// Initial window, bytes.
    #[must_use]
    pub fn initial_window(&self) -> u64 {
        (self.connection.initial_window.max(MINIMUM_DATAGRAMS) * self.mtu) as u64
    }

    /// Smoothed RTT, s; 0 before the first sample.
    #[must_use]
    pub fn srtt(&self) -> f64 {
        self.path.srtt
    }

    /// Bytes in flight, as reported so far.
    #[must_use]
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight
    }

    /// The algorithm.
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }
}
