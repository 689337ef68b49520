//! A *crowd*: thousands of flows whose samples are reduced during the run to quantiles over the flows of each group.
//!
//! Senders and receivers take their samples when they handle their own events. At the end of a time slice, all flows
//! have taken the samples of that slice. The samples taken in the slice are then reduced, and the samples of flows that
//! are not recorded are dropped. Memory therefore grows with the number of flows plus the number of sample times, and
//! not with their product.

use std::sync::Arc;

use crate::ends::FlowEnd;
use crate::network::Sink;
use crate::rates::MBIT_PER_BYTE;
use crate::record::{ReceiverSample, SenderSample};
use crate::spec::{Group, Spec};
use crate::time::Time;

/// Recorded quantiles: minimum, 5 %, quartiles, 95 % and maximum.
pub const QUANTILES: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];

/// Largest number of sampling intervals in a slice, since the samples of all flows are kept until the slice ends.
pub(crate) const SAMPLES_AT_ONCE: u64 = 4;

/// A value for each of [`QUANTILES`]; NaN if no flow has a value.
pub type Spread = [f64; QUANTILES.len()];

/// The `q`-quantile of values in ascending order, interpolated linearly between two of them; `None` without values.
///
/// The position of the `q`-quantile among `n` values is q (n − 1), counted from 0. The result equals that of NumPy's
/// default method, bit for bit.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = (place.floor() as usize).min(last);
    let (low, high, fraction) = (sorted[below], sorted[(below + 1).min(last)], place - below as f64);
    let step = high - low;
    Some(if fraction < 0.5 { low + step * fraction } else { high - step * (1.0 - fraction) })
}

/// [`QUANTILES`] of values in any order; NaNs are left out.
#[must_use]
pub fn spread(values: &mut Vec<f64>) -> Spread {
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    QUANTILES.map(|q| quantile(values, q).unwrap_or(f64::NAN))
}

/// A group of flows at a sample time.
#[derive(Clone, Copy, Debug)]
pub struct CrowdSample {
    /// Number of active flows, which have started and have neither stopped nor completed.
    pub active: u64,
    /// Congestion window, segments.
    pub cwnd: Spread,
    /// Smoothed RTT, s.
    pub srtt: Spread,
    /// Segments outstanding.
    pub in_flight: Spread,
    /// Payload of the distinct segments that arrived since the last sample, Mbit/s.
    pub goodput_mbps: Spread,
}

/// Quantiles over the flows of each group.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// Groups of the flows.
    pub groups: Vec<Group>,
    /// Rows in the order of sample times, with one row for each group.
    pub rows: Vec<CrowdSample>,
    /// Each flow's losses, reductions and timeouts inside the measurement window.
    pub measured: Vec<MeasuredLosses>,
}

/// A flow's losses, reductions and timeouts inside the measurement window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredLosses {
    /// Retransmissions.
    pub retransmits: u64,
    /// Recovery episodes.
    pub loss_events: u64,
    /// Responses to ECN echoes.
    pub ecn_events: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl MeasuredLosses {
    /// Counts of a sample.
    fn of(sample: &SenderSample) -> Self {
        let SenderSample { retransmits, loss_events, ecn_events, timeouts, .. } = *sample;
        Self { retransmits, loss_events, ecn_events: ecn_events.into(), timeouts: timeouts.into() }
    }
}

/// The values of a group's active flows at a sample time.
#[derive(Clone, Debug, Default)]
struct Values {
    active: u64,
    cwnd: Vec<f64>,
    srtt: Vec<f64>,
    in_flight: Vec<f64>,
    goodput_mbps: Vec<f64>,
}

impl Values {
    fn add(&mut self, sample: &SenderSample, goodput_mbps: f64) {
        self.active += 1;
        self.cwnd.push(sample.cwnd);
        self.srtt.push(sample.srtt);
        self.in_flight.push(f64::from(sample.in_flight));
        self.goodput_mbps.push(goodput_mbps);
    }

    /// Takes the values, and returns their quantiles.
    fn take(&mut self) -> CrowdSample {
        let Self { active, cwnd, srtt, in_flight, goodput_mbps } = self;
        let of = |values: &mut Vec<f64>| {
            let spread = spread(values);
            values.clear();
            spread
        };
        CrowdSample {
            active: std::mem::take(active),
            cwnd: of(cwnd),
            srtt: of(srtt),
            in_flight: of(in_flight),
            goodput_mbps: of(goodput_mbps),
        }
    }
}

/// State of a flow from which the quantiles of the flow's group are computed.
#[derive(Clone, Debug)]
struct Member {
    recorded: bool,
    stop: Time,
    payload_mbits: f64,
    /// Distinct segments that had arrived at the last sample time, and their bytes beyond whole segments.
    delivered: u64,
    odd_bytes: i64,
    /// Counts of the flow's receiver at the beginning and the end of the measurement window.
    received: [ReceiverSample; 2],
    /// Counts of the flow's sender at the beginning and the end of the measurement window.
    losses: [MeasuredLosses; 2],
}

