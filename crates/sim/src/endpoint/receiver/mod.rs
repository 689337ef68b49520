//! The receiver, which reassembles, counts and acknowledges segments (RFC 5681 section 4.2, RFC 2018 section 4).
//!
//! ```text
//!              ┌─ arrivals: what has arrived (reassembly, SACK blocks, PAWS)
//!  segment ──► ├─ schedule: when to acknowledge (delayed, quick and compressed ACKs)   ──► ACK
//!              └─ echo:     what to echo (timestamp, marks, reports of routers)
//! ```

mod ack_timer;
mod arrivals;
mod blocks;
mod datagrams;
mod echo;
mod opening;
mod paws;
mod schedule;
mod trains;

use std::sync::Arc;

use elephan_cc::Needs;

use self::arrivals::{Arrival, Arrivals, Report};
use self::datagrams::Datagrams;
use self::echo::{Echo, one_way_delay};
use self::opening::Opening;
use self::schedule::{Expired, Schedule};
use super::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use super::linux::parts::Parts;
use crate::events::{Kind, Log, NONE};
use crate::packet::{self, FlowId, Packet, flag};
use crate::record::{Clock, OneWayDelays, ReceiverRecord, ReceiverSample};
use crate::ring::MOST_INHERITED;
use crate::sidecar::{AccEcnOption, SackEntry, Sidecar};
use crate::spec::{FlowSpec, Handshake, Measure, Spec, StackSpec};
use crate::time::Time;

/// Knowledge of a receiver about its sender before the first packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Needs of the sender's algorithm.
    pub needs: Needs,
    /// The handshake over the empty path, if the stack makes one.
    pub handshake: Option<Handshake>,
}

/// Fast path of the next expected segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Each segment is acknowledged at once.
    Each,
    /// ACKs are delayed.
    Delayed,
    /// Each segment is acknowledged at once, with the reports of routers.
    Reporting,
    /// All segments take the slow path, which alone writes the event log, echoes the state of routers, looks at
    /// timestamps, counts datagrams, and opens the connection.
    Slow,
}

/// Result of the fast path for a segment.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// The segment was the next expected segment; its ACK is sent at once.
    Answered(Packet),
    /// The segment was the next expected segment; its ACK is delayed.
    Noted,
    /// The segment needs the slow path; the receiver's state is unchanged.
    Not,
}

/// Sizes of an ACK, of a SACK option without its blocks, and of a block, bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    ack: u16,
    option: u16,
    block: u16,
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: FlowId,
    path: Path,
    arrivals: Arrivals,
    schedule: Schedule,
    echo: Echo,
    opening: Opening,
    sizes: Sizes,
    parts: Parts,
    /// `Some` if the segments are datagrams, which are only counted.
    datagrams: Option<Box<Datagrams>>,
    acks_sent: u64,
    timer: Time,
    now: Time,
    samples: Vec<ReceiverSample>,
    clock: Clock,
    /// Log of segments and ACKs, if the scenario asks for it.
    log: Option<Box<Log>>,
}

impl Receiver {
    /// Receiver of flow number `flow` of a spec.
    #[must_use]
    pub fn of_flow(flow: FlowId, spec: &Spec, this: &FlowSpec, peer: &Peer, sample_times: &Arc<[Time]>) -> Self {
        let opened = Time(this.start_ps);
        let mut receiver = Self::opened_at(opened, Clock::new(sample_times), flow, this, peer);
        receiver.parts = Parts::of_flow(spec, this).unwrap_or_default();
        let disorders = |&link: &usize| spec.links[link].impairments.as_ref().is_some_and(|i| i.disorders());
        if this.stack.is_linux() && this.path.iter().any(disorders) {
            receiver.arrivals.protect(this.stack.phase);
        }
        if let Some(datagrams) = &mut receiver.datagrams {
            let Measure { from_ps, to_ps } = spec.measure;
            datagrams.measure(OneWayDelays::new(Time(from_ps), Time(to_ps)));
        }
        receiver.log = spec.events.as_ref().map(|events| Box::new(Log::new(events)));
        receiver.choose_path();
        receiver
    }

    /// Receiver of a transfer that begins at `start`, without samples before `start`.
    #[must_use]
    pub fn starting(start: Time, flow: FlowId, this: &FlowSpec, peer: &Peer, sample_times: &Arc<[Time]>) -> Self {
        Self::opened_at(start, Clock::starting(sample_times, start), flow, this, peer)
    }

