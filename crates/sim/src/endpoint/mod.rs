//! The two ends of a flow. There are endpoints for TCP with SACK, modelled after Linux ([`Sender`], [`Receiver`]), for
//! datagrams, and for UDT ([`udt`]). An endpoint detects and repairs losses; the algorithm computes the window. All
//! endpoints, including those of other crates, have the same interface to the network ([`boundary`]).

mod ace;
#[cfg(test)]
mod bench;
pub mod boundary;
mod datagrams;
mod departures;
pub mod host;
mod linux;
mod negotiation;
mod octets;
mod read;
mod receiver;
mod recovery;
pub mod replay;
mod reported;
mod rtt;
mod scoreboard;
mod sender;
mod statistics;
pub mod udt;

pub use boundary::{End, Endpoint, EndpointState, Foreign, ForeignEndpoint, Outlet, PacketCounts};
pub use datagrams::DatagramSender;
pub use departures::Departures;
pub use host::{Host, Way};
pub use receiver::{Expected, Peer, Receiver};
pub(crate) use reported::reporting;
pub use sender::Sender;
pub use statistics::SenderStatistics;
