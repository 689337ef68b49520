//! Arithmetic of Linux's CUBIC (tcp_cubic.c): whole segments, time in units of 1/1024 s, and a divisor that is computed once
//! a millisecond. Linux 2.6.22 caps the growth above the origin, and divides by an estimate of the segments per ACK.

use super::parameters::{CapRegion, CubicParams, Epoch, RenoEstimate};
use super::root;
use crate::ack::Ack;
use crate::jiffies::Jiffies;
use crate::loss_window::{AckRatio, Arithmetic, LossWindow};

/// Time after which Linux computes its divisor again if the window has not changed, s (`HZ / 32`).
const LINUX_PERIOD_S: f64 = 1.0 / 32.0;
/// Time after an epoch's start during which Linux ignores RTT samples for the smallest RTT, s (`HZ`).
const LINUX_EARLY_S: f64 = 1.0;
/// Time units per second of Linux's cubic function.
const BICTCP_HZ: f64 = 1024.0;
/// Linux's divisor before the first loss: the largest value in Linux 5.x, and the only value in 2.6.22.
const UNKNOWN_CNT: f64 = 20.0;
const UNKNOWN_CNT_26: f64 = 50.0;

/// State that only Linux's form keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    pub(super) cnt: f64,
    pub(super) at_window: f64,
    pub(super) at_time: f64,
    /// Segments (in Linux 2.6 ACKs) counted towards the next segment of `w_est`.
    acked: f64,
    /// Smallest RTT, s; 0 while unknown.
    pub(super) delay_min: f64,
    pub(super) beta_scale: f64,
    ratio: AckRatio,
    jiffies: Jiffies,
    /// True if the sample of the next ACK is already taken.
    is_sampled: bool,
}

fn is_26(win: &LossWindow) -> bool {
    win.arithmetic == Arithmetic::Linux26
}

impl Module {
    /// State before the connection; a loss keeps `beta` of the window.
    pub(super) fn new(beta: f64) -> Self {
        let beta = (beta * 1024.0).round();
        Self {
            cnt: 1.0,
            at_window: 0.0,
            at_time: f64::NEG_INFINITY,
            acked: 0.0,
            delay_min: 0.0,
            beta_scale: ((8.0 * (1024.0 + beta) / 3.0).floor() / (1024.0 - beta)).floor(),
            ratio: AckRatio::START,
            jiffies: Jiffies::default(),
            is_sampled: false,
        }
    }

    /// Begins the connection on a host with `hz` timer interrupts a second.
    pub(super) fn start(&mut self, hz: f64) {
        self.jiffies = Jiffies::new(hz);
    }

    /// Forgets the whole state after a timeout.
    pub(super) fn forget(&mut self) {
        let (cnt, at_window, at_time) = (1.0, 0.0, f64::NEG_INFINITY);
        *self = Self { cnt, at_window, at_time, acked: 0.0, delay_min: 0.0, ratio: AckRatio::START, ..*self };
    }

    /// Takes the samples of an ACK, unless its sample is already taken.
    #[inline]
    pub(super) fn measure(&mut self, ack: &Ack, epoch: &Epoch, (p, win): (&CubicParams, &mut LossWindow)) {
        if !std::mem::take(&mut self.is_sampled) {
            self.take_delay(ack, epoch, (p, win));
        }
        if !ack.in_recovery {
            self.ratio.update(ack.acked);
        }
    }

    /// Takes the sample of an ACK that begins a recovery.
    pub(super) fn sample(&mut self, ack: &Ack, epoch: &Epoch, (p, win): (&CubicParams, &mut LossWindow)) {
        self.take_delay(ack, epoch, (p, win));
        self.is_sampled = true;
    }

    /// Updates the smallest RTT. Linux ignores samples in the first second of an epoch.
    #[inline]
    fn take_delay(&mut self, ack: &Ack, epoch: &Epoch, (p, win): (&CubicParams, &mut LossWindow)) {
        let since = self.jiffies.between(epoch.start, ack.now);
        let early = epoch.begun && since < self.jiffies.quotient(LINUX_EARLY_S);
        let Some(rtt) = ack.rtt else { return };
        if early || (is_26(win) && !p.timestamps) {
            return;
        }
        if self.delay_min == 0.0 || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if let Some(sample) = ack.sample.as_ref().filter(|_| !is_26(win)) {
            win.sample_hystart(ack, sample, self.delay_min);
        }
    }

