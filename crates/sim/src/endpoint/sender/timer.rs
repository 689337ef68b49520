//! The retransmission timer and the tail loss probe (RFC 6298 section 5, RFC 8985 section 7).

use crate::time::Time;

/// When the timer was restarted. When it fires is only worked out when it might.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// [`Time::NEVER`] while nothing is outstanding.
    pub(super) armed: Time,
    /// True if a tail loss probe may still be sent since then.
    pub(super) may_probe: bool,
    /// Start of the probe timeout: the last ACK or transmission of new data.
    pub(super) probe_from: Time,
    /// No timeout is shorter.
    pub(super) shortest: Time,
}

impl RetransmissionTimer {
    pub(super) fn new(shortest: Time) -> Self {
        Self { armed: Time::NEVER, may_probe: false, probe_from: Time::ZERO, shortest }
    }
}
