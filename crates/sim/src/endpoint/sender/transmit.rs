//! Transmission of segments.

use elephan_cc::{Algorithm, Event, Router, Sent};

use super::core::Sender;
use crate::application::SMALL_BURST;
use crate::endpoint::boundary::Outlet;
use crate::packet::{BYTES_PER_PACKET, Packet, flag};
use crate::sidecar::Header;
use crate::spec::HostRule;
use crate::time::Time;

/// Memory of the record of an outstanding segment, bytes, in rings that have just doubled: its send time, its marks and the
/// ends of runs; and with the state of a delivery-rate sample.
const RECORD_BYTES: u64 = 26;
const SAMPLED_RECORD_BYTES: u64 = 140;

/// Segments after which a sender of small bursts asks for memory.
const ASKED_EVERY: u32 = 4096;

impl Sender {
    #[inline]
    pub(in crate::endpoint) fn allowance(&self) -> u32 {
        match self.repair.episode() {
            Some(episode) if !self.needs.own_recovery => episode.allowance(),
            Some(_) => (self.algorithm.window() as u32).max(1),
            None => (self.stats.cwnd as u32).max(1),
        }
    }

    /// Sends the segments that the window allows, after an event that may have changed it: lost segments first, then new
    /// data.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(in crate::endpoint) fn transmit(&mut self, now: Time, out: &mut impl Outlet) {
        if self.trains.are_led {
            self.look_at_limits();
        } else if self.trains.are_allowed() {
            self.transmit_in_trains(now, out);
        } else {
            self.transmit_singly(now, out);
        }
    }

    /// [`Sender::transmit`] of a sender whose segments leave one by one or in bursts.
    #[inline(always)]
    pub(super) fn transmit_singly(&mut self, now: Time, out: &mut impl Outlet) {
        if self.pace.is_active() {
            self.transmit_paced(now, out);
        } else if self.buffer.is_offloaded() {
            self.transmit_in_bursts(None, now, out);
        } else {
            self.transmit_unpaced(now, out);
        }
    }

    /// Sends the segments that the window allows, without pacing.
    #[inline(always)]
    fn transmit_unpaced(&mut self, now: Time, out: &mut impl Outlet) {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        self.transmit_room(room, in_flight, now, out);
    }

    /// Sends the segments that the window and the pacing rate allow, after an event that may have changed either.
    #[inline(never)]
    fn transmit_paced(&mut self, now: Time, out: &mut impl Outlet) {
        self.pace.stop();
        match self.socket_rate(self.next) {
            Some(rate) => {
                self.pace.limit(rate, self.allowance());
                self.release(now, out);
            }
            None => self.transmit_unpaced(now, out),
        }
    }

    /// Sends the segments that are due by the pacing timer. The limits may have changed since the last event in two
    /// cases: the algorithm handles each sent segment, or the sender sends bursts, whose rate depends on the data in
    /// flight.
    #[inline(never)]
    pub(super) fn transmit_due(&mut self, now: Time, out: &mut impl Outlet) {
        if self.needs.sends || self.buffer.is_offloaded() {
            return self.transmit_paced(now, out);
        }
        self.pace.stop();
        self.release(now, out);
    }

    /// Sends the segments or the bursts that the last limits allow.
    #[inline(always)]
    fn release(&mut self, now: Time, out: &mut impl Outlet) {
        loop {
            let in_flight = self.board.in_flight(self.next);
            let room = self.pace.allowance().saturating_sub(in_flight);
            let has_trains = self.trains.are_allowed();
            let due = if has_trains { self.due_with_others(room, now) } else { self.pace.next() };
            if room > 0 && now < due && (self.next < self.end || self.board.lost() > 0) {
                // The window and the application would allow more segments, so pacing is the limit.
                self.timers.wake_paced(self.pace.wait_until(due));
                return self.set_limit(Limit::Window);
            }
            if has_trains && self.transmit_bursts_together((room, in_flight), now, out) > 0 {
                continue;
            }
            let is_offloaded = self.buffer.is_offloaded();
            let sent = if is_offloaded {
                self.transmit_in_bursts(Some(1), now, out)
            } else {
                self.transmit_room(room.min(1), in_flight, now, out)
            };
            if sent == 0 {
                return;
            }
            if is_offloaded {
                self.note_burst(sent, now);
            } else {
                self.pace.on_segment(now);
            }
            if self.needs.sends {
                self.pace.allow(self.allowance());
            }
        }
    }

    /// Records a burst of `segments` that leaves at `now`. With pacing, the next burst leaves later, and so do the timers
    /// that the burst has started.
    pub(in crate::endpoint) fn note_burst(&mut self, segments: u32, now: Time) {
        if self.pace.on_burst(now, segments, self.stats.totals.sent) {
            self.timers.on_burst(now, self.pace.delay(now));
        }
    }

    /// Sends at most `room` segments while `in_flight` segments are in flight. Returns the number of segments sent.
    #[inline(always)]
    fn transmit_room(&mut self, room: u32, in_flight: u32, now: Time, out: &mut impl Outlet) -> u32 {
        if self.is_plain_sailing() {
            self.transmit_plainly(room, in_flight, now, out)
        } else {
            self.transmit_with_care(room, in_flight, now, out)
        }
    }

    /// Fast path of [`Sender::transmit_room`]: no segment must be repaired or counted.
    #[inline(always)]
    pub(super) fn transmit_plainly(&mut self, room: u32, in_flight: u32, now: Time, out: &mut impl Outlet) -> u32 {
        let sent = if room > 0 { self.send_new(room, now, out) } else { 0 };
        let limit = if sent == room { Limit::Window } else { self.other_limit(now) };
        self.set_limit(limit);
        self.window_use.note_in_flight(in_flight + sent);
        sent
    }

    /// Slow path of [`Sender::transmit_room`]: some segments may have to be repaired or counted.
    #[inline(never)]
    fn transmit_with_care(&mut self, room: u32, in_flight: u32, now: Time, out: &mut impl Outlet) -> u32 {
        let mut sent = 0;
        let held_back = self.holds_back();
        if !held_back && room > 0 {
            if self.board.has_unrepaired() && !self.repair.sends_new() {
                sent = self.repair(room, Batch::Any, now, out);
            }
            if sent < room && !self.by_timer {
                sent += self.send_new(room - sent, now, out);
            }
        }
        let by_window = sent == room || held_back || self.by_timer;
        let limit = if by_window { Limit::Window } else { self.other_limit(now) };
        self.set_limit(limit);
        self.window_use.note_in_flight(in_flight + sent);
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_sent(sent);
        }
        sent
    }

    /// True if the first duplicate ACKs release no segments (RFC 3042 lets them).
    pub(in crate::endpoint) fn holds_back(&self) -> bool {
        self.board.sacked() > 0 && !self.stack.limited_transmit && self.repair.is_open()
    }

    /// Limit of a sender whose window would allow more segments: the receiver or the application. Only the application's
    /// limit excludes delivery rates, unless the algorithm asks for both: with data left, the sender is not
    /// application-limited (draft-cheng-iccrg-delivery-rate-estimation-02, 3.4). Linux looks only when the application
    /// writes ([`Sender::note_write`]).
    pub(in crate::endpoint) fn other_limit(&mut self, now: Time) -> Limit {
        let has_data = self.next < self.end && now < self.stop;
        if (!has_data && !self.rules.linux) || self.needs.receiver_limits {
            if let Some(sampler) = &mut self.sampler {
                sampler.on_application_limited(self.board.in_flight(self.next));
            }
        }
        if has_data { Limit::Receiver } else { Limit::Application }
    }

    #[inline]
    fn set_limit(&mut self, limit: Limit) {
        self.window_use.stopped(limit == Limit::Window);
        self.stats.note_send();
        if limit == Limit::Receiver {
            self.stats.note_receiver_limited();
        }
    }

    /// Retransmits up to `room` lost segments. Returns the number of retransmissions.
    #[inline(never)]
    pub(in crate::endpoint) fn repair(&mut self, room: u32, batch: Batch, now: Time, out: &mut impl Outlet) -> u32 {
        let mut sent = 0;
        let mut last = None;
        while sent < room {
            let Some(segment) = self.board.next_to_repair() else { break };
            if batch == Batch::OneBuffer {
                let sent_at = self.rack.sent(segment);
                let continues = |last| last == (segment.wrapping_sub(1), sent_at) && !self.buffer.is_joint(segment);
                if last.is_some_and(|last| !continues(last)) {
                    break;
                }
                last = Some((segment, sent_at));
            }
            self.note_restart(now);
            self.board.retransmitted(segment, self.next, now);
            self.reports.on_resent();
            self.stats.totals.retransmits += 1;
            self.emit_again(segment, now, out);
            sent += 1;
            if self.rules.has(HostRule::TimerRestart) && segment == self.board.una() && !self.timers.awaits_reordered()
            {
                // Linux also restarts the timer here (`tcp_xmit_retransmit_queue`); otherwise the ACK may arrive after
                // the timeout.
                self.arm(now);
                self.timers.on_armed_by_sending();
            }
        }
        sent
    }

    /// One past the last of up to `room` new segments that the receiver and the application allow.
    pub(in crate::endpoint) fn past_new(&self, room: u32) -> u32 {
        self.next.saturating_add(room).min(self.end).min(self.board.una() + self.announced.window())
    }

    /// True if the memory has room for the new segments below `past`, which leave at once. Otherwise the run ends. Small
    /// bursts ask seldom, but they ask: at a high pacing rate, single segments fill the memory within a time slice.
    pub(in crate::endpoint) fn has_memory_for(&self, past: u32, out: &mut impl Outlet) -> bool {
        let is_small = past <= self.next.saturating_add(SMALL_BURST) && past / ASKED_EVERY == self.next / ASKED_EVERY;
        is_small || out.has_room_for(self.packets_of_memory(past))
    }

    /// Memory for the new segments below `past`, as a number of packets in flight: the packets, and the records of all
    /// outstanding segments, since most of their packets may be lost.
    #[cold]
    fn packets_of_memory(&self, past: u32) -> u32 {
        let record = if self.sampler.is_some() { SAMPLED_RECORD_BYTES } else { RECORD_BYTES };
        let records = u64::from(past - self.board.una()) * record / BYTES_PER_PACKET;
        (past - self.next).saturating_add(records as u32)
    }

    /// Sends up to `room` new segments, as far as the receiver and the application allow. Returns the number of
    /// segments sent.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(in crate::endpoint) fn send_new(&mut self, room: u32, now: Time, out: &mut impl Outlet) -> u32 {
        let una = self.board.una();
        if now >= self.stop {
            return 0;
        }
        let past = self.past_new(room);
        if past <= self.next || !self.has_memory_for(past, out) {
            return 0;
        }
        if una == self.next {
            self.arm(now);
            self.timers.on_armed_by_sending();
        }
        if self.timers.probe.kept().is_some() {
            let (timers, outstanding) = self.timers();
            timers.drop_probe(now, outstanding);
        }
        self.timers.probe.on_new_data(now);
        if self.timers.awaits_reordered() && (self.repair.is_cwr() || self.is_plain_sailing()) {
            // The timer of the probe replaces that of the reordering window (`tcp_schedule_loss_probe`).
            self.timers.stop_reordering();
        }
        self.note_restart(now);
        let first = self.next;
        self.rtt.on_sent(first, now);
        self.board.reserve(past);
        self.rack.on_sent(una, (first, past), now);
        let mut flags = self.marks.on_first();
        if self.trains.are_allowed() {
            self.emit_trains(past, flags, now, out);
            return past - first;
        }
        if self.buffer.pushes() {
            self.emit_pushing(past, flags, now, out);
        } else if !self.remembers {
            self.emit_alike(past, flags, now, out);
        }
        while self.next < past {
            let segment = self.next;
            self.next += 1;
            self.emit(segment, flags, now, out);
            flags = self.marks.on_data();
        }
        past - first
    }

    /// Sends the next segments before `past`, the first one with `flags`, if nothing depends on each of them.
    #[inline(always)]
    fn emit_alike(&mut self, past: u32, mut flags: u8, now: Time, out: &mut impl Outlet) {
        let (first, extra, others) = (self.next, self.timestamps.latest(), self.marks.on_data());
        self.next = past;
        self.stats.totals.sent += u64::from(past - first);
        for segment in first..past {
            out.send(Packet::new(now, now, self.flow, segment, self.bytes_of(segment), flags, extra));
            flags = others;
        }
    }

    /// Sends the next segments before `past`, the first one with `flags`. Linux pushes each packet of several segments
    /// (`__tcp_transmit_skb`), and the end of each write (`tcp_push`). The loop is not that of other senders, whose
    /// segments need no comparison with the pushed one.
    #[inline(never)]
    fn emit_pushing(&mut self, past: u32, mut flags: u8, now: Time, out: &mut impl Outlet) {
        let pushed = if past - self.next > 1 || past == self.end { past - 1 } else { u32::MAX };
        while self.next < past {
            let segment = self.next;
            self.next += 1;
            if segment == pushed {
                flags |= flag::PUSH;
            }
            self.emit(segment, flags, now, out);
            flags = self.marks.on_data();
        }
    }

    /// Retransmits a segment.
    pub(super) fn emit_again(&mut self, segment: u32, now: Time, out: &mut impl Outlet) {
        self.rack.on_sent(self.board.una(), (segment, segment + 1), now);
        self.emit(segment, self.marks.on_retransmission(), now, out);
    }

    #[inline(always)]
    fn emit(&mut self, segment: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        let header = if self.remembers { self.remember(segment, flags, now, out) } else { 0 };
        // Only a sender without congestion headers echoes timestamps.
        let extra = header | self.timestamps.latest();
        self.stats.totals.sent += 1;
        let mut at = now;
        if self.departures.is_jittered() {
            at = self.departures.next(now);
            self.log_sent(segment, flags, at, now);
        }
        out.send(Packet::new(at, now, self.flow, segment, self.bytes_of(segment), flags, extra));
    }

    /// Size of a segment on the wire, bytes.
    pub(super) fn bytes_of(&self, segment: u32) -> u16 {
        self.bytes - self.announced.missing_in(segment) as u16
    }

    /// Records the state of a segment that some algorithms need. Returns the number of the segment's
    /// congestion header.
    #[inline]
    pub(super) fn remember(&mut self, segment: u32, flags: u8, now: Time, out: &mut impl Outlet) -> u32 {
        let windows = self.needs.window_at_send;
        let una = u64::from(self.board.una());
        if windows {
            self.sent_window.set(una, segment.into(), self.stats.cwnd as f32);
        }
        if self.watches {
            let in_flight = self.board.in_flight(self.next);
            if let Some(sampler) = &mut self.sampler {
                sampler.on_sent(segment.into(), una, in_flight, self.clock.clock(now).0);
            }
            if self.needs.sends {
                let retransmission = flags & flag::RETRANSMIT != 0;
                let in_flight = f64::from(in_flight);
                let now = self.host_seconds(now);
                self.algorithm.on_event(&Event::Sent(Sent { now, in_flight, retransmission }));
            }
            if !self.departures.is_jittered() {
                self.log_sent(segment, flags, now, now);
            }
            if self.needs.router == Some(Router::Xcp) {
                return self.head(out);
            }
        }
        0
    }

    /// The congestion header of a segment that leaves now.
    fn head(&mut self, out: &mut impl Outlet) -> u32 {
        let limited = self.window_use.was_held_back();
        let asked = self.algorithm.request(limited);
        let (spacing, feedback) = (asked.rtt / asked.window, asked.increase * f64::from(self.bytes));
        let header = Header { rtt: asked.rtt, spacing, feedback };
        out.beside().headers().map_or(0, |headers| headers.put(header))
    }

    /// Logs a segment that leaves at `at`, with the timestamp `now`, if there is a log.
    #[inline(always)]
    fn log_sent(&mut self, segment: u32, flags: u8, at: Time, now: Time) {
        if self.log.is_some() {
            let packet = Packet::new(at, now, self.flow, segment, self.bytes_of(segment), flags, 0);
            let state = self.state_of_log();
            self.log.iter_mut().for_each(|log| log.on_sent(&packet, state));
        }
    }
}

