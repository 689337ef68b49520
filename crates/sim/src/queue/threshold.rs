//! Step marking: a drop-tail queue that marks arriving packets while its length is at or above a threshold, as switches
//! for DCTCP do.

use elephan_cc::param::{Amount, BuildError, Settings, required_amount};

use super::discipline::{AtArrival, Place};
use super::droptail::TailParameters;
use super::entry::Entry;
use super::{Arrival, DropTail, Verdict};

elephan_cc::params! {
    /// Parameters of step marking.
    pub struct ThresholdParameters {
        /// Threshold in packets or bytes: an ECN-capable packet is marked if at least this many wait at its arrival.
        mark: Amount = required_amount(1.0, 1e12), "RFC 8257 section 3.1 (K)";
    }
}

/// A first-in, first-out queue with a bound, and with thresholds for marking.
#[derive(Clone, Debug)]
pub struct Threshold {
    tail: DropTail,
    mark_packets: u64,
    mark_bytes: u64,
}

impl Threshold {
    /// `tail` with thresholds in packets, bytes or both; the threshold that is reached first decides.
    fn new(tail: DropTail, mark: Amount) -> Self {
        Self { tail, mark_packets: mark.packets.unwrap_or(u64::MAX), mark_bytes: mark.bytes.unwrap_or(u64::MAX) }
    }
}

impl AtArrival for Threshold {
    const ENTRY: Entry = Entry::new(
        "threshold",
        "Drop-tail with step ECN marking",
        "RFC 8257 section 3.1 (DCTCP's threshold K)",
        &[TailParameters::TABLE, ThresholdParameters::TABLE],
    );

    type Parameters = (TailParameters, ThresholdParameters);

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        Ok((TailParameters::read(settings)?, ThresholdParameters::read(settings)?))
    }

    fn build((tail, p): Self::Parameters, place: Place) -> Self {
        Self::new(place.tail(tail.count_in_service), p.mark)
    }

    #[inline]
    fn tail(&self) -> &DropTail {
        &self.tail
    }

    fn decide(&mut self, arrival: &Arrival) -> Verdict {
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
        let mark = Amount { packets: Some(10), bytes: Some(6000) };
        let mut queue = Threshold::new(DropTail::new(Some(100), None, false), mark);
        let mut verdict = |packets, bytes, capable| {
            let (now, transmission, free) = (Time::ZERO, Time(1), Time::ZERO);
            let backlog = Backlog { packets, bytes };
            queue.decide(&Arrival { now, bytes: 1000, transmission, backlog, free, capable })
        };
        assert_eq!((verdict(10, 0, true), verdict(9, 5999, true)), (Verdict::Mark, Verdict::Accept));
        assert_eq!((verdict(4, 6000, true), verdict(4, 6000, false)), (Verdict::Mark, Verdict::Accept));
        assert_eq!(verdict(100, 0, true), Verdict::Drop);
    }
}
