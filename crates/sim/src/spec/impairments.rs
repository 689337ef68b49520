//! Impairments of a link: changes over time, random delays, reordering and duplicates. [`crate::link`] applies them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::SpecError;
use crate::time::Time;

/// Bytes of one opportunity of a trace: a packet of the usual size. Mahimahi counts 1,504 bytes, including 4 bytes of
/// its own header.
pub const OPPORTUNITY_BYTES: u64 = 1500;

/// Longest additional delay, ps.
const MOST_PS: u64 = 3600 * Time::SECOND.0;

/// Changes of a link over time, random delays, reordering and duplicates.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Impairments {
    /// Changes of the rate, in the order of their times.
    #[serde(default)]
    pub rate_steps: Vec<RateStep>,
    /// Times at which one packet may leave, instead of a rate, ms. The list repeats after its last time, as in Mahimahi
    /// (Netravali et al., USENIX ATC 2015).
    #[serde(default)]
    pub rate_trace_ms: Vec<u64>,
    /// Changes of the propagation delay, which are changes of the route, in the order of their times. Packets on a
    /// shorter route overtake those on a longer one.
    #[serde(default)]
    pub delay_steps: Vec<DelayStep>,
    /// True if packets stay in order when the delay becomes shorter.
    #[serde(default)]
    pub steps_in_order: bool,
    /// Random delay of each packet; packets on the same route stay in order.
    #[serde(default)]
    pub jitter: Option<JitterSpec>,
    /// Reordering of packets.
    #[serde(default)]
    pub reorder: Option<ReorderSpec>,
    /// Probability of a second copy of a packet.
    #[serde(default)]
    pub duplicate: f64,
    /// Bursts of a transmitter that must gain access to its medium.
    #[serde(default)]
    pub aggregation: Option<AggregationSpec>,
    /// Retransmission by the link layer.
    #[serde(default)]
    pub retransmission: Option<RetransmissionSpec>,
}

/// Aggregation: a transmitter gains access to the medium and then sends the packets that wait, up to a number, back to back
/// (A-MPDU of IEEE 802.11n).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
pub struct AggregationSpec {
    /// Largest number of packets of a burst.
    pub packets: u32,
    /// Constant time for each access, ps.
    pub access_ps: u64,
    /// Mean of an additional, exponentially distributed time, ps.
    pub contention_ps: u64,
}

/// Retransmission by the link layer (ARQ): the loss of a transmission becomes delay.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
pub struct RetransmissionSpec {
    /// Probability that a transmission fails.
    pub p: f64,
    /// Largest number of transmissions of a packet, after which it is lost.
    pub tries: u32,
    /// Extra delay of each retransmission of a packet, besides its transmission, ps.
    pub delay_ps: u64,
    /// True if later packets wait for a retransmitted one.
    pub in_order: bool,
}

/// A change of the rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RateStep {
    /// Time of the change, ps.
    pub at_ps: u64,
    /// Rate from this time on, bit/s; 0 while the link is down and holds the packet in transmission.
    pub rate_bps: u64,
}

/// A change of the propagation delay.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
pub struct DelayStep {
    /// Time of the change, ps; it applies to packets whose last bit leaves the transmitter at this time or later.
    pub at_ps: u64,
    /// Propagation delay from this time on, ps.
    pub delay_ps: u64,
}

/// Distribution of the random delay of a packet.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JitterSpec {
    /// Uniform from 0 to a maximum.
    Uniform {
        /// Maximum, ps.
        max_ps: u64,
    },
    /// Normal; a negative value is drawn again.
    Normal {
        /// Mean of the normal distribution, ps.
        mean_ps: u64,
        /// Standard deviation of the normal distribution, ps.
        deviation_ps: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean, ps.
        mean_ps: u64,
    },
    /// One of the listed delays, all with equal probability.
    Samples {
        /// Samples, ps.
        samples_ps: Vec<u64>,
    },
}

/// Reordering: a fraction of the packets takes longer.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
pub struct ReorderSpec {
    /// Probability of the extra delay.
    pub p: f64,
    /// Extra delay, ps.
    pub delay_ps: u64,
}

impl Impairments {
    /// Highest rate over a longer time, bit/s, of a link that starts at `rate_bps`.
    #[must_use]
    pub fn fastest_bps(&self, rate_bps: u64) -> u64 {
        if let Some(&period_ms) = self.rate_trace_ms.last() {
            let bits = self.rate_trace_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
            return (u128::from(bits) * 1000).div_ceil(u128::from(period_ms.max(1))) as u64;
        }
        self.rate_steps.iter().map(|step| step.rate_bps).chain([rate_bps]).max().unwrap_or(rate_bps)
    }

