//! Paths of transfers: each active transfer of a source has a slot, which is a flow with a copy of the source's path.

use super::fabric::Network;
use super::hops::Place;
use super::ports::SourceId;
use crate::endpoint::{End, Receiver, Sender};
use crate::packet::{FlowId, PassageId};
use crate::prefetch;
use crate::sidecar::Sidecar;
use crate::time::Time;

/// Memory of an active transfer, bytes: its ends, and its mailboxes, rings and hops, measured with a million transfers
/// of few segments.
pub const TRANSFER_BYTES: u64 = (size_of::<Sender>() + size_of::<Receiver>()) as u64 + 2_900;

impl Network {
    /// True if this many active transfers fit into the memory that they share with packets. Otherwise the run ends.
    #[inline]
    pub fn has_room_for_transfers(&mut self, transfers: usize) -> bool {
        self.overdrawn |= transfers as u64 * TRANSFER_BYTES > self.room_bytes;
        !self.overdrawn
    }

    /// Adds a slot for the transfers of a source. Returns the slot's number among the flows.
    pub fn add_slot(&mut self, source: SourceId) -> FlowId {
        let flow = FlowId(self.sinks.len() as u32);
        self.sinks.push(None);
        self.sidecars.push(Sidecar::default());
        for direction in 0..2 {
            let lane = &self.lanes[source.index()];
            let (first_hop, inbox) = (self.hops.len(), self.ports.mailboxes.add());
            self.hops.extend_from_slice(&lane.hops[direction]);
            if let Some(end) = self.hops.last_mut() {
                end.place = match end.place {
                    Place::Sink(_) => Place::Sink(inbox),
                    _ => Place::Mailbox(inbox),
                };
            }
            self.paths.add(first_hop, lane.leads[direction]);
            self.inboxes.push(inbox);
            self.dropped.push(0);
            self.duplicated.push(0);
            self.ranks.push(0);
        }
        self.look_ahead(flow.data());
        self.look_ahead(flow.acks());
        flow
    }

    /// An empty sidecar for a transfer of a source.
    #[must_use]
    pub fn sidecar_of(&self, source: SourceId, seed: u64, name: &str) -> Sidecar {
        Sidecar::new(self.lanes[source.index()].loose, seed, name)
    }

    /// Prefetches the packet counts of a slot whose transfer is over, and the data that the next transfer needs.
    pub fn fetch_slot(&self, flow: FlowId) {
        prefetch::element(&self.sinks, flow.index());
        prefetch::element(&self.sidecars, flow.index());
        prefetch::elements(&self.dropped, flow.data().index(), 2);
        prefetch::elements(&self.duplicated, flow.data().index(), 2);
        prefetch::elements(&self.ranks, flow.data().index(), 2);
        prefetch::element(&self.paths.leads, flow.data().index());
        prefetch::element(&self.hops, self.paths.first_hop(flow.data()));
        for end in [End::Sender, End::Receiver] {
            self.fetch_mailbox(self.inbox(flow, end));
        }
    }

    /// Frees the memory of large mailboxes of a slot whose transfer is over. Otherwise every slot would in time keep
    /// the memory of its largest transfer.
    pub fn trim_mailboxes(&mut self, flow: FlowId) {
        for end in [End::Sender, End::Receiver] {
            self.ports.mailboxes.trim(self.inbox(flow, end));
        }
    }

    /// Assigns a slot whose transfer is over to the next transfer. Sets the receiver (if it is evaluated inline), the
    /// sidecar, the rank among competing packets, and the extra delay of the transfer's path over the source's path.
    /// The extra delay is added behind the last link of the ACKs that can queue, where the packets of different
    /// transfers are separate.
    pub fn occupy(
        &mut self,
        source: SourceId,
        receiver: Option<Receiver>,
        flow: FlowId,
        sidecar: Sidecar,
        rank: u32,
        extra: Time,
    ) {
        let [data, acks] = [flow.data(), flow.acks()].map(PassageId::index);
        self.sidecars[flow.index()] = sidecar;
        (self.dropped[data], self.dropped[acks]) = (0, 0);
        (self.duplicated[data], self.duplicated[acks]) = (0, 0);
        (self.ranks[data], self.ranks[acks]) = (rank * 2, rank * 2 + 1);
        let lane = &self.lanes[source.index()];
        let links = lane.hops[1].len() - 1;
        if links == 0 {
            self.paths.leads[acks].delay = lane.leads[1].delay + extra;
        } else {
            let hop = self.paths.first_hop(flow.acks()) + links - 1;
            self.hops[hop].tail.delay = lane.hops[1][links - 1].tail.delay + extra;
        }
        let before = self.sinks[flow.index()].take();
        if let Some(mut receiver) = receiver {
            before.into_iter().for_each(|mut sink| receiver.inherit(&mut sink.receiver));
            self.set_sink(flow, receiver, None, false);
        }
    }
}
