//! Messages of the routing family: devices, addresses, routes and netem.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::plan::{Netem, Route};
use crate::sys;

const HEADER_BYTES: usize = 16;
const ACK: u16 = 0x1 | 0x4;
const CREATE: u16 = ACK | 0x400;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x1 | 0x300;
const ROOT: u32 = 0xffff_ffff;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFLA_OPERSTATE: u16 = 16;
const IF_OPER_UP: u8 = 6;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const UP_WITHOUT_ARP: u32 = 0x1 | 0x80;
/// Bytes of the Ethernet header, which netem counts and a path's rate excludes.
const ETHERNET_BYTES: i32 = 14;
const WAITING_MAX: u32 = 1000;

/// A connection to one network namespace.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// Counts of a queue since the beginning, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCounts {
    /// Waiting packets, including the packet in transmission.
    pub length: u32,
    /// Packets that were dropped.
    pub dropped: u32,
    /// Packets that left.
    pub sent: u32,
    /// Bytes that left, with the Ethernet header.
    pub sent_bytes: u64,
}

impl Netlink {
    /// Opens a connection to the namespace of this thread.
    pub fn new() -> io::Result<Self> {
        Ok(Self { socket: sys::netlink()?, buffer: vec![0; 1 << 16] })
    }

    /// Creates a pair of devices with the same hardware address; the second end is in another namespace.
    pub fn pair(&mut self, number: usize, mtu: u32, peer: &impl AsRawFd) -> io::Result<()> {
        let end = |name: &str| {
            let mut body = vec![0; 16];
            attribute(&mut body, 3, &[name.as_bytes(), &[0]].concat());
            attribute(&mut body, 1, &[2, 0, 0, 0, (number >> 8) as u8, number as u8]);
            attribute(&mut body, 4, &mtu.to_ne_bytes());
            attribute(&mut body, 13, &WAITING_MAX.to_ne_bytes());
            body
        };
        let (mut near, mut far) = (end(&near_end(number)), end(&far_end(number)));
        attribute(&mut far, 28, &peer.as_raw_fd().to_ne_bytes());
        let (mut data, mut info) = (Vec::new(), Vec::new());
        attribute(&mut data, 1, &far);
        attribute(&mut info, 1, b"veth");
        attribute(&mut info, 2, &data);
        attribute(&mut near, 18, &info);
        self.ask(RTM_NEWLINK, CREATE | 0x200, &near)
    }

    /// Moves a device that leads out of the guest into a namespace, with a name and an address like those of pairs: all such
    /// devices have one hardware address, as the ends of a pair do.
    pub fn adopt(&mut self, number: usize, mtu: u32, namespace: &impl AsRawFd) -> io::Result<()> {
        let mut body = vec![0; 4];
        body.extend(sys::device_index(&outer_name(number))?.to_ne_bytes());
        body.extend([0; 8]);
        attribute(&mut body, 3, &[near_end(number).as_bytes(), &[0]].concat());
        attribute(&mut body, 1, &[2, 0, 0, 0, 0, 0]);
        attribute(&mut body, 4, &mtu.to_ne_bytes());
        attribute(&mut body, 13, &WAITING_MAX.to_ne_bytes());
        attribute(&mut body, 28, &namespace.as_raw_fd().to_ne_bytes());
        self.ask(RTM_NEWLINK, ACK, &body)
    }

    /// Switches a device on, without address resolution (ARP).
    pub fn up(&mut self, name: &str) -> io::Result<()> {
        let mut body = vec![0; 4];
        body.extend(sys::device_index(name)?.to_ne_bytes());
        body.extend(UP_WITHOUT_ARP.to_ne_bytes());
        body.extend(UP_WITHOUT_ARP.to_ne_bytes());
        self.ask(RTM_NEWLINK, ACK, &body)
    }

    /// True once the kernel has enabled a device; before, the device drops packets. The kernel enables a hundred
    /// devices a second (linkwatch).
    pub fn is_up(&mut self, name: &str) -> io::Result<bool> {
        let mut body = vec![0; 4];
        body.extend(sys::device_index(name)?.to_ne_bytes());
        body.extend([0; 8]);
        self.send(RTM_GETLINK, REQUEST, &body)?;
        let size = sys::receive(&self.socket, &mut self.buffer)?;
        match messages(&self.buffer[..size]).next() {
            Some((RTM_NEWLINK, link)) => {
                let state = attributes(link.get(16..).unwrap_or_default()).find(|(kind, _)| *kind == IFLA_OPERSTATE);
                Ok(state.is_some_and(|(_, value)| value == [IF_OPER_UP]))
            }
            Some((_, body)) => Err(failure(body)),
            None => Err(io::Error::other("no answer")),
        }
    }

