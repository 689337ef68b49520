//! The receiver, which reassembles, counts and acknowledges segments (RFC 5681 section 4.2, RFC 2018 section 4).

mod opening;
mod paws;

use std::cmp::Ordering;
use std::sync::Arc;

use elephan_cc::{Load, Router};

use self::opening::Opening;
use self::paws::Paws;

use super::blocks::{Blocks, REPORTED};
use super::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use super::compression::Compression;
use super::copies::Arrived;
use super::jiffies::Interrupts;
use super::parts::{Parts, QUICK_ACKS_WITHOUT_GROWTH};
use super::patience::Patience;
use super::window::Window;
use crate::events::{Kind, Log, NONE};
use crate::packet::{self, FlowId, OWD_UNIT_PS, Packet, flag};
use crate::record::{Clock, OneWayDelays, ReceiverRecord, ReceiverSample};
use crate::ring::MOST_INHERITED;
use crate::runs::RunSet;
use crate::sidecar::{SackEntry, Sidecar};
use crate::spec::{FlowSpec, HostRule, Measure, Spec};
use crate::time::Time;

/// Segments that Linux acknowledges one by one from the first of several marks on (`tcp_ecn_check_ce`).
const QUICK_ACKS_AT_A_MARK: u32 = 2;

/// Kind of router signals that a receiver echoes to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    /// ECN marks, each echoed.
    Marks,
    /// ECN marks by RFC 3168: ACKs carry the echo from a mark until the sender signals its response.
    Latch,
    /// The load that VCP routers report.
    Load,
    /// The feedback of XCP routers.
    Feedback,
}

/// Result of the fast path for a segment.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// The segment was the next expected segment; its ACK is sent at once.
    Answered(Packet),
    /// The segment was the next expected segment; its ACK is delayed.
    Noted,
    /// The segment needs the slow path; the receiver's state is unchanged.
    Not,
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: FlowId,
    next: u32,
    out_of_order: RunSet,
    blocks: Blocks,
    /// Size of a whole segment, bytes on the wire; 0 if the sender sends no parts.
    whole_bytes: u64,
    parts: Option<Parts>,
    ack_bytes: u16,
    sack_block_bytes: u16,
    sack_option_bytes: u16,
    ack_every: u32,
    /// True if every segment in order is acknowledged at once and the receiver has no ECN state.
    simple: bool,
    /// True if ACKs of segments in order are delayed and only the last segment's mark is kept.
    delays_acks: bool,
    /// `Some` if the segments are datagrams, which are only counted.
    datagrams: Option<Box<Arrived>>,
    /// Misbehavior: the receiver hides losses, or marks, from its sender.
    hides_losses: bool,
    hides_marks: bool,
    echo: Echo,
    /// State of the echo: the latch of RFC 3168, or the mark of the last segment.
    marked: bool,
    /// The highest load that VCP routers report, and the feedback of XCP routers, bytes/s, since the last ACK.
    load: Load,
    feedback: f64,
    delayed_ack: Time,
    /// Timer interrupts, at which the timer of delayed ACKs expires.
    interrupts: Interrupts,
    /// Time at which the timer of delayed ACKs was last set, and the timeout that was set.
    delayed_from: Time,
    delayed_by: Time,
    /// True if `ack_due` is the earliest time of the timer's expiry, and not the expiry itself.
    is_earliest: bool,
    quick_acks: u32,
    /// Quick ACKs that the receiver will get only with the next reason for quick ACKs.
    missed_quick_acks: u32,
    opening: Opening,
    /// `Some` if segments may overtake each other.
    paws: Option<Paws>,
    /// Segments `[first, past)` that arrived twice, for the next ACK (D-SACK, RFC 2883); empty if there are none.
    repeated: (u32, u32),
    /// Time of the connection.
    opened: Time,
    /// `Some` if the timeout of delayed ACKs adapts.
    patience: Option<Patience>,
    /// True if segments out of order count as quick ACKs too. Linux acknowledges each segment while the receive window
    /// grows, and the window grows with each segment that arrives (`tcp_grow_window`).
    counts_held: bool,
    /// `Some` if ACKs above a gap are compressed.
    compression: Option<Compression>,
    /// `Some` if the application reads at once: the window whose growth makes quick ACKs.
    window: Option<Box<Window>>,
    unacknowledged: u32,
    /// The latest segment not yet acknowledged, for a delayed ACK's echo.
    pending: Packet,
    ack_due: Time,
    /// True if `ack_due` is the time at which an ACK has waited long enough for further segments.
    is_kicked: bool,
    timer: Time,
    now: Time,
    /// Numbers of distinct segments and of bytes on the wire.
    pub totals: ReceiverSample,
    /// Segments that had arrived before.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// Samples, one for each sample time.
    pub samples: Vec<ReceiverSample>,
    clock: Clock,
    /// True if the receiver has no timer, so that it takes samples when a segment arrives.
    is_inline: bool,
    /// Log of segments and ACKs, if the scenario asks for it.
    pub(crate) log: Option<Box<Log>>,
    /// One-way delays, if the flow's segments are datagrams.
    pub delays: Option<Box<OneWayDelays>>,
}

