//! State of a connection that a receiver's sender opens.

use crate::packet::{FlowId, Opening as Kind, Packet, flag};
use crate::time::Time;

/// State of the opening.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// True if the connection is open, or needs no handshake.
    pub(super) is_open: bool,
    /// Size of a SYN-ACK, bytes.
    bytes: u16,
    /// Timestamp of the first SYN, and time of the latest SYN-ACK.
    first: Time,
    answered: Time,
    /// SYN-ACKs that were sent, and packets of the handshake that arrived.
    pub(super) answers: u32,
    pub(super) arrived: u32,
}

impl Opening {
    /// A connection that needs no handshake.
    pub(super) const OPEN: Self =
        Self { is_open: true, bytes: 0, first: Time::NEVER, answered: Time::NEVER, answers: 0, arrived: 0 };

    /// A connection that waits for a SYN, and answers with `bytes`.
    pub(super) fn awaited(bytes: u16) -> Self {
        Self { is_open: false, bytes, ..Self::OPEN }
    }

    /// The SYN-ACK of a kind for a SYN. Linux echoes the timestamp of the first SYN in every SYN-ACK. A SYN-ACK needs no timer of its
    /// own: if it is lost, the sender repeats its SYN at the time at which the receiver would repeat the SYN-ACK.
    pub(super) fn answer(&mut self, kind: Kind, flow: FlowId, syn: &Packet) -> Packet {
        if self.answers == 0 {
            self.first = syn.stamp;
        }
        (self.answers, self.answered) = (self.answers + 1, syn.at);
        Packet::opening(kind, syn.at, self.first, flow, self.bytes, syn.flags() & flag::ECT0)
    }

    /// Opens the connection. Returns the time of the latest SYN-ACK, if there is one.
    pub(super) fn open(&mut self) -> Option<Time> {
        self.is_open = true;
        (self.answers > 0).then_some(self.answered)
    }
}
