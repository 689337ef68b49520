//! Transmission in trains.

use elephan_cc::linux::Sample;
use elephan_cc::{Ack, Algorithm};

use super::core::Sender;
use super::trains::Trains;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::linux::timestamps::TimestampEcho;
use crate::packet::{HAS_TRAINS, LEAST_IN_TRAIN, Packet, flag};
use crate::spec::Spec;
use crate::time::Time;

/// Smallest number of trains in a window. With 64 (and 25 for a queue) runs of 10 to 200 flows take 0.6 times as long, and
/// the mean queue of 100 flows is 6 % too long: 107,900 ± 2,000 packets, beside 103,100 ± 2,300 with 256 and 101,900 ± 2,100
/// in single segments (16 seeds).
const TRAINS_PER_WINDOW: f64 = 256.0;

/// The same for trains of more than this number of segments: longer ones gain little, and with 1024 two CUBIC flows on 40
/// Gbit/s x 100 ms lose in another order (4 % of one's goodput).
const TRAINS_PER_LARGE_WINDOW: f64 = 2048.0;
const LONG_TRAIN: f64 = 128.0;

/// Smallest number of a burst's parts in a window, if these are to be trains.
const BURSTS_PER_WINDOW: f64 = 128.0;

/// Smallest number of trains in the window of a sender that paces, which are bursts or several of them. With 75 of them the
/// mean queue of BBR on 1 Gbit/s x 40 ms is 13 % shorter than in single segments, with 380 on 10 Gbit/s x 10 ms 2.3 % longer,
/// and with 950 on 10 Gbit/s x 25 ms 0.8 % longer (30, 16 and 12 seeds).
const PACED_TRAINS_PER_WINDOW: f64 = 800.0;

/// Smallest number of bursts in a window while a queue is nearly full: of a flow that meets no other there, whose losses are
/// those of single segments then, and of others. A sender that paces learns of all the losses of a burst at once, and with
/// 17,000 of them BBRv3 has 9 loss events in place of 13 (60 Gbit/s x 155 ms, 0.25 BDP).
const BURSTS_ALONE: f64 = 800.0;
const BURSTS_NEAR_LOSS: f64 = 32_768.0;

/// Length of a train that may have up to this number of segments: 1 if a longer one costs more than its segments do.
fn worthwhile(most: u32) -> u32 {
    if most < LEAST_IN_TRAIN { 1 } else { most }
}

impl Sender {
    /// Lets segments leave in trains, as far as the path and the algorithm allow. Returns true if they may.
    pub(crate) fn allow_trains(&mut self, spec: &Spec) -> bool {
        self.trains.allow(spec.allowed_trains(&spec.flows[self.flow.index()], self.needs));
        if self.trains.are_allowed() {
            // The ACKs of a train do not tell its delay.
            self.timestamps = TimestampEcho::default();
        }
        self.trains.are_allowed()
    }

    /// Lets single segments leave from now on.
    pub(crate) fn forbid_trains(&mut self) {
        self.trains = Trains::default();
    }

    /// Congestion window, segments.
    pub(crate) fn window(&self) -> f64 {
        self.stats.cwnd
    }

    /// True if the window is large enough for trains.
    #[inline(always)]
    pub(super) fn forms_trains(&self) -> bool {
        self.trains.are_allowed() && self.share_of_window() >= f64::from(LEAST_IN_TRAIN)
    }

    /// True if the next segments may leave in a train.
    pub(crate) fn sends_trains(&self) -> bool {
        self.trains.are_allowed() && (self.forms_trains() || self.part_of_burst(self.burst()) > 1)
    }

