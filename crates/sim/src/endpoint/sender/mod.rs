//! The TCP sender.
//!
//! ```text
//!              ┌─────────────────────────────── Sender (core) ────────────────────────────────┐
//!  ACK ──────► │ acks: RTT, rounds, delivery rate ─► loss: scoreboard, RACK ─► repair: episode │
//!  timer ────► │ timers: RTO, tail loss probe, samples                                         │
//!              │ transmit: retransmissions first, then new data; pacing, marks, application    │ ──► packets
//!              └──────────────────────────────────────────────────────────────────────────────┘
//!  parts: Scoreboard, Repair (recovery), Rto and estimators, Rack, Pace, Marks, Host, SenderStatistics
//! ```

mod acks;
mod announced;
mod application;
mod bursts;
mod core;
mod duplicates;
mod echoes;
mod handshake;
mod host;
mod log;
mod logging;
mod loss;
mod marks;
mod offload;
mod opening;
mod pace;
mod pacing;
mod plain;
mod rack;
mod repair;
mod reports;
mod timer;
mod timers;
mod timestamps;
mod transmit;

pub use self::core::Sender;
