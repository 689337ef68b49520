//! The receiving end. The receiver measures arrivals, sends an ACK every SYN interval, and reports missing packets.

use std::collections::VecDeque;
use std::sync::Arc;

use elephan_cc::udt::{Arrivals, Estimates, UdtParams};

use super::kinds::{ACK2, LIGHT_ACK, WORD_BYTES};
use super::losses::{Missing, words_for};
use super::messages::Message;
use super::sender::UdtSender;
use crate::endpoint::boundary::{Endpoint, EndpointState, Outlet, PacketCounts};
use crate::packet::{FlowId, Packet, flag};
use crate::record::{Clock, ReceiverRecord, ReceiverSample, RttHistogram, SenderRecord};
use crate::spec::udt::{ACK_BYTES, HEADER_BYTES, LIGHT_ACK_BYTES};
use crate::spec::{FlowSpec, Measure, Spec};
use crate::time::Time;

/// Number of ACKs kept until their ACK2s arrive, as in the library.
const ACK_HISTORY: usize = 1024;

/// The receiving end of a UDT flow.
#[derive(Debug)]
pub struct UdtReceiver {
    flow: FlowId,
    p: UdtParams,
    /// One past the highest packet that has arrived.
    next: u32,
    missing: Missing,
    /// Measurements of arrivals; `None` before the first packet.
    arrivals: Option<Arrivals>,
    path: Estimates,
    /// Packets received and light ACKs sent since the last ACK.
    packets: u32,
    light_acks: u32,
    /// Packet number and time of the last ACK, and the highest number that an ACK2 has answered.
    acked: u32,
    acked_at: Time,
    known: u32,
    /// Number of the next ACK, and the ACKs that wait for their ACK2, with their packet numbers and send times.
    ack_number: u32,
    acks: VecDeque<(u32, Time)>,
    ack_due: Time,
    nak_due: Time,
    syn: Time,
    /// Capacity of a NAK, words.
    nak_words: u32,
    timer: Time,
    now: Time,
    clock: Clock,
    totals: ReceiverSample,
    duplicates: u64,
    sent: u64,
    ack2s: u64,
    samples: Vec<ReceiverSample>,
    latest_rtt: f64,
    /// RTT at each sample time.
    rtts: Vec<f64>,
    measure: Measure,
    measuring: bool,
    rtt_min: f64,
    rtt_sum: f64,
    rtt_count: u64,
    rtt: RttHistogram,
}

impl UdtReceiver {
    /// Receiver of flow number `flow` of a spec.
    #[must_use]
    pub fn new(flow: FlowId, spec: &Spec, this: &FlowSpec, p: UdtParams, sample_times: &Arc<[Time]>) -> Self {
        let clock = Clock::new(sample_times);
        Self {
            flow,
            next: 0,
            missing: Missing::default(),
            arrivals: None,
            path: Estimates::new(p.syn, 0.0, 0.0),
            packets: 0,
            light_acks: 1,
            acked: 0,
            acked_at: Time::ZERO,
            known: 0,
            ack_number: 0,
            acks: VecDeque::new(),
            ack_due: Time::NEVER,
            nak_due: Time::NEVER,
            syn: Time::from_seconds(p.syn),
            nak_words: (this.stack.payload_bytes / WORD_BYTES).max(2),
            timer: clock.due(),
            now: Time::ZERO,
            clock,
            totals: ReceiverSample::default(),
            duplicates: 0,
            sent: 0,
            ack2s: 0,
            samples: Vec::new(),
            latest_rtt: f64::NAN,
            rtts: Vec::new(),
            measure: spec.measure,
            measuring: false,
            rtt_min: f64::INFINITY,
            rtt_sum: 0.0,
            rtt_count: 0,
            rtt: RttHistogram::default(),
            p,
        }
    }

