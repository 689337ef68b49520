//! Transmission of segments.

use elephan_cc::linux::{self, Restart};
use elephan_cc::{Algorithm, Event, Router, Sent};

use super::core::Sender;
use super::pace::Limit;
use crate::application::SMALL_BURST;
use crate::endpoint::boundary::Outlet;
use crate::packet::{BYTES_PER_PACKET, Packet, flag};
use crate::prefetch;
use crate::ring::MOST_INHERITED;
use crate::sidecar::Header;
use crate::time::Time;

/// Memory of the record of an outstanding segment, bytes, in rings that have just doubled: its send time, its marks and the
/// ends of runs; and with the state of a delivery-rate sample.
const RECORD_BYTES: u64 = 26;
const SAMPLED_RECORD_BYTES: u64 = 140;

impl Sender {
    /// Size of the sender's packets, bytes.
    #[must_use]
    pub fn packet_bytes(&self) -> u16 {
        self.bytes
    }

    /// Takes over the memory of a sender that has ended, so that thousands of short transfers need not allocate it.
    pub fn inherit(&mut self, old: &mut Self) {
        self.board.inherit(&mut old.board);
        if self.rack.sent_at.capacity() == 0 && old.rack.sent_at.capacity() <= MOST_INHERITED {
            // The contents of the ring are never read before they are written.
            self.rack.sent_at = std::mem::take(&mut old.rack.sent_at);
        }
    }

    /// Prefetches one half of the sender's struct; `part` is 0 or 1.
    #[inline(always)]
    pub fn fetch_part(&self, part: usize) {
        prefetch::part(self, part * size_of::<Self>() / 2, size_of::<Self>() / 2);
    }

    /// Prefetches the data behind the sender's pointers, for the sender's next turn.
    #[inline(always)]
    pub fn fetch_behind(&self) {
        for segment in [self.board.una(), self.next] {
            let (times, place) = self.rack.sent_at.place(segment.into());
            prefetch::element(times, place);
        }
    }

    #[inline]
    pub(super) fn allowance(&self) -> u32 {
        match self.repair.episode() {
            Some(episode) if !self.needs.own_recovery => episode.allowance(),
            Some(_) => (self.algorithm.window() as u32).max(1),
            None => (self.stats.cwnd as u32).max(1),
        }
    }

