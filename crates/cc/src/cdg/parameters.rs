//! Parameters and states that the two forms of CDG share.

use crate::observe::states;
use crate::param::{flag, num, params};

params! {
    /// Parameters of CDG.
    pub struct CdgParams {
        /// Round trips whose gradients are summed; a power of two.
        window: f64 = num(8.0, 1.0, 256.0, Unit::RoundTrips), "Linux tcp_cdg.c window";
        /// Fraction of the window kept at a back-off.
        backoff_beta: f64 = num(724.0 / 1024.0, 0.1, 1.0, Unit::None), "Linux tcp_cdg.c backoff_beta: the root of a half";
        /// Factor f of the back-off probability 1 - exp(-f × summed gradient).
        backoff_factor: f64 = num(42.0, 0.0, 1e6, Unit::PerSecond), "Linux tcp_cdg.c backoff_factor; the paper's G of 3 ms";
        /// Back-offs without effect after which the gradient is ignored; 0: it is never ignored.
        use_ineff: f64 = num(5.0, 0.0, 1e3, Unit::None), "Linux tcp_cdg.c use_ineff; Hayes & Armitage 2011";
        /// Keep a shadow window, the window without back-offs. A loss reduces the window to half of the shadow window,
        /// if that is not an increase.
        use_shadow: bool = flag(true), "Linux tcp_cdg.c use_shadow; Hayes & Armitage 2011";
        /// Ignore a loss while the queue does not seem to be full.
        use_tolerance: bool = flag(false), "Linux tcp_cdg.c use_tolerance";
        /// Leave slow start when ACK trains or delays indicate a full pipe.
        hystart: bool = flag(true), "Linux tcp_cdg.c hystart_detect";
    }
}

states! {
    /// State of the queue, inferred from the gradients.
    pub(super) enum Queue {
        Unknown = "unknown",
        NotFull = "not_full",
        Full = "full",
    }
}

/// The values of the internal variables; the sums of the gradients are in s.
pub(super) struct Report {
    pub(super) sums: (f64, f64),
    pub(super) queue: Queue,
    pub(super) shadow: f64,
    pub(super) ineffectual: f64,
    pub(super) backing_off: bool,
}