    /// Gives a device an address of its own.
    pub fn address(&mut self, name: &str, ip: Ipv4Addr) -> io::Result<()> {
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0];
        body.extend(sys::device_index(name)?.to_ne_bytes());
        attribute(&mut body, 2, &ip.octets());
        attribute(&mut body, 1, &ip.octets());
        self.ask(RTM_NEWADDR, CREATE, &body)
    }

    /// Adds a route through a device, with its metrics (`RTAX_MTU`, `RTAX_INITCWND`, `RTAX_INITRWND`, and in `RTAX_FEATURES` ECN).
    pub fn route(&mut self, route: &Route, device: &str) -> io::Result<()> {
        let mut metrics = Vec::new();
        let features = route.ecn.then_some(1);
        for (kind, value) in [(2, route.mtu), (11, route.initial_window), (12, features), (14, route.receive_window)] {
            if let Some(value) = value {
                attribute(&mut metrics, kind, &value.to_ne_bytes());
            }
        }
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
        attribute(&mut body, 1, &route.to.octets());
        attribute(&mut body, 4, &sys::device_index(device)?.to_ne_bytes());
        if !metrics.is_empty() {
            attribute(&mut body, 8, &metrics);
        }
        self.ask(RTM_NEWROUTE, CREATE, &body)
    }

    /// Puts netem on a device.
    pub fn netem(&mut self, name: &str, netem: &Netem) -> io::Result<()> {
        let mut body = vec![0; 4];
        body.extend(sys::device_index(name)?.to_ne_bytes());
        body.extend(0_u32.to_ne_bytes());
        body.extend(ROOT.to_ne_bytes());
        body.extend(0_u32.to_ne_bytes());
        attribute(&mut body, 1, b"netem\0");
        attribute(&mut body, 2, &options(netem));
        self.ask(RTM_NEWQDISC, CREATE | 0x100, &body)
    }

    /// Counts of the root queues of this namespace, by the index of the device.
    pub fn queues(&mut self) -> io::Result<Vec<(u32, QueueCounts)>> {
        self.send(RTM_GETQDISC, DUMP, &[0; 20])?;
        let mut found = Vec::new();
        loop {
            let size = sys::receive(&self.socket, &mut self.buffer)?;
            for (kind, body) in messages(&self.buffer[..size]) {
                match kind {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => return Err(failure(body)),
                    _ => found.extend(queue(body)),
                }
            }
        }
    }

    fn send(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
        message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        message.extend(body);
        sys::send(&self.socket, &message).map(drop)
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.send(kind, flags, body)?;
        let size = sys::receive(&self.socket, &mut self.buffer)?;
        match messages(&self.buffer[..size]).next() {
            Some((NLMSG_ERROR, body)) if body.get(..4) == Some(&[0; 4]) => Ok(()),
            Some((_, body)) => Err(failure(body)),
            None => Err(io::Error::other("no answer")),
        }
    }
}

/// Name of the sending end of a pair.
pub fn near_end(number: usize) -> String {
    format!("a{number}")
}

/// The kernel's name of a device that leads out of the guest.
fn outer_name(number: usize) -> String {
    format!("eth{number}")
}

/// Name of the receiving end of a pair.
pub fn far_end(number: usize) -> String {
    format!("b{number}")
}

/// `struct tc_netem_qopt` and the attributes behind it.
fn options(netem: &Netem) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0, netem.limit, netem.loss, 0, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    attribute(&mut bytes, 10, &netem.delay_ns.to_ne_bytes());
    if netem.loss > 0 {
        attribute(&mut bytes, 14, &netem.loss_seed.to_ne_bytes());
    }
    if let Some(rate_bps) = netem.rate_bps {
        let bytes_per_s = rate_bps / 8;
        let mut rate = Vec::new();
        rate.extend(u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
        rate.extend((-ETHERNET_BYTES).to_ne_bytes());
        rate.extend([0; 8]);
        attribute(&mut bytes, 6, &rate);
        if bytes_per_s >= u64::from(u32::MAX) {
            attribute(&mut bytes, 8, &bytes_per_s.to_ne_bytes());
        }
    }
    bytes
}

fn failure(body: &[u8]) -> io::Error {
    let code = body.get(..4).and_then(|code| code.try_into().ok()).map_or(0, i32::from_ne_bytes);
    io::Error::from_raw_os_error(-code)
}

/// Root queue of a device, in the reply to a dump.
fn queue(body: &[u8]) -> Option<(u32, QueueCounts)> {
    let index = word(body, 4)?;
    if word(body, 12)? != ROOT {
        return None;
    }
    let mut counts = QueueCounts::default();
    let stats = attributes(body.get(20..)?).find(|(kind, _)| *kind == 7)?.1;
    for (kind, value) in attributes(stats) {
        match kind {
            1 => {
                counts.sent_bytes = u64::from_ne_bytes(value.get(..8)?.try_into().ok()?);
                counts.sent = word(value, 8)?;
            }
            3 => (counts.length, counts.dropped) = (word(value, 0)?, word(value, 8)?),
            _ => (),
        }
    }
    Some((index, counts))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Kinds and bodies of the messages in a datagram.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let size = word(bytes, 0)? as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(HEADER_BYTES..size)?;
        bytes = bytes.get(size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// Kinds and values of attributes.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let size = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & 0x3fff;
        let value = bytes.get(4..size)?;
        bytes = bytes.get(size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Appends an attribute, padded to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netem(rate_bps: u64) -> Netem {
        Netem { rate_bps: Some(rate_bps), delay_ns: 5, limit: 7, loss: 0, loss_seed: 0 }
    }

    #[test]
    fn netem_counts_packets_without_their_ethernet_header() {
        let made = options(&netem(100_000_000));
        let rate = attributes(&made[24..]).find(|(kind, _)| *kind == 6).expect("a rate").1;
        assert_eq!(word(rate, 0), Some(12_500_000));
        assert_eq!(word(rate, 4), Some((-14_i32) as u32));
    }

    #[test]
    fn a_rate_beyond_32_bits_of_bytes_is_stated_in_64() {
        let made = options(&netem(80_000_000_000));
        assert_eq!(
            attributes(&made[24..]).find(|(kind, _)| *kind == 8).map(|found| found.1),
            Some(&10_000_000_000_u64.to_ne_bytes()[..])
        );
        assert!(attributes(&options(&netem(8_000))[24..]).all(|(kind, _)| kind != 8));
    }

    #[test]
    fn a_truncated_answer_ends_the_reading() {
        assert_eq!(messages(&[40, 0, 0, 0, 2, 0]).count(), 0);
        assert_eq!(attributes(&[9, 0, 1, 0, 1]).count(), 0);
        assert_eq!(queue(&[0; 10]), None);
    }
}
