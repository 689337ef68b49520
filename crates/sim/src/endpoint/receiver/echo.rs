//! Echo of a receiver: the timestamp of the latest segment, marks, and the reports of routers.

use elephan_cc::{Ecn, Load, Needs, Router};

use crate::endpoint::ace::Counter;
use crate::endpoint::negotiation::{Codepoint, Feedback};
use crate::endpoint::octets::Octets;
use crate::packet::{OWD_UNIT_PS, Packet, flag};
use crate::sidecar::{AccEcnOption, Sidecar};
use crate::spec::StackSpec;
use crate::time::Time;

/// Kind of router signals that are echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// ECN marks, each echoed.
    Marks,
    /// ECN marks by RFC 3168: ACKs carry the echo from a mark until the sender signals its response.
    Latch,
    /// The number of ECN marks, in each ACK (RFC 9768).
    Count,
    /// The load that VCP routers report.
    Load,
    /// The feedback of XCP routers.
    Feedback,
}

/// State of the echo.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    signal: Signal,
    is_linux: bool,
    /// Flags of segments that take the slow path.
    telling: u8,
    /// Misbehavior: marks are not echoed.
    hides_marks: bool,
    /// The latch of RFC 3168, or the mark of the last segment.
    marked: bool,
    counter: Counter,
    /// True if the segment that arrives now is counted.
    is_counted: bool,
    /// Bytes of each codepoint, if ACKs have them.
    octets: Option<Box<Octets>>,
    /// Signal that is echoed if a handshake leads to an echo in place of accurate feedback.
    classic: Signal,
    /// The highest load that VCP routers report, and the feedback of XCP routers, bytes/s, since the last ACK.
    load: Load,
    feedback: f64,
    /// The latest segment, whose timestamp a delayed ACK echoes.
    latest: Packet,
}

impl Echo {
    /// The echo for a sender whose algorithm has these needs.
    pub(super) fn new(stack: &StackSpec, needs: &Needs) -> Self {
        let is_classic = needs.ecn == Ecn::Endpoint && stack.ecn;
        let classic = if is_classic { Signal::Latch } else { Signal::Marks };
        let signal = match needs.router {
            Some(Router::Xcp) => Signal::Feedback,
            Some(Router::Vcp) => Signal::Load,
            None if stack.accurate_ecn && (needs.ecn != Ecn::Endpoint || stack.ecn) => Signal::Count,
            None => classic,
        };
        let has_octets = signal == Signal::Count && stack.accurate_ecn_option;
        let is_linux = stack.is_linux();
        Self {
            signal,
            is_linux,
            telling: flag::CE | if is_linux { flag::CWR } else { 0 },
            hides_marks: stack.hide_marks,
            marked: false,
            counter: Counter::new(is_linux),
            is_counted: false,
            octets: has_octets.then(|| Box::new(Octets::new(stack.header_bytes, is_linux))),
            classic,
            load: Load::Low,
            feedback: 0.0,
            latest: Packet::default(),
        }
    }

    /// Takes the feedback that a handshake has led to.
    pub(super) fn settle(&mut self, feedback: Feedback) {
        if self.signal == Signal::Count && feedback != Feedback::Accurate {
            self.octets = None;
            self.signal = if feedback == Feedback::Classic { self.classic } else { Signal::Marks };
        }
    }

    /// The option of an ACK with `blocks` SACK blocks, and the number of blocks that it leaves room for.
    pub(super) fn option(&mut self, blocks: u16) -> (AccEcnOption, u16) {
        self.octets.as_mut().map_or((AccEcnOption::default(), blocks), |octets| octets.write(blocks))
    }

    /// True if only marks are echoed, each of them.
    pub(super) fn is_of_marks(&self) -> bool {
        self.signal == Signal::Marks
    }

    pub(super) fn hides_marks(&self) -> bool {
        self.hides_marks
    }

    /// True if the segments have congestion headers, whose feedback is echoed.
    #[inline]
    pub(super) fn is_of_feedback(&self) -> bool {
        self.signal == Signal::Feedback
    }

    /// True if a segment that had arrived before shows its mark. In Linux it shows none, unless it is counted and no ACK has
    /// acknowledged further segments (`tcp_sequence`); `acknowledged` is the first that none did.
    pub(super) fn notes_repeated(&self, segment: u32, acknowledged: u32) -> bool {
        match self.signal {
            _ if !self.is_linux => true,
            Signal::Feedback => true,
            Signal::Count => segment + 1 >= acknowledged,
            _ => false,
        }
    }

    /// True if the mark of a segment above a gap may release the ACK of earlier segments (`tcp_data_queue_ofo`).
    pub(super) fn settles_above(&self) -> bool {
        self.is_linux
    }

    /// The latest segment.
    #[inline(always)]
    pub(super) fn latest(&self) -> &Packet {
        &self.latest
    }

