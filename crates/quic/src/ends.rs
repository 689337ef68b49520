//! The two ends of a flow: a client that sends zeros on one stream, and a server that reads them.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use elephan_sim::application::Application;
use elephan_sim::endpoint::{
    Departures, End, Endpoint, EndpointState, ForeignEndpoint, Outlet, PacketCounts, SenderStatistics,
};
use elephan_sim::packet::{FlowId, Packet};
use elephan_sim::record::{Clock, ReceiverRecord, ReceiverSample, SenderRecord, SenderSample};
use elephan_sim::spec::{FlowSpec, Spec};
use elephan_sim::{Time, start_of};
use quinn_proto::{
    Connection, Dir, Event, QlogConfig, QlogStream, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};

use crate::algorithms::Chosen;
use crate::core::{Core, Settings};
use crate::session::Null;
use crate::watch::{Shared, Watching, with};

/// Data to send, which are written in pieces of this size without copying.
static ZEROS: [u8; 1 << 18] = [0; 1 << 18];

/// Unsent data in the sender beyond its windows, bytes, so that the application never limits the sender.
const BACKLOG_BYTES: u64 = 1 << 20;
/// Limit of the data in the sender's memory, in windows; data sent after a loss stay in memory until the loss is
/// repaired.
const WINDOWS_KEPT: u64 = 4;

/// Both ends of the flow at position `index`; quinn's log of the sender goes to `log`.
pub fn ends_of(
    index: usize,
    spec: &Spec,
    flow: &FlowSpec,
    times: &Arc<[Time]>,
    chosen: Chosen,
    log: Option<File>,
) -> [Box<dyn ForeignEndpoint>; 2] {
    let base = Instant::now(); // an origin: only time differences matter
    let seed = spec.seed.wrapping_mul(0x0100_0000_01b3).wrapping_add(index as u64);
    let payload = u64::from(flow.stack.payload_bytes);
    let settings = Settings {
        seed,
        mtu: chosen.mtu,
        receive_window: flow.stack.receive_window.map(|segments| u64::from(segments) * payload),
        ecn: flow.stack.ecn,
        forward_delay: chosen.forward_delay.clone(),
        clock: flow.sender_clock,
        departures: Departures::new(spec.seed, &flow.name, spec.send_jitter_ps),
    };
    let far = Settings {
        forward_delay: chosen.forward_delay.is_some().then(Default::default),
        clock: flow.receiver_clock,
        departures: Departures::new(spec.seed, &flow.name, 0),
        ..settings.clone()
    };
    let seen = Shared::default();
    let watching = Watching { inner: chosen.factory, seen: seen.clone() };
    let mut transport = settings.transport(Some(Arc::new(watching)));
    if let Some(log) = log {
        transport.qlog_stream(qlog(log, flow, base));
    }
    let core = Core::new(&settings, base, End::Sender, None, chosen.pacing);
    let sender = SendingEnd::new(index, spec, flow, times, core, (Arc::new(transport), seen), settings.mtu);
    let receiver = ReceivingEnd::new(times, payload, &far, base);
    [Box::new(sender), Box::new(receiver)]
}

/// Quinn's own log of a flow's sender, in qlog's JSON-SEQ; its times are simulated times.
fn qlog(log: File, flow: &FlowSpec, base: Instant) -> Option<QlogStream> {
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(log))).start_time(base);
    config.title(Some(flow.name.clone())).description(Some(format!("{}, sender", flow.algorithm)));
    config.into_stream()
}

/// The client.
#[derive(Debug)]
struct SendingEnd {
    core: Core,
    transport: Option<Arc<TransportConfig>>,
    seen: Shared,
    stats: SenderStatistics,
    start: Time,
    stop: Time,
    mtu: f64,
    stream: Option<StreamId>,
    /// Bytes to write now; `None` for an unlimited transfer.
    left: Option<u64>,
    /// Application that hands over the data over time, in segments of this payload, bytes.
    application: Option<Box<Application>>,
    payload: u64,
    finished: bool,
    now: Time,
}

impl SendingEnd {
    fn new(
        index: usize,
        spec: &Spec,
        flow: &FlowSpec,
        times: &Arc<[Time]>,
        core: Core,
        (transport, seen): (Arc<TransportConfig>, Shared),
        mtu: u16,
    ) -> Self {
        let (start, payload) = (start_of(spec, flow), u64::from(flow.stack.payload_bytes));
        Self {
            core,
            transport: Some(transport),
            seen,
            stats: SenderStatistics::new(FlowId(index as u32), spec, times),
            start,
            stop: flow.stop_ps.map_or(Time::NEVER, Time),
            mtu: f64::from(mtu),
            stream: None,
            left: if flow.application.is_some() { Some(0) } else { flow.size_segments.map(|size| size * payload) },
            application: Application::of_flow(spec, flow, start),
            payload,
            finished: false,
            now: Time::ZERO,
        }
    }

