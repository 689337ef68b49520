//! System calls. All `unsafe` code of the program is here.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn done(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    done(result.into())?;
    // SAFETY: the kernel has just created this descriptor, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Mounts a file system of a kind.
pub fn mount(kind: &str, at: &str) -> io::Result<()> {
    let (kind, at) = (CString::new(kind)?, CString::new(at)?);
    // SAFETY: the strings live as long as the call.
    done(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) }.into()).map(drop)
}

/// The kernel's log.
pub fn kernel_log() -> io::Result<Vec<u8>> {
    const READ_ALL: libc::c_int = 3;
    let mut text = vec![0_u8; 1 << 18];
    let room = libc::c_int::try_from(text.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel writes at most `room` bytes into the buffer, which is as long.
    let length = done(unsafe { libc::klogctl(READ_ALL, text.as_mut_ptr().cast(), room) }.into())?;
    text.truncate(usize::try_from(length).unwrap_or(0));
    Ok(text)
}

/// Asks the kernel to kill this process when its parent ends.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into()).map(drop)
}

/// Ends the guest.
pub fn power_off() -> ! {
    // SAFETY: no memory is passed.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        libc::_exit(0)
    }
}

/// Enters a new network namespace.
pub fn new_namespace() -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::unshare(libc::CLONE_NEWNET) }.into()).map(drop)
}

/// Enters an existing network namespace.
pub fn enter(namespace: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }.into()).map(drop)
}

/// Monotonic time, ns.
pub fn now_ns() -> u64 {
    // SAFETY: a zeroed timespec is valid, and lives as long as the call.
    let mut time: libc::timespec = unsafe { zeroed() };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Creates a timer as a descriptor.
pub fn timer() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK) })
}

/// Sets a timer to a monotonic time.
pub fn set_timer(timer: &OwnedFd, at_ns: u64) -> io::Result<()> {
    // SAFETY: a zeroed itimerspec is valid, and lives as long as the call.
    let mut spec: libc::itimerspec = unsafe { zeroed() };
    spec.it_value.tv_sec = (at_ns / 1_000_000_000) as libc::time_t;
    spec.it_value.tv_nsec = (at_ns % 1_000_000_000) as libc::c_long;
    let fd = timer.as_raw_fd();
    done(unsafe { libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut()) }.into()).map(drop)
}

/// Creates a set of descriptors to wait for.
pub fn poll_set() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    owned(unsafe { libc::epoll_create1(0) })
}

/// Adds a descriptor to a set; its events carry `key`.
pub fn watch(set: &OwnedFd, descriptor: RawFd, events: libc::c_int, key: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events: events as u32, u64: key };
    // SAFETY: the event lives as long as the call.
    done(unsafe { libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) }.into()).map(drop)
}

/// Waits for events, and stores their keys.
pub fn wait(set: &OwnedFd, keys: &mut Vec<u64>) -> io::Result<()> {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    keys.clear();
    // SAFETY: the kernel writes at most as many events as the array has.
    let count = unsafe { libc::epoll_wait(set.as_raw_fd(), events.as_mut_ptr(), 64, -1) };
    match done(count.into()) {
        Ok(count) => keys.extend(events[..count as usize].iter().map(|event| event.u64)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Creates a non-blocking TCP socket.
pub fn tcp_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) })
}

/// Sets an option of a socket to a value of a plain type.
pub fn set_option<T: Copy>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value lives as long as the call, and its size is stated.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size) };
    done(result.into()).map(drop)
}

/// Chooses a socket's congestion control.
pub fn set_congestion_control(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    let size = name.len() as libc::socklen_t;
    // SAFETY: the name lives as long as the call, and its size is stated.
    let result = unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), size) };
    done(result.into()).map(drop)
}

/// Reads `struct tcp_info`; if the kernel's structure is shorter, the rest of the buffer is zero.
pub fn tcp_info(socket: &OwnedFd, into: &mut [u8; 256]) -> io::Result<()> {
    into.fill(0);
    let mut size = into.len() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel writes at most `size` bytes.
    let result =
        unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, into.as_mut_ptr().cast(), &mut size) };
    done(result.into()).map(drop)
}

fn address(ip: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: a zeroed sockaddr_in is valid.
    let mut made: libc::sockaddr_in = unsafe { zeroed() };
    made.sin_family = libc::AF_INET as libc::sa_family_t;
    made.sin_port = port.to_be();
    made.sin_addr.s_addr = u32::from_ne_bytes(ip.octets());
    made
}

