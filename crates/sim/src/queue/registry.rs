//! Every discipline, once: one line each makes its variant of [`Queue`] or [`Served`], its entry in [`REGISTRY`] and its way
//! from a spec into a link.

use elephan_cc::param::{BuildError, Settings};

use super::entry::{AtArrival, AtDeparture, Discipline, Entry, Place};
use super::held::Held;
use super::{Arrival, Backlog, DropTail, Verdict};
use crate::packet::Packet;
use crate::sidecar::CongestionHeaders;
use crate::time::Time;

macro_rules! disciplines {
    (arrival { $($arrival:ident = $early:ty),+ $(,)? } departure { $($departure:ident = $late:ty),+ $(,)? }) => {
        /// A discipline that decides when a packet arrives, statically dispatched. What waits is first in, first out.
        #[derive(Clone, Debug)]
        pub enum Queue {
            /// See [`DropTail`].
            DropTail(DropTail),
            $(#[doc = concat!("See [`", stringify!($early), "`].")] $arrival(Box<$early>)),+
        }

        /// A discipline that decides at departures, statically dispatched.
        #[derive(Clone, Debug)]
        pub enum Served {
            $(#[doc = concat!("See [`", stringify!($late), "`].")] $departure(Box<$late>)),+
        }

        /// Every discipline with its parameters.
        pub const REGISTRY: &[Entry] = &[DropTail::ENTRY, $(<$early>::ENTRY,)+ $(<$late>::ENTRY),+];

        /// The queue `name`: one that decides at arrivals, and one that decides at departures where the discipline does.
        pub(super) fn build(name: &str, settings: &Settings, place: Place) -> Result<(Queue, Option<Served>), BuildError> {
            $(if name == <$early>::ENTRY.name {
                return Ok((Queue::$arrival(Box::new(<$early>::build(settings, place)?)), None));
            })+
            $(if name == <$late>::ENTRY.name {
                let tail = Queue::DropTail(place.tail(false));
                return Ok((tail, Some(Served::$departure(Box::new(<$late>::build(settings, place)?)))));
            })+
            Ok((Queue::DropTail(DropTail::build(settings, place)?), None))
        }

        impl Queue {
            /// The bound on what waits.
            #[inline]
            fn tail(&self) -> &DropTail {
                match self { Self::DropTail(queue) => queue, $(Self::$arrival(queue) => queue.tail()),+ }
            }

            /// Decides what becomes of an arrival.
            pub fn decide(&mut self, arrival: &Arrival) -> Verdict {
                match self {
                    Self::DropTail(queue) => queue.decide(arrival),
                    $(Self::$arrival(queue) => queue.decide(arrival)),+
                }
            }
        }

        impl Served {
            /// Takes a packet that arrives at `packet.at`, with the congestion headers of each flow.
            pub fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut dyn CongestionHeaders) {
                match self { $(Self::$departure(queue) => queue.enqueue(packet, dropped, headers)),+ }
            }

            /// The packet that is sent at `now`, when the transmitter is free.
            pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>, headers: &mut dyn CongestionHeaders) -> Option<Packet> {
                match self { $(Self::$departure(queue) => queue.dequeue(now, dropped, headers)),+ }
            }

            /// What waits.
            #[must_use]
            pub fn backlog(&self) -> Backlog {
                match self { $(Self::$departure(queue) => queue.backlog()),+ }
            }

            /// Visits the packets that wait.
            pub fn for_each(&self, look: impl FnMut(&Packet)) {
                match self { $(Self::$departure(queue) => queue.held().flat_map(Held::iter).for_each(look)),+ }
            }
        }
    };
}

// `DropTail`, the bound that all others have too, comes first.
disciplines! {
    arrival {
        Threshold = super::threshold::Threshold,
        Red = super::red::Red,
        Pie = super::pie::Pie,
    }
    departure {
        Codel = super::codel::Codel,
        FqCodel = super::fq_codel::FqCodel,
        DualPi2 = super::dualpi2::DualPi2,
        Xcp = super::xcp::Xcp,
        Vcp = super::vcp::Vcp,
    }
}

impl Queue {
    /// Whether a packet of `bytes` may join `backlog`, where nothing but the bound decides.
    #[inline]
    pub fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        self.tail().admits(backlog, bytes)
    }

    /// Whether more than the bound decides.
    #[must_use]
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::DropTail(_))
    }

    /// How many packets of `bytes` each may wait, where that is all that this discipline decides by.
    #[must_use]
    pub fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        if self.is_active() { None } else { self.tail().uniform_limit(bytes) }
    }

    /// Whether it never refuses a packet, so that nobody need count what waits.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        !self.is_active() && self.tail().is_unlimited()
    }

    /// Whether a packet counts as waiting until its last bit is sent, and not only until its first.
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        self.tail().count_in_service
    }
}
