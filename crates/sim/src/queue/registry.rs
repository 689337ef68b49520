//! List of the disciplines: one line defines a discipline's variant of [`Queue`] or [`Served`], its variant of
//! [`Parameters`], its entry, and the function that builds it.

use elephan_cc::param::{BuildError, Settings};

use super::discipline::{AtArrival, AtDeparture, Place};
use super::entry::Entry;
use super::held::Held;
use super::{Arrival, Backlog, DropTail, Verdict};
use crate::packet::Packet;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

/// A line of the registry: an entry, and the function that reads its parameters.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) entry: Entry,
    pub(super) read: fn(&Settings) -> Result<Parameters, BuildError>,
}

macro_rules! disciplines {
    (arrival { $($arrival:ident = $early:ty),+ $(,)? } departure { $($departure:ident = $late:ty),+ $(,)? }) => {
        /// A discipline that decides at arrivals, statically dispatched. The discipline's packets leave first in, first
        /// out.
        #[derive(Clone, Debug)]
        pub enum Queue {
            /// See [`DropTail`].
            DropTail(DropTail),
            $(#[doc = concat!("See `", stringify!($early), "`.")] $arrival(Box<$early>)),+
        }

        /// A discipline that decides at departures, statically dispatched.
        #[derive(Clone, Debug)]
        pub enum Served {
            $(#[doc = concat!("See `", stringify!($late), "`.")] $departure($late)),+
        }

        /// The checked parameters of a discipline.
        #[derive(Clone, Debug)]
        pub(super) enum Parameters {
            DropTail(<DropTail as AtArrival>::Parameters),
            $($arrival(<$early as AtArrival>::Parameters),)+
            $($departure(<$late as AtDeparture>::Parameters)),+
        }

        /// Every discipline, with the function that reads its parameters.
        const ROWS: &[Row] = &[
            Row { entry: DropTail::ENTRY, read: |settings| Ok(Parameters::DropTail(DropTail::read(settings)?)) },
            $(Row { entry: <$early>::ENTRY, read: |settings| Ok(Parameters::$arrival(<$early>::read(settings)?)) },)+
            $(Row { entry: <$late>::ENTRY, read: |settings| Ok(Parameters::$departure(<$late>::read(settings)?)) }),+
        ];

        impl Parameters {
            /// Builds an empty queue: one that decides at arrivals, and also one that decides at departures if the
            /// discipline does so.
            pub(super) fn build(self, place: Place) -> (Queue, Option<Served>) {
                match self {
                    Self::DropTail(p) => (Queue::DropTail(DropTail::build(p, place)), None),
                    $(Self::$arrival(p) => (Queue::$arrival(Box::new(<$early>::build(p, place))), None),)+
                    $(Self::$departure(p) => {
                        (Queue::DropTail(place.tail(false)), Some(Served::$departure(<$late>::build(p, place))))
                    }),+
                }
            }
        }

        impl Queue {
            /// The bound on the waiting packets.
            #[inline]
            fn tail(&self) -> &DropTail {
                match self { Self::DropTail(queue) => queue, $(Self::$arrival(queue) => queue.tail()),+ }
            }

            /// Decides whether an arriving packet waits, is marked or is dropped.
            #[inline]
            pub fn decide(&mut self, arrival: &Arrival) -> Verdict {
                match self {
                    Self::DropTail(queue) => queue.decide(arrival),
                    $(Self::$arrival(queue) => queue.decide(arrival)),+
                }
            }
        }

        impl Served {
            /// Takes a packet that arrives at `packet.at`, with the congestion headers of each flow. Returns the number
            /// of waiting packets.
            #[inline]
            pub fn enqueue(
                &mut self,
                packet: Packet,
                dropped: &mut Vec<Packet>,
                headers: &mut impl PacketHeaders,
            ) -> u64 {
                match self {
                    $(Self::$departure(queue) => {
                        queue.enqueue(packet, dropped, headers);
                        queue.backlog().packets
                    }),+
                }
            }

            /// Takes the packet that is sent at `now`, at which the transmitter is free. Returns the packet and the
            /// number of packets that still wait.
            #[inline]
            pub fn dequeue(
                &mut self,
                now: Time,
                dropped: &mut Vec<Packet>,
                headers: &mut impl PacketHeaders,
            ) -> (Option<Packet>, u64) {
                match self {
                    $(Self::$departure(queue) => {
                        let next = queue.dequeue(now, dropped, headers);
                        (next, queue.backlog().packets)
                    }),+
                }
            }

            /// Earliest time at which the discipline lets the next packet be sent.
            #[must_use]
            #[inline(always)]
            pub fn release(&self) -> Time {
                match self { $(Self::$departure(queue) => queue.release()),+ }
            }

            /// Number and bytes of the waiting packets.
            #[must_use]
            #[inline]
            pub fn backlog(&self) -> Backlog {
                match self { $(Self::$departure(queue) => queue.backlog()),+ }
            }

            /// Visits the waiting packets.
            pub fn for_each(&self, look: impl FnMut(&Packet)) {
                match self { $(Self::$departure(queue) => queue.held().flat_map(Held::iter).for_each(look)),+ }
            }
        }
    };
}

// `DropTail` comes first, since every other discipline has a `DropTail` as its bound on the waiting packets.
disciplines! {
    arrival {
        Threshold = super::threshold::Threshold,
        Red = super::red::Red,
        Pie = super::pie::Pie,
        Policer = super::policer::Policer,
    }
    departure {
        Codel = super::codel::Codel,
        FqCodel = super::fq_codel::FqCodel,
        DualPi2 = super::dualpi2::DualPi2,
        Xcp = super::xcp::Xcp,
        Vcp = super::vcp::Vcp,
        Tbf = super::tbf::Tbf,
    }
}

/// Every discipline with its parameters.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    ROWS.iter().map(|row| &row.entry)
}

/// Finds a discipline by name.
pub(super) fn row(name: &str) -> Result<&'static Row, BuildError> {
    let known = || entries().map(|entry| entry.name).collect::<Vec<_>>();
    let found = ROWS.iter().find(|row| row.entry.name == name);
    found.ok_or_else(|| BuildError::unknown_name(name, "a queue discipline", &known()))
}

impl Queue {
    /// True if the bound admits a packet of `bytes` to `backlog`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        self.tail().admits(backlog, bytes)
    }

    /// True if the discipline has rules besides the bound.
    #[must_use]
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::DropTail(_))
    }

    /// Number of packets of `bytes` each that may wait, if the discipline has no other rule.
    #[must_use]
    pub fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        if self.is_active() { None } else { self.tail().uniform_limit(bytes) }
    }

    /// True if the queue never drops a packet, so that the waiting packets need not be counted.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        !self.is_active() && self.tail().is_unlimited()
    }

    /// True if a packet counts as waiting until its last bit is sent, and not only until its first bit is sent.
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        self.tail().count_in_service
    }
}
