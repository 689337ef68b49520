//! Delivery-rate samples, and what else is remembered of each segment for the algorithms that ask
//! (draft-ietf-ccwg-bbr section 4.1, Delivery Rate Samples).

use elephan_cc::{Delivery, Lost};

use super::widen;
use crate::time::Time;

/// The connection when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    sent: Time,
    /// `P.delivered`.
    delivered: u64,
    /// `P.delivered_time`.
    delivered_at: Time,
    /// `P.first_send_time`.
    first_sent: Time,
    /// `P.lost`.
    lost: u64,
    /// `P.tx_in_flight`.
    in_flight: u32,
    /// `P.is_app_limited`.
    app_limited: bool,
}

/// Counts what is delivered and lost, and knows for each outstanding segment how much that was when it was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sampler {
    records: Vec<Record>,
    /// `C.delivered`.
    delivered: u64,
    /// `C.delivered_time`.
    delivered_at: Time,
    /// `C.first_send_time`.
    first_sent: Time,
    lost: u64,
    /// `C.app_limited`: the count of delivered segments at which the application-limited phase is over; 0 outside one.
    app_limited_until: u64,
    /// The latest sample, and `P.lost` of its segment.
    newest: Option<Delivery>,
    lost_before: u64,
}

impl Sampler {
    /// A segment goes out; `una` is the lowest outstanding one, `in_flight` counts it.
    pub(super) fn on_sent(&mut self, segment: u32, una: u32, in_flight: u32, now: Time) {
        if in_flight <= 1 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        widen(&mut self.records, una, (segment.max(una) - una + 2) as usize);
        let mask = self.records.len() - 1;
        self.records[segment as usize & mask] = Record {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until != 0,
        };
    }

    /// An ACK delivers `count` segments, the newest of them `segment`.
    pub(super) fn on_delivered(&mut self, segment: u32, count: u32, now: Time, min_rtt: f64) {
        self.newest = None;
        self.delivered += u64::from(count);
        self.delivered_at = now;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if count == 0 || self.records.is_empty() {
            return;
        }
        let record = self.records[segment as usize & (self.records.len() - 1)];
        self.first_sent = record.sent;
        let sending = record.sent.since(record.first_sent);
        let acknowledging = now.since(record.delivered_at);
        let interval = sending.max(acknowledging).seconds();
        let delivered = (self.delivered - record.delivered) as f64;
        self.lost_before = record.lost;
        self.newest = Some(Delivery {
            rate: (interval >= min_rtt && interval > 0.0).then(|| delivered / interval),
            interval,
            delivered: self.delivered as f64,
            prior_delivered: record.delivered as f64,
            app_limited: record.app_limited,
            tx_in_flight: f64::from(record.in_flight),
            lost: 0.0,
        });
    }

    /// The sample of the ACK of now, with the losses that it has shown.
    pub(super) fn sample(&self) -> Option<Delivery> {
        self.newest.map(|sample| Delivery { lost: (self.lost - self.lost_before) as f64, ..sample })
    }

    /// A segment is found lost.
    pub(super) fn on_lost(&mut self, segment: u32, now: Time) -> Lost {
        self.lost += 1;
        let record = if self.records.is_empty() {
            Record::default()
        } else {
            self.records[segment as usize & (self.records.len() - 1)]
        };
        Lost {
            now: now.seconds(),
            sent_at: record.sent.seconds(),
            delivered: self.delivered as f64,
            prior_delivered: record.delivered as f64,
            app_limited: record.app_limited,
            tx_in_flight: f64::from(record.in_flight),
            lost: (self.lost - record.lost) as f64,
        }
    }

    /// The application has nothing more to send while `in_flight` segments are outstanding.
    pub(super) fn on_application_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(sampler: &mut Sampler, segment: u32, now: Time, min_rtt: f64) -> Delivery {
        sampler.on_delivered(segment, 1, now, min_rtt);
        sampler.sample().expect("it was sent")
    }

    fn at(ms: u64) -> Time {
        Time(ms * Time::MILLISECOND.0)
    }

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_the_two_times() {
        let mut sampler = Sampler::default();
        // Ten segments at once; their ACKs come 10 ms apart from 100 ms on.
        for segment in 0..10 {
            sampler.on_sent(segment, 0, segment + 1, Time::ZERO);
        }
        let first = deliver(&mut sampler, 0, at(100), at(100).seconds());
        assert_eq!((first.rate, first.prior_delivered, first.tx_in_flight), (Some(1.0 / at(100).seconds()), 0.0, 1.0));
        for segment in 1..9 {
            sampler.on_delivered(segment, 1, at(100 + 10 * u64::from(segment)), at(100).seconds());
        }
        let last = deliver(&mut sampler, 9, at(190), at(100).seconds());
        assert!((last.rate.expect("the interval is long enough") - 10.0 / 0.19).abs() < 1e-9);
        // Sent when the first was acknowledged, acknowledged 100 ms later: ten segments in 100 ms.
        let mut sampler = Sampler::default();
        for segment in 0..10 {
            sampler.on_sent(segment, 0, segment + 1, at(10 * u64::from(segment)));
        }
        for segment in 0..10 {
            sampler.on_delivered(segment, 1, at(100 + 10 * u64::from(segment)), at(100).seconds());
            sampler.on_sent(10 + segment, segment + 1, 10, at(100 + 10 * u64::from(segment)));
        }
        let steady = deliver(&mut sampler, 10, at(200), at(100).seconds());
        assert!((steady.rate.expect("the interval is long enough") - 100.0).abs() < 1e-9);
    }

    #[test]
    fn an_interval_shorter_than_the_smallest_rtt_gives_no_rate() {
        let mut sampler = Sampler::default();
        sampler.on_sent(0, 0, 1, Time::ZERO);
        assert_eq!(deliver(&mut sampler, 0, at(50), 0.1).rate, None);
    }

    #[test]
    fn losses_are_counted_from_the_sending_of_the_segment() {
        let mut sampler = Sampler::default();
        sampler.on_sent(0, 0, 1, Time::ZERO);
        sampler.on_sent(1, 0, 2, at(1));
        assert_eq!(sampler.on_lost(0, at(5)).lost, 1.0);
        sampler.on_sent(2, 0, 2, at(6));
        let second = sampler.on_lost(1, at(9));
        assert_eq!((second.lost, second.tx_in_flight, second.sent_at), (2.0, 2.0, 0.001));
        assert_eq!(deliver(&mut sampler, 2, at(106), 0.1).lost, 1.0);
    }

    #[test]
    fn an_application_limited_phase_ends_when_what_was_in_flight_is_delivered() {
        let mut sampler = Sampler::default();
        sampler.on_sent(0, 0, 1, Time::ZERO);
        sampler.on_application_limited(1);
        sampler.on_sent(1, 0, 2, at(1));
        assert!(!deliver(&mut sampler, 0, at(100), 0.1).app_limited);
        assert!(deliver(&mut sampler, 1, at(101), 0.1).app_limited);
        sampler.on_sent(2, 2, 1, at(102));
        assert!(!deliver(&mut sampler, 2, at(202), 0.1).app_limited);
    }
}
