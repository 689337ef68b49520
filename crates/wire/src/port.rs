//! A network device as a ring of received frames that is shared with the kernel (`PACKET_RX_RING`, version 2).
#![allow(unsafe_code)]

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::sys::{checked, device_index, read_option, set_option};

const ETH_P_ALL: u16 = 0x0003;
const BLOCK_BYTES: usize = 1 << 20;

/// A network device opened for raw frames.
pub struct Port {
    socket: OwnedFd,
    ring: *mut u8,
    ring_bytes: usize,
    frame_bytes: usize,
    frames: usize,
    next: usize,
    /// Frames dropped by the kernel because the ring was full.
    pub overflowed: u64,
}

/// A received frame with its time.
pub struct Frame<'a> {
    /// Time of arrival by the kernel's wall clock, ns.
    pub wall_ns: i64,
    /// Bytes from the Ethernet header on.
    pub bytes: &'a [u8],
}

impl Port {
    /// Opens a device of this namespace, with room for `frames` frames of packets of up to `packet_bytes`.
    ///
    /// # Errors
    /// There is no such device, or this process may not open it.
    pub fn open(device: &str, packet_bytes: usize, frames: usize) -> io::Result<Self> {
        let index = device_index(device)?;
        // SAFETY: no pointers; the descriptor has no other owner. Without a protocol the socket receives nothing before
        // it is bound.
        let socket = unsafe {
            let made = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            OwnedFd::from_raw_fd(checked(made)?)
        };
        let packet = |option, value: libc::c_int| set_option(&socket, libc::SOL_PACKET, option, value);
        packet(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        packet(libc::PACKET_QDISC_BYPASS, 1)?;
        packet(libc::PACKET_IGNORE_OUTGOING, 1)?;
        let frame_bytes = (packet_bytes + 128).next_power_of_two().max(2048);
        let blocks = (frames * frame_bytes).div_ceil(BLOCK_BYTES);
        let frames = blocks * (BLOCK_BYTES / frame_bytes);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame_bytes as u32,
            tp_frame_nr: frames as u32,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let ring_bytes = blocks * BLOCK_BYTES;
        // SAFETY: a new mapping of the ring that was just made; it is unmapped in `drop`.
        let ring = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), ring_bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let port = Self { socket, ring: ring.cast(), ring_bytes, frame_bytes, frames, next: 0, overflowed: 0 };
        port.bind(index)?;
        Ok(port)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: an all-zero address is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the structure lives as long as the call, and its size is stated.
        checked(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size) }).map(drop)
    }

    fn slot(&self) -> *mut u8 {
        // SAFETY: `next` is below the number of frames, which all lie in the mapping.
        unsafe { self.ring.add(self.next * self.frame_bytes) }
    }

    fn status(&self) -> &AtomicU32 {
        let at = offset_of!(libc::tpacket2_hdr, tp_status);
        // SAFETY: a frame begins with its header, aligned to 16 bytes; the kernel changes the word at any time, so the
        // access is atomic.
        unsafe { AtomicU32::from_ptr(self.slot().add(at).cast()) }
    }

    /// Passes the next received frame to `look`. Returns true if there was a frame.
    pub fn receive(&mut self, look: impl FnOnce(Frame<'_>)) -> bool {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        let slot = self.slot();
        // SAFETY: the frame is ours until its status is given back; the kernel wrote a header and `tp_snaplen` bytes.
        unsafe {
            let header = ptr::read(slot.cast::<libc::tpacket2_hdr>());
            let wall_ns = i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec);
            let bytes = std::slice::from_raw_parts(slot.add(usize::from(header.tp_mac)), header.tp_snaplen as usize);
            look(Frame { wall_ns, bytes });
        }
        fence(Ordering::Release);
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
        true
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// The device rejects the frame.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the bytes live as long as the call.
        let sent =
            unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reads the kernel's count of dropped frames since the last call, and adds it to the total.
    ///
    /// # Errors
    /// The kernel returns an error.
    pub fn count_overflow(&mut self) -> io::Result<()> {
        let mut counts = [0; 8];
        read_option(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts)?;
        let [_, dropped] =
            [0, 4].map(|at| u32::from_ne_bytes([counts[at], counts[at + 1], counts[at + 2], counts[at + 3]]));
        self.overflowed += u64::from(dropped);
        Ok(())
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `open`, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.cast(), self.ring_bytes) };
    }
}
