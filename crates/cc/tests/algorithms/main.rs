//! Tests of the algorithms through their public interface, in one program.

mod common;
mod hostile;
mod hostile_transport;
mod model;
mod registry;
mod response;
mod response_delay;
mod response_hybrid;
mod response_loss;