    /// Takes the samples due by `now`, of the state after the last event.
    fn sample(&mut self, now: Time) {
        self.now = now;
        if self.stats.due() > now {
            return;
        }
        let Self { core, stats, seen, mtu, .. } = self;
        let connection = core.connection.as_ref().map(|(_, connection)| connection);
        let row = connection.map_or(NOTHING, |connection| row_of(connection, seen, *mtu));
        stats.sample_until(now, |_| row);
    }

    /// Lets quinn send, and records the changes.
    fn drive(&mut self, out: &mut dyn Outlet) {
        loop {
            while let Some(event) = self.core.event() {
                self.handle(&event);
            }
            self.write();
            if !self.core.transmit(self.now, out) {
                break;
            }
        }
        self.core.set_timer(self.now);
        self.note();
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Connected => {
                if let Some((_, connection)) = &mut self.core.connection {
                    self.stream = connection.streams().open(Dir::Uni);
                }
            }
            Event::Stream(StreamEvent::Finished { .. }) => self.stats.completed = Some(self.now),
            _ => {}
        }
    }

    /// Time at which the application next hands over data, which wait for the end of the handshake.
    fn application_due(&self) -> Time {
        let application = self.application.as_ref().filter(|_| self.stream.is_some() && !self.finished);
        application.map_or(Time::NEVER, |application| application.due().max(self.now))
    }

    /// Takes the data that the application hands over now.
    fn serve_application(&mut self) {
        let Some(application) = &mut self.application else { return };
        let fresh = u64::from(application.take(self.now)) * self.payload;
        self.left = self.left.map(|left| left + fresh);
    }

    /// Hands over as much data as quinn accepts.
    fn write(&mut self) {
        let (Some(id), Some((_, connection))) = (self.stream, &mut self.core.connection) else { return };
        if self.finished {
            return;
        }
        let window = connection.congestion_state().metrics().congestion_window;
        connection.set_send_window(WINDOWS_KEPT * window + BACKLOG_BYTES);
        let mut stream = connection.send_stream(id);
        loop {
            let most = self.left.map_or(ZEROS.len(), |left| (ZEROS.len() as u64).min(left) as usize);
            if most == 0 {
                if self.application.as_ref().is_some_and(|application| !application.is_complete()) {
                    return;
                }
                let _ = stream.finish(); // the stream was open until now
                self.finished = true;
                return;
            }
            let Ok(written) = stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..most])]) else { return };
            self.left = self.left.map(|left| left - written.bytes as u64);
            if written.bytes < most {
                return;
            }
        }
    }

    fn note(&mut self) {
        let Some((_, connection)) = &self.core.connection else { return };
        let stats = &mut self.stats;
        let counts = connection.stats();
        with(&self.seen, |seen| {
            for rtt in seen.rtts.drain(..) {
                stats.note_rtt(Time(rtt.as_nanos() as u64 * 1000), rtt.as_secs_f64());
            }
            stats.totals.acks = seen.acks;
            stats.totals.loss_events = seen.loss_events;
            stats.totals.ecn_events = seen.ecn_events;
            stats.totals.timeouts = seen.persistent;
        });
        stats.totals.sent = counts.path.sent_packets;
        stats.totals.retransmits = counts.path.lost_packets;
        stats.note_window(self.now, connection.congestion_state().metrics().congestion_window as f64 / self.mtu);
        stats.note_send();
    }

    fn stop(&mut self) {
        self.stop = Time::NEVER;
        self.finished = true;
        if let (Some(id), Some((_, connection))) = (self.stream, &mut self.core.connection) {
            let _ = connection.send_stream(id).reset(VarInt::from_u32(0)); // an error: the stream is closed already
        }
    }
}

/// Sample of a sender before its connection begins.
const NOTHING: SenderSample = SenderSample {
    cwnd: f64::NAN,
    ssthresh: f64::INFINITY,
    srtt: f64::NAN,
    rtt: f64::NAN,
    in_flight: 0,
    timeouts: 0,
    ecn_events: 0,
    retransmits: 0,
    loss_events: 0,
};

fn row_of(connection: &Connection, seen: &Shared, mtu: f64) -> SenderSample {
    let counts = connection.stats();
    let metrics = connection.congestion_state().metrics();
    let ssthresh = metrics.ssthresh.filter(|&bytes| bytes < u64::MAX / 2);
    with(seen, |seen| {
        let srtt = if seen.acks > 0 { counts.path.rtt.as_secs_f64() } else { f64::NAN };
        SenderSample {
            cwnd: metrics.congestion_window as f64 / mtu,
            ssthresh: ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64 / mtu),
            srtt,
            rtt: seen.latest.map_or(f64::NAN, |rtt| rtt.as_secs_f64()),
            in_flight: (seen.in_flight as f64 / mtu).round() as u32,
            timeouts: seen.persistent as u32,
            ecn_events: seen.ecn_events as u32,
            retransmits: counts.path.lost_packets,
            loss_events: seen.loss_events,
        }
    })
}