    fn opened_at(opened: Time, clock: Clock, flow: FlowId, this: &FlowSpec, peer: &Peer) -> Self {
        let stack: &StackSpec = &this.stack;
        let mut schedule = Schedule::new(this, opened);
        let is_awaited = this.makes_handshake() && peer.needs.router.is_none();
        let opening = if is_awaited { Opening::awaited(stack) } else { Opening::OPEN };
        let known = peer.handshake.filter(|known| !is_awaited && stack.is_linux() && known.receivers_rtt > Time::ZERO);
        if let Some(known) = known {
            schedule.note_handshake(known.receivers_rtt);
        }
        let [ack, option, block] = [stack.ack_bytes, stack.sack_option(), stack.sack_block_bytes].map(|b| b as u16);
        let mut receiver = Self {
            flow,
            path: Path::Slow,
            arrivals: Arrivals::new(stack),
            schedule,
            echo: Echo::new(stack, &peer.needs),
            opening,
            sizes: Sizes { ack, option, block },
            parts: Parts::default(),
            datagrams: this.datagrams.then(Box::default),
            acks_sent: 0,
            timer: clock.due(),
            now: Time::ZERO,
            samples: Vec::new(),
            clock,
            log: None,
        };
        receiver.choose_path();
        receiver
    }

    /// Chooses the fast path.
    fn choose_path(&mut self) {
        let is_plain = self.log.is_none() && self.datagrams.is_none() && !self.depends_on_reader();
        self.path = match (self.echo.is_of_marks(), self.schedule.delays()) {
            _ if !is_plain || !self.opening.is_open => Path::Slow,
            (true, true) => Path::Delayed,
            (true, false) if !self.echo.hides_marks() => Path::Each,
            (false, false) if !self.schedule.has_window() => Path::Reporting,
            _ => Path::Slow,
        };
    }

    /// True if it matters that the application sends an ACK: if the network may make copies of packets, which arrive at the
    /// same instant, or if the window depends on what has been read.
    fn depends_on_reader(&self) -> bool {
        self.arrivals.is_protected() || self.schedule.has_fixed_window()
    }

    /// Takes over the memory of a receiver that has ended.
    pub fn inherit(&mut self, old: &mut Self) {
        self.arrivals.inherit(&mut old.arrivals);
        if self.samples.is_empty() && old.samples.capacity() <= MOST_INHERITED {
            self.samples = std::mem::take(&mut old.samples);
            self.samples.clear();
        }
    }

    /// Numbers of distinct segments and of bytes on the wire.
    #[must_use]
    pub fn totals(&self) -> ReceiverSample {
        self.arrivals.totals()
    }

