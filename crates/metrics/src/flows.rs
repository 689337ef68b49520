//! Numbers of single flows: windows, losses, round trips, one-way delays, and combinations of throughput and delay.

use crate::ask::Ask;
use crate::data::{Data, Parties, Window};
use crate::error::{Found, undefined};
use crate::links::{bottleneck, capacity_bits};
use crate::numbers::{deviation, largest, mean, sum};
use crate::throughput::{ByFlow, throughputs};

/// A number for each flow, in order of start.
fn each(data: &Data, ask: &Ask, value: impl Fn(usize) -> Found<f64>) -> Found<ByFlow> {
    let flows = data.flows(ask.flows)?;
    flows.into_iter().map(|flow| Ok((data.name(flow).to_owned(), value(flow)?))).collect()
}

/// Numbers of all flows at once, in order of start.
fn all(data: &Data, ask: &Ask, values: impl FnOnce(&[usize]) -> Found<Vec<f64>>) -> Found<ByFlow> {
    let flows = data.flows(ask.flows)?;
    let values = values(&flows)?;
    Ok(flows.into_iter().map(|flow| data.name(flow).to_owned()).zip(values).collect())
}

/// Time average of a sampled series by the trapezoidal rule; samples without a value are left out.
fn time_mean((times, values): (Vec<f64>, Vec<f64>)) -> Found<f64> {
    let known: Vec<(f64, f64)> = times.into_iter().zip(values).filter(|(_, value)| !value.is_nan()).collect();
    let [(from_s, _), .., (to_s, _)] = known[..] else {
        return undefined("fewer than two samples in the window");
    };
    let area = sum(known.windows(2).map(|ends| (ends[1].0 - ends[0].0) * (ends[1].1 + ends[0].1) / 2.0));
    Ok(area / (to_s - from_s))
}

/// The congestion windows of a flow at the samples of the window between the flow's start and its end.
fn windows(data: &Data, flow: usize, window: Window) -> Found<Vec<f64>> {
    let mut cwnd = data.alive(flow, "cwnd", window)?.1;
    cwnd.retain(|cwnd| !cwnd.is_nan());
    if cwnd.is_empty() {
        return undefined(
            "the flow has no congestion window in this part of the run, before its start or after its end",
        );
    }
    Ok(cwnd)
}

pub(crate) fn mean_cwnd_pkts(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| time_mean(data.alive(flow, "cwnd", window)?))
}

pub(crate) fn max_cwnd_pkts(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| Ok(largest(&windows(data, flow, window)?)))
}

pub(crate) fn cwnd_cov(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    let variation = |flow| {
        let cwnd = windows(data, flow, window)?;
        Ok(deviation(&cwnd) / mean(&cwnd))
    };
    each(data, ask, variation)
}

pub(crate) fn cwnd_fraction_of_bdp(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| Ok(time_mean(data.alive(flow, "cwnd", window)?)? / bdp_pkts(data, flow, window)?))
}

pub(crate) fn peak_window_over_bdp(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| Ok(largest(&windows(data, flow, window)?) / bdp_pkts(data, flow, window)?))
}

/// Bandwidth-delay product of the bottleneck and a flow's path, in full data packets on the wire.
fn bdp_pkts(data: &Data, flow: usize, window: Window) -> Found<f64> {
    let flow = data.flow(flow);
    let wire_bytes = f64::from(flow.stack.payload_bytes + flow.stack.header_bytes);
    Ok(bottleneck_bps(data, window)? * data.base_rtt_s(flow) / (8.0 * wire_bytes))
}

/// Mean rate of the bottleneck in a window, bit/s.
fn bottleneck_bps(data: &Data, window: Window) -> Found<f64> {
    let rate_bps = capacity_bits(data, bottleneck(data)?, window)? / (window.1 - window.0);
    if rate_bps == 0.0 { undefined("the bottleneck could send nothing in the window") } else { Ok(rate_bps) }
}

