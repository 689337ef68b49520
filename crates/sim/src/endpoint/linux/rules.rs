//! Rules of Linux that a host has, looked up once in its stack: a bit costs less than a search for each segment.

use crate::spec::{HostRule, StackSpec};

/// Rules of a host besides loss detection.
#[derive(Clone, Copy, Debug)]
pub struct HostRules {
    /// True for a Linux host, with the rules that cannot be removed.
    pub linux: bool,
    /// Bits of the rules that it has.
    held: u32,
}

impl HostRules {
    /// The rules of a stack's hosts.
    pub fn of(stack: &StackSpec) -> Self {
        let bits = HostRule::ALL.into_iter().filter(|&rule| stack.has(rule)).map(|rule| 1 << rule as u32);
        Self { linux: stack.is_linux(), held: bits.sum() }
    }

    /// True if the host has a rule.
    pub fn has(self, rule: HostRule) -> bool {
        self.held & (1 << rule as u32) != 0
    }
}
