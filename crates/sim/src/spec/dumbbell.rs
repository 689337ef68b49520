//! Dumbbell scenarios, for programs and tests that use the engine as a library.

use std::sync::Arc;

use super::flow::FlowSpec;
use super::link::{LinkSpec, LossSpec};
use super::queue::QueueSpec;
use super::stack::StackSpec;
use super::{FORMAT, Measure, Resolution, Spec};
use crate::time::Time;

impl LinkSpec {
    /// A link with a drop-tail queue of `buffer_packets`, or without a limit.
    #[must_use]
    pub fn droptail(name: &str, rate_bps: u64, delay: Time, buffer_packets: Option<u64>) -> Self {
        let parameters = [("count_in_service".to_owned(), false.into())].into();
        let kind = "droptail".to_owned();
        let queue = QueueSpec { kind, limit_packets: buffer_packets, limit_bytes: None, parameters };
        Self {
            name: name.to_owned(),
            rate_bps,
            delay_ps: delay.0,
            loss: LossSpec::None,
            loss_on_wire: false,
            queue,
            record: false,
            impairments: None,
            copies: 1,
            delays_ps: Vec::new(),
        }
    }
}

impl FlowSpec {
    /// A flow with unlimited data and the stack of current Linux; `path` and `reverse_path` are positions of links.
    #[must_use]
    pub fn bulk(name: &str, algorithm: &str, start: Time, path: &[usize], reverse_path: &[usize]) -> Self {
        Self {
            name: name.to_owned(),
            algorithm: algorithm.to_owned(),
            source_sha256: None,
            parameters: Default::default(),
            start_ps: start.0,
            count: 1,
            start_spread_ps: 0,
            stop_ps: None,
            size_segments: None,
            application: None,
            datagrams: false,
            foreign: None,
            backend: None,
            program: None,
            path: path.to_vec(),
            reverse_path: reverse_path.to_vec(),
            stack: Arc::new(StackSpec::linux()),
            base_rtt_error_ps: 0,
            sender_clock: Default::default(),
            receiver_clock: Default::default(),
            send_buffer_bytes: 0,
            receive_window: None,
        }
    }
}

impl Spec {
    /// A dumbbell: flows with these algorithms start one second apart. The flows share a bottleneck of `rate_bps`, with
    /// a drop-tail queue of `buffer_packets` in each direction and a round-trip propagation delay of `rtt`. The
    /// measurement window is the second half of the run, and the sampling interval is 100 ms. All fields are public and
    /// can be changed.
    #[must_use]
    pub fn dumbbell(rate_bps: u64, rtt: Time, buffer_packets: u64, duration: Time, algorithms: &[&str]) -> Self {
        let delay = Time(rtt.0 / 2);
        let forward = LinkSpec::droptail("bottleneck", rate_bps, delay, Some(buffer_packets));
        let reverse = LinkSpec::droptail("bottleneck:reverse", rate_bps, Time(rtt.0 - delay.0), Some(buffer_packets));
        let flows = algorithms.iter().enumerate().map(|(i, algorithm)| {
            FlowSpec::bulk(&format!("f{i}"), algorithm, Time(i as u64 * 1000 * Time::MILLISECOND.0), &[0], &[1])
        });
        Self {
            format: FORMAT,
            title: None,
            seed: 0,
            resolution: Resolution::Segment,
            duration_ps: duration.0,
            sample_period_ps: 100 * Time::MILLISECOND.0,
            start_jitter_ps: 0,
            send_jitter_ps: 0,
            measure: Measure { from_ps: duration.0 / 2, to_ps: duration.0 },
            links: vec![LinkSpec { record: true, ..forward }, reverse],
            flows: flows.collect(),
            traffic: Vec::new(),
            events: None,
            internals: false,
            record_flows: None,
            groups: Vec::new(),
        }
        .without_groups()
    }
}