impl EndpointState for SendingEnd {
    fn timer(&self) -> Time {
        let begins = if self.transport.is_some() { self.start } else { self.core.timer };
        begins.min(self.stop.max(self.now)).min(self.application_due())
    }

    fn packets(&self) -> PacketCounts {
        self.core.counts
    }

    fn finish(&mut self, end: Time) {
        self.sample(end);
    }
}

impl<'a> Endpoint<dyn Outlet + 'a> for SendingEnd {
    fn on_timer(&mut self, out: &mut (dyn Outlet + 'a)) {
        let now = self.timer();
        self.sample(now);
        if now >= self.stop {
            self.stop();
        }
        if now >= self.application_due() {
            self.serve_application();
        }
        match self.transport.take_if(|_| now >= self.start) {
            Some(transport) => self.core.connect(now, transport),
            None => self.core.expire(now),
        }
        self.drive(out);
    }

    fn on_packet(&mut self, packet: &Packet, out: &mut (dyn Outlet + 'a)) {
        self.sample(packet.at);
        self.core.receive(packet, out);
        self.drive(out);
    }
}

impl ForeignEndpoint for SendingEnd {
    fn sender_record(&mut self) -> SenderRecord {
        self.stats.clone().into_record(self.start)
    }
}

/// The server.
#[derive(Debug)]
struct ReceivingEnd {
    core: Core,
    payload: u64,
    stream: Option<StreamId>,
    /// Distinct bytes of the stream that arrived.
    bytes: u64,
    totals: ReceiverSample,
    clock: Clock,
    samples: Vec<ReceiverSample>,
    now: Time,
}

impl ReceivingEnd {
    fn new(times: &Arc<[Time]>, payload: u64, settings: &Settings, base: Instant) -> Self {
        let mut config = ServerConfig::new(Arc::new(Null), Arc::new(Null));
        config.transport_config(Arc::new(settings.transport(None))).migration(false);
        Self {
            core: Core::new(settings, base, End::Receiver, Some(config), None),
            payload,
            stream: None,
            bytes: 0,
            totals: ReceiverSample::default(),
            clock: Clock::new(times),
            samples: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn sample(&mut self, now: Time) {
        self.now = now;
        while self.clock.due() <= now {
            self.clock.advance();
            self.samples.push(self.totals);
        }
    }

    fn drive(&mut self, out: &mut dyn Outlet) {
        loop {
            while let Some(event) = self.core.event() {
                let opened = matches!(event, Event::Stream(StreamEvent::Opened { dir: Dir::Uni }));
                if let Some((_, connection)) = self.core.connection.as_mut().filter(|_| opened) {
                    self.stream = connection.streams().accept(Dir::Uni);
                }
            }
            self.read();
            if !self.core.transmit(self.now, out) {
                break;
            }
        }
        self.core.set_timer(self.now);
    }

    /// Reads all data that have arrived, in any order.
    fn read(&mut self) {
        let (Some(id), Some((_, connection))) = (self.stream, &mut self.core.connection) else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(false) else {
            self.stream = None;
            return;
        };
        let over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.bytes += chunk.bytes.len() as u64,
                Ok(None) => break true,
                Err(quinn_proto::ReadError::Blocked) => break false,
                Err(quinn_proto::ReadError::Reset(_)) => break true,
            }
        };
        let _ = chunks.finalize(); // the enclosing loop sends any resulting frames
        if over {
            self.stream = None;
        }
        self.totals.delivered = self.bytes / self.payload;
        self.totals.odd_bytes = (self.bytes % self.payload) as i64;
    }
}

impl EndpointState for ReceivingEnd {
    fn timer(&self) -> Time {
        self.core.timer
    }

    fn packets(&self) -> PacketCounts {
        self.core.counts
    }

    fn finish(&mut self, end: Time) {
        self.sample(end);
    }
}

impl<'a> Endpoint<dyn Outlet + 'a> for ReceivingEnd {
    fn on_timer(&mut self, out: &mut (dyn Outlet + 'a)) {
        let now = self.timer();
        self.sample(now);
        self.core.expire(now);
        self.drive(out);
    }

    fn on_packet(&mut self, packet: &Packet, out: &mut (dyn Outlet + 'a)) {
        self.sample(packet.at);
        self.totals.wire_bytes += packet.bytes();
        self.core.receive(packet, out);
        self.drive(out);
    }
}

impl ForeignEndpoint for ReceivingEnd {
    fn receiver_record(&mut self) -> ReceiverRecord {
        let samples = std::mem::take(&mut self.samples);
        ReceiverRecord { totals: self.totals, acks_sent: self.core.counts.sent, samples, ..ReceiverRecord::default() }
    }
}
