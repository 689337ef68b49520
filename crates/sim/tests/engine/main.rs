//! Tests of the engine through its public interface, in one program: a program for each file took a minute to link.

mod clocks;
mod common;
mod crowds;
mod custom;
mod delay_based;
mod endpoint;
mod events;
mod foreign;
mod groups;
mod hosts;
mod illinois;
mod internals;
mod known_answers;
mod low_priority;
mod marks;
mod modern;
mod path;
mod phase;
mod properties;
mod queues;
mod replay;
mod routers;
mod traffic;
mod trains;
mod transfers;
mod udt;
