//! Memory of a run: an estimate of the certain need before it starts, and a limit on packets while it runs.
//!
//! The estimate includes the memory that follows directly from a scenario: samples, flows, transfers, and the first
//! window of each flow. The growth of a window, or of a queue without a bound, is not known beforehand.
//! [`crate::Engine::limit_memory`] limits packets in flight, and the engine's caller limits all other memory between
//! two time slices.

use std::mem::size_of;

use crate::crowd::{CrowdSample, QUANTILES, SAMPLES_AT_ONCE};
use crate::endpoint::{Receiver, Sender};
use crate::network::TRANSFER_BYTES;
use crate::packet::BYTES_PER_PACKET;
use crate::record::{InternalValue, LinkSample, ReceiverSample, SenderSample};
use crate::ring::MOST_INHERITED;
use crate::spec::{ArrivalsSpec, FlowSpec, LinkSpec, RecordSpec, SourceSpec, Spec};
use crate::time::Time;
use crate::traffic::{Planned, Transfer};

/// Number of columns of a table, each with 8 bytes and a validity bit per value.
const FLOW_SAMPLE_COLUMNS: u64 = 12;
const LINK_SAMPLE_COLUMNS: u64 = 13;
const TRANSFER_COLUMNS: u64 = 14;
const INTERNALS_COLUMNS: u64 = 5;
const CROWD_COLUMNS: u64 = 9;

/// Memory of a flow for the reduction to quantiles, with its samples of a slice.
const BYTES_PER_MEMBER: u64 = 100 + SAMPLES_AT_ONCE * (size_of::<SenderSample>() + size_of::<ReceiverSample>()) as u64;

/// Memory of a flow besides its ends: two paths of a few hops, mailboxes, names, a histogram of round-trip times.
const BYTES_PER_FLOW: u64 = 12_000;

/// The two ends of a flow.
const ENDS_BYTES: u64 = (size_of::<Sender>() + size_of::<Receiver>()) as u64;

/// Memory of a transfer for each of its segments: a packet in flight, its ACK, and its slots in rings.
const BYTES_PER_SEGMENT: f64 = 100.0;

/// Memory of a column of values, bytes.
const fn column(rows: u64) -> u64 {
    rows * 8 + rows / 8
}