impl Receiver {
    /// Receiver of flow number `flow` of a spec.
    #[must_use]
    pub fn of_flow(flow: FlowId, spec: &Spec, this: &FlowSpec, sample_times: &Arc<[Time]>) -> Self {
        let mut receiver = Self::from(Clock::new(sample_times), flow, this);
        receiver.expect_parts(Parts::of_flow(spec, this));
        receiver.opened = Time(this.start_ps);
        let disorders = |&link: &usize| spec.links[link].impairments.as_ref().is_some_and(|i| i.disorders());
        if receiver.counts_held && this.path.iter().any(disorders) {
            receiver.paws = Some(Paws::new(this.stack.phase));
            receiver.choose_paths();
        }
        if receiver.datagrams.is_some() {
            let Measure { from_ps, to_ps } = spec.measure;
            receiver.delays = Some(Box::new(OneWayDelays::new(Time(from_ps), Time(to_ps))));
        }
        if let Some(events) = &spec.events {
            receiver.is_inline = false;
            receiver.log = Some(Box::new(Log::new(events)));
            receiver.choose_paths();
        }
        receiver
    }

    /// Receiver of a transfer that begins at `start`, without samples before `start`.
    #[must_use]
    pub fn starting(start: Time, flow: FlowId, spec: &FlowSpec, sample_times: &Arc<[Time]>) -> Self {
        Self { opened: start, ..Self::from(Clock::starting(sample_times, start), flow, spec) }
    }

    /// Expects parts of segments from now on.
    fn expect_parts(&mut self, parts: Option<Parts>) {
        self.whole_bytes = parts.map_or(0, |parts| parts.whole_bytes());
        self.parts = parts;
    }

    fn from(clock: Clock, flow: FlowId, spec: &FlowSpec) -> Self {
        let stack = &spec.stack;
        let reads = stack.reads_at_once && stack.is_linux();
        let window = reads.then(|| Box::new(Window::new(stack, Time(spec.start_ps))));
        let mut receiver = Self {
            flow,
            next: 0,
            out_of_order: RunSet::default(),
            blocks: Blocks::new(stack.has(HostRule::SackBlocks)),
            whole_bytes: 0,
            parts: None,
            ack_bytes: stack.ack_bytes as u16,
            sack_block_bytes: stack.sack_block_bytes as u16,
            sack_option_bytes: stack.sack_option() as u16,
            ack_every: stack.ack_every,
            simple: false,
            delays_acks: false,
            datagrams: spec.datagrams.then(Box::default),
            hides_losses: stack.hide_losses,
            hides_marks: stack.hide_marks,
            echo: Echo::Marks,
            marked: false,
            load: Load::Low,
            feedback: 0.0,
            delayed_ack: Time(stack.delayed_ack_ps),
            interrupts: Interrupts::of(stack),
            delayed_from: Time::NEVER,
            delayed_by: Time::ZERO,
            is_earliest: false,
            quick_acks: window.as_ref().map_or_else(|| spec.quick_acks(), |window| window.quick_acks()),
            missed_quick_acks: 0,
            opening: Opening::OPEN,
            paws: None,
            repeated: (0, 0),
            opened: Time::ZERO,
            patience: None,
            // The studies that use other stacks are reproduced without this rule.
            counts_held: stack.is_linux(),
            compression: None,
            window,
            unacknowledged: 0,
            pending: Packet::default(),
            ack_due: Time::NEVER,
            is_kicked: false,
            timer: clock.due(),
            now: Time::ZERO,
            totals: ReceiverSample::default(),
            duplicates: 0,
            acks_sent: 0,
            samples: Vec::new(),
            clock,
            is_inline: spec.answers_at_once(),
            log: None,
            delays: None,
        };
        receiver.choose_paths();
        receiver
    }

    /// Allows the fast paths of segments that need nothing else. Only the slow path writes the event log, echoes the state
    /// of routers, looks at timestamps, and opens the connection.
    fn choose_paths(&mut self) {
        let is_plain = self.log.is_none() && self.datagrams.is_none() && self.paws.is_none();
        let is_usual = is_plain && self.opening.is_open && self.echo == Echo::Marks;
        self.simple = is_usual && self.ack_every == 1 && !self.hides_marks;
        self.delays_acks = is_usual && self.ack_every > 1;
    }

    /// Takes over the memory of a receiver that has ended, unless that receiver had large gaps.
    pub fn inherit(&mut self, old: &mut Self) {
        if old.out_of_order.bits().capacity() as usize <= MOST_INHERITED {
            self.out_of_order.inherit(&mut old.out_of_order);
        }
        if self.samples.is_empty() && old.samples.capacity() <= MOST_INHERITED {
            self.samples = std::mem::take(&mut old.samples);
            self.samples.clear();
        }
    }

