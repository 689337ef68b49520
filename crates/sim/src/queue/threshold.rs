//! Step marking: drop-tail that marks what finds more than a threshold waiting, as the switches do that DCTCP was made for.

use super::{Arrival, Default, DropTail, Entry, IN_SERVICE, Parameter, Verdict};

pub(super) const ENTRY: Entry = Entry {
    name: "threshold",
    title: "Drop-tail with step ECN marking",
    source: "RFC 8257 section 3.1 (DCTCP's threshold K)",
    parameters: &[
        IN_SERVICE,
        Parameter {
            name: "mark",
            unit: "amount",
            default: Default::Required,
            range: (1.0, 1e12),
            doc: "an ECN-capable packet that finds so many packets or bytes waiting, or more, is marked",
        },
    ],
};

/// A first-in, first-out queue with a bound, and with thresholds for marking.
#[derive(Clone, Debug)]
pub struct Threshold {
    pub(super) tail: DropTail,
    mark_packets: u64,
    mark_bytes: u64,
}

impl Threshold {
    /// `tail` with thresholds in packets, bytes or both; the lower one decides.
    #[must_use]
    pub fn new(tail: DropTail, mark_packets: Option<u64>, mark_bytes: Option<u64>) -> Self {
        Self { tail, mark_packets: mark_packets.unwrap_or(u64::MAX), mark_bytes: mark_bytes.unwrap_or(u64::MAX) }
    }

    pub(super) fn decide(&self, arrival: &Arrival) -> Verdict {
        let waiting = arrival.backlog;
        if !self.tail.admits(waiting, arrival.bytes) {
            Verdict::Drop
        } else if arrival.capable && (waiting.packets >= self.mark_packets || waiting.bytes >= self.mark_bytes) {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backlog;
    use super::*;
    use crate::time::Time;

    #[test]
    fn the_lower_threshold_decides() {
        let queue = Threshold::new(DropTail::new(Some(100), None, false), Some(10), Some(6000));
        let verdict = |packets, bytes, capable| {
            let (now, transmission, free) = (Time::ZERO, Time(1), Time::ZERO);
            let backlog = Backlog { packets, bytes };
            queue.decide(&Arrival { now, bytes: 1000, transmission, backlog, free, capable })
        };
        assert_eq!((verdict(10, 0, true), verdict(9, 5999, true)), (Verdict::Mark, Verdict::Accept));
        assert_eq!((verdict(4, 6000, true), verdict(4, 6000, false)), (Verdict::Mark, Verdict::Accept));
        assert_eq!(verdict(100, 0, true), Verdict::Drop);
    }
}