/// Increase of a counter of the flows over the window.
fn counted(data: &Data, ask: &Ask, column: &'static str, flows: &[usize]) -> Found<Vec<f64>> {
    let parties = Parties { flows: flows.to_vec(), sources: Vec::new() };
    data.counters(column, data.window(ask.window)?, &parties)
}

/// A counter per distinct segment delivered.
fn per_segment(data: &Data, ask: &Ask, column: &'static str, flows: &[usize]) -> Found<Vec<f64>> {
    let segments = counted(data, ask, "delivered_segments", flows)?;
    if let Some(idle) = segments.iter().position(|&segments| segments == 0.0) {
        return undefined(format!("flow '{}' delivered nothing in the window", data.name(flows[idle])));
    }
    let counts = counted(data, ask, column, flows)?;
    Ok(counts.into_iter().zip(segments).map(|(count, segments)| count / segments).collect())
}

pub(crate) fn loss_events(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| counted(data, ask, "loss_events", flows))
}

pub(crate) fn ecn_events(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| counted(data, ask, "ecn_events", flows))
}

pub(crate) fn congestion_events(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let of_all = |flows: &[usize]| {
        let losses = counted(data, ask, "loss_events", flows)?;
        // Runs of earlier versions and some backends do not count marks; without ECN there are none.
        if flows.iter().all(|&flow| !data.flow(flow).stack.ecn) {
            return Ok(losses);
        }
        let marks = counted(data, ask, "ecn_events", flows)?;
        Ok(losses.into_iter().zip(marks).map(|(losses, marks)| losses + marks).collect())
    };
    all(data, ask, of_all)
}

pub(crate) fn timeouts(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| counted(data, ask, "timeouts", flows))
}

pub(crate) fn retransmits(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| counted(data, ask, "retransmits", flows))
}

pub(crate) fn loss_event_rate(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| per_segment(data, ask, "loss_events", flows))
}

pub(crate) fn retransmit_rate(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| per_segment(data, ask, "retransmits", flows))
}

/// Distinct segments delivered in a mean round trip.
fn response(data: &Data, ask: &Ask, flows: &[usize]) -> Found<Vec<f64>> {
    let window = data.window(ask.window)?;
    let rtts = flows.iter().map(|&flow| time_mean(data.alive(flow, "srtt_s", window)?)).collect::<Found<Vec<f64>>>()?;
    let segments = counted(data, ask, "delivered_segments", flows)?;
    Ok(segments.into_iter().zip(rtts).map(|(segments, rtt_s)| segments / (window.1 - window.0) * rtt_s).collect())
}

pub(crate) fn response_pkts_per_rtt(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| response(data, ask, flows))
}

pub(crate) fn response_over_reno(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let of_all = |flows: &[usize]| {
        let rates = per_segment(data, ask, "loss_events", flows)?;
        if let Some(at) = rates.iter().position(|&rate| rate == 0.0) {
            return undefined(format!("flow '{}' has no loss event in the window", data.name(flows[at])));
        }
        let found = response(data, ask, flows)?;
        Ok(found.into_iter().zip(rates).map(|(packets, rate)| packets / (1.5 / rate).sqrt()).collect())
    };
    all(data, ask, of_all)
}

pub(crate) fn receive_window_limited_fraction(data: &Data, ask: &Ask) -> Found<ByFlow> {
    if ask.window.is_some_and(|(from_s, to_s)| from_s > 0.0 || to_s < data.duration_s()) {
        return undefined("this fraction is known for the whole run only");
    }
    all(data, ask, |flows| data.flow_column("receive_window_limited_fraction", flows))
}

pub(crate) fn completion_s(data: &Data, ask: &Ask) -> Found<ByFlow> {
    if ask.window.is_some() {
        return undefined("the completion time of a transfer belongs to no window");
    }
    all(data, ask, |flows| data.flow_column("completion_s", flows))
}

