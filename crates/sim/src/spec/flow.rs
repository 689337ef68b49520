//! Flows: their algorithm, their data, their paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distributions::DurationSpec;
use super::impairments::RateStep;
use super::link::LinkSpec;
use super::program::ProgramSpec;
use super::stack::{ClockSpec, HostRule, StackSpec};
use super::udt;
use crate::time::Time;

/// Times of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// RTT of the SYN, which the sender measures.
    pub rtt: Time,
    /// RTT of the SYN-ACK, which the receiver measures.
    pub receivers_rtt: Time,
}

impl Handshake {
    /// The handshake on a path whose reverse path is longer by `extra`.
    #[must_use]
    pub fn on_longer_path(self, extra: Time) -> Self {
        Self { rtt: self.rtt.later(extra), receivers_rtt: self.receivers_rtt.later(extra) }
    }
}

/// A flow: one sender, one receiver, a forward path and a reverse path.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct FlowSpec {
    /// Unique name, which also names the flow's random streams and breaks ties.
    pub name: String,
    /// Congestion control: `name` or `name:preset`.
    pub algorithm: String,
    /// SHA-256 of the source of an algorithm in Python, whose object the caller supplies. Absent for built-in
    /// algorithms.
    #[serde(default)]
    pub source_sha256: Option<String>,
    /// Parameters of the algorithm that differ from its preset.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::parameters")]
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Time at which the connection is opened, ps; without a handshake, that of the first segment.
    pub start_ps: u64,
    /// Number of equal flows: a group, with the names `name-1`, `name-2` and so on.
    #[serde(default = "super::one")]
    pub count: u32,
    /// Time over which a group's flows start, at equal intervals, ps.
    #[serde(default)]
    pub start_spread_ps: u64,
    /// Time after which no new data is sent, ps; the end of the run if absent.
    #[serde(default)]
    pub stop_ps: Option<u64>,
    /// Length of the transfer; unlimited if absent.
    #[serde(default)]
    pub size_segments: Option<u64>,
    /// Application that limits the flow; all data is available at the start if absent.
    #[serde(default)]
    pub application: Option<ApplicationSpec>,
    /// Sends the application's segments as datagrams: each leaves at once, without acknowledgements, retransmissions or
    /// congestion control.
    #[serde(default)]
    pub datagrams: bool,
    /// Packets of endpoints that the engine's caller supplies; the engine's own endpoints are used if absent.
    #[serde(default)]
    pub foreign: Option<ForeignSpec>,
    /// Backend of both endpoints, if it differs from that of the run's other flows. The engine runs a flow of another
    /// backend only with endpoints that its caller supplies.
    #[serde(default)]
    pub backend: Option<String>,
    /// Program in place of the flow's endpoints, on a host that the engine's caller supplies.
    #[serde(default)]
    pub program: Option<Box<ProgramSpec>>,
    /// Links of the forward path, by their position in `links`.
    pub path: Vec<usize>,
    /// Links of the reverse path, by their position in `links`.
    pub reverse_path: Vec<usize>,
    /// Transport of the two endpoints.
    pub stack: Arc<StackSpec>,
    /// Error of the base RTT that the sender reports to the algorithm, ps; positive if the reported RTT is too long.
    #[serde(default)]
    pub base_rtt_error_ps: i64,
    /// Clock of the sender, which its timestamps show.
    #[serde(default)]
    pub sender_clock: ClockSpec,
    /// Clock of the receiver.
    #[serde(default)]
    pub receiver_clock: ClockSpec,
    /// Send buffer in Linux's accounting, bytes: see [`Spec::send_buffer_bytes`](super::Spec::send_buffer_bytes). The
    /// field is not in the canonical form, since it follows from the path.
    #[serde(skip)]
    #[schemars(skip)]
    pub send_buffer_bytes: u64,
    /// Receive window, segments; `None` is unlimited. A Linux host whose stack states none has the segments that its
    /// peer's send buffer holds. The field is not in the canonical form, since it follows from the stack and the path.
    #[serde(skip)]
    #[schemars(skip)]
    pub receive_window: Option<u32>,
}

/// Packets of endpoints that are not the engine's own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ForeignSpec {
    /// Size of the smallest packet that either end sends, bytes on the wire.
    pub smallest_bytes: u16,
    /// Size of the largest packet, bytes on the wire.
    pub largest_bytes: u16,
    /// True if both ends are on the run's host, with its one clock. The field is not in the canonical form, since the
    /// program with the host sets it.
    #[serde(skip)]
    pub hosted: bool,
}

