//! Delivery-rate samples.

use std::collections::VecDeque;

use super::{SegmentRing, seconds};
use crate::ack::Delivery;
use crate::reports::Lost;

/// State of the connection when segments were sent, which those that leave together share. Instants are in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// `P.sent_time`.
    sent: u64,
    /// `P.delivered`.
    delivered: u64,
    /// `P.delivered_time`.
    delivered_at: u64,
    /// `P.first_send_time`.
    first_sent: u64,
    /// `P.lost`.
    lost: u64,
    /// `P.is_app_limited`.
    app_limited: bool,
}

/// Record of an outstanding segment: few bytes, since there may be millions.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Number of the [`State`]; 0 for none.
    state: u32,
    /// `P.tx_in_flight`.
    in_flight: u32,
}

/// The states that records name, by numbers that wrap.
#[derive(Clone, Debug, Default)]
struct States {
    /// The states from the number `first` on.
    kept: VecDeque<State>,
    first: u32,
    /// The last state, and its number.
    latest: (State, u32),
    /// Number of states from which those that no record names are dropped.
    most: usize,
}

/// Fewest states that are looked through, and outstanding segments for each further state: looking through their records then
/// costs little for each segment.
const FEWEST_STATES: usize = 1024;
const SEGMENTS_PER_STATE: usize = 4;

impl States {
    /// Number of a state, which becomes the last.
    #[inline]
    fn note(&mut self, state: State) -> u32 {
        if self.latest.0 != state || self.kept.is_empty() {
            self.kept.push_back(state);
            self.latest = (state, self.first.wrapping_add(self.kept.len() as u32));
        }
        self.latest.1
    }

    /// The state of a record.
    #[inline]
    fn of(&self, record: Record) -> Option<State> {
        self.kept.get(record.state.wrapping_sub(self.first).wrapping_sub(1) as usize).copied()
    }

    /// Drops the states before those of these records, which are those of the outstanding segments.
    #[cold]
    #[inline(never)]
    fn keep_those_of(&mut self, records: impl Iterator<Item = Record>) {
        let mut outstanding = 0;
        let place = |record: Record| record.state.wrapping_sub(self.first) as usize;
        let oldest = records.inspect(|_| outstanding += 1).map(place).min().unwrap_or(0);
        let dropped = oldest.saturating_sub(1).min(self.kept.len() - 1);
        self.kept.drain(..dropped);
        self.first = self.first.wrapping_add(dropped as u32);
        self.most = 2 * self.kept.len() + FEWEST_STATES.max(outstanding / SEGMENTS_PER_STATE);
    }
}

/// Estimator of the delivery rate. Each ACK gives a sample: the segments delivered since the ACK's newest segment was
/// sent, divided by the elapsed time ([`Ack::delivery`](crate::Ack::delivery), [`Lost`]).
///
/// The sampler follows draft-ietf-ccwg-bbr §4.1 (Delivery Rate Samples; earlier
/// draft-cheng-iccrg-delivery-rate-estimation), and keeps the names of the draft's variables. The sampler counts in
/// segments. A sample is taken from the newest segment that an ACK reports, so the sampler is given this segment and
/// the total number of delivered segments.
#[derive(Clone, Debug, Default)]
pub struct DeliverySampler {
    records: SegmentRing<Record>,
    states: States,
    /// `C.delivered`.
    delivered: u64,
    /// `C.delivered_time`.
    delivered_at: u64,
    /// `C.first_send_time`.
    first_sent: u64,
    /// `C.lost`.
    lost: u64,
    /// `C.app_limited`: the count of delivered segments at which the application-limited phase is over.
    app_limited_until: Option<u64>,
    /// The latest sample.
    newest: Option<Newest>,
    /// Number of the next new segment.
    next: u64,
    /// True for Linux's rules: intervals are differences of a clock that counts whole microseconds, and both times start
    /// anew only if no segment is unacknowledged (`packets_out`). In the draft, they also do if all are SACKed or lost.
    /// In Linux, the segments that leave before the first delivery are application-limited: the application finds an
    /// empty buffer when it first writes (`tcp_rate_check_app_limited`).
    is_linux: bool,
}

