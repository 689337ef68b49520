//! Access to a run's tables for metrics: windows, flows in order of start, counters and series on the sample grid.
//!
//! Counters are read at sample times only and not interpolated, so a window that begins or ends between two samples is
//! rejected. The ends of the scenario's measurement window are always sample times.

use std::cell::OnceCell;
use std::collections::HashSet;

use elephan_sim::Outcome;
use elephan_sim::spec::{FlowSpec, Spec};
use elephan_sim::tables::{self, Table};

use crate::error::{Found, MetricError, undefined};
use crate::frame::Frame;
use crate::numbers::{increases, shown};

const PS_PER_S: f64 = 1e12;

/// Largest difference between a sample time and a requested time, s.
pub(crate) const GRID_TOLERANCE_S: f64 = 1e-9;

/// Sampled columns of sources of transfers.
const SOURCE_COLUMNS: [&str; 2] = ["delivered_segments", "wire_bytes"];

/// Start and end, seconds of simulated time.
pub type Window = (f64, f64);

/// Tables that metrics read, each with the columns that they read. A backend may have fewer columns.
const TABLES: [(&str, &[&str]); 7] = [
    (
        "flows",
        &[
            "name",
            "start_s",
            "completion_s",
            "goodput_mbps",
            "throughput_mbps",
            "segments_delivered",
            "segments_sent",
            "cwnd_mean",
            "cwnd_max",
            "rtt_min_ms",
            "rtt_mean_ms",
            "rtt_p50_ms",
            "rtt_p95_ms",
            "rtt_p99_ms",
            "owd_min_ms",
            "owd_mean_ms",
            "owd_p50_ms",
            "owd_p95_ms",
            "owd_p99_ms",
            "receive_window_limited_fraction",
            "measured_delivered_segments",
            "measured_delivered_bytes",
            "measured_wire_bytes",
            "measured_retransmits",
            "measured_loss_events",
            "measured_ecn_events",
            "measured_timeouts",
        ],
    ),
    (
        "samples",
        &[
            "time_s",
            "flow",
            "cwnd",
            "srtt_s",
            "delivered_segments",
            "delivered_bytes",
            "wire_bytes",
            "retransmits",
            "loss_events",
            "ecn_events",
            "timeouts",
        ],
    ),
    (
        "links",
        &[
            "time_s",
            "link",
            "queue_packets",
            "queue_min",
            "queue_max",
            "queue_integral_packet_s",
            "arrived_packets",
            "dropped_packets",
            "marked_packets",
            "delivered_packets",
            "delivered_bytes",
        ],
    ),
    ("sources", &["time_s", "source", "delivered_segments", "wire_bytes"]),
    ("transfers", &["source", "start_s", "size_bytes", "base_rtt_ms", "completion_s"]),
    ("distributions", &["source", "quantity", "low", "high", "transfers"]),
    ("crowd", &["time_s", "group"]),
];

/// Columns of a table that metrics read.
#[must_use]
pub fn columns(table: &str) -> &'static [&'static str] {
    TABLES.iter().find(|(name, _)| *name == table).map_or(&[], |(_, columns)| columns)
}

/// Source of a run's tables: a table by its name, `None` if it cannot be read.
pub type Read<'a> = Box<dyn Fn(&'static str) -> Option<Table> + Send + 'a>;

/// A run: its scenario and its tables. A table is read when the first metric needs it.
pub struct Data<'a> {
    pub(crate) spec: Spec,
    /// Totals of the sources of transfers, as in [`tables::summary`].
    pub(crate) traffic: serde_json::Value,
    read: Read<'a>,
    frames: [OnceCell<Frame>; TABLES.len()],
    bottleneck: OnceCell<String>,
}

/// Flows in order of start, and sources of transfers: positions in the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parties {
    pub flows: Vec<usize>,
    pub sources: Vec<usize>,
}

impl<'a> Data<'a> {
    /// A run whose tables are read by `read`; `traffic` has the totals of its sources of transfers.
    #[must_use]
    pub fn new(spec: Spec, traffic: serde_json::Value, read: Read<'a>) -> Self {
        Self { spec, traffic, read, frames: Default::default(), bottleneck: OnceCell::new() }
    }

