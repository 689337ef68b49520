//! A network device of the guest: virtio over a vhost-user socket, with kicks and interrupts as messages, so that all
//! messages, the clock's included, have a defined order.

use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

/// Requests of the guest's driver.
mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_SLAVE_REQ_FD: u32 = 21;
}
/// The device's only request: an interrupt.
const VRING_CALL: u32 = 4;

const VERSION: u32 = 1;
const IS_REPLY: u32 = 1 << 2;
const WANTS_REPLY: u32 = 1 << 3;
const HEADER_BYTES: usize = 12;
const REGION_BYTES: usize = 32;

/// Features: checksums may be missing; a packet may take several buffers; `VHOST_USER_F_PROTOCOL_FEATURES`; indirect
/// descriptors; virtio 1.
const FEATURES: u64 = 1 | 1 << 1 | 1 << 15 | 1 << 28 | 1 << 30 | 1 << 32;
/// `REPLY_ACK`, `SLAVE_REQ`, `INBAND_NOTIFICATIONS`.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 14;
const QUEUE_SIZE: u16 = 256;
/// Queue of packets for the guest, and queue of packets from the guest.
const INTO_GUEST: usize = 0;
const OUT_OF_GUEST: usize = 1;

/// Names of the guest's devices.
pub const DEVICES: [&str; 2] = ["senders", "receivers"];
/// Bytes of `struct virtio_net_hdr_v1`, which precedes each frame.
pub const NET_HEADER_BYTES: usize = 12;
const BUFFER_COUNT: usize = 10;

fn broken(what: &str) -> io::Error {
    io::Error::other(format!("the guest's network driver: {what}"))
}

fn word(bytes: &[u8], at: usize) -> io::Result<u32> {
    let found = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    found.map(u32::from_ne_bytes).ok_or_else(|| broken("a short message"))
}

fn long(bytes: &[u8], at: usize) -> io::Result<u64> {
    let found = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    found.map(u64::from_ne_bytes).ok_or_else(|| broken("a short message"))
}

/// A network device of the guest.
#[derive(Debug)]
pub struct Device {
    listener: UnixListener,
    stream: Option<UnixStream>,
    /// Socket that takes interrupts.
    calls: Option<UnixStream>,
    memory: Option<GuestMemoryMmap>,
    queues: [Queue; 2],
}

impl Device {
    /// A device at a socket that the guest has not opened yet.
    pub fn new(listener: UnixListener) -> io::Result<Self> {
        let queue = || Queue::new(QUEUE_SIZE).map_err(io::Error::other);
        Ok(Self { listener, stream: None, calls: None, memory: None, queues: [queue()?, queue()?] })
    }