    /// Handles an ACK that stands for several.
    #[inline(never)]
    pub(super) fn on_train(&mut self, train: &Packet, out: &mut impl Outlet) {
        let mut others = train.count() - 1;
        let last = train.last_of_train();
        if !self.pace.is_active() {
            self.trains.wait_from(train.at.since(train.span()));
        } else if last.flags() & flag::BESIDE == 0 {
            others -= self.take_by_bursts(&last, others, out);
        }
        if last.flags() & flag::BESIDE != 0 && self.trains.has_waiting() {
            self.end_wait_of_train(last.at, out);
        }
        let shorter = self.shorter_rtt(train, &last);
        // A burst that is complete before the last ACK of a train leaves with it, half a burst late on average.
        let are_bursts = self.train_length() <= self.burst();
        let mean = if are_bursts { Time::ZERO } else { Time(shorter.0 / 2) };
        (self.trains.acks, self.trains.shorter_rtt) = (others + 1, shorter.seconds());
        self.on_ack(&last, out);
        self.trains.acks = 1;
        self.stats.totals.acks += u64::from(others);
        self.stats.repeat_rtt(self.rtt.latest().map(|rtt| rtt.since(mean)), others);
    }

    /// Time by which the RTT of a train's first segment is shorter than that of the last: it left with the first burst, and the
    /// others evenly until the last, so they left in less time than their ACKs take.
    fn shorter_rtt(&self, train: &Packet, last: &Packet) -> Time {
        let segments = last.segment().saturating_sub(self.board.una()).max(1);
        let burst = self.burst().min(segments);
        Time(train.span().0 / u64::from(segments) * u64::from(burst))
    }

    /// Handles up to `most` of the ACKs before the `last` one of a train, each that completes the room for a burst, as if they
    /// came alone: a sender that paces fills its window with whole bursts, and algorithms ask whether it is full. Returns their
    /// number.
    fn take_by_bursts(&mut self, last: &Packet, most: u32, out: &mut impl Outlet) -> u32 {
        for taken in 0..most {
            let una = self.board.una();
            let room = self.allowance().saturating_sub(self.board.in_flight(self.next));
            let missing = self.burst().saturating_sub(room);
            if missing == 0 || una.saturating_add(missing) >= last.segment() {
                return taken;
            }
            self.on_ack(&last.acknowledging(una + missing), out);
        }
        most
    }

    /// True if the ACK at hand stands for several, and the algorithm needs each of them.
    #[inline(always)]
    pub(super) fn stands_for_several(&self) -> bool {
        HAS_TRAINS && self.trains.acks > 1 && self.needs.every_ack
    }

    /// Hands an ACK that stands for several to an algorithm that needs each of them. Returns the window after the last.
    #[inline(never)]
    pub(super) fn react_to_each(&mut self, all: &Ack, acks: u32) -> f64 {
        let share = |place| (all.acked * f64::from(place) / f64::from(acks)).floor();
        let mut window = self.stats.cwnd;
        for place in 1..=acks {
            let (acked, behind) = (share(place) - share(place - 1), all.acked - share(place));
            let sample = all.sample.map(|sample| Sample { acked, una: sample.una - behind as u32, window, ..sample });
            let shorter = self.trains.shorter_rtt * f64::from(acks - place) / f64::from(acks);
            let one = Ack {
                acked,
                sample,
                rtt: all.rtt.map(|rtt| (rtt - shorter).max(all.min_rtt)),
                in_flight: all.in_flight + behind,
                round_start: all.round_start && place == 1,
                ..*all
            };
            window = self.algorithm.react(one, |_| ());
        }
        window
    }

    /// [`Sender::transmit`] of a sender whose segments may leave in trains.
    #[inline(never)]
    pub(super) fn transmit_in_trains(&mut self, now: Time, out: &mut impl Outlet) {
        if self.pace.is_active() {
            return self.transmit_singly(now, out);
        }
        let length = self.train_length();
        if length <= self.burst() || !self.is_plain_sailing() {
            self.trains.end_wait(now);
            return self.transmit_singly(now, out);
        }
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        if room < length && in_flight >= length && self.next.saturating_add(room) < self.end {
            return self.trains.wait_from(now);
        }
        self.transmit_together(room, in_flight, now, out);
    }

