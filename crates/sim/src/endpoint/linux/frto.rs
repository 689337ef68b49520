//! Detection of a spurious timeout (F-RTO, RFC 5682 section 3.1, with SACK), as in Linux 6.12 (`tcp_process_loss`).

/// Step of the detection after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FRto {
    /// The timeout is taken for a loss.
    Off,
    /// Waits for ACKs. The first one that advances releases new data instead of retransmissions; the next one decides.
    Waits,
    /// An ACK is handled that releases new data.
    SendsNew,
}

/// Evidence of an ACK after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// True if an original from before the timeout has arrived.
    pub original: bool,
    /// True if the ACK moves the left edge of the window.
    pub advances: bool,
    /// True if a segment is SACKed.
    pub has_sacks: bool,
}

impl FRto {
    /// Takes an ACK after which the segments from `una` to `next` are outstanding; those below `point` were at the timeout.
    /// Returns true if it shows that the timeout was spurious.
    pub fn on_ack(&mut self, shown: Shown, point: u32, una: u32, next: u32) -> bool {
        if *self == Self::Off || shown.original {
            return *self != Self::Off;
        }
        if next > point {
            *self = if shown.advances && !shown.has_sacks { Self::Waits } else { Self::Off };
        } else if shown.advances && una < point {
            *self = Self::SendsNew;
        }
        false
    }
}
