//! A policer: a packet that finds too few tokens in the bucket is dropped, and no packet waits for tokens. The packets that
//! pass go to a drop-tail queue in front of the link's transmitter.

use elephan_cc::param::{BuildError, Settings};

use super::bucket::{Bucket, BucketParameters};
use super::discipline::{AtArrival, Place};
use super::entry::Entry;
use super::{Arrival, DropTail, Verdict};

/// A policer in front of a bounded first-in, first-out queue.
#[derive(Clone, Debug)]
pub struct Policer {
    tail: DropTail,
    bucket: Bucket,
}

impl AtArrival for Policer {
    const ENTRY: Entry = Entry::new(
        "policer",
        "Token-bucket policer: packets above the rate and the burst are dropped at arrival, before a drop-tail queue",
        "RFC 3290 appendix A; Linux 6.12, net/sched/act_police.c",
        &[BucketParameters::TABLE],
    );

    type Parameters = BucketParameters;

    fn read(settings: &Settings) -> Result<Self::Parameters, BuildError> {
        BucketParameters::read(settings)
    }

    fn build(p: Self::Parameters, place: Place) -> Self {
        Self { tail: place.tail(false), bucket: Bucket::new(&p) }
    }

    #[inline]
    fn tail(&self) -> &DropTail {
        &self.tail
    }

    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        // A packet that conforms has taken its tokens, also if the queue behind the policer has no room for it.
        let conforms = self.bucket.take(arrival.now, arrival.bytes);
        if conforms && self.tail.admits(arrival.backlog, arrival.bytes) { Verdict::Accept } else { Verdict::Drop }
    }
}
