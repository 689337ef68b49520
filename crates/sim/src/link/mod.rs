//! A link: loss → queue → transmitter → delay line. The loss may also come after the transmitter.
//!
//! A first-in first-out link at a fixed rate needs no departure events: when a packet arrives, the time at which its
//! last bit leaves is known, `max(arrival, transmitter free) + size / rate`. For each waiting packet a list has the
//! time at which its waiting ends; the list is updated at each access. If all packets of a link have the same size, no
//! list is needed. The packets that wait at `now` are those whose transmission has not begun, and their transmissions
//! begin at `free − k × transmission`. The backlog therefore follows from the time until the transmitter is free.

mod loss;
mod radio;
mod schedule;
mod served;
mod service;
mod steps;
mod train;
mod wire;

use self::loss::{Loss, OnWire};
use self::schedule::Schedule;
use self::service::Service;
pub use self::train::{CarriedTrain, Train};
use self::wire::{Launch, Wire};
use crate::packet::Packet;
use crate::queue::{Arrival, Backlog, CheckedLink, Queue, Verdict};
use crate::record::{LinkSample, LinkSamples};
use crate::ring::Fifo;
use crate::time::Time;

/// Fractional bits of [`Link::ps_per_byte`]: the time of a packet is exact to 10⁻⁴ ps, and rates down to 8 bit/s fit.
pub(crate) const FRACTION_BITS: u32 = 24;

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Time at which the last of the packets stops waiting.
    until: Time,
    /// Size of a packet, bytes.
    bytes: u32,
    /// Number of packets; those of a train are sent one behind the other.
    packets: u32,
}

impl Waiting {
    /// Number of the packets that still wait at `now`, if each takes the time `transmission`.
    fn left(&self, now: Time, transmission: Time) -> u32 {
        let last_ps = self.until.since(now).0;
        last_ps.div_ceil(transmission.0.max(1)).min(u64::from(self.packets)) as u32
    }

    /// Sum of the times that the packets yet have to wait at `now`, ps. All of them wait then.
    fn yet_to_wait(&self, now: Time, transmission: Time) -> u128 {
        let packets = u128::from(self.packets);
        packets * u128::from((self.until - now).0) - packets * (packets - 1) / 2 * u128::from(transmission.0)
    }
}

/// One size for all packets.
#[derive(Clone, Copy, Debug)]
struct Uniform {
    bytes: u64,
    transmission: Time,
    /// A packet is admitted if the time until the transmitter is free is at most `room`, which is the limit × the
    /// transmission time of a packet.
    room: Time,
}

impl Uniform {
    /// Number of packets that wait at `now`, if the transmitter becomes free at `free`.
    fn waiting(&self, free: Time, now: Time) -> u64 {
        free.since(now).0.saturating_sub(1) / self.transmission.0
    }

    /// Sum of the remaining waiting times of the packets that wait at `now`, ps.
    fn yet_to_wait(&self, free: Time, now: Time) -> u128 {
        let n = u128::from(self.waiting(free, now));
        n * u128::from(free.since(now).0) - u128::from(self.transmission.0) * n * (n + 1) / 2
    }
}

/// True if every backlog that fits into the buffer of a link (`room`, ps) and into memory (2³¹ packets) is sent before
/// [`Time::FAR`]. The number of waiting packets then follows from the time until the transmitter is free.
fn is_countable(room: u64, transmission: u64) -> bool {
    room.min(transmission.saturating_mul(1 << 31)) < Time::FAR.0 / 2
}

/// Rule by which a link admits packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// Every packet is admitted and nothing is recorded; the link's only state is the time until which its transmitter
    /// is busy.
    Everything,
    /// Decision at arrival: random loss, and a bound on the queue.
    Bound,
    /// Decision at arrival: the queue discipline has more rules than a bound, or the rate is variable.
    Discipline,
    /// Decision when the transmitter becomes free: the queue stores packets.
    AtDeparture,
}