/// Segments that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    Any,
    /// Segments that are adjacent and were sent last in the same burst, as the data of one buffer in Linux.
    OneBuffer,
}

/// Reason for the end of a send loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Window,
    Receiver,
    Application,
}

#[cfg(test)]
mod tests {
    use super::Limit;
    use crate::endpoint::bench::{Bench, us};

    #[test]
    fn the_timer_of_the_reordering_window_sends_no_new_data() {
        let mut bench = Bench::start_reno(10, 10_000);
        bench.sender.stats.cwnd = 20.0;
        bench.sender.by_timer = true;
        bench.sender.transmit(us(10_100), &mut bench.wire);
        assert_eq!(bench.wire.sent.len(), 10);
        bench.sender.by_timer = false;
        bench.sender.transmit(us(10_100), &mut bench.wire);
        assert!(bench.wire.sent.len() > 10);
    }

    #[test]
    fn only_a_write_shows_linux_that_the_application_limits_a_sender() {
        for (limit, writes) in [(Limit::Receiver, false), (Limit::Application, false), (Limit::Application, true)] {
            let mut bench = Bench::start_bbr(10, 10_000);
            let sent = bench.sender.next;
            bench.sender.end = sent;
            bench.acknowledge(2, 10_000);
            bench.sender.end = if limit == Limit::Receiver { sent + 5 } else { sent };
            assert_eq!(bench.sender.other_limit(us(10_000)), limit);
            if writes {
                bench.sender.note_write();
            }
            bench.sender.end = sent + 5;
            assert_eq!(bench.sender.send_new(1, us(10_000), &mut bench.wire), 1);
            bench.acknowledge(sent + 1, 20_000);
            let sample = bench.sender.sampler.as_ref().and_then(|sampler| sampler.sample()).expect("one is delivered");
            assert_eq!(sample.app_limited, writes, "{limit:?}");
        }
    }
}
