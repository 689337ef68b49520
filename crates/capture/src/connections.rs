//! The connections of a capture: which packets belong together.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::headers::{Tcp, flag};

/// Most connections that are followed at a time; beyond it those with the least payload are forgotten.
pub const MOST_CONNECTIONS: usize = 1 << 16;

/// Address and port of an end.
pub type Host = (IpAddr, u16);

/// A TCP connection. The first host is the one that opened it or, if that was not captured, whose packet was first.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its place among the connections of the file, from 1.
    pub number: u64,
    /// Both ends.
    pub hosts: [Host; 2],
    /// Packets of both directions.
    pub packets: u64,
    /// Payload that each host sent, bytes, with repetitions.
    pub payload_bytes: [u64; 2],
    /// Time of the first packet, ns since 1970.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// The SYN was captured.
    pub opened: bool,
    isn: Option<u32>,
}

impl Connection {
    /// Payload of both directions, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.payload_bytes.iter().sum()
    }

    /// The host that sent the most payload.
    #[must_use]
    pub fn sender(&self) -> usize {
        usize::from(self.payload_bytes[1] > self.payload_bytes[0])
    }
}

/// Both ends in an order that both directions share.
type Key = (Host, Host);

/// The connections so far.
#[derive(Default)]
pub struct Connections {
    places: HashMap<Key, usize>,
    known: Vec<Connection>,
    begun: u64,
    /// Connections that were forgotten.
    pub forgotten: u64,
}

impl Connections {
    /// Adds a packet; returns its connection's number, and which of its hosts sent the packet.
    pub fn add(&mut self, tcp: &Tcp, time_ns: i64) -> (u64, usize) {
        let key = if tcp.from <= tcp.to { (tcp.from, tcp.to) } else { (tcp.to, tcp.from) };
        let opens = tcp.flags & (flag::SYN | flag::ACK) == flag::SYN;
        let known = self.places.get(&key).copied();
        // The ports of a connection that has ended are used again by the next.
        let place = known.filter(|&place| !(opens && self.known[place].isn.is_some_and(|isn| isn != tcp.seq)));
        let place = place.unwrap_or_else(|| self.begin(key, tcp, time_ns));
        let connection = &mut self.known[place];
        let side = usize::from(connection.hosts[0] != tcp.from);
        connection.packets += 1;
        connection.payload_bytes[side] += u64::from(tcp.payload_bytes);
        connection.first_ns = connection.first_ns.min(time_ns);
        connection.last_ns = connection.last_ns.max(time_ns);
        if opens {
            connection.opened = true;
            connection.isn = Some(tcp.seq);
        }
        (connection.number, side)
    }

    fn begin(&mut self, key: Key, tcp: &Tcp, time_ns: i64) -> usize {
        if self.known.len() == MOST_CONNECTIONS {
            self.forget();
        }
        self.begun += 1;
        // An answer to a SYN is sent by the host that was called.
        let answers = tcp.flags & (flag::SYN | flag::ACK) == flag::SYN | flag::ACK;
        let hosts = if answers { [tcp.to, tcp.from] } else { [tcp.from, tcp.to] };
        self.known.push(Connection {
            number: self.begun,
            hosts,
            packets: 0,
            payload_bytes: [0; 2],
            first_ns: time_ns,
            last_ns: time_ns,
            opened: false,
            isn: None,
        });
        self.places.insert(key, self.known.len() - 1);
        self.known.len() - 1
    }

    /// Forgets the half with the least payload, which a capture of a flood of SYNs needs.
    fn forget(&mut self) {
        self.known.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then(a.number.cmp(&b.number)));
        self.known.truncate(MOST_CONNECTIONS / 2);
        self.forgotten += (MOST_CONNECTIONS - self.known.len()) as u64;
        let key = |[a, b]: [Host; 2]| if a <= b { (a, b) } else { (b, a) };
        self.places.clear();
        // The last of several connections with the same ports gets the packets.
        self.known.sort_by_key(|connection| connection.number);
        self.places.extend(self.known.iter().enumerate().map(|(place, connection)| (key(connection.hosts), place)));
    }

    /// All that are known, the largest first.
    pub fn into_largest_first(mut self) -> Vec<Connection> {
        self.known.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then(a.number.cmp(&b.number)));
        self.known
    }
}
