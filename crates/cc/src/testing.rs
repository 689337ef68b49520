//! Helpers for the tests: a clock, ACKs and losses without an endpoint.

use std::collections::{BTreeMap, VecDeque};

use crate::ack::Ack;
use crate::algorithm::Algorithm;
use crate::event::Event;
use crate::param::{BuildError, Entry, Setting, Settings};
use crate::reports::{Cause, Signal, Start};

/// Settings of a preset with further values.
pub fn settings(entry: &Entry, preset: &str, values: &[(&str, Setting)]) -> Result<Settings, BuildError> {
    let params: BTreeMap<_, _> = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    Settings::resolve(entry, preset, &params)
}

/// A connection without losses, except those that a test asks for.
pub struct Driver {
    pub now: f64,
    pub min_rtt: f64,
    pub srtt: f64,
    pub window_limited: bool,
}

impl Driver {
    pub fn new() -> Self {
        Self { now: 0.0, min_rtt: f64::INFINITY, srtt: 0.0, window_limited: true }
    }

    /// Starts with a window of `initial` segments and no threshold.
    pub fn start(&self, algorithm: &mut impl Algorithm, initial: f64) {
        algorithm.on_event(&Event::Start(Start {
            now: self.now,
            initial_window: initial,
            initial_ssthresh: f64::INFINITY,
            ..Start::default()
        }));
    }

    /// Starts in congestion avoidance.
    pub fn start_at(&self, algorithm: &mut impl Algorithm, window: f64) {
        algorithm.on_event(&Event::Start(Start {
            now: self.now,
            initial_window: window,
            initial_ssthresh: window,
            ..Start::default()
        }));
    }

    pub fn make_ack(&mut self, algorithm: &impl Algorithm, acked: f64, rtt: f64, round_start: bool) -> Ack {
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt == 0.0 { rtt } else { 0.875 * self.srtt + 0.125 * rtt };
        Ack {
            now: self.now,
            acked,
            rtt: Some(rtt),
            owd: Some(rtt / 2.0),
            min_rtt: self.min_rtt,
            srtt: self.srtt,
            delivery: None,
            in_flight: algorithm.window().floor(),
            window_at_send: algorithm.window(),
            round_start,
            in_recovery: false,
            sample: None,
            window_limited: self.window_limited,
            marked: 0.0,
            answer: None,
        }
    }

    /// One ACK for `acked` segments, `after` s later.
    pub fn ack(&mut self, algorithm: &mut impl Algorithm, acked: f64, rtt: f64, after: f64) {
        self.now += after;
        let ack = self.make_ack(algorithm, acked, rtt, false);
        algorithm.on_ack(&ack);
    }

    /// One round trip: a window of segments, each acknowledged by itself, evenly spaced.
    pub fn round(&mut self, algorithm: &mut impl Algorithm, rtt: f64) {
        self.burst(algorithm, rtt, rtt);
    }

    /// One round trip whose ACKs arrive within `span` s at its end.
    pub fn burst(&mut self, algorithm: &mut impl Algorithm, rtt: f64, span: f64) {
        let n = algorithm.window().floor().max(1.0);
        self.now += rtt - span;
        for i in 0..n as u64 {
            self.now += span / n;
            let ack = self.make_ack(algorithm, 1.0, rtt, i == 0);
            algorithm.on_ack(&ack);
        }
    }

    pub fn signal(&self, algorithm: &impl Algorithm, cause: Cause) -> Signal {
        Signal {
            now: self.now,
            in_flight: algorithm.window().floor(),
            cause,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            repeated: false,
            kept: 0.0,
        }
    }

    /// A loss, followed at once by the end of its recovery.
    pub fn lose(&self, algorithm: &mut impl Algorithm) {
        algorithm.on_event(&Event::Congestion(self.signal(algorithm, Cause::Loss)));
        algorithm.on_event(&Event::RecoveryExit { now: self.now });
    }

    pub fn time_out(&self, algorithm: &mut impl Algorithm) {
        algorithm.on_event(&Event::Timeout(self.signal(algorithm, Cause::Loss)));
    }
}

/// Asserts that two numbers differ by at most `tolerance` times the second number.
#[track_caller]
pub fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance * expected.abs(), "{got} is not {expected} within {tolerance}");
}

/// Runs a bulk flow for `seconds` over a link of `rate` segments/s with an unlimited queue and an RTT of `base` s
/// without the queue; each segment is acknowledged by itself. Returns the mean number of segments in the queue over the
/// last half of the run.
pub fn run_over_link(driver: &mut Driver, algorithm: &mut impl Algorithm, rate: f64, base: f64, seconds: f64) -> f64 {
    let mut flying: VecDeque<(f64, f64, f64)> = VecDeque::new();
    let (mut link_free, mut round_end, mut queued, mut acks) = (0.0_f64, 0.0, 0.0, 0.0);
    while driver.now < seconds {
        while (flying.len() as f64) < algorithm.window().floor() {
            link_free = link_free.max(driver.now) + 1.0 / rate;
            flying.push_back((driver.now, algorithm.window(), link_free + base - 1.0 / rate));
        }
        let Some((sent, window_at_send, arrives)) = flying.pop_front() else { break };
        driver.now = arrives;
        let round_start = sent >= round_end;
        if round_start {
            round_end = arrives;
        }
        let ack = driver.make_ack(algorithm, 1.0, arrives - sent, round_start);
        algorithm.on_ack(&Ack { window_at_send, in_flight: flying.len() as f64, ..ack });
        if driver.now > seconds / 2.0 {
            queued += (link_free - driver.now).max(0.0) * rate;
            acks += 1.0;
        }
    }
    queued / acks
}
