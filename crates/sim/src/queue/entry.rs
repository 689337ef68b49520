//! The declaration of a discipline, and what it is built from.

use std::collections::BTreeMap;

use elephan_cc::Router;
use elephan_cc::param::{BuildError, Field, Parameter, Settings, Value};

use super::held::Held;
use super::{Arrival, Backlog, DropTail, Verdict};
use crate::packet::Packet;
use crate::random::Stream;
use crate::sidecar::CongestionHeaders;
use crate::time::Time;

/// A discipline that can be named in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in a scenario.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Paper, RFC or program that defines it.
    pub source: &'static str,
    /// The parameter tables: the discipline's own, and those it shares. The limit, which every queue has, is in none.
    pub tables: &'static [&'static [Parameter]],
    /// Other ways to count the limit.
    pub presets: &'static [Preset],
    /// The kind of router that it is, for the algorithms that need one.
    pub router: Option<Router>,
    /// Adds the derived defaults to a user's values, given the link's rate in packets/s.
    pub derive: fn(&mut BTreeMap<String, Value>, f64),
}

/// A way to count the limit that another program has.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name after the colon.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Packets or bytes fewer than the stated limit that may wait.
    pub below_limit: u64,
}

impl Entry {
    /// An entry without presets, routers and derived defaults.
    pub(super) const fn new(
        name: &'static str,
        title: &'static str,
        source: &'static str,
        tables: &'static [&'static [Parameter]],
    ) -> Self {
        Self { name, title, source, tables, presets: &[], router: None, derive: |_, _| () }
    }

    /// Every parameter.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.tables.iter().flat_map(|table| table.iter().copied()).collect()
    }
}

/// The link that a queue is built for.
#[derive(Clone, Debug)]
pub struct Place {
    /// Packets that may wait.
    pub limit_packets: Option<u64>,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// Bit/s.
    pub rate_bps: u64,
    /// The random numbers of the queue.
    pub draws: Stream,
}

impl Place {
    /// The bound on what waits.
    pub(super) fn tail(&self, count_in_service: bool) -> DropTail {
        DropTail::new(self.limit_packets, self.limit_bytes, count_in_service)
    }
}

/// A discipline that a scenario can name.
pub(super) trait Discipline: Sized {
    /// Name, source and parameters.
    const ENTRY: Entry;

    /// An empty queue; an error for values that contradict each other.
    fn build(settings: &Settings, place: Place) -> Result<Self, BuildError>;
}

/// A discipline that decides when a packet arrives, and is first in, first out.
pub(super) trait AtArrival: Discipline {
    /// The bound on what waits.
    fn tail(&self) -> &DropTail;

    /// Decides what becomes of an arrival.
    fn decide(&mut self, arrival: &Arrival) -> Verdict;
}

/// A discipline that decides when the transmitter becomes free.
pub(super) trait AtDeparture: Discipline {
    /// Takes a packet that arrives at `packet.at`; the packets that are dropped for it are put into `dropped`. `headers` has the
    /// congestion headers of each flow.
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut dyn CongestionHeaders);

    /// The packet that is sent at `now`; those that are dropped instead are put into `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, headers: &mut dyn CongestionHeaders) -> Option<Packet>;

    /// The queues of waiting packets.
    fn held(&self) -> impl Iterator<Item = &Held>;

    /// Number and bytes of the waiting packets.
    fn backlog(&self) -> Backlog {
        self.held().map(Held::backlog).fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }
}

impl Field for Time {
    fn of(parameter: &Parameter, value: &Value) -> Option<Self> {
        f64::of(parameter, value).map(|ps| Self(ps as u64))
    }
}
