//! Handling of an ACK by a sender.

use elephan_cc::estimators::SegmentRing;
use elephan_cc::linux::{Recovery, Sample};
use elephan_cc::{Ack, Algorithm, Answer, Cause, Delivery, Load, Needs, Router};

use super::core::Sender;
use crate::endpoint::boundary::Outlet;
use crate::endpoint::recovery::Losses;
use crate::endpoint::scoreboard::Parts;
use crate::packet::{OWD_UNIT_PS, Packet, flag};
use crate::prefetch;
use crate::sidecar::SackEntry;
use crate::spec::ClockSpec;
use crate::time::Time;

/// Number of segments by which the record of a segment in flight is prefetched before its ACK.
const FETCHED_AHEAD: u64 = 8;

/// The newest segment that an ACK acknowledges, as the ACK reports it.
#[derive(Clone, Copy, Debug)]
struct Report {
    /// One-way delay of the segment, in units of [`OWD_UNIT_PS`].
    owd: u32,
    /// Number of the segment.
    newest: u32,
    /// The lowest segment that the ACK acknowledges if no segment was lost or SACKed before; otherwise the newest.
    oldest: u32,
    /// True if no segment was SACKed, lost or retransmitted before the ACK.
    was_clean: bool,
    /// Feedback of XCP routers for this segment and for earlier segments, bytes/s.
    feedback: f32,
    has_blocks: bool,
    /// True if the ACK delivers an original from before a timeout that may be spurious.
    has_original: bool,
    /// True if the ACK announces a larger receive window than the ACK before.
    grows_window: bool,
}

impl Sender {
    #[inline(always)]
    pub(super) fn on_acknowledgement(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let now = packet.at;
        assert!(now >= self.now, "a sender's clock went back");
        self.now = now;
        self.stats.totals.acks += 1;
        if self.is_plain(packet) {
            return self.on_plain_ack(packet, out);
        }
        self.on_other_ack(packet, out);
    }

