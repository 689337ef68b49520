//! A packet: a `Copy` type of four words, half a cache line.
//!
//! Small fields share words, which are always read and written as a whole: writing a byte and then reading the word
//! that contains it would stall the processor at each hop.

use elephan_cc::Load;

use crate::index::index;
use crate::time::Time;

/// Bits of [`Packet::flags`].
pub mod flag {
    /// An acknowledgement, on the reverse path to the sender.
    pub const ACK: u8 = 1;
    /// Further data of the packet are in its flow's [`crate::sidecar::Sidecar`], at the index [`super::Packet::extra`].
    /// The data of an ACK are the SACK blocks, the feedback of routers, and the acknowledged segment, unless this is
    /// the segment just below the next expected segment. The data of a datagram are its payload.
    pub const BESIDE: u8 = 2;
    /// A retransmitted segment.
    pub const RETRANSMIT: u8 = 4;
    /// ECN-capable (RFC 3168): a queue may mark the packet instead of dropping it.
    pub const ECT0: u8 = 8;
    /// ECN-capable; the sender responds in proportion to the marks (RFC 9331).
    pub const ECT1: u8 = 16;
    /// Congestion experienced: marked by a queue.
    pub const CE: u8 = 32;
    /// An acknowledgement that echoes a mark. This flag is the bit above [`CE`].
    pub const ECE: u8 = 64;
    /// In data: the last segment of a burst or of a write, if the receiving application reads at once (PSH).
    pub const PUSH: u8 = ECE;
    /// In data: the sender has responded to an echo (RFC 3168 section 6.1.2). In an ACK: echo of a high load (VCP).
    pub const CWR: u8 = 128;
    /// Bits of the counter of marks in an ACK, from the highest (RFC 9768): AE, CWR and ECE. ACKs are not ECN-capable, so
    /// that of [`CE`] is free in them.
    pub const ACE: [u8; 3] = [CE, CWR, ECE];
    /// Either of the two kinds of ECN-capable packets.
    pub const ECT: u8 = ECT0 | ECT1;

    /// See [`super::Packet::is_marked`].
    #[must_use]
    #[inline]
    pub fn is_marked(flags: u8) -> bool {
        flags & CE != 0 && flags & (ACK | ECT) != ACK
    }
}

/// Upper bound of the memory of one packet in flight, bytes: a slot of 32 bytes in a ring that has just doubled, and
/// the sender's record of the packet.
pub const BYTES_PER_PACKET: u64 = 90;

/// True if a packet may stand for several. In a page it may not, since the page has the whole engine in it.
pub const HAS_TRAINS: bool = cfg!(not(target_arch = "wasm32"));

/// Largest number of segments that one packet stands for.
pub const MOST_IN_TRAIN: u32 = OTHERS * OTHERS + OTHERS + 1;

/// Largest number of ACKs that one stands for if it reports missing segments.
pub const MOST_IN_REPORT: u32 = OTHERS + 1;

/// Smallest number of segments of a train at a sender: a shorter one costs as much as its segments do.
pub const LEAST_IN_TRAIN: u32 = 8;

/// Largest number of further segments of a train in [`Packet::who`]; each unit of [`MANY`] stands for as many more.
const OTHERS: u32 = 0xff;
/// Place of the 8 bits of a train's length above the time in [`Packet::extra`].
const MANY: u32 = 24;
/// Bits that [`Packet::span`] does not keep of a positive `f32`, which has one part in 65,536 then.
const SPAN_DROPS: u32 = 7;

/// Resolution of a one-way delay carried by an ACK, ps (16 ns: a `u32` then reaches 68 s).
pub const OWD_UNIT_PS: u64 = 16_000;

index! {
    /// Index of a flow.
    FlowId,
}

/// Index of a flow and a direction: data at `2 × flow`, ACKs at `2 × flow + 1`. The index is a `usize`, so that its use
/// needs no conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageId(pub usize);

impl PassageId {
    /// The index into a list.
    #[must_use]
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0
    }
}

impl FlowId {
    /// The flow's data.
    #[must_use]
    #[inline(always)]
    pub fn data(self) -> PassageId {
        PassageId(self.index() * 2)
    }

    /// The flow's ACKs.
    #[must_use]
    #[inline(always)]
    pub fn acks(self) -> PassageId {
        PassageId(self.index() * 2 + 1)
    }
}

/// Number that packets of a handshake have instead of a segment's number.
const NO_SEGMENT: u32 = u32::MAX;

