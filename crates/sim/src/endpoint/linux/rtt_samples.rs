//! RTT samples of SACKed segments, of segments that waited for their ACK, and of retransmissions, as in Linux 6.12
//! (`tcp_sacktag_one`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).

use crate::endpoint::scoreboard::Parts;
use crate::endpoint::sender::Sender;
use crate::endpoint::sender::acks::Report;
use crate::packet::Packet;
use crate::time::Time;

impl Sender {
    /// RTT of the oldest segment that an ACK acknowledges, which the smoothed RTT of Linux uses; all other estimates use
    /// the newest, whose RTT is `rtt` (`first_ackt` and `last_ackt` in `tcp_clean_rtx_queue`).
    #[inline(always)]
    pub(in crate::endpoint) fn rtt_of_oldest(&self, packet: &Packet, oldest: u32, rtt: Time) -> Time {
        let oldest = self.rack.sent(oldest).unwrap_or(packet.stamp);
        rtt + self.clock.rtt(packet.stamp, oldest)
    }

    /// Time that an ACK echoes: the receiver takes that of the oldest segment that it acknowledges, `una` (RFC 7323
    /// section 4.3). If `una` was sent again less than the smallest RTT ago, its original arrived, before the segment
    /// that caused the ACK, and it had left at about the same time.
    #[inline]
    pub(in crate::endpoint) fn echoed_by(&self, packet: &Packet, una: u32) -> Time {
        let can_have_arrived =
            |&sent: &Time| sent <= packet.stamp || self.clock.rtt(packet.at, sent).seconds() >= self.rtt.smallest();
        self.rack.sent(una).filter(can_have_arrived).unwrap_or(packet.stamp)
    }

    /// Takes the RTT samples of an ACK that has SACK blocks, or that follows SACKs or losses. The smoothed RTT takes
    /// the lowest acknowledged segment, or else the lowest SACKed segment; all other estimates take the highest SACKed
    /// segment, or else the highest acknowledged segment. Retransmitted segments give no sample. If there is no sample,
    /// and the ACK advances the left edge of the window, the sample comes from the timestamps (RFC 7323 section 4.1).
    /// Returns the sample, if there is one, and the smallest RTT, s.
    #[inline(never)]
    pub(in crate::endpoint) fn measure_rtt_of_parts(
        &mut self,
        packet: &Packet,
        report: Report,
        parts: Parts,
    ) -> (Option<f64>, f64) {
        if self.repair.is_cwr() {
            let (timers, outstanding) = self.timers();
            timers.keep_probe(packet.at, outstanding);
        }
        let rtt = self.note_rtt(packet);
        let (una, advances) = (report.una, packet.segment() > report.una);
        let echoed = if report.newest != una && advances { self.echoed_by(packet, una) } else { packet.stamp };
        self.note_all_delivered((report.newest, rtt), (packet, echoed), parts);
        let Parts { acknowledged, sacked } = parts;
        let clear = acknowledged.originals.filter(|_| acknowledged.resent.is_none());
        let first = clear.or(sacked.originals).map(|(first, _)| first);
        let last = sacked.originals.or(clear).map(|(_, last)| last);
        let rtt = |segment: u32| Some(self.clock.rtt(packet.at, self.rack.sent(segment)?));
        let (smoothed, sample) = match (first.and_then(rtt), last.and_then(rtt)) {
            (Some(smoothed), Some(sample)) => (smoothed, sample),
            _ if !advances => return (None, self.rtt.smallest_of_data()),
            _ => {
                let sample = self.clock.rtt_of_timestamps(packet.at, echoed);
                (sample, sample)
            }
        };
        self.rtt.smooth(smoothed, self.board.una(), self.next);
        let sample = sample.seconds();
        (Some(sample), self.rtt.on_sample(sample))
    }

