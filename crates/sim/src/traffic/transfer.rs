//! One transfer of a source.

use crate::record::SenderTotals;
use crate::time::Time;

/// A transfer, and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// When it began.
    pub start: Time,
    /// Its length.
    pub segments: u32,
    /// Its propagation delay there and back.
    pub rtt: Time,
    /// When its last segment was acknowledged; [`Time::NEVER`] where the run ended before.
    pub completed: Time,
    /// User that made the transfer, if there are users.
    pub user: Option<u32>,
    /// Counters of its sender.
    pub totals: SenderTotals,
}
