//! A capture as its sender saw it, and what a replay says of it.

use std::sync::Arc;

use crate::spec::StackSpec;
use crate::time::Time;

/// An ACK that the captured sender received.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Time of its arrival.
    pub at: Time,
    /// Next segment expected.
    pub cumulative: u32,
    /// SACK blocks `[first, past)`, newest first, and their number.
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub count: u8,
    /// Segments `[first, past)` that arrived twice (D-SACK); empty if there are none to report.
    pub repeated: (u32, u32),
    /// Segment whose arrival caused the ACK, time at which it was sent, and true if that was a retransmission.
    pub trigger: u32,
    /// See [`Acked::trigger`].
    pub stamp: Time,
    /// See [`Acked::trigger`].
    pub is_of_resent: bool,
    /// One-way delay of this segment, in units of [`crate::packet::OWD_UNIT_PS`].
    pub owd: u32,
    /// Latest time at which the segment left that the ACK echoes, if its trigger may be an original or a repetition;
    /// [`Time::ZERO`] otherwise.
    pub echo: Time,
    /// True if the ACK echoes a mark.
    pub echoes: bool,
    /// Advertised receive window, segments.
    pub window: u32,
}

/// Segments that the captured sender sent together: new ones, or retransmissions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departed {
    /// Time of the transmission.
    pub at: Time,
    /// First segment.
    pub first: u32,
    /// Segment after the last one.
    pub past: u32,
}

/// An event of a capture.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An ACK arrives.
    Acked(Acked),
    /// Segments leave.
    Departed(Departed),
}

impl Event {
    /// Time of the event.
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::Acked(ack) => ack.at,
            Self::Departed(sent) => sent.at,
        }
    }
}

/// Connection of a capture, as its sender saw it.
#[derive(Clone, Debug)]
pub struct Script {
    /// Transport of the captured host.
    pub stack: StackSpec,
    /// RTT of the handshake.
    pub handshake: Time,
    /// Time at which the sender could send its first segment.
    pub start: Time,
    /// Events, in the order of time; the ACKs alone if `departures` has the transmissions.
    pub events: Vec<Event>,
    /// Number of segments.
    pub segments: u32,
    /// Transmissions whose times are known within bounds only: the capture is not from the sender.
    pub departures: Option<Arc<Departures>>,
}

/// Times between which segments left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Earliest and latest time.
    pub low: Time,
    /// See [`Bounds::low`].
    pub high: Time,
}

/// Place of a packet among those that left together, as far as the capture shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Burst {
    /// It begins a burst, whose others follow it.
    Begins,
    /// It left together with the packet before, and with the segments between them.
    Joined,
    /// The capture does not show it.
    #[default]
    Unknown,
}

/// A packet with data that the capture has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Captured {
    /// First segment.
    pub first: u32,
    /// Segment after the last one.
    pub past: u32,
    /// Segments that left since the packet before, and that the capture lacks.
    pub unseen: u32,
    /// Place among those that left together with it.
    pub burst: Burst,
    /// When it left.
    pub left: Bounds,
}

/// Transmissions that a capture away from the sender shows.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    /// Packets that the capture has, in the order in which they left. Bounds do not fall.
    pub captured: Vec<Captured>,
    /// For each segment, when the first copy left that the capture has.
    pub seen: Vec<Bounds>,
}

impl Departures {
    /// Transmissions of this number of segments. Bounds are widened where they fall.
    #[must_use]
    pub fn new(mut captured: Vec<Captured>, segments: u32) -> Self {
        let mut low = Time::ZERO;
        for packet in &mut captured {
            low = low.max(packet.left.low);
            packet.left.low = low;
        }
        let mut high = Time::NEVER;
        for packet in captured.iter_mut().rev() {
            high = high.min(packet.left.high.max(packet.left.low));
            packet.left.high = high;
        }
        let mut seen = vec![Bounds { low: Time::NEVER, high: Time::NEVER }; segments as usize];
        let mut high = Time::ZERO;
        for packet in &mut captured {
            // An earlier low bound that is beyond a later high one contradicts it.
            high = high.max(packet.left.high).max(packet.left.low);
            packet.left.high = high;
            for segment in seen.iter_mut().take(packet.past as usize).skip(packet.first as usize) {
                if segment.low == Time::NEVER {
                    *segment = packet.left;
                }
            }
        }
        Self { captured, seen }
    }
}

/// Transmissions that an algorithm allows.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// Time from which the algorithm lets each segment leave; [`Time::NEVER`] if it never does.
    pub allowed: Vec<Time>,
    /// Times of the start and of each event.
    pub at: Vec<Time>,
    /// Window of the algorithm after each event, segments.
    pub window: Vec<u32>,
    /// Segments in flight after each event.
    pub in_flight: Vec<u32>,
    /// Segments whose first copy in the capture is a repetition to the algorithm, and the time from which it lets this
    /// leave.
    pub repeated: Vec<(u32, Time)>,
}

impl Followed {
    /// Returns the record of all this number of segments.
    pub(super) fn complete(mut self, segments: u32) -> Self {
        self.allowed.resize(segments as usize, Time::NEVER);
        for &(segment, allowed) in &self.repeated {
            if let Some(known) = self.allowed.get_mut(segment as usize) {
                *known = allowed;
            }
        }
        self
    }
}
