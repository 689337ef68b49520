//! A sender that is led through a capture.

use std::sync::Arc;

use elephan_cc::draws::Draws;
use elephan_cc::{Algorithm, Controller};

use super::script::{Acked, Departed, Event, Followed, Script};
use super::within::Within;
use crate::endpoint::boundary::{End, Outlet};
use crate::endpoint::linux::tlp::Probe;
use crate::endpoint::sender::Sender;
use crate::packet::{FlowId, Packet, flag};
use crate::sidecar::{SackEntry, Sidecar};
use crate::spec::{FlowSpec, Handshake, Spec, StackSpec};
use crate::time::Time;

/// Takes the packets that the sender would send, of which none leaves.
#[derive(Clone, Default)]
pub(super) struct Nowhere {
    beside: Sidecar,
}

impl Outlet for Nowhere {
    fn address(&self) -> (FlowId, End) {
        (FlowId(0), End::Sender)
    }

    fn send(&mut self, _: Packet) {}

    fn beside(&mut self) -> &mut Sidecar {
        &mut self.beside
    }

    fn has_room_for(&mut self, _: u32) -> bool {
        true
    }
}

/// Error at which a transmission counts half in the comparison of senders.
const HALF: Time = Time(Time::MILLISECOND.0 / 5);

/// A sender that follows a capture.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) sender: Sender,
    pub(super) out: Nowhere,
    /// Segment after the last one that the receive window allows.
    pub(super) receivable: u32,
    /// The receive window of the last ACK.
    pub(super) window: u32,
    /// Segment after the last one that the algorithm allows.
    pub(super) allowed: u32,
    pub(super) followed: Followed,
    /// Number of the first segment in `followed`.
    pub(super) first: u32,
    /// Number of segments of the capture.
    pub(super) segments: u32,
    /// Agreement with the capture in this stretch.
    pub(super) score: f64,
    /// State of a replay whose transmissions are known within bounds only.
    pub(super) within: Option<Within>,
}

impl Follower {
    pub(super) fn new(script: &Script, algorithm: Controller) -> Self {
        let mut flow = FlowSpec::bulk("captured", "reno", script.start, &[0], &[1]);
        flow.stack =
            Arc::new(StackSpec { handshake: false, quick_acks: 0, receive_window: None, ..script.stack.clone() });
        let spec = Spec::dumbbell(1_000_000_000, script.handshake, 1, Time::SECOND, &[]);
        flow.send_buffer_bytes = spec.send_buffer_bytes(&flow);
        let mut sender = Sender::new(FlowId(0), &spec, &flow, script.start, algorithm, &Arc::from([]));
        let handshake = Some(Handshake { rtt: script.handshake, receivers_rtt: script.handshake });
        sender.note_handshake(handshake, handshake);
        let mut this = Self {
            sender,
            out: Nowhere::default(),
            receivable: u32::MAX,
            window: u32::MAX,
            allowed: 0,
            followed: Followed::default(),
            first: 0,
            segments: script.segments,
            score: 0.0,
            within: script.departures.clone().map(|departures| Within::new(departures, script.handshake)),
        };
        this.sender.begin_led(script.start, &mut this.out);
        this.note(script.start);
        if this.within.is_some() {
            this.release(script.start);
            this.sender.buffer.lay_out(this.sender.next);
        }
        this
    }

    /// Gives the algorithm random numbers that no other sender has.
    pub(super) fn draw_anew(&mut self, seed: &mut u64) {
        *seed += 1;
        if let Some(draws) = self.sender.algorithm.draws() {
            *draws = Draws::new(*seed);
        }
    }

    /// Takes the next event.
    pub(super) fn advance(&mut self, event: &Event) {
        if self.within.is_some() {
            self.run_until(event.at());
        }
        self.run_timer(event.at());
        match event {
            Event::Acked(ack) => self.take(ack),
            Event::Departed(sent) => self.send(*sent),
        }
        self.note(event.at());
        if self.within.is_some() {
            self.release(event.at());
        }
    }

