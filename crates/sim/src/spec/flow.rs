//! Flows: their algorithm, their data, their paths.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::distributions::DurationSpec;
use super::stack::{ClockSpec, StackSpec};
use super::udt;

/// A flow.
#[derive(Clone, Debug, Deserialize)]
pub struct FlowSpec {
    /// Unique name; it also names the flow's random streams and breaks ties.
    pub name: String,
    /// `name` or `name:preset`.
    pub algorithm: String,
    /// Digest of the source of an algorithm that is none of ours; whoever runs the spec has to bring it.
    #[serde(default)]
    pub source_sha256: Option<String>,
    /// The algorithm's parameters where they differ from the preset.
    #[serde(default)]
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// First segment, ps.
    pub start_ps: u64,
    /// No new data after this, ps.
    #[serde(default)]
    pub stop_ps: Option<u64>,
    /// Length of the transfer; unlimited where absent.
    #[serde(default)]
    pub size_segments: Option<u64>,
    /// An application that hands its data over bit by bit; where absent, all is there at the start.
    #[serde(default)]
    pub application: Option<ApplicationSpec>,
    /// The application's segments are datagrams: each leaves at once, nothing acknowledges or repeats it, and the algorithm is
    /// not asked.
    #[serde(default)]
    pub datagrams: bool,
    /// The flow's endpoints are brought by the caller of the engine.
    #[serde(default)]
    pub foreign: Option<ForeignSpec>,
    /// Links that data crosses.
    pub path: Vec<usize>,
    /// Links that ACKs cross.
    pub reverse_path: Vec<usize>,
    /// The endpoints.
    pub stack: StackSpec,
    /// How much longer than in truth the algorithm believes the shortest round trip to be, ps.
    #[serde(default)]
    pub base_rtt_error_ps: i64,
    /// The sender's clock, which its time stamps show.
    #[serde(default)]
    pub sender_clock: ClockSpec,
    /// The receiver's clock.
    #[serde(default)]
    pub receiver_clock: ClockSpec,
}

/// Packets of endpoints that are none of the engine's.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub struct ForeignSpec {
    /// The smallest packet that either end sends, bytes on the wire.
    pub smallest_bytes: u16,
    /// The largest, bytes on the wire.
    pub largest_bytes: u16,
}

impl FlowSpec {
    /// Whether its endpoints are neither TCP's nor datagrams', whose packets have the sizes of the stack.
    #[must_use]
    pub fn has_own_transport(&self) -> bool {
        self.is_udt() || self.foreign.is_some()
    }

    /// Whether it is a flow of UDT, which has endpoints of its own.
    #[must_use]
    pub fn is_udt(&self) -> bool {
        self.source_sha256.is_none() && self.algorithm.split(':').next() == Some("udt")
    }

    /// Whether its receiver has no timer: it answers each packet at once, or not at all.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        (self.stack.ack_every == 1 || self.datagrams) && !self.has_own_transport()
    }

    /// Sizes of its smallest and its largest packet, those with data and those that answer them, bytes.
    #[must_use]
    pub fn packet_sizes(&self) -> [(u64, u64); 2] {
        let stack = &self.stack;
        if let Some(ForeignSpec { smallest_bytes, largest_bytes }) = self.foreign {
            return [(smallest_bytes.into(), largest_bytes.into()); 2];
        }
        let data = u64::from(stack.payload_bytes + stack.header_bytes);
        if self.is_udt() {
            // ACK2s go the way of data, and a NAK is at most as large as a full packet; or has two words.
            let widest = data.max(u64::from(udt::ACK_BYTES));
            return [(u64::from(udt::HEADER_BYTES), data), (u64::from(udt::LIGHT_ACK_BYTES), widest)];
        }
        let ack = u64::from(stack.ack_bytes);
        [(data, data), (ack, ack + 3 * u64::from(stack.sack_block_bytes))]
    }

    /// No packet of it is smaller, bytes.
    #[must_use]
    pub fn smallest_bytes(&self) -> u64 {
        if let Some(foreign) = self.foreign {
            return foreign.smallest_bytes.into();
        }
        u64::from(if self.is_udt() { udt::HEADER_BYTES } else { self.stack.ack_bytes.min(self.stack.payload_bytes) })
    }
}

/// When an application has a segment to send.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct ApplicationSpec {
    /// Bit/s while it is on: of user data, or of what is on the wire where the segments are datagrams.
    pub rate_bps: u64,
    /// Segments come as a Poisson process, and not at equal distances.
    #[serde(default)]
    pub poisson: bool,
    /// Segments come in frames, as those of a video, and not at equal distances.
    #[serde(default)]
    pub frames: Option<FramesSpec>,
    /// Distributions of its times on and off; always on where absent.
    #[serde(default)]
    pub bursts: Option<(DurationSpec, DurationSpec)>,
}

/// Frames of random size at equal distances: a variable bit rate.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct FramesSpec {
    /// Their distance, ps; on average a frame holds what the rate gives in that time.
    pub interval_ps: u64,
    /// Shape of the Weibull distribution of their sizes: P(X > x) = exp(−(x / scale)^shape).
    pub shape: f64,
}
