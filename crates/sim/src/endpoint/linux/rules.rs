//! Rules of Linux that a sender has, looked up once in its stack: a flag costs less than a search for each segment.

use crate::spec::{HostRule, StackSpec};

/// Rules of a host besides loss detection; each field but the first is a [`HostRule`].
#[derive(Clone, Copy, Debug)]
pub struct HostRules {
    /// True for a Linux host, with the rules that cannot be removed.
    pub linux: bool,
    pub timer_restart: bool,
    pub rtt_samples: bool,
    pub window_validation: bool,
    pub idle_restart: bool,
    pub cwr: bool,
    pub f_rto: bool,
    pub d_sack: bool,
    pub undo: bool,
}

impl HostRules {
    /// The rules of a stack's hosts.
    pub fn of(stack: &StackSpec) -> Self {
        Self {
            linux: stack.is_linux(),
            timer_restart: stack.has(HostRule::TimerRestart),
            rtt_samples: stack.has(HostRule::RttSamples),
            window_validation: stack.has(HostRule::WindowValidation),
            idle_restart: stack.has(HostRule::IdleRestart),
            cwr: stack.has(HostRule::Cwr),
            f_rto: stack.has(HostRule::FRto),
            d_sack: stack.has(HostRule::DSack),
            undo: stack.has(HostRule::Undo),
        }
    }
}