    /// The result of a run of the engine.
    #[must_use]
    pub fn of_outcome(spec: &'a Spec, outcome: &'a Outcome) -> Self {
        let traffic = tables::source_totals(spec, outcome).into();
        let read = move |name: &'static str| {
            Some(match name {
                "flows" => tables::flows(spec, outcome),
                "samples" => tables::samples(spec, outcome),
                "links" => tables::links(spec, outcome),
                "sources" => tables::sources(spec, outcome),
                "transfers" => tables::transfers(spec, outcome),
                "distributions" => tables::distributions(spec, outcome),
                _ => tables::crowd(outcome, outcome.crowd.as_ref()?),
            })
        };
        Self::new(spec.clone(), traffic, Box::new(read))
    }

    /// A table, by its name among [`TABLES`].
    pub(crate) fn table(&self, name: &'static str) -> Found<&Frame> {
        let cell = TABLES.iter().position(|(known, _)| *known == name).map(|place| &self.frames[place]);
        let cell = cell.ok_or(MetricError::Unreadable(name))?;
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let columns = (self.read)(name).ok_or(MetricError::Unreadable(name))?;
        Ok(cell.get_or_init(|| Frame::new(name, columns)))
    }

    /// The scenario's measurement window, s.
    pub fn measured(&self) -> Window {
        (seconds(self.spec.measure.from_ps), seconds(self.spec.measure.to_ps))
    }

    /// Simulated length of the run, s.
    pub(crate) fn duration_s(&self) -> f64 {
        seconds(self.spec.duration_ps)
    }

    /// The whole run.
    pub(crate) fn whole(&self) -> Window {
        (0.0, self.duration_s())
    }

    /// `window`, or the scenario's measurement window.
    pub(crate) fn window(&self, window: Option<Window>) -> Found<Window> {
        let (from_s, to_s) = window.unwrap_or_else(|| self.measured());
        if from_s >= to_s || from_s.is_nan() || to_s.is_nan() {
            return undefined(format!("the window {} s to {} s is empty", shown(from_s), shown(to_s)));
        }
        if from_s < 0.0 || to_s > self.duration_s() + GRID_TOLERANCE_S {
            return undefined(format!(
                "the window {} s to {} s is not within the run of {} s",
                shown(from_s),
                shown(to_s),
                shown(self.duration_s())
            ));
        }
        Ok((from_s, to_s))
    }

    /// True if a window is the measurement window.
    pub(crate) fn is_measured(&self, window: Window) -> bool {
        let measured = self.measured();
        (window.0 - measured.0).abs().max((window.1 - measured.1).abs()) <= GRID_TOLERANCE_S
    }

    /// Rejects a window other than the measurement window, for statistics over every packet.
    pub(crate) fn check_measured(&self, window: Option<Window>, what: &str) -> Found<()> {
        if window.is_none_or(|window| self.is_measured(window)) {
            return Ok(());
        }
        let (from_s, to_s) = self.measured();
        undefined(format!(
            "{what} of every packet are kept for the measured part, {} s to {} s, and not for other windows",
            shown(from_s),
            shown(to_s)
        ))
    }

    // ---- flows ----

    pub(crate) fn flow(&self, flow: usize) -> &FlowSpec {
        &self.spec.flows[flow]
    }

    pub(crate) fn name(&self, flow: usize) -> &str {
        &self.spec.flows[flow].name
    }

    /// The flows and the sources with these names; flows are in order of start, and flows with the same start are in the
    /// order of the scenario. `None` stands for all flows, and also for all sources if `with_sources`.
    ///
    /// The order is that of the scenario's start times, without the jitter of a seed, so the first flow of a pair is the
    /// same in every replicate.
    pub(crate) fn chosen(&self, names: Option<&[String]>, with_sources: bool) -> Found<Parties> {
        let flows = self.spec.flows.iter().map(|flow| flow.name.as_str()).enumerate();
        let sources = self.spec.traffic.iter().map(|source| source.flow.name.as_str()).enumerate();
        let mut found = Parties::default();
        if let Some(names) = names {
            let mut wanted: HashSet<&str> = names.iter().map(String::as_str).collect();
            let mut take = |(place, name)| wanted.remove(name).then_some(place);
            found.flows = flows.filter_map(&mut take).collect();
            found.sources = sources.filter_map(&mut take).collect();
            if let Some(unknown) = names.iter().find(|name| wanted.contains(name.as_str())) {
                return Err(MetricError::NoFlow(unknown.clone()));
            }
        } else {
            found.flows = flows.map(|(place, _)| place).collect();
            found.sources = if with_sources { sources.map(|(place, _)| place).collect() } else { Vec::new() };
        }
        found.flows.sort_by_key(|&flow| self.flow(flow).start_ps);
        Ok(found)
    }

    /// Flows in order of start, at least one; sources are rejected.
    pub(crate) fn flows(&self, names: Option<&[String]>) -> Found<Vec<usize>> {
        let found = self.chosen(names, false)?;
        if let Some(&source) = found.sources.first() {
            return undefined(format!("{}; this is defined for flows", self.is_source(source)));
        }
        if found.flows.is_empty() { undefined("no flow to measure") } else { Ok(found.flows) }
    }

    fn is_source(&self, source: usize) -> String {
        format!("'{}' is a source of transfers", self.spec.traffic[source].flow.name)
    }

    /// The two flows of a run in order of start.
    pub(crate) fn pair(&self, names: Option<&[String]>) -> Found<[usize; 2]> {
        let found = self.flows(names)?;
        match found[..] {
            [first, second] => Ok([first, second]),
            _ => undefined(format!("defined for two flows, here are {}; choose two with flows=[...]", found.len())),
        }
    }

    /// A column of `flows` for one flow; NaN if the value is missing.
    pub(crate) fn flow_value(&self, flow: usize, column: &str) -> Found<f64> {
        let table = self.table("flows")?;
        match table.rows(self.name(flow)) {
            [] => Ok(f64::NAN),
            rows => table.value(column, rows[0]),
        }
    }

    /// A column of `flows`, by flow in order of start; each flow needs a value.
    pub(crate) fn flow_column(&self, column: &str, flows: &[usize]) -> Found<Vec<f64>> {
        let value = |&flow: &usize| match self.flow_value(flow, column)? {
            value if value.is_nan() => {
                undefined(format!("flow '{}' has no {}", self.name(flow), column.replace('_', " ")))
            }
            value => Ok(value),
        };
        flows.iter().map(value).collect()
    }

    /// Actual start of a flow, s: the scenario's start plus the seed's jitter.
    pub(crate) fn start_s(&self, flow: usize) -> Found<f64> {
        self.flow_value(flow, "start_s")
    }

    /// Start and end of a flow's activity, s: the end is its stop, its completion or the end of the run.
    pub(crate) fn lifetime(&self, flow: usize) -> Found<Window> {
        let begun_s = self.start_s(flow)?;
        // `f64::min` leaves out a missing completion.
        let completed_s = begun_s + self.flow_value(flow, "completion_s")?;
        let stopped_s = self.flow(flow).stop_ps.map_or(f64::NAN, seconds);
        Ok((begun_s, self.duration_s().min(completed_s).min(stopped_s)))
    }

    /// Two-way propagation delay of a flow's path at the start of the run, s, without transmission times and queues.
    pub(crate) fn base_rtt_s(&self, flow: &FlowSpec) -> f64 {
        seconds(flow.path.iter().chain(&flow.reverse_path).map(|&link| self.spec.links[link].delay_ps).sum())
    }

    /// Rate of the slowest link on the path of a flow's data at the start of the run, bit/s.
    pub(crate) fn slowest_bps(&self, flow: &FlowSpec) -> f64 {
        flow.path.iter().map(|&link| self.spec.links[link].rate_bps).min().unwrap_or(0) as f64
    }

    fn check_recorded(&self, flow: usize) -> Found<()> {
        if self.spec.record_flows.is_none() || self.spec.records(flow) {
            return Ok(());
        }
        let kept = self.spec.record_flows.filter(|&count| count > 0);
        let kept = kept.map_or_else(|| "\"quantiles\"".to_owned(), |count| count.to_string());
        undefined(format!("flow '{}' was not recorded; the scenario has record = {kept}", self.name(flow)))
    }

    // ---- counters and series ----

    /// Increase of a cumulative column of `samples` over a window, for the flows in order of start and then for the
    /// sources, which `sources` samples.
    pub(crate) fn counters(&self, column: &'static str, window: Window, parties: &Parties) -> Found<Vec<f64>> {
        if parties.flows.is_empty() && parties.sources.is_empty() {
            return undefined("no flow to measure");
        }
        if let Some(&source) = parties.sources.first() {
            if !SOURCE_COLUMNS.contains(&column) {
                return undefined(format!("{}; this is defined for flows", self.is_source(source)));
            }
        }
        let mut found = Vec::with_capacity(parties.flows.len() + parties.sources.len());
        if self.spec.record_flows.is_some() && self.is_measured(window) {
            // The table `flows` also has the flows without samples.
            let total = format!("measured_{column}");
            for &flow in &parties.flows {
                found.push(self.flow_value(flow, &total)?);
            }
        } else if !parties.flows.is_empty() {
            parties.flows.iter().try_for_each(|&flow| self.check_recorded(flow))?;
            let names = parties.flows.iter().map(|&flow| self.name(flow));
            found.extend(self.increases_of("samples", column, window, names)?);
        }
        if !parties.sources.is_empty() {
            let names = parties.sources.iter().map(|&source| self.spec.traffic[source].flow.name.as_str());
            found.extend(self.increases_of("sources", column, window, names)?);
        }
        Ok(found)
    }

    /// Payload of the distinct segments that arrived in a window, bytes. A run in which every segment was whole has no
    /// column of these bytes, nor has a source, whose transfers have whole segments.
    pub(crate) fn delivered_bytes(&self, window: Window, parties: &Parties) -> Found<Vec<f64>> {
        let of_flows = Parties { flows: parties.flows.clone(), sources: Vec::new() };
        let in_totals = self.spec.record_flows.is_some() && self.is_measured(window);
        let (table, column) =
            if in_totals { ("flows", "measured_delivered_bytes") } else { ("samples", "delivered_bytes") };
        let counted = !parties.flows.is_empty() && self.table(table)?.has(column);
        let exact = if counted { self.counters("delivered_bytes", window, &of_flows)? } else { Vec::new() };
        let flows = parties.flows.iter().map(|&flow| self.flow(flow));
        let specs = flows.chain(parties.sources.iter().map(|&source| &self.spec.traffic[source].flow));
        let segments = self.counters("delivered_segments", window, parties)?;
        let whole = segments.into_iter().zip(specs).map(|(count, flow)| count * f64::from(flow.stack.payload_bytes));
        Ok(exact.iter().copied().chain(whole.skip(exact.len())).collect())
    }

    fn increases_of<'n>(
        &self,
        table: &'static str,
        column: &str,
        window: Window,
        names: impl Iterator<Item = &'n str>,
    ) -> Found<Vec<f64>> {
        let frame = self.table(table)?;
        let ends = [self.sample_time(frame, window.0)?, self.sample_time(frame, window.1)?];
        let time = |row: usize| frame.value("time_s", row);
        let mut found = Vec::new();
        for name in names {
            let rows = frame.rows(name);
            let mut values = [f64::NAN; 2];
            for (value, end) in values.iter_mut().zip(ends) {
                let after = rows.partition_point(|&row| time(row).is_ok_and(|time| time <= end));
                let Some(&row) = rows[..after].last().filter(|&&row| time(row).is_ok_and(|time| time == end)) else {
                    return undefined(format!("no sample of flow '{name}' at an end of the window"));
                };
                *value = frame.value(column, row)?;
                if value.is_nan() {
                    return undefined(format!("the {} of flow '{name}' are not counted", column.replace('_', " ")));
                }
            }
            found.push(values[1] - values[0]);
        }
        Ok(found)
    }

    /// The sample time of a table that equals the requested time, s.
    fn sample_time(&self, frame: &Frame, time_s: f64) -> Found<f64> {
        let at = snapped(frame.times(), time_s);
        if frame.times().binary_search_by(|time| time.total_cmp(&at)).is_ok() { Ok(at) } else { self.off_grid(time_s) }
    }

    /// Sample times in s, from one end of the window to the other, and the values of a column at these times; NaN for a
    /// missing value.
    pub(crate) fn flow_series(&self, flow: usize, column: &str, window: Window) -> Found<(Vec<f64>, Vec<f64>)> {
        self.check_recorded(flow)?;
        let frame = self.table("samples")?;
        self.series(frame, frame.rows(self.name(flow)), column, window)
    }

    pub(crate) fn series(
        &self,
        frame: &Frame,
        rows: &[usize],
        column: &str,
        window: Window,
    ) -> Found<(Vec<f64>, Vec<f64>)> {
        let every = frame.values("time_s", rows)?;
        let (from_s, to_s) = (snapped(&every, window.0), snapped(&every, window.1));
        let first = every.partition_point(|&time| time < from_s);
        let last = every.partition_point(|&time| time <= to_s).max(first);
        let times = &every[first..last];
        let near = |time: Option<&f64>, wanted: f64| time.is_some_and(|time| (time - wanted).abs() <= GRID_TOLERANCE_S);
        if !near(times.first(), window.0) {
            return self.off_grid(window.0);
        }
        // A run may end between two samples; a series until the end of the run then ends at the last sample.
        let to_the_end = window.1 > self.duration_s() - GRID_TOLERANCE_S;
        if !near(times.last(), window.1) && !to_the_end {
            return self.off_grid(window.1);
        }
        Ok((times.to_vec(), frame.values(column, &rows[first..last])?))
    }

    pub(crate) fn off_grid<T>(&self, time_s: f64) -> Found<T> {
        let (from_s, to_s) = self.measured();
        undefined(format!(
            "{} s is not a sample time; samples are taken every {} s, and at {} s and {} s, the ends of the measured part",
            shown(time_s),
            shown(seconds(self.spec.sample_period_ps)),
            shown(from_s),
            shown(to_s)
        ))
    }

    /// The values of a series every `step_s` seconds from the window's start, in whole steps, and their times.
    pub(crate) fn on_grid(
        &self,
        times: &[f64],
        values: &[f64],
        window: Window,
        step_s: f64,
    ) -> Found<(Vec<f64>, Vec<f64>)> {
        let wanted: Vec<f64> = (0..=steps(window, step_s)).map(|step| window.0 + step_s * step as f64).collect();
        let value = |&wanted: &f64| {
            let at = snapped(times, wanted);
            let place = times.partition_point(|&time| time < at).min(times.len().saturating_sub(1));
            if times.get(place) == Some(&at) { Ok(values[place]) } else { self.off_grid(wanted) }
        };
        let found = wanted.iter().map(value).collect::<Found<Vec<f64>>>()?;
        Ok((wanted, found))
    }

    /// Edges of bins of `bin_s` from the window's start, and the increase of a cumulative column of `samples` in each bin,
    /// by flow. An incomplete bin at the end is left out.
    pub(crate) fn binned(
        &self,
        flows: &[usize],
        column: &str,
        window: Window,
        bin_s: f64,
    ) -> Found<(Vec<f64>, Vec<Vec<f64>>)> {
        // A run may end between two samples; whole steps need no sample at the end of the window.
        let whole = (window.0, window.0 + bin_s * steps(window, bin_s) as f64);
        let (mut edges, mut bins) = (Vec::new(), Vec::new());
        for &flow in flows {
            let (times, values) = self.flow_series(flow, column, whole)?;
            let (found, values) = self.on_grid(&times, &values, window, bin_s)?;
            edges = found;
            bins.push(increases(&values));
        }
        Ok((edges, bins))
    }

    /// A series as from [`Self::flow_series`], with NaN before the flow's start and after its end.
    pub(crate) fn alive(&self, flow: usize, column: &str, window: Window) -> Found<(Vec<f64>, Vec<f64>)> {
        let (times, mut values) = self.flow_series(flow, column, window)?;
        let (begun_s, ended_s) = self.lifetime(flow)?;
        for (time, value) in times.iter().zip(&mut values) {
            if !(begun_s..=ended_s).contains(time) {
                *value = f64::NAN;
            }
        }
        Ok((times, values))
    }

    /// The link named `bottleneck`, or the name that `find` gives, which is kept.
    pub(crate) fn kept_bottleneck(&self, find: impl FnOnce() -> Found<String>) -> Found<&str> {
        if let Some(known) = self.bottleneck.get() {
            return Ok(known);
        }
        let found = find()?;
        Ok(self.bottleneck.get_or_init(|| found))
    }
}