    /// Makes a segment the latest.
    #[inline(always)]
    pub(super) fn set_latest(&mut self, packet: &Packet) {
        self.latest = *packet;
    }

    /// Records that a discarded segment causes an ACK at `now`, which echoes the timestamp of the segment before it.
    pub(super) fn repeat_latest(&mut self, now: Time) {
        self.latest = self.latest.arriving(now);
    }

    /// True if neither the segment nor the last one has a mark, and the segment reports no reduction of the window (see
    /// [`Echo::is_urgent`]).
    #[inline(always)]
    pub(super) fn is_clear(&self, packet: &Packet) -> bool {
        !self.marked && packet.flags() & self.telling == 0
    }

    /// True if marks are echoed one by one, and the segment's mark differs from the last segment's.
    #[inline]
    pub(super) fn changes_mark(&self, packet: &Packet) -> bool {
        self.is_of_marks() && self.shows_mark(packet) != self.marked
    }

    /// Counts a segment if it releases the ACK of the segments before it, whose mark differs; returns true if it does. On
    /// Linux, DCTCP does that with either feedback, and the ACK has the count with the segment's mark
    /// (`dctcp_ece_ack_update`, `tcp_ecn_received_counters`).
    #[inline]
    pub(super) fn count_early(&mut self, packet: &Packet) -> bool {
        let is_dctcps = self.is_linux && self.signal == Signal::Count && self.classic == Signal::Marks;
        if is_dctcps && self.counter.changes_mark(self.shown(packet)) {
            self.count(packet);
            self.is_counted = true;
        }
        self.is_counted
    }

    /// The codepoint of a segment; a receiver that hides marks takes them for ECT(0).
    fn shown(&self, packet: &Packet) -> Codepoint {
        if packet.is_marked() && self.hides_marks { Codepoint::Ect0 } else { Codepoint::of(packet) }
    }

    #[inline]
    fn shows_mark(&self, packet: &Packet) -> bool {
        packet.is_marked() && !self.hides_marks
    }

    /// True if the ACK of a segment must not wait: the segment reports a reduction of the window, so that the window may be
    /// very small (`tcp_ecn_accept_cwr`), or its mark differs from the last segment's (`dctcp_ece_ack_update`).
    #[inline]
    pub(super) fn is_urgent(&self, packet: &Packet) -> bool {
        if self.signal == Signal::Count {
            return self.is_counted || self.counter.is_urgent(self.shown(packet));
        }
        self.is_linux && (packet.flags() & flag::CWR != 0 || self.changes_mark(packet))
    }

    /// Records a segment's mark, or the report of its routers. Returns true if quick ACKs begin in Linux.
    #[inline]
    pub(super) fn note(&mut self, packet: &Packet, beside: &mut Sidecar) -> bool {
        match self.signal {
            Signal::Marks => self.marked = self.shows_mark(packet),
            Signal::Latch => return self.latch(packet),
            Signal::Count => self.count(packet),
            Signal::Load => self.load = self.load.max(packet.load()),
            Signal::Feedback => {
                let header = beside.headers().and_then(|headers| headers.take(packet.extra()));
                self.feedback += header.map_or(0.0, |header| header.feedback);
            }
        }
        false
    }

    fn count(&mut self, packet: &Packet) {
        if std::mem::take(&mut self.is_counted) {
            return;
        }
        let codepoint = self.shown(packet);
        self.counter.note(codepoint);
        if let Some(octets) = &mut self.octets {
            octets.note(codepoint, packet.bytes());
        }
    }

    fn latch(&mut self, packet: &Packet) -> bool {
        let seen = self.shows_mark(packet);
        let latched = self.marked && packet.flags() & flag::CWR == 0;
        self.marked = seen || latched;
        // A segment that is not ECN-capable among others is probably a retransmission, which may follow a lost ACK.
        let is_resent = packet.flags() & flag::ECT == 0;
        self.is_linux && ((seen && !latched) || is_resent)
    }

    /// Flags of an ACK of the latest segment, and the feedback for it.
    #[inline(always)]
    pub(super) fn write(&mut self) -> (u8, f32) {
        let mut flags = self.latest.flags() & flag::RETRANSMIT;
        if self.marked {
            flags |= flag::ECE;
        }
        if self.signal == Signal::Marks {
            return (flags, 0.0);
        }
        if self.signal == Signal::Count {
            return (flags | self.counter.write(), 0.0);
        }
        flags |= match std::mem::replace(&mut self.load, Load::Low) {
            Load::Low => 0,
            Load::High => flag::CWR,
            Load::Overload => flag::ECE,
        };
        (flags, std::mem::take(&mut self.feedback) as f32)
    }
}

/// One-way delay of a segment at the time `now`, in the unit of packets.
#[inline(always)]
pub(super) fn one_way_delay(segment: &Packet, now: Time) -> u32 {
    ((now - segment.stamp).0 / OWD_UNIT_PS).min(u64::from(u32::MAX)) as u32
}
