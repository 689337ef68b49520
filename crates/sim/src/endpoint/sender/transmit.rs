//! How a sender puts segments on the wire.

use elephan_cc::{Algorithm, Router, Sent};

use super::{Limit, Sender, State};
use crate::endpoint::Header;
use crate::network::Network;
use crate::packet::{Packet, flag};
use crate::ring::MOST_INHERITED;
use crate::spec::Detection;
use crate::time::Time;

/// Larger bursts have to fit into the run's memory before their first segment leaves.
pub(super) const SMALL_BURST: u32 = 4096;

impl Sender {
    /// Takes over the memory of a sender that has ended, so that thousands of short transfers need not ask for it.
    pub fn inherit(&mut self, old: &mut Self) {
        self.board.inherit(&mut old.board);
        if self.sent_at.capacity() == 0 && old.sent_at.capacity() <= MOST_INHERITED {
            // What stands in it is never read before it is written.
            self.sent_at = std::mem::take(&mut old.sent_at);
        }
    }

    /// Reads a word here and there, and does nothing with it: what the next turn needs then comes into the cache while others
    /// have theirs, and not piece by piece.
    #[inline(always)]
    pub fn touch(&self) {
        std::hint::black_box((
            (self.egress.is_some(), self.completed, self.board.una(), self.sent_at.get(0), self.measured.rtt_count),
            (self.stack.initial_window, self.state, self.rto.srtt, self.cwnd, self.rack_stamp),
            (self.totals.acks, self.next),
        ));
    }

    #[inline]
    pub(super) fn allowance(&self) -> u32 {
        match &self.state {
            State::Recovery(episode) if !self.needs.own_recovery => episode.allowance(),
            State::Recovery(_) => (self.algorithm.window() as u32).max(1),
            State::Open | State::Loss => (self.cwnd as u32).max(1),
        }
    }