    /// Descriptor to wait for: the socket of the guest's messages, or the listening socket before the guest has
    /// connected.
    pub fn descriptor(&self) -> rustix::fd::BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.stream.as_ref().map_or_else(|| self.listener.as_fd(), AsFd::as_fd)
    }

    /// Serves one message.
    pub fn serve(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            self.stream = Some(self.listener.accept()?.0);
            return Ok(());
        };
        let Some((header, files)) = header(stream)? else {
            // The driver has closed the device.
            self.stream = None;
            return Ok(());
        };
        let (kind, flags) = (word(&header, 0)?, word(&header, 4)?);
        let mut body = vec![0; word(&header, 8)? as usize];
        stream.read_exact(&mut body)?;
        let answer = match kind {
            request::GET_FEATURES => Some(FEATURES),
            request::GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES),
            request::SET_MEM_TABLE => self.map(&body, files).map(|()| None)?,
            request::SET_VRING_NUM => self.size(&body).map(|()| None)?,
            request::SET_VRING_ADDR => self.place(&body).map(|()| None)?,
            request::SET_SLAVE_REQ_FD => {
                self.calls = files.into_iter().next().map(UnixStream::from);
                None
            }
            _ => None,
        };
        let answer = answer.or((flags & WANTS_REPLY != 0).then_some(0));
        let Some((value, stream)) = answer.zip(self.stream.as_mut()) else { return Ok(()) };
        stream.write_all(&message(kind, VERSION | IS_REPLY, value))
    }

    fn map(&mut self, body: &[u8], files: Vec<OwnedFd>) -> io::Result<()> {
        let mut ranges = Vec::new();
        for (region, file) in files.into_iter().enumerate() {
            let at = 8 + region * REGION_BYTES;
            let (address, size, offset) = (long(body, at)?, long(body, at + 8)?, long(body, at + 24)?);
            ranges.push((GuestAddress(address), size as usize, Some(FileOffset::new(File::from(file), offset))));
        }
        self.memory = Some(GuestMemoryMmap::from_ranges_with_files(ranges).map_err(io::Error::other)?);
        Ok(())
    }

    fn queue(&mut self, body: &[u8]) -> io::Result<&mut Queue> {
        self.queues.get_mut(word(body, 0)? as usize).ok_or_else(|| broken("a third queue"))
    }

    fn size(&mut self, body: &[u8]) -> io::Result<()> {
        let size = u16::try_from(word(body, 4)?).map_err(io::Error::other)?;
        self.queue(body)?.try_set_size(size).map_err(io::Error::other)
    }

    fn place(&mut self, body: &[u8]) -> io::Result<()> {
        let [table, used, available] = [8, 16, 24].map(|at| long(body, at));
        let queue = self.queue(body)?;
        queue.try_set_desc_table_address(GuestAddress(table?)).map_err(io::Error::other)?;
        queue.try_set_used_ring_address(GuestAddress(used?)).map_err(io::Error::other)?;
        queue.try_set_avail_ring_address(GuestAddress(available?)).map_err(io::Error::other)?;
        queue.set_ready(true);
        let Some(memory) = &self.memory else { return Err(broken("a queue without memory")) };
        // No action is needed: buffers are read when they are needed, and frames are taken when the guest waits.
        let place = word(body, 0)? as usize;
        self.queues[place].disable_notification(memory).map_err(io::Error::other)
    }

    /// Takes the frames that the guest has sent.
    pub fn take(&mut self, sent: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let Some(memory) = self.memory.as_ref().filter(|_| self.queues[OUT_OF_GUEST].ready()) else { return Ok(()) };
        let queue = &mut self.queues[OUT_OF_GUEST];
        let mut any = false;
        while let Some(chain) = queue.pop_descriptor_chain(memory) {
            let head = chain.head_index();
            let mut frame = Vec::new();
            chain.reader(memory).map_err(io::Error::other)?.read_to_end(&mut frame)?;
            queue.add_used(memory, head, 0).map_err(io::Error::other)?;
            sent.push(frame);
            any = true;
        }
        if any { self.interrupt(OUT_OF_GUEST) } else { Ok(()) }
    }

    /// Gives the guest a frame with its header; [`Device::announce`] notifies the guest.
    pub fn give(&mut self, frame: &mut [u8]) -> io::Result<()> {
        let Some(memory) = &self.memory else { return Err(broken("a packet before the device is there")) };
        let queue = &mut self.queues[INTO_GUEST];
        let mut buffers = Vec::new();
        let mut room = 0;
        while room < frame.len() {
            let Some(chain) = queue.pop_descriptor_chain(memory) else {
                return Err(broken("no buffer is left for a packet"));
            };
            let head = chain.head_index();
            let writer = chain.writer(memory).map_err(io::Error::other)?;
            room += writer.available_bytes();
            buffers.push((head, writer));
        }
        frame[BUFFER_COUNT..NET_HEADER_BYTES].copy_from_slice(&(buffers.len() as u16).to_le_bytes());
        let mut rest = &*frame;
        for (head, mut writer) in buffers {
            let (part, behind) = rest.split_at(rest.len().min(writer.available_bytes()));
            writer.write_all(part)?;
            queue.add_used(memory, head, part.len() as u32).map_err(io::Error::other)?;
            rest = behind;
        }
        Ok(())
    }

    /// Notifies the guest of new frames.
    pub fn announce(&mut self) -> io::Result<()> {
        self.interrupt(INTO_GUEST)
    }

    /// Interrupts the guest, unless the guest has disabled interrupts, and waits for the guest's acknowledgement.
    fn interrupt(&mut self, queue: usize) -> io::Result<()> {
        let Some(memory) = &self.memory else { return Err(broken("an interrupt without memory")) };
        let flags: u16 = memory.read_obj(GuestAddress(self.queues[queue].avail_ring())).map_err(io::Error::other)?;
        if u16::from_le(flags) & 1 != 0 {
            return Ok(());
        }
        let Some(calls) = &mut self.calls else { return Err(broken("no socket for interrupts")) };
        calls.write_all(&message(VRING_CALL, VERSION | WANTS_REPLY, queue as u64))?;
        let mut reply = [0; HEADER_BYTES + 8];
        calls.read_exact(&mut reply)?;
        if long(&reply, HEADER_BYTES)? == 0 { Ok(()) } else { Err(broken("an interrupt was refused")) }
    }
}

fn message(kind: u32, flags: u32, value: u64) -> [u8; HEADER_BYTES + 8] {
    let mut bytes = [0; HEADER_BYTES + 8];
    for (at, part) in [kind, flags, 8].into_iter().enumerate() {
        bytes[4 * at..4 * at + 4].copy_from_slice(&part.to_ne_bytes());
    }
    bytes[HEADER_BYTES..].copy_from_slice(&value.to_ne_bytes());
    bytes
}

/// Header of a message, with the files passed with it; `None` at the end of the connection.
fn header(stream: &mut UnixStream) -> io::Result<Option<([u8; HEADER_BYTES], Vec<OwnedFd>)>> {
    let mut bytes = [0; HEADER_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(&*stream, &mut [IoSliceMut::new(&mut bytes)], &mut beside, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if got == 0 {
        return Ok(None);
    }
    let files = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let files = files.flatten().collect();
    stream.read_exact(&mut bytes[got..])?;
    Ok(Some((bytes, files)))
}
