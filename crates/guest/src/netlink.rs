//! Messages of the routing family: devices, addresses, routes, netem and other queue disciplines.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::plan::{Netem, Queue, Route};
use crate::sys;

const HEADER_BYTES: usize = 16;
const ACK: u16 = 0x1 | 0x4;
const CREATE: u16 = ACK | 0x400;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x1 | 0x300;
/// Flag of an attribute that contains attributes (`NLA_F_NESTED`).
const NESTED: u16 = 0x8000;
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
const RTM_NEWTCLASS: u16 = 40;
/// Handles of the rate limit, of its class, and of the discipline inside it.
const LIMIT: u32 = 0x1_0000;
const CLASS: u32 = 0x1_0001;
const INNER: u32 = 0x2_0000;
/// Class into which the discipline inside the rate limit puts its packets, and handle of the queue in that class.
const INNER_CLASS: u32 = 0x2_0001;
const PACKETS: u32 = 0x3_0000;
/// A delay that is longer than any run, ns.
const FOREVER_NS: u64 = 1 << 60;
/// Version of the messages of HTB.
const HTB_VERSION: u32 = 3;
/// Quantum of a class of HTB, bytes; it has an effect only if several classes share a rate.
const TURN_BYTES: u32 = 1514;
const UP_WITHOUT_ARP: u32 = 0x1 | 0x80;
/// Bytes of the Ethernet header, which netem counts and a path's rate excludes.
const ETHERNET_BYTES: i32 = 14;
const WAITING_MAX: u32 = 1000;
/// Size of a frame that stays in a queue, bytes: the Ethernet header and two bytes.
const HELD_BYTES: usize = 16;

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
    /// Bytes that left, with the Ethernet header if netem is the queue.
    pub sent_bytes: u64,
    /// Packets that were marked.
    pub marked: u32,
}

