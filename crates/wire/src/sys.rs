//! System calls that the standard library does not have, and those that rustix does not have either.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, netlink, sockopt};
use rustix::process;
use rustix::thread::{self, CpuSet};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Result of a system call, or its error.
pub(crate) fn checked(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn clock(id: ClockId) -> i64 {
    let now = clock_gettime(id);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Monotonic clock, ns.
#[must_use]
pub fn monotonic_ns() -> i64 {
    clock(ClockId::Monotonic)
}

/// Time of the clock of packets' time stamps minus [`monotonic_ns`], ns.
#[must_use]
pub fn wall_ahead_ns() -> i64 {
    // The pair of readings taken in the shortest time is used.
    let pair = || {
        let before = monotonic_ns();
        let wall = clock(ClockId::Realtime);
        let after = monotonic_ns();
        (after - before, wall - (before + after) / 2)
    };
    (0..8).map(|_| pair()).min_by_key(|(width, _)| *width).map_or(0, |(_, ahead)| ahead)
}

/// Sleeps until an instant of [`monotonic_ns`], or until a signal arrives.
pub fn sleep_until(ns: i64) {
    let at = Timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) };
    let _ = thread::clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// True if SIGTERM or SIGINT arrived.
#[must_use]
pub fn stop_asked() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Requests a stop, like SIGTERM.
pub fn ask_to_stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// Prepares the process: SIGTERM and SIGINT only request a stop, timers have the smallest slack, and the process gets
/// the highest ordinary priority if allowed.
///
/// # Errors
/// The kernel returns an error.
pub fn prepare_process() -> io::Result<()> {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only stores into an atomic.
        let before = unsafe { libc::signal(signal, on_signal as *const () as libc::sighandler_t) };
        if before == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    thread::set_current_timer_slack(NonZeroU64::new(1))?;
    // If the request is refused, the run itself shows how busy the host was.
    let _ = process::setpriority_process(None, -20);
    Ok(())
}

/// Makes this process end when the thread that started the process ends, and at once if `parent` has already ended.
///
/// # Errors
/// The kernel returns an error, or the parent has exited.
pub fn die_with(parent: i32) -> io::Result<()> {
    process::set_parent_process_death_signal(Some(process::Signal::KILL))?;
    let found = process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if found == Some(parent) { Ok(()) } else { Err(io::Error::other("the parent process has ended")) }
}

#[repr(C)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Reserves `runtime_ns` of each `period_ns` for this thread (`SCHED_DEADLINE`).
///
/// # Errors
/// The kernel does not allow the request.
pub fn reserve_processor(runtime_ns: u64, period_ns: u64) -> io::Result<()> {
    const SCHED_DEADLINE: u32 = 6;
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        policy: SCHED_DEADLINE,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: runtime_ns,
        deadline: period_ns,
        period: period_ns,
    };
    // SAFETY: the structure lives as long as the call, and states its own size.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(answer as c_int).map(drop)
}

/// Gives this thread, which mostly waits, real-time priority over all ordinary threads (`SCHED_FIFO`). A thread of
/// higher `priority` precedes a thread of lower priority.
///
/// # Errors
/// The kernel does not allow the request.
pub fn go_first(priority: c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure lives as long as the call.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map(drop)
}

/// User and system time of this process so far, s.
#[must_use]
pub fn processor_seconds() -> f64 {
    clock(ClockId::ProcessCPUTime) as f64 / 1e9
}

/// User and system time of this thread so far, s.
#[must_use]
pub fn thread_seconds() -> f64 {
    clock(ClockId::ThreadCPUTime) as f64 / 1e9
}

/// Keeps this process's processors from sleeping until it ends, by an idle loop with the lowest priority on each
/// (`SCHED_IDLE`). A sleeping processor takes some µs to wake up; a virtual processor takes longer if its hardware is
/// in use by others.
pub fn keep_processors_awake() {
    let Ok(allowed) = thread::sched_getaffinity(None) else { return };
    for number in (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)) {
        std::thread::spawn(move || {
            if come_last(number).is_ok() {
                loop {
                    std::hint::spin_loop();
                }
            }
        });
    }
}

/// Binds this thread to one processor, with the lowest priority.
fn come_last(number: usize) -> io::Result<()> {
    let mut one = CpuSet::new();
    one.set(number);
    thread::sched_setaffinity(None, &one)?;
    // SAFETY: the structure lives as long as the call; 0 is this thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &libc::sched_param { sched_priority: 0 }) })?;
    // With this nice value, /proc/stat counts the thread's time separately.
    Ok(process::setpriority_process(None, 19)?)
}

/// Sets a socket option that is a structure without padding or a number.
///
/// # Errors
/// The kernel returns an error.
pub fn set_option<T: Copy>(socket: &impl AsRawFd, level: c_int, name: c_int, value: T) -> io::Result<()> {
    // SAFETY: the value lives as long as the call, and its size is stated.
    let answer = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size_of::<T>() as libc::socklen_t)
    };
    checked(answer).map(drop)
}

