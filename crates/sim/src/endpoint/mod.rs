//! The two ends of a flow: of TCP with SACK, per segment, after Linux ([`Sender`], [`Receiver`]); of datagrams; and of UDT ([`udt`]).
//! An endpoint finds losses and repairs them; the algorithm says how large the window is. All meet the network at one boundary
//! ([`boundary`]), and so do endpoints of other crates.

pub mod boundary;
mod copies;
mod datagrams;
mod departures;
pub mod host;
mod receiver;
mod recovery;
mod reported;
mod rto;
mod scoreboard;
mod sender;
mod statistics;
pub mod udt;

pub use boundary::{End, Endpoint, EndpointState, Foreign, ForeignEndpoint, Outlet, PacketCounts};
pub use datagrams::DatagramSender;
pub use departures::Departures;
pub use host::{Host, Way};
pub use receiver::Receiver;
pub(crate) use reported::reporting;
pub use sender::Sender;
pub use statistics::SenderStatistics;