/// Packets of a handshake. A sender opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// From the sender.
    Syn = 0,
    /// From the sender, after the receiver's answer.
    Ack = 1,
    /// From the receiver.
    SynAck = 2,
    /// A SYN with the data of the first segment (TCP Fast Open, RFC 7413).
    SynData = 3,
    /// From the receiver, which has the data of the SYN.
    SynDataAck = 4,
}

/// ECN in the TCP header of a packet of a handshake (RFC 9768 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// AE, CWR and ECE, from the highest bit.
    pub flags: u8,
    /// True if the packet has the AccECN option.
    pub has_option: bool,
}

const COUNT: u32 = 32;
const FLOW: u32 = 40;
const HOP: u32 = 16;
const FLAGS: u32 = 24;
const EXTRA: u32 = 32;
/// Place of [`Told`] above the kind of a packet of a handshake.
const TOLD: u32 = 8;

/// A data segment or an acknowledgement in flight, or a *train* of several that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Time of the packet's arrival at the next hop.
    pub at: Time,
    /// Data: send time. ACK: the send time that the receiver echoes (RFC 7323 timestamps).
    pub stamp: Time,
    /// Segment in the low half, then 8 bits with the number of further segments of a train (0 for a packet alone; up to 255),
    /// then the flow.
    who: u64,
    /// Bytes on the wire: 16 bits; hop: 8; flags: 8; extra: 32.
    what: u64,
}

impl Packet {
    /// A packet before the first hop of its path.
    #[must_use]
    #[inline]
    pub fn new(at: Time, stamp: Time, flow: FlowId, segment: u32, bytes: u16, flags: u8, extra: u32) -> Self {
        let what = u64::from(bytes) | u64::from(flags) << FLAGS | u64::from(extra) << EXTRA;
        Self { at, stamp, who: u64::from(flow.0) << FLOW | u64::from(segment), what }
    }

    /// A packet of a handshake, before the first hop of its path.
    #[must_use]
    pub fn opening(kind: Opening, at: Time, stamp: Time, flow: FlowId, bytes: u16, flags: u8) -> Self {
        let is_answer = matches!(kind, Opening::SynAck | Opening::SynDataAck);
        let back = if is_answer { flag::ACK } else { 0 };
        Self::new(at, stamp, flow, NO_SEGMENT, bytes, flags | back, kind as u32)
    }

    /// Kind of the packet, if it belongs to a handshake.
    #[must_use]
    #[inline(always)]
    pub fn opens(&self) -> Option<Opening> {
        if self.segment() != NO_SEGMENT {
            return None;
        }
        Some(match self.extra() as u8 {
            0 => Opening::Syn,
            1 => Opening::Ack,
            2 => Opening::SynAck,
            3 => Opening::SynData,
            _ => Opening::SynDataAck,
        })
    }

    /// The same packet of a handshake, with ECN in its TCP header.
    #[must_use]
    pub fn telling(self, told: Told) -> Self {
        let bits = u64::from(told.flags | u8::from(told.has_option) << 3);
        Self { what: self.what & !(0xff << (EXTRA + TOLD)) | bits << (EXTRA + TOLD), ..self }
    }

    /// ECN in the TCP header of a packet of a handshake.
    #[must_use]
    pub fn told(&self) -> Told {
        let bits = (self.extra() >> TOLD) as u8;
        Told { flags: bits & 7, has_option: bits & 8 != 0 }
    }

    /// The packet with another time of its arrival.
    #[must_use]
    #[inline(always)]
    pub fn arriving(self, at: Time) -> Self {
        Self { at, ..self }
    }

    /// Index of the packet's flow.
    #[must_use]
    #[inline]
    pub fn flow(&self) -> FlowId {
        FlowId((self.who >> FLOW) as u32)
    }

    /// Data: segment number. ACK: next segment expected.
    #[must_use]
    #[inline]
    pub fn segment(&self) -> u32 {
        self.who as u32
    }

