//! Estimators that a transport needs to drive an algorithm: [`DeliverySampler`] (delivery rate), [`RoundCounter`]
//! (round trips), [`MinRtt`] (smallest RTT) and [`WindowUse`] (window-limited or not). The estimators fill in
//! [`Ack`](crate::Ack) and [`Lost`](crate::Lost). The simulator's TCP endpoint uses the estimators; any other transport
//! and any test can use them too.
//!
//! Segments are numbered in the order of their first transmission. These numbers are TCP's sequence numbers divided by
//! the segment size, or the packet numbers of QUIC. Instants are picoseconds since an arbitrary origin, in a `u64`:
//! time arithmetic uses no floats, and results are the same on every machine.

mod min_rtt;
mod ring;
mod rounds;
mod sampler;
mod window_use;

pub use min_rtt::MinRtt;
pub use ring::SegmentRing;
pub use rounds::RoundCounter;
pub use sampler::DeliverySampler;
pub use window_use::WindowUse;

/// Converts an instant or a duration from picoseconds (below 2⁶³ ps) to seconds.
#[must_use]
#[inline]
pub fn seconds(ps: u64) -> f64 {
    // A signed conversion is one instruction; an unsigned conversion takes several.
    ps as i64 as f64 * 1e-12
}
