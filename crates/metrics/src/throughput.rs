//! Rates and losses: the shares of the flows, and the loads of the links.

use elephan_sim::rates::rate_mbps;

use crate::ask::{Ask, Setting};
use crate::data::{Data, Parties};
use crate::error::{Found, undefined};
use crate::links::{capacity_bits, link_counter, link_of, link_series, settled_packets};
use crate::numbers::{deviation, increases, mean, shown, sum};

/// Numbers by the name of their flow or source.
pub type ByFlow = Vec<(String, f64)>;

/// Bins of the variation of a link's throughput, s.
pub(crate) const STABILITY_BIN_S: Setting = ("bin_s", 10.0);

/// Throughputs of flows and of the sources named.
pub(crate) fn throughputs(data: &Data, ask: &Ask, parties: &Parties) -> Found<Vec<f64>> {
    let window = data.window(ask.window)?;
    let bytes = data.counters("wire_bytes", window, parties)?;
    Ok(bytes.into_iter().map(|bytes| rate_mbps(bytes, window.1 - window.0)).collect())
}

fn goodputs(data: &Data, ask: &Ask, parties: &Parties) -> Found<Vec<f64>> {
    let window = data.window(ask.window)?;
    let bytes = data.delivered_bytes(window, parties)?;
    Ok(bytes.into_iter().map(|bytes| rate_mbps(bytes, window.1 - window.0)).collect())
}

/// Numbers of the parties, by name.
fn named(data: &Data, parties: &Parties, values: Vec<f64>) -> ByFlow {
    let flows = parties.flows.iter().map(|&flow| data.name(flow).to_owned());
    let names = flows.chain(parties.sources.iter().map(|&source| data.spec.traffic[source].flow.name.clone()));
    names.zip(values).collect()
}

pub(crate) fn throughput_mbps(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let parties = data.chosen(ask.flows, false)?;
    Ok(named(data, &parties, throughputs(data, ask, &parties)?))
}

pub(crate) fn goodput_mbps(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let parties = data.chosen(ask.flows, false)?;
    Ok(named(data, &parties, goodputs(data, ask, &parties)?))
}

pub(crate) fn sum_throughput_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(sum(throughputs(data, ask, &data.chosen(ask.flows, false)?)?))
}

pub(crate) fn sum_goodput_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(sum(goodputs(data, ask, &data.chosen(ask.flows, false)?)?))
}

pub(crate) fn mean_throughput_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(mean(&throughputs(data, ask, &data.chosen(ask.flows, false)?)?))
}

fn shares(data: &Data, ask: &Ask, parties: &Parties) -> Found<Vec<f64>> {
    let rates = throughputs(data, ask, parties)?;
    let total = sum(rates.iter().copied());
    if total == 0.0 {
        return undefined("nothing arrived in the window, so that there is no share of it");
    }
    Ok(rates.into_iter().map(|rate| rate / total).collect())
}

pub(crate) fn throughput_share(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let parties = data.chosen(ask.flows, false)?;
    Ok(named(data, &parties, shares(data, ask, &parties)?))
}

pub(crate) fn late_flow_share(data: &Data, ask: &Ask) -> Found<f64> {
    let flows = data.flows(ask.flows)?;
    let starts = flows.iter().rev().take(2).map(|&flow| data.flow(flow).start_ps).collect::<Vec<_>>();
    if starts.len() < 2 || starts[0] == starts[1] {
        return undefined("no flow started after all others");
    }
    let late = shares(data, ask, &Parties { flows, sources: Vec::new() })?.pop();
    late.map_or_else(|| undefined("no flow started after all others"), Ok)
}

pub(crate) fn utilization(data: &Data, ask: &Ask) -> Found<f64> {
    let window = data.window(ask.window)?;
    let link = link_of(data, ask)?;
    let sent = 8.0 * link_counter(data, link, "delivered_bytes", window)?;
    let possible = capacity_bits(data, link, window)?;
    if possible == 0.0 {
        return undefined(format!("the link '{link}' could send nothing in the window"));
    }
    Ok(sent / possible)
}

pub(crate) fn link_throughput_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    let window = data.window(ask.window)?;
    Ok(rate_mbps(link_counter(data, link_of(data, ask)?, "delivered_bytes", window)?, window.1 - window.0))
}

pub(crate) fn drops(data: &Data, ask: &Ask) -> Found<f64> {
    link_counter(data, link_of(data, ask)?, "dropped_packets", data.window(ask.window)?)
}

pub(crate) fn loss_rate(data: &Data, ask: &Ask) -> Found<f64> {
    let window = data.window(ask.window)?;
    let link = link_of(data, ask)?;
    let settled = settled_packets(data, link, window)?;
    if settled == 0.0 {
        return undefined(format!("no packet was dropped or sent at '{link}' in the window"));
    }
    Ok(link_counter(data, link, "dropped_packets", window)? / settled)
}

pub(crate) fn offered_pkts_per_rtt(data: &Data, ask: &Ask) -> Found<f64> {
    let window = data.window(ask.window)?;
    let arrived = link_counter(data, link_of(data, ask)?, "arrived_packets", window)?;
    let rtts = data.flows(None)?.into_iter().map(|flow| data.base_rtt_s(data.flow(flow)));
    Ok(arrived / (window.1 - window.0) * rtts.fold(f64::INFINITY, f64::min))
}

pub(crate) fn cov_total_throughput(data: &Data, ask: &Ask) -> Found<f64> {
    let (window, bin_s) = (data.window(ask.window)?, ask.get(STABILITY_BIN_S));
    let (times, bytes) = link_series(data, link_of(data, ask)?, "delivered_bytes", window)?;
    let rates = increases(&data.on_grid(&times, &bytes, window, bin_s)?.1);
    if rates.len() < 2 {
        return undefined(format!("the window contains fewer than two bins of {} s", shown(bin_s)));
    }
    if mean(&rates) == 0.0 {
        return undefined("nothing left the link in the window");
    }
    Ok(deviation(&rates) / mean(&rates))
}