    /// Segments that had arrived before.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.arrivals.duplicates()
    }

    /// Samples, one for each sample time.
    #[must_use]
    pub fn samples(&self) -> &[ReceiverSample] {
        &self.samples
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.rows.len())
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        self.log.take().map(|log| *log)
    }

    /// Returns the records that the run keeps of this end.
    #[must_use]
    pub fn into_record(self) -> ReceiverRecord {
        let Self { arrivals, acks_sent, samples, datagrams, .. } = self;
        let (totals, duplicates) = (arrivals.totals(), arrivals.duplicates());
        let delays = datagrams.and_then(|datagrams| datagrams.into_delays());
        ReceiverRecord { totals, duplicates, acks_sent, samples, delays, ..ReceiverRecord::default() }
    }

    // ---- samples and the timer ---------------------------------------------------------------------------------------

    /// Drops the `count` oldest samples.
    pub(crate) fn forget(&mut self, count: usize) {
        self.samples.drain(..count);
    }

    /// Takes the samples due before `now`; all earlier arrivals have been handled.
    pub(crate) fn sample_before(&mut self, now: Time) {
        if self.clock.due() < now {
            self.sample_until(Time(now.0 - 1));
        }
    }

    #[cold]
    fn sample_until(&mut self, now: Time) {
        while self.clock.due() <= now {
            self.samples.push(self.arrivals.totals());
            self.clock.advance();
        }
        self.set_timer();
    }

    #[inline(always)]
    fn set_timer(&mut self) {
        self.timer = self.clock.due().min(self.schedule.due());
    }

    /// Handles the timer: takes samples, or sends an ACK that waited.
    fn on_timer_due(&mut self, beside: &mut Sidecar) -> Option<Packet> {
        let now = self.timer;
        self.sample_until(now);
        let expired = self.schedule.on_timer(now);
        // Linux does not read the clock anew if the timer of an ACK that waits expires (`tcp_compressed_ack_kick`).
        let ack = expired.map(|timer| {
            let clock = if timer == Expired::Delay { now } else { self.echo.latest().at };
            self.acknowledge_at(now, clock, beside)
        });
        if let Some(Expired::Read | Expired::Delay) = expired {
            self.schedule.note_reader();
        }
        self.set_timer();
        ack
    }

    // ---- fast paths --------------------------------------------------------------------------------------------------

    /// Handles a segment on the fast path: the next segment, without a gap, acknowledged at once. Returns the segment's
    /// ACK. Does nothing and returns `None` in any other case.
    ///
    /// # Panics
    /// If arrivals are not in the order of time, which would be a defect of the engine.
    #[inline(always)]
    pub fn on_expected(&mut self, packet: &Packet) -> Option<Packet> {
        let now = packet.at;
        assert!(now >= self.now, "a receiver's clock went back");
        if !self.arrivals.is_next(packet.segment()) || self.path != Path::Each || self.timer <= now {
            return None;
        }
        self.now = now;
        self.arrivals.take_next(packet);
        Some(self.answer(packet, (packet.flags() & flag::CE) << 1))
    }

    /// Fast path of a receiver that delays ACKs and whose timer is not due: the next segment, without a gap and without
    /// marks.
    ///
    /// # Panics
    /// The errors of [`Receiver::on_expected`].
    #[inline(always)]
    pub fn on_next(&mut self, packet: &Packet) -> Expected {
        let now = packet.at;
        let is_next = self.arrivals.is_next(packet.segment()) && self.path == Path::Delayed;
        if !is_next || !self.echo.is_clear(packet) || self.parts.is_part(packet) {
            return Expected::Not;
        }
        assert!(now >= self.now, "a receiver's clock went back");
        self.now = now;
        self.schedule.measure(packet);
        self.arrivals.take_next(packet);
        if !self.schedule.take_next(now, self.arrivals.next()) && packet.flags() & flag::PUSH == 0 {
            self.echo.set_latest(packet);
            self.delay(now);
            return Expected::Noted;
        }
        self.schedule.note_clean_ack();
        Expected::Answered(self.answer(packet, 0))
    }

    /// The ACK of a segment that arrives now, while nothing is missing, with these flags in addition to the usual ones.
    #[inline(always)]
    fn answer(&mut self, packet: &Packet, flags: u8) -> Packet {
        self.acks_sent += 1;
        let (next, owd) = (self.arrivals.next(), one_way_delay(packet, packet.at));
        let flags = flag::ACK | (packet.flags() & flag::RETRANSMIT) | flags;
        Packet::new(packet.at, packet.stamp, self.flow, next, self.sizes.ack, flags, owd)
    }

    /// Delays the ACK of a segment that arrives now.
    #[inline(always)]
    fn delay(&mut self, now: Time) {
        self.schedule.delay(now);
        self.timer = self.timer.min(self.schedule.due());
    }

    // ---- slow path ---------------------------------------------------------------------------------------------------

    /// [`Receiver::on_segment_with_care`], as a function of its own, so that the fast path's ACK can stay in registers.
    #[inline(never)]
    pub fn on_segment_apart(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        self.on_segment_with_care(packet, beside)
    }

    /// Handles a packet on the slow path, in all cases that [`Receiver::on_expected`] does not handle. Returns the ACK to
    /// send, if one is due.
    #[inline]
    pub fn on_segment_with_care(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        match packet.opens() {
            Some(kind) => self.on_opening(kind, packet),
            None if packet.is_train() => self.on_train(packet, beside),
            None => self.on_segment(packet, beside),
        }
    }

    /// Handles a packet of the handshake; returns the SYN-ACK for a SYN.
    #[cold]
    #[inline(never)]
    fn on_opening(&mut self, kind: packet::Opening, packet: &Packet) -> Option<Packet> {
        self.begin(packet.at);
        if kind == packet::Opening::SynData {
            self.arrivals.note_bytes(packet);
            self.take(0);
        } else {
            self.opening.arrived += 1;
        }
        if matches!(kind, packet::Opening::Syn | packet::Opening::SynData) {
            let has_data = self.arrivals.next() > 0;
            let kind = if has_data { packet::Opening::SynDataAck } else { packet::Opening::SynAck };
            let answer = self.opening.answer(kind, self.flow, packet);
            if let Some(feedback) = self.opening.feedback {
                self.echo.settle(feedback);
            }
            return Some(answer);
        }
        self.opening.take_ack(packet);
        self.establish(packet.at);
        None
    }

    /// Begins the event of a packet that arrives at `now`. A receiver without a turn of its own takes its samples then.
    #[inline]
    fn begin(&mut self, now: Time) {
        self.now = now;
        if self.timer <= now {
            self.sample_until(now);
        }
    }

    /// Opens the connection at the ACK of the handshake, or at a segment if that ACK was lost.
    #[inline]
    fn establish(&mut self, now: Time) {
        if !self.opening.is_open {
            let answered = self.opening.open();
            self.schedule.open(now, answered);
            self.choose_path();
        }
    }

    #[inline(never)]
    fn on_segment(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        let (now, segment, next) = (packet.at, packet.segment(), self.arrivals.next());
        self.begin(now);
        self.establish(now);
        if self.path == Path::Reporting && self.arrivals.is_next(segment) {
            self.arrivals.take_next(packet);
            self.echo.note(packet, beside);
            self.echo.set_latest(packet);
            return Some(self.acknowledge_at(now, now, beside));
        }
        self.arrivals.note_bytes(packet);
        if let Some(datagrams) = &mut self.datagrams {
            self.arrivals.note_datagram(datagrams.take(packet));
            return None;
        }
        self.schedule.adapt(now, segment, &self.arrivals);
        if !self.echo.is_of_feedback() {
            self.schedule.measure(packet);
        }
        let is_urgent = self.echo.is_urgent(packet);
        // The ACK that is released has the mark too (`tcp_data_queue_ofo`).
        let is_noted = segment >= next || self.echo.notes_repeated(segment, self.schedule.acknowledged(next));
        if is_noted && self.echo.note(packet, beside) {
            self.schedule.quicken();
        }
        let may_wait = !is_urgent && !self.schedule.is_quick();
        let released = self.release_waiting(segment, now, beside);
        self.echo.set_latest(packet);
        let arrival = self.take(segment);
        if let Arrival::Above | Arrival::Filling = arrival {
            self.schedule.note_held(&self.arrivals);
        }
        match arrival {
            // The ACK that was released also counts as the ACK of this segment, as in Linux.
            Arrival::Above if released.is_some() => return released,
            Arrival::Above if may_wait && self.schedule.waits(now, next) => {
                self.timer = self.timer.min(self.schedule.due());
                return None;
            }
            Arrival::Filling if may_wait && self.arrivals.next() == segment + 1 && self.arrivals.has_gap() => {
                self.schedule.note_new_gap(self.arrivals.next());
            }
            Arrival::InOrder if self.schedule.delays() => {
                let is_awaited = is_urgent || packet.flags() & flag::PUSH != 0;
                let is_due = self.schedule.is_due();
                if !is_due && !is_awaited {
                    self.delay(now);
                    return None;
                }
                if may_wait && self.depends_on_reader() && self.schedule.waits_for_reader(is_due) {
                    self.schedule.leave_to_reader(now);
                    self.timer = self.timer.min(self.schedule.due());
                    return None;
                }
            }
            _ => {}
        }
        Some(self.acknowledge_at(now, now, beside))
    }

    /// Keeps a segment, and lets the application read it if it is in order.
    fn take(&mut self, segment: u32) -> Arrival {
        let is_next = segment == self.arrivals.next();
        let arrival = self.arrivals.take(segment);
        if is_next {
            self.schedule.read(self.now, self.arrivals.next());
        }
        arrival
    }

    /// Takes a segment whose timestamp is too old: it is acknowledged at once, and not kept (`tcp_send_dupack`).
    #[cold]
    fn discard(&mut self, packet: &Packet, beside: &mut Sidecar) -> Packet {
        let (now, segment) = (packet.at, packet.segment());
        self.now = now;
        self.arrivals.note_bytes(packet);
        beside.forget(packet);
        self.echo.repeat_latest(now);
        self.arrivals.discard(segment);
        if segment < self.arrivals.next() {
            self.schedule.adapt(now, segment, &self.arrivals);
        }
        self.acknowledge_at(now, now, beside)
    }

    /// The ACK of the earlier segments, if their ACK is delayed and the mark of the segment that arrives now differs from
    /// theirs. Therefore no ACK acknowledges both marked and unmarked segments (RFC 8257 section 3.2).
    fn settle_earlier(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        let segment = packet.segment();
        let counts = self.arrivals.is_next(segment) || (self.echo.settles_above() && segment > self.arrivals.next());
        let may_be_due = self.schedule.is_delaying() && counts;
        let is_due = may_be_due && (self.echo.changes_mark(packet) || self.echo.count_early(packet));
        is_due.then(|| self.acknowledge_at(packet.at, packet.at, beside))
    }

    /// Returns the ACK that waits, if `segment` changes a SACK block that the next ACK may no longer have: a new block
    /// in addition to two others, or an older block than the two latest. The ACK has this older block, extended by the
    /// segment, at its old position (`tcp_sack_new_ofo_skb`).
    #[inline]
    fn release_waiting(&mut self, segment: u32, now: Time, beside: &mut Sidecar) -> Option<Packet> {
        let releases =
            self.schedule.is_waiting() && segment > self.arrivals.next() && self.arrivals.loses_block(segment);
        releases.then(|| self.acknowledge_at(now, now, beside))
    }

    /// The ACK of the latest segment, with a timestamp of the time `clock`.
    #[inline(never)]
    fn acknowledge_at(&mut self, now: Time, clock: Time, beside: &mut Sidecar) -> Packet {
        let (mut flags, feedback) = self.echo.write();
        let (segment, next, report) = (*self.echo.latest(), self.arrivals.next(), self.arrivals.report());
        let (owd, trigger) = (one_way_delay(&segment, clock), segment.segment());
        let mut bytes = self.sizes.ack;
        let mut extra = owd;
        let (option, blocks) = self.echo.option(report.option_blocks());
        flags |= flag::ACK;
        if blocks > 0 || trigger + 1 != next || self.echo.is_of_feedback() || option.count > 0 {
            flags |= flag::BESIDE;
            if blocks > 0 {
                bytes += self.sizes.option + self.sizes.block * blocks;
            }
            if option.count > 0 {
                bytes += AccEcnOption::bytes(option.count);
            }
            let count = report.count - (report.option_blocks() - blocks) as u8;
            let Report { blocks, repeated, .. } = report;
            extra = beside.sacks.put(SackEntry { blocks, count, owd, trigger, repeated, feedback, option });
        }
        self.acks_sent += 1;
        self.schedule.note_ack();
        Packet::new(now, segment.stamp, self.flow, next, bytes, flags, extra)
    }
}

