//! The queue of the bottleneck or of another link, without the packet in transmission.

use crate::ask::Ask;
use crate::data::Data;
use crate::error::{Found, undefined};
use crate::links::{link_counter, link_of, link_series, link_spec, settled_packets};
use crate::numbers::{deviation, largest, mean, quantile, smallest};

pub(crate) fn mean_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    let window = data.window(ask.window)?;
    Ok(link_counter(data, link_of(data, ask)?, "queue_integral_packet_s", window)? / (window.1 - window.0))
}

pub(crate) fn min_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(smallest(&between(data, ask, "queue_min")?))
}

pub(crate) fn max_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(largest(&between(data, ask, "queue_max")?))
}

/// A column of interval statistics for the intervals within the window. The sample at the window's start is left out,
/// since it describes the interval before the window.
fn between(data: &Data, ask: &Ask, column: &str) -> Found<Vec<f64>> {
    let mut values = link_series(data, link_of(data, ask)?, column, data.window(ask.window)?)?.1;
    values.remove(0);
    if values.is_empty() { undefined("the window contains no sampling interval") } else { Ok(values) }
}

/// Number of packets waiting at each sample of the window.
fn samples(data: &Data, ask: &Ask) -> Found<Vec<f64>> {
    Ok(link_series(data, link_of(data, ask)?, "queue_packets", data.window(ask.window)?)?.1)
}

pub(crate) fn queue_cov(data: &Data, ask: &Ask) -> Found<f64> {
    let packets = samples(data, ask)?;
    if largest(&packets) == 0.0 {
        return undefined("the queue is empty at every sample, so that its variation has nothing to relate to");
    }
    Ok(deviation(&packets) / mean(&packets))
}

pub(crate) fn p50_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(quantile(&samples(data, ask)?, 0.5))
}

pub(crate) fn p95_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(quantile(&samples(data, ask)?, 0.95))
}

pub(crate) fn p99_queue_pkts(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(quantile(&samples(data, ask)?, 0.99))
}

pub(crate) fn queue_occupancy(data: &Data, ask: &Ask) -> Found<f64> {
    let link = link_of(data, ask)?;
    let Some(room) = link_spec(data, link)?.queue.limit_packets else {
        return undefined(format!("the buffer of '{link}' is not a number of packets"));
    };
    Ok(mean_queue_pkts(data, ask)? / room as f64)
}

pub(crate) fn queue_empty_fraction(data: &Data, ask: &Ask) -> Found<f64> {
    let least = between(data, ask, "queue_min")?;
    Ok(least.iter().filter(|&&packets| packets == 0.0).count() as f64 / least.len() as f64)
}

pub(crate) fn mark_rate(data: &Data, ask: &Ask) -> Found<f64> {
    if !data.table("links")?.has("marked_packets") {
        return undefined("marks are not counted in this run");
    }
    let (window, link) = (data.window(ask.window)?, link_of(data, ask)?);
    let arrived = link_counter(data, link, "arrived_packets", window)?;
    let markable = arrived.max(settled_packets(data, link, window)?);
    if markable == 0.0 {
        return undefined(format!("no packet arrived at '{link}' in the window or left it"));
    }
    Ok(link_counter(data, link, "marked_packets", window)? / markable)
}

pub(crate) fn mean_queue_delay_ms(data: &Data, ask: &Ask) -> Found<f64> {
    let (window, link) = (data.window(ask.window)?, link_of(data, ask)?);
    let packets = link_counter(data, link, "delivered_packets", window)?;
    if packets == 0.0 {
        return undefined(format!("no packet left '{link}' in the window"));
    }
    Ok(1e3 * link_counter(data, link, "queue_integral_packet_s", window)? / packets)
}
