//! A TCP packet: what its headers say, as far as they were captured.

use std::net::IpAddr;

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket};
use pcap_parser::Linktype;

use crate::frames::Frame;

/// Flags of the TCP header.
pub mod flag {
    /// End of the stream.
    pub const FIN: u16 = 0x01;
    /// Start of the stream.
    pub const SYN: u16 = 0x02;
    /// End of the connection.
    pub const RST: u16 = 0x04;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 0x10;
}

/// Headers of Linux's cooked captures, bytes.
const SLL_BYTES: usize = 16;
const SLL2_BYTES: usize = 20;
/// Address family in front of IP in captures of loopback devices, bytes.
const FAMILY_BYTES: usize = 4;
/// The header without options, bytes.
const TCP_BYTES: usize = 20;
/// Most SACK blocks that a header has room for.
pub const MOST_BLOCKS: usize = 4;

/// A packet that was looked at.
pub enum Packet {
    /// TCP, with the headers that are needed.
    Tcp(Box<Tcp>),
    /// TCP, whose header was cut off.
    Cut,
    /// TCP in fragments of IP, which have a header only in the first.
    Fragment,
    /// Another protocol.
    Other,
    /// A kind of first header that is not read.
    UnknownLink,
}

/// The headers of a TCP packet.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// Source and destination.
    pub from: (IpAddr, u16),
    /// Destination.
    pub to: (IpAddr, u16),
    /// ECN field of the IP header.
    pub ecn: u8,
    /// Identification of the IPv4 header.
    pub ident: Option<u16>,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags, with those of ECN and AccECN.
    pub flags: u16,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload on the wire, bytes.
    pub payload_bytes: u32,
    /// Options.
    pub options: TcpOptions,
}

/// The options of a TCP header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Shift of the window.
    pub scale: Option<u8>,
    /// SACK is permitted.
    pub sack: bool,
    /// Timestamp and its echo; the echo is missing if it was cut off.
    pub stamp: Option<(u32, Option<u32>)>,
    /// SACK blocks: first byte, and the byte after the last.
    pub blocks: [Option<(u32, u32)>; MOST_BLOCKS],
    /// Some of them were not captured.
    pub cut: bool,
}

/// Reads the headers of a packet.
pub fn packet(frame: &Frame<'_>) -> Packet {
    let Some(sliced) = sliced(frame) else { return Packet::UnknownLink };
    let Some(net) = sliced.as_ref().and_then(|sliced| sliced.net.as_ref()) else { return Packet::Other };
    let Some(inner) = net.ip_payload_ref() else { return Packet::Other };
    if inner.ip_number != IpNumber::TCP {
        return Packet::Other;
    }
    if inner.fragmented {
        return Packet::Fragment;
    }
    let place = |slice: &[u8]| slice.as_ptr() as usize;
    let (from, to, (ecn, ident), start, stated) = match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let (from, to) = (header.source_addr().into(), header.destination_addr().into());
            let marks = (header.ecn().value(), Some(header.identification()));
            (from, to, marks, place(header.slice()), usize::from(header.total_len()))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length = usize::from(header.payload_length());
            let stated = if length == 0 { 0 } else { length + header.slice().len() };
            let (from, to) = (header.source_addr().into(), header.destination_addr().into());
            (from, to, (header.traffic_class() & 3, None), place(header.slice()), stated)
        }
        LaxNetSlice::Arp(_) => return Packet::Other,
    };
    // A host that leaves segmentation to its device may leave the length to it as well.
    let before = start - place(frame.data);
    let total = if stated == 0 { (frame.original_bytes as usize).saturating_sub(before) } else { stated };
    let segment_bytes = total.saturating_sub(place(inner.payload) - start);
    tcp(inner.payload, segment_bytes).map_or(Packet::Cut, |(ports, mut tcp)| {
        (tcp.from, tcp.to, tcp.ecn, tcp.ident) = ((from, ports.0), (to, ports.1), ecn, ident);
        Packet::Tcp(Box::new(tcp))
    })
}

/// The headers up to TCP. `None` is a kind of first header that is not read, and within it a packet of another protocol.
#[allow(clippy::option_option)]
fn sliced<'a>(frame: &Frame<'a>) -> Option<Option<LaxSlicedPacket<'a>>> {
    let data = frame.data;
    let cooked = |protocol: usize, header: usize| {
        let kind = data.get(protocol..protocol + 2)?;
        let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
        Some(LaxSlicedPacket::from_ether_type(kind, data.get(header..)?))
    };
    Some(match frame.link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        Linktype::LINUX_SLL => cooked(14, SLL_BYTES),
        Linktype::LINUX_SLL2 => cooked(0, SLL2_BYTES),
        // LINKTYPE_RAW, and the numbers of DLT_RAW that some systems write.
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => LaxSlicedPacket::from_ip(data).ok(),
        Linktype::NULL | Linktype::LOOP => {
            data.get(FAMILY_BYTES..).and_then(|data| LaxSlicedPacket::from_ip(data).ok())
        }
        _ => return None,
    })
}

/// The TCP header with its ports. Addresses are filled in by the caller.
fn tcp(data: &[u8], segment_bytes: usize) -> Option<((u16, u16), Tcp)> {
    let fixed: &[u8; TCP_BYTES] = data.get(..TCP_BYTES)?.try_into().ok()?;
    let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let header_bytes = usize::from(fixed[12] >> 4) * 4;
    if header_bytes < TCP_BYTES || header_bytes > segment_bytes {
        return None;
    }
    let captured = &data[TCP_BYTES..header_bytes.min(data.len())];
    let mut options = read_options(captured);
    options.cut |= header_bytes > data.len();
    let nowhere = (IpAddr::from([0, 0, 0, 0]), 0);
    let tcp = Tcp {
        from: nowhere,
        to: nowhere,
        ecn: 0,
        ident: None,
        seq: word(4),
        ack: word(8),
        flags: half(12) & 0x01ff,
        window: half(14),
        payload_bytes: u32::try_from(segment_bytes - header_bytes).ok()?,
        options,
    };
    Some(((half(0), half(2)), tcp))
}

/// Reads options as far as they are there. Only here are they read by hand: a library wants all of them.
fn read_options(mut data: &[u8]) -> TcpOptions {
    let mut found = TcpOptions::default();
    let word =
        |data: &[u8], at: usize| data.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_be_bytes);
    while let [kind, rest @ ..] = data {
        let (kind, length) = match (kind, rest) {
            (0, _) => break,
            (1, rest) => {
                data = rest;
                continue;
            }
            (kind, [length, ..]) if *length >= 2 => (*kind, usize::from(*length)),
            (_, []) => {
                found.cut = true;
                break;
            }
            _ => break,
        };
        found.cut |= length > data.len();
        let body = &data[2..length.min(data.len())];
        match (kind, length) {
            (2, 4) => found.mss = body.get(..2).map(|two| u16::from_be_bytes([two[0], two[1]])),
            (3, 3) => found.scale = body.first().copied(),
            (4, 2) => found.sack = true,
            (5, 10 | 18 | 26 | 34) => {
                for (i, block) in found.blocks.iter_mut().enumerate().take((length - 2) / 8) {
                    *block = word(body, 8 * i).zip(word(body, 8 * i + 4));
                }
            }
            (8, 10) => found.stamp = word(body, 0).map(|value| (value, word(body, 4))),
            _ => {}
        }
        data = data.get(length..).unwrap_or_default();
    }
    found
}
