//! Clock and speed of the sending host.

use crate::spec::{ClockSpec, FlowSpec};
use crate::time::Time;

/// A host that needs time to process ACKs, and whose clock may differ from the receiver's.
#[derive(Debug)]
pub(super) struct Host {
    /// True if processing an ACK takes time.
    pub(super) is_slow: bool,
    busy_until: Time,
    ack_ps: u64,
    scan_ps: u64,
    /// Clocks of the sender and the receiver, if they differ from true time and the algorithm uses them.
    pub(super) clocks: Option<Box<(ClockSpec, ClockSpec)>>,
}

impl Host {
    pub(super) fn new(flow: &FlowSpec) -> Self {
        let (ack_ps, scan_ps) = (flow.stack.host_ack_ps, flow.stack.host_scan_ps);
        let (own, other) = (flow.sender_clock, flow.receiver_clock);
        let clocks = (own != other || own != ClockSpec::default()).then(|| Box::new((own, other)));
        Self { is_slow: ack_ps > 0 || scan_ps > 0, busy_until: Time::ZERO, ack_ps, scan_ps, clocks }
    }

    /// Time at which the host has processed an ACK that arrives at `at`: after all earlier ACKs, and after a walk over
    /// `scanned` segments. The processing time affects only the RTT samples, and not the times of transmissions.
    #[cold]
    pub(super) fn looks_at(&mut self, at: Time, scanned: u64) -> Time {
        self.busy_until = self.busy_until.max(at) + Time(self.ack_ps + self.scan_ps * scanned);
        self.busy_until
    }
}
