//! The receiving end: it counts and measures, acknowledges every SYN, and reports what is missing.

use std::collections::VecDeque;
use std::sync::Arc;

use elephan_cc::udt::{Arrivals, Estimates, UdtParams};

use super::kinds::{ACK2, LIGHT_ACK, WORD_BYTES};
use super::losses::{Missing, words_for};
use super::mail::{Mail, Message};
use crate::endpoint::{Receiver, Sender};
use crate::network::{End, Network};
use crate::packet::{Packet, flag};
use crate::record::{Clock, ReceiverSample, RttHistogram};
use crate::spec::udt::{ACK_BYTES, HEADER_BYTES, LIGHT_ACK_BYTES};
use crate::spec::{FlowSpec, Measure, Spec};
use crate::time::Time;

/// ACKs that an ACK2 may yet come for; the library remembers as many.
const ACK_HISTORY: usize = 1024;

#[derive(Debug)]
pub(super) struct UdtReceiver {
    flow: u32,
    p: UdtParams,
    /// One past the highest packet that has come.
    next: u32,
    missing: Missing,
    /// Nothing before the first packet.
    arrivals: Option<Arrivals>,
    path: Estimates,
    /// Packets since the last ACK, and light ACKs sent in between.
    packets: u32,
    light_acks: u32,
    /// What the last ACK said, and when; and the highest that an ACK2 has answered.
    acked: u32,
    acked_at: Time,
    known: u32,
    /// Number of the next ACK; those before it that an ACK2 may come for, with what they said, and when.
    ack_number: u32,
    acks: VecDeque<(u32, Time)>,
    ack_due: Time,
    nak_due: Time,
    syn: Time,
    /// Words that a NAK has room for.
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
    /// One for each sample time.
    rtts: Vec<f64>,
    measure: Measure,
    measuring: bool,
    rtt_min: f64,
    rtt_sum: f64,
    rtt_count: u64,
    rtt: RttHistogram,
}

