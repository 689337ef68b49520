//! Trains at a receiver: one arrival that stands for several segments, and one ACK that stands for all of theirs.

use super::Receiver;
use crate::packet::{MOST_IN_REPORT, Packet};
use crate::sidecar::Sidecar;

impl Receiver {
    /// Handles a train of new segments. Returns the ACKs of its segments; in order, none of them waits for further segments.
    #[inline(never)]
    pub(super) fn on_train(&mut self, train: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        let (count, last) = (train.count(), train.last_of_train());
        let first = train.segment() - (count - 1);
        if !self.arrivals.is_next(first) || !self.echo.is_clear(train) {
            return self.on_train_with_care(first, &last, beside);
        }
        self.begin(train.at);
        self.establish(train.at);
        self.arrivals.take_next_train(train);
        let acks = self.schedule.take_train(train.at, count);
        self.echo.set_latest(&last);
        self.schedule.note_clean_ack();
        let ack = self.answer(&last, 0);
        self.acks_sent += u64::from(acks - 1);
        Some(ack.as_train(acks, train.span()))
    }

    /// Handles a train while segments are missing: the segments from `first` on arrive with the last, whose ACK reports all,
    /// and stands for at most [`MOST_IN_REPORT`].
    fn on_train_with_care(&mut self, first: u32, last: &Packet, beside: &mut Sidecar) -> Option<Packet> {
        self.begin(last.at);
        self.establish(last.at);
        let released = self.release_waiting(first, last.at, beside);
        for segment in first..last.segment() {
            self.arrivals.note_bytes(last);
            self.take(segment);
        }
        if released.is_some() {
            self.arrivals.note_bytes(last);
            self.take(last.segment());
            self.echo.set_latest(last);
            return released;
        }
        let ack = self.on_segment(last, beside)?;
        if self.schedule.compresses() {
            return Some(ack);
        }
        let others = (last.segment() - first).min(MOST_IN_REPORT - 1);
        self.acks_sent += u64::from(others);
        Some(ack.as_train(others + 1, crate::time::Time::ZERO))
    }
}