/// Reduces samples to quantiles.
#[derive(Clone, Debug)]
pub(crate) struct Reducer {
    times: Arc<[Time]>,
    /// Number of sample times reduced so far.
    done: usize,
    /// Ends of the measurement window.
    window: [Time; 2],
    members: Vec<Member>,
    crowd: Crowd,
    values: Values,
}

impl Reducer {
    pub(crate) fn new(spec: &Spec, times: &Arc<[Time]>) -> Self {
        let member = |(i, flow): (usize, &crate::spec::FlowSpec)| Member {
            recorded: spec.records(i),
            stop: flow.stop_ps.map_or(Time::NEVER, Time),
            payload_mbits: f64::from(flow.stack.payload_bytes) * MBIT_PER_BYTE,
            delivered: 0,
            odd_bytes: 0,
            received: Default::default(),
            losses: Default::default(),
        };
        let groups = spec.flow_groups();
        let rows = Vec::with_capacity(groups.len() * times.len());
        Self {
            times: times.clone(),
            done: 0,
            window: [Time(spec.measure.from_ps), Time(spec.measure.to_ps)],
            members: spec.flows.iter().enumerate().map(member).collect(),
            crowd: Crowd { groups, rows, measured: Vec::new() },
            values: Values::default(),
        }
    }

    /// Reduces the samples taken before `now` to quantiles; all flows have passed this time.
    pub(crate) fn reduce(&mut self, now: Time, flows: &mut [[FlowEnd; 2]], sinks: &mut [Option<Sink>]) {
        let passed = self.times.partition_point(|&time| time < now);
        if passed == self.done {
            return;
        }
        sinks[..flows.len()].iter_mut().flatten().for_each(|sink| sink.receiver.sample_before(now));
        for time in self.done..passed {
            self.reduce_time(time, flows, sinks);
        }
        let count = passed - self.done;
        self.done = passed;
        for ((member, ends), sink) in self.members.iter().zip(flows).zip(sinks) {
            if !member.recorded {
                ends.iter_mut().for_each(|end| end.forget(count));
                if let Some(sink) = sink {
                    sink.receiver.forget(count);
                }
            }
        }
    }

    fn reduce_time(&mut self, time: usize, flows: &[[FlowEnd; 2]], sinks: &[Option<Sink>]) {
        let Self { times, done, window, members, crowd, values } = self;
        let at = times[time];
        let since_s = time.checked_sub(1).map_or(f64::NAN, |before| (at - times[before]).0 as f64 * 1e-12);
        for group in &crowd.groups {
            let of_group = group.first..group.first + group.count as usize;
            let ends = flows[of_group.clone()].iter().zip(&sinks[of_group.clone()]);
            for (member, ([sender, receiver], sink)) in members[of_group].iter_mut().zip(ends) {
                let index = if member.recorded { time } else { time - *done };
                let arrived = sink.as_ref().map_or_else(|| receiver.receiving(), |sink| sink.receiver.samples())[index];
                let segments = arrived.delivered - std::mem::replace(&mut member.delivered, arrived.delivered);
                let odd_bytes = arrived.odd_bytes - std::mem::replace(&mut member.odd_bytes, arrived.odd_bytes);
                let edge = window.iter().position(|&edge| edge == at);
                if let Some(edge) = edge {
                    member.received[edge] = arrived;
                }
                let Some(sending) = sender.sending() else { continue };
                let sample = &sending.samples[index];
                if let Some(edge) = edge {
                    member.losses[edge] = MeasuredLosses::of(sample);
                }
                let ended = member.stop.min(sending.completed.unwrap_or(Time::NEVER));
                if sending.start <= at && at <= ended {
                    let mbits = segments as f64 * member.payload_mbits + odd_bytes as f64 * MBIT_PER_BYTE;
                    values.add(sample, mbits / since_s);
                }
            }
            crowd.rows.push(values.take());
        }
    }

    /// Returns the quantiles, and each flow's receiver counts at the beginning and the end of the measurement window.
    pub(crate) fn finish(self) -> (Crowd, Vec<[ReceiverSample; 2]>) {
        let losses = |member: &Member| {
            let [before, after] = member.losses;
            MeasuredLosses {
                retransmits: after.retransmits - before.retransmits,
                loss_events: after.loss_events - before.loss_events,
                ecn_events: after.ecn_events - before.ecn_events,
                timeouts: after.timeouts - before.timeouts,
            }
        };
        let measured = self.members.iter().map(losses).collect();
        (Crowd { measured, ..self.crowd }, self.members.into_iter().map(|member| member.received).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_between_two_values_is_interpolated() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.95), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.5), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.25), Some(1.75));
    }

    #[test]
    fn a_spread_leaves_out_what_is_not_a_number() {
        let spread = spread(&mut vec![5.0, f64::NAN, 1.0, 3.0]);
        assert_eq!((spread[0], spread[3], spread[6]), (1.0, 3.0, 5.0));
        assert!(super::spread(&mut vec![f64::NAN]).iter().all(|value| value.is_nan()));
    }
}