    /// Sends what the window allows: first what is lost, then new data.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, network: &mut Network) {
        if self.pace.is_active() {
            self.transmit_paced(now, network);
            return;
        }
        if self.is_plain_sailing() {
            // The common case: nothing to repair and nothing to count.
            let in_flight = self.next - self.board.una();
            let room = (self.cwnd as u32).max(1).saturating_sub(in_flight).min(self.max_burst);
            let sent = if room > 0 { self.send_new(room, now, network) } else { 0 };
            let limit = if sent == room { Limit::Window } else { self.other_limit(now) };
            self.set_limit(limit);
            self.window_use.note_in_flight(in_flight + sent);
            return;
        }
        self.transmit_with_care(now, u32::MAX, network);
    }

    /// What stops a sender that its window does not.
    pub(super) fn other_limit(&mut self, now: Time) -> Limit {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_application_limited(self.board.in_flight(self.next));
        }
        if self.next < self.end && now < self.stop { Limit::Receiver } else { Limit::Application }
    }

    #[inline]
    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.window_use.stopped(limit == Limit::Window);
        self.measured.sends += 1;
        self.measured.receiver_limited += u64::from(limit == Limit::Receiver);
    }

    /// Sends at most `most` segments; answers how many there were.
    #[inline(never)]
    pub(super) fn transmit_with_care(&mut self, now: Time, most: u32, network: &mut Network) -> u32 {
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst).min(most);
        let held_back = !self.stack.limited_transmit && self.board.sacked() > 0 && matches!(self.state, State::Open);
        let mut sent = 0;
        if !held_back && room > 0 {
            if self.board.lost() > 0 {
                sent = self.repair(room, now, network);
            }
            if sent < room {
                sent += self.send_new(room - sent, now, network);
            }
        }
        let limit = if sent == room || held_back { Limit::Window } else { self.other_limit(now) };
        self.set_limit(limit);
        self.window_use.note_in_flight(in_flight + sent);
        if let State::Recovery(episode) = &mut self.state {
            episode.on_sent(sent);
        }
        sent
    }

    /// Retransmits up to `room` lost segments; answers how many there were.
    #[inline(never)]
    pub(super) fn repair(&mut self, room: u32, now: Time, network: &mut Network) -> u32 {
        let mut sent = 0;
        while sent < room
            && let Some(segment) = self.board.next_to_repair()
        {
            self.board.retransmitted(segment, self.next, now);
            self.totals.retransmits += 1;
            self.emit(segment, self.marks.on_retransmission(), now, network);
            sent += 1;
        }
        sent
    }

    /// Sends up to `room` new segments, as the receiver and the application allow; answers how many.
    #[inline(always)]
    pub(super) fn send_new(&mut self, room: u32, now: Time, network: &mut Network) -> u32 {
        let una = self.board.una();
        if now >= self.stop {
            return 0;
        }
        let past = self.next.saturating_add(room).min(self.end).min(una + self.receive_window);
        if past <= self.next {
            return 0;
        }
        if past - self.next > SMALL_BURST && !network.has_room_for(past - self.next) {
            return 0;
        }
        if una == self.next {
            self.arm(now);
        }
        self.probe_from = now;
        let first = self.next;
        if self.stack.time_one_segment && self.timed.is_none() {
            self.timed = Some((first, now));
        }
        self.board.reserve(past);
        let mut flags = self.marks.on_first();
        while self.next < past {
            let segment = self.next;
            self.next += 1;
            self.emit(segment, flags, now, network);
            flags = self.marks.on_data();
        }
        past - first
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, segment: u32, flags: u8, now: Time, network: &mut Network) {
        let extra = if self.remembers { self.remember(segment, flags, now, network) } else { 0 };
        self.totals.sent += 1;
        let mut at = now;
        if self.jitter > 0 {
            at = (now + Time(self.jitter_stream.below(self.jitter))).max(self.last_departure);
            self.last_departure = at;
            if self.log.is_some() {
                self.log_sent(segment, flags, at, now);
            }
        }
        let packet = Packet::new(at, now, self.flow, segment, self.bytes, flags, extra);
        if let Some(egress) = &mut self.egress {
            egress.send(at, packet, network);
        } else {
            network.send(packet);
        }
    }

    /// Keeps what RACK and some algorithms need to know of a segment; the answer is the number of its congestion header.
    #[inline]
    pub(super) fn remember(&mut self, segment: u32, flags: u8, now: Time, network: &mut Network) -> u32 {
        let times = self.stack.detection == Detection::Rack;
        let windows = self.needs.window_at_send;
        let una = u64::from(self.board.una());
        if times {
            self.sent_at.set(una, segment.into(), now);
        }
        if windows {
            self.sent_window.set(una, segment.into(), self.cwnd as f32);
        }
        if self.watches {
            let in_flight = self.board.in_flight(self.next);
            if let Some(sampler) = &mut self.sampler {
                sampler.on_sent(segment.into(), una, in_flight, now.0);
            }
            if self.needs.sends {
                let retransmission = flags & flag::RETRANSMIT != 0;
                let in_flight = f64::from(in_flight);
                self.algorithm.on_sent(&Sent { now: now.seconds(), in_flight, retransmission });
            }
            if self.log.is_some() && self.jitter == 0 {
                self.log_sent(segment, flags, now, now);
            }
            if self.needs.router == Some(Router::Xcp) {
                return self.head(network);
            }
        }
        0
    }

    /// The congestion header of a segment that leaves now.
    fn head(&mut self, network: &mut Network) -> u32 {
        let limited = self.window_use.was_held_back();
        let Some(asked) = self.algorithm.router_assisted().map(|assisted| assisted.request(limited)) else { return 0 };
        let (spacing, feedback) = (asked.rtt / asked.window, asked.increase * f64::from(self.bytes));
        let header = Header { rtt: asked.rtt, spacing, feedback };
        network.sacks[self.flow as usize].headers().map_or(0, |headers| headers.put(header))
    }
}
