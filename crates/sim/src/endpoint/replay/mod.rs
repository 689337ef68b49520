//! Replay of a capture: the sender of one algorithm is led by the ACKs and by the transmissions that a capture shows.
//!
//! The algorithm's own transmissions would soon differ from those of the captured sender, and every ACK would then be
//! for segments that the algorithm has not sent. So the segments outstanding, the losses, the RTTs and the delivery rates
//! are those of the capture at all times, and only the window and the pacing rate are the algorithm's. For each
//! segment, [`Followed::allowed`] is the time at which this window and this rate would have let it leave, given all that
//! left before it. A sender that runs the algorithm sends each segment at this time.
//!
//! Away from the sender, a capture bounds the times of transmissions, and lacks what was lost before it. The algorithm's
//! sender then sends by itself, within the bounds (`bounded.rs`).
//!
//! A retransmission timeout is taken from the capture, too, because the phase of its host's timer interrupts is unknown.

mod bounded;
mod branches;
mod follower;
mod script;
mod within;

use elephan_cc::{Algorithm, Controller};

pub use self::branches::Guesses;
use self::branches::follow_in_branches;
use self::follower::Follower;
pub use self::script::{Acked, Bounds, Burst, Captured, Departed, Departures, Event, Followed, Script};

/// Leads a sender with this algorithm through a capture.
///
/// The random numbers of the captured sender are unknown. An algorithm that draws some is followed by several senders with
/// different numbers, and after each stretch those that depart most from the capture continue from the others.
#[must_use]
pub fn follow(script: &Script, mut algorithm: Controller, guesses: Guesses) -> Followed {
    if algorithm.draws().is_some() {
        return follow_in_branches(script, &algorithm, guesses);
    }
    let mut follower = Follower::new(script, algorithm);
    for event in &script.events {
        follower.advance(event);
    }
    follower.finish();
    follower.into_followed()
}
