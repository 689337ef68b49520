//! A host: many ends of flows behind one clock, such as a whole kernel in virtual time.
//!
//! ```text
//!   take_turn(arrivals, horizon) ──► ┌──────────────────────┐ ──► Way::send      packets of any of its ends
//!                                    │ host (one clock)     │ ◄─► Way::beside    data beside a flow's packets
//!                        timer() ◄── └──────────────────────┘
//! ```
//!
//! The ends of a host cannot take turns one after the other, as those of endpoints do, since its clock does not go back. So all of
//! them are one node of the plan of turns, and the host has the events of all ends in one order.

use crate::packet::{FlowId, Packet};
use crate::sidecar::Sidecar;
use crate::time::Time;

/// Way out of a host during its turn.
pub trait Way {
    /// Sends a packet from the end that its flow and its direction name; it leaves at `packet.at`, which is in this turn, and not
    /// before one that was sent earlier.
    fn send(&mut self, packet: Packet);

    /// Data that travels beside the packets of a flow.
    fn beside(&mut self, flow: FlowId) -> &mut Sidecar;

    /// True if so many packets more fit into the memory that packets may take. If not, the run ends.
    fn has_room_for(&mut self, packets: u32) -> bool;
}

/// Both ends of some flows, behind one clock.
pub trait Host: std::fmt::Debug + Send {
    /// When it next acts by itself; [`Time::NEVER`] if only an arrival makes it.
    fn timer(&self) -> Time;

    /// All of its events before `horizon`: its timers, and these arrivals, which are in the order of time, then of flows.
    fn take_turn(&mut self, arrivals: &[Packet], horizon: Time, way: &mut dyn Way);

    /// The run is over.
    fn finish(&mut self);
}
