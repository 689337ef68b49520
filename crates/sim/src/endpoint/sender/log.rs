//! The event log of a sender.

use std::ops::Range;

use crate::events::Log;

/// The log, and its rows for ACKs that arrive at the current instant. The rows for ACKs are completed later, since they
/// contain the sender's state after the instant of arrival.
#[derive(Debug)]
pub(super) struct SenderLog {
    pub(super) log: Log,
    pub(super) arrivals: Range<usize>,
}
