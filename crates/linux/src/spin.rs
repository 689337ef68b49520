//! The spin bit of QUIC (RFC 9000 §17.4), from which a path knows the RTT (RFC 9312 §3.8.2).
//!
//! The client inverts the bit of the newest packet that it got and the server repeats it, so each host changes its bit once
//! in a round trip. Changes are watched where a host sends, since packets are in order there. The time between two of them
//! includes delayed ACKs and the pauses of the application.
//!
//! An end may decline, and then sets the bit at random, so the path cannot see who takes part. But a bit that spins never
//! changes faster than packets can cross the path and come back, and random bits do so at once.

/// Number of changes from which on a bit without a fast one counts as spinning.
const LEAST_CHANGES: u64 = 3;

/// Form of a packet of QUIC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Long header of a version that has the spin bit.
    Long,
    /// Short header, with its spin bit.
    Short(bool),
}

/// Form of the first packet of a datagram; `None` if it is not of QUIC.
pub fn form(payload: &[u8]) -> Option<Form> {
    const LONG: u8 = 0x80;
    const FIXED: u8 = 0x40;
    const SPIN: u8 = 0x20;
    let first = *payload.first()?;
    if first & FIXED == 0 {
        return None;
    }
    if first & LONG == 0 {
        return Some(Form::Short(first & SPIN != 0));
    }
    let version = u32::from_be_bytes(payload.get(1..5)?.try_into().ok()?);
    // Versions 1 (RFC 9000), 2 (RFC 9369), and the drafts of version 1.
    matches!(version, 1 | 0x6b33_43cf | 0xff00_0000..=0xff00_00ff).then_some(Form::Long)
}

/// Destination connection id of a first packet with a long header, in hexadecimal; empty for any other packet.
pub fn destination(payload: &[u8]) -> String {
    let id = || payload.get(6..6 + usize::from(*payload.get(5)?));
    let id = if form(payload) == Some(Form::Long) { id().unwrap_or_default() } else { &[] };
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spin bit of the packets that one host sends.
#[derive(Clone, Debug, Default)]
pub struct Spin {
    /// True if the connection began with a long header, as those of QUIC do.
    is_quic: bool,
    bit: Option<bool>,
    /// Time of the latest change, ns.
    changed_ns: Option<u64>,
    changes: u64,
    /// Shortest time between two changes, ns.
    shortest_ns: Option<u64>,
}

impl Spin {
    /// Sees a packet; returns the time of the change before, ns, if this packet has another change.
    pub fn sent(&mut self, form: Form, now_ns: u64) -> Option<u64> {
        let Form::Short(bit) = form else {
            self.is_quic = true;
            return None;
        };
        if !self.is_quic || self.bit.replace(bit).is_none_or(|before| before == bit) {
            return None;
        }
        self.changes += 1;
        let before_ns = self.changed_ns.replace(now_ns)?;
        let time_ns = now_ns - before_ns;
        self.shortest_ns = Some(self.shortest_ns.map_or(time_ns, |shortest_ns| shortest_ns.min(time_ns)));
        Some(before_ns)
    }

    /// True if both ends use the bit; `least_ns` is the smallest time in which packets cross the path and come back.
    pub fn is_used(&self, least_ns: u64) -> bool {
        self.changes >= LEAST_CHANGES && self.shortest_ns.is_some_and(|shortest_ns| shortest_ns >= least_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bits: &[(u64, bool)]) -> (Spin, Vec<u64>) {
        let mut spin = Spin::default();
        spin.sent(Form::Long, 0);
        let rtts = bits.iter().filter_map(|&(now_ns, bit)| Some(now_ns - spin.sent(Form::Short(bit), now_ns)?));
        let rtts = rtts.collect();
        (spin, rtts)
    }

    #[test]
    fn the_time_between_two_changes_is_a_round_trip() {
        let bits = [(1, false), (5, false), (10, true), (15, true), (20, false), (31, true)];
        let (spin, rtts) = seen(&bits);
        assert_eq!(rtts, [10, 11]);
        assert!(spin.is_used(10));
    }

    #[test]
    fn a_random_or_constant_bit_does_not_spin() {
        let (random, _) = seen(&[(1, false), (2, true), (3, false), (30, true), (31, true)]);
        assert!(!random.is_used(10));
        let (constant, rtts) = seen(&[(1, true), (2, true), (30, true)]);
        assert!(!constant.is_used(10) && rtts.is_empty());
    }

    #[test]
    fn only_packets_of_quic_have_a_form() {
        assert_eq!(form(&[0xc3, 0, 0, 0, 1, 8]), Some(Form::Long));
        assert_eq!(form(&[0xc3, 0, 0, 0, 0, 8]), None);
        assert_eq!(form(&[0x61]), Some(Form::Short(true)));
        assert_eq!(form(&[0x40]), Some(Form::Short(false)));
        assert_eq!((form(&[0x20]), form(&[])), (None, None));
        assert_eq!(destination(&[0xc3, 0, 0, 0, 1, 2, 0xab, 0x0c, 0]), "ab0c");
        assert_eq!((destination(&[0xc3, 0, 0, 0, 1, 2, 0xab]), destination(&[0x40])), (String::new(), String::new()));
        let mut other = Spin::default();
        assert_eq!(other.sent(Form::Short(true), 1).or(other.sent(Form::Short(false), 2)), None);
        assert!(!other.is_used(0));
    }
}
