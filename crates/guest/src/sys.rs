//! System calls. All `unsafe` code of the program is here: the calls that rustix does not have.
#![allow(unsafe_code)]

use std::fs::{File, Permissions};
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::event::epoll;
use rustix::fs::{self, FileType, Mode};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, sockopt};
use rustix::process::{self, Gid, Pid, PidfdFlags, Resource, Rlimit, Signal, Uid};
use rustix::thread::{self, CapabilitySet, CapabilitySets, LinkNameSpaceType, UnshareFlags};
use rustix::time::{self, ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

const NS_PER_S: u64 = 1_000_000_000;

fn done(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Mounts a file system of a kind.
pub fn mount(kind: &str, at: &str) -> io::Result<()> {
    Ok(rustix::mount::mount(kind, at, kind, MountFlags::empty(), None)?)
}

/// Mounts a source read-only or not, with the options of its kind.
pub fn mount_of(source: &str, at: &str, kind: &str, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(rustix::mount::mount(source, at, kind, flags, (!options.is_empty()).then_some(&*options))?)
}

/// Shows a file or a folder at another place too.
pub fn bind_mount(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(from, to)?)
}

/// Creates a character device that everyone may use.
pub fn device(at: &Path, major: u32, minor: u32) -> io::Result<()> {
    let everyone = Mode::from_raw_mode(0o666);
    fs::mknodat(fs::CWD, at, FileType::CharacterDevice, everyone, fs::makedev(major, minor))?;
    Ok(fs::chmod(at, everyone)?)
}

/// A descriptor of a process, which becomes readable when the process ends.
pub fn process(number: u32) -> io::Result<OwnedFd> {
    Ok(process::pidfd_open(of(number)?, PidfdFlags::empty())?)
}

fn of(number: u32) -> io::Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Sends a signal to all processes of a group.
pub fn signal(group: u32, signal: Signal) -> io::Result<()> {
    match process::kill_process_group(of(group)?, signal) {
        Err(Errno::SRCH) => Ok(()),
        result => Ok(result?),
    }
}

/// A file whose every write reaches the host at once.
pub fn passed_on(path: &str) -> io::Result<File> {
    let file = std::fs::OpenOptions::new().create(true).append(true).custom_flags(libc::O_SYNC).open(path)?;
    // A program may open it again, as /dev/stdout.
    file.set_permissions(Permissions::from_mode(0o666))?;
    Ok(file)
}

/// User and group of programs (`nobody`).
pub const PROGRAMS: u32 = 65_534;

/// Makes this process one of an ordinary user of the guest, who can neither mount the host's files, nor change the kernel's
/// settings, nor look into the first process. It keeps what programs use on a network, and may read all files that it sees.
pub fn become_ordinary() -> io::Result<()> {
    const LAST: u32 = 63;
    let kept = CapabilitySet::NET_ADMIN
        | CapabilitySet::NET_RAW
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::DAC_READ_SEARCH;
    for number in (0..=LAST).filter(|number| kept.bits() & 1 << number == 0) {
        // SAFETY: the call changes this process alone. It fails for numbers that the kernel does not know.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number) };
    }
    thread::set_keep_capabilities(true)?;
    thread::set_thread_groups(&[])?;
    let (user, group) = (Uid::from_raw(PROGRAMS), Gid::from_raw(PROGRAMS));
    thread::set_thread_res_gid(group, group, group)?;
    thread::set_thread_res_uid(user, user, user)?;
    thread::set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: kept })?;
    for number in (0..=LAST).filter(|number| kept.bits() & 1 << number != 0) {
        // SAFETY: as above.
        done(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0) }.into())?;
    }
    Ok(thread::set_no_new_privs(true)?)
}

