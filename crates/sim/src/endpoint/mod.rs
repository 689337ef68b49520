//! The two ends of a flow: of TCP with SACK, in segments, after Linux ([`Sender`], [`Receiver`]); of datagrams; and of
//! UDT ([`udt`]). An endpoint detects and repairs losses; the algorithm computes the window. All endpoints, also those
//! of other crates, have one interface to the network ([`boundary`]).

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
