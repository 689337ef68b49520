//! File transfer over QUIC: quinn's client and server with any congestion controller of `elephan-quinn`.
//!
//! Both ends add time stamps to their datagrams for every algorithm, so that all algorithms are compared at the same
//! packet size.

mod end;
mod receiver;
mod sender;

use std::error::Error;

pub use end::{Control, parameter};
pub use receiver::Receiver;
pub use sender::{Report, Sender};

/// An error with a message for the user.
pub type Failure = Box<dyn Error + Send + Sync>;

/// First byte of a stream on which the sender's file follows; the receiver answers with the number of bytes.
const FILE: u8 = b'F';
/// First byte of a stream on which the receiver answers with zeros until the connection is closed.
const ZEROS: u8 = b'Z';
/// Number of bytes that are read or written at once.
const PIECE: usize = 64 * 1024;
