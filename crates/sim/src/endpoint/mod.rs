//! The two ends of a flow: SACK-based, per segment, after Linux. The endpoint finds losses and repairs them; the
//! algorithm says how large the window is.

mod misled;
mod receiver;
mod recovery;
mod rto;
mod sack_log;
mod scoreboard;
mod sender;

pub use misled::Misled;
pub use receiver::Receiver;
pub use sack_log::{SackEntry, SackLog};
pub use sender::{Sender, SenderTotals};
