//! What makes flows send: applications that are slower than the network, and the draws behind them.

mod application;
pub mod draw;

pub use application::Application;