    /// Echoes marks by RFC 3168 from now on.
    pub fn latch_marks(&mut self) {
        self.echo = Echo::Latch;
        self.choose_paths();
    }

    /// Tells the receiver the RTT of the handshake. If the receiver delays ACKs, it compresses ACKs above a gap from now
    /// on, and returns to quick ACKs after a pause.
    pub fn note_handshake(&mut self, rtt: Time) {
        if self.ack_every > 1 {
            self.compression = Some(Compression::new(rtt));
            if self.interrupts.jiffy > Time::ZERO {
                self.patience = Some(Patience::new(rtt, self.delayed_ack, self.interrupts));
            }
        }
    }

    /// Echoes the signal of routers of this kind from now on.
    pub fn listen_to(&mut self, router: Router) {
        self.echo = match router {
            Router::Xcp => Echo::Feedback,
            Router::Vcp => Echo::Load,
        };
        self.choose_paths();
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
        let Self { totals, duplicates, acks_sent, samples, delays, .. } = self;
        ReceiverRecord { totals, duplicates, acks_sent, samples, delays, ..ReceiverRecord::default() }
    }

    /// Handles the timer: takes samples, or sends a delayed ACK.
    fn on_timer_due(&mut self, beside: &mut Sidecar) -> Option<Packet> {
        let now = self.timer;
        self.sample_until(now);
        if self.ack_due <= now {
            self.set_expiry();
        }
        let ack = (self.ack_due <= now).then(|| {
            let is_compressed = self.compression.is_some_and(|state| state.is_waiting());
            if let Some(patience) = self.patience.as_mut().filter(|_| !is_compressed) {
                patience.on_expiry();
                self.delayed_ack = patience.timeout();
            }
            // Linux does not read the clock anew if its timer of waiting ACKs expires (`tcp_compressed_ack_kick`).
            let clock = if is_compressed && self.is_kicked { self.pending.at } else { now };
            self.acknowledge_at(now, clock, beside)
        });
        self.timer = self.clock.due().min(self.ack_due);
        ack
    }

    /// Replaces the earliest time of a delayed ACK's timer by the timer's expiry. The expiry is needed only in the rare
    /// case that no segment arrives before the earliest time.
    fn set_expiry(&mut self) {
        if self.is_earliest && self.ack_due < Time::NEVER {
            self.ack_due = self.interrupts.expiry(self.delayed_from, self.delayed_by);
        }
        self.is_earliest = false;
    }

    /// Delays the ACK of a segment that arrives now.
    #[inline(always)]
    fn delay_ack(&mut self, now: Time) {
        if self.ack_due == Time::NEVER {
            self.ack_due = now + self.delayed_ack;
            (self.delayed_from, self.delayed_by, self.is_earliest) = (now, self.delayed_ack, true);
            self.timer = self.timer.min(self.ack_due);
        }
    }

    /// Drops the `count` oldest samples.
    pub(crate) fn forget(&mut self, count: usize) {
        self.samples.drain(..count);
    }

    /// Takes the samples due before `now`; all earlier arrivals have been handled.
    pub(crate) fn sample_before(&mut self, now: Time) {
        if self.clock.due() < now {
            self.sample_until(Time(now.0 - 1));
            self.timer = self.clock.due().min(self.ack_due);
        }
    }

    #[cold]
    fn sample_until(&mut self, now: Time) {
        while self.clock.due() <= now {
            self.samples.push(self.totals);
            self.clock.advance();
        }
    }

    /// Handles a segment on the fast path: the next segment, without a gap, acknowledged at once. Returns the segment's
    /// ACK. Does nothing and returns `None` in any other case.
    ///
    /// # Panics
    /// If arrivals are not in the order of time, which would be a defect of the engine.
    #[inline(always)]
    pub fn on_expected(&mut self, packet: &Packet) -> Option<Packet> {
        let now = packet.at;
        assert!(now >= self.now, "a receiver's clock went back");
        let in_order = packet.segment() == self.next && self.out_of_order.is_empty();
        if !in_order || !self.simple || self.timer <= now {
            return None;
        }
        self.now = now;
        self.totals.wire_bytes += packet.bytes();
        self.totals.delivered += 1;
        self.next += 1;
        self.acks_sent += 1;
        let owd = ((now - packet.stamp).0 / OWD_UNIT_PS).min(u64::from(u32::MAX)) as u32;
        let flags = flag::ACK | (packet.flags() & flag::RETRANSMIT) | (packet.flags() & flag::CE) << 1;
        Some(Packet::new(now, packet.stamp, self.flow, self.next, self.ack_bytes, flags, owd))
    }

