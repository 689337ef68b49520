//! State of a connection that a receiver's sender opens.

use crate::endpoint::negotiation::{self, Codepoint, Feedback};
use crate::packet::{FlowId, Opening as Kind, Packet, Told, flag};
use crate::sidecar::AccEcnOption;
use crate::spec::{ReceiverEcn, StackSpec};
use crate::time::Time;

/// State of the opening.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// True if the connection is open, or needs no handshake.
    pub(super) is_open: bool,
    /// Size of a SYN-ACK, bytes.
    bytes: u16,
    /// `Some` if SYNs may ask for accurate feedback of marks: the form of ECN that the host supports, and whether its first
    /// SYN-ACK has the AccECN option.
    supports: Option<(ReceiverEcn, bool)>,
    /// Feedback that the first SYN has led to, and codepoint of the latest SYN-ACK.
    pub(super) feedback: Option<Feedback>,
    sent: Codepoint,
    /// Timestamp of the first SYN, and time of the latest SYN-ACK.
    first: Time,
    answered: Time,
    /// SYN-ACKs that were sent, and packets of the handshake that arrived.
    pub(super) answers: u32,
    pub(super) arrived: u32,
}

impl Opening {
    /// A connection that needs no handshake.
    pub(super) const OPEN: Self = Self {
        is_open: true,
        bytes: 0,
        supports: None,
        feedback: None,
        sent: Codepoint::NotEct,
        first: Time::NEVER,
        answered: Time::NEVER,
        answers: 0,
        arrived: 0,
    };

    /// A connection that waits for a SYN.
    pub(super) fn awaited(stack: &StackSpec) -> Self {
        let supports = stack.accurate_ecn.then_some((stack.receiver_ecn, stack.accurate_ecn_option));
        Self { is_open: false, bytes: stack.syn_bytes() as u16, supports, ..Self::OPEN }
    }

    /// The SYN-ACK of a kind for a SYN. Linux echoes the timestamp of the first SYN in every SYN-ACK. A SYN-ACK needs no timer of its
    /// own: if it is lost, the sender repeats its SYN at the time at which the receiver would repeat the SYN-ACK.
    pub(super) fn answer(&mut self, kind: Kind, flow: FlowId, syn: &Packet) -> Packet {
        if self.answers == 0 {
            self.first = syn.stamp;
        }
        let told = self.supports.map_or(Told::default(), |supports| self.negotiate(supports, syn));
        (self.answers, self.answered) = (self.answers + 1, syn.at);
        let option = if told.has_option { AccEcnOption::bytes(AccEcnOption::MOST) } else { 0 };
        let answer = Packet::opening(kind, syn.at, self.first, flow, self.bytes + option, syn.flags() & flag::ECT0)
            .telling(told);
        self.sent = Codepoint::of(&answer);
        answer
    }

    /// Content of the SYN-ACK for a SYN. The first SYN decides on the feedback, and a SYN-ACK reports the codepoint of the
    /// latest SYN. Where two SYN-ACKs that agree to accurate feedback have led to nothing, a third one does not agree, and
    /// only the first has the option (section 3.2.3.2.2).
    fn negotiate(&mut self, (supports, has_option): (ReceiverEcn, bool), syn: &Packet) -> Told {
        let (feedback, flags) = negotiation::answer(supports, syn.told().flags, Codepoint::of(syn));
        match *self.feedback.get_or_insert(feedback) {
            Feedback::Accurate if self.answers >= negotiation::ATTEMPTS => Told::default(),
            Feedback::Accurate => {
                Told { flags: Codepoint::of(syn).report(), has_option: has_option && self.answers == 0 }
            }
            _ => Told { flags, has_option: false },
        }
    }

    /// Takes the ACK of a SYN-ACK, which reports how the SYN-ACK arrived (table 4). Another SYN-ACK may have left since.
    ///
    /// # Panics
    /// If the network has changed the codepoint of the SYN-ACK in an invalid way, which would be a defect of the engine.
    pub(super) fn take_ack(&self, ack: &Packet) {
        let arrived = Codepoint::reported(ack.told().flags).filter(|_| self.answers == 1);
        let sent = self.sent;
        assert!(
            arrived.is_none_or(|arrived| sent.may_become(arrived)),
            "a SYN-ACK sent as {sent:?} arrived as {arrived:?}"
        );
    }

    /// Opens the connection. Returns the time of the latest SYN-ACK, if there is one.
    pub(super) fn open(&mut self) -> Option<Time> {
        self.is_open = true;
        (self.answers > 0).then_some(self.answered)
    }
}
