//! Header fields of a frame: Ethernet, IPv4 and, if present, TCP.

use std::net::Ipv4Addr;

/// Bytes of an Ethernet header. Packet sizes in Elephan never include the Ethernet header.
pub const ETHERNET_BYTES: usize = 14;

const IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_TCP: u8 = 6;
const OPTION_END: u8 = 0;
const OPTION_NOTHING: u8 = 1;
const OPTION_SACK: u8 = 5;

/// An IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Size of the packet, IP header included.
    pub bytes: u32,
    /// TCP header of the packet; `None` for other protocols.
    pub tcp: Option<Tcp>,
}

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Port of the source.
    pub source_port: u16,
    /// Port of the destination.
    pub destination_port: u16,
    /// Number of the first byte of data.
    pub sequence: u32,
    /// Next byte that the source expects.
    pub acknowledged: u32,
    /// Bytes of data.
    pub payload: u32,
    /// True for a packet that opens the connection.
    pub syn: bool,
    /// True if [`Tcp::acknowledged`] is valid.
    pub ack: bool,
    /// Sequence number after the highest byte that a SACK block reports.
    pub highest_sack: Option<u32>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads an Ethernet frame; `None` if it does not contain a whole IPv4 header.
#[must_use]
pub fn read(frame: &[u8]) -> Option<Packet> {
    if frame.get(12..ETHERNET_BYTES)? != IPV4 {
        return None;
    }
    let ip = &frame[ETHERNET_BYTES..];
    let header = usize::from(ip.first()? & 0xf) * 4;
    let bytes = u16_at(ip, 2)?;
    let address = |at| Some(Ipv4Addr::from(u32_at(ip, at)?));
    let (source, destination) = (address(12)?, address(16)?);
    let fragment = u16_at(ip, 6)? & 0x1fff;
    let tcp = if ip[9] == PROTOCOL_TCP && fragment == 0 { read_tcp(ip, header, usize::from(bytes)) } else { None };
    Some(Packet { source, destination, bytes: u32::from(bytes), tcp })
}

fn read_tcp(ip: &[u8], at: usize, total: usize) -> Option<Tcp> {
    let tcp = ip.get(at..)?;
    let header = usize::from(tcp.get(12)? >> 4) * 4;
    let flags = *tcp.get(13)?;
    Some(Tcp {
        source_port: u16_at(tcp, 0)?,
        destination_port: u16_at(tcp, 2)?,
        sequence: u32_at(tcp, 4)?,
        acknowledged: u32_at(tcp, 8)?,
        payload: total.checked_sub(at + header)? as u32,
        syn: flags & 2 != 0,
        ack: flags & 16 != 0,
        highest_sack: highest_sack(tcp.get(20..header)?),
    })
}

fn highest_sack(mut options: &[u8]) -> Option<u32> {
    let mut highest: Option<u32> = None;
    while let [kind, rest @ ..] = options {
        match *kind {
            OPTION_END => break,
            OPTION_NOTHING => options = rest,
            kind => {
                let length = usize::from(*rest.first()?);
                let body = options.get(2..length)?;
                if kind == OPTION_SACK {
                    for right in body.chunks_exact(8).filter_map(|block| u32_at(block, 4)) {
                        let above = |known: u32| right.wrapping_sub(known) as i32 > 0;
                        highest = Some(highest.map_or(right, |known| if above(known) { right } else { known }));
                    }
                }
                options = options.get(length..)?;
            }
        }
    }
    highest
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An ACK of byte 1,000 with SACK blocks.
    pub(crate) fn acknowledgement(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 6];
        if !blocks.is_empty() {
            options.extend([1, 1, OPTION_SACK, 2 + 8 * blocks.len() as u8]);
            options.extend(blocks.iter().flat_map(|(left, right)| [left.to_be_bytes(), right.to_be_bytes()]).flatten());
        }
        let header = 20 + options.len();
        let mut frame = vec![0; ETHERNET_BYTES];
        frame[12..].copy_from_slice(&IPV4);
        frame.extend([0x45, 0, 0, (20 + header) as u8, 0, 0, 0x40, 0, 64, PROTOCOL_TCP, 0, 0]);
        frame.extend([10, 0, 0, 2, 10, 0, 0, 1]);
        frame.extend([0x13, 0x89, 0x80, 0x01, 0, 0, 0, 9, 0, 0, 0x03, 0xe8, (header as u8 / 4) << 4, 16, 0, 0]);
        frame.extend([0, 0, 0, 0]);
        frame.extend(options);
        frame
    }

    #[test]
    fn an_acknowledgement_is_read_with_its_highest_sack_block() {
        let packet = read(&acknowledgement(&[(u32::MAX - 5, 12), (3_000_000_000, 3_000_001_448)])).expect("IPv4");
        assert_eq!((packet.source, packet.bytes), (Ipv4Addr::new(10, 0, 0, 2), 72));
        let tcp = packet.tcp.expect("TCP");
        assert_eq!((tcp.source_port, tcp.destination_port, tcp.sequence), (5001, 32_769, 9));
        assert_eq!((tcp.acknowledged, tcp.payload, tcp.syn, tcp.ack), (1000, 0, false, true));
        // Sequence number 12 is after the wrap-around, and therefore above 3,000,001,448.
        assert_eq!(tcp.highest_sack, Some(12));
    }

    #[test]
    fn what_is_cut_short_or_not_ours_is_no_packet() {
        let whole = acknowledgement(&[(1, 2)]);
        for length in 0..whole.len() {
            let _ = read(&whole[..length]);
        }
        assert_eq!(read(&whole[..30]), None);
        let mut arp = whole.clone();
        arp[13] = 6;
        assert_eq!(read(&arp), None);
        let mut udp = whole;
        udp[ETHERNET_BYTES + 9] = 17;
        assert_eq!(read(&udp).expect("IPv4").tcp, None);
    }
}
