//! The two ends of each flow of a run, attached to the network: one enum over all transports.

use std::sync::Arc;

use elephan_cc::{Algorithm, Controller};

use crate::algorithms::{check_routers, udt_control};
use crate::endpoint::udt::{UdtReceiver, UdtSender};
use crate::endpoint::{
    DatagramSender, End, EndpointState, Foreign, ForeignEndpoint, PacketCounts, Peer, Receiver, Sender, reporting,
};
use crate::events::Log;
use crate::network::{Attachment, MailboxId, Network, Sink};
use crate::packet::FlowId;
use crate::prefetch;
use crate::random::Name;
use crate::record::{ReceiverRecord, ReceiverSample, Sampled, SenderRecord, Sending};
use crate::spec::{FlowSpec, Spec, SpecError};
use crate::time::Time;

/// Transport of a flow, which the engine's caller chooses.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub enum Transport {
    /// TCP with this congestion control.
    Tcp(Controller),
    /// Two endpoints of another crate: the sender, the receiver.
    Foreign(Box<dyn ForeignEndpoint>, Box<dyn ForeignEndpoint>),
    /// Both ends are on the run's host: see [`Engine::with_host`](crate::Engine::with_host).
    Hosted,
}

impl From<Controller> for Transport {
    fn from(controller: Controller) -> Self {
        Self::Tcp(controller)
    }
}

/// Either end of a flow.
#[derive(Debug)]
enum Kind {
    TcpSender(Box<Sender>),
    TcpReceiver(Box<Receiver>),
    Datagrams(Box<DatagramSender>),
    UdtSender(Box<UdtSender>),
    UdtReceiver(Box<UdtReceiver>),
    Foreign(Foreign),
    /// A receiver that the network evaluates inline.
    Inline,
    /// An end on the host; the host takes one turn for all its ends.
    Hosted,
}

/// Evaluates an expression for an end of any kind.
macro_rules! with_end {
    ($kind:expr, $end:ident => $body:expr, inline => $inline:expr) => {
        match $kind {
            Kind::TcpSender($end) => {
                let $end = &mut **$end;
                $body
            }
            Kind::TcpReceiver($end) => {
                let $end = &mut **$end;
                $body
            }
            Kind::Datagrams($end) => {
                let $end = &mut **$end;
                $body
            }
            Kind::UdtSender($end) => {
                let $end = &mut **$end;
                $body
            }
            Kind::UdtReceiver($end) => {
                let $end = &mut **$end;
                $body
            }
            Kind::Foreign($end) => $body,
            Kind::Inline | Kind::Hosted => $inline,
        }
    };
}

/// One end of a flow, attached to the network.
#[derive(Debug)]
pub(crate) struct FlowEnd {
    kind: Kind,
    attachment: Attachment,
}

/// Start of a flow: the scenario's start plus a random delay up to its jitter.
#[must_use]
pub fn start_of(spec: &Spec, flow: &FlowSpec) -> Time {
    let mut jitter = Name::default().and("flow ").and(&flow.name).and(" start").stream(spec.seed);
    Time(flow.start_ps + jitter.below(spec.start_jitter_ps + 1))
}

