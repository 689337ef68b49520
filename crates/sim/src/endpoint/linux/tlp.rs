//! Tail loss probe (RFC 8985 section 7), as in Linux 6.12 (`tcp_schedule_loss_probe`): when the next one leaves. Plain hosts
//! with RACK have it too.

use super::constants::TCP_TIMEOUT_MIN;
use super::rack::Rack;
use crate::endpoint::read::read;
use crate::endpoint::rtt::Rtt;
use crate::spec::{Detection, HostRule, StackSpec};
use crate::time::Time;

/// The outstanding segments, on which the expiry of a timer depends.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding<'a> {
    pub una: u32,
    pub next: u32,
    /// True if a tail loss probe may be sent: no segment is SACKed or lost, or the window is only reduced.
    pub may_probe: bool,
    pub rtt: &'a Rtt,
    pub rack: &'a Rack,
}

/// Segment of a tail loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    New,
    Resent,
}

/// State of the probe of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct TailProbe {
    is_on: bool,
    /// Margin of a probe for a single segment, which waits for a delayed ACK.
    single_margin: Time,
    /// True if none was sent since the last restart of the retransmission timer.
    may_follow: bool,
    /// Start of the wait: the last ACK or transmission of new data.
    from: Time,
    /// True if new data were sent since the last restart.
    has_sent: bool,
    /// `Some` if a SACK has arrived in a reduction of the window since the restart: the expiry of the probe. Neither the
    /// RTT of the SACKed segment nor a recovery that begins changes it, unless a segment is sent that restarts the timer.
    kept: Option<Time>,
    /// The segment after the last one that was sent when a probe left; 0 after an ACK of all these segments, a reduction of
    /// the window or a timeout. No other probe is sent before (`tlp_high_seq`).
    past: u32,
    has_resent: bool,
    /// Additional wait: whole jiffies until pacing allows a segment (`tcp_pacing_delay`).
    delay: Time,
}

impl TailProbe {
    read!(may_follow: bool, from: Time, kept: Option<Time>);

    pub fn new(stack: &StackSpec) -> Self {
        let is_on = !stack.is_linux() || stack.has(HostRule::TailLossProbe);
        let single_margin = Time(stack.min_rto_ps);
        Self { is_on: is_on && stack.detection == Detection::Rack, single_margin, ..Self::default() }
    }

    /// Restarts the wait with the retransmission timer; pacing delays the next segment by `delay`.
    #[inline(always)]
    pub fn restart(&mut self, now: Time, delay: Time, rtt: &Rtt) {
        (self.from, self.has_sent, self.kept, self.delay) = (now, false, None, delay);
        if self.is_on {
            self.may_follow = rtt.srtt() > 0.0;
        }
    }

    /// Takes a transmission of new data.
    #[inline(always)]
    pub fn on_new_data(&mut self, now: Time) {
        (self.from, self.has_sent) = (now, true);
    }

    /// True if the wait began with a transmission at `now`.
    pub fn is_from_sending(&self, now: Time) -> bool {
        self.has_sent && self.from == now
    }

    /// Lets the wait be at least `delay`.
    pub fn put_off(&mut self, delay: Time) {
        self.delay = delay;
    }

    /// Excludes a probe before the next restart.
    pub fn exclude(&mut self) {
        self.may_follow = false;
    }

    /// Keeps the expiry.
    pub fn keep(&mut self, due: Time) {
        self.kept = Some(due);
    }

    /// Gives up a kept expiry.
    pub fn forget_kept(&mut self) {
        self.kept = None;
    }

    /// True if a running timer is that of a probe.
    #[inline(always)]
    pub fn is_next(&self, o: Outstanding<'_>) -> bool {
        (self.may_follow && o.may_probe) || self.kept.is_some()
    }

    /// Time from the last ACK or transmission to the probe: two round trips, or the rest of the retransmission timeout if
    /// that is earlier. After an ACK, the timeout begins anew; after a transmission, it counts from the transmission of the
    /// oldest segment (`tcp_rto_delta_us`).
    pub fn wait(&self, o: Outstanding<'_>) -> Time {
        let margin = if o.next - o.una == 1 { self.single_margin } else { TCP_TIMEOUT_MIN };
        let two_round_trips = o.rtt.twice_smoothed().later(margin);
        let timeout = o.rtt.timeout();
        let oldest = if self.has_sent { o.rack.sent(o.una) } else { None };
        let left = oldest.map_or(timeout, |sent| sent.later(timeout).since(self.from));
        let wait = if left > Time::ZERO { two_round_trips.min(left) } else { two_round_trips };
        wait.later(self.delay)
    }

    /// Takes a probe, of the segments below `next`.
    pub fn on_sent(&mut self, next: u32, probe: Probe) {
        (self.past, self.has_resent) = (next, probe == Probe::Resent);
    }

    /// Takes the left edge of the window: an ACK of all segments below ends the probe.
    #[inline(always)]
    pub fn on_advance(&mut self, una: u32) {
        if una >= self.past {
            self.past = 0;
        }
    }

    /// True if no probe waits for its ACK.
    pub fn is_acknowledged(&self) -> bool {
        self.past == 0
    }

    /// Forgets the last probe.
    pub fn forget(&mut self) {
        self.past = 0;
    }

    /// True if a report of a duplicate below `past` is for a probe.
    pub fn is_reported(&self, past: u32) -> bool {
        self.past > 0 && self.past == past
    }

    /// Retransmissions that are probes not yet acknowledged.
    pub fn resent(&self) -> u32 {
        u32::from(self.has_resent && self.past > 0)
    }

    #[cfg(test)]
    pub fn delay(&self) -> Time {
        self.delay
    }
}
