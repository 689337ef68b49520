//! The two ends of a flow: of TCP, SACK-based, per segment, after Linux; and of UDT ([`udt`]). The endpoint finds losses and repairs them; the
//! algorithm says how large the window is.

mod headers;
mod misled;
mod receiver;
mod recovery;
mod rto;
mod sack_log;
mod scoreboard;
mod sender;
pub mod udt;

pub use headers::{Header, Headers};
pub use misled::Misled;
pub use receiver::{Expected, Receiver};
pub use sack_log::{SackEntry, SackLog};
pub use sender::{Sender, SenderTotals};