    /// Fast path of a receiver that delays ACKs and whose timer is not due: the next segment, without a gap and without
    /// marks.
    ///
    /// # Panics
    /// The errors of [`Receiver::on_expected`].
    #[inline(always)]
    fn on_expected_of_several(&mut self, packet: &Packet) -> Expected {
        let now = packet.at;
        assert!(now >= self.now, "a receiver's clock went back");
        let in_order = packet.segment() == self.next && self.out_of_order.is_empty();
        if !in_order || !self.delays_acks || self.marked || packet.is_marked() || self.is_urgent(packet) {
            return Expected::Not;
        }
        self.note_echo(packet);
        if let Some(patience) = &mut self.patience {
            if !patience.is_steady(now) {
                let least = patience.on_segment(now, Ordering::Equal);
                self.delayed_ack = patience.timeout();
                self.take_quick_acks(least);
            }
        }
        self.now = now;
        self.totals.wire_bytes += packet.bytes();
        self.totals.delivered += 1;
        self.next += 1;
        self.grow_window(0);
        self.read(now);
        if !self.is_ack_due() && packet.flags() & flag::PUSH == 0 {
            self.pending = *packet;
            self.delay_ack(now);
            return Expected::Noted;
        }
        self.acks_sent += 1;
        self.unacknowledged = 0;
        self.ack_due = Time::NEVER;
        let owd = ((now - packet.stamp).0 / OWD_UNIT_PS).min(u64::from(u32::MAX)) as u32;
        let flags = flag::ACK | (packet.flags() & flag::RETRANSMIT);
        Expected::Answered(Packet::new(now, packet.stamp, self.flow, self.next, self.ack_bytes, flags, owd))
    }

    /// Handles a packet on the slow path, in all cases that [`Receiver::on_expected`] does not handle. Returns the ACK to
    /// send, if one is due.
    #[inline]
    pub fn on_segment_with_care(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        match packet.opens() {
            Some(kind) => self.on_opening(kind, packet),
            None => self.on_segment(packet, beside),
        }
    }

    /// Waits for a handshake before the first segment, and answers it with packets of `bytes`.
    pub fn await_handshake(&mut self, bytes: u16) {
        self.opening = Opening::awaited(bytes);
        self.choose_paths();
    }

    /// Handles a packet of the handshake; returns the SYN-ACK for a SYN.
    #[cold]
    #[inline(never)]
    fn on_opening(&mut self, kind: packet::Opening, packet: &Packet) -> Option<Packet> {
        self.now = packet.at;
        if kind == packet::Opening::SynData {
            self.take_first_data(packet);
        } else {
            self.opening.arrived += 1;
        }
        if matches!(kind, packet::Opening::Syn | packet::Opening::SynData) {
            return Some(self.opening.answer(self.flow, packet, self.next > 0));
        }
        self.establish(packet.at);
        None
    }

    /// Takes the first segment, which a SYN has.
    fn take_first_data(&mut self, packet: &Packet) {
        if self.timer <= self.now && self.is_inline {
            self.sample_until(self.now);
            self.timer = self.clock.due();
        }
        self.totals.wire_bytes += packet.bytes();
        self.take(0);
    }

    /// Opens the connection at the ACK of the handshake, or at a segment if that ACK was lost.
    #[inline]
    fn establish(&mut self, now: Time) {
        if !self.opening.is_open {
            self.opened = now;
            if let Some(window) = &mut self.window {
                window.open(now);
            }
            if let Some(answered) = self.opening.open().filter(|_| self.counts_held) {
                self.note_handshake(self.interrupts.elapsed(answered, now));
            }
            self.choose_paths();
        }
    }

    #[inline(never)]
    fn on_segment(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        let now = packet.at;
        self.now = now;
        if self.timer <= now && self.is_inline {
            self.sample_until(now);
            self.timer = self.clock.due();
        }
        self.establish(now);
        self.totals.wire_bytes += packet.bytes();
        if let Some(arrived) = &mut self.datagrams {
            if !arrived.note(packet.segment()) {
                self.duplicates += 1;
                return None;
            }
            self.totals.delivered += 1;
            if let Some(delays) = &mut self.delays {
                delays.note(packet.stamp, now);
            }
            return None;
        }
        let segment = packet.segment();
        self.adapt(now, segment);
        if self.echo != Echo::Feedback {
            self.note_echo(packet);
        }
        let is_urgent = self.is_urgent(packet) || self.shows_a_change(packet);
        if segment > self.next && self.extend_latest(segment) {
            let is_quick = self.quick_acks > 0 || is_urgent;
            self.marked = packet.is_marked() && !self.hides_marks;
            self.pending = *packet;
            self.note_held();
            if !is_quick && self.is_compressed(now) {
                return None;
            }
        } else {
            if segment == self.next && self.ack_every == 1 && self.out_of_order.is_empty() {
                if let Echo::Load | Echo::Feedback = self.echo {
                    return Some(self.answer_to_router(packet, beside));
                }
            }
            // The ACK that was released has the mark too (`tcp_data_queue_ofo`). A segment that arrives again shows no mark.
            if segment >= self.next || !self.counts_held || self.echo == Echo::Feedback {
                self.note_mark(packet, beside);
            }
            let is_quick = self.quick_acks > 0 || is_urgent;
            let released = self.release_compressed(segment, now, beside);
            self.pending = *packet;
            let delivered = self.totals.delivered;
            let in_order = self.take(segment);
            if !in_order && self.totals.delivered > delivered {
                self.note_held();
                // The ACK that was released also counts as the ACK of this segment, as in Linux.
                if released.is_some() {
                    return released;
                }
                if segment > self.next && !is_quick && self.is_compressed(now) {
                    return None;
                }
                if self.next == segment + 1 && !is_quick && !self.out_of_order.is_empty() {
                    self.note_new_gap();
                }
            }
            let is_awaited = is_urgent || packet.flags() & flag::PUSH != 0;
            if self.ack_every > 1 && in_order && !self.is_ack_due() && !is_awaited {
                self.delay_ack(now);
                return None;
            }
        }
        Some(self.acknowledge(now, beside))
    }

