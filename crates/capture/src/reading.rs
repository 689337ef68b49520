//! Both passes over a file.

use std::io;
use std::path::Path;

use crate::connections::{Connection, Connections};
use crate::frames::{self, End, Frame, NotACapture};
use crate::headers::{self, MOST_BLOCKS, Packet, Tcp, flag};
use crate::sequence::{Captured, Mark, Positions};
use crate::source;

/// Packets between two questions to the caller.
const CHECK_EVERY: u64 = 1 << 16;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The operating system says why.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has another content.
    #[error(transparent)]
    Content(#[from] NotACapture),
    /// The caller has asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The connections of a file, and its packets by kind.
#[derive(Debug)]
pub struct Listing {
    /// The largest first.
    pub connections: Vec<Connection>,
    /// Packets of the file.
    pub packets: u64,
    /// TCP packets with all headers that are needed.
    pub tcp: u64,
    /// TCP packets whose header was cut off.
    pub cut: u64,
    /// TCP packets in fragments.
    pub fragments: u64,
    /// Packets with a first header that is not read.
    pub unknown_links: u64,
    /// Number of the first such header, as tcpdump.org lists them.
    pub unknown_link: Option<i32>,
    /// Connections that were too many, and small.
    pub forgotten: u64,
    /// How the file ends.
    pub end: End,
}

/// The connection that is read.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of the connection.
    pub number: u64,
    /// The host whose data are looked at: 0 or 1.
    pub sender: usize,
    /// Most packets; those after them are left out.
    pub most_packets: usize,
}

/// The packets of the handshake, ns since 1970, and what they agree on.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    /// Time of the last SYN before the answer.
    pub syn_ns: Option<i64>,
    /// Time of the first answer.
    pub answer_ns: Option<i64>,
    /// Time of the first packet after the answer from the host that opened the connection.
    pub complete_ns: Option<i64>,
    /// The options of the SYNs of both hosts, in the order of the connection's hosts.
    pub options: [Option<headers::TcpOptions>; 2],
}

/// A segment of the sender.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Time, ns since 1970.
    pub time_ns: i64,
    /// Position of its first byte.
    pub seq: i64,
    /// Payload, bytes.
    pub bytes: u32,
    /// Flags.
    pub flags: u16,
    /// ECN field.
    pub ecn: u8,
    /// Identification of the IPv4 header, by which a host numbers the packets of a connection.
    pub ident: Option<u16>,
    /// Packets without data that the sender sent since the segment before.
    pub bare: u32,
    /// Timestamp and echo.
    pub stamp: Option<(u32, Option<u32>)>,
    /// Retransmitted, or late.
    pub mark: Mark,
}

/// An acknowledgment of the receiver.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Time, ns since 1970.
    pub time_ns: i64,
    /// Position of the next byte that the receiver expects.
    pub ack: i64,
    /// Window field, unscaled.
    pub window: u16,
    /// Flags.
    pub flags: u16,
    /// ECN field.
    pub ecn: u8,
    /// Payload in the same packet, bytes.
    pub bytes: u32,
    /// Timestamp and echo.
    pub stamp: Option<(u32, Option<u32>)>,
    /// SACK blocks, in the order of the packet.
    pub blocks: [Option<(i64, i64)>; MOST_BLOCKS],
}

/// The packets of a connection, in the order of their times.
#[derive(Debug)]
pub struct Reading {
    /// Segments with data, or with the end of the stream.
    pub segments: Vec<Segment>,
    /// Acknowledgments.
    pub acks: Vec<Ack>,
    /// Handshake.
    pub handshake: Handshake,
    /// Time of the first reset, ns since 1970.
    pub reset_ns: Option<i64>,
    /// Packets that were left out because there were more than the limit.
    pub left_out: u64,
    /// Packets with an earlier time than the one before.
    pub disordered: u64,
    /// The largest step back, ns.
    pub step_back_ns: i64,
    /// Packets whose TCP options were cut off.
    pub options_cut: u64,
    /// The positions begin with the sender's SYN.
    pub from_start: bool,
}

/// Lists the connections of a file. `go_on` is asked now and then.
///
/// # Errors
/// The file cannot be read, or has another content.
pub fn list(path: &Path, go_on: impl FnMut() -> bool) -> Result<Listing, Failure> {
    let mut listing = Listing {
        connections: Vec::new(),
        packets: 0,
        tcp: 0,
        cut: 0,
        fragments: 0,
        unknown_links: 0,
        unknown_link: None,
        forgotten: 0,
        end: End::Whole,
    };
    let mut connections = Connections::default();
    listing.end = each_packet(path, go_on, |frame, packet| {
        listing.packets += 1;
        match packet {
            Packet::Tcp(tcp) => {
                listing.tcp += 1;
                connections.add(&tcp, frame.time_ns);
            }
            Packet::Cut => listing.cut += 1,
            Packet::Fragment => listing.fragments += 1,
            Packet::UnknownLink => {
                listing.unknown_links += 1;
                listing.unknown_link.get_or_insert(frame.link.0);
            }
            Packet::Other => {}
        }
    })?;
    listing.forgotten = connections.forgotten;
    listing.connections = connections.into_largest_first();
    Ok(listing)
}

/// Reads the packets of one connection. `go_on` is asked now and then.
///
/// # Errors
/// The errors of [`list`].
pub fn read(path: &Path, options: Options, go_on: impl FnMut() -> bool) -> Result<Reading, Failure> {
    let mut connections = Connections::default();
    let mut collected = Collected::new(options);
    each_packet(path, go_on, |frame, packet| {
        if let Packet::Tcp(tcp) = packet {
            let (number, side) = connections.add(&tcp, frame.time_ns);
            if number == options.number {
                collected.add(&tcp, side, frame.time_ns);
            }
        }
    })?;
    Ok(collected.complete())
}