    /// Divisor from the cubic function: number of acknowledged segments for one segment of window.
    pub(super) fn cubic_cnt(&self, now: f64, e: &Epoch, (p, win): (&CubicParams, &LossWindow)) -> f64 {
        let w = win.w;
        let hz = self.jiffies.hz();
        // Linux 2.6 takes the delay from TCP timestamps, which count jiffies.
        let delay_jiffies =
            if is_26(win) { (self.delay_min * hz).floor() } else { self.jiffies.from_measured(self.delay_min) };
        let t = ((self.jiffies.between(e.start, now) + delay_jiffies) * BICTCP_HZ / hz).floor();
        let k = (e.k * BICTCP_HZ).floor();
        let offs = (t - k).abs() / BICTCP_HZ;
        let delta = (p.c * offs * offs * offs).floor();
        let target = if t < k { e.origin - delta } else { e.origin + delta };
        let mut cnt = if target > w { (w / (target - w)).floor() } else { 100.0 * w };
        if is_26(win) && p.s_max > 0.0 && self.delay_min > 0.0 {
            // Linux 2.6 keeps the delay in eighths of a jiffy; the delay is at least one eighth.
            let delay = delay_jiffies.max(0.125) / hz;
            if t >= k || p.s_max_region == CapRegion::Always {
                cnt = cnt.max((w / (p.s_max * delay)).floor());
            }
        }
        cnt
    }

    /// Applies Linux's rules to one ACK in congestion avoidance.
    pub(super) fn grow(&mut self, now: f64, n: f64, epoch: &mut Epoch, (p, win): (&CubicParams, &mut LossWindow)) {
        self.acked += n;
        let w = win.w;
        let elapsed = self.jiffies.between(self.at_time, now);
        if self.at_window != w || elapsed > self.jiffies.quotient(LINUX_PERIOD_S) {
            if !(epoch.begun && elapsed == 0.0) || is_26(win) {
                if !epoch.begun {
                    self.begin_epoch(now, n, epoch, (p, win));
                }
                self.at_window = w;
                self.at_time = now;
                self.cnt = self.cubic_cnt(now, epoch, (p, win));
                if epoch.w_max == 0.0 {
                    self.cnt = if is_26(win) { UNKNOWN_CNT_26 } else { self.cnt.min(UNKNOWN_CNT) };
                }
            }
            self.limit(epoch, (p, win));
        }
        win.grow_one_in(n, self.cnt);
    }

    fn begin_epoch(&mut self, now: f64, n: f64, epoch: &mut Epoch, (p, win): (&CubicParams, &LossWindow)) {
        let unknown = epoch.w_max;
        epoch.begin(now, win.w, p.c);
        // Linux does not use the window at an epoch's start as a maximum.
        epoch.w_max = unknown;
        self.acked = n;
        if !is_26(win) {
            epoch.k = root::time_to(epoch.origin - win.w, (p.c * 1024.0).round()) / BICTCP_HZ;
        }
    }

    /// Updates the estimate of Reno's window, and applies the last limits on the divisor.
    fn limit(&mut self, epoch: &mut Epoch, (p, win): (&CubicParams, &LossWindow)) {
        let w = win.w;
        if p.reno_estimate != RenoEstimate::Off {
            let per_segment = (w * self.beta_scale / 8.0).floor().max(1.0);
            // Linux adds segments while the count exceeds the divisor.
            let steps = ((self.acked / per_segment).ceil() - 1.0).max(0.0);
            self.acked -= steps * per_segment;
            epoch.w_est += steps;
            if epoch.w_est > w {
                self.cnt = self.cnt.min((w / (epoch.w_est - w)).floor());
            }
        }
        self.cnt = if is_26(win) { self.ratio.divide(self.cnt) } else { self.cnt.max(2.0) };
    }
}