/// Limits the files and the processes of a program. A write beyond its limit is an error of the program and does not end it.
pub fn limit_process() -> io::Result<()> {
    // SAFETY: no handler is installed; what is ignored stays so in the program.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    const FILE_BYTES: u64 = 64 << 20;
    const DESCRIPTORS: u64 = 4096;
    const PROCESSES: u64 = 512;
    let limits = [(Resource::Fsize, FILE_BYTES), (Resource::Nofile, DESCRIPTORS), (Resource::Nproc, PROCESSES)];
    for (what, most) in limits.into_iter().chain([(Resource::Core, 0)]) {
        process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
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
    Ok(process::set_parent_process_death_signal(Some(process::Signal::KILL))?)
}

/// Lets this process read the processor's cycle counter again, which the path's program may not (crates/counter): the
/// dynamic loader reads it.
pub fn allow_counter() {
    // A processor without such a switch has it on. SAFETY: the call changes this process alone.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_ENABLE) };
}

/// Ends the guest.
pub fn power_off() -> ! {
    rustix::fs::sync();
    let _ = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    std::process::exit(0)
}

/// Enters a new network namespace.
pub fn new_namespace() -> io::Result<()> {
    // SAFETY: the table of descriptors stays shared.
    Ok(unsafe { thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Enters an existing network namespace.
pub fn enter(namespace: &impl AsFd) -> io::Result<()> {
    Ok(thread::move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Monotonic time, ns.
pub fn now_ns() -> u64 {
    let now = time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// Sets the date, s since 1970. Monotonic time does not change.
pub fn set_date(seconds: i64) -> io::Result<()> {
    Ok(time::clock_settime(ClockId::Realtime, Timespec { tv_sec: seconds, tv_nsec: 0 })?)
}

/// Creates a timer as a descriptor.
pub fn timer() -> io::Result<OwnedFd> {
    Ok(time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?)
}

/// Sets a timer to a monotonic time.
pub fn set_timer(timer: &OwnedFd, at_ns: u64) -> io::Result<()> {
    let at = Timespec { tv_sec: (at_ns / NS_PER_S) as i64, tv_nsec: (at_ns % NS_PER_S) as i64 };
    let once = Itimerspec { it_interval: Timespec::default(), it_value: at };
    time::timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)?;
    Ok(())
}

/// Creates a set of descriptors to wait for.
pub fn poll_set() -> io::Result<OwnedFd> {
    Ok(epoll::create(epoll::CreateFlags::empty())?)
}

/// Adds a descriptor to a set; its events carry `key`.
pub fn watch(set: &OwnedFd, descriptor: &impl AsFd, events: epoll::EventFlags, key: u64) -> io::Result<()> {
    Ok(epoll::add(set, descriptor, epoll::EventData::new_u64(key), events)?)
}

/// Removes a descriptor from a set.
pub fn unwatch(set: &OwnedFd, descriptor: impl AsFd) -> io::Result<()> {
    Ok(epoll::delete(set, descriptor)?)
}

/// Waits for events, and stores their keys.
pub fn wait(set: &OwnedFd, keys: &mut Vec<u64>) -> io::Result<()> {
    let mut events = [MaybeUninit::uninit(); 64];
    keys.clear();
    match epoll::wait(set, &mut events, None) {
        Ok((events, _)) => keys.extend(events.iter().map(|event| event.data.u64())),
        Err(Errno::INTR) => (),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Creates a non-blocking TCP socket.
pub fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
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
    Ok(sockopt::set_tcp_congestion(socket, name)?)
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

/// Gives a socket its address.
pub fn bind(socket: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    Ok(net::bind(socket, &SocketAddrV4::new(ip, port))?)
}

/// Listens for connections.
pub fn listen(socket: &OwnedFd) -> io::Result<()> {
    Ok(net::listen(socket, 1)?)
}

/// Begins a connection.
pub fn connect(socket: &OwnedFd, ip: Ipv4Addr, port: u16) -> io::Result<()> {
    match net::connect(socket, &SocketAddrV4::new(ip, port)) {
        Err(Errno::INPROGRESS) => Ok(()),
        result => Ok(result?),
    }
}

/// The error of a connection that could not be made, if there is one.
pub fn pending_error(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Accepts one connection.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(net::accept_with(listener, SocketFlags::NONBLOCK)?)
}

/// Discards up to a number of bytes from a socket without copying them; `None` if there are too few.
pub fn discard(socket: &OwnedFd, most: usize) -> io::Result<Option<usize>> {
    // SAFETY: with MSG_TRUNC nothing is written.
    let count = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    match done(count as i64) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        result => Ok(Some(result? as usize)),
    }
}

/// Sends data; `None` if the buffer is full.
pub fn send(socket: &OwnedFd, data: &[u8]) -> io::Result<Option<usize>> {
    match net::send(socket, data, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN) => Ok(None),
        result => Ok(Some(result?)),
    }
}

/// A socket of the routing family.
pub fn netlink() -> io::Result<OwnedFd> {
    // Without a protocol, it is NETLINK_ROUTE.
    Ok(net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// Receives one datagram.
pub fn receive(socket: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    Ok(net::recv(socket, into, RecvFlags::empty())?.0)
}

/// Sends a frame, including its Ethernet header, through a device.
pub fn send_frame(device: u32, frame: &[u8]) -> io::Result<()> {
    let socket = net::socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
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
    Ok(netdevice::name_to_index(tcp_socket()?, name)?)
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
    Ok(process::setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum: Some(count) })?)
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
