//! ECN of a sender: the ECN-capable packets, and the response to an echo.

use elephan_cc::{Ecn, Needs, Router};

use crate::packet::flag;

/// Form of ECN of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    /// RFC 3168: the sender responds to an echo as to a loss, once per window, and the receiver repeats the echo until
    /// the response.
    Classic,
    /// Every mark is reported to the algorithm, which responds by its own rules.
    Accurate,
}

/// ECN state of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) mode: Mode,
    /// Flags of every new segment.
    data: u8,
    /// True if the next new segment has CWR, which signals the sender's response to the receiver.
    pub(super) answered: bool,
    /// Segment below which echoes belong to a window to which the sender has responded.
    pub(super) until: u32,
}

impl Marks {
    /// The form of ECN that the algorithm asks for, or else the form that the endpoint's setting gives.
    pub(super) fn new(needs: Needs, endpoint: bool) -> Self {
        let (mode, data) = match needs.ecn {
            // ECT(1) is VCP's code for a low load; routers with a higher load overwrite this code.
            _ if needs.router == Some(Router::Vcp) => (Mode::Accurate, flag::ECT1),
            Ecn::Accurate => (Mode::Accurate, flag::ECT0),
            Ecn::L4s => (Mode::Accurate, flag::ECT1),
            Ecn::Endpoint if endpoint => (Mode::Classic, flag::ECT0),
            Ecn::Endpoint => (Mode::Off, 0),
        };
        Self { mode, data, answered: false, until: 0 }
    }

    /// True if segments also report reductions after losses (CWR): under RFC 3168's code points, as in Linux.
    pub(super) fn signals_losses(&self) -> bool {
        self.data == flag::ECT0
    }

    /// Flags of the first new segment of a transmission; it reports an earlier reduction of the window (CWR).
    #[inline(always)]
    pub(super) fn on_first(&mut self) -> u8 {
        if self.answered {
            self.answered = false;
            return self.data | flag::CWR;
        }
        self.data
    }

    /// Flags of a SYN: an algorithm with its own form of ECN sends ECN-capable SYNs in Linux (`tcp_ecn_send_syn`).
    pub(super) fn on_opening(&self) -> u8 {
        if self.mode == Mode::Accurate { self.data & flag::ECT0 } else { 0 }
    }

    /// Flags of the other new segments.
    #[inline(always)]
    pub(super) fn on_data(&self) -> u8 {
        self.data
    }

    /// Flags of a retransmission, which is not ECN-capable under classic ECN (RFC 3168 section 6.1.5).
    pub(super) fn on_retransmission(&self) -> u8 {
        flag::RETRANSMIT | if self.mode == Mode::Accurate { self.data } else { 0 }
    }
}
