//! Arithmetic of Linux's Westwood+ (tcp_westwood.c): jiffies, whole bytes per jiffy, and samples of the ACKs as Linux's stack
//! gives them to its modules.

use crate::ack::Ack;
use crate::jiffies::Jiffies;
use crate::loss_window::Arithmetic;

/// RTT of Linux's module before its first sample, s (`TCP_WESTWOOD_INIT_RTT`).
const FIRST_RTT_S: f64 = 20.0;

/// State that only Linux's form keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    jiffies: Jiffies,
    /// Segments that duplicate ACKs have counted and that a later cumulative ACK acknowledges again.
    pub(super) accounted: f64,
    /// The last sample of the RTT, jiffies, if the stack gives Linux's samples; 20 s before the first sample.
    latest: Option<f64>,
    /// True if the samples of the next ACK are already taken.
    is_sampled: bool,
    /// True if the next ACK ends a recovery.
    is_complete: bool,
}

impl Module {
    /// State at the start of a connection on a host with `hz` timer interrupts a second.
    pub(super) fn new(hz: f64) -> Self {
        Self { jiffies: Jiffies::new(hz), ..Self::default() }
    }

    /// Jiffies a second.
    pub(super) fn hz(&self) -> f64 {
        self.jiffies.hz()
    }

    /// Converts a time in jiffies to s.
    pub(super) fn seconds(&self, jiffies: f64) -> f64 {
        self.jiffies.seconds(jiffies)
    }

    /// Jiffies from `since` to `now`, and the whole jiffies of a duration in s.
    #[inline]
    pub(super) fn elapsed(&self, (since, now): (f64, f64), duration: f64) -> (f64, f64) {
        (self.jiffies.between(since, now), self.jiffies.quotient(duration))
    }

    /// An RTT in the unit of the arithmetic: jiffies in integer arithmetic, s otherwise. For Linux 2.6 the result is
    /// the smoothed RTT, truncated.
    #[inline]
    pub(super) fn round_trip(&self, arithmetic: Arithmetic, ack: &Ack, latest: f64) -> f64 {
        match arithmetic {
            Arithmetic::Fluid => latest,
            Arithmetic::Linux => self.jiffies.from_measured(latest),
            Arithmetic::Linux26 | Arithmetic::Ns2 => self.jiffies.at(ack.srtt),
        }
    }

    /// Segments that an ACK counts in the sample. Linux counts one segment for a duplicate ACK, however many segments it
    /// SACKs, and takes off the segments counted so when an ACK on the slow path acknowledges them cumulatively
    /// (`westwood_acked_count`).
    pub(super) fn counted(&mut self, ack: &Ack) -> f64 {
        let Some(sample) = ack.sample else { return ack.acked };
        if sample.acked == 0.0 {
            self.accounted += 1.0;
            return 1.0;
        }
        // On the fast path Linux takes off nothing (`westwood_fast_bw`).
        if sample.acked <= 1.0 || !sample.is_slow {
            return sample.acked;
        }
        if self.accounted >= sample.acked {
            self.accounted -= sample.acked;
            return 1.0;
        }
        sample.acked - std::mem::take(&mut self.accounted)
    }

    /// RTT of an ACK's sample, jiffies; an ACK without an RTT sample uses the last sample. `None` if the ACK's sample is
    /// already taken.
    #[inline]
    pub(super) fn next_rtt(&mut self, ack: &Ack) -> Option<f64> {
        if std::mem::take(&mut self.is_sampled) {
            return None;
        }
        let measured = ack.rtt.map(|rtt| self.round_trip(Arithmetic::Linux, ack, rtt)).filter(|&rtt| rtt > 0.0);
        Some(measured.or(self.latest).unwrap_or(FIRST_RTT_S * self.jiffies.hz()))
    }

    /// Segments of the sample with an RTT of `rtt` jiffies. The first ACK counts as a duplicate ACK, since the module takes
    /// the lowest unacknowledged segment from this ACK.
    pub(super) fn taken(&mut self, ack: &Ack, rtt: f64) -> f64 {
        if self.latest.replace(rtt).is_some() {
            self.counted(ack)
        } else {
            self.accounted += 1.0;
            1.0
        }
    }

    /// Notes that the sample of the next ACK is already taken.
    pub(super) fn note_sampled(&mut self) {
        self.is_sampled = true;
    }

    /// Notes that a recovery ends. True if Linux counts the ACK that ends it first, which is then the next one.
    pub(super) fn ends_with_next_ack(&mut self) -> bool {
        self.is_complete |= self.latest.is_some();
        self.latest.is_some()
    }

    /// True once after a recovery has ended.
    pub(super) fn takes_end(&mut self) -> bool {
        std::mem::take(&mut self.is_complete)
    }
}