/// A packet that a link lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Time at which the packet's last bit reaches the far end.
    pub at: Time,
    /// True if the queue has marked the packet.
    pub marked: bool,
}

/// Totals of a link since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets lost for other reasons.
    pub lost: u64,
    /// Packets lost after the transmitter, which are in `lost` and in `accepted`.
    pub lost_on_wire: u64,
    /// Packets marked (ECN) and accepted.
    pub marked: u64,
    /// Packets that were delayed to arrive out of order.
    pub reordered: u64,
    /// Packets that were duplicated.
    pub duplicated: u64,
    /// Packets that were accepted; each leaves, in order.
    pub accepted: u64,
    /// Bytes of the accepted packets.
    pub accepted_bytes: u64,
    /// Bytes dropped or lost.
    pub dropped_bytes: u64,
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct Link {
    ps_per_byte: u64,
    free: Time,
    last_arrival: Time,
    /// Propagation delay; the smallest value if the delay varies.
    pub delay: Time,
    admission: Admission,
    /// `Some` while all waiting packets have the usual size.
    uniform: Option<Uniform>,
    usual: Option<Uniform>,
    hold_while_sent: bool,
    /// Totals since the beginning.
    pub totals: LinkTotals,
    queue: Queue,
    backlog: Backlog,
    waiting: Fifo<Waiting>,
    loss: Loss,
    /// `Some` if packets are lost after the transmitter.
    on_wire: Option<Box<OnWire>>,
    probe: Option<Box<Probe>>,
    /// `Some` if the queue decides at departures.
    service: Option<Box<Service>>,
    /// `Some` if the rate is variable.
    schedule: Option<Box<Schedule>>,
    /// `Some` if the link's delay varies, or if the link reorders or duplicates packets.
    wire: Option<Box<Wire>>,
    /// Size of the smallest packet that crosses the link.
    smallest_bytes: u64,
}

/// Time to send `bytes`, from the time of a byte in fractions of a picosecond.
#[inline]
fn transmission(bytes: u64, ps_per_byte: u64) -> Time {
    Time(((u128::from(bytes) * u128::from(ps_per_byte)) >> FRACTION_BITS) as u64)
}

/// State of a recorded link for its samples.
#[derive(Clone, Debug)]
struct Probe {
    samples: LinkSamples,
    /// Sum of the waiting times of all accepted packets, ps. This sum minus the remaining waiting times of the packets
    /// that still wait is ∫ packets dt.
    waits: u128,
    integral_at_last_sample: u128,
    min: u64,
    max: u64,
    /// Smallest and largest backlog since the last sample, as the time until the transmitter is free; for links with
    /// one packet size.
    least_busy: Time,
    most_busy: Time,
    /// Size of the packet in transmission.
    in_service_bytes: u64,
}

