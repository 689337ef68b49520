//! The event log of a sender.

use std::ops::Range;

use crate::events::{Event, Kind, Log, NONE};
use crate::packet::Packet;
use crate::sidecar::Sidecar;
use crate::spec::EventsSpec;

/// The log, and its rows for ACKs that arrive at the current instant. The rows for ACKs are completed later, since they
/// contain the sender's state after the instant of arrival.
#[derive(Clone, Debug)]
pub struct SenderLog {
    log: Log,
    arrivals: Range<usize>,
}

/// State of the sender that a row has.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    pub cwnd: f32,
    pub in_flight: u32,
    pub srtt: f32,
}

impl SenderLog {
    pub fn new(spec: &EventsSpec) -> Self {
        Self { log: Log::new(spec), arrivals: 0..0 }
    }

    /// Events logged so far.
    pub fn len(&self) -> usize {
        self.log.rows.len()
    }

    pub fn into_log(self) -> Log {
        self.log
    }

    /// Logs ACKs that arrive at one instant.
    pub fn on_acks(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        let before = self.len();
        for packet in packets.filter(|packet| packet.opens().is_none()) {
            self.log.push(Kind::Acked, packet.at, &packet, NONE, beside.sacks.of(&packet).map(Into::into));
        }
        self.arrivals = before..self.len();
    }

    /// Completes the rows of the last arrivals, whose instant is over.
    pub fn settle(&mut self, state: Logged) {
        let arrivals = std::mem::take(&mut self.arrivals);
        self.log.rows[arrivals].iter_mut().for_each(|row| state.complete(row));
    }

    /// Logs a segment that leaves at the time of `packet`.
    #[cold]
    #[inline(never)]
    pub fn on_sent(&mut self, packet: &Packet, state: Logged) {
        self.log.push(Kind::Sent, packet.at, packet, NONE, None);
        if self.log.covers(packet.at) {
            self.log.rows.last_mut().into_iter().for_each(|row| state.complete(row));
        }
    }
}

impl Logged {
    fn complete(self, row: &mut Event) {
        (row.cwnd, row.in_flight, row.srtt) = (self.cwnd, self.in_flight, self.srtt);
    }
}
