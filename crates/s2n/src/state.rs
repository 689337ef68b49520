//! A controller of s2n-quic, the packets reported to it, and the RTTs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};

/// Smallest datagram with data, bytes. Smaller datagrams are mostly ACKs, which congestion control does not count.
const SMALLEST_DATA: u64 = 100;

/// A datagram that is outstanding.
#[derive(Clone, Copy, Debug)]
struct Sent<I> {
    number: u64,
    at: Instant,
    bytes: u64,
    info: I,
}

/// Packets that an ACK frame acknowledged.
#[derive(Clone, Copy, Debug)]
struct Acked<I> {
    newest_sent: Instant,
    info: I,
    bytes: u64,
}

/// A controller and the events reported to it.
#[derive(Clone, Debug)]
pub struct State<C: CongestionController> {
    inner: C,
    origin: Instant,
    rtt: RttEstimator,
    random: SplitMix,
    /// Outstanding datagrams, in the order of their transmission.
    outstanding: VecDeque<Sent<C::PacketInfo>>,
    outstanding_bytes: u64,
    /// Largest packet number that was acknowledged.
    largest: Option<u64>,
    app_limited: Option<bool>,
    /// The ACK frame that quinn is reporting.
    acking: Option<Acked<C::PacketInfo>>,
    /// An ACK frame, with its time, that is not yet reported to the controller: s2n-quic reports the frame's losses
    /// first.
    pending: Option<(Instant, Acked<C::PacketInfo>)>,
}

impl<C: CongestionController> State<C> {
    /// A controller without reports.
    pub fn new(inner: C, origin: Instant, seed: u64) -> Self {
        Self {
            inner,
            origin,
            rtt: RttEstimator::default(),
            random: SplitMix(seed),
            outstanding: VecDeque::new(),
            outstanding_bytes: 0,
            largest: None,
            app_limited: None,
            acking: None,
            pending: None,
        }
    }

    /// The time in the type of s2n-quic, in whole microseconds.
    fn stamp(&self, at: Instant) -> Timestamp {
        NoopClock.get_time() + at.saturating_duration_since(self.origin)
    }

    /// Records the transmission of a datagram.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        if bytes < SMALLEST_DATA {
            return;
        }
        self.flush();
        let at = self.stamp(now);
        let info = self.inner.on_packet_sent(at, bytes as usize, self.app_limited, &self.rtt, &mut Nobody);
        self.outstanding.push_back(Sent { number, at: now, bytes, info });
        self.outstanding_bytes += bytes;
    }

    /// Records one packet of an ACK frame.
    pub fn on_acked(&mut self, sent: Instant, bytes: u64) {
        self.flush();
        let from = self.outstanding.partition_point(|packet| packet.at < sent);
        let mut sent_then = self.outstanding.range(from..).take_while(|packet| packet.at == sent);
        // Packets with the same send time and the same size are interchangeable.
        let Some(position) = sent_then.position(|packet| packet.bytes == bytes) else { return };
        let Some(packet) = self.outstanding.remove(from + position) else { return };
        self.outstanding_bytes -= packet.bytes;
        let newest = self.acking.filter(|acking| acking.newest_sent > sent);
        let (newest_sent, info) = newest.map_or((sent, packet.info), |acking| (acking.newest_sent, acking.info));
        let so_far = self.acking.map_or(0, |acking| acking.bytes);
        self.acking = Some(Acked { newest_sent, info, bytes: so_far + packet.bytes });
    }

    /// Records the end of an ACK frame.
    pub fn on_acks_end(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.app_limited = Some(app_limited);
        self.discard(in_flight);
        let Some(acked) = self.acking.take() else { return };
        if largest != self.largest {
            self.largest = largest;
            let sample = now.saturating_duration_since(acked.newest_sent);
            let (at, sent) = (self.stamp(now), self.stamp(acked.newest_sent));
            self.rtt.update_rtt(Duration::ZERO, sample, at, true, PacketNumberSpace::ApplicationData);
            self.inner.on_rtt_update(sent, at, &self.rtt, &mut Nobody);
        }
        self.pending = Some((now, acked));
    }

    /// Removes the oldest packets if quinn counts fewer bytes in flight. The removed packets belong to the handshake,
    /// whose keys quinn has discarded.
    fn discard(&mut self, in_flight: u64) {
        while let Some(oldest) = self.outstanding.front()
            && self.outstanding_bytes.saturating_sub(in_flight) >= oldest.bytes
        {
            let bytes = oldest.bytes;
            self.inner.on_packet_discarded(bytes as usize, &mut Nobody);
            self.outstanding_bytes -= bytes;
            self.outstanding.pop_front();
        }
    }

    /// Records that packets of `lost` bytes in total are declared lost; the newest of them was sent at `sent`. Quinn
    /// declares every outstanding packet before the newest lost one to be lost.
    pub fn on_lost(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        let at = self.stamp(now);
        let (mut left, mut before) = (lost, None);
        while let Some(&packet) = self.outstanding.front()
            && packet.at <= sent
            && packet.bytes <= left
        {
            self.outstanding.pop_front();
            self.outstanding_bytes -= packet.bytes;
            left -= packet.bytes;
            let burst = before.is_none_or(|number| packet.number != number + 1);
            before = Some(packet.number);
            let bytes = packet.bytes as u32;
            self.inner.on_packet_lost(bytes, packet.info, persistent, burst, &mut self.random, at, &mut Nobody);
        }
        if persistent {
            self.rtt.on_persistent_congestion();
        }
    }

    /// Records an ACK that reports CE marks.
    pub fn on_mark(&mut self, now: Instant) {
        let at = self.stamp(now);
        self.inner.on_explicit_congestion(1, at, &mut Nobody);
    }

    /// Sets the largest UDP payload, bytes.
    pub fn on_mtu(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu, &mut Nobody);
    }

    /// Reports the pending ACK frame to the controller, after the frame's losses.
    fn flush(&mut self) {
        let Some((now, acked)) = self.pending.take() else { return };
        let (sent, now) = (self.stamp(acked.newest_sent), self.stamp(now));
        let bytes = acked.bytes as usize;
        self.inner.on_ack(sent, bytes, acked.info, &self.rtt, &mut self.random, now, &mut Nobody);
    }

    /// True if the controller's window allows a datagram, regardless of pacing.
    pub fn may_send(&mut self) -> bool {
        self.flush();
        !self.inner.is_congestion_limited() || self.inner.requires_fast_retransmission()
    }

    /// Congestion window, bytes.
    pub fn window(&self) -> u64 {
        self.inner.congestion_window().into()
    }

    /// Departure time of the next packet, if none may leave now.
    pub fn departure(&mut self, now: Instant) -> Option<Instant> {
        self.flush();
        let departure = self.inner.earliest_departure_time()?;
        if departure.has_elapsed(self.stamp(now)) {
            return None;
        }
        Some(self.origin + departure.saturating_duration_since(NoopClock.get_time()))
    }
}

/// Receiver of a controller's events, which ignores them.
struct Nobody;

impl Publisher for Nobody {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _congestion_window: u32) {}
    fn on_delivery_rate_sampled(&mut self, _rate_sample: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _rate: Bandwidth, _burst: u32, _gain: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// Seeded numbers (Steele, Lea and Flood's SplitMix64).
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            piece.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..piece.len()]);
        }
    }
}

impl random::Generator for SplitMix {
    fn public_random_fill(&mut self, bytes: &mut [u8]) {
        self.fill(bytes);
    }

    fn private_random_fill(&mut self, bytes: &mut [u8]) {
        self.fill(bytes);
    }
}
