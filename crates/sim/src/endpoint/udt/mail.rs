//! What ACKs and NAKs carry travels beside the packets, so that a packet stays small.

use std::collections::VecDeque;

/// Messages behind the newest that has come which may yet come, where packets overtake each other: ten minutes of ACKs.
const KEPT_LATE: usize = 65_536;

/// What an ACK or a NAK says besides its packet number.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// An ACK.
    Ack {
        /// Its own number, which the ACK2 answers with.
        number: u32,
        /// The receiver's RTT, s. Its variation is in the packet too, and nobody reads it.
        rtt: f64,
        /// Arrival rate and capacity, packets/s; 0 says nothing.
        arrival_rate: f64,
        capacity: f64,
    },
    /// A NAK of one run, `[first, past)`.
    Gap { first: u32, past: u32 },
    /// A NAK that repeats what is still missing.
    Gaps(Box<[(u32, u32)]>),
}

/// Messages of one flow under way, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    messages: VecDeque<Message>,
    first: u32,
    /// Packets may come in another order, or twice.
    loose: bool,
}

impl Mail {
    pub(super) fn new(loose: bool) -> Self {
        Self { messages: VecDeque::new(), first: 0, loose }
    }

    /// Keeps a message; the answer goes into the packet.
    pub(super) fn put(&mut self, message: Message) -> u32 {
        self.messages.push_back(message);
        self.first + (self.messages.len() - 1) as u32
    }

    /// The message of a packet that has come. Those that cannot come any more are forgotten: where packets keep their order,
    /// all before it; it itself with the next.
    pub(super) fn read(&mut self, id: u32) -> Option<&Message> {
        let mut place = id.checked_sub(self.first)? as usize;
        let gone = if self.loose { place.saturating_sub(KEPT_LATE) } else { place };
        self.messages.drain(..gone.min(self.messages.len()));
        self.first += gone as u32;
        place -= gone;
        self.messages.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_of(message: Option<&Message>) -> Option<u32> {
        match message {
            Some(Message::Gap { first, .. }) => Some(*first),
            _ => None,
        }
    }

    #[test]
    fn messages_of_lost_packets_are_forgotten_with_the_next() {
        let mut mail = Mail::new(false);
        let ids: Vec<u32> = (0..5).map(|first| mail.put(Message::Gap { first, past: first + 1 })).collect();
        assert_eq!(first_of(mail.read(ids[2])), Some(2));
        assert_eq!(mail.messages.len(), 3);
        assert_eq!(first_of(mail.read(ids[4])), Some(4));
        assert!(mail.read(ids[3]).is_none());
        assert_eq!(mail.put(Message::Gap { first: 9, past: 10 }), 5);
    }

    #[test]
    fn where_packets_overtake_each_other_late_ones_find_theirs() {
        let mut mail = Mail::new(true);
        let ids: Vec<u32> = (0..4).map(|first| mail.put(Message::Gap { first, past: first + 1 })).collect();
        for id in [ids[3], ids[0], ids[0], ids[2]] {
            assert_eq!(first_of(mail.read(id)), Some(id));
        }
    }
}