    /// Sends the segments that wait for a train, in whole bursts, before an ACK that may show a loss: alone they would have left
    /// by now, and those that leave in a recovery are lost behind its end, so that a second reduction follows.
    #[cold]
    #[inline(never)]
    pub(super) fn end_wait_of_train(&mut self, now: Time, out: &mut impl Outlet) {
        if !self.is_plain_sailing() || self.pace.is_active() {
            return;
        }
        let in_flight = self.board.in_flight(self.next);
        let room = self.allowance().saturating_sub(in_flight).min(self.max_burst);
        self.transmit_together(room - room % self.burst().max(1), in_flight, now, out);
    }

    /// Sends `room` segments as trains, the last of them now.
    fn transmit_together(&mut self, room: u32, in_flight: u32, now: Time, out: &mut impl Outlet) {
        let (una, new) = (self.board.una(), self.next);
        self.transmit_plainly(room, in_flight, now, out);
        if self.validates_window() {
            self.window_use.validate(self.next - new >= room, una, self.next);
        }
    }

    /// Number of segments from which a train leaves.
    fn train_length(&self) -> u32 {
        worthwhile(self.trains.longest_wait().min(self.share_of_window() as u32))
    }

    /// Share of the window that may leave in a train, segments. None in slow start, whose losses depend on single segments:
    /// a window that overshoots to twice what the path holds has exactly that after its reduction.
    fn share_of_window(&self) -> f64 {
        let cwnd = self.stats.cwnd;
        if cwnd < self.algorithm.ssthresh() {
            return 0.0;
        }
        let most = (cwnd / TRAINS_PER_LARGE_WINDOW).max(LONG_TRAIN);
        let usual = self.trains.share * (cwnd / TRAINS_PER_WINDOW).min(most);
        if self.trains.nears_loss(self.latest_rtt()) { usual.min(self.trains.most_near_loss()) } else { usual }
    }

    /// RTT of the latest ACK, s.
    pub(super) fn latest_rtt(&self) -> f64 {
        self.rtt.latest().map_or(0.0, Time::seconds)
    }

    /// Largest part of a burst that may be one train, segments: a small part of a window that is steady.
    fn part_of_burst(&self, burst: u32) -> u32 {
        if self.pace.is_active() {
            return worthwhile(burst.min(self.paced_train(burst)));
        }
        let most = match (self.trains.nears_loss(self.latest_rtt()), self.trains.is_alone()) {
            _ if !self.trains.is_steady => 1,
            (false, _) => burst.min((self.stats.cwnd / BURSTS_PER_WINDOW) as u32),
            (true, true) => burst.min((self.stats.cwnd / BURSTS_ALONE) as u32),
            (true, false) => self.burst_near_loss(burst),
        };
        worthwhile(most.min(self.trains.longest()))
    }

    /// True if no segment before waits for its departure at `now`, so that the next one leaves after its own random delay, and
    /// not with the latest before it. Only such a segment has an RTT near the smallest, for which BBR waits.
    fn is_host_idle(&self, now: Time) -> bool {
        self.departures.is_jittered() && self.departures.last() < now
    }

    /// Largest train of a sender that paces, segments: bursts of `burst` segments that leave at the pacing rate, or fewer
    /// segments than a burst has if there is none.
    fn paced_train(&self, burst: u32) -> u32 {
        if !self.trains.is_steady {
            return 0;
        }
        if self.trains.nears_loss_within(self.latest_rtt(), self.stats.cwnd) {
            return self.burst_near_loss(burst);
        }
        let most = ((self.stats.cwnd / PACED_TRAINS_PER_WINDOW) as u32).min(self.trains.longest());
        most - most % burst.max(1)
    }

    /// Segments of a burst of `burst` that may be a train while a queue is nearly full: all or one.
    fn burst_near_loss(&self, burst: u32) -> u32 {
        if f64::from(burst) <= self.stats.cwnd / BURSTS_NEAR_LOSS { burst } else { 1 }
    }

