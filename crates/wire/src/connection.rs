//! Measurement of a TCP connection on the path: the bytes that arrived, and round-trip times.
//!
//! Linux reports a sender's window and its own estimates. All other values are measured here, independently of the
//! hosts.

use std::collections::{BTreeMap, VecDeque};

/// Conversion of sequence numbers to positions, which are counted from the first byte of data and do not wrap around.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    first: u32,
    highest: u64,
}

impl Numbers {
    /// Position of the byte with a sequence number, which must be within 2 GiB of the highest byte so far.
    fn position(&self, number: u32) -> Option<u64> {
        let near = self.first.wrapping_add(self.highest as u32);
        self.highest.checked_add_signed(i64::from(number.wrapping_sub(near) as i32))
    }
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at_ns: i64,
    /// Time of delivery to the receiver.
    received_ns: Option<i64>,
    /// True if the segment was retransmitted, so that its ACK gives no RTT sample.
    repeated: bool,
}

/// One direction of data of a connection.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    numbers: Option<Numbers>,
    /// Segments that are not acknowledged, in order.
    outstanding: VecDeque<Sent>,
    acknowledged: u64,
    /// Highest cumulative acknowledgement that the receiver has sent, as a position in the byte stream.
    answered: u64,
    highest_sack: u64,
    /// Position below which all bytes have arrived.
    complete: u64,
    /// Ranges of bytes that arrived above `complete`: begin → end.
    beyond: BTreeMap<u64, u64>,
    beyond_bytes: u64,
    /// Packets with data that entered the path, retransmissions included.
    pub segments_sent: u64,
    /// ACKs from the receiver that advance the cumulative acknowledgement.
    pub answers: u64,
    /// Packets without new data.
    pub duplicates: u64,
}

