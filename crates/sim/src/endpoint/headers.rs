//! Congestion headers travel beside the packets, so that a packet stays small: a segment only has the number of its header.

use crate::packet::Packet;

/// What a segment of XCP carries, in the form of the paper's Appendix A that spares routers divisions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    /// Its sender's round-trip time, s (`H_rtt`); 0 where that is not known yet.
    pub rtt: f64,
    /// Packet size × round-trip time / window, s: the distance of the sender's packets.
    pub spacing: f64,
    /// Change of rate that the sender wishes, or that the tightest router so far allows, bytes/s (`H_feedback` / `H_rtt`).
    pub feedback: f64,
}

/// The headers of one flow's segments under way. Numbers begin at 1, so that 0 is no header.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// With how many packets have each.
    slots: Vec<(Header, u32)>,
    free: Vec<u32>,
    /// Packets that have a header.
    under_way: u64,
}

impl Headers {
    /// Keeps a header; the answer goes into the segment.
    pub fn put(&mut self, header: Header) -> u32 {
        self.under_way += 1;
        if let Some(id) = self.free.pop() {
            self.slots[id as usize - 1] = (header, 1);
            return id;
        }
        self.slots.push((header, 1));
        self.slots.len() as u32
    }

    /// The header of a data packet, where it has one.
    #[inline]
    pub fn of(&mut self, packet: &Packet) -> Option<&mut Header> {
        if packet.is_ack() {
            return None;
        }
        let place = packet.extra().checked_sub(1)?;
        self.slots.get_mut(place as usize).map(|slot| &mut slot.0)
    }

    /// A packet is through, or gone: its header with it, unless another has the same.
    pub fn take(&mut self, packet: &Packet) -> Option<Header> {
        let header = *self.of(packet)?;
        self.under_way -= 1;
        let holders = &mut self.slots[packet.extra() as usize - 1].1;
        *holders -= 1;
        if *holders == 0 {
            self.free.push(packet.extra());
        }
        Some(header)
    }

    /// A second packet has the same header from now on.
    pub fn copy(&mut self, packet: &Packet) {
        if self.of(packet).is_some() {
            self.under_way += 1;
            self.slots[packet.extra() as usize - 1].1 += 1;
        }
    }

    /// Packets under way that have a header.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.under_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn segment(id: u32) -> Packet {
        Packet::new(Time(1), Time(1), 0, 7, 1500, 0, id)
    }

    #[test]
    fn headers_are_found_changed_shared_and_given_back() {
        let mut headers = Headers::default();
        let header = |rtt| Header { rtt, ..Header::default() };
        let ids: Vec<u32> = [0.1, 0.2, 0.3].map(|rtt| headers.put(header(rtt))).into();
        assert_eq!(ids, [1, 2, 3]);
        headers.of(&segment(2)).expect("it is there").feedback = -5.0;
        headers.copy(&segment(2));
        assert_eq!(headers.under_way(), 4);
        for _ in 0..2 {
            assert_eq!(headers.take(&segment(2)), Some(Header { rtt: 0.2, feedback: -5.0, ..Header::default() }));
        }
        assert_eq!((headers.put(header(0.4)), headers.under_way()), (2, 3));
        assert!(headers.take(&segment(0)).is_none());
    }
}
