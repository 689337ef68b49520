//! Events that an endpoint reports to an algorithm, besides ACKs.

use crate::detail::{Detail, events};
use crate::linux;
use crate::reports::{Lost, Sent, Signal, Start};

events! {
    /// An event of a connection, besides its ACKs. An algorithm handles what its rules are about and leaves the rest; a
    /// wrapper forwards every event, those that are added later too.
    #[non_exhaustive]
    pub enum Event {
        /// The connection begins.
        Start(start: Start) = "on_start",
        /// A loss or a mark shows congestion, once for each recovery: set `ssthresh`, and the window at the end of the
        /// recovery.
        Congestion(signal: Signal) = "on_congestion",
        /// The retransmission timer expires: set `ssthresh`, and restart the window.
        Timeout(signal: Signal) = "on_timeout",
        /// Sending resumes after nothing was outstanding for longer than one RTO.
        Idle {
            /// Seconds.
            now: f64,
            /// Time without outstanding segments, s.
            idle: f64,
        } = "on_idle",
        /// A segment is sent; only with [`Needs::sends`](crate::Needs::sends).
        Sent(sent: Sent) = "on_sent",
        /// A segment is lost; one that is lost again after its retransmission is reported again. Comes before
        /// [`Event::Congestion`] and before [`on_ack`](crate::Algorithm::on_ack) for the same ACK. Only with
        /// [`Needs::losses`](crate::Needs::losses).
        Lost(lost: Lost) = "on_lost",
        /// The endpoint's recovery rule ends at a window, to which the algorithm lowers its own; a larger one has no
        /// effect. `ssthresh` stays.
        Moderate {
            /// Window at which the recovery ends, segments.
            window: f64,
        } = "moderate",
        /// A recovery turns out to be spurious, but a mark has shown congestion, so nothing is restored (Linux's
        /// `tcp_enter_cwr`): the window becomes `window`, and `ssthresh` stays.
        Keep {
            /// Window of the endpoint's recovery rule, segments.
            window: f64,
        } = "keep",
        /// A recovery ends: all segments outstanding at the congestion signal or the timeout are acknowledged.
        RecoveryExit {
            /// Seconds.
            now: f64,
        } = "on_recovery_exit",
        /// The last congestion signal or timeout turns out to be spurious: restore the state before it.
        Undo {
            /// Seconds.
            now: f64,
        } = "on_undo",
    }
    /// An event of a Linux host alone.
    Linux(linux::Event)
}
