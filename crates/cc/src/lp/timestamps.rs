//! One-way delays by the computation of Linux's TCP-LP: from the timestamps of an ACK, in whole ticks, and in machine
//! words that may overflow.

use crate::ack::Ack;
use crate::draws::Draws;

/// Units of the receiver's clock and of the delays, per second (`LP_RESOL`).
const RESOLUTION: u64 = 1000;
/// Uptime of the hosts at the start of the simulation, ms: that of a guest of `--on linux`.
const UPTIME_MS: u64 = 32_000;
/// `owd_min` before the first sample.
const NO_MINIMUM: u64 = 0xffff_ffff;
/// Shift of the smoothed delay, in which a new sample has the weight 1/8, and shift of the estimate of the receiver's
/// clock rate.
const DELAY_SHIFT: u32 = 3;
const RATE_SHIFT: u32 = 6;

/// Source of the timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Milliseconds from a random offset for each connection, in 32-bit words (Linux since 4.13).
    Random,
    /// Jiffies, in 32-bit words (Linux before 4.10).
    Jiffies,
    /// Jiffies rounded to the nearest integer, in 64-bit words (ns-2's TCP/Linux).
    Ns2,
}

/// The delays of one connection, and the congestion that they indicate.
#[derive(Clone, Debug)]
pub struct Timestamps {
    clock: Clock,
    percent: u64,
    round_trips: u64,
    /// Ticks a second of the timestamps.
    hz: u64,
    /// Mask of a word.
    word: u64,
    /// Offset of the local clock from the simulation's clock, and offset of the receiver's timestamps from the local
    /// clock, ticks. The local host subtracts the offset of its own timestamps from each echo.
    local_offset: u64,
    remote_offset: u64,
    /// The timestamps of the last ACK, ticks; 0 counts as no timestamp.
    remote: u64,
    local: u64,
    /// Estimated rate of the receiver's clock, ticks/s; 0 while unknown.
    remote_hz: u64,
    /// Smoothed delay in eighths; 0 while unknown.
    smoothed: u64,
    least: u64,
    most: u64,
    /// Largest sample; it becomes the largest delay only if a still larger sample arrives.
    reserve: u64,
    /// Inference time, ticks.
    inference: u64,
    now: u64,
    /// Local timestamp of the last reaction, ticks; 0 before the first reaction.
    reacted_at: u64,
    within_inference: bool,
}

/// Absolute value of a 64-bit result, as in Linux; a difference of 32-bit words is unsigned.
fn magnitude(x: u64) -> u64 {
    (x as i64).unsigned_abs()
}

impl Timestamps {
    /// A measurement without samples. Congestion begins at `percent` of the range of the delays. The inference time
    /// after a reaction lasts `round_trips` round trips. `hz` and `seed` are fields of [`Start`](crate::Start).
    pub fn new(clock: Clock, (percent, round_trips): (u64, u64), hz: f64, seed: u64) -> Self {
        let (local_offset, remote_offset) = match clock {
            Clock::Random => (UPTIME_MS, u64::from(Draws::new(seed).word())),
            Clock::Jiffies | Clock::Ns2 => (0, 0),
        };
        Self {
            clock,
            percent,
            round_trips,
            hz: if clock == Clock::Random { RESOLUTION } else { (hz as u64).max(1) },
            word: if clock == Clock::Ns2 { u64::MAX } else { u64::from(u32::MAX) },
            local_offset,
            remote_offset,
            remote: 0,
            local: 0,
            remote_hz: 0,
            smoothed: 0,
            least: NO_MINIMUM,
            most: 0,
            reserve: 0,
            inference: 0,
            now: 0,
            reacted_at: 0,
            within_inference: false,
        }
    }

