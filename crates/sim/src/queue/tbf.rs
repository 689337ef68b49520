//! A token-bucket filter, the shaper of Linux: packets wait in a drop-tail queue until the bucket has tokens for all of
//! their bytes. A burst of the bucket's size leaves at the link's rate.

use elephan_cc::param::{BuildError, Settings};

use super::bucket::{Bucket, BucketParameters};
use super::discipline::{AtDeparture, Place};
use super::entry::Entry;
use super::held::{Held, Source};
use super::{Backlog, DropTail};
use crate::packet::Packet;
use crate::sidecar::PacketHeaders;
use crate::time::Time;

/// A bounded first-in, first-out queue in front of a token bucket.
#[derive(Clone, Debug)]
pub struct Tbf {
    tail: DropTail,
    bucket: Bucket,
    held: Held,
}

impl AtDeparture for Tbf {
    const ENTRY: Entry = Entry::new(
        "tbf",
        "Token-bucket filter: a shaper with a burst, whose packets wait for tokens in a drop-tail queue",
        "RFC 3290 appendix A; Linux 6.12, net/sched/sch_tbf.c",
        &[BucketParameters::TABLE],
    );

    type Parameters = BucketParameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        BucketParameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        Self { tail: place.tail(false), bucket: Bucket::new(&p), held: Held::default() }
    }

    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>, _: &mut impl PacketHeaders) {
        if self.tail.admits(self.held.backlog(), packet.bytes()) {
            self.held.push(packet);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Packet>, _: &mut impl PacketHeaders) -> Option<Packet> {
        let head = self.held.head()?.bytes();
        if self.bucket.take(now, head) { self.held.take() } else { None }
    }

    #[inline]
    fn release(&self) -> Time {
        self.held.head().map_or(Time::ZERO, |head| self.bucket.ready(head.bytes()))
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        std::iter::once(&self.held)
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }
}