    /// Records for RACK the segments that an ACK delivers: its `newest` segment, with an RTT, and the others. Two kinds of
    /// retransmitted segments do not count: those with an RTT below the smallest RTT, whose original arrived
    /// (`tcp_rack_advance`), and those that were sent after the segment whose timestamp the ACK echoes
    /// (`tcp_skb_spurious_retrans`).
    fn note_all_delivered(&mut self, (newest, rtt): (u32, Time), (packet, echoed): (&Packet, Time), parts: Parts) {
        let (rack, clock, smallest) = (&self.rack, self.clock, self.rtt.smallest());
        let (resent, originals) = (parts.acknowledged.resent, parts.acknowledged.originals);
        let newest_original = originals.and_then(|(_, last)| rack.sent(last)).unwrap_or_default();
        let is_unclear = |segment: u32, sent: Time| {
            resent.is_some_and(|(first, last)| (first..=last).contains(&segment))
                && sent > newest_original
                && clock.ms(sent) > clock.ms(echoed)
        };
        let counts = |&(sent, segment, is_resent): &(Time, u32, bool)| {
            !is_resent || (clock.rtt(packet.at, sent).seconds() >= smallest && !is_unclear(segment, sent))
        };
        let latest = self.delivered_by(parts).filter(counts).max();
        // RACK keeps the RTT of the segment that Linux processes last: SACKed segments come first.
        let acknowledged = parts.acknowledged.highest.and_then(|highest| {
            let lowest = resent.map_or(highest, |(first, _)| first).min(originals.map_or(highest, |(_, last)| last));
            let clear = |segment: u32| rack.sent(segment).filter(|&sent| !is_unclear(segment, sent));
            (lowest..=highest).rev().find_map(clear)
        });
        let processed = acknowledged.or_else(|| rack.sent(parts.sacked.highest?));
        let newest_counts = !is_unclear(newest, packet.stamp);
        if newest_counts {
            self.rack.on_delivered(newest, packet.stamp, rtt);
        }
        if let Some((sent, segment, _)) = latest {
            self.rack.on_delivered(segment, sent, clock.rtt(packet.at, sent));
        }
        if let Some(sent) = processed {
            self.rack.on_processed(clock.rtt(packet.at, sent), smallest);
        }
    }

    /// The segment that was sent last, of the segments that an ACK with SACKs delivers.
    #[inline(never)]
    pub(in crate::endpoint) fn sent_last_of(&self, parts: Parts, newest: u32) -> u32 {
        let last = self.delivered_by(parts).map(|(sent, segment, _)| (sent, segment)).max();
        last.map_or(newest, |(_, segment)| segment)
    }

    /// The segments that an ACK delivers and that may have been sent last: send time, number, and true if the segment
    /// was retransmitted. Original segments are sent in the order of their numbers.
    fn delivered_by(&self, Parts { acknowledged, sacked }: Parts) -> impl Iterator<Item = (Time, u32, bool)> {
        let (first, last) = acknowledged.resent.unwrap_or((1, 0));
        // The scoreboard remembers the segments of the last ACK with SACK blocks, which need not be this ACK.
        let resent_sacked = sacked.resent.map_or(&[][..], |_| self.board.fresh_resent());
        let resent = (first..=last).chain(resent_sacked.iter().copied()).map(|segment| (segment, true));
        let originals = [acknowledged.originals, sacked.originals].into_iter().flatten().map(|(_, last)| (last, false));
        originals.chain(resent).filter_map(|(segment, is_resent)| Some((self.rack.sent(segment)?, segment, is_resent)))
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::bench::{Bench, us};
    use crate::endpoint::boundary::Endpoint;

    #[test]
    fn an_original_that_arrives_after_its_retransmission_is_measured_from_its_own_time() {
        let mut bench = Bench::start_reno(30, 10_000);
        while !bench.retransmitted().contains(&0) {
            bench.sender.on_timer(&mut bench.wire);
        }
        let again = bench.wire.sent.last().expect("the retransmission").stamp;
        let at_us = again.0 / us(1).0 + 5000;
        bench.arrive(2, 1, None, at_us);
        let (smallest, since_start) = (bench.sender.rtt.smallest_of_data(), at_us as f64 / 1e6);
        assert!((smallest - since_start).abs() < 1.1e-3, "{smallest} s instead of {since_start} s");
    }
}
