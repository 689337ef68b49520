//! The connections of programs, as the path sees them: no program has to help.
//!
//! A connection is a protocol and two ports of a program's pair of hosts. Everything is counted from the headers of the
//! frames at the guest's devices: a frame that one device has sent and the other has not got was lost on the path. The RTT
//! of QUIC is that of its spin bit, if both ends use it ([`crate::spin`]).

use std::collections::{BTreeMap, VecDeque};
use std::io;

use elephan_sim::Time;
use elephan_sim::record::OneWayDelays;
use etherparse::{SlicedPacket, TransportSlice};
use serde::Serialize;

use crate::device::NET_HEADER_BYTES;
use crate::spin::{self, Spin};

/// Largest number of segments of a direction whose RTT is awaited.
const MOST_TIMED: usize = 1 << 16;
/// Largest number of connections that have samples; the others are only counted.
const MOST_SAMPLED: usize = 200;

/// Direction of a frame at a device of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The device sent it.
    Sent,
    /// The device got it; the time is that at which the other device sent it, ns.
    Arrived(u64),
}

/// Packets of a connection that one host has sent, and those that have arrived.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// IP packets sent.
    sent_packets: u64,
    /// Bytes of these packets.
    sent_bytes: u64,
    /// Packets that repeat data of TCP.
    retransmits: u64,
    /// IP packets that arrived.
    packets: u64,
    /// Bytes of these packets.
    bytes: u64,
    /// Packets that arrived with payload that had not arrived before.
    data_packets: u64,
    /// Payload that arrived, bytes: distinct bytes of TCP, all bytes of UDP.
    payload: u64,
    /// Packets that arrived with Congestion Experienced.
    marked: u64,
    /// One-way delays of the packets that arrived in the measured part.
    #[serde(skip)]
    delays: OneWayDelays,
    /// Times from a segment of TCP to its ACK at the host that sent it, or between edges of QUIC's spin bit, in the measured
    /// part; repeated segments have none.
    #[serde(skip)]
    rtts: OneWayDelays,
    /// The latest of these times, ns; 0 before the first.
    #[serde(skip)]
    rtt_ns: u64,
    /// Smallest one-way delay of any packet, ns.
    #[serde(skip)]
    least_delay_ns: u64,
    #[serde(skip)]
    spin: Spin,
    /// Smallest, mean, median, 95 % and 99 % of `delays` and of `rtts`, ms.
    delay_ms: Option<[f64; 5]>,
    rtt_ms: Option<[f64; 5]>,
    #[serde(skip)]
    stream: Stream,
    /// Ends of segments whose ACK is awaited, and the times at which they were sent, ns.
    #[serde(skip)]
    timed: VecDeque<(u64, u64)>,
}

/// Smallest, mean, median, 95 % and 99 % of delays, ms.
fn summary(delays: &OneWayDelays) -> Option<[f64; 5]> {
    let quantile = |q| delays.histogram.quantile(q).map(|seconds| seconds * 1e3);
    let mean_ms = delays.mean()? * 1e3;
    Some([delays.min.seconds() * 1e3, mean_ms, quantile(0.5)?, quantile(0.95)?, quantile(0.99)?])
}

/// The sequence space of one direction of TCP, counted in 64 bits.
#[derive(Clone, Debug, Default)]
struct Stream {
    first: Option<u32>,
    /// End of the data that were sent.
    sent: u64,
    /// End of the data that arrived without a gap, and ranges above it.
    arrived: u64,
    above: BTreeMap<u64, u64>,
}

