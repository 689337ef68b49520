//! Captures of the frames of a guest's devices, in pcapng, for Wireshark.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};

use crate::device::{DEVICES, NET_HEADER_BYTES};

/// Number of bytes kept of each frame. These bytes include all headers; the payload is zeros.
const SNAPLEN: u32 = 192;
/// Time of the start of the run in a capture: 2000-01-01 00:00 UTC, s since 1970.
const START_S: u64 = 946_684_800;
/// Power of ten of the unit of time in a capture, as its negative (`if_tsresol`).
const NANOSECONDS: u8 = 9;

/// A file for each device, with the frames that the device sends and gets.
pub struct Captures {
    files: [PcapNgWriter<BufWriter<File>>; 2],
    zero_ns: u64,
}

impl std::fmt::Debug for Captures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captures").field("zero_ns", &self.zero_ns).finish_non_exhaustive()
    }
}

impl Captures {
    /// Creates the files `senders.pcapng` and `receivers.pcapng` in the current folder. `zero_ns` is the guest's time at
    /// the start of the run, ns.
    pub fn create(zero_ns: u64) -> io::Result<Self> {
        let [senders, receivers] = DEVICES.map(file);
        Ok(Self { files: [senders?, receivers?], zero_ns })
    }

    /// Writes a frame with the header of its device at the guest's time `at_ns`.
    pub fn write(&mut self, at_ns: u64, side: usize, frame: &[u8]) -> io::Result<()> {
        let bytes = &frame[NET_HEADER_BYTES.min(frame.len())..];
        let since_1970 = Duration::from_secs(START_S) + Duration::from_nanos(at_ns);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: since_1970.saturating_sub(Duration::from_nanos(self.zero_ns)),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(&bytes[..bytes.len().min(SNAPLEN as usize)]),
            options: Vec::new(),
        };
        self.files[side].write_pcapng_block(block).map(drop).map_err(plain)
    }

    /// Completes the files.
    pub fn finish(self) -> io::Result<()> {
        self.files.into_iter().try_for_each(|file| file.into_inner().flush())
    }
}

fn file(device: &str) -> io::Result<PcapNgWriter<BufWriter<File>>> {
    let file = BufWriter::new(File::create(format!("{device}.pcapng"))?);
    let mut writer = PcapNgWriter::new(file).map_err(plain)?;
    let options =
        vec![InterfaceDescriptionOption::IfName(device.into()), InterfaceDescriptionOption::IfTsResol(NANOSECONDS)];
    let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: SNAPLEN, options };
    writer.write_pcapng_block(interface).map_err(plain)?;
    Ok(writer)
}

fn plain(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}