/// A time in seconds.
pub(crate) fn seconds(time_ps: u64) -> f64 {
    time_ps as f64 / PS_PER_S
}

/// Number of whole steps in a window.
fn steps(window: Window, step_s: f64) -> usize {
    ((window.1 - window.0) / step_s + 1e-9) as usize
}

/// The nearest of `times` (ascending, s) within the tolerance; if there is none, the requested time.
///
/// The nearest, since samples may be closer to each other than the tolerance.
pub(crate) fn snapped(times: &[f64], wanted: f64) -> f64 {
    let Some(last) = times.len().checked_sub(1) else { return wanted };
    let above = times.partition_point(|&time| time < wanted).min(last);
    let below = above.saturating_sub(1);
    let nearest = times[if wanted - times[below] < (times[above] - wanted).abs() { below } else { above }];
    if (nearest - wanted).abs() <= GRID_TOLERANCE_S { nearest } else { wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_nearest_sample_within_the_tolerance() {
        let times = [0.0, 0.1, 0.1 + 1e-10, 0.2];
        assert_eq!(snapped(&times, 0.1 + 0.9e-10), 0.1 + 1e-10);
        assert_eq!(snapped(&times, 0.2 - 1e-10), 0.2);
        assert_eq!(snapped(&times, 0.15), 0.15);
        assert_eq!(snapped(&[], 0.15), 0.15);
    }

    #[test]
    fn an_incomplete_step_does_not_count() {
        assert_eq!(steps((0.0, 2.5), 1.0), 2);
        assert_eq!(steps((0.1, 0.4), 0.1), 3);
    }
}