    /// Timestamp of an instant of the simulation, without the clock's offset.
    fn ticks(&self, seconds: f64) -> u64 {
        let ticks = seconds * self.hz as f64;
        // If the receiver's clock is behind, its time may be negative.
        let whole = if self.clock == Clock::Ns2 { ticks.round() } else { ticks.floor() } as i64;
        whole as u64 & self.word
    }

    /// Takes the two timestamps of an ACK. Without Linux's sample, these are the time at which its segment was sent, and
    /// the time `delay` s later by the receiver's clock.
    pub fn sample(&mut self, ack: &Ack, delay: f64) {
        let (echoed, own) = ack.sample.map_or((ack.sent_at(), ack.sent_at() + delay), |sample| sample.timestamps);
        let local = self.ticks(echoed).wrapping_add(self.local_offset) & self.word;
        let remote = self.ticks(own).wrapping_add(self.local_offset).wrapping_add(self.remote_offset) & self.word;
        let now = (((ack.now * self.hz as f64).floor() as u64) & self.word).wrapping_add(self.local_offset) & self.word;
        self.estimate_rate(remote, local);
        (self.remote, self.local) = (remote, local);
        if self.remote_hz > 0 {
            self.take_delay(remote, local);
        }
        let elapsed = now.wrapping_sub(local) & self.word;
        if elapsed > 0 && elapsed <= self.word >> 1 {
            self.inference = self.round_trips * elapsed;
        }
        self.within_inference =
            self.reacted_at != 0 && (now.wrapping_sub(self.reacted_at) & self.word) < self.inference;
        self.now = now;
    }

    /// Updates the estimate of the receiver's clock rate. Each sample has the weight 1/64; the fractional part of the
    /// result is dropped.
    fn estimate_rate(&mut self, remote: u64, local: u64) {
        let unknown = self.remote == 0 || self.local == 0;
        if unknown || remote == self.remote || local == self.local {
            return;
        }
        let passed = remote.wrapping_sub(self.remote) & self.word;
        let rate = (self.hz.wrapping_mul(passed) & self.word) / (local.wrapping_sub(self.local) & self.word);
        let rate = magnitude(rate);
        let scaled = (self.remote_hz << RATE_SHIFT) & self.word;
        let scaled =
            if scaled > 0 { scaled.wrapping_add(rate).wrapping_sub(scaled >> RATE_SHIFT) } else { rate << RATE_SHIFT };
        self.remote_hz = (scaled >> RATE_SHIFT) & self.word;
    }

    fn take_delay(&mut self, remote: u64, local: u64) {
        let remote = remote.wrapping_mul(RESOLUTION / self.remote_hz);
        let local = local.wrapping_mul(RESOLUTION / self.hz);
        let delay = magnitude(remote.wrapping_sub(local) & self.word);
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.most {
            if delay > self.reserve {
                self.most = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.most = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay << DELAY_SHIFT
        } else {
            self.smoothed.wrapping_add(delay).wrapping_sub(self.smoothed >> DELAY_SHIFT)
        } & self.word;
    }

    /// Returns true unless the smoothed delay is below the threshold. If the result is true, the delays are reset.
    pub fn is_early(&mut self) -> bool {
        let smoothed = self.smoothed >> DELAY_SHIFT;
        let range = self.most.wrapping_sub(self.least) & self.word;
        let above = (range.wrapping_mul(self.percent) & self.word) / 100;
        if smoothed < self.least.wrapping_add(above) & self.word {
            return false;
        }
        self.least = smoothed;
        self.most = self.smoothed >> (DELAY_SHIFT - 1);
        self.reserve = self.most;
        self.reacted_at = self.now;
        true
    }

    /// Smallest, largest and smoothed delay, in whole milliseconds.
    #[cfg(test)]
    pub fn kept(&self) -> (u64, u64, u64) {
        (self.least, self.most, self.smoothed >> DELAY_SHIFT)
    }

    /// True if the last ACK arrived within the inference time after the last reaction.
    pub fn within_inference(&self) -> bool {
        self.within_inference
    }
}
