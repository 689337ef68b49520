//! One end of a connection: quinn's endpoint and connection, which exchange datagrams with the engine and events with
//! the application.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use elephan_quinn::stamp::{ForwardDelay, Stamper};
use elephan_sim::Time;
use elephan_sim::endpoint::{Departures, End, Outlet, PacketCounts};
use elephan_sim::packet::{Packet, flag};
use elephan_sim::spec::ClockSpec;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig, TransportConfig, VarInt,
};

use crate::algorithms::{IP_UDP_BYTES, Pacing};
use crate::session::Null;

/// Length of a connection id, bytes.
const ID_BYTES: usize = 8;

/// Addresses of the two ends, from the range that RFC 5737 reserves for documentation.
pub const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4433);
/// The server's address.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 4433);

/// Generator of connection ids by number; `first` differs for each end of each flow.
struct Ids {
    next: u64,
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next += 1;
        // The number is mixed, so that the ids of one end do not share a prefix.
        ConnectionId::new(&self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Settings of one end.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of the end's random numbers; the two ends of a flow have different seeds.
    pub seed: u64,
    /// UDP payload of a full datagram, bytes.
    pub mtu: u16,
    /// Receive window, bytes that may be received and not read yet; unlimited if absent.
    pub receive_window: Option<u64>,
    /// True if packets are ECN-capable.
    pub ecn: bool,
    /// Estimates of this end's forward delay; if present, datagrams have time stamps.
    pub forward_delay: Option<ForwardDelay>,
    /// Clock of this host; time stamps show the clock's time.
    pub clock: ClockSpec,
    /// Departure times of packets, delayed by the scenario's send jitter.
    pub departures: Departures,
}

impl Settings {
    /// Quinn's transport configuration: its defaults, but with a constant MTU, the receive window of these settings and
    /// no idle timeout.
    pub fn transport(&self, factory: Option<Arc<dyn ControllerFactory + Send + Sync>>) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport.initial_mtu(self.mtu).min_mtu(self.mtu).mtu_discovery_config(None).max_idle_timeout(None);
        let window = self.receive_window.and_then(|bytes| VarInt::from_u64(bytes).ok()).unwrap_or(VarInt::MAX);
        transport.stream_receive_window(window).receive_window(window);
        if let Some(factory) = factory {
            transport.congestion_controller_factory(factory);
        }
        transport
    }
}

/// One end of a connection.
pub struct Core {
    endpoint: Endpoint,
    /// The connection, once it has begun.
    pub connection: Option<(ConnectionHandle, Connection)>,
    base: Instant,
    peer: SocketAddr,
    ecn: bool,
    stamper: Option<Stamper>,
    clock: ClockSpec,
    departures: Departures,
    pacing: Option<Pacing>,
    /// Time of quinn's next timer.
    pub timer: Time,
    /// Packets sent and received.
    pub counts: PacketCounts,
    buffer: Vec<u8>,
    /// Error of the connection, if it was lost.
    pub lost: Option<String>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("timer", &self.timer).field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Core {
    /// Creates an end with the given settings. `server` is the configuration of an end that accepts connections;
    /// `pacing` is the controller's own pacing, if it has one.
    pub fn new(
        settings: &Settings,
        base: Instant,
        end: End,
        server: Option<ServerConfig>,
        pacing: Option<Pacing>,
    ) -> Self {
        let mut config = EndpointConfig::new(Arc::new(Null));
        let seed = settings.seed;
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8] = u8::from(end == End::Receiver);
        config.rng_seed(Some(bytes));
        let first = (seed << 32) | u64::from(end == End::Receiver) << 31;
        config.cid_generator(move || Box::new(Ids { next: first }));
        let _ = config.max_udp_payload_size(settings.mtu); // checked before: at least 1,200 bytes
        let endpoint = Endpoint::new(Arc::new(config), server.map(Arc::new), false, None);
        let peer = if end == End::Sender { SERVER } else { CLIENT };
        let stamper = settings.forward_delay.clone().map(Stamper::new);
        let (ecn, clock) = (settings.ecn, settings.clock);
        Self {
            endpoint,
            connection: None,
            base,
            peer,
            ecn,
            stamper,
            clock,
            departures: settings.departures.clone(),
            pacing,
            timer: Time::NEVER,
            counts: PacketCounts::default(),
            buffer: Vec::new(),
            lost: None,
        }
    }

    /// The time in quinn's type, in whole nanoseconds.
    fn instant(&self, now: Time) -> Instant {
        self.base + Duration::from_nanos(now.0 / 1000)
    }