    /// Returns the ACK that waits, if `segment` changes a SACK block that the next ACK may no longer have: a new block
    /// in addition to two others, or an older block than the two latest. The ACK has this older block, extended by the
    /// segment, at its old position (`tcp_sack_new_ofo_skb`).
    #[inline]
    fn release_compressed(&mut self, segment: u32, now: Time, beside: &mut Sidecar) -> Option<Packet> {
        self.compression.as_ref().filter(|state| state.is_waiting() && segment > self.next)?;
        let has_arrived = segment < self.out_of_order.top() && self.out_of_order.contains(segment);
        let is_new = !has_arrived && Compression::loses_block(self.blocks.known(), segment);
        is_new.then(|| {
            self.blocks.extend_in_place(segment);
            self.acknowledge_earlier(now, beside)
        })
    }

    /// True if the ACK of a new segment above a gap waits for further segments.
    #[inline]
    fn is_compressed(&mut self, now: Time) -> bool {
        let Some(state) = self.compression.as_mut() else { return false };
        let Some(wait) = state.admit(self.next) else { return false };
        self.set_expiry();
        // Linux does not cancel the timer of a delayed ACK when it sends the ACK. A later expiry sends an ACK that waits
        // for further segments (tcp_delack_timer_handler).
        let earlier = self.interrupts.expiry(self.delayed_from, self.delayed_by);
        let due = now.later(wait);
        let is_kicked = earlier <= now || due <= earlier;
        let due = if is_kicked { due } else { earlier };
        if due < self.ack_due {
            (self.ack_due, self.is_kicked) = (due, is_kicked);
        }
        self.timer = self.timer.min(self.ack_due);
        true
    }

    /// Counts the ACK of a single segment below a gap as an ACK for this gap, as Linux does: the ACK is not due by the
    /// number of new segments, but because segments above the gap are held.
    fn note_new_gap(&mut self) {
        if let Some(state) = &mut self.compression {
            state.admit(self.next);
        }
    }

    /// True if the ACK of a segment must not wait: the segment reports a reduction of the window, so the window may be very
    /// small (`tcp_ecn_accept_cwr`).
    #[inline(always)]
    fn is_urgent(&self, packet: &Packet) -> bool {
        self.counts_held && packet.flags() & flag::CWR != 0
    }

    /// Measures the RTT, if the segment echoes a timestamp.
    #[inline(always)]
    fn note_echo(&mut self, packet: &Packet) {
        if packet.extra() > 0 {
            if let Some(compression) = &mut self.compression {
                compression.measure(self.interrupts.clock(packet.at), packet.extra());
            }
        }
    }

    /// Grows the window by a new segment, if the application reads at once, while `held` segments wait above a gap.
    #[inline(always)]
    fn grow_window(&mut self, held: u64) {
        if let Some(window) = &mut self.window {
            // The segment is acknowledged at once (`tcp_grow_window`).
            self.quick_acks |= u32::from(window.grow(held));
        }
    }

    /// Lets the application read the data in order, if it reads at once.
    #[inline(always)]
    fn read(&mut self, now: Time) {
        if let (Some(window), Some(compression)) = (&mut self.window, &self.compression) {
            window.read(now, self.next, compression.measured());
        }
    }

    /// Counts a new segment out of order as a quick ACK.
    #[inline]
    fn note_held(&mut self) {
        if self.counts_held && self.quick_acks > 0 {
            if self.next == 0 && self.totals.delivered == 1 && self.quick_acks > QUICK_ACKS_WITHOUT_GROWTH {
                // In Linux, the first segment begins the quick ACKs only if it arrives in order. If not, its own ACK ends
                // the quick ACKs of a beginning.
                self.missed_quick_acks = QUICK_ACKS_WITHOUT_GROWTH;
                self.quick_acks -= QUICK_ACKS_WITHOUT_GROWTH;
            }
            self.count_quick_ack();
        }
    }

