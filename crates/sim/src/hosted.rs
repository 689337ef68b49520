//! A host attached to the network: the mailboxes of its ends, and its turn.

use crate::endpoint::{End, Host, PacketCounts, Way};
use crate::network::{MailboxId, Network};
use crate::packet::{FlowId, Packet};
use crate::sidecar::Sidecar;
use crate::spec::Spec;
use crate::time::Time;

/// A host, and the numbers of packets that its ends have sent and received.
#[derive(Debug)]
pub(crate) struct Hosted {
    host: Box<dyn Host>,
    inboxes: Vec<MailboxId>,
    /// Counts of both ends of every flow; zero for flows that are not on the host.
    counts: Vec<PacketCounts>,
    arrivals: Vec<Packet>,
}

impl Hosted {
    /// Attaches a host to the ends of all flows that are on it.
    pub(crate) fn new(host: Box<dyn Host>, spec: &Spec, network: &Network) -> Self {
        let flows = (0..spec.flows.len() as u32).map(FlowId).filter(|flow| spec.flows[flow.index()].is_hosted());
        let ends = flows.flat_map(|flow| [(flow, End::Sender), (flow, End::Receiver)]);
        let inboxes = ends.map(|(flow, end)| network.inbox(flow, end)).collect();
        Self { host, inboxes, counts: vec![PacketCounts::default(); 2 * spec.flows.len()], arrivals: Vec::new() }
    }

    /// Time of the host's next event.
    pub(crate) fn next_event(&self, network: &Network) -> Time {
        let arrivals = self.inboxes.iter().map(|&inbox| network.head(inbox));
        arrivals.min().unwrap_or(Time::NEVER).min(self.host.timer())
    }

    /// Takes the host's turn. Returns true if there was any event.
    pub(crate) fn take_turn(&mut self, horizon: Time, network: &mut Network) -> bool {
        if self.next_event(network) >= horizon {
            return false;
        }
        let Self { host, inboxes, counts, arrivals } = self;
        arrivals.clear();
        for &inbox in &*inboxes {
            while network.head(inbox) < horizon {
                arrivals.extend(network.take(inbox));
            }
        }
        // A stable sort, since packets of one mailbox are already in order.
        arrivals.sort_by_key(|packet| (packet.at, packet.passage().index()));
        for packet in &*arrivals {
            counts[packet.passage().index() ^ 1].received += 1;
        }
        host.take_turn(arrivals, horizon, &mut Door { network, counts });
        true
    }

    /// Ends the run.
    pub(crate) fn finish(&mut self) {
        self.host.finish();
    }

    /// Numbers of packets that the two ends of a flow have sent and received.
    pub(crate) fn packets(&self, flow: FlowId) -> [PacketCounts; 2] {
        [self.counts[flow.data().index()], self.counts[flow.acks().index()]]
    }
}

struct Door<'a> {
    network: &'a mut Network,
    counts: &'a mut [PacketCounts],
}

impl Way for Door<'_> {
    fn send(&mut self, packet: Packet) {
        self.counts[packet.passage().index()].sent += 1;
        self.network.send(packet);
    }

    fn beside(&mut self, flow: FlowId) -> &mut Sidecar {
        &mut self.network.sidecars[flow.index()]
    }

    fn has_room_for(&mut self, packets: u32) -> bool {
        self.network.has_room_for(packets)
    }
}
