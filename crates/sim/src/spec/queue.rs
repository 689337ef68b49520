//! What a spec says of a queue.

use elephan_cc::Router;
use serde::Deserialize;

/// A queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QueueSpec {
    /// First in, first out; a packet that does not fit is dropped.
    #[serde(rename = "droptail")]
    DropTail {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Whether the packet in transmission counts as waiting.
        #[serde(default)]
        count_in_service: bool,
    },
    /// Drop-tail that marks ECN-capable packets which find a threshold reached.
    Threshold {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Whether the packet in transmission counts as waiting.
        #[serde(default)]
        count_in_service: bool,
        /// Packets from which arrivals are marked.
        #[serde(default)]
        mark_packets: Option<u64>,
        /// Bytes from which arrivals are marked.
        #[serde(default)]
        mark_bytes: Option<u64>,
    },
    /// Random early detection.
    Red {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Whether the packet in transmission counts as waiting.
        #[serde(default)]
        count_in_service: bool,
        /// Average below which nothing is dropped, packets.
        min_packets: f64,
        /// Average from which everything is dropped, packets.
        max_packets: f64,
        /// Probability there.
        max_p: f64,
        /// Weight of an arrival in the average.
        weight: f64,
        /// The probability rises to 1 up to twice the upper threshold.
        gentle: bool,
        /// The probability at the upper threshold moves.
        adaptive: bool,
        /// Mark and do not drop.
        ecn: bool,
    },
    /// Proportional integral controller enhanced, RFC 8033.
    Pie {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Whether the packet in transmission counts as waiting.
        #[serde(default)]
        count_in_service: bool,
        /// Delay aimed at, ps.
        target_ps: u64,
        /// Distance of updates, ps.
        update_ps: u64,
        /// 1/s.
        alpha: f64,
        /// 1/s.
        beta: f64,
        /// Allowance for bursts, ps.
        burst_ps: u64,
        /// Probability up to which packets are marked and not dropped.
        mark_threshold: f64,
    },
    /// Controlled delay, RFC 8289.
    Codel {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Delay that may stand, ps.
        target_ps: u64,
        /// How long it may, ps.
        interval_ps: u64,
        /// Mark and do not drop.
        ecn: bool,
    },
    /// Flow queues with controlled delay, RFC 8290.
    FqCodel {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Delay that may stand, ps.
        target_ps: u64,
        /// How long it may, ps.
        interval_ps: u64,
        /// Mark and do not drop.
        ecn: bool,
        /// Number of queues.
        queues: u32,
        /// Bytes a turn.
        quantum: u32,
    },
    /// Dual queue coupled AQM, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Classic delay aimed at, ps.
        target_ps: u64,
        /// Distance of updates, ps.
        update_ps: u64,
        /// 1/s.
        alpha: f64,
        /// 1/s.
        beta: f64,
        /// k.
        coupling: f64,
        /// Scalable delay from which all is marked, ps.
        step_ps: u64,
        /// Least part of the rate for the classic queue.
        classic_share: f64,
    },
    /// An XCP router.
    Xcp {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Part of the spare capacity handed out in a mean RTT.
        alpha: f64,
        /// Part of the standing queue taken back in a mean RTT.
        beta: f64,
        /// Part of the traffic shared out anew in a mean RTT.
        gamma: f64,
        /// Mean propagation delays for which a queue that is standing never is empty.
        standing: f64,
    },
    /// A VCP router.
    Vcp {
        /// Packets that may wait.
        limit_packets: Option<u64>,
        /// Bytes that may wait.
        limit_bytes: Option<u64>,
        /// Interval over which the load is measured, ps.
        t_rho_ps: u64,
        /// Distance of samples of the queue, ps.
        t_q_ps: u64,
        /// Part of the persistent queue that counts as load.
        kq: f64,
        /// Part of the capacity aimed at.
        gamma: f64,
    },
}

impl QueueSpec {
    /// Bounds in packets and in bytes.
    #[must_use]
    pub fn limits(&self) -> (Option<u64>, Option<u64>) {
        match *self {
            Self::DropTail { limit_packets, limit_bytes, .. }
            | Self::Threshold { limit_packets, limit_bytes, .. }
            | Self::Red { limit_packets, limit_bytes, .. }
            | Self::Pie { limit_packets, limit_bytes, .. }
            | Self::Codel { limit_packets, limit_bytes, .. }
            | Self::DualPi2 { limit_packets, limit_bytes, .. }
            | Self::Xcp { limit_packets, limit_bytes, .. }
            | Self::Vcp { limit_packets, limit_bytes, .. } => (limit_packets, limit_bytes),
            Self::FqCodel { limit_packets, .. } => (limit_packets, None),
        }
    }

    /// The kind of router that it is, for the algorithms that need one.
    #[must_use]
    pub fn router(&self) -> Option<Router> {
        match self {
            Self::Xcp { .. } => Some(Router::Xcp),
            Self::Vcp { .. } => Some(Router::Vcp),
            _ => None,
        }
    }
}
