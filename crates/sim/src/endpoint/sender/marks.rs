//! ECN of a sender: the ECN-capable packets, and the response to an echo.

use elephan_cc::{Ecn, Needs, Router};

use crate::endpoint::ace::Seen;
use crate::endpoint::negotiation::{self, Codepoint, Feedback};
use crate::packet::{Packet, Told, flag};
use crate::sidecar::AccEcnOption;
use crate::spec::StackSpec;

/// Form of ECN of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    /// RFC 3168: the sender responds to an echo as to a loss, once per window, and the receiver repeats the echo until
    /// the response.
    Classic,
    /// Every mark is reported to the algorithm, which responds by its own rules.
    Accurate,
}

/// Meaning of the echo of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Ignored,
    /// The algorithm responds to every mark.
    Reported,
    /// The sender responds as to a loss.
    Fresh,
    /// The sender has responded to a mark or a loss in this window.
    Answered,
}

/// ECN state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    mode: Mode,
    /// Flags of every new segment.
    data: u8,
    /// True if the next new segment has CWR, which signals the sender's response to the receiver.
    answered: bool,
    /// Segment below which echoes belong to a window to which the sender has responded.
    until: u32,
    /// `Some` if ACKs have the number of marks in place of an echo (RFC 9768), or if a handshake is to decide it.
    seen: Option<Seen>,
    /// Option of the ACK that arrives now.
    option: Option<AccEcnOption>,
    is_linux: bool,
}

impl Marks {
    /// The form of ECN that the algorithm asks for, or else the form that the endpoint's setting gives.
    pub fn new(needs: Needs, stack: &StackSpec) -> Self {
        let (mode, data) = match needs.ecn {
            // ECT(1) is VCP's code for a low load; routers with a higher load overwrite this code.
            _ if needs.router == Some(Router::Vcp) => (Mode::Accurate, flag::ECT1),
            Ecn::Accurate => (Mode::Accurate, flag::ECT0),
            Ecn::L4s => (Mode::Accurate, flag::ECT1),
            Ecn::Endpoint if stack.ecn => (Mode::Classic, flag::ECT0),
            Ecn::Endpoint => (Mode::Off, 0),
        };
        let counts = stack.accurate_ecn && mode != Mode::Off && needs.router.is_none();
        let is_linux = stack.is_linux();
        let seen = counts.then(|| Seen::new(stack.payload_bytes, is_linux));
        Self { mode, data, answered: false, until: 0, seen, option: None, is_linux }
    }

    /// True if ACKs have the number of marks.
    #[inline(always)]
    pub fn counts(&self) -> bool {
        self.seen.is_some()
    }

    /// Reads the number of marks in an ACK that delivers `delivered` segments. Returns the ACK with the echo that it amounts to,
    /// and the number of marked segments; without this feedback, an echo reports marks of all.
    #[inline(never)]
    pub fn read(&mut self, packet: &Packet, delivered: u32) -> (Packet, u32) {
        match &mut self.seen {
            None => (*packet, delivered),
            Some(seen) => {
                let marked = seen.on_ack(packet.flags(), delivered, self.option.take().as_ref());
                (packet.echoing(marked > 0), marked)
            }
        }
    }

    /// True if the receiver repeats an echo until the sender responds.
    pub fn is_classic(&self) -> bool {
        self.mode == Mode::Classic
    }

    /// Takes the option of an ACK, which [`Marks::read`] reads.
    pub fn set_option(&mut self, option: AccEcnOption) {
        self.option = (option.count > 0).then_some(option);
    }

    /// Takes the loss of a SYN: a repeated SYN does not ask for the echo of RFC 3168 (section 6.1.1.1).
    pub fn on_lost_syn(&mut self) {
        if self.is_classic() && !self.counts() {
            (self.mode, self.data) = (Mode::Off, 0);
        }
    }

    /// Content of a SYN after others were lost.
    pub fn asks(&self, lost: u32) -> Told {
        let asks = self.counts() && lost < negotiation::ATTEMPTS;
        Told { flags: if asks { negotiation::ACCURATE } else { 0 }, has_option: false }
    }

    /// Takes a SYN-ACK. Returns what its ACK says, and true if the SYN was marked.
    ///
    /// # Panics
    /// If the network has changed the codepoint of the SYN in an invalid way, which would be a defect of the engine.
    pub fn settle(&mut self, answer: &Packet) -> (Told, bool) {
        let told = answer.told();
        if !self.counts() {
            return (Told::default(), false);
        }
        let feedback = negotiation::settled(told.flags);
        if feedback == Feedback::Accurate {
            let syn = Codepoint::reported(told.flags);
            let sent = if self.on_opening() == 0 { Codepoint::NotEct } else { Codepoint::Ect0 };
            assert!(syn.is_none_or(|syn| sent.may_become(syn)), "a SYN sent as {sent:?} arrived as {syn:?}");
            let flags = Codepoint::of(answer).report();
            return (Told { flags, has_option: told.has_option }, syn == Some(Codepoint::Ce));
        }
        self.seen = None;
        // An algorithm that needs each mark cannot use an echo, and sends packets that are not ECN-capable (RFC 9331 section
        // 4.2).
        if feedback == Feedback::Off || !self.is_classic() {
            (self.mode, self.data) = (Mode::Off, 0);
        }
        (Told::default(), false)
    }

    /// Takes the echo of a mark by an ACK of the segments below `cumulative`.
    pub fn on_echo(&self, cumulative: u32) -> Echo {
        match self.mode {
            Mode::Accurate => Echo::Reported,
            Mode::Classic if cumulative > self.until => Echo::Fresh,
            Mode::Classic => Echo::Answered,
            Mode::Off => Echo::Ignored,
        }
    }

    /// Takes a response to a mark or a loss, which also answers the marks of all segments below `next`.
    pub fn on_response(&mut self, next: u32) {
        if self.is_classic() {
            (self.answered, self.until) = (!self.counts(), next);
        }
    }

    /// Takes a reduction of the window, which Linux signals to every receiver with RFC 3168's code points, whatever its cause
    /// (`tcp_init_cwnd_reduction`, `tcp_enter_loss`).
    pub fn on_reduction(&mut self) {
        // With the counter of RFC 9768, the bit has another meaning.
        self.answered |= self.data == flag::ECT0 && !self.counts();
    }

    /// Takes back the signal of a reduction that was undone before it was sent (`tcp_ecn_withdraw_cwr`).
    pub fn on_undo(&mut self) {
        self.answered = false;
    }

    /// Flags of the first new segment of a transmission; it reports an earlier reduction of the window (CWR).
    #[inline(always)]
    pub fn on_first(&mut self) -> u8 {
        if self.answered {
            self.answered = false;
            return self.data | flag::CWR;
        }
        self.data
    }

    /// Flags of a SYN: an algorithm with its own form of ECN sends ECN-capable SYNs in Linux (`tcp_ecn_send_syn`).
    pub fn on_opening(&self) -> u8 {
        if self.mode == Mode::Accurate { self.data & flag::ECT0 } else { 0 }
    }

    /// Flags of the other new segments.
    pub fn on_data(&self) -> u8 {
        self.data
    }

    /// Flags of a retransmission, which is not ECN-capable under classic ECN (RFC 3168 section 6.1.5). With accurate
    /// feedback, all packets of a Linux host are (`tcp_ecn_send`).
    pub fn on_retransmission(&self) -> u8 {
        let is_capable = self.mode == Mode::Accurate || (self.is_linux && self.counts());
        flag::RETRANSMIT | if is_capable { self.data } else { 0 }
    }
}
