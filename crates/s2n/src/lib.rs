//! Congestion controllers of s2n-quic as congestion controllers of quinn.
//!
//! The controllers are those of the crate `s2n-quic-core`, driven through its public trait [`CongestionController`].
//! Loss detection, ACKs and streams are quinn's. s2n-quic asks its controllers for the departure time of the next
//! packet. Quinn does not ask for departure times, so the program that drives quinn's connection asks [`Pacer`] before
//! it lets quinn transmit. Quinn's own pacer must be switched off. Quinn's pacer does not pace windows above 4 GiB. The
//! adapter therefore reports a larger window to quinn while the controller allows a datagram, and a window of one byte
//! otherwise.
//!
//! A controller gets the reports of s2n-quic 1.88 (`recovery/manager.rs`) in the same order: the RTT, lost packets, CE
//! marks, then acknowledged packets. There are three differences. The RTT is not corrected by the receiver's ACK delay,
//! which quinn does not report to controllers. CE marks have no count, so BBR is rejected on flows with ECN. A datagram
//! below 100 bytes carries no data and is not counted.

mod state;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::path;
use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo};
use s2n_quic_core::recovery::{CongestionController, bbr, cubic};

use crate::state::State;

/// Largest UDP payload that the controllers support, bytes. BBR computes four times this value as a 16-bit integer.
pub const LARGEST_MTU: u16 = u16::MAX / 4;

/// A window that is larger than any window for which quinn paces.
const OPEN: u64 = 1 << 40;
/// A window smaller than any datagram.
const CLOSED: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Cubic,
    Bbr,
}

/// Quinn's congestion controller factory for a controller of s2n-quic.
#[derive(Clone)]
pub struct S2n {
    kind: Kind,
    initial_window: u32,
    seed: u64,
    pacer: Pacer,
}

impl S2n {
    /// The controller `cubic` or `bbr` with an initial window in bytes; `seed` is for the phases of BBR, and `ecn` is
    /// true if the flow's packets are ECN-capable.
    ///
    /// # Errors
    /// An error message if s2n-quic has no controller of this name, or if quinn cannot meet the controller's needs.
    pub fn new(name: &str, initial_window: u32, seed: u64, ecn: bool) -> Result<Self, String> {
        let kind = match name {
            "cubic" => Kind::Cubic,
            "bbr" if ecn => return Err("'s2n:bbr' needs a count of CE marks with each ACK".to_owned()),
            "bbr" => Kind::Bbr,
            other => return Err(format!("s2n-quic has no '{other}'; write s2n:cubic or s2n:bbr")),
        };
        Ok(Self { kind, initial_window, seed, pacer: Pacer::default() })
    }

    /// Departure times of the newest controller of this factory.
    #[must_use]
    pub fn pacer(&self) -> Pacer {
        self.pacer.clone()
    }

    fn controller<C: CongestionController>(&self, inner: C, now: Instant) -> Box<dyn Controller> {
        let initial = u64::from(inner.congestion_window());
        let state = Arc::new(Mutex::new(State::new(inner, now, self.seed)));
        let shared = state.clone();
        let next = move |now| lock(&shared).departure(now);
        *lock(&self.pacer.0) = Some(Box::new(next));
        Box::new(Adapter { state, initial })
    }
}

impl fmt::Debug for S2n {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S2n").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl ControllerFactory for S2n {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let (address, config) = (SocketAddress::default(), path::mtu::Config::default());
        let mut path = PathInfo::new(&config, &address);
        path.max_datagram_size = current_mtu.min(LARGEST_MTU);
        match self.kind {
            Kind::Cubic => {
                let builder = cubic::builder::Builder::default();
                let mut endpoint = builder.with_initial_congestion_window(self.initial_window).build();
                self.controller(endpoint.new_congestion_controller(path), now)
            }
            Kind::Bbr => {
                let builder = bbr::builder::Builder::default();
                let mut endpoint = builder.with_initial_congestion_window(self.initial_window).build();
                self.controller(endpoint.new_congestion_controller(path), now)
            }
        }
    }
}

type Departure = Box<dyn Fn(Instant) -> Option<Instant> + Send + Sync>;

/// Departure times that a controller asks for.
#[derive(Clone, Default)]
pub struct Pacer(Arc<Mutex<Option<Departure>>>);

impl Pacer {
    /// Time of the next departure if no packet may leave now. As in s2n-quic, packets may leave up to 1 ms earlier.
    #[must_use]
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        lock(&self.0).as_ref().and_then(|departure| departure(now))
    }
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pacer")
    }
}

/// Locks the state that the threads of a connection share. The state is never left inconsistent, so a poisoned lock is
/// ignored.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A controller of s2n-quic as a controller of quinn.
struct Adapter<C: CongestionController> {
    state: Arc<Mutex<State<C>>>,
    initial: u64,
}

impl<C: CongestionController> Controller for Adapter<C> {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        lock(&self.state).on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        lock(&self.state).on_acked(sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        lock(&self.state).on_acks_end(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let mut state = lock(&self.state);
        if lost_bytes == 0 {
            state.on_mark(now);
        } else {
            state.on_lost(now, sent, is_persistent_congestion, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        lock(&self.state).on_mtu(new_mtu.min(LARGEST_MTU));
    }

    fn window(&self) -> u64 {
        if lock(&self.state).may_send() { OPEN } else { CLOSED }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = lock(&self.state).window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let state = lock(&self.state).clone();
        Box::new(Self { state: Arc::new(Mutex::new(state)), initial: self.initial })
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests;
