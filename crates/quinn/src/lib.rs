//! Elephan's congestion control algorithms as congestion controllers of quinn.
//!
//! ```
//! use std::sync::Arc;
//! use elephan_quinn::Elephan;
//!
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(Elephan::new("cubic")?));
//! # Ok::<(), String>(())
//! ```
//!
//! An algorithm that needs more than quinn's [`Controller`](quinn_proto::congestion::Controller) offers is rejected
//! with the reason. Quinn offers no pacing rate (its pacer cannot be given one), no counts of CE marks, and no packet
//! numbers of lost packets. The one-way delay comes from time stamps that the caller's socket adds to datagrams
//! ([`stamp`]); the feature `socket` has a UDP socket that adds time stamps, for the crate quinn. This crate contains
//! no algorithm: [`elephan_cc::transport::ByteDriver`] drives the algorithms of `elephan-cc`.

#[cfg(feature = "socket")]
pub mod socket;
pub mod stamp;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use elephan_cc::Value;
use elephan_cc::transport::{Acked, ByteDriver, Connection, Offers};
use elephan_cc::{Algorithm, Cause, Controller, build};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, BbrConfig, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};

use crate::stamp::ForwardDelay;

type Maker = Arc<dyn Fn() -> Result<Controller, String> + Send + Sync>;

/// One of quinn's own controllers, `cubic`, `newreno` or `bbr`, with an initial window in bytes, or quinn's default.
///
/// # Errors
/// An error message if quinn has no controller of this name.
pub fn quinns_own(name: &str, initial_window: Option<u64>) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    macro_rules! factory {
        ($config:ty) => {{
            let mut config = <$config>::default();
            if let Some(bytes) = initial_window {
                config.initial_window(bytes);
            }
            Ok(Arc::new(config))
        }};
    }
    match name {
        "cubic" => factory!(CubicConfig),
        "newreno" => factory!(NewRenoConfig),
        "bbr" => factory!(BbrConfig),
        other => Err(format!("quinn has no '{other}'; write quinn:cubic, quinn:newreno or quinn:bbr")),
    }
}

/// Quinn's congestion controller factory for one of Elephan's algorithms.
#[derive(Clone)]
pub struct Elephan {
    algorithm: String,
    make: Maker,
    initial_window: f64,
    seed: u64,
    forward_delay: Option<ForwardDelay>,
}

impl Elephan {
    /// An algorithm by its name, `name` or `name:preset`, with its default parameters.
    ///
    /// # Errors
    /// An error message about an unknown name, or about the first need of the algorithm that quinn does not meet.
    pub fn new(algorithm: &str) -> Result<Self, String> {
        Self::with(algorithm, BTreeMap::new(), None)
    }

    /// An algorithm by its name, with parameters and with the forward delays that the socket measures for the
    /// connection.
    ///
    /// # Errors
    /// The errors of [`Elephan::new`], or a parameter that is wrong.
    pub fn with(
        algorithm: &str,
        parameters: BTreeMap<String, Value>,
        forward_delay: Option<ForwardDelay>,
    ) -> Result<Self, String> {
        let name = algorithm.to_owned();
        let make = move || build(&name, &parameters).map_err(|error| error.to_string());
        Self::made(algorithm, Arc::new(make), forward_delay)
    }

    /// An algorithm of the caller's own, such as one from a crate of `elephan export`. `make` gives a new controller
    /// for each connection, always in the same state; `name` is the algorithm's name in messages.
    ///
    /// # Errors
    /// An error message about the first need of the algorithm that quinn does not meet, or about a missing copy: quinn
    /// needs [`Algorithm::clone_boxed`].
    pub fn own<A: Algorithm + Send + 'static>(
        name: &str,
        make: impl Fn() -> A + Send + Sync + 'static,
        forward_delay: Option<ForwardDelay>,
    ) -> Result<Self, String> {
        let boxed = move || Ok(Controller::Custom(Box::new(make())));
        Self::made(name, Arc::new(boxed), forward_delay)
    }

    fn made(name: &str, make: Maker, forward_delay: Option<ForwardDelay>) -> Result<Self, String> {
        let factory = Self { algorithm: name.to_owned(), make, initial_window: 10.0, seed: 0, forward_delay };
        factory.drive(1200).map(|_| factory)
    }

    /// Sets the initial window, datagrams; 10 if it is not set.
    #[must_use]
    pub fn initial_window(self, datagrams: f64) -> Self {
        Self { initial_window: datagrams, ..self }
    }

    /// Sets the seed of algorithms that draw random numbers.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// True if the algorithm needs one-way delays, so that datagrams need time stamps.
    #[must_use]
    pub fn needs_stamps(algorithm: &str, parameters: &BTreeMap<String, Value>) -> bool {
        build(algorithm, parameters).is_ok_and(|built: Controller| built.needs().one_way_delay)
    }

    fn drive(&self, mtu: u16) -> Result<ByteDriver, String> {
        let controller = (self.make)()?;
        let mut offers = Offers::default();
        offers.one_way_delay = self.forward_delay.is_some();
        let mut connection = Connection::new(mtu.into());
        (connection.initial_window, connection.seed) = (self.initial_window, self.seed);
        let needs = controller.needs();
        offers.missing(&needs).map_or(Ok(()), |what| Err(format!("'{}' needs {what}", self.algorithm)))?;
        ByteDriver::new(controller, connection, offers)
    }
}

impl fmt::Debug for Elephan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elephan").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl ControllerFactory for Elephan {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(Driven::new(&self, now, current_mtu))
    }
}