    /// Lets everything leave that the capture still has.
    pub(super) fn finish(&mut self) {
        if self.within.is_some() {
            self.run_until(Time::NEVER);
        }
    }

    /// Returns what the algorithm allows.
    pub(super) fn into_followed(self) -> Followed {
        self.followed.complete(self.segments)
    }

    /// Takes what has been recorded of the segments that were sent.
    pub(super) fn take_followed(&mut self) -> Followed {
        let sent = (self.sender.next - self.first) as usize;
        self.followed.allowed.resize(sent.max(self.followed.allowed.len()), Time::NEVER);
        // A piece keeps the memory of its own segments alone, and not that of all that are allowed already.
        let own = self.followed.allowed.drain(..sent).collect();
        let later = std::mem::take(&mut self.followed.allowed);
        self.first = self.sender.next;
        let followed = std::mem::replace(&mut self.followed, Followed { allowed: later, ..Followed::default() });
        Followed { allowed: own, ..followed }
    }

    /// Lets the timer of the reordering window expire, if that is due by `now`.
    pub(super) fn run_timer(&mut self, now: Time) {
        let due = self.sender.timers.reordering_due();
        if due <= now && self.sender.timers.takes_reordering(due) {
            self.give_up_waiting(due.max(self.sender.now));
        }
    }

    pub(super) fn give_up_waiting(&mut self, now: Time) {
        self.sender.now = now;
        self.sender.give_up_waiting(now, &mut self.out);
        self.note(now);
    }

    /// Takes an ACK.
    pub(super) fn take(&mut self, ack: &Acked) {
        let next = self.sender.next;
        if ack.cumulative > next {
            // The capture lacks a transmission.
            self.send_new(Departed { at: ack.at, first: next, past: ack.cumulative });
        }
        self.sender.settle_new_data();
        let next = self.sender.next;
        self.receivable = ack.cumulative.saturating_add(ack.window);
        self.sender.announced.tell_larger(ack.window > self.window);
        self.window = ack.window;
        let (stamp, owd, is_of_resent) = self.stamp(ack);
        let mut flags = flag::ACK;
        flags |= if is_of_resent { flag::RETRANSMIT } else { 0 } | if ack.echoes { flag::ECE } else { 0 };
        let mut extra = owd;
        if ack.count > 0 || ack.repeated.0 < ack.repeated.1 {
            flags |= flag::BESIDE;
            let blocks = ack.blocks.map(|(first, past)| (first, past.min(next)));
            extra = self.out.beside.sacks.put(SackEntry {
                blocks,
                count: ack.count,
                owd,
                trigger: ack.trigger.min(next.saturating_sub(1)),
                repeated: ack.repeated,
                ..SackEntry::default()
            });
        }
        let packet = Packet::new(ack.at, stamp.min(ack.at), FlowId(0), ack.cumulative, 52, flags, extra);
        self.sender.on_ack(&packet, &mut self.out);
    }

    /// Takes a transmission.
    pub(super) fn send(&mut self, sent: Departed) {
        self.sender.now = sent.at;
        let next = self.sender.next;
        if sent.first < next {
            self.send_again(Departed { past: sent.past.min(next), ..sent });
        }
        if sent.past > next {
            self.send_new(Departed { first: next, ..sent });
        }
    }

    pub(super) fn send_new(&mut self, sent: Departed) {
        // Segments that left together waited for the last of them, and for the pacing of the burst before.
        let is_paced = self.sender.pace.is_active() && self.sender.socket_rate(sent.first).is_some();
        let paced = if is_paced { self.sender.pace.next() } else { Time::ZERO };
        if sent.first >= self.allowed && self.is_probe(&sent) {
            // A tail loss probe leaves although the window does not allow it.
            self.allow(sent.at, sent.past);
            self.sender.timers.on_probe(sent.past, Probe::New);
        }
        let of = |segment: u32| segment.saturating_sub(self.first) as usize;
        if let Some(together) = self.followed.allowed.get_mut(of(sent.first)..of(sent.past.min(self.allowed))) {
            let released = together.iter().copied().fold(Time::ZERO, Time::max);
            let latest = released.max(paced);
            together.fill(latest);
            if is_paced && released <= paced {
                // The sender waited for its pacing alone, so it was not late, whatever the algorithm's rate would be.
                self.sender.pace.allow_at(sent.at);
            }
            let (count, error) = (together.len(), latest.0.abs_diff(sent.at.0));
            self.agree(count, error);
        }
        let receivable = self.receivable.saturating_sub(sent.past);
        self.sender.send_led(sent.past - sent.first, receivable, sent.at, &mut self.out);
        if let Some(within) = &mut self.within {
            within.note_left(self.sender.next, self.sender.board.una(), sent.at);
        }
    }