impl Spec {
    /// Memory that this run is certain to need, bytes: its tables, its flows and transfers, and the segments that each
    /// flow sends before its first ACK.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let places = self.traffic.iter().map(|source| self.places_bytes(source));
        places.fold(self.bytes_besides_transfers(), u64::saturating_add)
    }

    /// Certain need without active transfers, bytes; active transfers compete with packets for the remaining memory.
    #[must_use]
    pub fn bytes_besides_transfers(&self) -> u64 {
        let times = 2 + self.duration_ps.checked_div(self.sample_period_ps).unwrap_or(0);
        let recorded = self.links.iter().filter(|link| link.record).count() as u64;
        let flow_rows =
            times.saturating_mul(self.flows.iter().enumerate().map(|(i, flow)| self.recorded(i, flow)).sum());
        let link_rows = times.saturating_mul(recorded);
        let held = |rows: u64, bytes: usize, columns: u64| {
            rows.saturating_mul(bytes as u64).saturating_add(column(rows.min(1 << 56)).saturating_mul(columns))
        };
        let samples = held(times, size_of::<Time>(), 1)
            .saturating_add(held(
                flow_rows,
                size_of::<SenderSample>() + size_of::<ReceiverSample>(),
                FLOW_SAMPLE_COLUMNS,
            ))
            .saturating_add(self.crowd_bytes(times))
            .saturating_add(held(link_rows, size_of::<LinkSample>(), LINK_SAMPLE_COLUMNS))
            .saturating_add(held(self.internals_rows(times), size_of::<InternalValue>(), INTERNALS_COLUMNS));
        let flow_bytes = |flow: &FlowSpec| self.first_burst(flow) * BYTES_PER_PACKET + ENDS_BYTES + BYTES_PER_FLOW;
        let flows = self.flows.iter().map(|flow| flow_bytes(flow).saturating_mul(flow.count.into()));
        let traffic = self.traffic.iter().map(|source| self.rows_bytes(source));
        let links: u64 = self.links.iter().map(|link| u64::from(link.copies)).sum();
        let queues = links * (size_of::<crate::link::Link>() + size_of::<LinkSpec>()) as u64;
        flows.chain(traffic).fold(samples.saturating_add(queues), u64::saturating_add)
    }

    /// Number of flows with samples, among the flows of entry `i`.
    fn recorded(&self, i: usize, flow: &FlowSpec) -> u64 {
        if self.groups.is_empty() {
            self.record_flows.map_or(flow.count, |wanted| wanted.min(flow.count)).into()
        } else {
            self.records(i).into()
        }
    }

    /// Memory of the quantiles over the flows of each group, and of the flows' samples within a slice.
    fn crowd_bytes(&self, times: u64) -> u64 {
        if self.record_flows.is_none() {
            return 0;
        }
        let rows = times.saturating_mul(self.flow_groups().len() as u64);
        let quantiles = QUANTILES.len() as u64;
        let table = column(rows.min(1 << 53).saturating_mul(quantiles)).saturating_mul(CROWD_COLUMNS);
        let flows = self.flow_count().saturating_mul(BYTES_PER_MEMBER);
        rows.saturating_mul(size_of::<CrowdSample>() as u64).saturating_add(table).saturating_add(flows)
    }

    /// Number of values of internal variables at `times` sample times. User-defined algorithms, which declare no
    /// variables, and times before a flow's start are not counted.
    fn internals_rows(&self, times: u64) -> u64 {
        if !self.internals {
            return 0;
        }
        let sampled = |flow: &FlowSpec| match self
            .duration_ps
            .saturating_sub(flow.start_ps + flow.start_spread_ps + self.start_jitter_ps)
        {
            0 => 0,
            active_ps => active_ps.checked_div(self.sample_period_ps).unwrap_or(0).min(times),
        };
        let flows = self.flows.iter().enumerate().filter(|(_, flow)| !flow.datagrams);
        let values = |flow: &FlowSpec| sampled(flow).saturating_mul(variables(&flow.algorithm));
        flows.fold(0, |sum, (i, flow)| sum.saturating_add(values(flow).saturating_mul(self.recorded(i, flow))))
    }

    /// Segments that a flow sends before the first ACK.
    fn first_burst(&self, flow: &FlowSpec) -> u64 {
        if flow.datagrams || flow.has_own_transport() || flow.application.is_some() || flow.start_ps >= self.duration_ps
        {
            return 0;
        }
        let fixed = flow.algorithm.split(':').next() == Some("fixed");
        let window = if fixed { flow.parameters.get("window").and_then(serde_json::Value::as_f64) } else { None };
        let window = window.map_or(u64::from(flow.stack.initial_window), |window| window as u64);
        let limits = [flow.stack.receive_window.map(u64::from), flow.size_segments];
        limits.into_iter().flatten().fold(window, u64::min)
    }

    /// Number of transfers of a source, and the time in which they begin, s.
    fn transfers(&self, source: &SourceSpec) -> (f64, f64) {
        let flow = &source.flow;
        let stop_ps = flow.stop_ps.unwrap_or(self.duration_ps).min(self.duration_ps);
        let active_s = stop_ps.saturating_sub(flow.start_ps) as f64 * 1e-12;
        let transfers = match &source.arrivals {
            ArrivalsSpec::Poisson { per_second } => per_second * active_s,
            ArrivalsSpec::Load { bps } => source.transfers_of_load(*bps, self.duration_ps).max(1.0),
            ArrivalsSpec::Users { users, .. } => f64::from(*users),
            ArrivalsSpec::List { starts_ps, .. } => starts_ps.len() as f64,
        };
        (transfers, active_s)
    }

    /// Memory of the records of a source's transfers: the list, and a row for each transfer.
    fn rows_bytes(&self, source: &SourceSpec) -> u64 {
        let (transfers, _) = self.transfers(source);
        let listed = if let ArrivalsSpec::List { .. } = source.arrivals {
            size_of::<Planned>() + 3 * size_of::<u64>()
        } else {
            0
        };
        let row = match source.record {
            RecordSpec::All => size_of::<Transfer>() as f64 + column(8) as f64 / 8.0 * TRANSFER_COLUMNS as f64,
            RecordSpec::Summary => 0.0,
        };
        (transfers * (row + listed as f64)) as u64
    }

    /// Memory of the transfers of a source that are active at once.
    fn places_bytes(&self, source: &SourceSpec) -> u64 {
        let (transfers, active_s) = self.transfers(source);
        let places = match source.arrivals {
            ArrivalsSpec::Users { .. } => transfers,
            _ => self.under_way(source, transfers, active_s),
        };
        let rings = source.mean_segments().min(MOST_INHERITED as f64) * BYTES_PER_SEGMENT;
        (places * (TRANSFER_BYTES as f64 + rings)) as u64
    }

    /// Number of a source's transfers that are active at the same time, if `transfers` transfers begin in `active_s` s.
    /// A transfer takes a round trip for its handshake, and one for each doubling of the initial window that the mean size
    /// needs. If the load of
    /// the transfers exceeds the slowest link's rate, the excess accumulates.
    fn under_way(&self, source: &SourceSpec, transfers: f64, active_s: f64) -> f64 {
        let flow = &source.flow;
        let links = || flow.path.iter().chain(&flow.reverse_path).map(|&link| &self.links[link]);
        let path_s = links().map(LinkSpec::shortest_ps).sum::<u64>() as f64 * 1e-12;
        let mean_s = source.rtts.as_ref().map_or(path_s, |rtts| rtts.mean_s_above(path_s));
        let segments = source.mean_segments();
        let rounds = (1.0 + segments / f64::from(flow.stack.initial_window)).log2().max(1.0);
        let rate = transfers / active_s.max(1e-12);
        // Spurious retransmissions are in flight for another round trip.
        let again = f64::from(u8::from(mean_s >= flow.stack.initial_rto_ps as f64 * 1e-12));
        let opening = f64::from(u8::from(flow.makes_handshake()));
        let flowing = rate * (mean_s * (opening + rounds + again)).min(active_s);
        let slowest_bps = flow.path.iter().map(|&link| self.links[link].fastest_bps()).min().unwrap_or(u64::MAX);
        let wire_bits = f64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8.0;
        let carried = slowest_bps as f64 / (segments * wire_bits);
        flowing.max((rate - carried) * active_s).min(transfers)
    }
}

/// Number of internal variables of an algorithm; 0 for an algorithm that is not built in.
fn variables(algorithm: &str) -> u64 {
    let name = algorithm.split(':').next();
    let mut entries = elephan_cc::registry().iter().chain(elephan_cc::other_transports());
    entries.find(|entry| Some(entry.name) == name).map_or(0, |entry| entry.variables().count() as u64)
}