impl Stream {
    /// Position of a sequence number, near to what was sent.
    fn position(&mut self, number: u32) -> u64 {
        let first = *self.first.get_or_insert(number);
        let offset = number.wrapping_sub(first);
        let near = self.sent;
        let difference = offset.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(difference))
    }

    /// Adds a range that arrived; returns the number of bytes that had not arrived before.
    fn arrive(&mut self, from: u64, to: u64) -> u64 {
        let before = self.arrived + self.above.iter().map(|(from, to)| to - from).sum::<u64>();
        let (mut from, mut to) = (from.max(self.arrived), to.max(self.arrived));
        let touching: Vec<u64> =
            self.above.range(..=to).filter(|(_, end)| **end >= from).map(|(start, _)| *start).collect();
        for start in touching {
            let end = self.above.remove(&start).unwrap_or(start);
            (from, to) = (from.min(start), to.max(end));
        }
        if from <= self.arrived {
            self.arrived = to;
        } else if to > from {
            self.above.insert(from, to);
        }
        self.arrived + self.above.iter().map(|(from, to)| to - from).sum::<u64>() - before
    }
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Position of its flow in the scenario.
    flow: usize,
    /// `tcp` or `udp`.
    protocol: &'static str,
    /// Ports at the senders and at the receivers.
    ports: [u16; 2],
    /// The device that sent the first packet: 0 is the senders', 1 the receivers'.
    opened_by: usize,
    /// Destination of the first packet of QUIC, by which programs name a connection in their logs; empty if there is none.
    original_id: String,
    /// Time at which its first packet arrived, ns.
    reached_ns: Option<u64>,
    /// Largest payload of a datagram from the senders, bytes.
    largest_payload: u64,
    /// Times of the first and of the last packet, ns.
    first_ns: u64,
    last_ns: u64,
    /// From the senders, and from the receivers.
    directions: [Direction; 2],
    /// Counts of the packets from the senders at each sample time since the first packet.
    samples: Vec<Sample>,
    /// Changes of the bytes on the path at the sample times, from which [`Connections::write`] computes the bytes.
    #[serde(skip)]
    changes: Vec<i64>,
}

/// Counts of the packets from the senders until a sample time.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    /// Number of the sample time.
    number: usize,
    /// Bytes of packets that had arrived, their payload, and the packets with new payload.
    bytes: u64,
    payload: u64,
    data_packets: u64,
    retransmits: u64,
    /// Latest RTT, ns; 0 before the first.
    rtt_ns: u64,
    /// Bytes of the packets that the path then carried, without those that it lost.
    network_bytes: i64,
}

/// The connections of a run.
#[derive(Debug)]
pub struct Connections {
    found: Vec<Connection>,
    places: BTreeMap<(usize, u8, [u16; 2]), usize>,
    zero_ns: u64,
    /// Sample times in the run's time, ns.
    times_ns: Vec<u64>,
    /// Measured part of the run.
    measured: (Time, Time),
    /// Number of the next sample time.
    next: usize,
}

/// Headers of a frame that matter for its connection.
struct Header {
    protocol: u8,
    ports: [u16; 2],
    bytes: u64,
    payload: u64,
    marked: bool,
    /// Sequence number, its length, and the acknowledged number, of TCP.
    tcp: Option<(u32, u64, Option<u32>)>,
    /// Form of a packet of QUIC.
    quic: Option<spin::Form>,
    /// Destination of a packet of QUIC with a long header, in hexadecimal.
    original_id: String,
}

fn header(frame: &[u8]) -> Option<Header> {
    let sliced = SlicedPacket::from_ethernet(frame.get(NET_HEADER_BYTES..)?).ok()?;
    let Some(etherparse::NetSlice::Ipv4(ip)) = &sliced.net else { return None };
    let (header, bytes) = (ip.header(), u64::from(ip.header().total_len()));
    let marked = header.ecn() == etherparse::IpEcn::CongestionExperienced;
    let ip_bytes = header.slice().len() as u64;
    match sliced.transport? {
        TransportSlice::Tcp(tcp) => {
            let payload = bytes.saturating_sub(ip_bytes + tcp.header_len() as u64);
            let length = payload + u64::from(tcp.syn()) + u64::from(tcp.fin());
            let acked = tcp.ack().then(|| tcp.acknowledgment_number());
            Some(Header {
                protocol: 6,
                ports: [tcp.source_port(), tcp.destination_port()],
                bytes,
                payload,
                marked,
                tcp: Some((tcp.sequence_number(), length, acked)),
                quic: None,
                original_id: String::new(),
            })
        }
        TransportSlice::Udp(udp) => Some(Header {
            protocol: 17,
            ports: [udp.source_port(), udp.destination_port()],
            bytes,
            payload: u64::from(udp.length()).saturating_sub(8),
            marked,
            tcp: None,
            quic: spin::form(udp.payload()),
            original_id: spin::destination(udp.payload()),
        }),
        _ => None,
    }
}

impl Connections {
    /// None yet. `times_ns` and `measured_ns` are in the run's time, which begins at `zero_ns`.
    pub fn new(zero_ns: u64, times_ns: Vec<u64>, measured_ns: (u64, u64)) -> Self {
        let measured = (at(measured_ns.0), at(measured_ns.1));
        Self { found: Vec::new(), places: BTreeMap::new(), zero_ns, times_ns, measured, next: 0 }
    }

