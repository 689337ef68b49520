//! Links.

use serde::Deserialize;

use super::impairments::Impairments;
use super::queue::QueueSpec;

/// A directed link: queue → transmitter → delay line.
#[derive(Clone, Debug, Deserialize)]
pub struct LinkSpec {
    /// Unique name; it also names the link's random streams and breaks ties.
    pub name: String,
    /// Bit/s.
    pub rate_bps: u64,
    /// Propagation delay, ps.
    pub delay_ps: u64,
    /// What is lost before the queue.
    #[serde(default)]
    pub loss: LossSpec,
    /// What waits, and what is dropped.
    pub queue: QueueSpec,
    /// Whether it is sampled into the `links` table.
    #[serde(default)]
    pub record: bool,
    /// What it does besides, if anything.
    #[serde(default)]
    pub impairments: Option<Box<Impairments>>,
}

impl LinkSpec {
    /// The shortest propagation delay that it ever has, ps.
    #[must_use]
    pub fn shortest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).min().unwrap_or(self.delay_ps)
    }

    /// The longest propagation delay that it ever has, ps.
    #[must_use]
    pub fn longest_ps(&self) -> u64 {
        let steps = self.impairments.iter().flat_map(|i| &i.delay_steps);
        steps.map(|step| step.delay_ps).chain([self.delay_ps]).max().unwrap_or(self.delay_ps)
    }

    /// The fastest that it ever is, bit/s.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.impairments.as_ref().map_or(self.rate_bps, |i| i.fastest_bps(self.rate_bps))
    }
}

/// Losses that the queue has no part in; they hit data packets and ACKs alike, whichever the link carries.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LossSpec {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet independently.
    Bernoulli {
        /// Probability.
        p: f64,
    },
    /// In bursts (Gilbert 1960, Elliott 1963): the link is in a good or in a bad state, changes before each packet, and loses it
    /// with the probability of the state that it is in. In which it begins is drawn in proportion to the time in each.
    GilbertElliott {
        /// From the good state to the bad one.
        to_bad: f64,
        /// From the bad state to the good one.
        to_good: f64,
        /// Loss in the good state.
        in_good: f64,
        /// Loss in the bad state.
        in_bad: f64,
    },
    /// Exactly these packets.
    List {
        /// Positions in the order of arrival at the link, the first packet being 0.
        packets: Vec<u64>,
    },
}
