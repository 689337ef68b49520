//! Parameters of BBR.

use crate::param::{flag, num, params};

params! {
    /// Parameters of BBR.
    pub struct BbrParams {
        /// Pacing gain and window gain in Startup.
        startup_gain: f64 = num(2.0 / std::f64::consts::LN_2, 1.0, 10.0, Unit::None), "ACM Queue 2016; 2/ln 2";
        /// Pacing gain in Drain, which empties the queue that Startup left.
        drain_gain: f64 = num(std::f64::consts::LN_2 / 2.0, 0.01, 1.0, Unit::None), "ACM Queue 2016; ln 2/2";
        /// Pacing gain of the phase that probes for more bandwidth.
        probe_gain: f64 = num(1.25, 1.0, 10.0, Unit::None), "ACM Queue 2016";
        /// Pacing gain of the phase after the probe, which drains the probe's queue.
        yield_gain: f64 = num(0.75, 0.01, 1.0, Unit::None), "ACM Queue 2016";
        /// Window gain outside Startup and Drain.
        cwnd_gain: f64 = num(2.0, 1.0, 10.0, Unit::None), "ACM Queue 2016; Linux tcp_bbr.c";
        /// Length of the maximum filter of the delivery rate.
        bandwidth_rounds: f64 = num(10.0, 1.0, 1e3, Unit::RoundTrips), "Linux tcp_bbr.c (a gain cycle and 2)";
        /// Lifetime of the smallest RTT.
        min_rtt_window: f64 = num(10.0, 0.1, 1e4, Unit::Seconds), "ACM Queue 2016; Linux tcp_bbr.c";
        /// Time in ProbeRTT, with `min_window` in flight, after the smallest RTT expired.
        probe_rtt_time: f64 = num(0.2, 0.0, 10.0, Unit::Seconds), "ACM Queue 2016; Linux tcp_bbr.c";
        /// Smallest window.
        min_window: f64 = num(4.0, 1.0, 100.0, Unit::Segments), "ACM Queue 2016; Linux tcp_bbr.c";
        /// Growth factor of the bandwidth in a round; after a smaller growth the pipe may be full.
        full_growth: f64 = num(1.25, 1.0, 10.0, Unit::None), "Linux tcp_bbr.c";
        /// Rounds in a row with a smaller growth after which the pipe counts as full.
        full_rounds: f64 = num(3.0, 1.0, 100.0, Unit::RoundTrips), "Linux tcp_bbr.c";
        /// Margin between bandwidth and pacing rate, as a fraction of the bandwidth.
        pacing_margin: f64 = num(0.01, 0.0, 0.5, Unit::None), "Linux tcp_bbr.c";
        /// Enlarge the window by three bursts of 1 ms each, for segmentation offload.
        offload_budget: bool = flag(true), "Linux tcp_bbr.c";
        /// Enlarge the window by the data that aggregated ACKs acknowledge beyond the bandwidth.
        ack_aggregation: bool = flag(true), "Linux tcp_bbr.c";
        /// Detect a policer's rate in rounds with many losses.
        policer: bool = flag(true), "Linux tcp_bbr.c";
        /// Linux's arithmetic: rates, gains, windows and times are whole numbers.
        integer: bool = flag(false), "Linux tcp_bbr.c";
    }
}