/// One of Elephan's algorithms as a controller of quinn.
#[derive(Debug)]
struct Driven {
    /// A lock is needed because quinn requires a controller to be `Sync`, and a user-defined algorithm need not be
    /// `Sync`. The lock is never contended.
    driver: Mutex<ByteDriver>,
    forward_delay: Option<ForwardDelay>,
    origin: Instant,
    /// Bytes of the ACK frame that quinn is reporting, and the send time of its newest packet.
    bytes: u64,
    newest_sent: Option<Instant>,
    newest: u64,
}

impl Driven {
    fn new(factory: &Elephan, now: Instant, mtu: u16) -> Self {
        let driver = factory.drive(mtu).unwrap_or_else(|_| unreachable!("the constructor has driven it"));
        let (driver, forward_delay) = (Mutex::new(driver), factory.forward_delay.clone());
        Self { driver, forward_delay, origin: now, bytes: 0, newest_sent: None, newest: 0 }
    }

    fn ps(&self, at: Instant) -> u64 {
        let since: Duration = at.saturating_duration_since(self.origin);
        (since.as_nanos() as u64).saturating_mul(1000)
    }

    fn driver(&self) -> MutexGuard<'_, ByteDriver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self) -> Self {
        Self { driver: Mutex::new(self.driver().clone()), forward_delay: self.forward_delay.clone(), ..*self }
    }

    /// Adds one packet to the ACK frame that quinn is reporting.
    fn take_acked(&mut self, sent: Instant, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.newest_sent = self.newest_sent.max(Some(sent));
    }
}

impl congestion::Controller for Driven {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.driver().on_sent(self.ps(now), bytes, last_packet_number);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.take_acked(sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        let Some(newest_sent) = self.newest_sent.take() else { return };
        self.newest = largest_packet_num_acked.unwrap_or(self.newest);
        let acked = Acked {
            now_ps: self.ps(now),
            bytes: std::mem::take(&mut self.bytes),
            newest: self.newest,
            newest_sent_ps: self.ps(newest_sent),
            in_flight_bytes: in_flight,
            app_limited,
            owd_ps: self.forward_delay.as_ref().and_then(ForwardDelay::latest_ps),
            ..Acked::default()
        };
        self.driver().on_acked(&acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let cause = if lost_bytes == 0 { Cause::Ecn } else { Cause::Loss };
        let (now_ps, sent_ps) = (self.ps(now), self.ps(sent));
        if is_persistent_congestion {
            self.driver().on_persistent_congestion(now_ps, lost_bytes);
        } else {
            self.driver().on_congestion(now_ps, sent_ps, cause, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver().on_mtu(new_mtu.into());
    }

    /// The algorithm's window plus one byte. Quinn sends while the bytes in flight, the new datagram included, are
    /// below quinn's window, but an algorithm's window allows bytes in flight equal to the window.
    fn window(&self) -> u64 {
        self.driver().window() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver().window();
        metrics.ssthresh = self.driver().ssthresh();
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(self.copy())
    }

    fn initial_window(&self) -> u64 {
        self.driver().initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests {
    use elephan_cc::Event;

    use super::*;

    #[test]
    fn an_algorithm_that_quinn_cannot_serve_is_refused_with_the_reason() {
        for (name, reason) in [
            ("bbr", "'bbr' needs a pacing rate that the transport obeys"),
            ("dctcp", "'dctcp' needs a count of CE marks with each ACK"),
            ("hcc", "'hcc' needs the one-way delay of packets"),
            ("xcp", "'xcp' needs routers that write into packets"),
        ] {
            assert_eq!(Elephan::new(name).expect_err("quinn cannot"), reason);
        }
        assert!(quinns_own("reno", None).is_err_and(|error| error.contains("quinn has no 'reno'")));
        assert!(Elephan::new("cubik").expect_err("there is none").contains("cubic"));
        Elephan::with("hcc", BTreeMap::new(), Some(ForwardDelay::default())).expect("it has delays");
    }

    #[test]
    fn an_algorithm_of_ones_own_is_driven_as_one_of_the_registry() {
        let make = || build("reno", &BTreeMap::new()).expect("it is right");
        let own = Elephan::own("mine", make, None).expect_err("a controller of the registry gives no boxed copy");
        assert!(own.contains("clone_boxed"), "{own}");
        let now = Instant::now();
        let mut mine = Arc::new(Elephan::own("mine", || Half(10.0), None).expect("it is served")).build(now, 1200);
        mine.on_congestion_event(now + Duration::from_millis(50), now, false, 1200);
        assert_eq!(mine.window(), 6_001);
    }

    #[derive(Clone)]
    struct Half(f64);

    impl elephan_cc::Observe for Half {}

    impl Algorithm for Half {
        fn on_ack(&mut self, ack: &elephan_cc::Ack) {
            self.0 += ack.acked / self.0;
        }

        fn on_event(&mut self, event: &Event) {
            match *event {
                Event::Start(start) => self.0 = start.initial_window,
                Event::Congestion(_) => self.0 /= 2.0,
                Event::Timeout(_) => self.0 = 1.0,
                Event::Moderate { window } | Event::Keep { window } => self.0 = self.0.min(window),
                _ => {}
            }
        }

        fn window(&self) -> f64 {
            self.0
        }

        fn ssthresh(&self) -> f64 {
            self.0
        }

        fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
            Some(Box::new(self.clone()))
        }
    }

    #[test]
    fn one_recovery_period_has_one_reaction() {
        let now = Instant::now();
        let mut reno = Arc::new(Elephan::new("reno").expect("it is served")).build(now, 1200);
        assert_eq!((reno.initial_window(), reno.window()), (12_000, 12_001));
        let rtt = Duration::from_millis(50);
        reno.on_congestion_event(now + 2 * rtt, now + rtt, false, 1200);
        reno.on_congestion_event(now + 2 * rtt, now + rtt, false, 1200);
        assert_eq!((reno.window(), reno.clone_box().window()), (6_001, 6_001));
    }
}
