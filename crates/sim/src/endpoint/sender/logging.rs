//! Events that a sender logs.

use super::core::Sender;
use super::log::SenderLog;
use crate::events::{Event, Kind, Log, NONE};
use crate::packet::Packet;
use crate::sidecar::Sidecar;
use crate::spec::EventsSpec;
use crate::time::Time;

impl Sender {
    /// Starts a log.
    pub(crate) fn keep_log(&mut self, spec: &EventsSpec) {
        self.log = Some(Box::new(SenderLog { log: Log::new(spec), arrivals: 0..0 }));
        self.remembers = true;
        self.watches = true;
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |held| held.log.rows.len())
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        self.log.take().map(|held| held.log)
    }

    /// Logs ACKs that arrive at one instant.
    pub(super) fn log_acks(&mut self, packets: &mut dyn Iterator<Item = Packet>, beside: &Sidecar) {
        let Some(held) = &mut self.log else { return };
        let before = held.log.rows.len();
        for packet in packets.filter(|packet| packet.opens().is_none()) {
            held.log.push(Kind::Acked, packet.at, &packet, NONE, beside.sacks.of(&packet).map(Into::into));
        }
        held.arrivals = before..held.log.rows.len();
    }

    /// Completes the rows of the last arrivals, whose instant is over.
    pub(super) fn settle_log(&mut self) {
        let state = self.state_of_log();
        if let Some(held) = &mut self.log {
            let arrivals = std::mem::take(&mut held.arrivals);
            held.log.rows[arrivals].iter_mut().for_each(|row| *row = state(*row));
        }
    }

    /// Logs a segment that leaves at `at`, with the timestamp `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn log_sent(&mut self, segment: u32, flags: u8, at: Time, now: Time) {
        let packet = Packet::new(at, now, self.flow, segment, self.bytes_of(segment), flags, 0);
        let state = self.state_of_log();
        if let Some(SenderLog { log, .. }) = self.log.as_deref_mut() {
            log.push(Kind::Sent, at, &packet, NONE, None);
            if log.covers(at) {
                log.rows.last_mut().into_iter().for_each(|row| *row = state(*row));
            }
        }
    }

    /// Fills in the sender's state.
    fn state_of_log(&self) -> impl Fn(Event) -> Event + use<> {
        let (cwnd, in_flight) = (self.stats.cwnd as f32, self.board.in_flight(self.next));
        let srtt = if self.rto.srtt > 0.0 { self.rto.srtt as f32 } else { f32::NAN };
        move |row| Event { cwnd, in_flight, srtt, ..row }
    }
}