/// Corrects a number of microseconds that rounding put just below a whole number.
const WHOLE: f64 = 1e-3;
/// Picoseconds in a microsecond.
const US: u64 = 1_000_000;

/// A sample in integers. When the sample is read, [`DeliverySampler::sample`] converts it to seconds and floating
/// point.
#[derive(Clone, Copy, Debug)]
struct Newest {
    interval_ps: u64,
    min_rtt: f64,
    delivered: u64,
    prior_delivered: u64,
    /// `P.lost` of the sample's segment.
    lost_before: u64,
    in_flight: u32,
    app_limited: bool,
}

/// A number of segments, below 2⁶³.
#[inline]
fn count(segments: u64) -> f64 {
    // A signed conversion is one instruction; an unsigned conversion takes several.
    segments as i64 as f64
}

impl DeliverySampler {
    /// A sampler without samples, with Linux's rules or the draft's.
    #[must_use]
    pub fn new(is_linux: bool) -> Self {
        Self { is_linux, app_limited_until: is_linux.then_some(0), ..Self::default() }
    }

    /// Records a segment sent at `now_ps`. `una` is the lowest outstanding segment. `in_flight` is the number of
    /// outstanding segments, this one included.
    #[inline]
    pub fn on_sent(&mut self, segment: u64, una: u64, in_flight: u32, now_ps: u64) {
        let was_idle = if self.is_linux { segment == una && segment >= self.next } else { in_flight <= 1 };
        self.next = self.next.max(segment + 1);
        if was_idle {
            self.first_sent = now_ps;
            self.delivered_at = now_ps;
        }
        let state = self.states.note(State {
            sent: now_ps,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            app_limited: self.app_limited_until.is_some(),
        });
        self.records.set(una, segment, Record { state, in_flight });
        if self.states.kept.len() > self.states.most {
            let outstanding = una.saturating_sub(1)..self.next;
            self.states.keep_those_of(outstanding.filter_map(|segment| self.records.get(segment)));
        }
    }

    /// Records the segments from `first` to before `past`, sent together at `now_ps`; `in_flight` includes the first of
    /// them only.
    pub fn on_sent_together(&mut self, first: u64, past: u64, una: u64, in_flight: u32, now_ps: u64) {
        self.on_sent(first, una, in_flight, now_ps);
        let record = self.records.get(first).unwrap_or_default();
        self.next = self.next.max(past);
        self.records.fill_with(una, first, past, |place| Record { in_flight: in_flight + place, ..record });
    }

    /// Records an ACK that arrives at `now_ps` and delivers `count` segments, of which `segment` is the newest.
    /// `min_rtt`, s, is the smallest RTT, the RTT of this ACK included.
    #[inline]
    pub fn on_delivered(&mut self, segment: u64, count: u32, now_ps: u64, min_rtt: f64) {
        self.newest = None;
        self.delivered += u64::from(count);
        self.delivered_at = now_ps;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        if count == 0 {
            return;
        }
        let Some(record) = self.records.get(segment) else { return };
        let state = self.states.of(record).unwrap_or_default();
        self.first_sent = state.sent;
        let whole_us = self.is_linux;
        let between = |from: u64, to: u64| {
            if whole_us { US * (to / US).saturating_sub(from / US) } else { to.saturating_sub(from) }
        };
        let sending = between(state.first_sent, state.sent);
        let acknowledging = between(state.delivered_at, now_ps);
        self.newest = Some(Newest {
            interval_ps: sending.max(acknowledging),
            min_rtt: if whole_us { (min_rtt * 1e6 + WHOLE).floor() * 1e-6 } else { min_rtt },
            delivered: self.delivered,
            prior_delivered: state.delivered,
            lost_before: state.lost,
            in_flight: record.in_flight,
            app_limited: state.app_limited,
        });
    }

