//! Negotiation of ECN by the flags AE, CWR and ECE of a handshake (RFC 9768, tables 2 to 4; RFC 3168 section 6.1.1).
//!
//! Data flow one way only, from the client to the server. The server therefore needs no counter of its own marked packets
//! (s.cep of table 4), and reads from the last ACK of the handshake only how its SYN-ACK arrived.

use crate::packet::{Packet, flag};
use crate::spec::ReceiverEcn;

/// Flags of a SYN that asks for accurate feedback, and of one that asks for an echo.
pub const ACCURATE: u8 = 0b111;
pub const CLASSIC: u8 = 0b011;
/// Flags of a SYN-ACK that agrees to an echo.
const AGREES: u8 = 0b001;
/// SYNs that ask for accurate feedback, and SYN-ACKs that agree to it; later ones have no flags (sections 3.1.4.1 and
/// 3.2.3.2.2).
pub const ATTEMPTS: u32 = 2;

/// Codepoint of the ECN field of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    #[default]
    NotEct,
    Ect1,
    Ect0,
    Ce,
}

impl Codepoint {
    /// All codepoints.
    const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// The codepoint of a packet.
    pub fn of(packet: &Packet) -> Self {
        match packet.flags() {
            _ if packet.is_marked() => Self::Ce,
            flags if flags & flag::ECT1 != 0 => Self::Ect1,
            flags if flags & flag::ECT0 != 0 => Self::Ect0,
            _ => Self::NotEct,
        }
    }

    /// Flags by which a handshake reports the codepoint of a SYN or of a SYN-ACK (table 3).
    pub fn report(self) -> u8 {
        match self {
            Self::NotEct => 0b010,
            Self::Ect1 => 0b011,
            Self::Ect0 => 0b100,
            Self::Ce => 0b110,
        }
    }

    /// The codepoint that flags report (table 4); the other values are not in use.
    pub fn reported(flags: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|codepoint| codepoint.report() == flags)
    }

    /// True if the network may change the codepoint into this one (section 3.2.2.3).
    pub fn may_become(self, other: Self) -> bool {
        self == other || (matches!(self, Self::Ect0 | Self::Ect1) && other != Self::NotEct)
    }
}

/// Feedback of marks that a host gives and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The counters of RFC 9768.
    Accurate,
    /// The echo of RFC 3168.
    Classic,
    /// None: packets are not ECN-capable.
    Off,
}

/// The feedback of a server that supports a form of ECN, and the flags of its SYN-ACK, after a SYN with flags that arrived
/// with a codepoint.
pub fn answer(supports: ReceiverEcn, asked: u8, syn: Codepoint) -> (Feedback, u8) {
    let is_classic = asked & CLASSIC == CLASSIC;
    match supports {
        ReceiverEcn::Broken => (Feedback::Off, asked),
        ReceiverEcn::None => (Feedback::Off, 0),
        _ if asked == 0 => (Feedback::Off, 0),
        ReceiverEcn::Accurate if asked == CLASSIC => (Feedback::Classic, AGREES),
        // Other combinations of flags are kept for later forms of accurate feedback (section 3.1.3).
        ReceiverEcn::Accurate => (Feedback::Accurate, syn.report()),
        ReceiverEcn::Classic if is_classic => (Feedback::Classic, AGREES),
        ReceiverEcn::Classic => (Feedback::Off, 0),
    }
}

/// The feedback of a client that has asked for accurate feedback, after a SYN-ACK with flags.
pub fn settled(answered: u8) -> Feedback {
    match answered {
        0b000 | 0b111 => Feedback::Off,
        AGREES => Feedback::Classic,
        _ => Feedback::Accurate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_and_a_server_agree_as_in_table_2() {
        use Feedback::{Accurate, Classic, Off};
        // Support of the server, flags of the SYN, its codepoint, flags of the SYN-ACK, feedback.
        for (supports, asked, syn, answered, feedback) in [
            (ReceiverEcn::Accurate, 0b111, Codepoint::NotEct, 0b010, Accurate),
            (ReceiverEcn::Accurate, 0b111, Codepoint::Ect1, 0b011, Accurate),
            (ReceiverEcn::Accurate, 0b111, Codepoint::Ect0, 0b100, Accurate),
            (ReceiverEcn::Accurate, 0b111, Codepoint::Ce, 0b110, Accurate),
            (ReceiverEcn::Classic, 0b111, Codepoint::NotEct, 0b001, Classic),
            (ReceiverEcn::None, 0b111, Codepoint::NotEct, 0b000, Off),
            (ReceiverEcn::Accurate, 0b011, Codepoint::NotEct, 0b001, Classic),
            (ReceiverEcn::Accurate, 0b000, Codepoint::NotEct, 0b000, Off),
            (ReceiverEcn::Broken, 0b111, Codepoint::NotEct, 0b111, Off),
        ] {
            assert_eq!(answer(supports, asked, syn), (feedback, answered), "{supports:?} {asked:03b} {syn:?}");
            if asked == ACCURATE {
                assert_eq!(settled(answered), feedback, "{answered:03b}");
            }
        }
    }

    #[test]
    fn reserved_flags_are_taken_for_accurate_feedback() {
        // Section 3.1.3: of a SYN all but 000, 011 and 111, and of a SYN-ACK 101.
        for asked in [0b001, 0b010, 0b100, 0b101, 0b110] {
            let feedback = answer(ReceiverEcn::Accurate, asked, Codepoint::NotEct);
            assert_eq!(feedback, (Feedback::Accurate, 0b010), "{asked:03b}");
        }
        assert_eq!(settled(0b101), Feedback::Accurate);
    }

    #[test]
    fn the_last_ack_reports_the_codepoint_of_the_syn_ack_as_in_tables_3_and_4() {
        let reported: Vec<Option<Codepoint>> = (0..8).map(Codepoint::reported).collect();
        let [not_ect, ect1, ect0, ce] = Codepoint::ALL.map(Some);
        assert_eq!(reported, [None, None, not_ect, ect1, ect0, None, ce, None]);
    }

    #[test]
    fn a_codepoint_changes_only_from_capable_to_capable_or_marked() {
        let [not_ect, ect1, ect0, ce] = Codepoint::ALL;
        for codepoint in Codepoint::ALL {
            assert_eq!(not_ect.may_become(codepoint), codepoint == not_ect);
            assert_eq!(ce.may_become(codepoint), codepoint == ce);
            assert_eq!(ect0.may_become(codepoint) && ect1.may_become(codepoint), codepoint != not_ect);
        }
    }
}
