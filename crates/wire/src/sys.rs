//! System calls that the standard library does not have.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Result of a system call, or its error.
pub(crate) fn checked(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives as long as the call; these clocks are always there.
    unsafe { libc::clock_gettime(id, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Monotonic clock, ns.
#[must_use]
pub fn monotonic_ns() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Time of the clock of packets' time stamps minus [`monotonic_ns`], ns.
#[must_use]
pub fn wall_ahead_ns() -> i64 {
    // The pair of readings taken in the shortest time is used.
    let pair = || {
        let before = monotonic_ns();
        let wall = clock(libc::CLOCK_REALTIME);
        let after = monotonic_ns();
        (after - before, wall - (before + after) / 2)
    };
    (0..8).map(|_| pair()).min_by_key(|(width, _)| *width).map_or(0, |(_, ahead)| ahead)
}

/// Sleeps until an instant of [`monotonic_ns`], or until a signal arrives.
pub fn sleep_until(ns: i64) {
    let at = libc::timespec { tv_sec: ns.div_euclid(1_000_000_000), tv_nsec: ns.rem_euclid(1_000_000_000) };
    // SAFETY: the structure lives as long as the call, and nothing is written back.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut()) };
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
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) })?;
    // SAFETY: no pointers. If the request is refused, the run itself shows how busy the host was.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    Ok(())
}

/// Makes this process end when the thread that started the process ends, and at once if `parent` has already ended.
///
/// # Errors
/// The kernel returns an error, or the parent has exited.
pub fn die_with(parent: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })?;
    // SAFETY: the call always succeeds.
    if unsafe { libc::getppid() } == parent { Ok(()) } else { Err(io::Error::other("the parent process has ended")) }
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
    clock(libc::CLOCK_PROCESS_CPUTIME_ID) as f64 / 1e9
}

/// User and system time of this thread so far, s.
#[must_use]
pub fn thread_seconds() -> f64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID) as f64 / 1e9
}

/// Keeps this process's processors from sleeping until it ends, by an idle loop with the lowest priority on each
/// (`SCHED_IDLE`). A sleeping processor takes some µs to wake up; a virtual processor takes longer if its hardware is
/// in use by others.
pub fn keep_processors_awake() {
    // SAFETY: a set of processors is plain bits, and its size is stated.
    let allowed = unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut allowed) == 0).then_some(allowed)
    };
    let Some(allowed) = allowed else { return };
    for number in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the number is below the size of the set.
        if unsafe { libc::CPU_ISSET(number, &allowed) } {
            std::thread::spawn(move || {
                if come_last(number).is_ok() {
                    loop {
                        std::hint::spin_loop();
                    }
                }
            });
        }
    }
}

/// Binds this thread to one processor, with the lowest priority.
fn come_last(number: usize) -> io::Result<()> {
    // SAFETY: the structures live as long as the calls, and their sizes are stated; 0 is this thread.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(number, &mut one);
        checked(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one))?;
        checked(libc::sched_setscheduler(0, libc::SCHED_IDLE, &libc::sched_param { sched_priority: 0 }))?;
        // With this nice value, /proc/stat counts the thread's time separately.
        checked(libc::setpriority(libc::PRIO_PROCESS, 0, 19)).map(drop)
    }
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
pub fn set_congestion_control(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    // SAFETY: the bytes live as long as the call, and their number is stated.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    checked(answer).map(drop)
}

/// A TCP socket that is not connected. Closing the socket resets the connection: a socket keeps its namespace alive,
/// and must not continue to send after the run.
///
/// # Errors
/// The kernel returns an error.
pub fn tcp_socket() -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor has no other owner.
    unsafe {
        let made = checked(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let socket = OwnedFd::from_raw_fd(made);
        set_option(&socket, libc::SOL_SOCKET, libc::SO_LINGER, libc::linger { l_onoff: 1, l_linger: 0 })?;
        Ok(socket)
    }
}

fn socket_address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    }
}

/// Binds a socket to an address.
///
/// # Errors
/// The address is not this host's, or is in use.
pub fn bind(socket: &impl AsRawFd, address: SocketAddrV4) -> io::Result<()> {
    let name = socket_address(address);
    let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the structure lives as long as the call, and its size is stated.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const name).cast(), size) }).map(drop)
}

/// Connects a socket, and waits for the connection.
///
/// # Errors
/// No socket listens at the address.
pub fn connect(socket: &impl AsRawFd, address: SocketAddrV4) -> io::Result<()> {
    let name = socket_address(address);
    let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the structure lives as long as the call, and its size is stated.
    checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const name).cast(), size) }).map(drop)
}

/// Waits for connections.
///
/// # Errors
/// The socket has no address.
pub fn listen(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::listen(socket.as_raw_fd(), 8) }).map(drop)
}

/// Accepts the next connection.
///
/// # Errors
/// The socket does not listen.
pub fn accept(socket: &impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: no address is requested; the descriptor has no other owner.
    unsafe {
        let made = libc::accept4(socket.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC);
        Ok(OwnedFd::from_raw_fd(checked(made)?))
    }
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
    let name = std::ffi::CString::new(device).map_err(io::Error::other)?;
    // SAFETY: the name lives as long as the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index) }
}

/// Sends a message to the kernel's routing (rtnetlink), and reads its reply.
///
/// # Errors
/// The error in the reply.
pub fn ask_routing(message: &[u8]) -> io::Result<()> {
    const ERROR_AT: usize = 16;
    let mut answer = [0; 512];
    // SAFETY: the bytes live as long as the calls, and their numbers are stated; the descriptor has no other owner.
    let read = unsafe {
        let made = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        let socket = OwnedFd::from_raw_fd(checked(made)?);
        let sent = libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0);
        checked(sent as c_int)?;
        let read = libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0);
        checked(read as c_int)?
    };
    let error = answer.get(ERROR_AT..ERROR_AT + 4).filter(|_| read as usize >= ERROR_AT + 4);
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
    const NETLINK_SOCK_DIAG: c_int = 4;
    let mut answer = vec![0; 32 << 10];
    // SAFETY: the bytes live as long as the calls, and their numbers are stated; the descriptor has no other owner.
    unsafe {
        let made = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        let socket = OwnedFd::from_raw_fd(checked(made)?);
        let sent = libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0);
        checked(sent as c_int)?;
        loop {
            let length = libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0);
            if read(&answer[..checked(length as c_int)? as usize]) {
                return Ok(());
            }
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