    /// Adapts the timeout of delayed ACKs and the number of quick ACKs to the arrival of `segment`.
    #[inline(always)]
    fn adapt(&mut self, now: Time, segment: u32) {
        if self.window.is_some() && segment >= self.next && !self.out_of_order.contains(segment) {
            self.grow_window(self.totals.delivered - u64::from(self.next));
        }
        let Some(patience) = &mut self.patience else { return };
        let mut least = patience.on_segment(now, segment.cmp(&self.next));
        if self.missed_quick_acks > 0 && self.next == 0 && segment == 0 {
            least = patience.after_pause(now.since(self.opened));
        }
        self.delayed_ack = patience.timeout();
        self.take_quick_acks(least);
    }

    /// Takes at least `least` quick ACKs for a new reason, if `least` is not zero.
    #[inline]
    fn take_quick_acks(&mut self, least: u32) {
        if least > 0 {
            let least = self.window.as_ref().map_or(least, |window| least.min(window.quick_acks()));
            self.quick_acks = least.max(self.quick_acks + std::mem::take(&mut self.missed_quick_acks));
        }
    }

    /// Takes the quick ACKs of a mark or of a retransmission (`tcp_enter_quickack_mode`). While each segment grows the
    /// window, Linux's number of quick ACKs is odd: each ACK takes one, and the next segment adds one. The additional quick
    /// ACKs are therefore taken where the growth ends.
    fn quicken(&mut self) {
        let most = QUICK_ACKS_WITHOUT_GROWTH + 1;
        if self.quick_acks.saturating_add(self.missed_quick_acks) > QUICK_ACKS_WITHOUT_GROWTH {
            let more = (QUICK_ACKS_AT_A_MARK | 1).saturating_sub(most - self.missed_quick_acks);
            (self.quick_acks, self.missed_quick_acks) = (self.quick_acks + more, self.missed_quick_acks - more);
        }
        self.quick_acks = self.quick_acks.max(QUICK_ACKS_AT_A_MARK);
        if let Some(patience) = &mut self.patience {
            patience.on_end_of_quick_acks();
            self.delayed_ack = patience.timeout();
        }
    }

    /// Counts a quick ACK.
    #[inline]
    fn count_quick_ack(&mut self) {
        self.quick_acks -= 1;
        if self.quick_acks > 0 {
            return;
        }
        self.missed_quick_acks = 0;
        if let Some(patience) = &mut self.patience {
            patience.on_end_of_quick_acks();
            self.delayed_ack = patience.timeout();
        }
    }

    /// Counts and keeps a segment. Returns true if the segment was the next expected segment, and no later segment had
    /// arrived before it.
    fn take(&mut self, segment: u32) -> bool {
        if segment == self.next {
            self.totals.delivered += 1;
            self.next += 1;
            let in_order = self.out_of_order.is_empty();
            if !in_order {
                self.close_gap();
            }
            self.read(self.now);
            return in_order;
        }
        if segment > self.next && self.hides_losses {
            self.totals.delivered += 1;
            self.next = segment + 1;
            return true;
        }
        if segment > self.next {
            self.hold(segment);
        } else {
            self.note_repeated(segment);
        }
        false
    }

    /// Counts a segment that arrived before. Linux reports it with the next ACK (`tcp_dsack_set`).
    fn note_repeated(&mut self, segment: u32) {
        self.duplicates += 1;
        if self.counts_held {
            self.repeated = (segment, segment + 1);
        }
    }

    /// Takes a segment whose timestamp is too old: it is acknowledged at once, and not kept (`tcp_send_dupack`).
    #[cold]
    fn discard(&mut self, packet: &Packet, beside: &mut Sidecar) -> Packet {
        let (now, segment) = (packet.at, packet.segment());
        self.now = now;
        self.totals.wire_bytes += packet.bytes();
        self.pending = self.pending.arriving(now);
        self.note_repeated(segment);
        if segment < self.next {
            self.adapt(now, segment);
        } else {
            self.repeated = (0, 0);
        }
        self.acknowledge(now, beside)
    }

    /// Fast path for a segment above a gap: the segment directly follows the latest run of segments, and no segment
    /// above it has arrived. Returns false in any other case, and does nothing then.
    #[inline]
    fn extend_latest(&mut self, segment: u32) -> bool {
        let Some((first, past)) = self.blocks.latest() else { return false };
        let follows = past == segment && segment == self.out_of_order.top();
        if !follows || self.hides_losses || self.echo != Echo::Marks {
            return false;
        }
        self.out_of_order.reserve(self.next, segment - self.next + 1);
        if !self.out_of_order.extend(first) {
            return false;
        }
        self.blocks.extend_latest(segment + 1);
        self.totals.delivered += 1;
        true
    }