impl FlowSpec {
    /// True if both of the flow's ends are on the host that the engine's caller supplies.
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        self.foreign.is_some_and(|foreign| foreign.hosted)
    }

    /// True if the flow's endpoints have their own packet sizes. Endpoints of TCP and of datagrams have the stack's
    /// sizes.
    #[must_use]
    pub fn has_own_transport(&self) -> bool {
        self.is_udt() || self.foreign.is_some()
    }

    /// True for a UDT flow, which has its own endpoints.
    #[must_use]
    pub fn is_udt(&self) -> bool {
        self.source_sha256.is_none() && self.algorithm.split(':').next() == Some("udt")
    }

    /// True if the flow's receiver has no timer: it acknowledges each packet at once, or none. A receiver on Linux has
    /// more to do, even if it acknowledges every segment: its clock counts ns, and it looks at timestamps and at parts of
    /// segments.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        let is_plain = self.stack.ack_every == 1 && !self.stack.is_linux();
        (is_plain || self.datagrams) && !self.has_own_transport()
    }

    /// True if the flow's connection is opened by packets on its path.
    #[must_use]
    pub fn makes_handshake(&self) -> bool {
        self.stack.handshake && !self.datagrams && !self.has_own_transport()
    }

    /// Sizes of the flow's smallest and largest packet, bytes: for data packets, and for ACKs. The SYN and the ACK of a
    /// handshake are not data packets: they may be smaller.
    #[must_use]
    pub fn packet_sizes(&self) -> [(u64, u64); 2] {
        let stack = &self.stack;
        if let Some(ForeignSpec { smallest_bytes, largest_bytes, .. }) = self.foreign {
            return [(smallest_bytes.into(), largest_bytes.into()); 2];
        }
        let data = u64::from(stack.payload_bytes + stack.header_bytes);
        if self.is_udt() {
            // ACK2s use the forward path. A NAK is at most as large as a full packet, or has two words.
            let widest = data.max(u64::from(udt::ACK_BYTES));
            return [(u64::from(udt::HEADER_BYTES), data), (u64::from(udt::LIGHT_ACK_BYTES), widest)];
        }
        let ack = u64::from(stack.ack_bytes);
        let syn = if self.makes_handshake() { u64::from(stack.syn_bytes()) } else { ack };
        let option = u64::from(stack.option_bytes());
        [(data, data.max(syn)), (ack.min(syn), (ack + u64::from(stack.most_sack_bytes())).max(syn) + option)]
    }

    /// The handshake over the empty `links` at the time `at`, if the stack makes one.
    #[must_use]
    pub fn handshake(&self, links: &[LinkSpec], at: Time) -> Option<Handshake> {
        let cross = |path: &[usize], bytes: u64| {
            path.iter().fold(Time::ZERO, |sum, &link| sum.later(links[link].crossing(bytes, at)))
        };
        self.stack.handshake.then(|| {
            let bytes = u64::from(self.stack.syn_bytes());
            let answer = bytes + u64::from(self.stack.segment_option_bytes());
            let (there, back) = (&self.path, &self.reverse_path);
            let mut now = at;
            let times =
                [(there, bytes), (back, answer), (there, self.stack.header_bytes.into())].map(|(path, bytes)| {
                    now = self.stack.on_clock(now.later(cross(path, bytes)));
                    now
                });
            let [rtt, receivers_rtt] =
                [(at, times[1]), (times[0], times[2])].map(|(from, to)| self.stack.elapsed(from, to));
            Handshake { rtt, receivers_rtt }
        })
    }

    /// True if the sender may send parts of segments: a sender of Linux with segmentation offload fills a receive window
    /// that is no whole number of segments. Senders of transfers, and of applications with little data, wait until the
    /// window has room for a whole segment; otherwise the number of a transfer's segments would depend on the window.
    /// Counts of segments take a part for a whole segment; counts of bytes do not.
    #[must_use]
    pub fn sends_parts(&self) -> bool {
        let stack = &self.stack;
        let is_endless = self.size_segments.is_none() && self.application.is_none();
        stack.has(HostRule::ReceiveWindow) && stack.tso && is_endless && !self.datagrams && !self.has_own_transport()
    }

    /// Lower bound of the size of the flow's packets, bytes.
    #[must_use]
    pub fn smallest_bytes(&self) -> u64 {
        if let Some(foreign) = self.foreign {
            return foreign.smallest_bytes.into();
        }
        if self.is_udt() {
            return udt::HEADER_BYTES.into();
        }
        // A part of a segment has at least one byte.
        let StackSpec { ack_bytes, payload_bytes, header_bytes, .. } = *self.stack;
        let part = if self.sends_parts() { header_bytes + 1 } else { u32::MAX };
        let opening = if self.makes_handshake() { self.stack.bare_header_bytes() } else { u32::MAX };
        ack_bytes.min(payload_bytes).min(part).min(opening).into()
    }
}

/// Application that supplies its data at a rate.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ApplicationSpec {
    /// Rate during on periods, bit/s; 0 for an application with writes. The rate counts user data; if the segments are
    /// datagrams, it counts all bits on the wire.
    pub rate_bps: u64,
    /// Segments arrive as a Poisson process instead of at equal intervals.
    #[serde(default)]
    pub poisson: bool,
    /// Segments arrive in frames, as in a video, instead of at equal intervals.
    #[serde(default)]
    pub frames: Option<FramesSpec>,
    /// Distributions of the on and off periods; always on if absent.
    #[serde(default)]
    pub bursts: Option<(DurationSpec, DurationSpec)>,
    /// Changes of the rate of an application with frames, in the order of their times, for example those of an encoder.
    #[serde(default)]
    pub rate_steps: Vec<RateStep>,
    /// Writes of given sizes at given times, in the order of their times, instead of a rate.
    #[serde(default)]
    pub writes: Vec<WriteSpec>,
}

/// A write of an application. Its data begins with a segment of its own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct WriteSpec {
    /// Time of the write, ps; a write before the flow's start is made at the start.
    pub at_ps: u64,
    /// User data, bytes.
    pub bytes: u64,
}

impl ApplicationSpec {
    /// Segments of all writes.
    #[must_use]
    pub fn written_segments(&self, payload_bytes: u32) -> u64 {
        self.writes.iter().map(|write| write.segments(payload_bytes)).fold(0, u64::saturating_add)
    }
}

impl WriteSpec {
    /// Segments of the write.
    #[must_use]
    pub fn segments(&self, payload_bytes: u32) -> u64 {
        self.bytes.div_ceil(u64::from(payload_bytes.max(1)))
    }
}

/// Frames of random size at equal intervals: a variable bit rate.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct FramesSpec {
    /// Interval of the frames, ps. The mean size of a frame is the rate times the interval.
    pub interval_ps: u64,
    /// Shape of the Weibull distribution of the sizes, with P(X > x) = exp(−(x / scale)^shape).
    pub shape: f64,
}