    /// Sends the segments that the window allows: lost segments first, then new data.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn transmit(&mut self, now: Time, out: &mut impl Outlet) {
        if self.pace.is_active() {
            self.transmit_paced(now, out);
        } else if self.bursts.active {
            self.transmit_in_bursts(None, now, out);
        } else {
            self.transmit_unpaced(now, out);
        }
    }

    /// Sends the segments that the window allows, without pacing.
    #[inline(always)]
    pub(super) fn transmit_unpaced(&mut self, now: Time, out: &mut impl Outlet) {
        if self.is_plain_sailing() {
            let in_flight = self.next - self.board.una();
            self.transmit_plainly(self.window_room(in_flight), in_flight, now, out);
        } else {
            self.transmit_with_care(now, out);
        }
    }

    /// New segments that the window of a sender that repairs nothing allows beside `in_flight` segments.
    #[inline(always)]
    pub(super) fn window_room(&self, in_flight: u32) -> u32 {
        (self.stats.cwnd as u32).max(1).saturating_sub(in_flight).min(self.max_burst)
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

    /// Limit of a sender whose window would allow more segments: the receiver or the application. Only the application's
    /// limit excludes delivery rates, unless the algorithm asks for both: with data left, the sender is not
    /// application-limited (draft-cheng-iccrg-delivery-rate-estimation-02, 3.4).
    pub(super) fn other_limit(&mut self, now: Time) -> Limit {
        let has_data = self.next < self.end && now < self.stop;
        if !has_data || self.needs.receiver_limits {
            if let Some(sampler) = &mut self.sampler {
                sampler.on_application_limited(self.board.in_flight(self.next));
            }
        }
        if has_data { Limit::Receiver } else { Limit::Application }
    }

    #[inline]
    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.window_use.stopped(limit == Limit::Window);
        self.stats.note_send(limit == Limit::Receiver);
    }

    /// Slow path: sends the segments that the window allows while some segments may have to be repaired or counted.
    /// Returns the number of segments sent.
    #[inline(never)]
    pub(super) fn transmit_with_care(&mut self, now: Time, out: &mut impl Outlet) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        self.transmit_room(room, in_flight, now, out)
    }

    /// Sends at most `room` segments while `in_flight` segments are in flight. Returns the number of segments sent.
    #[inline(always)]
    pub(super) fn transmit_room(&mut self, room: u32, in_flight: u32, now: Time, out: &mut impl Outlet) -> u32 {
        if self.is_plain_sailing() {
            return self.transmit_plainly(room, in_flight, now, out);
        }
        let held_back = self.board.sacked() > 0 && !self.stack.limited_transmit && self.repair.is_open();
        let mut sent = 0;
        if !held_back && room > 0 {
            if self.board.has_unrepaired() && !self.repair.sends_new {
                sent = self.repair(room, false, now, out);
            }
            if sent < room && !self.repair.by_timer {
                sent += self.send_new(room - sent, now, out);
            }
        }
        let limit =
            if sent == room || held_back || self.repair.by_timer { Limit::Window } else { self.other_limit(now) };
        self.set_limit(limit);
        self.window_use.note_in_flight(in_flight + sent);
        if let Some(episode) = self.repair.episode_mut() {
            episode.on_sent(sent);
        }
        sent
    }

    /// Retransmits up to `room` lost segments. Returns the number of retransmissions. With `one_buffer`, all of them are
    /// adjacent and were sent last in the same burst, as the data of one buffer in Linux.
    #[inline(never)]
    pub(super) fn repair(&mut self, room: u32, one_buffer: bool, now: Time, out: &mut impl Outlet) -> u32 {
        let mut sent = 0;
        let mut last = None;
        while sent < room {
            let Some(segment) = self.board.next_to_repair() else { break };
            if one_buffer {
                let sent_at = self.rack.sent_at.get(segment.into());
                let continues = |last| last == (segment.wrapping_sub(1), sent_at) && !self.repair.is_joint(segment);
                if last.is_some_and(|last| !continues(last)) {
                    break;
                }
                last = Some((segment, sent_at));
            }
            self.note_restart(now);
            self.board.retransmitted(segment, self.next, now);
            self.reports.on_resent();
            self.stats.totals.retransmits += 1;
            self.emit(segment, self.marks.on_retransmission(), now, out);
            sent += 1;
            if self.rules.timer_restart && segment == self.board.una() && self.rack.reorder_due == Time::NEVER {
                // Linux also restarts the timer here (`tcp_xmit_retransmit_queue`); otherwise the ACK may arrive after
                // the timeout.
                self.arm(now);
                self.timeout.by_sending = true;
            }
        }
        sent
    }

    /// One past the last of up to `room` new segments that the receiver and the application allow.
    #[inline(always)]
    pub(super) fn past_new(&self, room: u32) -> u32 {
        self.next.saturating_add(room).min(self.end).min(self.board.una() + self.receive_window)
    }

    /// True if the memory has room for the new segments below `past`, which leave at once. Otherwise the run ends.
    #[inline(always)]
    pub(super) fn has_memory_for(&self, past: u32, out: &mut impl Outlet) -> bool {
        past <= self.next.saturating_add(SMALL_BURST) || out.has_room_for(self.packets_of_memory(past))
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
    pub(super) fn send_new(&mut self, room: u32, now: Time, out: &mut impl Outlet) -> u32 {
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
            self.timeout.by_sending = true;
        }
        if self.timeout.probe_at.is_some() {
            self.drop_probe(now);
        }
        (self.timeout.probe_from, self.timeout.has_sent) = (now, true);
        if self.rack.reorder_due < Time::NEVER && (self.repair.is_reduction() || self.is_plain_sailing()) {
            // The timer of the probe replaces that of the reordering window (`tcp_schedule_loss_probe`).
            self.rack.reorder_due = Time::NEVER;
        }
        self.note_restart(now);
        let first = self.next;
        if self.stack.time_one_segment && self.timed.is_none() {
            self.timed = Some((first, now));
        }
        self.board.reserve(past);
        let mut flags = self.marks.on_first();
        if self.bursts.pushes {
            self.emit_pushing(past, flags, now, out);
            return past - first;
        }
        while self.next < past {
            let segment = self.next;
            self.next += 1;
            self.emit(segment, flags, now, out);
            flags = self.marks.on_data();
        }
        past - first
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

    /// Tells the algorithm that a segment leaves while no segment is in flight, if the algorithm asks for it.
    #[inline(always)]
    fn note_restart(&mut self, now: Time) {
        if self.needs.restarts && self.rules.idle_restart && self.board.in_flight(self.next) == 0 {
            let application_limited = self.sampler.as_ref().is_some_and(|sampler| sampler.is_application_limited());
            let (now_s, idle) = (self.host_seconds(now), self.idle_jiffies(now).seconds());
            let restart = Restart { next: self.next, now: now_s, idle, application_limited };
            self.algorithm.on_event(&Event::Linux(linux::Event::Restart(restart)));
        }
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, segment: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        let header = if self.remembers { self.remember(segment, flags, now, out) } else { 0 };
        // Only a sender without congestion headers echoes timestamps.
        let extra = header | self.timestamps.latest();
        self.stats.totals.sent += 1;
        let mut at = now;
        if self.departures.is_jittered() {
            at = self.departures.next(now);
            if self.log.is_some() {
                self.log_sent(segment, flags, at, now);
            }
        }
        out.send(Packet::new(at, now, self.flow, segment, self.bytes_of(segment), flags, extra));
    }

    /// Size of a segment on the wire, bytes.
    #[inline(always)]
    pub(super) fn bytes_of(&self, segment: u32) -> u16 {
        self.bytes - self.announced.missing_in(segment) as u16
    }

    /// Records the state of a segment that RACK and some algorithms need. Returns the number of the segment's
    /// congestion header.
    #[inline]
    pub(super) fn remember(&mut self, segment: u32, flags: u8, now: Time, out: &mut impl Outlet) -> u32 {
        let windows = self.needs.window_at_send;
        let una = u64::from(self.board.una());
        if self.rack.keeps_times {
            self.rack.sent_at.set(una, segment.into(), now);
        }
        if windows {
            self.sent_window.set(una, segment.into(), self.stats.cwnd as f32);
        }
        if self.watches {
            let in_flight = self.board.in_flight(self.next);
            if let Some(sampler) = &mut self.sampler {
                sampler.on_sent(segment.into(), una, in_flight, now.later(self.stack.phase).0);
            }
            if self.needs.sends {
                let retransmission = flags & flag::RETRANSMIT != 0;
                let in_flight = f64::from(in_flight);
                let now = self.host_seconds(now);
                self.algorithm.on_event(&Event::Sent(Sent { now, in_flight, retransmission }));
            }
            if self.log.is_some() && !self.departures.is_jittered() {
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
}
