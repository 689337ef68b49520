//! Fairness between flows: indices of equality, and ratios of shares.

use crate::ask::{Ask, Setting};
use crate::data::{Data, Parties, snapped};
use crate::error::{Found, undefined};
use crate::numbers::{largest, mean, smallest, sum};
use crate::throughput::throughputs;

/// Bins of the mean of Jain's index, s.
pub(crate) const FAIRNESS_BIN_S: Setting = ("bin_s", 1.0);

const NOTHING: &str = "nothing arrived in the window, so that there is nothing to share";

/// Throughputs of flows, at least one of which is above zero.
fn rates(data: &Data, ask: &Ask) -> Found<Vec<f64>> {
    let rates = throughputs(data, ask, &data.chosen(ask.flows, false)?)?;
    if largest(&rates) <= 0.0 { undefined(NOTHING) } else { Ok(rates) }
}

/// Jain's index of rates in any unit.
///
/// # Errors
/// All rates are zero.
pub fn jain_index(rates: &[f64]) -> Found<f64> {
    let most = largest(rates);
    if most <= 0.0 || rates.is_empty() {
        return undefined(NOTHING);
    }
    // Fractions of the largest rate, so that squares neither overflow nor underflow.
    let fractions = || rates.iter().map(|rate| rate / most);
    let total = sum(fractions());
    Ok(total * total / (rates.len() as f64 * sum(fractions().map(|x| x * x))))
}

pub(crate) fn jain_fi(data: &Data, ask: &Ask) -> Found<f64> {
    jain_index(&rates(data, ask)?)
}

pub(crate) fn mean_jain_fi(data: &Data, ask: &Ask) -> Found<f64> {
    let (flows, window) = (data.flows(ask.flows)?, data.window(ask.window)?);
    let (_, bytes) = data.binned(&flows, "wire_bytes", window, ask.get(FAIRNESS_BIN_S))?;
    let bins = bytes.first().map_or(0, Vec::len);
    let of_bin = |bin: usize| bytes.iter().map(|flow| flow[bin]).collect::<Vec<f64>>();
    let busy = (0..bins).map(of_bin).filter(|rates| sum(rates.iter().copied()) > 0.0);
    let indices = busy.map(|rates| jain_index(&rates)).collect::<Found<Vec<f64>>>()?;
    if indices.is_empty() { undefined(NOTHING) } else { Ok(mean(&indices)) }
}

pub(crate) fn jain_fi_when_all_active(data: &Data, ask: &Ask) -> Found<f64> {
    let flows = data.flows(ask.flows)?;
    let (mut from_s, mut to_s) = (f64::NEG_INFINITY, f64::INFINITY);
    for &flow in &flows {
        let (begun_s, ended_s) = data.lifetime(flow)?;
        (from_s, to_s) = (from_s.max(begun_s), to_s.min(ended_s));
    }
    let table = data.table(if data.spec.record_flows.is_none() { "samples" } else { "crowd" })?;
    let window = ask.window.unwrap_or_else(|| data.whole());
    let first = from_s.max(snapped(table.times(), window.0));
    let last = to_s.min(snapped(table.times(), window.1));
    let inside: Vec<f64> = table.times().iter().copied().filter(|time| (first..=last).contains(time)).collect();
    match inside[..] {
        [from_s, .., to_s] => jain_fi(data, &Ask { window: Some((from_s, to_s)), ..ask.clone() }),
        _ => undefined("the flows are never all there at once"),
    }
}

pub(crate) fn min_max_ratio(data: &Data, ask: &Ask) -> Found<f64> {
    let rates = rates(data, ask)?;
    Ok(smallest(&rates) / largest(&rates))
}

pub(crate) fn product_fairness(data: &Data, ask: &Ask) -> Found<f64> {
    let rates = rates(data, ask)?;
    if smallest(&rates) <= 0.0 {
        return Ok(0.0);
    }
    let middle = mean(&rates);
    let logarithms: Vec<f64> = rates.iter().map(|rate| libm::log(rate / middle)).collect();
    Ok(libm::exp(mean(&logarithms)))
}

/// Throughputs of two flows in order of start.
fn of_pair(data: &Data, ask: &Ask) -> Found<([usize; 2], [f64; 2])> {
    let flows = data.pair(ask.flows)?;
    Ok((flows, throughputs_of(data, ask, flows)?))
}

fn throughputs_of(data: &Data, ask: &Ask, flows: [usize; 2]) -> Found<[f64; 2]> {
    let rates = throughputs(data, ask, &Parties { flows: flows.to_vec(), sources: Vec::new() })?;
    Ok([rates[0], rates[1]])
}

pub(crate) fn asymmetry(data: &Data, ask: &Ask) -> Found<f64> {
    let [first, second] = of_pair(data, ask)?.1;
    let total = first + second;
    if total == 0.0 { undefined(NOTHING) } else { Ok((first - second) / total) }
}

pub(crate) fn abs_asymmetry(data: &Data, ask: &Ask) -> Found<f64> {
    asymmetry(data, ask).map(f64::abs)
}

pub(crate) fn throughput_ratio(data: &Data, ask: &Ask) -> Found<f64> {
    let (flows, rates) = of_pair(data, ask)?;
    ratio(data, rates, flows[1])
}

pub(crate) fn rtt_fairness_ratio(data: &Data, ask: &Ask) -> Found<f64> {
    let flows = by_rtt(data, ask)?;
    ratio(data, throughputs_of(data, ask, flows)?, flows[1])
}

pub(crate) fn throughput_ratio_long_over_short(data: &Data, ask: &Ask) -> Found<f64> {
    let [short, long] = by_rtt(data, ask)?;
    ratio(data, throughputs_of(data, ask, [long, short])?, short)
}

pub(crate) fn rtt_fairness_exponent(data: &Data, ask: &Ask) -> Found<f64> {
    let flows = by_rtt(data, ask)?;
    let ratio = rtt_fairness_ratio(data, ask)?;
    if ratio == 0.0 {
        return undefined(format!("nothing of flow '{}' arrived in the window", data.name(flows[0])));
    }
    let [short_s, long_s] = flows.map(|flow| data.base_rtt_s(data.flow(flow)));
    Ok(libm::log(ratio) / libm::log(long_s / short_s))
}

/// The flows with the shortest and the longest propagation RTT, the first of several with the same RTT.
fn by_rtt(data: &Data, ask: &Ask) -> Found<[usize; 2]> {
    let flows = data.flows(ask.flows)?;
    let rtt_s = |flow: usize| data.base_rtt_s(data.flow(flow));
    let (mut shortest, mut longest) = (flows[0], flows[0]);
    for &flow in &flows[1..] {
        shortest = if rtt_s(flow) < rtt_s(shortest) { flow } else { shortest };
        longest = if rtt_s(flow) > rtt_s(longest) { flow } else { longest };
    }
    if rtt_s(shortest) == rtt_s(longest) { undefined("all flows have the same RTT") } else { Ok([shortest, longest]) }
}

/// The first of two rates over the second, which is that of the flow `under`.
fn ratio(data: &Data, rates: [f64; 2], under: usize) -> Found<f64> {
    if rates[1] == 0.0 {
        return undefined(format!("nothing of flow '{}' arrived in the window", data.name(under)));
    }
    Ok(rates[0] / rates[1])
}