    /// Counts a frame of a program at a device.
    pub fn see(&mut self, flow: usize, at_ns: u64, side: usize, frame: &[u8], passing: Passing) {
        self.sample_before(at_ns);
        let Some(header) = header(frame) else { return };
        let (now_ns, measured) = (at_ns - self.zero_ns, self.measured);
        // The side that sent the frame.
        let from = if passing == Passing::Sent { side } else { 1 - side };
        let ports = if from == 0 { header.ports } else { [header.ports[1], header.ports[0]] };
        let key = (flow, header.protocol, ports);
        let place = *self.places.entry(key).or_insert_with(|| {
            self.found.push(Connection {
                flow,
                protocol: if header.protocol == 6 { "tcp" } else { "udp" },
                ports,
                opened_by: from,
                original_id: header.original_id.clone(),
                reached_ns: None,
                largest_payload: 0,
                first_ns: now_ns,
                last_ns: now_ns,
                directions: [Direction::new(measured), Direction::new(measured)],
                samples: Vec::new(),
                changes: Vec::new(),
            });
            self.found.len() - 1
        });
        let connection = &mut self.found[place];
        connection.last_ns = now_ns;
        match passing {
            Passing::Sent => connection.sent(now_ns, from, &header),
            Passing::Arrived(sent_ns) => {
                let sent_ns = sent_ns - self.zero_ns;
                connection.arrived(now_ns, sent_ns, from, &header);
                if from == 0 && place < MOST_SAMPLED {
                    // The path carried the packet at the sample times from its departure until before its arrival.
                    let ends = [sent_ns, now_ns].map(|at_ns| self.times_ns.partition_point(|&time_ns| time_ns < at_ns));
                    connection.carried(ends, header.bytes);
                }
            }
        }
    }

    fn sample_before(&mut self, at_ns: u64) {
        // A packet at a sample time belongs to the sample, as in the engine's tables.
        while self.times_ns.get(self.next).is_some_and(|time_ns| self.zero_ns + time_ns < at_ns) {
            for connection in self.found.iter_mut().take(MOST_SAMPLED) {
                let Direction { bytes, payload, data_packets, retransmits, rtt_ns, .. } = connection.directions[0];
                let number = self.next;
                connection.samples.push(Sample {
                    number,
                    bytes,
                    payload,
                    data_packets,
                    retransmits,
                    rtt_ns,
                    network_bytes: 0,
                });
            }
            self.next += 1;
        }
    }

    /// Takes the remaining samples, and writes all connections into a file.
    pub fn write(mut self, path: &str) -> io::Result<()> {
        self.sample_before(u64::MAX);
        self.found.iter_mut().for_each(Connection::complete);
        for direction in self.found.iter_mut().flat_map(|connection| &mut connection.directions) {
            (direction.delay_ms, direction.rtt_ms) = (summary(&direction.delays), summary(&direction.rtts));
        }
        std::fs::write(path, serde_json::to_vec(&self.found)?)
    }
}

/// Converts ns of the run's time.
fn at(ns: u64) -> Time {
    Time(ns.saturating_mul(1000))
}

impl Direction {
    fn new((from, to): (Time, Time)) -> Self {
        Self {
            sent_packets: 0,
            sent_bytes: 0,
            retransmits: 0,
            packets: 0,
            bytes: 0,
            data_packets: 0,
            payload: 0,
            marked: 0,
            delays: OneWayDelays::new(from, to),
            rtts: OneWayDelays::new(from, to),
            rtt_ns: 0,
            least_delay_ns: u64::MAX,
            spin: Spin::default(),
            delay_ms: None,
            rtt_ms: None,
            stream: Stream::default(),
            timed: VecDeque::new(),
        }
    }
}

impl Direction {
    /// Notes an RTT between two times, ns.
    fn rtt(&mut self, from_ns: u64, to_ns: u64) {
        self.rtts.note(at(from_ns), at(to_ns));
        self.rtt_ns = to_ns - from_ns;
    }
}