    /// Returns the records that the run keeps of the two ends.
    #[must_use]
    pub fn into_records(self, sender: UdtSender) -> (SenderRecord, ReceiverRecord) {
        let mut sent = sender.into_record();
        for (sample, &rtt) in sent.samples.iter_mut().zip(&self.rtts) {
            sample.rtt = rtt;
        }
        let measured = &mut sent.measured;
        (measured.rtt_min, measured.rtt_sum, measured.rtt_count) = (self.rtt_min, self.rtt_sum, self.rtt_count);
        measured.rtt = self.rtt;
        let Self { totals, duplicates, sent: acks_sent, samples, .. } = self;
        (sent, ReceiverRecord { totals, duplicates, acks_sent, samples, ..ReceiverRecord::default() })
    }

    fn on_timer_due(&mut self, out: &mut impl Outlet) {
        let now = self.timer;
        self.sample_until(now);
        if self.ack_due <= now {
            self.ack_due = now + self.syn;
            (self.packets, self.light_acks) = (0, 1);
            self.acknowledge(now, out);
        }
        if self.nak_due <= now {
            self.report_again(now, out);
        }
        self.set_timer();
    }

    fn set_timer(&mut self) {
        self.timer = self.clock.due().min(self.ack_due).min(self.nak_due);
    }

    fn sample_until(&mut self, now: Time) {
        while self.clock.due() <= now {
            let at = self.clock.due();
            if at.0 == self.measure.from_ps {
                self.measuring = true;
            }
            if at.0 == self.measure.to_ps {
                self.measuring = false;
            }
            self.samples.push(self.totals);
            self.rtts.push(self.latest_rtt);
            self.clock.advance();
        }
    }

    fn on_data_or_ack2(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let now = packet.at;
        assert!(now >= self.now, "a receiver's clock went back");
        self.now = now;
        self.totals.wire_bytes += packet.bytes();
        if packet.extra() == ACK2 {
            self.on_ack2(packet.segment(), now);
        } else {
            self.on_data(packet.segment(), now, out);
        }
    }

    /// Handles an ACK2, which gives an RTT sample. An ACK2 of an older ACK, or of an ACK already acknowledged, gives no
    /// RTT sample.
    fn on_ack2(&mut self, number: u32, now: Time) {
        self.ack2s += 1;
        let oldest = self.ack_number - self.acks.len() as u32;
        let Some(place) = number.checked_sub(oldest) else { return };
        let Some(&(next, at)) = self.acks.get(place as usize) else { return };
        self.acks.drain(..=place as usize);
        self.known = self.known.max(next);
        let rtt = now - at;
        self.latest_rtt = rtt.seconds();
        self.path.note_rtt(self.latest_rtt);
        if self.measuring {
            self.rtt_min = self.rtt_min.min(self.latest_rtt);
            self.rtt_sum += self.latest_rtt;
            self.rtt_count += 1;
            self.rtt.add(rtt);
        }
    }

    fn on_data(&mut self, packet: u32, now: Time, out: &mut impl Outlet) {
        let p = &self.p;
        let arrivals = self.arrivals.get_or_insert_with(|| {
            // The library initializes both its histories and its estimates.
            Arrivals::new(now.seconds(), p.pairs as usize, p.mean_of_pairs, p.initial_capacity > 0.0)
        });
        arrivals.on_packet(now.seconds(), packet);
        if self.ack_due == Time::NEVER {
            self.ack_due = now + self.syn;
            self.set_timer();
        }
        self.packets += 1;
        if packet < self.next {
            let fresh = self.missing.remove(packet);
            self.totals.delivered += u64::from(fresh);
            self.duplicates += u64::from(!fresh);
        } else {
            self.totals.delivered += 1;
            let first = std::mem::replace(&mut self.next, packet + 1);
            if packet > first {
                self.report(first, packet, now, out);
            }
        }
        if f64::from(self.packets) >= self.p.light_ack * f64::from(self.light_acks) {
            self.light_acks += 1;
            let next = self.acknowledged();
            if next != self.known {
                self.send(Packet::new(now, now, self.flow, next, LIGHT_ACK_BYTES as u16, flag::ACK, LIGHT_ACK), out);
            }
        }
    }

