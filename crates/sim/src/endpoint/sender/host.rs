//! Clock and speed of the sending host.

use crate::spec::{ClockSpec, FlowSpec};
use crate::time::Time;

/// A host that needs time to process ACKs, and whose clock may differ from the receiver's.
#[derive(Clone, Debug)]
pub struct Host {
    busy_until: Time,
    ack_ps: u64,
    scan_ps: u64,
    /// Clocks of the sender and the receiver, if they differ from true time and the algorithm uses them.
    clocks: Option<Box<(ClockSpec, ClockSpec)>>,
}

impl Host {
    pub fn new(flow: &FlowSpec) -> Self {
        let (own, other) = (flow.sender_clock, flow.receiver_clock);
        let clocks = (own != other || own != ClockSpec::default()).then(|| Box::new((own, other)));
        Self { busy_until: Time::ZERO, ack_ps: flow.stack.host_ack_ps, scan_ps: flow.stack.host_scan_ps, clocks }
    }

    /// True if processing an ACK takes time.
    pub fn is_slow(&self) -> bool {
        self.ack_ps > 0 || self.scan_ps > 0
    }

    /// Time at which the host has processed an ACK that arrives at `at`: after all earlier ACKs, and after a walk over
    /// `scanned` segments. The processing time affects only the RTT samples, and not the times of transmissions.
    #[cold]
    pub fn looks_at(&mut self, at: Time, scanned: u64) -> Time {
        self.busy_until = self.busy_until.max(at) + Time(self.ack_ps + self.scan_ps * scanned);
        self.busy_until
    }

    /// One-way delay, s, of a segment that left at `sent` and arrived at `arrived`, if the hosts' clocks are not exact.
    pub fn one_way_delay(&self, sent: Time, arrived: Time) -> Option<f64> {
        let clocks = self.clocks.as_deref()?;
        Some((clocks.1.reading(arrived) - clocks.0.reading(sent)) as f64 * 1e-12)
    }
}
