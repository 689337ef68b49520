//! Drop-tail: first in, first out; a packet that does not fit is dropped.

use elephan_cc::param::{BuildError, Settings, flag};

use super::discipline::{AtArrival, Place};
use super::entry::{Entry, Preset};
use super::tail::DropTail;
use super::{Arrival, Verdict};

elephan_cc::params! {
    /// Parameters of the disciplines that decide at arrivals.
    pub struct TailParameters {
        /// Count the packet in transmission as waiting.
        count_in_service: bool = flag(false), "ns-2 and Linux do not count it";
    }
}

impl AtArrival for DropTail {
    const ENTRY: Entry = Entry {
        presets: &[Preset { name: "ns2", title: "ns-2's count: a limit of N lets N-1 packets wait", below_limit: 1 }],
        ..Entry::new("droptail", "Drop-tail in packets or bytes", "RFC 7567 section 2", &[TailParameters::TABLE])
    };

    type Parameters = TailParameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        TailParameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        place.tail(p.count_in_service)
    }

    #[inline]
    fn tail(&self) -> &DropTail {
        self
    }

    #[inline]
    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        if self.admits(arrival.backlog, arrival.bytes) { Verdict::Accept } else { Verdict::Drop }
    }
}