    /// Time of the next burst of a sender that paces, or of the last of several that leave as one train: each waits for the
    /// others from its own time on. The window has room for `room` segments.
    #[inline(never)]
    pub(super) fn due_with_others(&mut self, room: u32, now: Time) -> Time {
        let burst = self.burst();
        let bursts = self.paced_train(burst).min(room) / burst.max(1);
        let since = self.pace.next().max(now).min(self.trains.since());
        if bursts < 2 || !self.is_plain_sailing() || !self.buffer.is_offloaded() || self.is_host_idle(since) {
            self.trains.end_wait(now);
            return self.pace.next();
        }
        self.trains.wait_from(since);
        self.trains.since() + Time(self.pace.time_of(burst).0 * u64::from(bursts - 1))
    }

    /// Sends the bursts that have waited for each other as one train, the last of them now, while the window has room for
    /// `room` segments. Returns the number of segments; none if fewer than two bursts have.
    #[inline(never)]
    pub(super) fn transmit_bursts_together(
        &mut self,
        (room, in_flight): (u32, u32),
        now: Time,
        out: &mut impl Outlet,
    ) -> u32 {
        if !self.trains.has_waiting() || !self.is_plain_sailing() {
            return 0;
        }
        let (burst, since) = (self.burst().max(1), self.trains.since());
        let length = self.pace.time_of(burst);
        let due = u32::try_from(1 + now.since(since).0 / length.0.max(1)).unwrap_or(u32::MAX);
        let bursts = due.min(self.paced_train(burst).min(room) / burst);
        if bursts < 2 {
            return 0;
        }
        let sent = self.transmit_plainly(bursts * burst, in_flight, now, out);
        let before = sent.saturating_sub(1) / burst;
        self.pace.allow_at(since + Time(length.0 * u64::from(before)));
        self.note_burst(sent - before * burst, now);
        sent
    }

    /// Segments that leave at once even if no train is formed.
    fn burst(&self) -> u32 {
        if self.buffer.is_offloaded() { self.within_burst(u32::MAX, self.next) } else { 1 }
    }

    /// Does what [`Sender::remember`] does for each of the segments from `first` to before `past`, which leave together.
    fn remember_train(&mut self, first: u32, past: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        if self.log.is_some() || self.needs.sends {
            for segment in first..past {
                self.next = segment + 1;
                self.remember(segment, flags, now, out);
            }
            return;
        }
        let una = u64::from(self.board.una());
        if self.needs.window_at_send {
            self.sent_window.fill(una, first.into(), past.into(), self.stats.cwnd as f32);
        }
        if let Some(sampler) = &mut self.sampler {
            let in_flight = self.board.in_flight(first + 1);
            sampler.on_sent_together(first.into(), past.into(), una, in_flight, self.clock.clock(now).0);
        }
    }

    /// Sends the next segments before `past` in trains, the first one with `flags`.
    #[inline(never)]
    pub(super) fn emit_trains(&mut self, past: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        let (first, total) = (self.next, past - self.next);
        // The first burst leaves when it is complete, and not when its first segment could.
        let burst = self.burst();
        let (waited, later) = (self.trains.end_wait(now), u64::from(total.saturating_sub(burst)));
        // With pacing, the first burst leaves when the wait begins.
        let span = if self.pace.is_active() && later > 0 { waited } else { Time(waited.0 / u64::from(total) * later) };
        self.remember_train(first, past, flags, now, out);
        self.next = past;
        self.stats.totals.sent += u64::from(total);
        let most = if self.pace.is_active() {
            if self.is_host_idle(now.since(waited)) { 1 } else { self.paced_train(burst) }
        } else {
            ((2.0 * self.share_of_window()) as u32).max(self.part_of_burst(burst))
        };
        let most = worthwhile(most.min(self.trains.longest()));
        let mut from = first;
        while from < past {
            let count = (past - from).min(most);
            let share = Time(span.0 * u64::from(count) / u64::from(total));
            let (at, share) = if self.departures.is_jittered() {
                self.departures.next_train(now, Time(span.0 / u64::from(total)), past - from - count, count)
            } else {
                (now, share)
            };
            // Only a segment alone may be a part of one.
            let bytes = if total == 1 { self.bytes_of(from) } else { self.bytes };
            let last = Packet::new(at, now, self.flow, from + count - 1, bytes, flags, 0);
            out.send(last.as_train(count, share));
            from += count;
        }
    }
}