    /// Fast path for a flow whose routers write into its packets. The segment is the next one in order, nothing is
    /// missing, and it is acknowledged at once.
    #[inline]
    fn answer_to_router(&mut self, packet: &Packet, beside: &mut Sidecar) -> Packet {
        let now = packet.at;
        self.note_router(packet, beside);
        self.totals.delivered += 1;
        self.next += 1;
        self.acks_sent += 1;
        let owd = ((now - packet.stamp).0 / OWD_UNIT_PS).min(u64::from(u32::MAX)) as u32;
        let mut flags = flag::ACK | (packet.flags() & flag::RETRANSMIT);
        let feedback = self.echo_router(&mut flags);
        if self.echo != Echo::Feedback {
            return Packet::new(now, packet.stamp, self.flow, self.next, self.ack_bytes, flags, owd);
        }
        let entry = SackEntry { owd, trigger: packet.segment(), feedback, ..SackEntry::default() };
        let id = beside.sacks.put(entry);
        Packet::new(now, packet.stamp, self.flow, self.next, self.ack_bytes, flags | flag::BESIDE, id)
    }

    /// True if marks are echoed one by one, and the segment's mark differs from the last segment's.
    #[inline]
    fn changes_mark(&self, packet: &Packet) -> bool {
        self.echo == Echo::Marks && (packet.is_marked() && !self.hides_marks) != self.marked
    }

    /// True if the segment is acknowledged at once because its mark differs from the last segment's, as in Linux
    /// (`dctcp_ece_ack_update`).
    #[inline]
    fn shows_a_change(&self, packet: &Packet) -> bool {
        self.counts_held && self.changes_mark(packet)
    }

    /// The ACK of the earlier segments, if their ACK is delayed and the mark of the segment in order that arrives now differs
    /// from theirs. Therefore no ACK acknowledges both marked and unmarked segments (RFC 8257 section 3.2).
    fn settle_earlier(&mut self, packet: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        let is_delayed = self.unacknowledged > 0 && self.quick_acks == 0;
        let in_order = packet.segment() == self.next && self.out_of_order.is_empty();
        // Linux looks at the mark of a segment above a gap too (`tcp_data_queue_ofo`).
        let counts = in_order || (self.counts_held && packet.segment() > self.next);
        let is_due = is_delayed && counts && self.changes_mark(packet);
        is_due.then(|| self.acknowledge_earlier(packet.at, beside))
    }

    /// Records a segment's mark, or the report of its routers.
    fn note_mark(&mut self, packet: &Packet, beside: &mut Sidecar) {
        if self.echo == Echo::Marks {
            self.marked = packet.is_marked() && !self.hides_marks;
        } else {
            self.note_router(packet, beside);
        }
    }

    /// Records the routers' feedback, except ECN marks.
    #[inline]
    fn note_router(&mut self, packet: &Packet, beside: &mut Sidecar) {
        match self.echo {
            Echo::Marks => {}
            Echo::Latch => {
                let seen = packet.is_marked() && !self.hides_marks;
                let latched = self.marked && packet.flags() & flag::CWR == 0;
                // A segment that is not ECN-capable among others is probably a retransmission, which may follow a lost ACK.
                let is_resent = packet.flags() & flag::ECT == 0;
                if self.counts_held && ((seen && !latched) || is_resent) {
                    self.quicken();
                }
                self.marked = seen || latched;
            }
            Echo::Load => self.load = self.load.max(packet.load()),
            Echo::Feedback => {
                let header = beside.headers().and_then(|headers| headers.take(packet.extra()));
                self.feedback += header.map_or(0.0, |header| header.feedback);
            }
        }
    }

    /// Writes the routers' load into an ACK's flags. Returns the feedback for the ACK.
    #[inline]
    fn echo_router(&mut self, flags: &mut u8) -> f32 {
        *flags |= match std::mem::replace(&mut self.load, Load::Low) {
            Load::Low => 0,
            Load::High => flag::CWR,
            Load::Overload => flag::ECE,
        };
        std::mem::take(&mut self.feedback) as f32
    }

    /// True if a segment in order is acknowledged at once.
    #[inline]
    fn is_ack_due(&mut self) -> bool {
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0;
        if quick {
            self.count_quick_ack();
        }
        quick || self.unacknowledged >= self.ack_every
    }

    /// Stores a segment above a gap.
    fn hold(&mut self, segment: u32) {
        self.out_of_order.reserve(self.next, segment - self.next + 1);
        if self.out_of_order.contains(segment) {
            return self.note_repeated(segment);
        }
        self.totals.delivered += 1;
        let run = self.out_of_order.insert(segment, self.next);
        self.blocks.note(segment, run);
    }