    /// Begins a connection to the server.
    pub fn connect(&mut self, now: Time, transport: Arc<TransportConfig>) {
        let mut config = quinn_proto::ClientConfig::new(Arc::new(Null));
        config.transport_config(transport);
        config.token_store(Arc::new(quinn_proto::NoneTokenStore));
        config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0x11; ID_BYTES])));
        match self.endpoint.connect(self.instant(now), config, self.peer, "elephan") {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.lost = Some(error.to_string()),
        }
    }

    /// Takes a packet from the network.
    pub fn receive(&mut self, packet: &Packet, out: &mut dyn Outlet) {
        self.counts.received += 1;
        let Some(payload) = out.beside().take_payload(packet) else { return };
        let mut payload = payload.into_vec();
        let now = packet.at;
        if let Some(stamper) = &mut self.stamper {
            stamper.take(&mut payload, self.clock.reading(now) as i64);
        }
        let ecn = match packet.flags() {
            flags if flags & flag::CE != 0 => Some(EcnCodepoint::Ce),
            flags if flags & flag::ECT0 != 0 => Some(EcnCodepoint::Ect0),
            _ => None,
        };
        let (instant, peer) = (self.instant(now), self.peer);
        self.buffer.clear();
        match self.endpoint.handle(instant, peer, None, ecn, BytesMut::from(&payload[..]), &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut self.buffer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.lost = Some(error.cause.to_string()),
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                let datagram = self.buffer[..transmit.size].to_vec();
                self.send(now, datagram, transmit.ecn, out);
            }
            None => {}
        }
    }

    /// Time at which the controller allows the next datagram, if the controller paces and allows no datagram now.
    fn held_until(&self, instant: Instant) -> Option<Instant> {
        self.pacing.as_ref().and_then(|pacing| pacing(instant))
    }

    /// Lets quinn handle the timers that are due.
    pub fn expire(&mut self, now: Time) {
        let instant = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(instant);
        }
    }

    /// Sends all datagrams that quinn may send now; returns false if there were none.
    pub fn transmit(&mut self, now: Time, out: &mut dyn Outlet) -> bool {
        let instant = self.instant(now);
        // Datagrams of this call: quinn keeps a record of each, also of one that the path drops at once.
        let mut sent = 0;
        loop {
            if self.held_until(instant).is_some() {
                return sent > 0;
            }
            self.buffer.clear();
            let Some((_, connection)) = &mut self.connection else { return sent > 0 };
            let Some(transmit) = connection.poll_transmit(instant, 1, &mut self.buffer) else { return sent > 0 };
            if !out.has_room_for(sent + 1) {
                return sent > 0;
            }
            let datagram = self.buffer[..transmit.size].to_vec();
            self.send(now, datagram, transmit.ecn, out);
            sent += 1;
        }
    }

    fn send(&mut self, now: Time, mut datagram: Vec<u8>, ecn: Option<EcnCodepoint>, out: &mut dyn Outlet) {
        if let Some(stamper) = &self.stamper {
            stamper.stamp(&mut datagram, self.clock.reading(now) as i64);
        }
        self.counts.sent += 1;
        let (flow, end) = out.address();
        let bytes = (datagram.len() + IP_UDP_BYTES as usize) as u16;
        let id = out.beside().put_payload(datagram.into_boxed_slice());
        let mut flags = flag::BESIDE | if end == End::Receiver { flag::ACK } else { 0 };
        if self.ecn && ecn == Some(EcnCodepoint::Ect0) {
            flags |= flag::ECT0;
        }
        let leaves = self.departures.next(now);
        out.send(Packet::new(leaves, now, flow, 0, bytes, flags, id));
    }

    /// The next event for the application, after the exchange of events between quinn's connection and endpoint.
    pub fn event(&mut self) -> Option<Event> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let event = connection.poll()?;
        if let Event::ConnectionLost { reason } = &event {
            self.lost = Some(reason.to_string());
        }
        Some(event)
    }

    /// Reads the time of quinn's next timer.
    pub fn set_timer(&mut self, now: Time) {
        let base = self.base;
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let due = [due, self.held_until(self.instant(now))].into_iter().flatten().min();
        self.timer = due.map_or(Time::NEVER, |due| {
            let ns = due.saturating_duration_since(base).as_nanos();
            Time(u64::try_from(ns * 1000).unwrap_or(u64::MAX)).max(now)
        });
    }
}
