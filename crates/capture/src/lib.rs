//! Captures of packets: the TCP connections in a pcap or pcapng file, as columns.
//!
//! A file is read twice, in constant memory: once for the list of its connections ([`list`]), and once for the packets of
//! one of them ([`read`]). Layers: [`source`] (bytes) → `frames` (packets of the file) → `headers` (a TCP packet) →
//! `connections` (which connection it belongs to) → `sequence` (positions in the stream) → [`tables`].

mod connections;
mod frames;
mod headers;
mod reading;
mod sequence;
pub mod source;
pub mod tables;

pub use connections::{Connection, Host, MOST_CONNECTIONS};
pub use reading::{Failure, Handshake, Listing, Options, Reading, list, read};