const ADDRESS_BYTES: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Gives a socket its address.
pub fn bind(socket: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    let at = address(ip, port);
    // SAFETY: the address lives as long as the call.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const at).cast(), ADDRESS_BYTES) }.into()).map(drop)
}

/// Listens for connections.
pub fn listen(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::listen(socket.as_raw_fd(), 1) }.into()).map(drop)
}

/// Begins a connection.
pub fn connect(socket: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    let at = address(ip, port);
    // SAFETY: the address lives as long as the call.
    match done(unsafe { libc::connect(socket.as_raw_fd(), (&raw const at).cast(), ADDRESS_BYTES) }.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// The error of a connection that could not be made, if there is one.
pub fn pending_error(socket: &OwnedFd) -> io::Result<()> {
    let (mut code, mut bytes): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    let (value, level) = ((&raw mut code).cast(), libc::SOL_SOCKET);
    // SAFETY: the number and its size live as long as the call.
    done(unsafe { libc::getsockopt(socket.as_raw_fd(), level, libc::SO_ERROR, value, &raw mut bytes) }.into())?;
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Accepts one connection.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let none = std::ptr::null_mut();
    // SAFETY: no address is asked for.
    owned(unsafe { libc::accept4(listener.as_raw_fd(), none, std::ptr::null_mut(), libc::SOCK_NONBLOCK) })
}

fn unless_full(result: isize) -> io::Result<Option<usize>> {
    match done(result as i64) {
        Ok(count) => Ok(Some(count as usize)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Discards up to a number of bytes from a socket without copying them; `None` if there are too few.
pub fn discard(socket: &OwnedFd, most: usize) -> io::Result<Option<usize>> {
    // SAFETY: with MSG_TRUNC nothing is written.
    unless_full(unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) })
}

/// Sends data; `None` if the buffer is full.
pub fn send(socket: &OwnedFd, data: &[u8]) -> io::Result<Option<usize>> {
    // SAFETY: the data lives as long as the call.
    unless_full(unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), libc::MSG_NOSIGNAL) })
}

/// A socket of the routing family.
pub fn netlink() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    owned(unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) })
}

/// Receives one datagram.
pub fn receive(socket: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as much as there is room for.
    let count = unsafe { libc::recv(socket.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) };
    done(count as i64).map(|count| count as usize)
}

/// Sends a frame, including its Ethernet header, through a device.
pub fn send_frame(device: u32, frame: &[u8]) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let socket = owned(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a zeroed sockaddr_ll is valid.
    let mut to: libc::sockaddr_ll = unsafe { zeroed() };
    to.sll_family = libc::AF_PACKET as libc::c_ushort;
    to.sll_ifindex = device as libc::c_int;
    to.sll_halen = 6;
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let (data, fd) = (frame.as_ptr().cast(), socket.as_raw_fd());
    // SAFETY: the frame and the address live as long as the call.
    done(unsafe { libc::sendto(fd, data, frame.len(), 0, (&raw const to).cast(), size) } as i64).map(drop)
}

/// Index of a device in this namespace.
pub fn device_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the name lives as long as the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index) }
}

/// Switches off segmentation offload of a device, so that packets leave it with their size on the path.
pub fn segment_in_host(name: &str) -> io::Result<()> {
    const ETHTOOL_STSO: u32 = 0x1f;
    const ETHTOOL_SGSO: u32 = 0x24;
    switch_off(name, &[ETHTOOL_STSO, ETHTOOL_SGSO])
}

/// Switches off receive offload (GRO) of a device, which would merge packets of a flow before TCP gets them.
pub fn receive_one_by_one(name: &str) -> io::Result<()> {
    const ETHTOOL_SGRO: u32 = 0x2c;
    switch_off(name, &[ETHTOOL_SGRO])
}

/// Raises this process's limit of descriptors to the number that a plan needs.
pub fn allow_descriptors(count: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
    // SAFETY: the limit lives as long as the call.
    done(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }.into()).map(drop)
}

fn switch_off(name: &str, features: &[u32]) -> io::Result<()> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    let socket = tcp_socket()?;
    for what in features {
        let mut value = [*what, 0];
        // SAFETY: a zeroed ifreq is valid; it and the value live as long as the call.
        let mut request: libc::ifreq = unsafe { zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
        match done(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) }.into()) {
            // The device does not have this feature.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => (),
            result => drop(result?),
        }
    }
    Ok(())
}