impl EndpointState for Receiver {
    #[inline(always)]
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        let Opening { answers, arrived, .. } = self.opening;
        let segments = self.totals().delivered + self.duplicates();
        PacketCounts { sent: self.acks_sent + u64::from(answers), received: segments + u64::from(arrived) }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for Receiver {
    fn on_timer(&mut self, out: &mut O) {
        if let Some(ack) = self.on_timer_due(out.beside()) {
            self.send(ack, out);
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, out: &mut O) {
        let before = self.arrivals.next();
        let acknowledged = self.schedule.acknowledged(before);
        match self.on_next(packet) {
            Expected::Answered(ack) => out.send(ack),
            Expected::Noted => {}
            Expected::Not => self.on_unexpected(packet, out),
        }
        if let Some(segments) = self.schedule.announcement(acknowledged, before, &self.arrivals) {
            out.beside().announce(packet.at, segments);
        }
    }
}

impl Receiver {
    /// Handles a part of a segment.
    #[inline(never)]
    fn on_part(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let parts = self.parts;
        let packet = parts.behind(packet, self.now);
        if packet.segment() == self.arrivals.next() && parts.is_small(&packet) {
            self.schedule.note_small_part();
        }
        let delivered = self.totals().delivered;
        self.on_arrival(&packet, out);
        if self.totals().delivered > delivered {
            self.arrivals.note_missing_bytes(parts.missing_in(&packet));
        }
    }

    /// Handles a packet that the fast path does not take.
    #[inline(never)]
    fn on_unexpected(&mut self, packet: &Packet, out: &mut impl Outlet) {
        if packet.opens().is_some() {
            return self.on_segment_with_care(packet, out.beside()).into_iter().for_each(|answer| out.send(answer));
        }
        if self.parts.is_part(packet) { self.on_part(packet, out) } else { self.on_arrival(packet, out) }
    }

    /// Handles a segment on the slow path.
    fn on_arrival(&mut self, packet: &Packet, out: &mut impl Outlet) {
        // A part arrives behind the segment before it, so its own time may be earlier.
        assert!(packet.at >= self.now, "a receiver's clock went back");
        if let Some(log) = &mut self.log {
            log.push(Kind::Received, packet.at, packet, NONE, None);
        }
        if self.opening.is_open && self.arrivals.discards(packet.segment(), packet.stamp) {
            let ack = self.discard(packet, out.beside());
            return self.send(ack, out);
        }
        let earlier = self.settle_earlier(packet, out.beside());
        let ack = self.on_segment_with_care(packet, out.beside());
        earlier.into_iter().chain(ack).for_each(|ack| self.send(ack, out));
    }

    fn send(&mut self, ack: Packet, out: &mut impl Outlet) {
        if let Some(log) = &mut self.log {
            log.push(Kind::AckSent, ack.at, &ack, NONE, out.beside().sacks.of(&ack).map(Into::into));
        }
        out.send(ack);
    }
}

#[cfg(test)]
mod tests;
