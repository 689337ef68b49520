//! State of a connection that its sender opens.

use crate::spec::StackSpec;
use crate::time::Time;

/// State of the opening.
#[derive(Debug)]
pub(super) struct Opening {
    /// True if the sender makes a handshake before it sends data.
    pub(super) is_needed: bool,
    /// Time of the start, or of the next SYN; [`Time::NEVER`] after the handshake.
    pub(super) due: Time,
    /// Time of the first SYN.
    pub(super) first: Time,
    pub(super) timeout: Time,
    pub(super) syns: u32,
    /// True if the first SYN may have data (TCP Fast Open), and if it had data.
    pub(super) is_fast: bool,
    pub(super) had_data: bool,
    /// SYN-ACKs that arrived, and ACKs of SYN-ACKs that left.
    pub(super) answers: u32,
    pub(super) acks: u32,
}

impl Opening {
    /// The opening of a connection at `start`.
    pub(super) fn new(stack: &StackSpec, is_needed: bool, start: Time) -> Self {
        Self {
            is_needed,
            due: start,
            first: Time::NEVER,
            timeout: Time(stack.initial_rto_ps),
            syns: 0,
            is_fast: stack.fast_open,
            had_data: false,
            answers: 0,
            acks: 0,
        }
    }

    /// SYNs after the first.
    pub(super) fn repeats(&self) -> u64 {
        u64::from(self.syns.saturating_sub(1))
    }

    /// Packets of the handshake that the sender has sent, without those that are counted as segments.
    pub(super) fn sent(&self) -> u64 {
        u64::from(self.syns - u32::from(self.had_data)) + u64::from(self.acks)
    }
}