    /// Packet below which all packets have arrived.
    fn acknowledged(&self) -> u32 {
        self.missing.first().unwrap_or(self.next)
    }

    fn acknowledge(&mut self, now: Time, out: &mut impl Outlet) {
        let next = self.acknowledged();
        let Estimates { rtt, rtt_var, .. } = self.path;
        let again = Time::from_seconds(self.p.ack_again_s(rtt, rtt_var));
        if next == self.known || (next == self.acked && now.since(self.acked_at) < again) {
            return;
        }
        let Some(arrivals) = &mut self.arrivals else { return };
        let (arrival_rate, capacity) = (arrivals.rate(), arrivals.capacity());
        let number = self.ack_number;
        self.ack_number += 1;
        (self.acked, self.acked_at) = (next, now);
        if self.acks.len() == ACK_HISTORY {
            self.acks.pop_front();
        }
        self.acks.push_back((next, now));
        self.send_message(next, ACK_BYTES, &Message::Ack { number, rtt, arrival_rate, capacity }, now, out);
    }

    /// Reports `[first, past)`, which is missing, to the sender at once.
    fn report(&mut self, first: u32, past: u32, now: Time, out: &mut impl Outlet) {
        self.missing.insert(first, past, now);
        if self.p.repeat_naks && self.nak_due == Time::NEVER {
            self.nak_due = now + self.until_next_look();
            self.set_timer();
        }
        let bytes = HEADER_BYTES + WORD_BYTES * words_for(first, past);
        self.send_message(first, bytes, &Message::Gaps(vec![(first, past)]), now, out);
    }

    fn until_next_look(&self) -> Time {
        Time::from_seconds(self.p.repeat_s(self.path.rtt, self.path.rtt_var))
    }

    fn report_again(&mut self, now: Time, out: &mut impl Outlet) {
        self.nak_due = if self.missing.is_empty() { Time::NEVER } else { now + self.until_next_look() };
        let gaps = self.missing.report_again(now, self.path.rtt, self.nak_words);
        let Some(&(first, _)) = gaps.first() else { return };
        let words: u32 = gaps.iter().map(|&(first, past)| words_for(first, past)).sum();
        self.send_message(first, HEADER_BYTES + WORD_BYTES * words, &Message::Gaps(gaps), now, out);
    }

    /// Sends an ACK or a NAK of `bytes` on the wire.
    fn send_message(&mut self, segment: u32, bytes: u32, message: &Message, now: Time, out: &mut impl Outlet) {
        let id = out.beside().put_payload(message.to_bytes());
        let flags = flag::ACK | flag::BESIDE;
        self.send(Packet::new(now, now, self.flow, segment, bytes as u16, flags, id), out);
    }

    fn send(&mut self, packet: Packet, out: &mut impl Outlet) {
        self.sent += 1;
        out.send(packet);
    }
}

impl UdtReceiver {
    /// Recorded samples.
    #[must_use]
    pub fn samples(&self) -> &[ReceiverSample] {
        &self.samples
    }

    /// Drops the `count` oldest samples.
    pub fn forget(&mut self, count: usize) {
        self.samples.drain(..count);
        self.rtts.drain(..count);
    }
}

impl EndpointState for UdtReceiver {
    fn timer(&self) -> Time {
        self.timer
    }

    fn packets(&self) -> PacketCounts {
        PacketCounts { sent: self.sent, received: self.totals.delivered + self.duplicates + self.ack2s }
    }

    fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }
}

impl<O: Outlet> Endpoint<O> for UdtReceiver {
    fn on_timer(&mut self, out: &mut O) {
        self.on_timer_due(out);
    }

    fn on_packet(&mut self, packet: &Packet, out: &mut O) {
        self.on_data_or_ack2(packet, out);
    }
}
