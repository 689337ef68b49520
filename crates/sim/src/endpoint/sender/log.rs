//! The turns of a sender whose packets are logged.

use super::Sender;
use crate::events::{Event, Kind, Log, NONE};
use crate::network::{End, Network};
use crate::packet::Packet;
use crate::spec::EventsSpec;
use crate::time::Time;

impl Sender {
    /// Keeps a log from now on.
    pub(crate) fn keep_log(&mut self, spec: &EventsSpec) {
        self.log = Some(Box::new(Log::new(spec)));
        self.remembers = true;
        self.watches = true;
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.rows.len())
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        self.log.take().map(|log| *log)
    }

    /// As [`Sender::run`], with a row for each ACK: the turn is taken in steps, each up to the next arrival.
    pub fn run_logged(&mut self, horizon: Time, network: &mut Network) -> bool {
        let mut worked = false;
        let inbox = network.inbox(self.flow, End::Sender);
        loop {
            let arrival = network.head(inbox);
            if arrival >= horizon {
                return self.run(horizon, network) || worked;
            }
            worked = true;
            // What is due at the same instant comes before an arrival.
            while self.timer <= arrival {
                self.on_timer(network);
            }
            let logged = self.logged();
            if let Some(log) = &mut self.log {
                let sacks = &network.sacks[self.flow as usize];
                for packet in network.waiting(inbox).take_while(|packet| packet.at == arrival) {
                    log.push(Kind::Acked, arrival, packet, NONE, sacks.of(packet).map(Into::into));
                }
            }
            let arrivals = logged..self.logged();
            self.run(Time(arrival.0 + 1), network);
            let state = self.state_of_log();
            if let Some(log) = &mut self.log {
                log.rows[arrivals].iter_mut().for_each(|row| *row = state(*row));
            }
        }
    }

    /// A segment leaves at `at`, and says `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn log_sent(&mut self, segment: u32, flags: u8, at: Time, now: Time) {
        let packet = Packet::new(at, now, self.flow, segment, self.bytes, flags, 0);
        let state = self.state_of_log();
        if let Some(log) = &mut self.log {
            log.push(Kind::Sent, at, &packet, NONE, None);
            if log.covers(at)
                && let Some(row) = log.rows.last_mut()
            {
                *row = state(*row);
            }
        }
    }

    /// Fills in what the sender knows.
    fn state_of_log(&self) -> impl Fn(Event) -> Event + use<> {
        let (cwnd, in_flight) = (self.cwnd as f32, self.board.in_flight(self.next));
        let srtt = if self.rto.srtt > 0.0 { self.rto.srtt as f32 } else { f32::NAN };
        move |row| Event { cwnd, in_flight, srtt, ..row }
    }
}