    /// Closes the lowest gap, which was filled: the segments after it are in order too.
    fn close_gap(&mut self) {
        if self.out_of_order.contains(self.next) {
            let past = self.out_of_order.run_end(self.next) + 1;
            self.out_of_order.remove_range(self.next, past);
            self.next = past;
        }
        self.blocks.forget_below(self.next);
    }

    /// Calls [`Receiver::acknowledge`] for segments that arrived earlier.
    fn acknowledge_earlier(&mut self, now: Time, beside: &mut Sidecar) -> Packet {
        self.acknowledge_at(now, now, beside)
    }

    /// The ACK of the latest segment, with a timestamp of the time `clock`.
    #[inline(never)]
    fn acknowledge_at(&mut self, now: Time, clock: Time, beside: &mut Sidecar) -> Packet {
        self.write_ack(now, clock, beside)
    }

    /// The ACK of the latest segment.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, beside: &mut Sidecar) -> Packet {
        self.write_ack(now, now, beside)
    }

    /// The function is inlined, so that the ACK is written only once.
    #[inline(always)]
    fn write_ack(&mut self, now: Time, clock: Time, beside: &mut Sidecar) -> Packet {
        let segment = &self.pending;
        let owd = ((clock - segment.stamp).0 / OWD_UNIT_PS).min(u64::from(u32::MAX)) as u32;
        let (mut bytes, mut flags, mut extra) = (self.ack_bytes, flag::ACK | (segment.flags() & flag::RETRANSMIT), owd);
        if self.marked {
            flags |= flag::ECE;
        }
        let trigger = segment.segment();
        let stamp = segment.stamp;
        let feedback = if self.echo == Echo::Marks { 0.0 } else { self.echo_router(&mut flags) };
        let mut count = self.blocks.reported();
        let repeated = std::mem::take(&mut self.repeated);
        if count > 0 || trigger + 1 != self.next || self.echo == Echo::Feedback || repeated.0 < repeated.1 {
            flags |= flag::BESIDE;
            let is_report = repeated.0 < repeated.1;
            if is_report {
                // The report is the first block.
                count = count.min(REPORTED as u8 - 1);
            }
            let blocks = count + u8::from(is_report);
            if blocks > 0 {
                bytes += self.sack_option_bytes + self.sack_block_bytes * u16::from(blocks);
            }
            let entry = SackEntry { blocks: self.blocks.report(), count, owd, trigger, repeated, feedback };
            extra = beside.sacks.put(entry);
        }
        if let Some(paws) = &mut self.paws {
            paws.acknowledged = self.next;
        }
        let ack = Packet::new(now, stamp, self.flow, self.next, bytes, flags, extra);
        self.acks_sent += 1;
        self.unacknowledged = 0;
        self.ack_due = Time::NEVER;
        self.is_kicked = false;
        if let Some(state) = &mut self.compression {
            state.release();
        }
        ack
    }
}

impl EndpointState for Receiver {
    #[inline(always)]
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        let Opening { answers, arrived, .. } = self.opening;
        PacketCounts {
            sent: self.acks_sent + u64::from(answers),
            received: self.totals.delivered + self.duplicates + u64::from(arrived),
        }
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
        if packet.bytes() < self.whole_bytes {
            return self.on_part(packet, out);
        }
        match self.on_expected_of_several(packet) {
            Expected::Answered(ack) => out.send(ack),
            Expected::Noted => {}
            Expected::Not => self.on_unexpected(packet, out),
        }
        if let Some(segments) = self.window.as_mut().and_then(|window| window.announcement()) {
            out.beside().announce(packet.at, segments);
        }
    }
}

impl Receiver {
    /// Handles a part of a segment.
    #[inline(never)]
    fn on_part(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let Some(parts) = self.parts.filter(|_| packet.opens().is_none()) else {
            return self.on_unexpected(packet, out);
        };
        let packet = parts.behind(packet, self.now);
        if packet.segment() == self.next && parts.is_small(&packet) && self.quick_acks > QUICK_ACKS_WITHOUT_GROWTH {
            // The part takes a quick ACK, but does not extend them by growing the window.
            self.quick_acks -= 1;
        }
        let delivered = self.totals.delivered;
        self.on_unexpected(&packet, out);
        if self.totals.delivered > delivered {
            self.totals.odd_bytes -= (self.whole_bytes - packet.bytes()) as i64;
        }
    }

    #[inline(never)]
    fn on_unexpected(&mut self, packet: &Packet, out: &mut impl Outlet) {
        if packet.opens().is_some() {
            return self.on_segment_with_care(packet, out.beside()).into_iter().for_each(|answer| out.send(answer));
        }
        if let Some(log) = &mut self.log {
            log.push(Kind::Received, packet.at, packet, NONE, None);
        }
        let (segment, stamp) = (packet.segment(), packet.stamp);
        if self.opening.is_open && self.paws.as_mut().is_some_and(|paws| paws.discards(segment, stamp)) {
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
