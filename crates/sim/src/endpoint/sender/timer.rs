//! The retransmission timer and the tail loss probe (RFC 6298 section 5, RFC 8985 section 7).

use crate::time::Time;

/// Retransmission timer, stored as the time of its last restart. The time of expiry is computed only when it may be
/// reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// Time of the last restart; [`Time::NEVER`] while no segment is outstanding.
    pub(super) armed: Time,
    /// `Some` if the timer counts from the transmission of the oldest segment: the time that was left at the restart.
    pub(super) left: Option<Time>,
    /// True if no tail loss probe was sent since the restart.
    pub(super) may_probe: bool,
    /// The segment after the last one that was sent when a tail loss probe left; 0 after an ACK of all these segments,
    /// a reduction of the window or a timeout. No other probe is sent before (`tlp_high_seq`).
    pub(super) probed: u32,
    /// True if the last tail loss probe was a retransmission.
    pub(super) has_resent_probe: bool,
    /// Start of the probe timeout: the last ACK or transmission of new data.
    pub(super) probe_from: Time,
    /// `Some` if a SACK has arrived in a reduction of the window since the restart: the expiry of the probe. Neither the
    /// RTT of the SACKed segment nor a recovery that begins changes it, unless a segment is sent that restarts the timer.
    pub(super) probe_at: Option<Time>,
    /// True if new data were sent since the last restart.
    pub(super) has_sent: bool,
    /// True if a transmission restarted the timer, and not an ACK.
    pub(super) by_sending: bool,
    /// Additional time until the timeout: whole jiffies until pacing allows a segment (`tcp_pacing_delay`).
    pub(super) delay: Time,
    /// The same for the probe.
    pub(super) probe_delay: Time,
    /// Number of the timer interrupt at which a timer of the sender last expired.
    pub(super) expired: Option<u64>,
    /// Lower bound of the timeout.
    pub(super) shortest: Time,
}

impl RetransmissionTimer {
    pub(super) fn new(shortest: Time) -> Self {
        Self {
            armed: Time::NEVER,
            left: None,
            may_probe: false,
            probed: 0,
            has_resent_probe: false,
            probe_from: Time::ZERO,
            probe_at: None,
            has_sent: false,
            by_sending: false,
            delay: Time::ZERO,
            probe_delay: Time::ZERO,
            expired: None,
            shortest,
        }
    }
}