    /// True if there are impairments other than changes of the rate.
    #[must_use]
    pub fn beyond_rate(&self) -> bool {
        !self.delay_steps.is_empty()
            || self.jitter.is_some()
            || self.reorder.is_some()
            || self.duplicate > 0.0
            || self.retransmission.is_some_and(|again| again.delay_ps > 0)
    }

    /// True if packets may be reordered or duplicated.
    #[must_use]
    pub fn disorders(&self) -> bool {
        let overtake = self.retransmission.is_some_and(|again| again.delay_ps > 0 && !again.in_order);
        let routes = !self.delay_steps.is_empty() && !self.steps_in_order;
        routes || self.reorder.is_some() || self.duplicate > 0.0 || overtake
    }

    /// Rejects values without a physical meaning.
    ///
    /// # Errors
    /// The first wrong field, under `path`.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let check = |ok: bool, field: &str, message: &str| {
            if ok { Ok(()) } else { Err(SpecError::new(format!("{path}.{field}"), message)) }
        };
        let rising = |times: &[u64]| times.windows(2).all(|pair| pair[0] < pair[1]);
        let steps: Vec<u64> = self.rate_steps.iter().map(|step| step.at_ps).collect();
        check(rising(&steps), "rate_steps", "must be in the order of their times")?;
        check(
            self.rate_steps.iter().all(|step| step.rate_bps == 0 || step.rate_bps >= 8),
            "rate_steps",
            "has rates of at least 8 bit/s, or of 0 while the link is down",
        )?;
        check(
            self.rate_steps.last().is_none_or(|step| step.rate_bps > 0),
            "rate_steps",
            "must end with a rate above 0",
        )?;
        let trace = &self.rate_trace_ms;
        check(trace.windows(2).all(|pair| pair[0] <= pair[1]), "rate_trace_ms", "must be in the order of time")?;
        check(trace.last() != Some(&0), "rate_trace_ms", "must last longer than 0 ms")?;
        check(trace.last().is_none_or(|&last| last < 1 << 32), "rate_trace_ms", "must be shorter than 49 days")?;
        check(trace.is_empty() || steps.is_empty(), "rate_trace_ms", "excludes rate_steps")?;
        let steps: Vec<u64> = self.delay_steps.iter().map(|step| step.at_ps).collect();
        check(rising(&steps), "delay_steps", "must be in the order of their times")?;
        check(self.delay_steps.iter().all(|step| step.delay_ps <= MOST_PS), "delay_steps", "must be at most an hour")?;
        let longest_ps = match &self.jitter {
            None => 0,
            Some(JitterSpec::Uniform { max_ps }) => *max_ps,
            Some(JitterSpec::Normal { mean_ps, deviation_ps }) => *mean_ps.max(deviation_ps),
            Some(JitterSpec::Exponential { mean_ps }) => *mean_ps,
            Some(JitterSpec::Samples { samples_ps }) => samples_ps.iter().copied().max().unwrap_or(u64::MAX),
        };
        check(longest_ps <= MOST_PS, "jitter", "needs at least one sample, and must be at most an hour")?;
        if let Some(reorder) = &self.reorder {
            check((0.0..=1.0).contains(&reorder.p), "reorder.p", "must be in [0, 1]")?;
            check((1..=MOST_PS).contains(&reorder.delay_ps), "reorder.delay_ps", "must be above 0, at most an hour")?;
        }
        if let Some(bursts) = &self.aggregation {
            check(bursts.packets >= 1, "aggregation.packets", "must be at least 1")?;
            let longest_ps = bursts.access_ps.max(bursts.contention_ps);
            check(longest_ps <= MOST_PS, "aggregation", "must have times of at most an hour")?;
            check(trace.is_empty(), "aggregation", "cannot be combined with rate_trace_ms")?;
        }
        if let Some(again) = &self.retransmission {
            check((0.0..1.0).contains(&again.p), "retransmission.p", "must be in [0, 1)")?;
            check((1..=1000).contains(&again.tries), "retransmission.tries", "must be from 1 to 1000")?;
            check(again.delay_ps <= MOST_PS, "retransmission.delay_ps", "must be at most an hour")?;
            check(trace.is_empty(), "retransmission", "cannot be combined with rate_trace_ms")?;
        }
        check((0.0..=1.0).contains(&self.duplicate), "duplicate", "must be in [0, 1]")
    }
}