/// Reads a socket option into bytes. Returns the number of bytes.
///
/// # Errors
/// The kernel returns an error.
pub fn read_option(socket: &impl AsRawFd, level: c_int, name: c_int, into: &mut [u8]) -> io::Result<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the bytes live as long as the call, and their number is stated.
    let answer =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, into.as_mut_ptr().cast(), &raw mut length) };
    checked(answer)?;
    Ok(length as usize)
}

/// Chooses a TCP socket's congestion control by name.
///
/// # Errors
/// The kernel does not have this congestion control.
pub fn set_congestion_control(socket: &impl AsFd, name: &str) -> io::Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, name)?)
}

/// A TCP socket that is not connected. Closing the socket resets the connection: a socket keeps its namespace alive,
/// and must not continue to send after the run.
///
/// # Errors
/// The kernel returns an error.
pub fn tcp_socket() -> io::Result<OwnedFd> {
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    Ok(socket)
}

/// Binds a socket to an address.
///
/// # Errors
/// The address is not this host's, or is in use.
pub fn bind(socket: &impl AsFd, address: SocketAddrV4) -> io::Result<()> {
    Ok(net::bind(socket, &address)?)
}

/// Connects a socket, and waits for the connection.
///
/// # Errors
/// No socket listens at the address.
pub fn connect(socket: &impl AsFd, address: SocketAddrV4) -> io::Result<()> {
    Ok(net::connect(socket, &address)?)
}

/// Waits for connections.
///
/// # Errors
/// The socket has no address.
pub fn listen(socket: &impl AsFd) -> io::Result<()> {
    Ok(net::listen(socket, 8)?)
}

/// Accepts the next connection.
///
/// # Errors
/// The socket does not listen.
pub fn accept(socket: &impl AsFd) -> io::Result<OwnedFd> {
    Ok(net::accept_with(socket, SocketFlags::CLOEXEC)?)
}

/// Discards up to `most` bytes from a TCP socket; 0 at the end.
///
/// # Errors
/// The connection is gone.
pub fn discard(socket: &impl AsRawFd, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket drops the bytes and writes nowhere.
    let taken = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
}

/// An IPv4 address with a port.
#[must_use]
pub fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

/// The index of a device of this namespace.
///
/// # Errors
/// There is no device of this name.
pub fn device_index(device: &str) -> io::Result<u32> {
    Ok(netdevice::name_to_index(tcp_socket()?, device)?)
}

/// Sends a message to the kernel, and returns the socket of the replies. Without a protocol, it is `NETLINK_ROUTE`.
fn ask(protocol: Option<net::Protocol>, message: &[u8]) -> io::Result<OwnedFd> {
    let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    net::send(&socket, message, SendFlags::empty())?;
    Ok(socket)
}

/// Sends a message to the kernel's routing (rtnetlink), and reads its reply.
///
/// # Errors
/// The error in the reply.
pub fn ask_routing(message: &[u8]) -> io::Result<()> {
    const ERROR_AT: usize = 16;
    let mut answer = [0; 512];
    let (read, _) = net::recv(ask(None, message)?, &mut answer, RecvFlags::empty())?;
    let error = answer[..read].get(ERROR_AT..ERROR_AT + 4);
    let Some(Ok(code)) = error.map(<[u8; 4]>::try_from) else { return Err(io::Error::other("no answer")) };
    match i32::from_ne_bytes(code) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// Sends a message to the kernel's socket monitoring (`sock_diag`), and passes its replies to `read` until the last
/// one.
///
/// # Errors
/// The kernel returns an error.
pub fn ask_sockets(message: &[u8], mut read: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let socket = ask(Some(netlink::SOCK_DIAG), message)?;
    let mut answer = vec![0; 32 << 10];
    loop {
        let (length, _) = net::recv(&socket, &mut answer, RecvFlags::empty())?;
        if read(&answer[..length]) {
            return Ok(());
        }
    }
}

const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// `ETHTOOL_STXCSUM`, `ETHTOOL_STSO`, `ETHTOOL_SGSO` and `ETHTOOL_SGRO` of linux/ethtool.h.
const FEATURES: [(u32, &str); 4] = [(0x17, "tx-checksumming"), (0x1f, "tso"), (0x24, "gso"), (0x2c, "gro")];

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switches off the offloads of a device of this namespace: no segmentation, no merging, and complete checksums.
///
/// # Errors
/// There is no such device, or it returns an error.
pub fn switch_offloads_off(device: &str) -> io::Result<()> {
    let socket = tcp_socket()?;
    for (command, feature) in FEATURES {
        let mut value = EthtoolValue { command, data: 0 };
        // SAFETY: an all-zero ifreq is a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: both structures live as long as the call.
        let answer = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        checked(answer).map_err(|error| io::Error::other(format!("{device}: {feature} stays on ({error})")))?;
    }
    Ok(())
}