    pub(super) fn send_again(&mut self, sent: Departed) {
        let una = self.sender.board.una();
        for segment in sent.first.max(una)..sent.past {
            if self.sender.board.is_sacked(segment) {
                continue;
            }
            if !self.sender.board.is_unrepaired(segment) && self.sender.timers.awaits_reordered() {
                self.sender.timers.stop_reordering();
                self.give_up_waiting(sent.at);
            }
            let is_overtaken = segment < self.sender.board.forward_ack() && !self.sender.board.is_resent(segment);
            if !self.sender.board.is_unrepaired(segment) && is_overtaken {
                self.sender.lose_led(segment, sent.at, &mut self.out);
            }
            if self.sender.board.is_unrepaired(segment) {
                self.sender.resend_led(segment, sent.at, &mut self.out);
            } else if segment + 1 == self.sender.next && self.sender.timers.probe.is_acknowledged() {
                self.sender.probe_led(segment, sent.at, &mut self.out);
            } else if segment == self.sender.board.una() && self.may_time_out(segment, sent.at) {
                self.sender.on_timeout(sent.at, &mut self.out);
                if self.sender.board.is_unrepaired(segment) {
                    self.sender.resend_led(segment, sent.at, &mut self.out);
                }
            } else {
                self.sender.probe_led(segment, sent.at, &mut self.out);
            }
        }
        self.sender.note_led_burst(sent.past - sent.first, sent.at);
    }

    /// Records the segments that the algorithm allows at `now`.
    pub(super) fn note(&mut self, now: Time) {
        let sender = &self.sender;
        let (window, in_flight) = (sender.allowance(), sender.board.in_flight(sender.next));
        // Lost segments come before new ones. Segments that have left although the window did not allow them are allowed
        // once it does.
        let taken = in_flight + sender.board.unrepaired();
        let past = (sender.next + window).saturating_sub(taken).min(self.receivable.max(sender.next));
        self.allowed = self.allowed.min(past.max(sender.next));
        self.allow(now, past);
        self.followed.at.push(now);
        self.followed.window.push(window);
        self.followed.in_flight.push(in_flight);
    }

    /// True if a segment that is repeated at `now` without a sign of its loss may have timed out.
    fn may_time_out(&self, segment: u32, now: Time) -> bool {
        let silent = self.sender.rack.sent(segment).map_or(Time::NEVER, |sent| now.since(sent));
        self.within.is_none() || silent.0 > self.sender.rtt.timeout().0 / 2
    }

    /// Counts segments that leave with an error of this many ps.
    pub(super) fn agree(&mut self, segments: usize, error_ps: u64) {
        self.score += segments as f64 / (1.0 + error_ps as f64 / HALF.0 as f64);
    }

    /// True if these new segments are a tail loss probe: one segment after a silence of a round trip.
    fn is_probe(&self, sent: &Departed) -> bool {
        let silent_since = self.sender.pace.last();
        sent.past - sent.first == 1 && sent.at.since(silent_since) > self.sender.rtt.smoothed()
    }

    /// Records that the segments below `past` are allowed from `now` on.
    pub(super) fn allow(&mut self, now: Time, past: u32) {
        let last = past.min(self.segments);
        for segment in self.allowed.max(self.first)..last {
            let place = (segment - self.first) as usize;
            if place >= self.followed.allowed.len() {
                self.followed.allowed.resize(place + 1, Time::NEVER);
            }
            self.followed.allowed[place] = now;
        }
        self.allowed = self.allowed.max(last);
    }
}
