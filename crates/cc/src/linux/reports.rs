//! Reports of a Linux host: the sample of an ACK, which its modules get in `pkts_acked`, and a restart.

/// State of an endpoint's loss recovery (Linux's `icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// No segment is SACKed or counted lost.
    #[default]
    Open,
    /// Segments are SACKed, and none is counted lost.
    Disorder,
    /// Recovery after a loss, an ECN echo or a timeout.
    Repair,
}

/// Linux's sample of an ACK (`ack_sample`). Linux calls its modules' `pkts_acked` in `tcp_clean_rtx_queue`, before the
/// ACK changes the state of loss recovery. The ACK that ends a recovery is therefore a sample of this recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// State before the ACK.
    pub state: Recovery,
    /// State after the ACK, in which Linux calls its modules' `cong_avoid`.
    pub then: Recovery,
    /// Lowest unacknowledged segment after the ACK (`snd_una`).
    pub una: u32,
    /// Next new segment (`snd_nxt`).
    pub next: u32,
    /// Segments that the ACK acknowledges cumulatively, SACKed ones included.
    pub acked: f64,
    /// SACKed segments above `una` after the ACK (`sacked_out`).
    pub sacked: u32,
    /// True if the ACK has SACK blocks, echoes a mark or changes the receive window: Linux then processes it on its slow
    /// path (`CA_ACK_SLOWPATH`).
    pub is_slow: bool,
    /// Largest burst that segmentation offload sends, segments (`sk_gso_max_size`); 0 without offload.
    pub largest_burst: f64,
    /// Window before the ACK, segments (`snd_cwnd`). In a recovery, this is the window of the endpoint's recovery rule.
    pub window: f64,
    /// The ACK's two timestamps, s (RFC 7323); only with
    /// [`Needs::one_way_delay`](crate::Needs::one_way_delay), otherwise 0. The first is the send time of the segment
    /// that the ACK echoes (`rcv_tsecr`): the oldest segment that the last advancing ACK acknowledges, so duplicate ACKs
    /// repeat this time. The second is the time of the ACK itself (`rcv_tsval`).
    pub timestamps: (f64, f64),
}

impl Sample {
    /// True if the ACK ends a recovery, or a disorder of SACKed segments. Linux tells this to its modules (`set_state`)
    /// after the sample and before `cong_avoid`.
    #[must_use]
    #[inline]
    pub fn opens(&self) -> bool {
        self.state != Recovery::Open && self.then == Recovery::Open
    }
}

/// The sending of a segment while no segment is in flight, on Linux.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restart {
    /// Time, s.
    pub now: f64,
    /// Number of the next new segment (`snd_nxt`).
    pub next: u32,
    /// Time since the last transmission, in whole jiffies, s.
    pub idle: f64,
    /// True if the application limits the delivery rate (`app_limited`); only with [`Needs::delivery`](crate::Needs::delivery).
    pub application_limited: bool,
}