impl Connection {
    fn sent(&mut self, now_ns: u64, from: usize, header: &Header) {
        if from == 0 {
            self.largest_payload = self.largest_payload.max(header.payload);
        }
        let direction = &mut self.directions[from];
        direction.sent_packets += 1;
        direction.sent_bytes += header.bytes;
        if let Some(form) = header.quic {
            if let Some(edge_ns) = direction.spin.sent(form, now_ns) {
                direction.rtt(edge_ns, now_ns);
            }
        }
        let Some((number, length, _)) = header.tcp.filter(|(_, length, _)| *length > 0) else { return };
        let start = direction.stream.position(number);
        let end = start + length;
        if start < direction.stream.sent {
            direction.retransmits += 1;
            // An ACK of repeated data may be of either copy (Karn and Partridge 1987).
            direction.timed.retain(|(timed, _)| *timed <= start || *timed > end);
        } else if direction.timed.len() < MOST_TIMED {
            direction.timed.push_back((end, now_ns));
        }
        direction.stream.sent = direction.stream.sent.max(end);
    }

    fn arrived(&mut self, now_ns: u64, sent_ns: u64, from: usize, header: &Header) {
        if from == self.opened_by {
            self.reached_ns.get_or_insert(now_ns);
        }
        let direction = &mut self.directions[from];
        direction.packets += 1;
        direction.bytes += header.bytes;
        direction.marked += u64::from(header.marked);
        direction.delays.note(at(sent_ns), at(now_ns));
        direction.least_delay_ns = direction.least_delay_ns.min(now_ns - sent_ns);
        let Some((number, length, acked)) = header.tcp else {
            direction.payload += header.payload;
            direction.data_packets += u64::from(header.payload > 0);
            return;
        };
        if length > 0 {
            let start = direction.stream.position(number);
            let fresh = direction.stream.arrive(start, start + length);
            let fresh = fresh.min(header.payload);
            direction.payload += fresh;
            direction.data_packets += u64::from(fresh > 0);
        }
        if let Some(acked) = acked {
            // The ACK has come back to the host that sent the data.
            let other = &mut self.directions[1 - from];
            if other.stream.first.is_none() {
                return;
            }
            let acked = other.stream.position(acked);
            let mut latest = None;
            while let Some(&(_, sent_ns)) = other.timed.front().filter(|(end, _)| *end <= acked) {
                latest = Some(sent_ns);
                other.timed.pop_front();
            }
            latest.into_iter().for_each(|sent_ns| other.rtt(sent_ns, now_ns));
        }
    }

    /// Notes a packet that the path carried at the sample times between two numbers.
    fn carried(&mut self, [first, end]: [usize; 2], bytes: u64) {
        if first == end {
            return;
        }
        if self.changes.len() <= end {
            self.changes.resize(end + 1, 0);
        }
        self.changes[first] += bytes as i64;
        self.changes[end] -= bytes as i64;
    }

    /// Computes what is known at the end only: the bytes on the path at each sample time, and if the spin bit is in use.
    fn complete(&mut self) {
        let mut total = 0;
        let totals = self.changes.iter().map(|change| {
            total += change;
            total
        });
        let totals: Vec<i64> = totals.collect();
        for sample in &mut self.samples {
            sample.network_bytes = totals.get(sample.number).copied().unwrap_or(0);
        }
        if self.protocol == "tcp" {
            return;
        }
        let least_ns = self.directions.iter().fold(0_u64, |sum, way| sum.saturating_add(way.least_delay_ns));
        for way in self.directions.iter_mut().filter(|way| !way.spin.is_used(least_ns)) {
            way.rtts = OneWayDelays::new(Time(0), Time(0));
        }
        if !self.directions[0].spin.is_used(least_ns) {
            self.samples.iter_mut().for_each(|sample| sample.rtt_ns = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_arrive_once() {
        let mut stream = Stream::default();
        assert_eq!(stream.arrive(0, 100), 100);
        assert_eq!(stream.arrive(200, 300), 100);
        assert_eq!(stream.arrive(50, 250), 100);
        assert_eq!((stream.arrived, stream.above.len()), (300, 0));
        assert_eq!(stream.arrive(0, 300), 0);
        assert_eq!(stream.arrive(400, 500), 100);
        assert_eq!(stream.arrive(350, 450), 50);
        assert_eq!(stream.arrive(300, 350), 50);
        assert_eq!((stream.arrived, stream.above.len()), (500, 0));
    }

    #[test]
    fn positions_pass_the_end_of_32_bits() {
        let mut stream = Stream::default();
        assert_eq!(stream.position(u32::MAX - 9), 0);
        stream.sent = 10;
        assert_eq!(stream.position(0), 10);
        assert_eq!(stream.position(5), 15);
        assert_eq!(stream.position(u32::MAX - 4), 5);
    }
}
