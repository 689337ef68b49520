//! Parts of segments at a receiver: a sender of Linux fills a receive window that is no whole number of segments.

use crate::packet::Packet;
use crate::spec::{FlowSpec, Spec};
use crate::time::Time;

/// Smallest payload, bytes, that grows the receive window if it arrives in order (`tcp_event_data_recv`).
pub const LEAST_GROWING_BYTES: u32 = 128;

/// A receiver's knowledge of parts of segments; that of a receiver whose sender sends none is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Size of a whole segment, and of its headers, bytes on the wire; zero without parts.
    whole: u64,
    headers: u64,
    /// Rate of the last link, bit/s; `None` if the rate is variable.
    rate_bps: Option<u64>,
}

impl Parts {
    /// State of the receiver of `flow`; `None` if its sender sends no parts.
    #[must_use]
    pub fn of_flow(spec: &Spec, flow: &FlowSpec) -> Option<Self> {
        let last = flow.path.last().map(|&link| &spec.links[link]).filter(|_| flow.sends_parts())?;
        let headers = u64::from(flow.stack.header_bytes);
        Some(Self {
            whole: headers + u64::from(flow.stack.payload_bytes),
            headers,
            rate_bps: last.impairments.is_none().then_some(last.rate_bps),
        })
    }

    /// True if a packet is smaller than a whole segment.
    #[must_use]
    #[inline(always)]
    pub fn is_part(&self, packet: &Packet) -> bool {
        packet.bytes() < self.whole
    }

    /// Bytes by which a part is shorter than a whole segment.
    #[must_use]
    pub fn missing_in(&self, part: &Packet) -> u64 {
        self.whole - part.bytes()
    }

    /// The part at the time of its arrival. A link that never queues whole segments has no queue in the engine, but a part
    /// waits there for the whole segment in front of it, which arrived at `before`.
    #[must_use]
    pub fn behind(&self, part: &Packet, before: Time) -> Packet {
        let transmission = self.rate_bps.map_or(0, |rate_bps| {
            let ps = u128::from(part.bytes()) * 8 * u128::from(Time::SECOND.0) / u128::from(rate_bps);
            u64::try_from(ps).unwrap_or(0)
        });
        part.arriving(part.at.max(before + Time(transmission)))
    }

    /// True if a part that arrives in order does not grow the receive window.
    #[must_use]
    pub fn is_small(&self, part: &Packet) -> bool {
        part.bytes() < self.headers + u64::from(LEAST_GROWING_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    fn us(time: u64) -> Time {
        Time(time * Time::MICROSECOND.0)
    }

    #[test]
    fn a_part_arrives_at_once_or_behind_the_segment_before_it() {
        // The last link sends 68 bytes in 0.544 µs.
        let spec = Spec::dumbbell(1_000_000_000, us(10_000), 100, Time::SECOND, &["hybla"]);
        let parts = Parts::of_flow(&spec, &spec.flows[0]).expect("a flow of Linux without end");
        let part = Packet::new(us(100), Time::ZERO, FlowId(0), 7, 68, 0, 0);
        assert_eq!(parts.behind(&part, us(99)).at, us(100));
        assert_eq!(parts.behind(&part, us(100)).at, us(100) + Time(544_000));
        assert!(parts.is_small(&part));
    }

    #[test]
    fn transfers_and_limited_applications_have_no_parts() {
        let mut spec = Spec::dumbbell(1_000_000_000, us(10_000), 100, Time::SECOND, &["hybla"]);
        spec.flows[0].size_segments = Some(100);
        assert!(Parts::of_flow(&spec, &spec.flows[0]).is_none());
    }
}
