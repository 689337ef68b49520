//! A sender of datagrams. Each datagram leaves when the application hands it over, and is not acknowledged.

use std::sync::Arc;

use super::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use super::departures::Departures;
use crate::application::{Application, SMALL_BURST};
use crate::events::{Kind, Log, NONE};
use crate::packet::{FlowId, Packet};
use crate::record::{Clock, Sampled, SenderRecord, SenderSample, Sending};
use crate::spec::{FlowSpec, Spec};
use crate::time::Time;

/// The sending end of a flow of datagrams.
#[derive(Debug)]
pub struct DatagramSender {
    flow: FlowId,
    /// Number of the next datagram.
    next: u32,
    bytes: u16,
    departures: Departures,
    application: Option<Box<Application>>,
    timer: Time,
    clock: Clock,
    log: Option<Box<Log>>,
    record: SenderRecord,
}

impl DatagramSender {
    /// Sender of flow number `flow` of a spec; the flow starts at `start`.
    #[must_use]
    pub fn new(flow: FlowId, spec: &Spec, this: &FlowSpec, start: Time, sample_times: &Arc<[Time]>) -> Self {
        let clock = Clock::new(sample_times);
        let application = Application::of_flow(spec, this, start);
        let mut record = SenderRecord { start, ..SenderRecord::default() };
        // A datagram sender has no window.
        (record.measured.cwnd_integral, record.measured.cwnd_max) = (f64::NAN, f64::NAN);
        let mut this = Self {
            flow,
            next: 0,
            bytes: (this.stack.payload_bytes + this.stack.header_bytes) as u16,
            departures: Departures::new(spec.seed, &this.name, spec.send_jitter_ps),
            application,
            timer: Time::ZERO,
            clock,
            log: spec.events.as_ref().map(|events| Box::new(Log::new(events))),
            record,
        };
        this.set_timer();
        this
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.rows.len())
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        self.log.take().map(|log| *log)
    }

    /// Size of the flow's packets, bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u16 {
        self.bytes
    }

    /// Returns the records that the run keeps of this end.
    #[must_use]
    pub fn into_record(self) -> SenderRecord {
        self.record
    }

    fn set_timer(&mut self) {
        let due = self.application.as_ref().map_or(Time::NEVER, |application| application.due());
        self.timer = self.clock.due().min(due);
    }

    fn sample_until(&mut self, now: Time) {
        while self.clock.due() <= now {
            self.clock.advance();
            self.record.samples.push(SenderSample {
                cwnd: f64::NAN,
                ssthresh: f64::INFINITY,
                srtt: f64::NAN,
                rtt: f64::NAN,
                in_flight: 0,
                timeouts: 0,
                ecn_events: 0,
                retransmits: 0,
                loss_events: 0,
            });
        }
    }

    fn send(&mut self, now: Time, out: &mut impl Outlet) {
        self.record.totals.sent += 1;
        let at = self.departures.next(now);
        let packet = Packet::new(at, now, self.flow, self.next, self.bytes, 0, 0);
        self.next += 1;
        if let Some(log) = &mut self.log {
            log.push(Kind::Sent, at, &packet, NONE, None);
        }
        out.send(packet);
    }
}

impl Sampled for DatagramSender {
    fn sampled(&self) -> Sending<'_> {
        Sending { start: self.record.start, completed: None, samples: &self.record.samples }
    }

    fn forget(&mut self, count: usize) {
        self.record.samples.drain(..count);
    }
}

impl EndpointState for DatagramSender {
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        PacketCounts { sent: self.record.totals.sent, received: 0 }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for DatagramSender {
    fn on_timer(&mut self, out: &mut O) {
        let now = self.timer;
        self.sample_until(now);
        if let Some(application) = &mut self.application {
            if application.due() <= now {
                let fresh = application.take(now);
                if fresh <= SMALL_BURST || out.has_room_for(fresh) {
                    (0..fresh).for_each(|_| self.send(now, out));
                }
            }
        }
        self.set_timer();
    }

    fn on_packet(&mut self, _: &Packet, _: &mut O) {}
}
