//! One transfer of a source.

use crate::record::SenderTotals;
use crate::time::Time;

/// A transfer, and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Start time.
    pub start: Time,
    /// Length, segments.
    pub segments: u32,
    /// Propagation round-trip time.
    pub rtt: Time,
    /// Time at which the transfer's last segment was acknowledged; [`Time::NEVER`] if the run ended before.
    pub completed: Time,
    /// User that made the transfer, if there are users.
    pub user: Option<u32>,
    /// Totals of the transfer's sender.
    pub totals: SenderTotals,
}