    /// The slots of the segments in flight, and the position of `segment` among them, for prefetching.
    #[must_use]
    #[inline]
    pub fn place(&self, segment: u64) -> (&[impl Sized], usize) {
        self.records.place(segment)
    }

    /// Sample of the latest ACK, with the losses that the ACK showed; `None` if the ACK delivered no segment.
    #[must_use]
    #[inline]
    pub fn sample(&self) -> Option<Delivery> {
        let newest = self.newest?;
        let interval = seconds(newest.interval_ps);
        let delivered = count(newest.delivered - newest.prior_delivered);
        Some(Delivery {
            rate: (interval >= newest.min_rtt && interval > 0.0).then(|| delivered / interval),
            interval,
            delivered: count(newest.delivered),
            prior_delivered: count(newest.prior_delivered),
            app_limited: newest.app_limited,
            tx_in_flight: f64::from(newest.in_flight),
            lost: count(self.lost - newest.lost_before),
            departs_in: 0.0,
        })
    }

    /// Records a segment declared lost at `now_ps`. A segment that was never reported as sent counts as sent at time 0.
    pub fn on_lost(&mut self, segment: u64, now_ps: u64) -> Lost {
        self.lost += 1;
        let record = self.records.get(segment).unwrap_or_default();
        let state = self.states.of(record).unwrap_or_default();
        Lost {
            now: seconds(now_ps),
            sent_at: seconds(state.sent),
            delivered: self.delivered as f64,
            prior_delivered: state.delivered as f64,
            app_limited: state.app_limited,
            tx_in_flight: f64::from(record.in_flight),
            lost: (self.lost - state.lost) as f64,
            by_timer: false,
        }
    }

