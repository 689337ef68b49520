//! Congestion controllers of s2n-quic as congestion controllers of quinn.
//!
//! The controllers are those of the crate `s2n-quic-core`, driven through its public trait
//! [`CongestionController`]. Loss detection, ACKs and streams are quinn's. s2n-quic asks its
//! controllers when the next packet may leave; quinn has no such question, so that the program that drives quinn's connection asks [`Pacer`]
//! before it lets quinn transmit. Quinn's own pacer is switched off: it paces no window above 4 GiB, and the adapter shows quinn such a window
//! while its controller lets a datagram go, and one byte while it does not.
//!
//! A controller is told what s2n-quic 1.88 tells it (`recovery/manager.rs`), in the same order: the RTT, lost packets, CE marks, then what was
//! acknowledged. Three things differ. The RTT is not corrected by the receiver's ACK delay, which quinn does not show controllers. CE marks have
//! no count, so that BBR is refused on flows with ECN. A datagram below 100 bytes carries no data and is not counted.

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

/// Largest UDP payload that the controllers can count with, bytes: BBR multiplies it by 4 in 16 bits.
pub const LARGEST_MTU: u16 = u16::MAX / 4;

/// A window above the largest that quinn paces.
const OPEN: u64 = 1 << 40;
/// A window that no datagram fits into.
const CLOSED: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Cubic,
    Bbr,
}

/// Makes controllers: a congestion controller factory of quinn.
#[derive(Clone)]
pub struct S2n {
    kind: Kind,
    initial_window: u32,
    seed: u64,
    pacer: Pacer,
}

impl S2n {
    /// The controller `cubic` or `bbr` with an initial window in bytes; `seed` is for the phases of BBR, and `ecn` says whether the flow's
    /// packets may be marked.
    ///
    /// # Errors
    /// A sentence: s2n-quic has none of this name, or it cannot be served.
    pub fn new(name: &str, initial_window: u32, seed: u64, ecn: bool) -> Result<Self, String> {
        let kind = match name {
            "cubic" => Kind::Cubic,
            "bbr" if ecn => return Err("'s2n:bbr' needs a count of CE marks with each ACK".to_owned()),
            "bbr" => Kind::Bbr,
            other => return Err(format!("s2n-quic has no '{other}'; write s2n:cubic or s2n:bbr")),
        };
        Ok(Self { kind, initial_window, seed, pacer: Pacer::default() })
    }

    /// Tells when the newest controller of this factory lets packets leave.
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
    /// Time of the next departure if no packet may leave now. Like s2n-quic, packets may leave up to 1 ms earlier than that.
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

/// Locks what the threads of a connection share; nothing is left half done in it.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A controller of s2n-quic as one of quinn.
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
