//! The guest's clock: a client of the protocol in `include/uapi/linux/um_timetravel.h`, with its schedule in shared memory.
//!
//! A guest that has finished all work of its current time sends WAIT, and writes into the schedule the time at which it
//! wants to continue. The message RUN lets the guest continue at a given time. A guest may advance its time by itself
//! up to the schedule's `free_until`. Here `free_until` is set to the next nanosecond, so the guest never advances its
//! time by itself.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

const ACK: u32 = 0;
const START: u32 = 1;
const WAIT: u32 = 3;
const RUN: u32 = 6;

/// Name of the schedule in the guest's folder.
const PAGE: &str = "schedule";

/// Offsets in `struct um_timetravel_schedshm`.
const VERSION: u64 = 0;
const LENGTH: u64 = 4;
const FREE_UNTIL: u64 = 8;
const CURRENT: u64 = 16;
const RUNNING: u64 = 24;
const CLIENTS: u64 = 26;
const FIRST_CLIENT: u64 = 4096;
const CLIENT_BYTES: u64 = 128;
/// Offsets in `union um_timetravel_schedshm_client`.
const CAPABILITIES: u64 = 0;
const FLAGS: u64 = 4;
const WANTED: u64 = 8;

const SCHEDULE_VERSION: u32 = 2;
const SHARES_TIME: u32 = 1;
const WANTS_TO_RUN: u32 = 1;
/// Client numbers of this program and of the guest in the schedule.
const CONTROLLER: u16 = 0;
const GUEST: u16 = 1;
const BYTES: u64 = FIRST_CLIENT + 2 * CLIENT_BYTES;

/// `struct um_timetravel_msg`: operation, number, time.
const MESSAGE_BYTES: usize = 16;

/// The clock of one guest.
#[derive(Debug)]
pub struct Clock {
    stream: UnixStream,
    shared: GuestMemoryMmap,
    file: OwnedFd,
    number: u32,
}

impl Clock {
    /// A clock at zero, for the guest at the socket's other end.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        let file = memfd_create("schedule", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, BYTES)?;
        let offset = FileOffset::new(File::from(file.try_clone()?), 0);
        let shared = GuestMemoryMmap::from_ranges_with_files([(GuestAddress(0), BYTES as usize, Some(offset))])
            .map_err(io::Error::other)?;
        let this = Self { stream, shared, file, number: 0 };
        this.put(VERSION, SCHEDULE_VERSION)?;
        this.put(LENGTH, BYTES as u32)?;
        this.put(CLIENTS, 2_u16)?;
        this.put(FIRST_CLIENT + CAPABILITIES, SHARES_TIME)?;
        this.put(RUNNING, GUEST)?;
        this.put(FREE_UNTIL, 0_u64)?;
        // For the counter of the programs' processor (crates/counter), if there are programs.
        symlink(format!("/proc/{}/fd/{}", std::process::id(), this.file.as_raw_fd()), PAGE)?;
        Ok(this)
    }

    fn put<T: vm_memory::AtomicAccess>(&self, at: u64, value: T) -> io::Result<()> {
        self.shared.store(value, GuestAddress(at), Ordering::SeqCst).map_err(io::Error::other)
    }

    fn get<T: vm_memory::AtomicAccess>(&self, at: u64) -> io::Result<T> {
        self.shared.load(GuestAddress(at), Ordering::SeqCst).map_err(io::Error::other)
    }

    /// The socket, to wait for its messages.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// The guest's time, ns.
    fn now_ns(&self) -> io::Result<u64> {
        self.get(CURRENT)
    }

    /// Sets the clock of a waiting guest; an interrupt then sees this time.
    pub fn set(&self, now_ns: u64) -> io::Result<()> {
        self.put(RUNNING, CONTROLLER)?;
        self.put(CURRENT, now_ns)
    }

    /// Time at which a waiting guest wants to continue, ns.
    pub fn wanted_ns(&self) -> io::Result<u64> {
        let client = FIRST_CLIENT + CLIENT_BYTES;
        if self.get::<u32>(client + CAPABILITIES)? & SHARES_TIME == 0 {
            return Err(io::Error::other(
                "this kernel cannot share its schedule; the engine as the path needs Linux 6.12",
            ));
        }
        let wants = self.get::<u32>(client + FLAGS)? & WANTS_TO_RUN != 0;
        Ok(if wants { self.get(client + WANTED)? } else { u64::MAX })
    }

    /// Lets a waiting guest do all of its work at a given time.
    pub fn run(&mut self, now_ns: u64) -> io::Result<()> {
        self.put(FREE_UNTIL, now_ns + 1)?;
        self.put(CURRENT, now_ns)?;
        self.put(RUNNING, GUEST)?;
        self.number = self.number.wrapping_add(1);
        let message = message(RUN, self.number, now_ns);
        self.stream.write_all(&message)
    }

    /// Reads and answers one message; true if the guest waits.
    pub fn serve(&mut self) -> io::Result<bool> {
        let mut bytes = [0; MESSAGE_BYTES];
        self.stream.read_exact(&mut bytes)?;
        let [op, number] =
            [0, 4].map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        match op {
            WAIT => return Ok(true),
            ACK => (),
            START => self.start(number)?,
            _ => self.stream.write_all(&message(ACK, number, self.now_ns()?))?,
        }
        Ok(false)
    }

    /// Passes the guest the schedule, and a file for logs. No kernel writes to this file.
    fn start(&self, number: u32) -> io::Result<()> {
        let log = File::options().write(true).open("/dev/null")?;
        let files = [self.file.as_fd(), log.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        beside.push(SendAncillaryMessage::ScmRights(&files));
        let message = message(ACK, number, GUEST.into());
        let sent = sendmsg(&self.stream, &[IoSlice::new(&message)], &mut beside, SendFlags::empty())?;
        if sent == MESSAGE_BYTES { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

fn message(op: u32, number: u32, time: u64) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [0; MESSAGE_BYTES];
    bytes[..4].copy_from_slice(&op.to_ne_bytes());
    bytes[4..8].copy_from_slice(&number.to_ne_bytes());
    bytes[8..].copy_from_slice(&time.to_ne_bytes());
    bytes
}
