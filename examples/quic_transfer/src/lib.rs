//! A file over QUIC: quinn's client and server with any congestion controller that `elephan-quinn` has.
//!
//! Both ends add time stamps to their datagrams with every algorithm, so that algorithms are compared with packets of the same size.

mod end;
mod receiver;
mod sender;

use std::error::Error;

pub use end::{Control, parameter};
pub use receiver::Receiver;
pub use sender::{Report, Sender};

/// An error with its text for the user.
pub type Failure = Box<dyn Error + Send + Sync>;

/// First byte of a stream: the sender's file follows until the stream ends, and the answer is the number of its bytes.
const FILE: u8 = b'F';
/// First byte of a stream: the answer is zeros until the connection is closed.
const ZEROS: u8 = b'Z';
/// Bytes that are read or written at once.
const PIECE: usize = 64 * 1024;
