//! The packets of a file in pcap or pcapng, one after the other.

use std::io::Read;

use pcap_parser::pcapng::{Block, InterfaceDescriptionBlock};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, create_reader};

/// Size of the buffer at the start, and its limit, bytes: a block that does not fit is damaged.
const BUFFER_BYTES: usize = 1 << 20;
const LARGEST_BLOCK_BYTES: usize = 1 << 24;
/// Most interfaces of a section: a file with more is hostile.
const MOST_INTERFACES: usize = 1 << 12;
const NS_PER_S: i128 = 1_000_000_000;

/// A packet as it is in the file.
pub struct Frame<'a> {
    /// Time since 1970, ns.
    pub time_ns: i64,
    /// Kind of the first header.
    pub link: Linktype,
    /// Captured bytes.
    pub data: &'a [u8],
    /// Length on the wire, bytes.
    pub original_bytes: u32,
}

/// The end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it was read.
    Whole,
    /// The file ends within a packet.
    Cut,
    /// The bytes after this many packets are not those of a capture.
    Damaged,
}

/// A file that is no capture.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotACapture {
    /// It has no bytes.
    #[error("the file is empty")]
    Empty,
    /// Its first bytes are those of neither format.
    #[error("the file is no capture in pcap or pcapng")]
    Unknown,
}

struct Interface {
    link: Linktype,
    /// Units of its time stamps in a second.
    per_second: u64,
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>) -> Option<Self> {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u64 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        Some(Self { link: block.linktype, per_second: base.checked_pow(exponent)? })
    }

    fn time_ns(&self, high: u32, low: u32) -> i64 {
        let units = i128::from(u64::from(high) << 32 | u64::from(low));
        i64::try_from(units * NS_PER_S / i128::from(self.per_second)).unwrap_or(i64::MAX)
    }
}

/// Calls `each` with every packet, until it returns an error.
///
/// # Errors
/// The first bytes are not those of a capture, or `each` returned an error.
pub fn for_each<E: From<NotACapture>>(
    source: Box<dyn Read + Send>,
    mut each: impl FnMut(&Frame<'_>) -> Result<(), E>,
) -> Result<End, E> {
    let mut reader = create_reader(BUFFER_BYTES, Filled(source)).map_err(|error| match error {
        PcapError::Eof => NotACapture::Empty,
        _ => NotACapture::Unknown,
    })?;
    let mut capacity = BUFFER_BYTES;
    let mut section = Section::default();
    loop {
        let refill = match reader.next() {
            Ok((length, block)) => {
                let understood = section.take(&block, &mut each)?;
                reader.consume(length);
                if !understood {
                    return Ok(End::Damaged);
                }
                continue;
            }
            Err(PcapError::Eof) => return Ok(End::Whole),
            Err(PcapError::UnexpectedEof) => return Ok(End::Cut),
            Err(PcapError::Incomplete(_)) => true,
            Err(PcapError::BufferTooSmall) if capacity < LARGEST_BLOCK_BYTES => false,
            Err(_) => return Ok(End::Damaged),
        };
        if !refill {
            capacity *= 2;
            reader.grow(capacity);
        }
        if reader.refill().is_err() {
            return Ok(End::Damaged);
        }
    }
}

/// State of the part of the file that is read.
#[derive(Default)]
struct Section {
    interfaces: Vec<Option<Interface>>,
    link: Linktype,
    nanoseconds: bool,
    /// Simple packets have no time of their own.
    last_ns: i64,
}

impl Section {
    /// Returns false if a block is not one of a valid file.
    fn take<E>(
        &mut self,
        block: &PcapBlockOwned<'_>,
        each: &mut impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.link = Linktype(header.network.0 & 0xffff);
                self.nanoseconds = header.is_nanosecond_precision();
            }
            PcapBlockOwned::Legacy(packet) => {
                let unit_ns = if self.nanoseconds { 1 } else { 1_000 };
                let time_ns = i64::from(packet.ts_sec) * 1_000_000_000 + i64::from(packet.ts_usec) * unit_ns;
                each(&Frame { time_ns, link: self.link, data: packet.data, original_bytes: packet.origlen })?;
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                self.interfaces.push(Interface::of(block));
                return Ok(self.interfaces.len() <= MOST_INTERFACES);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let Some(Some(interface)) = self.interfaces.get(packet.if_id as usize) else { return Ok(false) };
                self.last_ns = interface.time_ns(packet.ts_high, packet.ts_low);
                let (link, time_ns) = (interface.link, self.last_ns);
                each(&Frame { time_ns, link, data: packet.packet_data(), original_bytes: packet.origlen })?;
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                let Some(Some(interface)) = self.interfaces.first() else { return Ok(false) };
                let (link, time_ns) = (interface.link, self.last_ns);
                each(&Frame { time_ns, link, data: packet.packet_data(), original_bytes: packet.origlen })?;
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(true)
    }
}

/// A reader that fills the buffer it is given: the library takes a short read for the end of its first block.
struct Filled(Box<dyn Read + Send>);

impl Read for Filled {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // A compressed file that is cut or damaged gives its packets up to there.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
