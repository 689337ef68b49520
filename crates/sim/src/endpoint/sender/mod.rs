//! The TCP sender.
//!
//! ```text
//!              ┌──────────────────────────────── Sender (core) ────────────────────────────────┐
//!  ACK ──────► │ acks (or plain): what it delivers and measures ─► loss ─► recover ─► algorithm │
//!  timer ────► │ expiry: timeout, tail loss probe, reordering window, samples, start            │
//!              │ transmit (trains): retransmissions first, then new data; pacing, application   │ ──► packets
//!              └───────────────────────────────────────────────────────────────────────────────┘
//!  parts, whose state is their own: Scoreboard, Repair, Rtt, Timers, Marks, Opening, Host, SenderLog, SenderStatistics,
//!  and those of Linux (`linux`): Rack, Reports, Pace, SendBuffer, Announced, TimestampEcho
//! ```

pub(super) mod acks;
mod application;
mod core;
mod expiry;
mod handshake;
mod host;
mod led;
mod log;
mod loss;
mod marks;
mod opening;
mod plain;
mod recover;
pub(super) mod repair;
mod shortcut;
pub(super) mod timer;
mod trains;
pub(super) mod transmit;
mod transmit_trains;

pub use self::core::Sender;