impl Link {
    /// The link of a checked spec in the run `seed`, sampled at `sample_times` if it is recorded. The link's packets
    /// have `sizes.0` to `sizes.1` bytes.
    #[must_use]
    pub fn new(checked: &CheckedLink, sizes: (u64, u64), seed: u64, sample_times: &std::sync::Arc<[Time]>) -> Self {
        let spec = checked.spec();
        let loss = Loss::new(spec, seed);
        let (queue, service) = checked.queue(seed);
        let service = service.map(|queue| Box::new(Service::new(queue)));
        let ps_per_byte = ((8_000_000_000_000_u128 << FRACTION_BITS) / u128::from(spec.rate_bps)) as u64;
        let transmission = transmission(sizes.0, ps_per_byte);
        let longest = ((u128::from(sizes.1) * u128::from(ps_per_byte)) >> FRACTION_BITS) as u64;
        let impairments = spec.impairments.as_deref();
        let schedule = impairments.and_then(|i| Schedule::new(spec.rate_bps, i, seed, &spec.name)).map(Box::new);
        let wire = impairments.filter(|i| i.beyond_rate());
        let wire = wire.map(|i| Box::new(Wire::new(Time(spec.delay_ps), i, seed, &spec.name)));
        let by_trace = service.is_none() && schedule.as_ref().is_some_and(|schedule| schedule.is_trace());
        let by_access = service.is_none() && impairments.is_some_and(|i| i.aggregation.is_some());
        // Each packet's departure is needed, so the decision is not that of a plain bound.
        let on_wire = spec.loss_on_wire.then(Box::default);
        let same = sizes.0 == sizes.1 && transmission > Time::ZERO && schedule.is_none() && on_wire.is_none();
        let simple = !spec.record && service.is_none() && impairments.is_none();
        let uniform = queue.uniform_limit(sizes.0).filter(|_| same).map(|limit| Uniform {
            bytes: sizes.0,
            transmission,
            room: Time(limit.saturating_mul(transmission.0)),
        });
        let uniform = uniform.filter(|uniform| is_countable(uniform.room.0, uniform.transmission.0));
        Self {
            uniform,
            usual: uniform,
            delay: wire.as_ref().map_or(Time(spec.delay_ps), |wire| wire.least()),
            ps_per_byte,
            free: Time::ZERO,
            admission: if service.is_some() {
                Admission::AtDeparture
            } else if queue.is_active() || schedule.is_some() || on_wire.is_some() {
                Admission::Discipline
            } else if simple && queue.is_unlimited() && matches!(loss, Loss::None) && is_countable(u64::MAX, longest) {
                Admission::Everything
            } else {
                Admission::Bound
            },
            service,
            // A packet that needs several opportunities waits until the last of them. If the transmitter must gain
            // access to a medium before a packet, it may be busy without a packet in transmission.
            hold_while_sent: queue.counts_in_service() || by_trace || by_access,
            schedule,
            wire,
            smallest_bytes: sizes.0,
            queue,
            loss,
            on_wire,
            waiting: Fifo::default(),
            backlog: Backlog::default(),
            totals: LinkTotals::default(),
            last_arrival: Time::ZERO,
            probe: spec.record.then(|| Box::new(Probe::new(sample_times))),
        }
    }

    /// Prepares the link for packets of `bytes` that a sender may send besides whole segments.
    pub(crate) fn expect_parts(&mut self, bytes: u64) {
        self.smallest_bytes = self.smallest_bytes.min(bytes);
    }

    /// Time to send one byte, in units of 2⁻²⁴ ps.
    #[must_use]
    pub(crate) fn ps_per_byte(&self) -> u64 {
        self.ps_per_byte
    }

    /// Time to send `bytes`.
    #[must_use]
    #[inline]
    pub fn transmission(&self, bytes: u64) -> Time {
        transmission(bytes, self.ps_per_byte)
    }

    /// Handles the arrival of a packet, which the queue may mark if it is `capable` of ECN. Returns `None` if the
    /// packet is lost or dropped. A link whose queue decides at departures has [`Link::receive`] and
    /// [`Link::send_next`] instead.
    ///
    /// # Panics
    /// If arrivals are not in the order of time, which would be a defect of the engine.
    #[inline(always)]
    pub fn carry(&mut self, now: Time, bytes: u64, capable: bool) -> Option<Carried> {
        self.note_arrival(now);
        match self.admission {
            Admission::Everything => {}
            Admission::Bound => {
                if !self.admit(now, bytes) {
                    return None;
                }
            }
            Admission::Discipline => return self.carry_by_discipline(now, bytes, capable),
            Admission::AtDeparture => return None,
        }
        let start = self.free.max(now);
        self.free = start + self.transmission(bytes);
        self.totals.accepted += 1;
        self.totals.accepted_bytes += bytes;
        Some(Carried { at: self.free + self.delay, marked: false })
    }

    #[inline(always)]
    fn note_arrival(&mut self, now: Time) {
        assert!(now >= self.last_arrival, "a link's clock went back");
        self.last_arrival = now;
    }