/// Both ends of flow number `flow`, with the transport that `make` returns.
pub(crate) fn ends_of<T: Into<Transport>>(
    flow: FlowId,
    spec: &Spec,
    network: &mut Network,
    times: &Arc<[Time]>,
    make: impl FnOnce(usize, &FlowSpec) -> Result<T, SpecError>,
) -> Result<[FlowEnd; 2], SpecError> {
    let (index, this) = (flow.index(), &spec.flows[flow.index()]);
    let start = start_of(spec, this);
    let (mut bytes, mut ack_bytes) = (None, None);
    let kinds = if this.is_udt() {
        let control = udt_control(index, this)?;
        let receiver = UdtReceiver::new(flow, spec, this, *control.parameters(), times);
        let sender = UdtSender::new(flow, spec, this, start, control, times);
        [Kind::UdtSender(Box::new(sender)), Kind::UdtReceiver(Box::new(receiver))]
    } else if this.datagrams {
        let receiver = place(Receiver::of_flow(flow, spec, this, &Peer::default(), times), network, flow, this);
        let sender = DatagramSender::new(flow, spec, this, start, times);
        bytes = Some(sender.packet_bytes());
        [Kind::Datagrams(Box::new(sender)), receiver]
    } else {
        match make(index, this)?.into() {
            Transport::Hosted if this.is_hosted() => [Kind::Hosted, Kind::Hosted],
            Transport::Foreign(sender, receiver) if this.foreign.is_some() && !this.is_hosted() => {
                let [(low, high), _] = this.packet_sizes();
                [sender, receiver].map(|endpoint| Kind::Foreign(Foreign { endpoint, packet_bytes: low..=high }))
            }
            Transport::Tcp(controller) if this.foreign.is_none() => {
                check_routers(spec, &format!("flows[{index}]"), this, controller.needs().router)?;
                let controller = reporting(controller, this);
                let peer = Peer { needs: controller.needs(), handshake: this.handshake(&spec.links, start) };
                let mut sender = Sender::new(flow, spec, this, start, controller, times);
                let mut links = this.path.iter().chain(&this.reverse_path).map(|&link| &spec.links[link]);
                let is_steady = links.all(|link| link.impairments.is_none());
                sender.note_handshake(peer.handshake, peer.handshake.filter(|_| is_steady));
                if let Some(events) = &spec.events {
                    sender.keep_log(events);
                }
                (bytes, ack_bytes) = (Some(sender.packet_bytes()), Some(this.stack.ack_bytes as u16));
                let receiver = place(Receiver::of_flow(flow, spec, this, &peer, times), network, flow, this);
                network.equip(flow, peer.needs.router);
                [Kind::TcpSender(Box::new(sender)), receiver]
            }
            _ => {
                let message = "must be given with, and only with, endpoints of another crate";
                return Err(SpecError::new(format!("flows[{index}].foreign"), message));
            }
        }
    };
    let [sender, receiver] = kinds;
    let counts_ns = matches!(sender, Kind::TcpSender(_)) && this.stack.counts_ns();
    Ok([
        FlowEnd { kind: sender, attachment: network.attach(flow, End::Sender, bytes, counts_ns) },
        FlowEnd { kind: receiver, attachment: network.attach(flow, End::Receiver, ack_bytes, counts_ns) },
    ])
}

/// Places a receiver in the network, if it is evaluated inline.
fn place(receiver: Receiver, network: &mut Network, flow: FlowId, this: &FlowSpec) -> Kind {
    if network.is_inline(flow) {
        network.set_sink(flow, receiver, Some(this.stack.ack_bytes as u16), this.stack.counts_ns());
        return Kind::Inline;
    }
    Kind::TcpReceiver(Box::new(receiver))
}

impl FlowEnd {
    /// Takes this end's turn: see [`Attachment::give_turn`].
    #[inline]
    pub(crate) fn take_turn<const LOGGED: bool>(&mut self, horizon: Time, network: &mut Network) -> Time {
        let Self { kind, attachment } = self;
        with_end!(kind, end => attachment.give_turn::<LOGGED, _>(end, horizon, network), inline => Time::NEVER)
    }

    /// Prefetches the data that the next turn needs. The function does not read the end's kind, since that read would
    /// itself be a cache miss.
    #[inline]
    pub(crate) fn fetch(&self) {
        prefetch::value(self);
    }

    /// Prefetches the endpoint, for a turn that follows soon.
    #[inline]
    pub(crate) fn fetch_endpoint(&self) {
        match &self.kind {
            Kind::TcpSender(sender) => prefetch::value(&**sender),
            Kind::TcpReceiver(receiver) => prefetch::value(&**receiver),
            _ => {}
        }
    }

    /// Prefetches the data behind a sender's pointers for the next turn.
    #[inline]
    pub(crate) fn fetch_behind(&self) {
        if let Kind::TcpSender(sender) = &self.kind {
            sender.fetch_behind();
        }
    }

    /// Time of the end's next action that is not a response to an arrival.
    pub(crate) fn timer(&mut self) -> Time {
        with_end!(&mut self.kind, end => end.timer(), inline => Time::NEVER)
    }

    /// A copy, if the end can be copied.
    pub(crate) fn try_clone(&self) -> Option<Self> {
        let kind = match &self.kind {
            Kind::TcpSender(sender) if sender.can_be_copied() => Kind::TcpSender(sender.clone()),
            Kind::TcpReceiver(receiver) => Kind::TcpReceiver(receiver.clone()),
            Kind::Inline => Kind::Inline,
            _ => return None,
        };
        Some(Self { kind, attachment: self.attachment.clone() })
    }

    /// True if the end can be copied.
    pub(crate) fn can_be_copied(&self) -> bool {
        match &self.kind {
            Kind::TcpSender(sender) => sender.can_be_copied(),
            Kind::TcpReceiver(_) | Kind::Inline => true,
            _ => false,
        }
    }

    /// The sender, if the end is one of TCP.
    pub(crate) fn tcp_sender(&mut self) -> Option<&mut Sender> {
        match &mut self.kind {
            Kind::TcpSender(sender) => Some(sender),
            _ => None,
        }
    }

    /// True for a TCP sender whose segments leave in trains now.
    pub(crate) fn sends_trains(&self) -> bool {
        matches!(&self.kind, Kind::TcpSender(sender) if sender.sends_trains())
    }

