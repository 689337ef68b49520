//! What the network does besides where packets are logged.

use super::{End, Network, forget_sacks};
use crate::events::{Kind, Log, NONE, NetworkLog};
use crate::packet::Packet;
use crate::spec::EventsSpec;
use crate::time::Time;

impl Network {
    /// Keeps a log of what links refuse and mark from now on.
    pub(crate) fn keep_log(&mut self, spec: &EventsSpec, flows: u32) {
        let lost = self.links.iter().map(|link| link.totals.lost).collect();
        self.log = Some(Box::new(NetworkLog { log: Log::new(spec), lost, flows }));
    }

    /// Events logged so far, by links and by receivers.
    pub(crate) fn logged(&self) -> usize {
        let receivers: usize =
            self.receivers.iter().map(|receiver| receiver.log.as_ref().map_or(0, |l| l.rows.len())).sum();
        receivers + self.log.as_ref().map_or(0, |log| log.log.rows.len())
    }

    /// A link refuses a packet at `at`: it goes no further.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, link: u32, at: Time, packet: Packet) {
        self.dropped[packet.passage()] += 1;
        if self.log.is_some() {
            self.note_refusal(link, at, &packet);
        }
        forget_sacks(&mut self.sacks, packet);
    }

    fn note_refusal(&mut self, link: u32, at: Time, packet: &Packet) {
        let Some(log) = &mut self.log else { return };
        let (known, lost) = (&mut log.lost[link as usize], self.links[link as usize].totals.lost);
        let kind = if lost > *known { Kind::Lost } else { Kind::Dropped };
        *known = lost;
        let sacks = self.sacks[packet.flow() as usize].of(packet);
        log.push(kind, at, packet, link, sacks.map(Into::into));
    }

    /// A link lets a marked packet through at `at`; the answer is the packet.
    #[inline(never)]
    pub(super) fn note_mark(&mut self, link: u32, at: Time, packet: Packet) -> Packet {
        if let Some(log) = &mut self.log {
            log.push(Kind::Marked, at, &packet, link, None);
        }
        packet
    }

    /// A link has made a second packet of one that reaches its far end at `at`, if nothing else happens on the wire.
    pub(super) fn note_duplicate(&mut self, link: u32, at: Time, packet: Packet) {
        if let Some(log) = &mut self.log {
            let left = at - self.links[link as usize].delay;
            log.push(Kind::Duplicated, left, &packet, link, None);
        }
    }

    /// As [`Network::run_receiver`], with a row for each segment and for each ACK.
    pub fn run_receiver_logged(&mut self, flow: u32, horizon: Time) -> bool {
        let mut worked = false;
        let inbox = self.inbox(flow, End::Receiver);
        loop {
            let arrival = self.head(inbox);
            let receiver = &mut self.receivers[flow as usize];
            if receiver.timer().min(arrival) >= horizon {
                return worked;
            }
            worked = true;
            let sacks = &mut self.sacks[flow as usize];
            let ack = if receiver.timer() <= arrival {
                receiver.on_timer(sacks)
            } else {
                let Some(packet) = self.mailboxes.pop(inbox) else { return worked };
                if let Some(log) = &mut receiver.log {
                    log.push(Kind::Received, packet.at, &packet, NONE, None);
                }
                receiver.on_segment(&packet, sacks)
            };
            if let Some(ack) = ack {
                if let Some(log) = &mut receiver.log {
                    log.push(Kind::AckSent, ack.at, &ack, NONE, sacks.of(&ack).map(Into::into));
                }
                self.send(ack);
            }
        }
    }

    /// The packets in a mailbox, the next first.
    pub(crate) fn waiting(&self, inbox: usize) -> impl Iterator<Item = &Packet> {
        self.mailboxes.of(inbox).iter()
    }
}