impl Connection {
    /// Distinct bytes that reached the receiver.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.complete + self.beyond_bytes
    }

    /// Bytes cumulatively acknowledged at the sender.
    #[must_use]
    pub fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged
    }

    /// Records data that the sender puts on the path.
    pub fn on_sent(&mut self, sequence: u32, payload: u32, at_ns: i64) {
        let numbers = self.numbers.get_or_insert(Numbers { first: sequence, highest: 0 });
        let Some(begin) = numbers.position(sequence) else { return };
        let end = begin + u64::from(payload);
        self.segments_sent += 1;
        if begin >= numbers.highest {
            numbers.highest = end;
            self.outstanding.push_back(Sent { end, at_ns, received_ns: None, repeated: false });
            return;
        }
        let first = self.outstanding.partition_point(|sent| sent.end <= begin);
        for sent in self.outstanding.range_mut(first..) {
            sent.repeated = true;
            if sent.end >= end {
                break;
            }
        }
    }

    /// Records data that reaches the receiver.
    pub fn on_received(&mut self, sequence: u32, payload: u32, at_ns: i64) {
        let Some(begin) = self.numbers.and_then(|numbers| numbers.position(sequence)) else { return };
        let (before, end) = (self.received_bytes(), begin + u64::from(payload));
        self.receive(begin, end);
        let position = self.outstanding.partition_point(|sent| sent.end < end);
        if let Some(sent) = self.outstanding.get_mut(position) {
            sent.received_ns.get_or_insert(at_ns);
        }
        self.duplicates += u64::from(self.received_bytes() == before);
    }

    fn receive(&mut self, mut begin: u64, mut end: u64) {
        if end <= self.complete {
            return;
        }
        if begin > self.complete {
            // Merges the new range with ranges that it overlaps or adjoins.
            while let Some((&left, &right)) =
                self.beyond.range(..=end).next_back().filter(|(_, right)| **right >= begin)
            {
                self.beyond.remove(&left);
                self.beyond_bytes -= right - left;
                (begin, end) = (begin.min(left), end.max(right));
            }
            self.beyond.insert(begin, end);
            self.beyond_bytes += end - begin;
            return;
        }
        self.complete = end;
        while let Some((&left, &right)) = self.beyond.first_key_value().filter(|(left, _)| **left <= self.complete) {
            self.beyond.remove(&left);
            self.beyond_bytes -= right - left;
            self.complete = self.complete.max(right);
        }
    }

    /// Records an ACK that the receiver puts on the path. Returns the time between the arrival of the last newly
    /// acknowledged segment and the ACK, ns.
    ///
    /// Returns `None` if the segment was above another gap. The acknowledgement of a segment above a gap waits until
    /// the gap is filled, so this acknowledgement does not show the receiver's delay.
    pub fn on_answered(&mut self, number: u32, at_ns: i64) -> Option<i64> {
        let acknowledged = self.numbers?.position(number).filter(|position| *position > self.answered)?;
        self.answered = acknowledged;
        self.answers += 1;
        let position = self.outstanding.partition_point(|sent| sent.end < acknowledged);
        let last = self.outstanding.get(position).filter(|sent| sent.end == acknowledged && !sent.repeated)?;
        if position > 0 && self.outstanding[position - 1].received_ns > last.received_ns {
            return None;
        }
        Some(at_ns - last.received_ns?)
    }

    /// Records an ACK that reaches the sender. Returns the round-trip time that the ACK measures, ns.
    ///
    /// The ACK gives a sample only if the last newly acknowledged segment was sent once and was not SACKed before
    /// (Karn's rule, as in Linux).
    pub fn on_acknowledged(&mut self, number: u32, highest_sack: Option<u32>, at_ns: i64) -> Option<i64> {
        let numbers = self.numbers?;
        let acknowledged = numbers.position(number).filter(|&position| position <= numbers.highest)?;
        let sacked_before = self.highest_sack;
        let sacked = highest_sack.and_then(|edge| numbers.position(edge)).filter(|&edge| edge <= numbers.highest);
        self.highest_sack = self.highest_sack.max(sacked.unwrap_or(0));
        if acknowledged <= self.acknowledged {
            return None;
        }
        self.acknowledged = acknowledged;
        let mut last = None;
        while self.outstanding.front().is_some_and(|sent| sent.end <= acknowledged) {
            last = self.outstanding.pop_front();
        }
        last.filter(|sent| !sent.repeated && sent.end > sacked_before).map(|sent| at_ns - sent.at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u32 = u32::MAX - 1500;

    fn sent(segments: u32) -> Connection {
        let mut connection = Connection::default();
        (0..segments).for_each(|k| connection.on_sent(FIRST.wrapping_add(1000 * k), 1000, i64::from(k)));
        connection
    }

    fn number(position: u32) -> u32 {
        FIRST.wrapping_add(position)
    }

    #[test]
    fn what_comes_out_of_order_and_twice_is_counted_once() {
        let mut connection = sent(6);
        for k in [0, 4, 2, 4, 3, 0, 1, 5] {
            connection.on_received(number(1000 * k), 1000, 0);
        }
        assert_eq!((connection.received_bytes(), connection.duplicates), (6000, 2));
        assert!(connection.beyond.is_empty());
    }

    #[test]
    fn a_part_that_overlaps_counts_its_new_bytes() {
        let mut connection = sent(6);
        connection.on_received(number(2000), 1000, 0);
        connection.on_received(number(1500), 2000, 0);
        assert_eq!((connection.received_bytes(), connection.duplicates), (2000, 0));
        connection.on_received(number(0), 1700, 0);
        assert_eq!((connection.received_bytes(), connection.complete), (3500, 3500));
    }

    #[test]
    fn an_ack_measures_the_last_segment_that_it_newly_acknowledges() {
        let mut connection = sent(4);
        assert_eq!(connection.on_acknowledged(number(2000), None, 100), Some(99));
        assert_eq!(connection.on_acknowledged(number(2000), None, 110), None);
        assert_eq!(connection.on_acknowledged(number(4000), None, 120), Some(117));
    }

    #[test]
    fn a_receiver_is_timed_by_the_last_segment_that_it_acknowledges_in_order() {
        let mut connection = sent(5);
        connection.on_received(number(0), 1000, 10);
        connection.on_received(number(1000), 1000, 20);
        assert_eq!(connection.on_answered(number(2000), 23), Some(3));
        assert_eq!(connection.on_answered(number(2000), 24), None, "a duplicate ACK");
        // The fourth segment arrives before the third. The gap, and not the receiver, delays the acknowledgement of the
        // fourth segment.
        connection.on_received(number(3000), 1000, 30);
        connection.on_received(number(2000), 1000, 40);
        assert_eq!(connection.on_answered(number(4000), 41), None);
        assert_eq!(connection.answers, 2);
    }

    #[test]
    fn what_was_sent_again_or_acknowledged_selectively_before_measures_nothing() {
        let mut connection = sent(4);
        connection.on_sent(number(0), 1000, 50);
        assert_eq!(connection.segments_sent, 5);
        assert_eq!(connection.on_acknowledged(number(0), Some(number(2000)), 60), None);
        assert_eq!(connection.on_acknowledged(number(1000), None, 90), None, "sent twice");
        assert_eq!(connection.on_acknowledged(number(2000), None, 91), None, "it came long before");
        assert_eq!(connection.on_acknowledged(number(3000), None, 92), Some(90));
    }

    #[test]
    fn the_segments_beside_one_that_was_sent_again_measure() {
        let mut connection = sent(4);
        connection.on_sent(number(1000), 1000, 50);
        assert_eq!(connection.on_acknowledged(number(1000), None, 60), Some(60));
        assert_eq!(connection.on_acknowledged(number(2000), None, 90), None, "sent twice");
        assert_eq!(connection.on_acknowledged(number(3000), None, 91), Some(89));
    }
}
