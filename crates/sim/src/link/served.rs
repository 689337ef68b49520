//! A link whose queue decides at departures: waiting packets are stored, and the transmitter takes the next packet when
//! it becomes free.

use super::{Admission, Link};
use crate::packet::Packet;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

impl Link {
    /// True if the queue decides at departures, so that [`Link::receive`] and [`Link::send_next`] are used instead of
    /// [`Link::carry`].
    #[must_use]
    #[inline(always)]
    pub fn is_served(&self) -> bool {
        self.admission == Admission::AtDeparture
    }

    /// Time at which the transmitter takes the next packet; [`Time::NEVER`] if none waits.
    #[must_use]
    #[inline(always)]
    pub fn next_service(&self) -> Time {
        self.service.as_ref().map_or(Time::NEVER, |service| service.ready)
    }

    /// Visits the waiting packets, if the queue stores them.
    pub fn for_each_waiting(&self, look: impl FnMut(&Packet)) {
        if let Some(service) = &self.service {
            service.queue.for_each(look);
        }
    }

    /// Visits the packets in flight to the far end, if the delay line stores them.
    pub fn for_each_flying(&self, look: impl FnMut(&Packet)) {
        if let Some(wire) = &self.wire {
            wire.for_each(look);
        }
    }

    /// Handles the arrival of a packet. Packets that are lost or dropped because of this arrival are added to `gone`.
    /// `headers` has the congestion headers.
    ///
    /// # Panics
    /// If arrivals are not in the order of time, which would be a defect of the engine.
    #[inline(always)]
    pub fn receive(&mut self, packet: Packet, gone: &mut Vec<Packet>, headers: &mut impl PacketHeaders) {
        let now = packet.at;
        self.note_arrival(now);
        self.sample_before(now);
        if self.on_wire.is_none() && self.loses_arrival(now, packet.bytes()) {
            gone.push(packet);
            return;
        }
        let Some(service) = &mut self.service else { return };
        let before = gone.len();
        let waiting = service.queue.enqueue(packet, gone, headers);
        let mut ready = service.ready;
        if ready == Time::NEVER {
            let from = now.max(service.queue.release());
            ready = match &mut self.schedule {
                Some(schedule) => schedule.start(from, self.free),
                None => self.free.max(from),
            };
        }
        service.set_ready(ready, waiting);
        self.note_gone(now, &gone[before..], waiting);
    }

    /// Takes the next packet for the transmitter at `now`, which is [`Link::next_service`]. Packets dropped instead are
    /// added to `gone`. Returns the packet with its time of arrival at this link, perhaps marked, and its time of
    /// arrival at the far end.
    #[inline(always)]
    pub fn send_next(
        &mut self,
        now: Time,
        gone: &mut Vec<Packet>,
        headers: &mut impl PacketHeaders,
    ) -> Option<(Packet, Time)> {
        self.sample_before(now);
        let service = self.service.as_mut()?;
        let before = gone.len();
        let (next, waiting) = service.queue.dequeue(now, gone, headers);
        let release = service.queue.release();
        service.set_ready(service.ready.max(release), waiting);
        self.note_gone(now, &gone[before..], waiting);
        let packet = next?;
        let bytes = packet.bytes();
        if self.schedule.is_some() && self.gives_up(bytes) {
            // The transmission time of this packet is added to that of the next packet. The next packet may be sent at
            // once.
            if let Some(probe) = &mut self.probe {
                probe.waits += u128::from((now - packet.at).0);
            }
            gone.push(packet);
            return None;
        }
        self.free = now + self.transmission(bytes);
        let mut ready = self.free.max(release);
        if let Some(schedule) = &mut self.schedule {
            self.free = schedule.send(now, bytes);
            ready = schedule.next_start(self.free.max(release), self.free, waiting);
        }
        self.totals.accepted += 1;
        self.totals.accepted_bytes += bytes;
        self.totals.marked += u64::from(packet.is_marked());
        if let Some(service) = &mut self.service {
            service.set_ready(ready, waiting);
        }
        if let Some(probe) = &mut self.probe {
            probe.waits += u128::from((now - packet.at).0);
            probe.in_service_bytes = bytes;
        }
        if self.on_wire.is_some() && self.loses_departure(self.free, bytes) {
            gone.push(packet);
            return None;
        }
        Some((packet, self.free + self.delay))
    }

    /// Records that the queue dropped the packets in `gone` and now has `waiting` packets.
    #[inline(always)]
    fn note_gone(&mut self, now: Time, gone: &[Packet], waiting: u64) {
        if !gone.is_empty() {
            self.count_gone(now, gone);
        }
        if let Some(probe) = &mut self.probe {
            probe.min = probe.min.min(waiting);
            probe.max = probe.max.max(waiting);
        }
    }

    #[cold]
    fn count_gone(&mut self, now: Time, gone: &[Packet]) {
        self.totals.dropped += gone.len() as u64;
        self.totals.dropped_bytes += gone.iter().map(Packet::bytes).sum::<u64>();
        if let Some(probe) = &mut self.probe {
            probe.waits += gone.iter().map(|packet| u128::from((now - packet.at).0)).sum::<u128>();
        }
    }
}