impl UdtReceiver {
    pub(super) fn new(flow: u32, spec: &Spec, this: &FlowSpec, p: UdtParams, sample_times: &Arc<[Time]>) -> Self {
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

    pub(super) fn run(&mut self, horizon: Time, mail: &mut Mail, network: &mut Network) -> bool {
        let mut worked = false;
        let inbox = network.inbox(self.flow, End::Receiver);
        loop {
            let arrival = network.head(inbox);
            if self.timer <= arrival {
                if self.timer >= horizon {
                    return worked;
                }
                self.on_timer(mail, network);
            } else {
                if arrival >= horizon {
                    return worked;
                }
                let Some(packet) = network.take(inbox) else { return worked };
                self.on_packet(&packet, mail, network);
            }
            worked = true;
        }
    }

    pub(super) fn timer(&self) -> Time {
        self.timer
    }

    pub(super) fn ack2s(&self) -> u64 {
        self.ack2s
    }

    pub(super) fn finish(&mut self, end: Time) {
        self.sample_until(end);
    }

    /// Fills in the flow's row, the samples of RTT included, which a TCP flow's sender has.
    pub(super) fn write_into(&mut self, row: &mut Receiver, sender: &mut Sender) {
        row.totals = self.totals;
        row.duplicates = self.duplicates;
        row.acks_sent = self.sent;
        row.samples = std::mem::take(&mut self.samples);
        for (sample, &rtt) in sender.samples.iter_mut().zip(&self.rtts) {
            sample.rtt = rtt;
        }
        let measured = &mut sender.measured;
        (measured.rtt_min, measured.rtt_sum, measured.rtt_count) = (self.rtt_min, self.rtt_sum, self.rtt_count);
        measured.rtt = std::mem::take(&mut self.rtt);
    }

    fn on_timer(&mut self, mail: &mut Mail, network: &mut Network) {
        let now = self.timer;
        self.sample_until(now);
        if self.ack_due <= now {
            self.ack_due = now + self.syn;
            (self.packets, self.light_acks) = (0, 1);
            self.acknowledge(now, mail, network);
        }
        if self.nak_due <= now {
            self.report_again(now, mail, network);
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

    fn on_packet(&mut self, packet: &Packet, mail: &mut Mail, network: &mut Network) {
        let now = packet.at;
        assert!(now >= self.now, "a receiver's clock went back");
        self.now = now;
        self.totals.wire_bytes += packet.bytes();
        if packet.extra() == ACK2 {
            self.on_ack2(packet.segment(), now);
        } else {
            self.on_data(packet.segment(), now, mail, network);
        }
    }

    /// The answer to an ACK: a sample of the RTT. Answers to older ones, or to one that was answered, tell nothing.
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

    fn on_data(&mut self, packet: u32, now: Time, mail: &mut Mail, network: &mut Network) {
        let p = &self.p;
        let arrivals = self.arrivals.get_or_insert_with(|| {
            // The library has its histories filled from the beginning, as it has its estimates.
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
                self.report(first, packet, now, mail, network);
            }
        }
        if f64::from(self.packets) >= self.p.light_ack * f64::from(self.light_acks) {
            self.light_acks += 1;
            let next = self.acknowledged();
            if next != self.known {
                self.send(next, LIGHT_ACK_BYTES, LIGHT_ACK, now, network);
            }
        }
    }

    /// Everything below has come.
    fn acknowledged(&self) -> u32 {
        self.missing.first().unwrap_or(self.next)
    }

    fn acknowledge(&mut self, now: Time, mail: &mut Mail, network: &mut Network) {
        let next = self.acknowledged();
        let Estimates { rtt, rtt_var, .. } = self.path;
        let again = Time::from_seconds(self.p.ack_again_s(rtt, rtt_var));
        if next == self.known || (next == self.acked && now.since(self.acked_at) < again) {
            return;
        }
        let Some(arrivals) = &mut self.arrivals else { return };
        let (arrival_rate, capacity) = (arrivals.rate(), arrivals.capacity());
        let number = self.ack_number;
        let id = mail.put(Message::Ack { number, rtt, arrival_rate, capacity });
        self.ack_number += 1;
        (self.acked, self.acked_at) = (next, now);
        if self.acks.len() == ACK_HISTORY {
            self.acks.pop_front();
        }
        self.acks.push_back((next, now));
        self.send(next, ACK_BYTES, id, now, network);
    }

    /// `[first, past)` is missing: the sender hears of it at once.
    fn report(&mut self, first: u32, past: u32, now: Time, mail: &mut Mail, network: &mut Network) {
        self.missing.insert(first, past, now);
        if self.p.repeat_naks && self.nak_due == Time::NEVER {
            self.nak_due = now + self.until_next_look();
            self.set_timer();
        }
        let id = mail.put(Message::Gap { first, past });
        self.send(first, HEADER_BYTES + WORD_BYTES * words_for(first, past), id, now, network);
    }

    fn until_next_look(&self) -> Time {
        Time::from_seconds(self.p.repeat_s(self.path.rtt, self.path.rtt_var))
    }

    fn report_again(&mut self, now: Time, mail: &mut Mail, network: &mut Network) {
        self.nak_due = if self.missing.is_empty() { Time::NEVER } else { now + self.until_next_look() };
        let gaps = self.missing.report_again(now, self.path.rtt, self.nak_words);
        let Some(&(first, _)) = gaps.first() else { return };
        let words: u32 = gaps.iter().map(|&(first, past)| words_for(first, past)).sum();
        let id = mail.put(Message::Gaps(gaps.into_boxed_slice()));
        self.send(first, HEADER_BYTES + WORD_BYTES * words, id, now, network);
    }

    fn send(&mut self, segment: u32, bytes: u32, extra: u32, now: Time, network: &mut Network) {
        self.sent += 1;
        network.send(Packet::new(now, now, self.flow, segment, bytes as u16, flag::ACK, extra));
    }
}
