//! Parameters of Westwood+.

use crate::param::{choice, choices, flag, num, params};

choices! {
    /// Smoothing of the bandwidth samples:
    /// * `single`: smoothed once, with `pole`.
    /// * `twice`: smoothed twice, with 7/8 each (Linux).
    pub enum Filter { Single = "single", Twice = "twice" }

    /// Use of the estimate after a loss:
    /// * `at-once`: the window becomes the estimate at once, unless the window is smaller.
    /// * `at-exit`: the window is halved, and becomes the estimate when recovery ends (Linux).
    /// * `floor`: the window is halved; the estimate is only the smallest window in recovery (ns-2's TCP/Linux).
    pub enum Response { AtOnce = "at-once", AtExit = "at-exit", Floor = "floor" }
}

params! {
    /// Parameters of Westwood+.
    pub struct WestwoodParams {
        /// Smoothing of the bandwidth samples: once or twice.
        filter: Filter = choice("single", Filter::WORDS), "Grieco & Mascolo 2004 (unverified); ns-3; Linux has twice";
        /// Weight of the old value with `single` smoothing.
        pole: f64 = num(0.9, 0.0, 0.999, Unit::None), "Grieco & Mascolo 2004 (unverified); ns-3";
        /// Shortest time over which bandwidth is sampled; otherwise one RTT.
        sample_min: f64 = num(0.05, 0.0, 10.0, Unit::Seconds), "Linux tcp_westwood.c";
        /// Use of the estimate on a loss.
        response: Response = choice("at-once", Response::WORDS), "Grieco & Mascolo 2004; Linux has at-exit";
        /// Set the threshold to the estimate at a timeout; off: to half of the window.
        estimate_on_timeout: bool = flag(true), "Grieco & Mascolo 2004; Linux since 2.6.24";
        /// Forget the smallest RTT at a timeout.
        relearn_rtt: bool = flag(false), "Linux has it on since 2.6.24";
    }
}
