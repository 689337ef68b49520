//! Links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::impairments::Impairments;
use super::queue::QueueSpec;
use crate::time::Time;

/// A directed link: queue → transmitter → delay line.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct LinkSpec {
    /// Unique name, which also names the link's random streams and breaks ties.
    pub name: String,
    /// Rate, bit/s.
    pub rate_bps: u64,
    /// Propagation delay, ps.
    pub delay_ps: u64,
    /// Losses before the queue, or after the transmitter.
    #[serde(default)]
    pub loss: LossSpec,
    /// True if packets are lost after the transmitter, so that they take its time.
    #[serde(default)]
    pub loss_on_wire: bool,
    /// Queue in front of the transmitter.
    pub queue: QueueSpec,
    /// Samples the link into the `links` table.
    #[serde(default)]
    pub record: bool,
    /// Changes over time, jitter, reordering and duplicates; none if absent.
    #[serde(default)]
    pub impairments: Option<Box<Impairments>>,
    /// Number of equal links: one for each flow of the group that crosses the link.
    #[serde(default = "super::one")]
    pub copies: u32,
    /// Propagation delay of each copy, ps; `delay_ps` for all if empty.
    #[serde(default)]
    pub delays_ps: Vec<u64>,
}

impl LinkSpec {
    /// Shortest propagation delay over the run, ps.
    #[must_use]
    pub fn shortest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).min().unwrap_or(self.delay_ps)
    }

    /// Longest propagation delay over the run, ps.
    #[must_use]
    pub fn longest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).max().unwrap_or(self.delay_ps)
    }

    /// Time of a packet of `bytes` on the empty link at the time `at`, without random delays. If the link is down, its
    /// highest rate is used. If the link has a trace, the trace's mean rate is used.
    #[must_use]
    pub fn crossing(&self, bytes: u64, at: Time) -> Time {
        let (mut rate, mut delay) = (self.rate_bps, self.delay_ps);
        if let Some(changes) = &self.impairments {
            let (rates, delays) = (&changes.rate_steps, &changes.delay_steps);
            let past = rates.partition_point(|step| step.at_ps <= at.0);
            rate = rates[..past].last().map_or(rate, |step| step.rate_bps);
            let past = delays.partition_point(|step| step.at_ps <= at.0);
            delay = delays[..past].last().map_or(delay, |step| step.delay_ps);
            if rate == 0 || !changes.rate_trace_ms.is_empty() {
                rate = self.fastest_bps();
            }
        }
        let sent = u128::from(bytes) * 8 * u128::from(Time::SECOND.0) / u128::from(rate.max(1));
        Time(delay).later(Time(sent as u64))
    }

    /// Highest rate over the run, bit/s.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.impairments.as_ref().map_or(self.rate_bps, |i| i.fastest_bps(self.rate_bps))
    }
}

/// Losses of data packets and ACKs alike.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LossSpec {
    /// No losses.
    #[default]
    None,
    /// Independent losses.
    Bernoulli {
        /// Loss probability of a packet.
        p: f64,
    },
    /// Independent losses of the packets that arrive in an interval.
    Interval {
        /// Loss probability of a packet.
        p: f64,
        /// Beginning of the interval, ps.
        from_ps: u64,
        /// End of the interval, ps.
        to_ps: u64,
    },
    /// Independent losses of the packets that arrive in one of several intervals.
    Intervals {
        /// Intervals in the order of time, which do not overlap.
        intervals: Vec<LossInterval>,
    },
    /// Losses in bursts (Gilbert 1960, Elliott 1963). The link is in a good or a bad state, which may change before
    /// each packet. The packet is lost with the state's probability. The first state is drawn from the stationary
    /// distribution.
    GilbertElliott {
        /// Probability of a change from the good state to the bad one.
        to_bad: f64,
        /// Probability of a change from the bad state to the good one.
        to_good: f64,
        /// Loss probability in the good state.
        in_good: f64,
        /// Loss probability in the bad state.
        in_bad: f64,
    },
    /// Losses in bursts that last for a time, with or without packets: the link is in a good or a bad state for
    /// exponentially distributed times. The packet is lost with the state's probability. The first state is drawn from the
    /// stationary distribution.
    TimedStates {
        /// Mean duration of a good state, ps.
        good_ps: u64,
        /// Mean duration of a bad state, ps.
        bad_ps: u64,
        /// Loss probability in the good state.
        in_good: f64,
        /// Loss probability in the bad state.
        in_bad: f64,
    },
    /// Losses of listed packets.
    List {
        /// Positions of the lost packets in the order of arrival at the link; the first packet is 0.
        packets: Vec<u64>,
    },
}

/// An interval in which packets are lost.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LossInterval {
    /// Loss probability of a packet.
    pub p: f64,
    /// Beginning of the interval, ps.
    pub from_ps: u64,
    /// End of the interval, ps.
    pub to_ps: u64,
}