    /// Handles an ACK by the long path.
    #[inline(always)]
    fn on_other_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let (una, cumulative) = (self.board.una(), packet.segment());
        let has_sack = packet.flags() & flag::BESIDE != 0;
        let (newest, was_clean) = (cumulative.wrapping_sub(1), self.board.is_clean());
        let mut report = Report {
            owd: packet.extra(),
            newest,
            oldest: newest,
            was_clean,
            feedback: 0.0,
            has_blocks: false,
            has_original: false,
            grows_window: self.announced.on_ack(una, cumulative, &mut self.receive_window),
        };
        let (mut delivered, mut repeated) = (0, 0);
        if !has_sack {
            self.timestamps.on_ack(packet.stamp, report.owd);
            if self.stack.reads_at_once {
                report.grows_window |= self.note_announced(packet.stamp, report.owd, out);
            }
        }
        if was_clean && !has_sack {
            if cumulative <= una {
                return;
            }
            delivered += cumulative - una;
            report.oldest = una;
            self.board.advance_clean(cumulative);
        } else {
            let entry = if has_sack { out.beside().sacks.take(packet.extra()) } else { None };
            if let Some(entry) = &entry {
                self.timestamps.on_ack(packet.stamp, entry.owd);
                if self.stack.reads_at_once {
                    report.grows_window |= self.note_announced(packet.stamp, entry.owd, out);
                }
                self.note_overtaken(entry.trigger);
                repeated = self.take_report(entry, cumulative);
            }
            if self.repair.may_be_spurious {
                let blocks = entry.as_ref().map_or(&[][..], |entry| &entry.blocks[..usize::from(entry.count)]);
                report.has_original = self.delivers_original(cumulative, blocks);
            }
            report.has_blocks = entry.is_some_and(|entry| entry.count > 0 || entry.is_report());
            if self.rules.rtt_samples && !self.stack.time_one_segment && (report.has_blocks || !was_clean) {
                self.parts = Some(Parts { acknowledged: self.board.missing_below(cumulative), ..Parts::default() });
            }
            if cumulative > una && was_clean {
                delivered += cumulative - una;
                self.board.advance_clean(cumulative);
            } else if cumulative > una {
                delivered += self.board.advance(cumulative);
            }
            if let Some(entry) = entry {
                (report.owd, report.feedback) = (entry.owd, entry.feedback);
                (report.newest, report.oldest) = (entry.trigger, entry.trigger);
                if entry.count > 0 {
                    delivered += self.take_blocks(&entry);
                }
            }
        }
        if delivered == 0 && cumulative <= una {
            self.parts = None;
            return self.on_report_alone(repeated, packet.at, out);
        }
        self.digest(packet, report, una, delivered + repeated, out);
    }

    /// Takes the SACK blocks of an ACK; returns the segments that they deliver.
    #[inline(always)]
    fn take_blocks(&mut self, entry: &SackEntry) -> u32 {
        let delivered = self.board.sack_blocks(&entry.blocks[..usize::from(entry.count)], self.next);
        if let Some(parts) = &mut self.parts {
            parts.sacked = self.board.fresh();
        }
        delivered
    }

    /// Takes the receive window that an ACK of a segment that left at `stamp` announces, if the receiving application reads
    /// at once; the ACK was sent `owd` units later. Returns true if the window has changed.
    #[inline(never)]
    fn note_announced(&mut self, stamp: Time, owd: u32, out: &mut impl Outlet) -> bool {
        // The one-way delay was rounded down.
        let sent = stamp + Time((u64::from(owd) + 1) * OWD_UNIT_PS);
        let window = out.beside().announced(sent);
        self.receive_window = window.unwrap_or(self.receive_window);
        window.is_some()
    }

    #[inline(always)]
    fn digest(&mut self, packet: &Packet, report: Report, una: u32, delivered: u32, out: &mut impl Outlet) {
        let (now, cumulative) = (packet.at, packet.segment());
        let taken = self.rules.linux.then(|| self.take_sample(report, packet, una));
        let (sent_last, (sample, min_rtt)) = self.measure(packet, report, una);
        self.heed_reports(packet, sent_last, cumulative > una);
        if self.repair.undo_possible || self.repair.may_be_spurious {
            self.check_spurious(now, *packet, una, report.has_original);
        }
        let restarted = self.leave_if_repaired(now, cumulative) && self.needs.rounds_restart;
        if restarted {
            self.rounds.restart(self.next.into());
        }
        let round_start = !restarted && self.rounds.on_ack(cumulative.into(), self.next.into());
        if (round_start || restarted) && !self.validates_window() {
            self.window_use.begin_round();
        }
        let before = taken.as_ref();
        let marked = self.marked_by(packet, delivered, sample, before);
        self.sample_delivery(sent_last, delivered, now, min_rtt);
        let losses =
            if self.may_show_losses(before) { self.detect_on_ack(now, sample, before) } else { Losses::default() };
        self.repair.restores &= packet.flags() & flag::ECE == 0;
        let in_flight = self.board.in_flight(self.next);
        let recovering = self.repair.is_in_episode();
        let ack = Ack {
            now: self.host_seconds(now),
            acked: f64::from(delivered),
            rtt: sample,
            min_rtt,
            srtt: self.rto.srtt,
            in_flight: f64::from(in_flight),
            round_start,
            // A duplicate ACK may begin a recovery, so the window does not grow (RFC 5681 section 3.2).
            in_recovery: recovering || (cumulative <= una && !self.expects_reordering()),
            sample: taken.map(|taken| Sample { then: self.state(self.board.is_clean()), ..taken }),
            window_limited: self.window_use.is_limited(self.stats.cwnd, || self.algorithm.ssthresh()),
            marked,
            ..Ack::default()
        };
        let window = self.algorithm.react(ack, |ack| {
            if let Some(sampler) = &self.sampler {
                let departs_in = self.pace.next.since(now).seconds();
                ack.delivery = sampler.sample().map(|delivery| Delivery { departs_in, ..delivery });
            }
            let (needs, clocks, sent_window) = (self.needs, self.host.clocks.as_deref(), &self.sent_window);
            let (packet, bytes) = (*packet, f64::from(self.bytes));
            let (phase, echoed) = (self.stack.phase, self.echoed);
            let wanted = || Wanted { needs, packet, bytes, report, phase, echoed, clocks, sent_window };
            if needs_more(needs) {
                wanted().complete(ack);
            }
        });
        self.reduce_if_asked(now, marked > 0.0);
        match self.repair.episode_mut() {
            Some(episode) if !self.needs.own_recovery => {
                episode.follow(self.algorithm.ssthresh());
                episode.on_ack(delivered, in_flight, cumulative > una, losses);
                let window = episode.window();
                self.stats.note_window(now, f64::from(window));
            }
            _ => self.stats.note_window(now, window),
        }
        self.reduce_if_asked(now, true);
        self.restart_timer(packet, report, una);
        self.transmit(now, out);
        if self.repair.sends_new {
            self.after_new_data(now, out);
        }
    }

    /// Takes the sample of the delivery rate, of an ACK that delivers `delivered` segments, of which `sent_last` was sent
    /// last.
    #[inline(always)]
    fn sample_delivery(&mut self, sent_last: u32, delivered: u32, now: Time, min_rtt: f64) {
        if let Some(sampler) = &mut self.sampler {
            let (records, soon) = sampler.place(u64::from(sent_last) + FETCHED_AHEAD);
            prefetch::element(records, soon);
            sampler.on_delivered(sent_last.into(), delivered, now.later(self.stack.phase).0, min_rtt);
        }
    }

    /// Begins a reduction of the window if the algorithm asks for it and no other reduction or recovery is under way. A
    /// reduction for a mark begins before the ACK is counted in it (`tcp_fastretrans_alert`); any other begins afterwards.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    fn reduce_if_asked(&mut self, now: Time, is_due: bool) {
        if is_due && self.needs.reductions && self.algorithm.takes_reduction() && self.repair.is_open() {
            self.begin_episode(now, Cause::Ecn);
        }
    }

    /// Ends the ACK after which F-RTO sends new data. If no new data could be sent, the sender retransmits.
    #[inline(never)]
    fn after_new_data(&mut self, now: Time, out: &mut impl Outlet) {
        self.repair.sends_new = false;
        if self.repair.is_after_timeout() && self.next == self.repair.point {
            self.repair.may_be_spurious = false;
            self.transmit(now, out);
        }
    }

    /// Restarts or stops the retransmission timer after an ACK; `una` is the lowest segment outstanding before it.
    #[inline(always)]
    fn restart_timer(&mut self, packet: &Packet, report: Report, una: u32) {
        let now = packet.at;
        if let Some(application) = &mut self.application {
            application.note_acknowledged(self.board.una(), now);
        }
        if self.board.una() >= self.timeout.probed {
            self.timeout.probed = 0;
        }
        if self.board.una() == self.next {
            (self.timeout.armed, self.rack.reorder_due) = (Time::NEVER, Time::NEVER);
            self.all_acknowledged(now);
        } else if packet.segment() > una || self.stack.any_ack_restarts_timer || self.is_older_than_head(packet) {
            if !self.rules.timer_restart {
                self.arm(now);
            } else if self.rack.reorder_due == Time::NEVER || self.rack.reorder_set != now {
                // Otherwise this ACK has set the timer of the reordering window, which replaces the timeout.
                let probes = (report.was_clean && self.timeout.may_probe) || self.timeout.probe_at.is_some();
                self.rearm(now, probes || self.rack.reorder_due < Time::NEVER);
            }
        } else {
            // The RTT estimate may have shrunk, and with it the time until a probe.
            self.quiet_until = self.quiet_until.min(self.earliest_repair());
        }
    }

    /// True if an ACK with the sample `taken` may show losses. Under RACK, segments above the highest SACK may also be
    /// lost in a recovery, and on the ACK that ends it; the scoreboard has no mark of these losses.
    #[inline(always)]
    fn may_show_losses(&self, taken: Option<&Sample>) -> bool {
        let was_repairing = taken.is_some_and(|sample| sample.state == Recovery::Repair);
        !self.board.is_clean() || was_repairing || (self.rack.enabled && !self.repair.is_open())
    }

    /// Takes the RTT samples of an ACK of the segments from `una` on. Returns them, and the segment that was sent last of
    /// the segments that the ACK delivers (`tcp_rate_skb_delivered`); the ACK may have waited, so this segment need not be
    /// the newest.
    #[inline(always)]
    fn measure(&mut self, packet: &Packet, report: Report, una: u32) -> (u32, (Option<f64>, f64)) {
        if self.needs.one_way_delay && packet.segment() > una {
            self.echoed = self.rack.sent_at.get(una.into()).unwrap_or(packet.stamp);
        }
        match self.parts {
            Some(parts) => {
                (self.sent_last_of(parts, report.newest), self.measure_rtt_of_parts(packet, report.newest, una))
            }
            None => (report.newest, self.measure_rtt(packet, report)),
        }
    }

    /// Linux's sample of an ACK of the segments from `before` on. An echo needs the slow path (`tcp_rcv_established`).
    #[inline]
    fn take_sample(&self, report: Report, packet: &Packet, before: u32) -> Sample {
        let echoes = packet.flags() & flag::ECE != 0;
        let state = self.state(report.was_clean);
        let (una, next) = (self.board.una(), self.next);
        Sample {
            state,
            then: state,
            una,
            next,
            acked: f64::from(packet.segment().saturating_sub(before)),
            sacked: self.board.sacked(),
            is_slow: report.has_blocks || report.grows_window || echoes,
            largest_burst: self.bursts.largest,
            window: self.stats.cwnd,
            timestamps: (0.0, 0.0),
        }
    }

    /// Linux's name of the state of loss recovery, while the scoreboard is clean or not.
    #[inline]
    fn state(&self, is_clean: bool) -> Recovery {
        match (self.repair.is_open(), is_clean) {
            (true, true) => Recovery::Open,
            (true, false) => Recovery::Disorder,
            (false, _) => Recovery::Repair,
        }
    }

    /// True if the ACK reports an original transmission that left before the lowest segment was last sent. Linux then
    /// restarts the retransmission timer (`tcp_clean_rtx_queue`, since 4.13). An ACK of a later transmission does not
    /// restart the timer; otherwise a lost retransmission would never time out.
    #[inline]
    fn is_older_than_head(&self, packet: &Packet) -> bool {
        let original = packet.flags() & flag::RETRANSMIT == 0;
        let head = self.rack.sent_at.get(self.board.una().into());
        self.rules.timer_restart && original && head.is_some_and(|sent| packet.stamp < sent)
    }

    /// Takes the RTT sample of an ACK. Returns the sample, if there is one, and the smallest RTT so far, s. The smoothed RTT
    /// of Linux uses the oldest segment that an ACK acknowledges; all other estimates use the newest (`first_ackt` and
    /// `last_ackt` in `tcp_clean_rtx_queue`).
    #[inline(always)]
    fn measure_rtt(&mut self, packet: &Packet, report: Report) -> (Option<f64>, f64) {
        let (rtt, sample) = self.note_rtt(packet);
        self.rack.note_delivered(report.newest, packet.stamp, rtt);
        let min_rtt = self.note_smallest(sample);
        if !self.stack.time_one_segment {
            let mut smoothed = sample;
            if self.rules.rtt_samples && report.oldest != report.newest {
                let oldest = self.rack.sent_at.get(report.oldest.into()).unwrap_or(packet.stamp);
                let waited = self.rack.elapsed(packet.stamp, oldest);
                if waited > Time::ZERO {
                    smoothed = (rtt + waited).seconds();
                }
            }
            self.rto.sample_at(smoothed, self.board.una(), self.next);
        } else if let Some((segment, at)) = self.timed {
            if packet.segment() > segment {
                self.rto.sample((packet.at - at).seconds());
                self.timed = None;
            }
        }
        (Some(sample), min_rtt)
    }

    /// Records the RTT of the newest segment that an ACK acknowledges. Returns this RTT as a time and in s.
    #[inline(always)]
    fn note_rtt(&mut self, packet: &Packet) -> (Time, f64) {
        let seen = if self.host.is_slow { self.when_host_looks(*packet) } else { packet.at };
        let rtt = self.rack.elapsed(seen, packet.stamp);
        let sample = rtt.seconds();
        self.latest_rtt = Some(rtt);
        self.stats.note_rtt(rtt, sample);
        (rtt, sample)
    }

    /// Takes a sample of the smallest RTT, s. Returns the smallest RTT so far, s.
    #[inline(always)]
    pub(super) fn note_smallest(&mut self, sample: f64) -> f64 {
        if sample < self.min_rtt.get() {
            self.min_rtt.update(sample);
            self.note_smallest_twice();
        }
        self.min_rtt.get()
    }

    /// Takes the RTT samples of an ACK of the segments from `una` on that has SACK blocks, or that follows SACKs or
    /// losses, as Linux does (`tcp_sacktag_one`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`). The smoothed RTT takes
    /// the lowest acknowledged segment, or else the lowest SACKed segment; all other estimates take the highest SACKed
    /// segment, or else the highest acknowledged segment. Retransmitted segments give no sample. If there is no sample,
    /// and the ACK advances the left edge of the window, the sample comes from the timestamps, which count milliseconds
    /// (RFC 7323 section 4.1).
    #[inline(never)]
    fn measure_rtt_of_parts(&mut self, packet: &Packet, newest: u32, una: u32) -> (Option<f64>, f64) {
        self.keep_probe();
        let (rtt, _) = self.note_rtt(packet);
        let parts = self.parts.take().unwrap_or_default();
        let Parts { acknowledged, sacked } = parts;
        // The receiver echoes the timestamp of the oldest segment that it acknowledges (RFC 7323 section 4.3).
        let oldest = self.rack.sent_at.get(una.into()).filter(|_| newest != una && packet.segment() > una);
        let echoed = oldest.unwrap_or(packet.stamp);
        self.note_all_delivered((newest, rtt), (packet, echoed), parts);
        let clear = acknowledged.originals.filter(|_| acknowledged.resent.is_none());
        let first = clear.or(sacked.originals).map(|(first, _)| first);
        let last = sacked.originals.or(clear).map(|(_, last)| last);
        let rack = &self.rack;
        let rtt = |segment: u32| rack.sent_at.get(segment.into()).map(|sent| rack.elapsed(packet.at, sent).seconds());
        let (smoothed, sample) = match (first.and_then(rtt), last.and_then(rtt)) {
            (Some(smoothed), Some(sample)) => (smoothed, sample),
            _ if packet.segment() <= una => return (None, self.min_rtt.get()),
            _ => {
                let ticks = rack.host_ms(packet.at) - rack.host_ms(echoed);
                let sample = Time(ticks.max(1) * Time::MILLISECOND.0).seconds();
                (sample, sample)
            }
        };
        self.rto.sample_at(smoothed, self.board.una(), self.next);
        (Some(sample), self.note_smallest(sample))
    }

    /// Records for RACK the segments that an ACK delivers: its `newest` segment, with an RTT, and the others. Two kinds of
    /// retransmitted segments do not count: those with an RTT below the smallest RTT, whose original arrived
    /// (`tcp_rack_advance`), and those that were sent after the segment whose timestamp the ACK echoes
    /// (`tcp_skb_spurious_retrans`).
    fn note_all_delivered(&mut self, (newest, rtt): (u32, Time), (packet, echoed): (&Packet, Time), parts: Parts) {
        let (rack, smallest) = (&self.rack, self.smallest_rtt());
        let (resent, originals) = (parts.acknowledged.resent, parts.acknowledged.originals);
        let newest_original = originals.and_then(|(_, last)| rack.sent_at.get(last.into())).unwrap_or_default();
        let is_unclear = |segment: u32, sent: Time| {
            resent.is_some_and(|(first, last)| (first..=last).contains(&segment))
                && sent > newest_original
                && rack.host_ms(sent) > rack.host_ms(echoed)
        };
        let counts = |&(sent, segment, is_resent): &(Time, u32, bool)| {
            !is_resent || (rack.elapsed(packet.at, sent).seconds() >= smallest && !is_unclear(segment, sent))
        };
        let latest = self.delivered_by(parts).filter(counts).max();
        // RACK keeps the RTT of the segment that Linux processes last: SACKed segments come first.
        let acknowledged = parts.acknowledged.highest.and_then(|highest| {
            let lowest = resent.map_or(highest, |(first, _)| first).min(originals.map_or(highest, |(_, last)| last));
            let clear = |segment: u32| rack.sent_at.get(segment.into()).filter(|&sent| !is_unclear(segment, sent));
            (lowest..=highest).rev().find_map(clear)
        });
        let processed = acknowledged.or_else(|| rack.sent_at.get(parts.sacked.highest?.into()));
        let newest_counts = !is_unclear(newest, packet.stamp);
        if newest_counts {
            self.rack.note_delivered(newest, packet.stamp, rtt);
        }
        if let Some((sent, segment, _)) = latest {
            self.rack.note_delivered(segment, sent, self.rack.elapsed(packet.at, sent));
        }
        if let Some(sent) = processed {
            self.rack.note_processed(self.rack.elapsed(packet.at, sent), smallest);
        }
    }

    /// The segment that was sent last, of the segments that an ACK with SACKs delivers.
    #[inline(never)]
    fn sent_last_of(&self, parts: Parts, newest: u32) -> u32 {
        let last = self.delivered_by(parts).map(|(sent, segment, _)| (sent, segment)).max();
        last.map_or(newest, |(_, segment)| segment)
    }

    /// The segments that an ACK delivers and that may have been sent last: send time, number, and true if the segment
    /// was retransmitted. Original segments are sent in the order of their numbers.
    fn delivered_by(&self, Parts { acknowledged, sacked }: Parts) -> impl Iterator<Item = (Time, u32, bool)> {
        let Self { rack, board, .. } = self;
        let (first, last) = acknowledged.resent.unwrap_or((1, 0));
        // The scoreboard remembers the segments of the last ACK with SACK blocks, which need not be this ACK.
        let resent_sacked = sacked.resent.map_or(&[][..], |_| board.fresh_resent());
        let resent = (first..=last).chain(resent_sacked.iter().copied()).map(|segment| (segment, true));
        let originals = [acknowledged.originals, sacked.originals].into_iter().flatten().map(|(_, last)| (last, false));
        originals
            .chain(resent)
            .filter_map(|(segment, is_resent)| Some((rack.sent_at.get(segment.into())?, segment, is_resent)))
    }

    /// Time at which the host has processed an ACK. A slow host walks over all outstanding segments if the ACK carries
    /// SACK blocks.
    #[cold]
    fn when_host_looks(&mut self, packet: Packet) -> Time {
        let sacks = packet.flags() & flag::BESIDE != 0 && (self.needs.router.is_none() || self.board.sacked() > 0);
        let scanned = if sacks { u64::from(self.next - self.board.una()) } else { 0 };
        self.host.looks_at(packet.at, scanned)
    }
}

