//! Routers that assist an algorithm: what a segment asks of them, and what they answer.

use crate::observe::states;

/// Kind of router without which an algorithm cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// Each segment carries a [`Algorithm::request`](crate::Algorithm::request), and routers answer with [`Answer::Feedback`] (XCP).
    Xcp,
    /// Routers write their load into the two ECN bits of each segment ([`Answer::Load`], VCP).
    Vcp,
}

impl Router {
    /// Name of the kind, common to the algorithm and the queue discipline.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Router::Xcp => "xcp",
            Router::Vcp => "vcp",
        }
    }
}

/// Fields of a segment's congestion header that the sender fills in for XCP routers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Round-trip time, s; 0 while it is unknown.
    pub rtt: f64,
    /// Congestion window, segments.
    pub window: f64,
    /// Increase of the sending rate that the sender wants from this segment, segments/s.
    pub increase: f64,
}

states! {
    /// Load of the most loaded VCP router on a path.
    #[derive(PartialOrd, Ord)]
    pub enum Load {
        /// Below 80 % of the router's target utilization.
        Low = "low",
        /// From 80 % to 100 % of the target utilization.
        High = "high",
        /// Above the target utilization.
        Overload = "overload",
    }
}

/// Answer of the routers on a path to the segments that one ACK acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Change of the sending rate that XCP routers request, segments/s, summed over the acknowledged segments.
    Feedback(f64),
    /// Load that VCP routers report.
    Load(Load),
}