/// Rules for counting the packets of a discipline that is inside a rate limit.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Offset of the number of marks in the discipline's statistics, bytes.
    pub marks_at: usize,
    /// Number of frames that stay in the discipline for the whole run.
    pub held: u32,
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

    /// Moves a device into a namespace; the device leads out of the guest. The device gets a name and an address like
    /// the ends of pairs. All such devices have the same hardware address, as both ends of a pair have.
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

    /// True if the kernel has enabled a device; until then the device drops packets. The kernel enables a hundred
    /// devices per second (linkwatch).
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
        if let Some(source) = route.source {
            attribute(&mut body, 7, &source.octets());
        }
        if !metrics.is_empty() {
            attribute(&mut body, 8, &metrics);
        }
        self.ask(RTM_NEWROUTE, CREATE, &body)
    }

    /// Puts netem on a device.
    pub fn netem(&mut self, name: &str, netem: &Netem) -> io::Result<()> {
        let mut body = discipline(sys::device_index(name)?, 0, ROOT, "netem");
        attribute(&mut body, 2, &options(netem));
        self.ask(RTM_NEWQDISC, CREATE | 0x100, &body)
    }

    /// Puts a queue discipline on a device, in a class of HTB that serves it at the rate.
    ///
    /// The class has no burst allowance: the next packet is taken out of the queue when the transmission of the
    /// previous packet ends. Packets count without their Ethernet header (`TCA_STAB`).
    pub fn queue(&mut self, name: &str, queue: &Queue) -> io::Result<()> {
        let index = sys::device_index(name)?;
        let mut limit = discipline(index, LIMIT, ROOT, "htb");
        attribute(&mut limit, 2, &shaper());
        attribute(&mut limit, 8, &size_without_ethernet());
        self.ask(RTM_NEWQDISC, CREATE | 0x100, &limit)?;
        let mut class = discipline(index, CLASS, LIMIT, "htb");
        attribute(&mut class, 2, &class_of_rate(queue.rate_bps));
        self.ask(RTM_NEWTCLASS, CREATE, &class)?;
        let mut inner = discipline(index, INNER, CLASS, &queue.kind);
        let mut values = Vec::new();
        for (kind, value) in &queue.options {
            attribute(&mut values, *kind, value);
        }
        // The flag is an obligation for DualPI2, and earlier disciplines ignore it.
        attribute(&mut inner, 2 | NESTED, &values);
        self.ask(RTM_NEWQDISC, CREATE | 0x100, &inner)?;
        queue.idle_limit.map_or(Ok(()), |limit| self.packets_of_discipline(index, limit, FOREVER_NS, CREATE | 0x100))
    }

    /// Lets a queue discipline notice idle times.
    ///
    /// HTB does not dequeue from an empty discipline, so a discipline that measures idle times, such as RED, would
    /// never notice that it is idle. Therefore the discipline's packets are in a netem, in which one small frame stays
    /// for the whole run: HTB then dequeues from the discipline when the transmission of the last packet ends. The
    /// device must be up.
    pub fn hold_a_frame(&mut self, name: &str, queue: &Queue) -> io::Result<()> {
        let Some(limit) = queue.idle_limit else { return Ok(()) };
        let index = sys::device_index(name)?;
        sys::send_frame(index, &[0; HELD_BYTES])?;
        self.packets_of_discipline(index, limit, 0, ACK)
    }

    fn packets_of_discipline(&mut self, index: u32, limit: u32, delay_ns: u64, flags: u16) -> io::Result<()> {
        let netem = Netem { rate_bps: None, delay_ns, limit: limit.saturating_add(1), loss: 0, loss_key: 0 };
        let mut body = discipline(index, PACKETS, INNER_CLASS, "netem");
        attribute(&mut body, 2, &options(&netem));
        self.ask(RTM_NEWQDISC, flags, &body)
    }

    /// Counts of the queues of this namespace, by the index of the device. A device's queue is the discipline inside a
    /// rate limit if there is one, otherwise the root discipline. `own` returns the discipline inside the rate limit of
    /// a device.
    pub fn queues(&mut self, own: impl Fn(u32) -> Option<Counted>) -> io::Result<Vec<(u32, QueueCounts)>> {
        self.send(RTM_GETQDISC, DUMP, &[0; 20])?;
        let mut found = Vec::new();
        loop {
            let size = sys::receive(&self.socket, &mut self.buffer)?;
            for (kind, body) in messages(&self.buffer[..size]) {
                match kind {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => return Err(failure(body)),
                    _ => found.extend(counts(body, &own)),
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

/// The header of a message about a discipline or a class (`struct tcmsg`), followed by its kind.
fn discipline(index: u32, handle: u32, parent: u32, kind: &str) -> Vec<u8> {
    let mut body = vec![0; 4];
    for word in [index, handle, parent, 0] {
        body.extend(word.to_ne_bytes());
    }
    attribute(&mut body, 1, &[kind.as_bytes(), &[0]].concat());
    body
}

/// Options of HTB: `struct tc_htb_glob`, which sends all packets into the only class.
fn shaper() -> Vec<u8> {
    let words = [HTB_VERSION, 1, CLASS & 0xffff, 0, 0].map(u32::to_ne_bytes).concat();
    let mut options = Vec::new();
    attribute(&mut options, 2, &words);
    options
}

/// `struct tc_sizespec` in its attribute: the size of a packet without its Ethernet header.
fn size_without_ethernet() -> Vec<u8> {
    let mut spec = vec![0; 4];
    spec.extend((-ETHERNET_BYTES).to_ne_bytes());
    spec.extend([0; 16]);
    let mut made = Vec::new();
    attribute(&mut made, 1, &spec);
    made
}

/// Options of a class (`struct tc_htb_opt`): guaranteed and maximum rate are equal, without a burst allowance.
fn class_of_rate(rate_bps: u64) -> Vec<u8> {
    const ETHERNET: u8 = 1;
    let bytes_per_s = rate_bps / 8;
    let short = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    let rate = [&[0, ETHERNET, 0, 0, 0, 0, 0, 0][..], &short.to_ne_bytes()].concat();
    let more = [0, 0, TURN_BYTES, 0, 0].map(u32::to_ne_bytes).concat();
    let mut options = Vec::new();
    attribute(&mut options, 1, &[rate.as_slice(), &rate, &more].concat());
    if bytes_per_s >= u64::from(u32::MAX) {
        for kind in [6, 7] {
            attribute(&mut options, kind, &bytes_per_s.to_ne_bytes());
        }
    }
    options
}

/// Bits of a loss probability that are not in the field `loss` of `struct tc_netem_qopt`.
const LOSS_BITS: u32 = 21;

/// `struct tc_netem_qopt` and the attributes behind it.
///
/// The built kernel draws the simulator's losses. It takes the loss probability from `loss` and, for the last
/// [`LOSS_BITS`] bits, from the correlation of losses. The stream's key is in the other two correlations.
fn options(netem: &Netem) -> Vec<u8> {
    let most = (1 << (32 + LOSS_BITS)) - 1;
    let [loss, rest] = [netem.loss.min(most) >> LOSS_BITS, netem.loss.min(most) & ((1 << LOSS_BITS) - 1)];
    let mut bytes = Vec::new();
    for word in [0, netem.limit, loss as u32, 0, 0, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    attribute(&mut bytes, 10, &netem.delay_ns.to_ne_bytes());
    if netem.loss > 0 {
        let correlations = [(netem.loss_key >> 32) as u32, rest as u32, netem.loss_key as u32];
        attribute(&mut bytes, 1, &correlations.map(u32::to_ne_bytes).concat());
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

/// Counts of a device's queue from a reply to a dump. The queue is the discipline inside a rate limit, or a root
/// discipline that is not a rate limit.
fn counts(body: &[u8], own: &impl Fn(u32) -> Option<Counted>) -> Option<(u32, QueueCounts)> {
    let index = word(body, 4)?;
    let own = own(index);
    if word(body, 12)? != if own.is_some() { CLASS } else { ROOT } {
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
            4 => counts.marked = own.map_or(Some(0), |own| word(value, own.marks_at))?,
            _ => (),
        }
    }
    counts.length = counts.length.saturating_sub(own.map_or(0, |own| own.held));
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
        Netem { rate_bps: Some(rate_bps), delay_ns: 5, limit: 7, loss: 0, loss_key: 0 }
    }

    #[test]
    fn losses_have_a_probability_of_53_bits_and_a_key_of_64() {
        let made = options(&Netem { loss: (7 << 21) + 5, loss_key: (3 << 32) + 4, ..netem(8) });
        assert_eq!(word(&made, 8), Some(7));
        let found = attributes(&made[24..]).find(|(kind, _)| *kind == 1).expect("correlations").1;
        assert_eq!([0, 4, 8].map(|at| word(found, at)), [Some(3), Some(5), Some(4)]);
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
    fn a_class_has_the_rate_as_least_and_most_and_saves_nothing_up() {
        let made = class_of_rate(100_000_000);
        let option = attributes(&made).find(|(kind, _)| *kind == 1).expect("the parameters").1;
        assert_eq!([8, 20, 24, 28].map(|at| word(option, at)), [Some(12_500_000), Some(12_500_000), Some(0), Some(0)]);
        let wide = class_of_rate(80_000_000_000);
        let rates: Vec<_> = attributes(&wide).filter(|(kind, _)| *kind > 1).map(|(_, value)| value.to_vec()).collect();
        assert_eq!(rates, vec![10_000_000_000_u64.to_ne_bytes().to_vec(); 2]);
    }

    #[test]
    fn the_discipline_in_a_limit_of_a_rate_counts_and_not_the_limit() {
        let answer = |parent: u32| {
            let (mut body, mut stats) = (discipline(5, INNER, parent, "codel"), Vec::new());
            attribute(&mut stats, 3, &[7_u32, 0, 2, 0, 0].map(u32::to_ne_bytes).concat());
            attribute(&mut stats, 4, &[0_u32, 9].map(u32::to_ne_bytes).concat());
            attribute(&mut body, 7, &stats);
            body
        };
        let own = |_| Some(Counted { marks_at: 4, held: 1 });
        let expected = QueueCounts { length: 6, dropped: 2, marked: 9, ..QueueCounts::default() };
        assert_eq!(counts(&answer(CLASS), &own), Some((5, expected)));
        assert_eq!(counts(&answer(ROOT), &own), None);
        assert_eq!(counts(&answer(ROOT), &|_| None), Some((5, QueueCounts { length: 7, marked: 0, ..expected })));
    }

    #[test]
    fn a_truncated_answer_ends_the_reading() {
        assert_eq!(messages(&[40, 0, 0, 0, 2, 0]).count(), 0);
        assert_eq!(attributes(&[9, 0, 1, 0, 1]).count(), 0);
        assert_eq!(counts(&[0; 10], &|_| None), None);
    }
}
