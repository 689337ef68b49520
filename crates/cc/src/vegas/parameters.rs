//! Parameters of Vegas, and Linux 2.6's state of a round.

use crate::param::{choice, choices, flag, num, params};
use crate::round_trip::RoundRtt;

choices! {
    /// Formula of the segments that the flow has in queues:
    /// * `paper`: w (1 - base/rtt).
    /// * `ns2`: the paper's value, rounded to the nearest whole segment.
    /// * `linux`: w (rtt - base)/base, truncated.
    /// * `ns3`: the paper's value of a whole window, rounded up.
    /// * `linux-2.6`: the paper's value in halves of a segment, with the segments sent in the previous round as the
    ///   window.
    pub enum Diff { Paper = "paper", Ns2 = "ns2", Linux = "linux", Ns3 = "ns3", Linux26 = "linux-2.6" }
}

params! {
    /// Parameters of Vegas.
    pub struct VegasParams {
        /// Segments in queues below which the window grows.
        alpha: f64 = num(2.0, 0.0, 1e6, Unit::Segments), "Brakmo & Peterson 1995 (1 or 2); ns-2 has 1";
        /// Segments in queues above which the window shrinks.
        beta: f64 = num(4.0, 0.0, 1e6, Unit::Segments), "Brakmo & Peterson 1995 (3 or 4); ns-2 has 3";
        /// Segments in queues above which slow start ends.
        gamma: f64 = num(1.0, 0.0, 1e6, Unit::Segments), "Brakmo & Peterson 1995; ns-2; Linux";
        /// Formula of the segments in queues.
        diff: Diff = choice("paper", Diff::WORDS), "Brakmo & Peterson 1995; ns-2 tcp-vegas.cc; Linux tcp_vegas.c";
        /// RTT used for a round.
        round_rtt: RoundRtt = choice("mean", RoundRtt::WORDS), "ns-2: mean; Linux: min";
        /// Smallest number of samples of a round; after a round with fewer the flow behaves as standard TCP for one
        /// ACK.
        samples_min: f64 = num(1.0, 1.0, 1e3, Unit::None), "Linux has 3";
        /// Double the window every other round trip of slow start and measure in between.
        double_every_other: bool = flag(true), "Brakmo & Peterson 1995; Linux: every round trip";
        /// Spread an increase over the next round.
        spread_increase: bool = flag(false), "ns-2 tcp-vegas.cc";
        /// Fraction of the window given up on a loss; in ns-3's form the window falls to the threshold instead.
        decrease: f64 = num(0.25, 0.0, 1.0, Unit::None), "ns-2 tcp-vegas.cc; Linux has 0.5";
        /// Window after a timeout.
        timeout_window: f64 = num(1.0, 1.0, 10.0, Unit::Segments), "RFC 5681 §3.1; ns-2 has 2";
        /// Forget the base RTT when sending resumes after an idle period.
        forget_base: bool = flag(false), "Linux tcp_vegas.c";
    }
}

/// Smallest window, segments.
pub(super) const FLOOR: f64 = 2.0;

/// Linux 2.6's state of a round; segments are counted from the beginning of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Linux26 {
    /// Segments delivered so far.
    pub(super) una: f64,
    /// At the start of the round: lowest outstanding segment, next segment to be sent, and window.
    pub(super) begin_una: f64,
    pub(super) begin_next: f64,
    pub(super) begin_w: f64,
    /// True if a round begins with the next ACK in any case.
    pub(super) enable: bool,
    /// Segments acknowledged since standard TCP's last step.
    pub(super) counted: f64,
}
