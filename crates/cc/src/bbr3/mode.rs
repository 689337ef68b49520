//! States of BBR version 3, and what a spurious loss restores.

use crate::observe::states;

states! {
    /// The state, under the draft's names.
    pub(super) enum Mode {
        Startup = "Startup",
        Drain = "Drain",
        Down = "ProbeBW_DOWN",
        Cruise = "ProbeBW_CRUISE",
        Refill = "ProbeBW_REFILL",
        Up = "ProbeBW_UP",
        ProbeRtt = "ProbeRTT",
    }
}

impl Mode {
    pub(super) fn probes_bandwidth(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }

    pub(super) fn in_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }
}

/// Stage of a probe to which the arriving ACKs belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State that a spurious loss restores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub mode: Option<Mode>,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
}

pub(super) const NO_UNDO: Undo =
    Undo { mode: None, bw_shortterm: 0.0, inflight_shortterm: 0.0, inflight_longterm: 0.0 };