    /// Size on the wire, bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.what & 0xffff
    }

    /// Position of the packet on its path.
    #[must_use]
    #[inline]
    pub fn hop(&self) -> usize {
        (self.what >> HOP) as usize & 0xff
    }

    /// See [`flag`].
    #[must_use]
    #[inline]
    pub fn flags(&self) -> u8 {
        (self.what >> FLAGS) as u8
    }

    /// ACK: forward one-way delay in units of [`OWD_UNIT_PS`], or the number of its SACK entry if [`flag::BESIDE`] is set.
    /// Data: its congestion header ([`crate::sidecar::Header`]), or the timestamp that it echoes, or 0.
    #[must_use]
    #[inline]
    pub fn extra(&self) -> u32 {
        (self.what >> EXTRA) as u32
    }

    /// True for an acknowledgement.
    #[must_use]
    #[inline]
    pub fn is_ack(&self) -> bool {
        self.flags() & flag::ACK != 0
    }

    /// Index of the packet's flow and direction.
    #[must_use]
    #[inline]
    pub fn passage(&self) -> PassageId {
        PassageId(self.flow().index() * 2 + usize::from(self.flags() & flag::ACK))
    }

    /// True if a queue has marked the packet. In an ACK that is not ECN-capable, the bit is one of a counter.
    #[must_use]
    #[inline]
    pub fn is_marked(&self) -> bool {
        flag::is_marked(self.flags())
    }

    /// The same ACK with or without an echo, and without a counter of marks.
    #[must_use]
    pub fn echoing(self, echoes: bool) -> Self {
        let counter = flag::ACE.into_iter().fold(0, |bits, bit| bits | bit);
        let flags = self.flags() & !counter | if echoes { flag::ECE } else { 0 };
        Self { what: self.what & !(0xff << FLAGS) | u64::from(flags) << FLAGS, ..self }
    }

    /// The same packet, marked.
    #[must_use]
    #[inline]
    pub fn marked(self) -> Self {
        Self { what: self.what | u64::from(flag::CE) << FLAGS, ..self }
    }

    /// Load in the packet's ECN bits by VCP's code, in which ECT(1) is low, ECT(0) high, and CE overload.
    #[must_use]
    pub fn load(&self) -> Load {
        match self.flags() {
            flags if flags & flag::CE != 0 => Load::Overload,
            flags if flags & flag::ECT0 != 0 => Load::High,
            _ => Load::Low,
        }
    }

    /// The packet after a router with this load; unchanged if an earlier router was more loaded or if the packet is not
    /// ECN-capable.
    #[must_use]
    pub fn loaded(self, load: Load) -> Self {
        if self.flags() & flag::ECT == 0 || self.load() >= load {
            return self;
        }
        if load == Load::Overload {
            return self.marked();
        }
        let bits = u64::from(flag::ECT) << FLAGS;
        Self { what: (self.what & !bits) | u64::from(flag::ECT0) << FLAGS, ..self }
    }

    /// Number of packets that this one stands for.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u32 {
        if self.is_train() { self.others() + 1 } else { 1 }
    }

    /// Further packets of a train.
    fn others(&self) -> u32 {
        u32::from((self.who >> COUNT) as u8) + if self.tells_span() { OTHERS * (self.extra() >> MANY) } else { 0 }
    }

    /// True if this packet stands for several.
    #[must_use]
    #[inline(always)]
    pub fn is_train(&self) -> bool {
        HAS_TRAINS && (self.who >> COUNT) as u8 != 0
    }

    /// True if [`Packet::extra`] has no number of an entry, but what a train tells.
    fn tells_span(&self) -> bool {
        self.flags() & flag::BESIDE == 0
    }

    /// A train of `count` packets, at most [`MOST_IN_TRAIN`], of which this one is the last. The first is ahead of it by
    /// `span`. A train with an entry beside it does not tell the time, and has at most [`MOST_IN_REPORT`].
    #[must_use]
    pub fn as_train(self, count: u32, span: Time) -> Self {
        let others = count - 1;
        debug_assert!(others < if self.tells_span() { MOST_IN_TRAIN } else { MOST_IN_REPORT }, "a train of {count}");
        let many = others.saturating_sub(1) / OTHERS;
        let few = u64::from(others - OTHERS * many);
        let train = Self { who: self.who & !(0xff << COUNT) | few << COUNT, ..self };
        if count == 1 || !self.tells_span() {
            return train;
        }
        Self { what: train.what & !(u64::MAX << EXTRA) | u64::from(many) << (EXTRA + MANY), ..train }.spanning(span)
    }

    /// A train whose first packet is ahead of the last by `span`.
    #[must_use]
    pub fn spanning(self, span: Time) -> Self {
        if !self.is_train() || !self.tells_span() {
            return self;
        }
        let bits = u64::from((span.0 as f32).to_bits() >> SPAN_DROPS);
        Self { what: self.what & !(((1 << MANY) - 1) << EXTRA) | bits << EXTRA, ..self }
    }

    /// Time by which the first packet of a train is ahead of the last; zero if the train does not tell.
    #[must_use]
    pub fn span(&self) -> Time {
        let tells = self.is_train() && self.tells_span();
        if tells {
            Time(f32::from_bits(self.extra() << (32 - MANY) >> (32 - MANY - SPAN_DROPS)) as u64)
        } else {
            Time::ZERO
        }
    }

    /// The last packet of a train, alone.
    #[must_use]
    pub fn last_of_train(self) -> Self {
        let alone = Self { who: self.who & !(0xff << COUNT), ..self };
        if self.tells_span() { Self { what: self.what & !(u64::MAX << EXTRA), ..alone } } else { alone }
    }

    /// The same ACK of the segments below `next` only.
    #[must_use]
    pub fn acknowledging(self, next: u32) -> Self {
        Self { who: self.who & !u64::from(u32::MAX) | u64::from(next), ..self }
    }

    /// The `count` packets of a train that have this number of others behind them. ACKs report what the last one does.
    #[must_use]
    pub fn part(self, behind: u32, count: u32) -> Self {
        let data = u64::from(if self.is_ack() { 0 } else { behind });
        let part = Self { who: self.who - data, ..self };
        if count > 1 { part.as_train(count, Time::ZERO) } else { part.last_of_train() }
    }

    /// The packet at its arrival at the next hop.
    #[must_use]
    #[inline]
    pub fn next_hop(self, at: Time) -> Self {
        Self { at, what: self.what + (1 << HOP), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 32);
    }

    #[test]
    fn only_a_packet_of_a_handshake_opens() {
        for kind in [Opening::Syn, Opening::Ack, Opening::SynAck, Opening::SynData, Opening::SynDataAck] {
            let packet = Packet::opening(kind, Time(1), Time(1), FlowId(0), 60, flag::ECT0);
            assert_eq!((packet.opens(), packet.is_ack()), (Some(kind), kind as u32 & 1 == 0 && kind != Opening::Syn));
            let told = Told { flags: 0b110, has_option: true };
            assert_eq!((packet.told(), packet.telling(told).told()), (Told::default(), told));
            assert_eq!(packet.telling(told).opens(), Some(kind));
        }
        assert_eq!(Packet::new(Time(1), Time(1), FlowId(0), 0, 60, 0, 0).opens(), None);
    }

    #[test]
    fn every_field_comes_back() {
        let flags = flag::ACK | flag::RETRANSMIT;
        let packet = Packet::new(Time(1), Time(2), FlowId(3_000_000), u32::MAX - 4, 65_535, flags, u32::MAX - 5);
        assert_eq!((packet.flow(), packet.segment(), packet.bytes()), (FlowId(3_000_000), u32::MAX - 4, 65_535));
        assert_eq!((packet.hop(), packet.flags(), packet.extra()), (0, flags, u32::MAX - 5));
        assert_eq!((packet.passage(), packet.is_ack()), (FlowId(3_000_000).acks(), true));
        let moved = packet.next_hop(Time(9)).next_hop(Time(10));
        assert_eq!((moved.hop(), moved.at, moved.bytes(), moved.extra()), (2, Time(10), 65_535, u32::MAX - 5));
    }
    #[test]
    fn a_train_stands_for_packets_up_to_its_last() {
        let us = Time::MICROSECOND;
        let last = Packet::new(Time(9), Time(7), FlowId(3_000_000), 1000, 1500, 0, 0);
        for count in [2, 255, 256, 257, 510, 511, 512, 5000, MOST_IN_TRAIN - 1, MOST_IN_TRAIN] {
            for span in [us, Time::ZERO, Time(100), Time(77 * Time::SECOND.0)] {
                let train = last.as_train(count, span);
                assert_eq!((train.count(), train.flow(), train.segment()), (count, FlowId(3_000_000), 1000));
                assert!(train.is_train() && span.since(train.span()).0 <= span.0 >> 16 && train.span() <= span);
            }
        }
        let train = last.as_train(MOST_IN_TRAIN, us);
        assert_eq!((train.last_of_train().count(), train.last_of_train().extra(), train.bytes()), (1, 0, 1500));
        let part = train.part(6, 100).spanning(Time(512));
        assert_eq!((part.segment(), part.count(), part.span()), (994, 100, Time(512)));
        assert_eq!((train.part(6, 1).count(), train.part(6, 1).extra()), (1, 0));
        assert_eq!((last.as_train(1, us).is_train(), last.as_train(1, us).span()), (false, Time::ZERO));
        let report = Packet::new(Time(9), Time(7), FlowId(0), 1000, 60, flag::ACK | flag::BESIDE, 77).as_train(9, us);
        assert_eq!((report.extra(), report.span(), report.part(4, 5).segment()), (77, Time::ZERO, 1000));
    }
}
