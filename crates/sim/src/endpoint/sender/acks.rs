//! The way of an ACK through a sender: what it delivers, what it measures, what the algorithm says, and what it releases.

use elephan_cc::linux::{Recovery, Sample};
use elephan_cc::{Ack, Algorithm, Answer, Delivery, Load, Needs, Router};

use super::core::Sender;
use super::shortcut::Shortcut;
use super::timer::Before;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::{Losses, Progress};
use crate::endpoint::scoreboard::Parts;
use crate::packet::{OWD_UNIT_PS, Packet, flag};
use crate::prefetch;
use crate::sidecar::AccEcnOption;
use crate::spec::HostRule;
use crate::spec::RecoveryRule;
use crate::time::Time;

/// Number of segments by which the record of a segment in flight is prefetched before its ACK.
const FETCHED_AHEAD: u64 = 8;

/// Contents of an ACK, and segments that it delivers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Lowest segment outstanding, and marks of segments, before the ACK.
    pub una: u32,
    before: Before,
    /// Segments that the ACK delivers, and segments of which it reports a duplicate.
    delivered: u32,
    repeated: u32,
    /// One-way delay of the newest segment that the ACK acknowledges, in units of [`OWD_UNIT_PS`].
    owd: u32,
    /// Number of the newest segment.
    pub newest: u32,
    /// The lowest segment that the ACK acknowledges if no segment was lost or SACKed before; otherwise the newest.
    pub oldest: u32,
    /// Feedback of XCP routers for the newest segment and for earlier segments, bytes/s.
    feedback: f32,
    has_blocks: bool,
    /// True if the ACK delivers an original from before a timeout that may be spurious.
    pub has_original: bool,
    /// True if the ACK announces a larger receive window than the ACK before.
    grows_window: bool,
}