fn each_packet(
    path: &Path,
    mut go_on: impl FnMut() -> bool,
    mut each: impl FnMut(&Frame<'_>, Packet),
) -> Result<End, Failure> {
    let mut seen = 0_u64;
    frames::for_each(source::open(path)?, |frame| {
        seen += 1;
        if seen % CHECK_EVERY == 0 && !go_on() {
            return Err(Failure::Interrupted);
        }
        each(frame, headers::packet(frame));
        Ok(())
    })
}

/// The packets of a connection so far.
struct Collected {
    options: Options,
    positions: Positions,
    last_ns: i64,
    reading: Reading,
    /// Packets without data since the last segment.
    bare: u32,
}

impl Collected {
    fn new(options: Options) -> Self {
        let reading = Reading {
            segments: Vec::new(),
            acks: Vec::new(),
            handshake: Handshake::default(),
            reset_ns: None,
            left_out: 0,
            disordered: 0,
            step_back_ns: 0,
            options_cut: 0,
            from_start: false,
        };
        Self { options, positions: Positions::default(), last_ns: i64::MIN, reading, bare: 0 }
    }

    fn add(&mut self, tcp: &Tcp, side: usize, time_ns: i64) {
        let found = &mut self.reading;
        if time_ns < self.last_ns {
            found.disordered += 1;
            found.step_back_ns = found.step_back_ns.max(self.last_ns.saturating_sub(time_ns));
        }
        self.last_ns = time_ns;
        found.options_cut += u64::from(tcp.options.cut);
        if tcp.flags & flag::RST != 0 {
            found.reset_ns = found.reset_ns.or(Some(time_ns));
        } else if tcp.flags & flag::SYN != 0 {
            self.open(tcp, side, time_ns);
        } else if found.segments.len() + found.acks.len() >= self.options.most_packets {
            found.left_out += 1;
        } else if side == self.options.sender {
            if side == 0 {
                found.handshake.complete(time_ns);
            }
            self.add_segment(tcp, time_ns);
        } else {
            if side == 0 {
                found.handshake.complete(time_ns);
            }
            self.add_ack(tcp, time_ns);
        }
    }

    fn open(&mut self, tcp: &Tcp, side: usize, time_ns: i64) {
        let shake = &mut self.reading.handshake;
        if tcp.flags & flag::ACK == 0 {
            if shake.answer_ns.is_none() {
                shake.syn_ns = Some(time_ns);
            }
        } else {
            shake.answer_ns = shake.answer_ns.or(Some(time_ns));
        }
        shake.options[side] = shake.options[side].take().or_else(|| Some(tcp.options.clone()));
        if side == self.options.sender && !self.reading.from_start {
            self.positions.begin(tcp.seq.wrapping_add(1));
            self.reading.from_start = true;
        }
    }

    fn add_segment(&mut self, tcp: &Tcp, time_ns: i64) {
        if tcp.payload_bytes == 0 && tcp.flags & flag::FIN == 0 {
            self.bare = self.bare.saturating_add(1);
            return;
        }
        self.reading.segments.push(Segment {
            time_ns,
            seq: self.positions.of(tcp.seq),
            bytes: tcp.payload_bytes,
            flags: tcp.flags,
            ecn: tcp.ecn,
            ident: tcp.ident,
            bare: std::mem::take(&mut self.bare),
            stamp: tcp.options.stamp,
            mark: Mark::default(),
        });
    }

    fn add_ack(&mut self, tcp: &Tcp, time_ns: i64) {
        if tcp.flags & flag::ACK == 0 {
            return;
        }
        let blocks = tcp.options.blocks;
        self.reading.acks.push(Ack {
            time_ns,
            ack: self.positions.of(tcp.ack),
            window: tcp.window,
            flags: tcp.flags,
            ecn: tcp.ecn,
            bytes: tcp.payload_bytes,
            stamp: tcp.options.stamp,
            blocks: blocks.map(|block| block.map(|(first, end)| (self.positions.of(first), self.positions.of(end)))),
        });
    }

    fn complete(mut self) -> Reading {
        // Stable: packets with one time stay in the order of the file.
        self.reading.segments.sort_by_key(|segment| segment.time_ns);
        self.reading.acks.sort_by_key(|ack| ack.time_ns);
        let shake = &self.reading.handshake;
        let rtt_ns = shake.syn_ns.zip(shake.complete_ns).map(|(asked, complete)| complete - asked);
        let mut captured = Captured::new(rtt_ns.filter(|&rtt| rtt > 0));
        for segment in &mut self.reading.segments {
            let end = segment.seq + i64::from(segment.bytes) + i64::from(segment.flags & flag::FIN);
            segment.mark = captured.add(segment.seq, end, segment.time_ns, segment.stamp.map(|(value, _)| value));
        }
        self.reading
    }
}

impl Handshake {
    /// A packet of the host that opened the connection.
    fn complete(&mut self, time_ns: i64) {
        if self.answer_ns.is_some() {
            self.complete_ns = self.complete_ns.or(Some(time_ns));
        }
    }

    /// Shift of the window that `side` announces; `None` if its SYN was not captured.
    #[must_use]
    pub fn scale(&self, side: usize) -> Option<u8> {
        let mine = self.options[side].as_ref()?;
        let other = self.options[1 - side].as_ref();
        // Scaling is used only if both hosts ask for it.
        Some(mine.scale.filter(|_| other.is_none_or(|other| other.scale.is_some())).unwrap_or(0).min(14))
    }
}
