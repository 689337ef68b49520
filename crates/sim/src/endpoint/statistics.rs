//! Statistics of a sender: totals, samples, and the mean of its window over the measurement window.

use std::sync::Arc;

use elephan_cc::Observe;

use crate::packet::FlowId;
use crate::record::{Clock, Internals, Measured, SenderRecord, SenderSample, SenderTotals};
use crate::spec::{Measure, Spec};
use crate::time::Time;

/// Statistics of one sender, which may be an endpoint of another crate.
#[derive(Clone, Debug)]
pub struct SenderStatistics {
    /// Totals since the beginning.
    pub totals: SenderTotals,
    pub(super) measured: Measured,
    /// Time at which the last segment of a sized transfer was acknowledged.
    pub completed: Option<Time>,
    /// Congestion window, segments.
    pub(super) cwnd: f64,
    cwnd_since: Time,
    /// True inside the measurement window.
    pub(super) measuring: bool,
    measure: Measure,
    clock: Clock,
    samples: Vec<SenderSample>,
    internals: Option<Box<Internals>>,
}

impl SenderStatistics {
    /// Statistics of the flow number `flow`.
    #[must_use]
    pub fn new(flow: FlowId, spec: &Spec, sample_times: &Arc<[Time]>) -> Self {
        Self {
            totals: SenderTotals::default(),
            measured: Measured { rtt_min: f64::INFINITY, ..Measured::default() },
            completed: None,
            cwnd: 0.0,
            cwnd_since: Time::ZERO,
            measuring: false,
            measure: spec.measure,
            clock: Clock::new(sample_times),
            samples: Vec::new(),
            // Transfers of a source have no sample times.
            internals: (spec.internals && !sample_times.is_empty() && spec.records(flow.index())).then(Box::default),
        }
    }

    /// The next sample time.
    #[must_use]
    pub fn due(&self) -> Time {
        self.clock.due()
    }

    /// Recorded samples.
    pub(super) fn samples(&self) -> &[SenderSample] {
        &self.samples
    }

    /// Drops the `count` oldest samples.
    pub(super) fn forget(&mut self, count: usize) {
        self.samples.drain(..count);
    }

    /// Takes the samples due by `now`; `sample` returns the sender's state.
    pub fn sample_until(&mut self, now: Time, mut sample: impl FnMut(&mut Self) -> SenderSample) {
        while self.clock.due() <= now {
            let at = self.clock.due();
            self.clock.advance();
            self.settle_window(at);
            if at.0 == self.measure.from_ps {
                self.measuring = true;
                (self.measured.sends, self.measured.receiver_limited) = (0, 0);
                self.measured.cwnd_max = self.cwnd;
            }
            if at.0 == self.measure.to_ps {
                self.measuring = false;
            }
            let row = sample(self);
            self.samples.push(row);
        }
    }

    /// Adds the internal variables of `algorithm` to the current sample, if the scenario asks for them.
    pub(super) fn sample_internals(&mut self, algorithm: &dyn Observe) {
        if let Some(internals) = &mut self.internals {
            internals.sample(self.samples.len(), algorithm);
        }
    }

    /// Extends ∫ cwnd dt to `at`.
    #[inline]
    fn settle_window(&mut self, at: Time) {
        if self.measuring {
            self.measured.cwnd_integral += self.cwnd * (at - self.cwnd_since).seconds();
        }
        self.cwnd_since = at;
    }

    /// Records that the window is `window` segments from `now` on.
    #[inline]
    pub fn note_window(&mut self, now: Time, window: f64) {
        if window != self.cwnd {
            self.settle_window(now);
            self.cwnd = window;
            if self.measuring {
                self.measured.cwnd_max = self.measured.cwnd_max.max(window);
            }
        }
    }

    /// Records an RTT sample.
    #[inline]
    pub fn note_rtt(&mut self, rtt: Time, seconds: f64) {
        if self.measuring {
            self.measured.rtt_sum += seconds;
            self.measured.rtt_count += 1;
            self.measured.rtt_min = self.measured.rtt_min.min(seconds);
            self.measured.rtt.add(rtt);
        }
    }

    /// Records an RTT sample again, this number of times.
    #[cold]
    pub fn repeat_rtt(&mut self, rtt: Option<Time>, times: u32) {
        if let Some(rtt) = rtt.filter(|_| self.measuring) {
            self.measured.rtt_sum += rtt.seconds() * f64::from(times);
            self.measured.rtt_count += u64::from(times);
            self.measured.rtt_min = self.measured.rtt_min.min(rtt.seconds());
            self.measured.rtt.add_times(rtt, times);
        }
    }

    /// Records that a send loop ended.
    #[inline]
    pub fn note_send(&mut self) {
        self.measured.sends += 1;
    }

    /// Records that the receive window ended the last send loop.
    #[inline]
    pub fn note_receiver_limited(&mut self) {
        self.measured.receiver_limited += 1;
    }

    /// Returns the records that the run keeps of a sender that started at `start`.
    #[must_use]
    pub fn into_record(self, start: Time) -> SenderRecord {
        let Self { totals, measured, samples, completed, internals, .. } = self;
        SenderRecord { start, totals, measured, samples, rates: None, completed, internals, writes: Vec::new() }
    }
}