    /// True while the application limits the delivery rate.
    pub fn is_application_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Records that the application has nothing more to send while `in_flight` segments are outstanding.
    pub fn on_application_limited(&mut self, in_flight: u32) {
        // The draft's count is at least 1. That of Linux includes the handshake.
        let least = u64::from(!self.is_linux);
        self.app_limited_until = Some((self.delivered + u64::from(in_flight)).max(least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(sampler: &mut DeliverySampler, segment: u64, now_ps: u64, min_rtt: f64) -> Delivery {
        sampler.on_delivered(segment, 1, now_ps, min_rtt);
        sampler.sample().expect("it was sent")
    }

    fn at(ms: u64) -> u64 {
        ms * 1_000_000_000
    }

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_the_two_times() {
        let mut sampler = DeliverySampler::default();
        // Ten segments are sent at once. Their ACKs arrive every 10 ms, beginning at 100 ms.
        for segment in 0..10 {
            sampler.on_sent(segment, 0, segment as u32 + 1, 0);
        }
        let first = deliver(&mut sampler, 0, at(100), seconds(at(100)));
        assert_eq!((first.rate, first.prior_delivered, first.tx_in_flight), (Some(1.0 / seconds(at(100))), 0.0, 1.0));
        for segment in 1..9 {
            sampler.on_delivered(segment, 1, at(100 + 10 * segment), seconds(at(100)));
        }
        let last = deliver(&mut sampler, 9, at(190), seconds(at(100)));
        assert!((last.rate.expect("the interval is long enough") - 10.0 / 0.19).abs() < 1e-9);
        // A segment that is sent at the first ACK is acknowledged 100 ms later: ten segments are delivered in 100 ms.
        let mut sampler = DeliverySampler::default();
        for segment in 0..10 {
            sampler.on_sent(segment, 0, segment as u32 + 1, at(10 * segment));
        }
        for segment in 0..10 {
            sampler.on_delivered(segment, 1, at(100 + 10 * segment), seconds(at(100)));
            sampler.on_sent(10 + segment, segment + 1, 10, at(100 + 10 * segment));
        }
        let steady = deliver(&mut sampler, 10, at(200), seconds(at(100)));
        assert!((steady.rate.expect("the interval is long enough") - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_interval_shorter_than_the_smallest_rtt_gives_no_rate() {
        let mut sampler = DeliverySampler::default();
        sampler.on_sent(0, 0, 1, 0);
        assert_eq!(deliver(&mut sampler, 0, at(50), 0.1).rate, None);
    }

    #[test]
    fn losses_are_counted_from_the_sending_of_the_segment() {
        let mut sampler = DeliverySampler::default();
        sampler.on_sent(0, 0, 1, 0);
        sampler.on_sent(1, 0, 2, at(1));
        assert_eq!(sampler.on_lost(0, at(5)).lost, 1.0);
        sampler.on_sent(2, 0, 2, at(6));
        let second = sampler.on_lost(1, at(9));
        assert_eq!((second.lost, second.tx_in_flight, second.sent_at), (2.0, 2.0, 0.001));
        assert_eq!(deliver(&mut sampler, 2, at(106), 0.1).lost, 1.0);
    }

    #[test]
    fn the_states_of_outstanding_segments_are_kept_and_few_others() {
        let mut sampler = DeliverySampler::default();
        for segment in 0..100_000_u64 {
            let una = segment.saturating_sub(500);
            sampler.on_sent(segment, una, 500, at(segment));
            if una > 0 {
                sampler.on_delivered(una, 1, at(segment), 0.0);
                let sample = sampler.sample().expect("it was sent");
                // The latest delivery before the segment left was 501 ms ago.
                let is_right =
                    (sample.interval - 0.501).abs() < 1e-9 && sample.delivered - sample.prior_delivered == 501.0;
                assert!(una < 502 || is_right, "{sample:?}");
            }
        }
        assert!(sampler.states.kept.len() < 2 * 502 + FEWEST_STATES + 1, "{}", sampler.states.kept.len());
        (0..9).for_each(|place| sampler.on_sent(100_000 + place, 99_600, 400, at(200_000)));
        let together = sampler.records.get(100_000).expect("it was sent");
        assert_eq!(sampler.states.of(together), sampler.states.kept.back().copied());
    }

    #[test]
    fn lost_segments_stop_the_clocks_of_the_draft_and_not_those_of_linux() {
        for (is_linux, interval_ms) in [(false, 100), (true, 300)] {
            let mut sampler = DeliverySampler::new(is_linux);
            sampler.on_sent(0, 0, 1, 0);
            sampler.on_lost(0, at(200));
            sampler.on_sent(0, 0, 1, at(200));
            let found = deliver(&mut sampler, 0, at(300), 0.1);
            assert!((found.interval - seconds(at(interval_ms))).abs() < 1e-9, "{}", found.interval);
            sampler.on_sent(1, 1, 1, at(500));
            assert!((deliver(&mut sampler, 1, at(600), 0.1).interval - 0.1).abs() < 1e-9, "nothing was outstanding");
        }
    }

    #[test]
    fn in_linux_the_segments_before_the_first_delivery_are_application_limited() {
        for is_linux in [false, true] {
            let mut sampler = DeliverySampler::new(is_linux);
            (0..3).for_each(|segment| sampler.on_sent(segment, 0, segment as u32 + 1, 0));
            assert_eq!(deliver(&mut sampler, 0, at(100), 0.1).app_limited, is_linux);
            sampler.on_sent(3, 1, 3, at(100));
            assert_eq!(deliver(&mut sampler, 1, at(101), 0.1).app_limited, is_linux);
            assert!(!deliver(&mut sampler, 3, at(201), 0.1).app_limited);
        }
    }

    #[test]
    fn an_application_limited_phase_ends_when_what_was_in_flight_is_delivered() {
        let mut sampler = DeliverySampler::default();
        sampler.on_sent(0, 0, 1, 0);
        sampler.on_application_limited(1);
        sampler.on_sent(1, 0, 2, at(1));
        assert!(!deliver(&mut sampler, 0, at(100), 0.1).app_limited);
        assert!(deliver(&mut sampler, 1, at(101), 0.1).app_limited);
        sampler.on_sent(2, 2, 1, at(102));
        assert!(!deliver(&mut sampler, 2, at(202), 0.1).app_limited);
    }
}
