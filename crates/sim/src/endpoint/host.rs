//! A host: the ends of many flows with one common clock, such as a whole kernel in virtual time.
//!
//! ```text
//!   take_turn(arrivals, horizon) ──► ┌──────────────────────┐ ──► Way::send      packets of any of its ends
//!                                    │ host (one clock)     │ ◄─► Way::beside    data beside a flow's packets
//!                        timer() ◄── └──────────────────────┘
//! ```
//!
//! In a time slice, the engine runs other endpoints one after the other. The ends of a host cannot run one after the
//! other, since their common clock does not go back. Therefore the engine treats all ends of the host as a single node,
//! and the host gets their events in one order of time.

use crate::packet::{FlowId, Packet};
use crate::sidecar::Sidecar;
use crate::time::Time;

/// Output of a host while it handles its events of a time slice.
pub trait Way {
    /// Sends a packet from the end given by its flow and its direction. The packet leaves at `packet.at`, which is
    /// before the horizon of this turn, and not before a packet sent earlier.
    fn send(&mut self, packet: Packet);

    /// Data that accompanies a flow's packets outside the packets themselves.
    fn beside(&mut self, flow: FlowId) -> &mut Sidecar;

    /// True if this many additional packets fit into the memory for packets. Otherwise the run ends.
    fn has_room_for(&mut self, packets: u32) -> bool;
}

/// Both ends of some flows, with one clock.
pub trait Host: std::fmt::Debug + Send {
    /// Time of the host's next own action; [`Time::NEVER`] if it only reacts to arrivals.
    fn timer(&self) -> Time;

    /// Handles all of the host's events before `horizon`: its timers, and the given arrivals, ordered by time and then
    /// by flow.
    fn take_turn(&mut self, arrivals: &[Packet], horizon: Time, way: &mut dyn Way);

    /// Ends the run.
    fn finish(&mut self);
}
