//! ECN of a sender: the packets that are capable of it, and the answer to an echo.

use elephan_cc::{Ecn, Needs, Router};

use crate::packet::flag;

/// How a flow uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    /// RFC 3168: an echo is answered like a loss, once a window, and the receiver repeats it until it is.
    Classic,
    /// The algorithm hears of every mark and does what it wants.
    Accurate,
}

/// The state of a flow's ECN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) mode: Mode,
    /// Flags of every new segment.
    data: u8,
    /// The next new segment tells the receiver that its echo has been answered.
    pub(super) answered: bool,
    /// Echoes in ACKs of segments below are of the window that has been answered for.
    pub(super) until: u32,
}

impl Marks {
    /// The use that the algorithm wants, or else the endpoint's setting.
    pub(super) fn new(needs: Needs, endpoint: bool) -> Self {
        let (mode, data) = match needs.ecn {
            // The code for a low load; routers raise it.
            _ if needs.router == Some(Router::Vcp) => (Mode::Accurate, flag::ECT1),
            Ecn::Accurate => (Mode::Accurate, flag::ECT0),
            Ecn::L4s => (Mode::Accurate, flag::ECT1),
            Ecn::Endpoint if endpoint => (Mode::Classic, flag::ECT0),
            Ecn::Endpoint => (Mode::Off, 0),
        };
        Self { mode, data, answered: false, until: 0 }
    }

    /// Flags of the first of some new segments.
    #[inline(always)]
    pub(super) fn on_first(&mut self) -> u8 {
        if self.answered {
            self.answered = false;
            return self.data | flag::CWR;
        }
        self.data
    }

    /// Flags of the other new segments.
    #[inline(always)]
    pub(super) fn on_data(&self) -> u8 {
        self.data
    }

    /// Flags of a retransmission: not capable of classic ECN (RFC 3168 section 6.1.5).
    pub(super) fn on_retransmission(&self) -> u8 {
        flag::RETRANSMIT | if self.mode == Mode::Accurate { self.data } else { 0 }
    }
}