impl Sender {
    #[inline(always)]
    pub(in crate::endpoint) fn on_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        assert!(packet.at >= self.now, "a sender's clock went back");
        self.now = packet.at;
        self.stats.totals.acks += 1;
        if self.is_clean(packet) && !self.forms_trains() && !self.stands_for_several() {
            match self.shortcut {
                Shortcut::None => {}
                Shortcut::Plain => return self.on_plain_ack(packet, out),
                Shortcut::Linux if self.may_heed_reports() => {}
                Shortcut::Linux => return self.on_clean_ack(packet, out),
            }
        }
        let mut report = Report {
            una: self.board.una(),
            before: self.before(),
            owd: packet.extra(),
            newest: packet.segment().wrapping_sub(1),
            oldest: packet.segment().wrapping_sub(1),
            grows_window: self.announced.on_ack(self.board.una(), packet.segment()),
            ..Report::default()
        };
        if packet.flags() & flag::BESIDE != 0 {
            self.deliver_with_entry(packet, &mut report, out);
        } else {
            self.on_timestamp(packet, &mut report, out);
            self.deliver(packet.segment(), &mut report);
        }
        if report.delivered == 0 && packet.segment() <= report.una {
            self.marks.set_option(AccEcnOption::default());
            self.parts = None;
            return self.on_report_alone(report.repeated, packet.at, out);
        }
        self.respond(packet, report, out);
    }

    /// Takes what an ACK of the segments below `cumulative` delivers that has nothing beside it.
    #[inline(always)]
    fn deliver(&mut self, cumulative: u32, report: &mut Report) {
        if report.before == Before::Marked {
            report.has_original = self.delivers_original(cumulative, &[]);
            self.advance(cumulative, report);
        } else if cumulative > report.una {
            (report.delivered, report.oldest) = (cumulative - report.una, report.una);
            self.board.advance_clean(cumulative);
        }
    }

    /// Takes what an ACK delivers that has an entry beside it: SACK blocks, a report of duplicates, routers' feedback.
    #[inline(always)]
    fn deliver_with_entry(&mut self, packet: &Packet, report: &mut Report, out: &mut impl Outlet) {
        let cumulative = packet.segment();
        let Some(entry) = out.beside().sacks.take(packet.extra()) else {
            report.has_original = self.delivers_original(cumulative, &[]);
            return self.advance(cumulative, report);
        };
        let blocks = &entry.blocks[..usize::from(entry.count)];
        report.owd = entry.owd;
        self.on_timestamp(packet, report, out);
        self.marks.set_option(entry.option);
        if entry.is_option_alone(cumulative) {
            return self.deliver(cumulative, report);
        }
        self.note_overtaken(entry.trigger);
        report.repeated = self.take_report(&entry, cumulative);
        report.has_original = self.delivers_original(cumulative, blocks);
        report.has_blocks = entry.count > 0 || entry.is_report();
        self.advance(cumulative, report);
        (report.feedback, report.newest, report.oldest) = (entry.feedback, entry.trigger, entry.trigger);
        if entry.count > 0 {
            report.delivered += self.board.sack_blocks(blocks, self.next);
            if let Some(parts) = &mut self.parts {
                parts.sacked = self.board.fresh();
            }
        }
    }

    /// Moves the left edge of the window to `cumulative` at an ACK with SACK blocks, or after SACKs or losses.
    #[inline(always)]
    fn advance(&mut self, cumulative: u32, report: &mut Report) {
        if self.rules.has(HostRule::RttSamples)
            && self.rtt.times_all()
            && (report.has_blocks || report.before == Before::Marked)
        {
            self.parts = Some(Parts { acknowledged: self.board.missing_below(cumulative), ..Parts::default() });
        }
        if cumulative <= report.una {
            return;
        }
        if report.before == Before::Clean {
            report.delivered += cumulative - report.una;
            self.board.advance_clean(cumulative);
        } else {
            report.delivered += self.board.advance(cumulative);
        }
    }

    /// Takes the timestamp of an ACK, and the window that it announces.
    #[inline(always)]
    fn on_timestamp(&mut self, packet: &Packet, report: &mut Report, out: &mut impl Outlet) {
        self.timestamps.on_ack(packet.stamp, report.owd);
        if self.stack.reads_at_once {
            // The one-way delay was rounded down.
            let sent = packet.stamp + Time((u64::from(report.owd) + 1) * OWD_UNIT_PS);
            if let Some(window) = out.beside().announced(sent) {
                self.announced.state(window);
                report.grows_window = true;
            }
        }
    }

    /// Records reordering: a segment that was never retransmitted arrived after one that was sent later (RFC 8985
    /// section 6.2, step 3).
    fn note_overtaken(&mut self, segment: u32) {
        let board = &self.board;
        let below = segment >= board.una() && segment < board.forward_ack();
        if below && !board.is_sacked(segment) && !board.is_resent(segment) {
            self.rack.on_overtaken(segment, board.forward_ack());
        }
    }

    /// Responds to an ACK that delivers segments.
    #[inline(always)]
    fn respond(&mut self, packet: &Packet, report: Report, out: &mut impl Outlet) {
        let (now, delivered) = (packet.at, report.delivered + report.repeated);
        let read = self.marks.counts().then(|| self.marks.read(packet, delivered));
        let (packet, told) = read.as_ref().map_or((packet, delivered), |(packet, told)| (packet, *told));
        let taken = self.rules.linux.then(|| self.take_sample(&report, packet));
        let (sent_last, sample, min_rtt) = self.measure(packet, &report);
        let was_recovering = self.repair.episode().is_some();
        let round_start = self.end_what_is_over(packet, &report, sent_last);
        let ends_as_ns2 = was_recovering && self.repair.is_open() && self.grows_before_exit();
        let before = taken.as_ref();
        let echoes = packet.flags() & flag::ECE != 0;
        let marked = if echoes { self.on_echo(packet, told, sample, before) } else { 0.0 };
        self.sample_delivery(sent_last, delivered, now, min_rtt);
        let losses =
            if self.may_show_losses(before) { self.detect_on_ack(now, sample, before) } else { Losses::default() };
        self.past.restores &= !echoes;
        let in_flight = self.board.in_flight(self.next);
        let in_order = packet.segment() > report.una;
        let mut ack = Ack {
            now: self.host_seconds(now),
            acked: f64::from(delivered),
            rtt: sample,
            owd: None,
            min_rtt,
            srtt: self.rtt.srtt(),
            delivery: None,
            in_flight: f64::from(in_flight),
            window_at_send: 0.0,
            round_start,
            // A duplicate ACK may begin a recovery, so the window does not grow (RFC 5681 section 3.2), except in Linux if
            // segments were overtaken so far (`tcp_may_raise_cwnd`).
            in_recovery: self.repair.episode().is_some()
                || ends_as_ns2
                || !(in_order || (self.rules.linux && self.rack.expects_reordering(self.stack.dup_threshold))),
            sample: taken.map(|taken| Sample { then: self.state(self.before()), ..taken }),
            window_limited: self.window_use.is_limited(self.stats.cwnd, || self.algorithm.ssthresh()),
            marked,
            answer: None,
        };
        self.complete(&mut ack, packet, report);
        let window = self.hand_on(ack);
        if marked > 0.0 {
            // A reduction for a mark begins before the ACK is counted in it (`tcp_fastretrans_alert`).
            self.reduce_if_asked(now);
        }
        let window = match self.repair.episode_mut() {
            Some(episode) if !self.needs.own_recovery => {
                episode.follow(self.algorithm.ssthresh());
                episode.on_train(self.trains.acks, Progress { delivered, in_flight, in_order, losses })
            }
            _ => window,
        };
        self.stats.note_window(now, window);
        self.reduce_if_asked(now);
        self.restart_timer(packet, &report);
        self.transmit(now, out);
        if self.repair.sends_new() && !self.trains.are_led {
            self.after_new_data(now, out);
        }
    }

    /// Hands an ACK to the algorithm. Returns its window.
    #[inline(always)]
    fn hand_on(&mut self, ack: Ack) -> f64 {
        if self.stands_for_several() {
            return self.react_to_each(&ack, self.trains.acks);
        }
        self.algorithm.react(ack, |_| ())
    }

    /// True if the window grows before the sender looks if a recovery is over, so that the ACK which ends a recovery does
    /// not grow it, as in ns-2.
    fn grows_before_exit(&self) -> bool {
        self.stack.recovery == RecoveryRule::RateHalvingNs2
    }

    /// Ends an ACK that releases new data only. If F-RTO could send none, the sender retransmits.
    #[inline(never)]
    fn after_new_data(&mut self, now: Time, out: &mut impl Outlet) {
        if self.repair.on_sent_new(self.next) {
            self.transmit(now, out);
        }
    }

    /// Takes what an ACK ends: a spurious recovery, a repaired one, a round trip. Returns true if a round trip begins.
    #[inline(always)]
    fn end_what_is_over(&mut self, packet: &Packet, report: &Report, sent_last: u32) -> bool {
        let cumulative = packet.segment();
        // A mark shows congestion, so what this ACK undoes is not restored (`tcp_fastretrans_alert`).
        self.past.restores &= packet.flags() & flag::ECE == 0;
        self.heed_reports(packet, sent_last, report.una);
        if self.repair.may_be_spurious() {
            self.check_spurious(packet, *report);
        }
        let was_open = self.repair.is_open();
        let restarted = self.leave_if_repaired(packet.at, cumulative) && self.needs.rounds_restart;
        if restarted {
            self.rounds.restart(self.next.into());
        }
        let round_start = !restarted && self.rounds.on_ack(cumulative.into(), self.next.into());
        if !was_open && self.trains.are_allowed() {
            self.trains.begin_anew(self.latest_rtt(), self.rtt.smallest());
        }
        self.note_round_of_trains(round_start);
        if (round_start || restarted) && !self.validates_window() {
            self.window_use.begin_round();
        }
        round_start
    }

    /// Adapts the length of trains at an ACK, with which a round trip may begin.
    #[inline(always)]
    pub(super) fn note_round_of_trains(&mut self, begins: bool) {
        if begins && self.trains.are_allowed() {
            let in_flight = f64::from(self.board.in_flight(self.next));
            self.trains.begin_round(self.latest_rtt(), self.stats.cwnd, in_flight, self.pace.rate());
        }
    }

    /// Fills in the fields of an ACK that only some algorithms need.
    #[inline(always)]
    fn complete(&self, ack: &mut Ack, packet: &Packet, report: Report) {
        let Needs { one_way_delay, window_at_send, router, .. } = self.needs;
        if self.sampler.is_some() || one_way_delay || window_at_send || router.is_some() {
            self.fill_in(ack, packet, report);
        }
    }

    #[inline(never)]
    fn fill_in(&self, ack: &mut Ack, packet: &Packet, report: Report) {
        if let Some(sampler) = &self.sampler {
            let departs_in = self.pace.next().since(packet.at).seconds();
            ack.delivery = sampler.sample().map(|delivery| Delivery { departs_in, ..delivery });
        }
        if self.needs.one_way_delay {
            let sent = packet.stamp;
            let arrived = sent + Time(u64::from(report.owd) * OWD_UNIT_PS);
            let exact = || f64::from(report.owd) * (OWD_UNIT_PS as f64 * 1e-12);
            let delay = self.host.one_way_delay(sent, arrived).unwrap_or_else(exact);
            ack.owd = Some(delay);
            if let Some(sample) = &mut ack.sample {
                sample.timestamps = (self.host_seconds(self.echoed), self.host_seconds(sent) + delay);
            }
        }
        if let Some(newest) = packet.segment().checked_sub(1).filter(|_| self.needs.window_at_send) {
            ack.window_at_send = self.sent_window.get(newest.into()).map_or(0.0, f64::from);
        }
        ack.answer = self.needs.router.map(|router| match (router, packet.flags()) {
            (Router::Xcp, _) => Answer::Feedback(f64::from(report.feedback) / f64::from(self.bytes)),
            (Router::Vcp, flags) if flags & flag::ECE != 0 => Answer::Load(Load::Overload),
            (Router::Vcp, flags) if flags & flag::CWR != 0 => Answer::Load(Load::High),
            (Router::Vcp, _) => Answer::Load(Load::Low),
        });
    }

    /// Takes the sample of the delivery rate, of an ACK that delivers `delivered` segments, of which `sent_last` was sent
    /// last.
    #[inline(always)]
    fn sample_delivery(&mut self, sent_last: u32, delivered: u32, now: Time, min_rtt: f64) {
        if let Some(sampler) = &mut self.sampler {
            let (records, soon) = sampler.place(u64::from(sent_last) + FETCHED_AHEAD);
            prefetch::element(records, soon);
            sampler.on_delivered(sent_last.into(), delivered, self.clock.clock(now).0, min_rtt);
        }
    }

    /// Restarts or stops the retransmission timer after an ACK.
    #[inline(always)]
    fn restart_timer(&mut self, packet: &Packet, report: &Report) {
        let (now, una) = (packet.at, self.board.una());
        if let Some(application) = &mut self.application {
            application.note_acknowledged(una, now);
        }
        self.timers.probe.on_advance(una);
        if una == self.next {
            self.timers.stop();
            return self.all_acknowledged(now);
        }
        let restarts = una > report.una || self.stack.any_ack_restarts_timer || self.is_older_than_head(packet);
        if restarts && !self.rules.has(HostRule::TimerRestart) {
            return self.arm(now);
        }
        let delay = if restarts { self.pace.delay(now) } else { Time::ZERO };
        let (timers, outstanding) = self.timers();
        if restarts {
            timers.on_ack(now, delay, report.before, outstanding);
        } else {
            timers.on_other_ack(now, outstanding);
        }
    }

    /// True if the ACK reports an original transmission that left before the lowest segment was last sent. Linux then
    /// restarts the retransmission timer (`tcp_clean_rtx_queue`, since 4.13). An ACK of a later transmission does not
    /// restart the timer; otherwise a lost retransmission would never time out.
    #[inline]
    fn is_older_than_head(&self, packet: &Packet) -> bool {
        let original = packet.flags() & flag::RETRANSMIT == 0;
        let head = self.rack.sent(self.board.una());
        self.rules.has(HostRule::TimerRestart) && original && head.is_some_and(|sent| packet.stamp < sent)
    }

    /// True if an ACK with the sample `taken` may show losses. Under RACK, segments above the highest SACK may also be
    /// lost in a recovery, and on the ACK that ends it; the scoreboard has no mark of these losses.
    #[inline(always)]
    fn may_show_losses(&self, taken: Option<&Sample>) -> bool {
        let was_repairing = taken.is_some_and(|sample| sample.state == Recovery::Repair);
        !self.board.is_clean() || was_repairing || (self.rack.is_on() && !self.repair.is_open())
    }

    /// Takes the RTT samples of an ACK. Returns the segment that was sent last of the segments that the ACK delivers
    /// (`tcp_rate_skb_delivered`), the RTT of the newest segment, and the smallest RTT, s; the ACK may have waited, so the
    /// segment that was sent last need not be the newest.
    #[inline(always)]
    fn measure(&mut self, packet: &Packet, report: &Report) -> (u32, Option<f64>, f64) {
        if self.needs.one_way_delay && packet.segment() > report.una {
            self.echoed = self.echoed_by(packet, report.una);
        }
        if let Some(parts) = self.parts.take() {
            let (sample, min_rtt) = self.measure_rtt_of_parts(packet, *report, parts);
            return (self.sent_last_of(parts, report.newest), sample, min_rtt);
        }
        let rtt = self.note_rtt(packet);
        let (newest, oldest) = (report.newest, report.oldest);
        self.rack.on_delivered(newest, packet.stamp, rtt);
        let sample = rtt.seconds();
        let min_rtt = self.rtt.on_sample(sample);
        let smoothed = if self.rules.has(HostRule::RttSamples) && oldest != newest {
            self.rtt_of_oldest(packet, oldest, rtt)
        } else {
            rtt
        };
        self.rtt.on_ack(smoothed, (packet.segment(), packet.at), self.board.una(), self.next);
        (newest, Some(sample), min_rtt)
    }

    /// Records the RTT of the newest segment that an ACK acknowledges.
    #[inline(always)]
    pub(in crate::endpoint) fn note_rtt(&mut self, packet: &Packet) -> Time {
        let seen = if self.host.is_slow() { self.when_host_looks(*packet) } else { packet.at };
        let rtt = self.clock.rtt(seen, packet.stamp);
        self.rtt.on_latest(rtt);
        self.stats.note_rtt(rtt, rtt.seconds());
        rtt
    }

    /// Time at which the host has processed an ACK. A slow host walks over all outstanding segments if the ACK carries
    /// SACK blocks.
    #[cold]
    fn when_host_looks(&mut self, packet: Packet) -> Time {
        let sacks = packet.flags() & flag::BESIDE != 0 && (self.needs.router.is_none() || self.board.sacked() > 0);
        let scanned = if sacks { u64::from(self.next - self.board.una()) } else { 0 };
        self.host.looks_at(packet.at, scanned)
    }

    /// Linux's sample of an ACK. An echo needs the slow path (`tcp_rcv_established`).
    #[inline]
    fn take_sample(&self, report: &Report, packet: &Packet) -> Sample {
        let echoes = packet.flags() & flag::ECE != 0;
        let state = self.state(report.before);
        Sample {
            state,
            then: state,
            una: self.board.una(),
            next: self.next,
            acked: f64::from(packet.segment().saturating_sub(report.una)),
            sacked: self.board.sacked(),
            is_slow: report.has_blocks || report.grows_window || echoes,
            largest_burst: self.buffer.largest_burst(),
            window: self.stats.cwnd,
            timestamps: (0.0, 0.0),
        }
    }

    fn before(&self) -> Before {
        if self.board.is_clean() { Before::Clean } else { Before::Marked }
    }

    /// Linux's name of the state of loss recovery.
    #[inline]
    fn state(&self, board: Before) -> Recovery {
        match (self.repair.is_open(), board) {
            (true, Before::Clean) => Recovery::Open,
            (true, Before::Marked) => Recovery::Disorder,
            (false, _) => Recovery::Repair,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::{Bench, us};

    /// A window of 30 segments, of which the first is lost and is retransmitted at 10.02 ms.
    fn retransmitting() -> Bench {
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 1..=3 {
            bench.arrive(0, segment, Some((1, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0]);
        bench
    }

    #[test]
    fn the_rtt_of_a_retransmission_is_in_whole_milliseconds() {
        let mut bench = retransmitting();
        let before = bench.sender.rtt.srtt();
        bench.arrive(4, 0, None, 20_990);
        let after = before + (0.010 - before) / 8.0;
        assert!((bench.sender.rtt.srtt() - after).abs() < 1e-6, "10.97 ms, which are 10 ticks of 1 ms");
    }

    #[test]
    fn a_duplicate_ack_echoes_the_oldest_segment_of_the_last_ack_that_advanced() {
        let mut bench = Bench::start_lp(4, 10_000);
        bench.acknowledge(2, 10_000);
        bench.acknowledge(4, 10_010);
        assert_eq!(bench.sender.echoed, us(0));
        bench.acknowledge(6, 20_000);
        assert_eq!(bench.sender.echoed, us(10_000));
        bench.arrive(6, 7, Some((7, 8)), 20_010);
        assert_eq!(bench.sender.echoed, us(10_000), "segment 7 left at 10.01 ms");
    }

    #[test]
    fn a_sacked_retransmission_gives_no_rtt() {
        let mut bench = retransmitting();
        let before = bench.sender.rtt.srtt();
        bench.arrive(0, 4, Some((1, 5)), 10_030);
        assert!((bench.sender.rtt.srtt() - before).abs() > 1e-9, "an original does");
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 2..=8 {
            bench.arrive(0, segment, Some((2, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0, 1]);
        let before = bench.sender.rtt.srtt();
        bench.arrive(0, 1, Some((1, 9)), 20_990);
        assert!((bench.sender.rtt.srtt() - before).abs() < 1e-15);
    }

    #[test]
    fn a_retransmission_later_than_the_echoed_timestamp_may_be_spurious() {
        for (sent_us, latest) in [(10_900, (us(10_900), 1)), (12_000, (us(10_070), 0))] {
            let mut bench = Bench::start(30, 10_000, None);
            for segment in 2..=8 {
                bench.arrive(0, segment, Some((2, segment + 1)), 10_000 + 10 * u64::from(segment));
            }
            assert_eq!(bench.retransmitted(), [0, 1]);
            bench.sender.rack.on_sent(0, (0, 1), us(10_070));
            bench.sender.rack.on_sent(0, (1, 2), us(sent_us));
            // The ACK of both segments echoes the timestamp of segment 0.
            bench.arrive(9, 1, None, 22_500);
            assert_eq!(bench.sender.rack.latest(), latest);
        }
    }

    #[test]
    fn an_ack_that_waited_shows_a_later_retransmission_besides_its_newest_segment() {
        let mut bench = retransmitting();
        assert_eq!(bench.sender.rack.latest().0, us(0));
        // The arrival of segment 5, of the first burst, releases the ACK; segment 0 was sent last.
        bench.arrive(6, 5, None, 20_060);
        assert_eq!(bench.sender.rack.latest(), (us(10_020), 0));
    }
}
