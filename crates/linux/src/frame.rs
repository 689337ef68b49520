//! Frames of the guest's devices: addresses, size and ECN bits.

use std::net::Ipv4Addr;

use etherparse::{Ethernet2Header, IpEcn, Ipv4Header, Ipv4HeaderSlice};

use crate::device::NET_HEADER_BYTES;

/// Offset of the IP packet.
const IP: usize = NET_HEADER_BYTES + Ethernet2Header::LEN;

/// Properties of a packet that the engine needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Size of the IP packet, bytes.
    pub bytes: u16,
    /// ECN bits.
    pub ecn: IpEcn,
}

/// Reads the headers of a frame; `None` if it is not IPv4.
pub fn seen(frame: &[u8]) -> Option<Seen> {
    let header = Ipv4HeaderSlice::from_slice(frame.get(IP..)?).ok()?;
    Some(Seen {
        source: header.source_addr(),
        destination: header.destination_addr(),
        bytes: header.total_len(),
        ecn: header.ecn(),
    })
}

/// Marks a packet with Congestion Experienced (CE).
pub fn mark(frame: &mut [u8]) -> Option<()> {
    let (mut header, _) = Ipv4Header::from_slice(frame.get(IP..)?).ok()?;
    header.ecn = IpEcn::CongestionExperienced;
    header.header_checksum = header.calc_header_checksum();
    let bytes = header.to_bytes();
    frame[IP..IP + bytes.len()].copy_from_slice(&bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Vec<u8> {
        let mut header = Ipv4Header::new(100, 64, etherparse::IpNumber::TCP, [198, 18, 0, 1], [198, 19, 0, 1])
            .expect("it is short enough");
        header.ecn = IpEcn::Ect0;
        header.header_checksum = header.calc_header_checksum();
        [&[0; IP][..], &header.to_bytes(), &[7; 100]].concat()
    }

    #[test]
    fn a_mark_changes_two_bits_and_the_checksum() {
        let (before, mut after) = (frame(), frame());
        let found = seen(&before).expect("it is of IPv4");
        assert_eq!((found.bytes, found.ecn), (120, IpEcn::Ect0));
        assert_eq!(found.source, Ipv4Addr::new(198, 18, 0, 1));
        mark(&mut after).expect("it is of IPv4");
        let marked = Ipv4HeaderSlice::from_slice(&after[IP..]).expect("it is whole").to_header();
        assert_eq!(marked.ecn, IpEcn::CongestionExperienced);
        assert_eq!(marked.header_checksum, marked.calc_header_checksum());
        let changed = before.iter().zip(&after).filter(|(one, other)| one != other).count();
        assert!((2..=3).contains(&changed), "{changed} bytes changed");
        assert_eq!(seen(&[0; 30]), None);
    }
}
