//! The event log: the events of each packet, if a scenario asks for it.
//!
//! Each sender and the network have separate logs, which are merged at the end of the run. The log costs almost nothing
//! in a run that does not write one: the engine's turns are compiled in two versions ([`crate::engine`]), and only
//! dropped or marked packets are tested for logging.

use crate::packet::{FlowId, Packet, flag};
use crate::sidecar::{AccEcnOption, SackEntry};
use crate::spec::{EventsSpec, Spec};
use crate::time::Time;

/// Kind of an event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A sender put a segment on the wire.
    Sent,
    /// A segment reached the receiver.
    Received,
    /// A receiver put an ACK on the wire.
    AckSent,
    /// An ACK reached the sender.
    Acked,
    /// A queue dropped a packet.
    Dropped,
    /// A link lost a packet for a reason other than its queue.
    Lost,
    /// A packet left a queue, or joined it, with a mark.
    Marked,
    /// A link duplicated a packet.
    Duplicated,
}

impl Kind {
    /// All kinds, by number.
    pub const NAMES: [&str; 8] = ["sent", "received", "ack_sent", "acked", "dropped", "lost", "marked", "duplicated"];
}

/// Index for "no link" or "no SACK blocks".
pub const NONE: u32 = u32::MAX;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time of the event.
    pub at: Time,
    /// See [`Packet::stamp`].
    pub stamp: Time,
    /// Index of the flow.
    pub flow: FlowId,
    /// See [`Packet::segment`].
    pub segment: u32,
    /// Index of the link that dropped, lost or marked the packet, or [`NONE`].
    pub link: u32,
    /// Index of the ACK's SACK blocks and option, or [`NONE`].
    pub sack: u32,
    /// Congestion window, segments, in a sender's events; otherwise NaN.
    pub cwnd: f32,
    /// Smoothed RTT, s, in a sender's events; NaN otherwise and before the first sample.
    pub srtt: f32,
    /// Segments outstanding, in the events of a sender.
    pub in_flight: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// See [`flag`].
    pub flags: u8,
    /// Kind of the event.
    pub kind: Kind,
}

/// Up to three SACK blocks, `[first, past)` in segments, and the AccECN option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks: segments that arrived twice (D-SACK, RFC 2883 section 4), then the newest first.
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub count: u8,
    /// The option.
    pub option: AccEcnOption,
}

impl From<SackEntry> for Blocks {
    fn from(entry: SackEntry) -> Self {
        let [first, second, third] = entry.blocks;
        let option = entry.option;
        if entry.is_report() {
            // The ACK has room for three blocks.
            return Self { blocks: [entry.repeated, first, second], count: entry.count + 1, option };
        }
        Self { blocks: [first, second, third], count: entry.count, option }
    }
}

/// Events of one part of the simulation, in their order.
#[derive(Clone, Debug, Default)]
pub struct Log {
    from: Time,
    to: Time,
    /// The events.
    pub rows: Vec<Event>,
    /// SACK blocks and options of [`Event::sack`].
    pub sacks: Vec<Blocks>,
}

impl Log {
    /// An empty log for the requested part of the run.
    #[must_use]
    pub fn new(spec: &EventsSpec) -> Self {
        Self { from: Time(spec.from_ps), to: spec.to_ps.map_or(Time::NEVER, Time), ..Self::default() }
    }

    /// True if events at `at` are kept.
    #[must_use]
    pub fn covers(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }

    /// Adds an event of `packet` at `at`.
    pub fn push(&mut self, kind: Kind, at: Time, packet: &Packet, link: u32, blocks: Option<Blocks>) {
        if !self.covers(at) || packet.opens().is_some() {
            return;
        }
        let sack = blocks.filter(|b| b.count > 0 || b.option.count > 0).map_or(NONE, |blocks| {
            self.sacks.push(blocks);
            self.sacks.len() as u32 - 1
        });
        self.rows.push(Event {
            at,
            stamp: packet.stamp,
            flow: packet.flow(),
            segment: packet.segment(),
            link,
            sack,
            cwnd: f32::NAN,
            srtt: f32::NAN,
            in_flight: 0,
            bytes: packet.bytes() as u16,
            flags: packet.flags(),
            kind,
        });
    }

    /// Appends another log.
    fn append(&mut self, other: &mut Self) {
        let base = self.sacks.len() as u32;
        self.sacks.append(&mut other.sacks);
        self.rows.reserve(other.rows.len());
        self.rows.extend(other.rows.drain(..).map(|row| {
            let sack = if row.sack == NONE { NONE } else { row.sack + base };
            Event { sack, ..row }
        }));
    }
}

/// Log of drops, losses and marks at links. For each link the log stores the number of packets lost for reasons other
/// than the queue, as of the link's last drop or loss.
#[derive(Clone, Debug, Default)]
pub struct NetworkLog {
    /// The events.
    pub log: Log,
    /// Number of packets, by link.
    pub lost: Vec<u64>,
    /// Number of flows; higher flow numbers belong to transfers of sources, and these transfers are not logged.
    pub flows: u32,
}

impl NetworkLog {
    /// Adds an event of `packet` at a link at `at`.
    pub fn push(&mut self, kind: Kind, at: Time, packet: &Packet, link: u32, blocks: Option<Blocks>) {
        if packet.flow().0 < self.flows {
            self.log.push(kind, at, packet, link, blocks);
        }
    }
}

/// Merges all logs in order of time; `ends` has the logs of each flow's sender and receiver. At equal times links come
/// before endpoints, and both are ordered by name, so the order depends on the scenario and not on the schedule.
#[must_use]
pub fn gather(spec: &Spec, network: Option<NetworkLog>, mut ends: Vec<[Option<Log>; 2]>) -> Option<Log> {
    let mut all = network?.log;
    all.rows.sort_by(|a, b| (a.at, link_name(spec, a)).cmp(&(b.at, link_name(spec, b))));
    let mut by_name: Vec<FlowId> = (0..spec.flows.len() as u32).map(FlowId).collect();
    by_name.sort_by_key(|flow| &spec.flows[flow.index()].name);
    for flow in by_name {
        for log in ends[flow.index()].iter_mut().flatten() {
            all.append(log);
        }
    }
    all.rows.sort_by_key(|event| event.at);
    Some(all)
}

fn link_name<'a>(spec: &'a Spec, event: &Event) -> &'a str {
    &spec.links[event.link as usize].name
}

/// True for an event of an acknowledgement.
#[must_use]
pub fn is_ack(event: &Event) -> bool {
    event.flags & flag::ACK != 0
}