/// RTTs of every packet of the measurement window. Datagrams have none, so they are left out unless they are named.
fn rtt(data: &Data, ask: &Ask, column: &'static str) -> Found<ByFlow> {
    data.check_measured(ask.window, "RTT statistics")?;
    let asked = data.flows(ask.flows)?;
    let mut flows = asked.clone();
    flows.retain(|&flow| !data.flow(flow).datagrams);
    if ask.flows.is_some() || flows.is_empty() {
        flows = asked;
    }
    let values = data.flow_column(column, &flows)?;
    Ok(flows.into_iter().map(|flow| data.name(flow).to_owned()).zip(values).collect())
}

pub(crate) fn rtt_min_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    rtt(data, ask, "rtt_min_ms")
}

pub(crate) fn rtt_mean_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    rtt(data, ask, "rtt_mean_ms")
}

pub(crate) fn rtt_p50_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    rtt(data, ask, "rtt_p50_ms")
}

pub(crate) fn rtt_p95_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    rtt(data, ask, "rtt_p95_ms")
}

pub(crate) fn rtt_p99_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    rtt(data, ask, "rtt_p99_ms")
}

/// One-way delays of the datagrams of the measurement window.
fn one_way(data: &Data, ask: &Ask, column: &'static str) -> Found<ByFlow> {
    data.check_measured(ask.window, "one-way delays")?;
    if !data.table("flows")?.has(column) {
        return undefined("the backend of this run keeps no one-way delays");
    }
    let mut flows = data.flows(ask.flows)?;
    flows.retain(|&flow| data.flow(flow).datagrams);
    if flows.is_empty() {
        return undefined("no flow of datagrams; those of TCP have round trips (rtt_mean_ms)");
    }
    let values = data.flow_column(column, &flows)?;
    Ok(flows.into_iter().map(|flow| data.name(flow).to_owned()).zip(values).collect())
}

pub(crate) fn owd_min_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    one_way(data, ask, "owd_min_ms")
}

pub(crate) fn owd_mean_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    one_way(data, ask, "owd_mean_ms")
}

pub(crate) fn owd_p50_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    one_way(data, ask, "owd_p50_ms")
}

pub(crate) fn owd_p95_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    one_way(data, ask, "owd_p95_ms")
}

pub(crate) fn owd_p99_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    one_way(data, ask, "owd_p99_ms")
}

/// Mean smoothed RTT of a flow, ms.
fn srtt_ms(data: &Data, flow: usize, window: Window) -> Found<f64> {
    Ok(1e3 * time_mean(data.alive(flow, "srtt_s", window)?)?)
}

pub(crate) fn mean_srtt_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| srtt_ms(data, flow, window))
}

pub(crate) fn queueing_delay_ms(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let window = data.window(ask.window)?;
    each(data, ask, |flow| Ok(srtt_ms(data, flow, window)? - 1e3 * data.base_rtt_s(data.flow(flow))))
}

/// Throughput over mean smoothed RTT.
fn powers(data: &Data, ask: &Ask, flows: &[usize]) -> Found<Vec<f64>> {
    let window = data.window(ask.window)?;
    let delays = flows.iter().map(|&flow| srtt_ms(data, flow, window)).collect::<Found<Vec<f64>>>()?;
    let rates = throughputs(data, ask, &Parties { flows: flows.to_vec(), sources: Vec::new() })?;
    Ok(rates.into_iter().zip(delays).map(|(rate, delay_ms)| rate / (1e-3 * delay_ms)).collect())
}

pub(crate) fn power_mbps_per_s(data: &Data, ask: &Ask) -> Found<ByFlow> {
    all(data, ask, |flows| powers(data, ask, flows))
}

pub(crate) fn relative_power(data: &Data, ask: &Ask) -> Found<ByFlow> {
    let best_mbps = bottleneck_bps(data, data.window(ask.window)?)? / 1e6;
    let of_all = |flows: &[usize]| {
        let powers = powers(data, ask, flows)?;
        let best = flows.iter().map(|&flow| best_mbps / data.base_rtt_s(data.flow(flow)));
        Ok(powers.into_iter().zip(best).map(|(power, best)| power / best).collect())
    };
    all(data, ask, of_all)
}
