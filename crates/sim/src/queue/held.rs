//! Packets that wait in a queue that decides at departures.

use super::Backlog;
use crate::packet::Packet;
use crate::ring::Fifo;

/// A queue from which CoDel's controller takes packets.
pub(super) trait Source {
    /// Takes the oldest packet; its `at` is the time of its arrival.
    fn take(&mut self) -> Option<Packet>;
    /// Number of waiting bytes.
    fn bytes(&self) -> u64;
}

/// A first-in, first-out queue that counts its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    packets: Fifo<Packet>,
    bytes: u64,
}

impl Held {
    #[inline]
    pub(super) fn push(&mut self, packet: Packet) {
        self.bytes += packet.bytes();
        self.packets.push(packet);
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    #[inline]
    pub(super) fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }
}

impl Source for Held {
    #[inline]
    fn take(&mut self) -> Option<Packet> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}
