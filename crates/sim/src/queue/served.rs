//! Disciplines that decide when the transmitter becomes free: what is sent next, and what is dropped instead.

use super::codel::{CodelParameters, Controller, Held};
use super::{Backlog, DropTail, DualPi2, FqCodel, Vcp, Xcp};
use crate::packet::Packet;
use crate::sidecar::CongestionHeaders;
use crate::time::Time;

/// One queue with CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    tail: DropTail,
    held: Held,
    controller: Controller,
}

/// A discipline that decides at departures, statically dispatched.
#[derive(Clone, Debug)]
pub enum Served {
    /// See [`super::codel`].
    Codel(Codel),
    /// See [`FqCodel`].
    FqCodel(FqCodel),
    /// See [`DualPi2`].
    DualPi2(DualPi2),
    /// See [`Xcp`].
    Xcp(Box<Xcp>),
    /// See [`Vcp`].
    Vcp(Box<Vcp>),
}

impl Codel {
    /// An empty queue.
    #[must_use]
    pub fn new(tail: DropTail, p: CodelParameters) -> Self {
        Self { tail, held: Held::default(), controller: Controller::new(p) }
    }
}

impl Served {
    /// A packet arrives at `packet.at`; what is dropped for it is put into `dropped`. `logs` have the congestion headers of
    /// each flow.
    pub fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, headers: &mut dyn CongestionHeaders) {
        match self {
            Self::Codel(queue) if queue.tail.admits(queue.held.backlog(), packet.bytes()) => {
                queue.controller.note_size(packet.bytes());
                queue.held.push(packet);
            }
            Self::Codel(_) => dropped.push(packet),
            Self::FqCodel(queue) => queue.enqueue(packet, dropped),
            Self::DualPi2(queue) => queue.enqueue(packet, dropped),
            Self::Xcp(queue) => queue.enqueue(packet, dropped, headers),
            Self::Vcp(queue) => queue.enqueue(packet, dropped),
        }
    }

    /// The transmitter is free at `now`: what it sends, and what is dropped instead.
    pub fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut Vec<Packet>,
        headers: &mut dyn CongestionHeaders,
    ) -> Option<Packet> {
        match self {
            Self::Codel(queue) => queue.controller.dequeue(now, &mut queue.held, dropped),
            Self::FqCodel(queue) => queue.dequeue(now, dropped),
            Self::DualPi2(queue) => queue.dequeue(now, dropped),
            Self::Xcp(queue) => queue.dequeue(now, headers),
            Self::Vcp(queue) => queue.dequeue(now),
        }
    }

    /// What waits.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        match self {
            Self::Codel(queue) => queue.held.backlog(),
            Self::FqCodel(queue) => queue.backlog(),
            Self::DualPi2(queue) => queue.backlog(),
            Self::Xcp(queue) => queue.held().backlog(),
            Self::Vcp(queue) => queue.held().backlog(),
        }
    }

    /// The packets that wait.
    pub fn for_each(&self, look: impl FnMut(&Packet)) {
        match self {
            Self::Codel(queue) => queue.held.iter().for_each(look),
            Self::FqCodel(queue) => queue.iter().for_each(look),
            Self::DualPi2(queue) => queue.iter().for_each(look),
            Self::Xcp(queue) => queue.held().iter().for_each(look),
            Self::Vcp(queue) => queue.held().iter().for_each(look),
        }
    }
}
