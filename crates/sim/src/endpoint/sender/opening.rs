//! State of a connection that its sender opens.

use elephan_cc::Needs;

use crate::endpoint::linux::constants::SYN_LINEAR_TIMEOUTS;
use crate::endpoint::linux::jiffies::Interrupts;
use crate::endpoint::linux::rules::HostRules;
use crate::endpoint::read::read;
use crate::spec::{FlowSpec, StackSpec};
use crate::time::Time;

/// State of the opening.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// True if the sender makes a handshake before it sends data.
    is_needed: bool,
    /// Time of the start, or of the next SYN; [`Time::NEVER`] after the handshake.
    due: Time,
    /// Time of the first SYN.
    first: Time,
    timeout: Time,
    syns: u32,
    /// True if the first SYN may have data (TCP Fast Open), and if it had data.
    is_fast: bool,
    had_data: bool,
    /// SYN-ACKs that arrived, and ACKs of SYN-ACKs that left.
    answers: u32,
    acks: u32,
}

impl Opening {
    read!(is_needed: bool, due: Time, had_data: bool);

    /// The opening of a connection at `start`.
    pub fn new(flow: &FlowSpec, needs: Needs, start: Time) -> Self {
        Self {
            is_needed: flow.makes_handshake() && needs.router.is_none(),
            due: start,
            first: Time::NEVER,
            timeout: Time(flow.stack.initial_rto_ps),
            is_fast: flow.stack.fast_open,
            ..Self::default()
        }
    }

    /// True if the next SYN is the first.
    pub fn is_first(&self) -> bool {
        self.syns == 0
    }

    /// True if the next SYN may have data.
    pub fn may_have_data(&self) -> bool {
        self.syns == 0 && self.is_fast
    }

    /// Takes the data of the first SYN.
    pub fn on_data(&mut self) {
        self.had_data = true;
    }

    /// Forgets the cookie of an earlier connection, which lets a SYN have data.
    pub fn forget_cookie(&mut self) {
        self.is_fast = false;
    }

    /// Takes a SYN that leaves at `now`. Linux doubles the timeout after some timeouts only.
    pub fn on_syn(&mut self, now: Time, stack: &StackSpec, rules: HostRules, clock: Interrupts) {
        if self.syns == 0 {
            self.first = now;
        } else if !rules.linux || self.syns > SYN_LINEAR_TIMEOUTS {
            self.timeout = Time(self.timeout.0.saturating_mul(2)).min(Time(stack.max_rto_ps));
        }
        self.syns += 1;
        self.due = clock.expiry(now, self.timeout);
    }

    /// Takes a SYN-ACK. Returns true if it is the first, which the sender acknowledges.
    pub fn on_answer(&mut self) -> bool {
        let is_first = self.acks == 0;
        (self.answers, self.acks) = (self.answers + 1, 1);
        is_first
    }

    /// Ends the opening.
    pub fn end(&mut self) {
        self.due = Time::NEVER;
    }

    /// RTT that a SYN-ACK at `at` shows, which echoes the time `stamp`. After a repeated SYN only the echoed timestamp shows
    /// an RTT.
    pub fn rtt(&self, at: Time, stamp: Time, rules: HostRules, clock: Interrupts) -> Time {
        let is_exact = self.syns == 1 || !rules.linux;
        if is_exact { clock.rtt(at, stamp) } else { clock.rtt_of_timestamps(at, stamp) }
    }

    /// First window, segments, after a SYN-ACK that echoes the time `stamp`: one segment after the loss of a SYN (RFC 5681
    /// section 3.1) or a mark of it, as after a mark of a SYN-ACK (RFC 5562 section 3.2). Linux keeps the usual window after
    /// one loss, and if the SYN-ACK answers the first SYN (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`), and after a
    /// mark (`tcp_ecn_rcv_synack`).
    pub fn window(&self, stamp: Time, was_marked: bool, stack: &StackSpec, rules: HostRules) -> u32 {
        let lost = self.syns - 1;
        let is_small = if rules.linux { lost > 1 && stamp != self.first } else { lost > 0 || was_marked };
        if is_small { 1 } else { stack.initial_window }
    }

    /// SYNs that were lost before the next SYN.
    pub fn lost(&self) -> u32 {
        self.syns
    }

    /// SYNs after the first.
    pub fn repeats(&self) -> u64 {
        u64::from(self.syns.saturating_sub(1))
    }

    /// SYN-ACKs that arrived.
    pub fn answers(&self) -> u64 {
        self.answers.into()
    }

    /// Packets of the handshake that the sender has sent, without those that are counted as segments.
    pub fn sent(&self) -> u64 {
        u64::from(self.syns - u32::from(self.had_data)) + u64::from(self.acks)
    }
}