/// True if an algorithm needs fields of an ACK besides the sample of the delivery rate.
#[inline(always)]
fn needs_more(needs: Needs) -> bool {
    needs.one_way_delay || needs.window_at_send || needs.router.is_some()
}

/// Fields of an ACK that only some algorithms need, besides the sample of the delivery rate.
struct Wanted<'a> {
    needs: Needs,
    packet: Packet,
    /// Size of a segment on the wire, bytes.
    bytes: f64,
    report: Report,
    /// Time of the host's clock at the start of the run.
    phase: Time,
    /// Send time of the segment that the ACK echoes.
    echoed: Time,
    clocks: Option<&'a (ClockSpec, ClockSpec)>,
    sent_window: &'a SegmentRing<f32>,
}

impl Wanted<'_> {
    /// Fills in the ACK.
    #[inline(never)]
    fn complete(&self, ack: &mut Ack) {
        if self.needs.one_way_delay {
            self.complete_delays(ack);
        }
        let cumulative = self.packet.segment();
        if self.needs.window_at_send && cumulative > 0 {
            ack.window_at_send = self.sent_window.get(u64::from(cumulative - 1)).map_or(0.0, f64::from);
        }
        ack.answer = self.needs.router.map(|router| match router {
            Router::Xcp => Answer::Feedback(f64::from(self.report.feedback) / self.bytes),
            Router::Vcp => Answer::Load(self.load()),
        });
    }

    /// Load that VCP routers report.
    fn load(&self) -> Load {
        match self.packet.flags() {
            flags if flags & flag::ECE != 0 => Load::Overload,
            flags if flags & flag::CWR != 0 => Load::High,
            _ => Load::Low,
        }
    }

    /// Fills in the one-way delay, and the timestamps of Linux's sample.
    fn complete_delays(&self, ack: &mut Ack) {
        let delay = self.one_way_delay();
        ack.owd = Some(delay);
        if let Some(sample) = &mut ack.sample {
            let seconds = |time: Time| time.later(self.phase).seconds();
            sample.timestamps = (seconds(self.echoed), seconds(self.packet.stamp) + delay);
        }
    }

    /// One-way delay of a segment by the two hosts' clocks, s.
    fn one_way_delay(&self) -> f64 {
        let units = self.report.owd;
        let Some(clocks) = self.clocks else { return f64::from(units) * (OWD_UNIT_PS as f64 * 1e-12) };
        let sent = self.packet.stamp;
        let arrived = sent + Time(u64::from(units) * OWD_UNIT_PS);
        (clocks.1.reading(arrived) - clocks.0.reading(sent)) as f64 * 1e-12
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
        let before = bench.sender.rto.srtt;
        bench.arrive(4, 0, None, 20_990);
        let after = before + (0.010 - before) / 8.0;
        assert!((bench.sender.rto.srtt - after).abs() < 1e-6, "10.97 ms, which are 10 ticks of 1 ms");
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
        let before = bench.sender.rto.srtt;
        bench.arrive(0, 4, Some((1, 5)), 10_030);
        assert!((bench.sender.rto.srtt - before).abs() > 1e-9, "an original does");
        let mut bench = Bench::start(30, 10_000, None);
        for segment in 2..=8 {
            bench.arrive(0, segment, Some((2, segment + 1)), 9990 + 10 * u64::from(segment));
        }
        assert_eq!(bench.retransmitted(), [0, 1]);
        let before = bench.sender.rto.srtt;
        bench.arrive(0, 1, Some((1, 9)), 20_990);
        assert!((bench.sender.rto.srtt - before).abs() < 1e-15);
    }

    #[test]
    fn a_retransmission_later_than_the_echoed_timestamp_may_be_spurious() {
        for (sent_us, latest) in [(10_900, (us(10_900), 1)), (12_000, (us(10_070), 0))] {
            let mut bench = Bench::start(30, 10_000, None);
            for segment in 2..=8 {
                bench.arrive(0, segment, Some((2, segment + 1)), 10_000 + 10 * u64::from(segment));
            }
            assert_eq!(bench.retransmitted(), [0, 1]);
            bench.sender.rack.sent_at.set(0, 0, us(10_070));
            bench.sender.rack.sent_at.set(0, 1, us(sent_us));
            // The ACK of both segments echoes the timestamp of segment 0.
            bench.arrive(9, 1, None, 22_500);
            assert_eq!((bench.sender.rack.stamp, bench.sender.rack.segment), latest);
        }
    }

    #[test]
    fn an_ack_that_waited_shows_a_later_retransmission_besides_its_newest_segment() {
        let mut bench = retransmitting();
        assert_eq!(bench.sender.rack.stamp, us(0));
        // The arrival of segment 5, of the first burst, releases the ACK; segment 0 was sent last.
        bench.arrive(6, 5, None, 20_060);
        assert_eq!((bench.sender.rack.stamp, bench.sender.rack.segment), (us(10_020), 0));
    }
}
