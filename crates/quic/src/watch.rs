//! A wrapper of a congestion controller. The wrapper passes every call on, and records RTT samples, loss events and
//! bytes in flight for the tables. Quinn reports these values only to congestion controllers.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// Observations of a controller.
#[derive(Debug, Default)]
pub struct Seen {
    /// RTT samples that are not yet in the tables: for each ACK, the RTT of the ACK's newest packet.
    pub rtts: Vec<Duration>,
    /// Latest RTT sample.
    pub latest: Option<Duration>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// ACKs of new data.
    pub acks: u64,
    /// Reactions to losses: calls that lowered the window.
    pub loss_events: u64,
    /// Reactions to ECN marks.
    pub ecn_events: u64,
    /// Persistent congestions.
    pub persistent: u64,
}

/// Observations that a controller shares with the endpoint that records them.
pub type Shared = Arc<Mutex<Seen>>;

/// Locks a controller's observations; the endpoint and the controller run on one thread.
pub fn with<T>(seen: &Shared, use_it: impl FnOnce(&mut Seen) -> T) -> T {
    use_it(&mut seen.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes watched controllers.
pub struct Watching {
    /// Makes the controllers.
    pub inner: Arc<dyn ControllerFactory + Send + Sync>,
    /// Observations of the controllers.
    pub seen: Shared,
}

impl ControllerFactory for Watching {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(Watched { inner, seen: self.seen.clone(), newest_sent: None })
    }
}

struct Watched {
    inner: Box<dyn Controller>,
    seen: Shared,
    newest_sent: Option<Instant>,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        with(&self.seen, |seen| seen.in_flight += bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        self.newest_sent = self.newest_sent.max(Some(sent));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        let newest_sent = self.newest_sent.take();
        with(&self.seen, |seen| {
            seen.in_flight = in_flight;
            seen.acks += 1;
            if let Some(sent) = newest_sent {
                let rtt = now.saturating_duration_since(sent);
                seen.rtts.push(rtt);
                seen.latest = Some(rtt);
            }
        });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let before = self.inner.metrics().congestion_window;
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let reacted = u64::from(self.inner.metrics().congestion_window < before);
        with(&self.seen, |seen| {
            seen.in_flight = seen.in_flight.saturating_sub(lost_bytes);
            seen.persistent += u64::from(is_persistent_congestion);
            if lost_bytes == 0 {
                seen.ecn_events += reacted;
            } else {
                seen.loss_events += reacted;
            }
        });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), seen: self.seen.clone(), newest_sent: self.newest_sent })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