    /// True if the link is sampled.
    #[must_use]
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        self.probe.is_some()
    }

    /// True if arrivals need the queue discipline's decision, because the discipline does more than bound the queue or
    /// because the rate is variable.
    #[must_use]
    pub fn decides_by_discipline(&self) -> bool {
        self.admission == Admission::Discipline
    }

    /// Start and end of the transmission of a packet that arrives at `now`.
    #[inline]
    fn occupy(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        let (start, end) = match &mut self.schedule {
            None => {
                let start = self.free.max(now);
                (start, start + self.transmission(bytes))
            }
            Some(schedule) => {
                let start = schedule.start(now, self.free);
                (start, schedule.send(start, bytes))
            }
        };
        self.free = end.min(Time::FAR);
        (start, end)
    }

    /// Shortest time from the arrival of a packet of at least `bytes` to its arrival at the far end.
    #[must_use]
    pub fn least_crossing(&self, bytes: u64) -> Time {
        // If packets may overtake each other, the smallest possible packet is the bound for all.
        let bytes = if self.wire.is_some() { self.smallest_bytes } else { bytes };
        self.delay + self.schedule.as_ref().map_or(self.transmission(bytes), |schedule| schedule.least(bytes))
    }

    /// True if the link's delay varies, or if the link reorders or duplicates packets, so that `Link::launch` and
    /// `Link::land` are used.
    #[must_use]
    #[inline]
    pub fn is_unsteady(&self) -> bool {
        self.wire.is_some()
    }

    /// Puts on the delay line a packet that would reach the far end at `at` with the shortest delay. Returns true if
    /// the packet is duplicated.
    pub(crate) fn launch(&mut self, packet: Packet, at: Time) -> bool {
        let Some(wire) = &mut self.wire else { return false };
        let later = self.schedule.as_ref().map_or(Time::ZERO, |schedule| schedule.later());
        let Launch { twice, late } = wire.launch(packet, at - self.delay, later);
        self.totals.duplicated += u64::from(twice);
        self.totals.reordered += u64::from(late);
        twice
    }

    /// Time before which no packet reaches the far end that arrives at this link at `horizon` or later.
    pub(crate) fn landing_horizon(&self, horizon: Time) -> Time {
        horizon + self.least_crossing(0)
    }

    /// Next packet that reaches the far end before `horizon`, with the time at which it does.
    #[inline]
    pub(crate) fn land(&mut self, horizon: Time) -> Option<(Packet, Time)> {
        self.wire.as_mut()?.land(horizon)
    }

    /// Earliest time at which [`Link::land`] returns a packet; [`Time::NEVER`] if the delay line is empty.
    #[must_use]
    pub(crate) fn next_landing(&self) -> Time {
        let head = self.wire.as_ref().map_or(Time::NEVER, |wire| wire.head());
        if head == Time::NEVER { head } else { head.since(self.least_crossing(0)) }
    }

    /// [`Link::carry`] for [`Admission::Discipline`].
    #[inline(never)]
    fn carry_by_discipline(&mut self, now: Time, bytes: u64, capable: bool) -> Option<Carried> {
        self.sample_before(now);
        if self.on_wire.is_none() && self.loses_arrival(now, bytes) {
            return None;
        }
        self.drain(now);
        let (transmission, backlog, free) = (self.transmission(bytes), self.backlog, self.free);
        let verdict = self.queue.decide(&Arrival { now, bytes, transmission, backlog, free, capable });
        if verdict == Verdict::Drop {
            self.totals.dropped += 1;
            self.totals.dropped_bytes += bytes;
            return None;
        }
        if self.gives_up(bytes) {
            return None;
        }
        let (start, end) = self.occupy(now, bytes);
        self.join(now, start, end, bytes);
        self.totals.accepted += 1;
        self.totals.accepted_bytes += bytes;
        let marked = verdict == Verdict::Mark;
        self.totals.marked += u64::from(marked);
        if self.on_wire.is_some() && self.loses_departure(end, bytes) {
            return None;
        }
        Some(Carried { at: self.free + self.delay, marked })
    }

    /// Takes the samples due before an arrival at `now`, with the queue before this arrival.
    #[inline]
    fn sample_before(&mut self, now: Time) {
        if let Some(probe) = &self.probe {
            if probe.samples.due() <= now {
                self.sample_until(now);
            }
        }
    }

    /// Applies random loss and the queue. Returns true if the packet will be sent.
    fn admit(&mut self, now: Time, bytes: u64) -> bool {
        self.sample_before(now);
        if self.loses_arrival(now, bytes) {
            return false;
        }
        match self.uniform.filter(|uniform| uniform.bytes == bytes) {
            Some(uniform) => self.admit_uniform(uniform, now),
            None => self.admit_mixed(now, bytes),
        }
    }

    /// Does the work of [`Link::admit`] for packets of one size.
    #[inline(always)]
    fn admit_uniform(&mut self, uniform: Uniform, now: Time) -> bool {
        let busy = self.free.since(now);
        if busy > uniform.room {
            self.totals.dropped += 1;
            self.totals.dropped_bytes += uniform.bytes;
            return false;
        }
        if let Some(probe) = &mut self.probe {
            probe.waits += u128::from(busy.0);
            probe.least_busy = probe.least_busy.min(busy);
            // Includes this packet, whose transmission follows those of all waiting packets.
            probe.most_busy = probe.most_busy.max(busy + uniform.transmission);
        }
        true
    }

    /// Does the work of [`Link::admit`] for packets of different sizes.
    fn admit_mixed(&mut self, now: Time, bytes: u64) -> bool {
        if let Some(uniform) = self.uniform.take() {
            self.list_waiting(uniform, now);
        }
        self.drain(now);
        if let Some(usual) = self.usual.filter(|usual| usual.bytes == bytes && self.holds_only(*usual)) {
            self.count_waiting(usual);
            return self.admit_uniform(usual, now);
        }
        let transmission = self.transmission(bytes);
        // Packets that cannot be sent before the end of time (`Time::FAR`) all leave at that time, in order.
        self.free = self.free.min(Time(Time::FAR.0 - transmission.0));
        let busy = self.free > now;
        if busy && !self.queue.admits(self.backlog, bytes) {
            self.totals.dropped += 1;
            self.totals.dropped_bytes += bytes;
            return false;
        }
        let start = self.free.max(now);
        self.join(now, start, start + transmission, bytes);
        true
    }

    /// Lists the packets that wait at `now` in a link whose packets had one size so far.
    #[cold]
    fn list_waiting(&mut self, uniform: Uniform, now: Time) {
        let waiting = uniform.waiting(self.free, now);
        for before in (1..=waiting).rev() {
            let until = self.free.since(Time(before * uniform.transmission.0));
            self.waiting.push(Waiting { until, bytes: uniform.bytes as u32, packets: 1 });
        }
        self.backlog = Backlog { packets: waiting, bytes: waiting * uniform.bytes };
        if let Some(probe) = &mut self.probe {
            let busy = self.free.since(now);
            probe.min = uniform.waiting(probe.least_busy.min(busy), Time::ZERO);
            probe.max = uniform.waiting(probe.most_busy, Time::ZERO);
            probe.in_service_bytes = uniform.bytes;
        }
    }

    /// True if all packets at a link, of which none is larger than the usual ones, have their size.
    fn holds_only(&self, usual: Uniform) -> bool {
        let Backlog { packets, bytes } = self.backlog;
        let in_service = self.probe.as_ref().map_or(usual.bytes, |probe| probe.in_service_bytes);
        bytes == packets * usual.bytes && in_service == usual.bytes
    }

    /// Replaces the list of waiting packets, which have the usual size again, by the time until the transmitter is free.
    #[cold]
    fn count_waiting(&mut self, usual: Uniform) {
        self.uniform = Some(usual);
        while self.waiting.front().is_some() {
            self.waiting.pop();
        }
        self.backlog = Backlog::default();
        if let Some(probe) = &mut self.probe {
            let busy = |waiting: u64| Time(waiting * usual.transmission.0 + 1);
            (probe.least_busy, probe.most_busy) = (busy(probe.min), busy(probe.max));
        }
    }

    /// Adds an accepted packet: it waits until its transmission, from `start` to `end`, or is sent at once.
    #[inline]
    fn join(&mut self, now: Time, start: Time, end: Time, bytes: u64) {
        if start > now || self.hold_while_sent {
            let until = if self.hold_while_sent { end } else { start };
            self.waiting.push(Waiting { until, bytes: bytes as u32, packets: 1 });
            self.backlog.packets += 1;
            self.backlog.bytes += bytes;
            if let Some(probe) = &mut self.probe {
                probe.waits += u128::from((until - now).0);
                probe.max = probe.max.max(self.backlog.packets);
            }
        } else if let Some(probe) = &mut self.probe {
            probe.in_service_bytes = bytes;
        }
    }

    /// Draws the random loss of a packet that arrives, on a link that loses packets before its queue.
    #[inline]
    fn loses_arrival(&mut self, now: Time, bytes: u64) -> bool {
        if matches!(self.loss, Loss::None) || !self.loses(now) {
            return false;
        }
        self.totals.lost += 1;
        self.totals.dropped_bytes += bytes;
        true
    }

    /// Draws the random loss of a packet whose last bit leaves the transmitter at `end`, and which is counted as accepted.
    #[cold]
    fn loses_departure(&mut self, end: Time, bytes: u64) -> bool {
        let index = self.totals.accepted - 1;
        let Some(on_wire) = &mut self.on_wire else { return false };
        if !self.loss.hits(end, index) {
            return false;
        }
        on_wire.push(end, bytes);
        self.totals.lost += 1;
        self.totals.lost_on_wire += 1;
        self.totals.dropped_bytes += bytes;
        true
    }

    /// True if the link layer gives up the packet that would be sent next.
    fn gives_up(&mut self, bytes: u64) -> bool {
        let gone = self.schedule.as_mut().is_some_and(|schedule| schedule.gives_up(bytes));
        if gone {
            self.totals.lost += 1;
            self.totals.dropped_bytes += bytes;
        }
        gone
    }

    #[cold]
    fn loses(&mut self, now: Time) -> bool {
        let index = self.arrived();
        self.loss.hits(now, index)
    }

    /// Removes the packets from the backlog whose transmission has begun by `now`.
    #[inline]
    fn drain(&mut self, now: Time) {
        let mut last = 0;
        while let Some(&front) = self.waiting.front().filter(|front| front.until <= now) {
            self.waiting.pop();
            self.backlog.packets -= u64::from(front.packets);
            self.backlog.bytes -= u64::from(front.bytes) * u64::from(front.packets);
            last = front.bytes;
        }
        if self.waiting.front().is_some_and(|front| front.packets > 1) {
            last = self.drain_train(now).unwrap_or(last);
        }
        if let Some(probe) = &mut self.probe {
            // Between arrivals a queue only shrinks, so it is smallest just before an arrival.
            probe.min = probe.min.min(self.backlog.packets);
            if last > 0 {
                probe.in_service_bytes = u64::from(last);
            }
        }
    }

    /// Removes the packets of the first train whose transmission has begun by `now`, and returns their size if there are
    /// any.
    #[cold]
    fn drain_train(&mut self, now: Time) -> Option<u32> {
        let transmission = self.transmission(u64::from(self.waiting.front()?.bytes));
        let front = self.waiting.front_mut()?;
        let begun = front.packets - front.left(now, transmission);
        front.packets -= begun;
        self.backlog.packets -= u64::from(begun);
        self.backlog.bytes -= u64::from(front.bytes) * u64::from(begun);
        (begun > 0).then_some(front.bytes)
    }

    #[cold]
    fn sample_until(&mut self, now: Time) {
        while let Some(at) = self.probe.as_ref().map(|probe| probe.samples.due()).filter(|due| *due <= now) {
            if self.uniform.is_none() && !self.is_served() {
                self.drain(at);
            }
            self.sample(at);
        }
    }

    fn sample(&mut self, at: Time) {
        let arrived = self.arrived();
        let (left, left_bytes, leaving) = self.on_wire.as_mut().map_or((0, 0, 0), |on_wire| on_wire.left(at));
        let Some(probe) = &mut self.probe else { return };
        // Waiting packets, ∫ packets dt so far, and the accepted packets whose transmission has not begun.
        let (queue, integral, unsent, unsent_bytes, in_service_bytes) = if let Some(service) = &self.service {
            (service.backlog().packets, probe.waits + service.waited(at), 0, 0, probe.in_service_bytes)
        } else if let Some(uniform) = &self.uniform {
            let queue = uniform.waiting(self.free, at);
            let busy = self.free.since(at);
            probe.min = uniform.waiting(probe.least_busy.min(busy), Time::ZERO);
            probe.max = uniform.waiting(probe.most_busy, Time::ZERO);
            (probe.least_busy, probe.most_busy) = (busy, busy);
            let integral = probe.waits - uniform.yet_to_wait(self.free, at);
            (queue, integral, queue, queue * uniform.bytes, uniform.bytes)
        } else {
            let transmission = |w: &Waiting| transmission(u64::from(w.bytes), self.ps_per_byte);
            let yet_to_wait: u128 = self.waiting.iter().map(|w| w.yet_to_wait(at, transmission(w))).sum();
            let Backlog { packets, bytes } = self.backlog;
            (packets, probe.waits - yet_to_wait, packets, bytes, probe.in_service_bytes)
        };
        let elapsed = probe.samples.since_last(at);
        let queue_mean = if elapsed == Time::ZERO {
            queue as f64
        } else {
            (integral - probe.integral_at_last_sample) as f64 / elapsed.0 as f64
        };
        // The last bit of a packet has left if it was accepted and is neither waiting nor in transmission.
        let in_service = u64::from(self.free > at && !self.hold_while_sent);
        probe.samples.push(LinkSample {
            queue,
            queue_mean,
            queue_min: probe.min,
            queue_max: probe.max,
            integral_packet_seconds: integral as f64 * 1e-12,
            arrived,
            dropped: self.totals.dropped + self.totals.lost - leaving,
            marked: self.totals.marked,
            reordered: self.totals.reordered,
            duplicated: self.totals.duplicated,
            delivered: self.totals.accepted - unsent - in_service - left,
            delivered_bytes: self.totals.accepted_bytes - unsent_bytes - in_service * in_service_bytes - left_bytes,
        });
        probe.integral_at_last_sample = integral;
        probe.min = queue;
        probe.max = queue;
    }

    /// Samples so far, if the link is recorded.
    pub(crate) fn samples(&self) -> Option<&LinkSamples> {
        self.probe.as_ref().map(|probe| &probe.samples)
    }

    /// Ends the run: takes the remaining samples, and returns all samples if the link was recorded.
    pub fn finish(&mut self, end: Time) -> Option<LinkSamples> {
        self.sample_until(end);
        self.probe.take().map(|probe| probe.samples)
    }

    /// Number of packets that arrived.
    fn arrived(&self) -> u64 {
        let waiting = self.service.as_ref().map_or(0, |service| service.backlog().packets);
        self.totals.accepted + self.totals.dropped + self.totals.lost - self.totals.lost_on_wire + waiting
    }

    /// True if the link never drops or loses a packet and is not recorded, so that it is only a transmitter and a
    /// delay.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.admission == Admission::Everything
    }
}

impl Probe {
    fn new(sample_times: &std::sync::Arc<[Time]>) -> Self {
        Self {
            samples: LinkSamples::new(sample_times),
            waits: 0,
            integral_at_last_sample: 0,
            min: 0,
            max: 0,
            least_busy: Time::ZERO,
            most_busy: Time::ZERO,
            in_service_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests;
