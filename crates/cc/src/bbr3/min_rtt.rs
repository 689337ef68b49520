//! Smallest RTT, and the smallest since the last ProbeRTT (§5.3.4.3).

use crate::ack::Ack;

/// Smallest RTTs, s.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    least: f64,
    at: f64,
    delay: f64,
    delay_at: f64,
    expired: bool,
}

impl MinRtt {
    /// State at the start of a connection whose handshake took `rtt`, if that was measured.
    pub(super) fn new(now: f64, rtt: Option<f64>) -> Self {
        let least = rtt.unwrap_or(f64::INFINITY);
        Self { least, at: now, delay: f64::INFINITY, delay_at: now, expired: false }
    }

    /// Takes the sample of an ACK; the minimum is valid for `window` s, and measured anew after `interval` s.
    pub(super) fn update(&mut self, ack: &Ack, interval: f64, window: f64) {
        self.expired = ack.now > self.delay_at + interval;
        if let Some(rtt) = ack.rtt {
            if rtt < self.delay || self.expired {
                (self.delay, self.delay_at) = (rtt, ack.now);
            }
        }
        if self.delay < self.least || ack.now > self.at + window {
            (self.least, self.at) = (self.delay, self.delay_at);
        }
    }

    /// Smallest RTT; infinite while it is unknown.
    pub(super) fn get(&self) -> f64 {
        self.least
    }

    /// True if ProbeRTT is due.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Notes the end of ProbeRTT.
    pub(super) fn note_probe(&mut self, now: f64) {
        self.delay_at = now;
    }
}