    /// Congestion window of a TCP sender, segments.
    pub(crate) fn window(&self) -> Option<f64> {
        match &self.kind {
            Kind::TcpSender(sender) => Some(sender.window()),
            _ => None,
        }
    }

    /// Counts of a TCP receiver that is not evaluated inline.
    pub(crate) fn receiver_totals(&self) -> Option<ReceiverSample> {
        match &self.kind {
            Kind::TcpReceiver(receiver) => Some(receiver.totals()),
            _ => None,
        }
    }

    /// True if the end is a receiver that the network evaluates inline.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.kind, Kind::Inline)
    }

    /// Mailbox of the packets for this end.
    pub(crate) fn inbox(&self) -> MailboxId {
        self.attachment.inbox()
    }

    /// Events logged so far.
    pub(crate) fn logged(&self) -> usize {
        match &self.kind {
            Kind::TcpSender(sender) => sender.logged(),
            Kind::TcpReceiver(receiver) => receiver.logged(),
            Kind::Datagrams(sender) => sender.logged(),
            Kind::UdtSender(_) | Kind::UdtReceiver(_) | Kind::Foreign(_) | Kind::Inline | Kind::Hosted => 0,
        }
    }

    /// Samples of one of the engine's own senders.
    pub(crate) fn sending(&self) -> Option<Sending<'_>> {
        match &self.kind {
            Kind::TcpSender(sender) => Some(sender.sampled()),
            Kind::Datagrams(sender) => Some(sender.sampled()),
            Kind::UdtSender(sender) => Some(sender.sampled()),
            Kind::TcpReceiver(_) | Kind::UdtReceiver(_) | Kind::Foreign(_) | Kind::Inline | Kind::Hosted => None,
        }
    }

    /// Samples of one of the engine's own receivers that is not evaluated inline.
    pub(crate) fn receiving(&self) -> &[ReceiverSample] {
        match &self.kind {
            Kind::TcpReceiver(receiver) => receiver.samples(),
            Kind::UdtReceiver(receiver) => receiver.samples(),
            _ => &[],
        }
    }

    /// Drops the `count` oldest samples.
    pub(crate) fn forget(&mut self, count: usize) {
        match &mut self.kind {
            Kind::TcpSender(sender) => sender.forget(count),
            Kind::Datagrams(sender) => sender.forget(count),
            Kind::UdtSender(sender) => sender.forget(count),
            Kind::TcpReceiver(receiver) => receiver.forget(count),
            Kind::UdtReceiver(receiver) => receiver.forget(count),
            Kind::Foreign(_) | Kind::Inline | Kind::Hosted => {}
        }
    }

    pub(crate) fn take_log(&mut self) -> Option<Log> {
        match &mut self.kind {
            Kind::TcpSender(sender) => sender.take_log(),
            Kind::TcpReceiver(receiver) => receiver.take_log(),
            Kind::Datagrams(sender) => sender.take_log(),
            Kind::UdtSender(_) | Kind::UdtReceiver(_) | Kind::Foreign(_) | Kind::Inline | Kind::Hosted => None,
        }
    }

    /// Ends the run.
    pub(crate) fn finish(&mut self, end_of_run: Time) {
        with_end!(&mut self.kind, end => end.finish(end_of_run), inline => ());
    }
}

/// Numbers of packets that the two ends of a flow have sent and received.
pub(crate) fn packets(ends: &mut [FlowEnd; 2], inline: Option<&Sink>) -> [PacketCounts; 2] {
    let inline = || inline.map(|sink| sink.receiver.packets()).unwrap_or_default();
    ends.each_mut().map(|end| with_end!(&mut end.kind, end => end.packets(), inline => inline()))
}

/// Returns the records that the run keeps of the two ends of a flow.
pub(crate) fn into_records(ends: [FlowEnd; 2], inline: Option<Sink>) -> (SenderRecord, ReceiverRecord) {
    match ends.map(|end| end.kind) {
        [Kind::UdtSender(sender), Kind::UdtReceiver(receiver)] => receiver.into_records(*sender),
        [sender, receiver] => {
            let sent = match sender {
                Kind::TcpSender(sender) => sender.into_record(),
                Kind::Datagrams(sender) => sender.into_record(),
                Kind::Foreign(mut end) => end.endpoint.sender_record(),
                _ => SenderRecord::default(),
            };
            let received = match receiver {
                Kind::TcpReceiver(receiver) => receiver.into_record(),
                Kind::Foreign(mut end) => end.endpoint.receiver_record(),
                _ => inline.map(|sink| sink.receiver.into_record()).unwrap_or_default(),
            };
            (sent, received)
        }
    }
}
