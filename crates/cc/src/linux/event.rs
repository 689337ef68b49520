//! Events of Linux's own hooks, which other hosts do not have.

use crate::ack::Ack;
use crate::detail::{Detail, events};
use crate::linux::reports::Restart;

events! {
    /// An event of a Linux host alone. A hook of Linux that is added here reaches each algorithm through
    /// [`Algorithm::on_event`](crate::Algorithm::on_event), and an algorithm in Python by the name at the end of its line.
    #[non_exhaustive]
    pub enum Event {
        /// An ACK begins a recovery. Linux calls its modules' `pkts_acked` before `ssthresh`, so this comes before
        /// [`Event::Congestion`](crate::Event::Congestion); [`on_ack`](crate::Algorithm::on_ack) follows with the same
        /// [`Sample`](super::Sample).
        Sample(ack: Ack) = "on_sample",
        /// A segment is sent while no segment is in flight (`CA_EVENT_TX_START`); only with
        /// [`Needs::restarts`](crate::Needs::restarts).
        Restart(restart: Restart) = "on_restart",
        /// Sending resumes after nothing was outstanding (`tcp_cwnd_restart`), in place of
        /// [`Event::Idle`](crate::Event::Idle) and after shorter idle times too; only with
        /// [`Needs::idle_timeouts`](crate::Needs::idle_timeouts).
        IdleTimeouts {
            /// Whole retransmission timeouts since the last transmission.
            timeouts: u32,
        } = "on_idle_timeouts",
        /// A loss turns a reduction of the window into a recovery (the state `CWR` into `Recovery`). The reduction began
        /// with [`Event::Congestion`](crate::Event::Congestion), which is not reported again. The endpoint follows a
        /// threshold that falls here.
        LossInReduction {
            /// Seconds.
            now: f64,
            /// Window of the endpoint's recovery rule, segments.
            window: f64,
        } = "on_loss_in_reduction",
    }
}
