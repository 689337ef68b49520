//! A monitor interval: the packets sent at one rate, and their outcomes.

/// Sums for a regression line through RTT samples over their segments' send times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    samples: f64,
    time: f64,
    rtt: f64,
    time_squared: f64,
    rtt_squared: f64,
    product: f64,
}

/// Slope and fit of a regression line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slope {
    /// Change of the RTT with time, s/s.
    pub gradient: f64,
    /// Root mean square distance of the samples from the line, in units of their mean.
    pub error: f64,
}

impl Line {
    /// Takes a sample, time and RTT in s.
    #[inline]
    pub fn add(&mut self, time: f64, rtt: f64) {
        self.samples += 1.0;
        self.time += time;
        self.rtt += rtt;
        self.time_squared += time * time;
        self.rtt_squared += rtt * rtt;
        self.product += time * rtt;
    }

    /// Slope of the line; `None` with fewer than two samples, or if all samples have the same time.
    #[must_use]
    pub fn slope(&self) -> Option<Slope> {
        if self.samples < 2.0 {
            return None;
        }
        let n = self.samples;
        let (time, rtt) = (self.time / n, self.rtt / n);
        let spread = self.time_squared / n - time * time;
        if spread <= 0.0 || rtt <= 0.0 {
            return None;
        }
        let together = self.product / n - time * rtt;
        let gradient = together / spread;
        let residual = (self.rtt_squared / n - rtt * rtt - gradient * together).max(0.0);
        Some(Slope { gradient, error: libm::sqrt(residual) / rtt })
    }
}

/// One monitor interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Intended rate, Mbit/s.
    pub rate: f64,
    /// True if the interval's outcome is used.
    pub useful: bool,
    /// True if no further segment is added.
    pub closed: bool,
    /// True if the application limited the flow.
    pub limited: bool,
    /// Time at which the interval's first segment left, s.
    pub began: f64,
    /// Time at which the interval's last segment left, s.
    pub last_sent: f64,
    /// Segments sent.
    pub sent: f64,
    /// Segments acknowledged.
    pub acked: f64,
    /// Segments lost.
    pub lost: f64,
    /// RTT over send time from `began`.
    pub line: Line,
}

impl Interval {
    /// A new interval, whose first segment leaves now.
    #[must_use]
    pub fn new(now: f64, rate: f64, useful: bool) -> Self {
        Self {
            rate,
            useful,
            closed: false,
            limited: false,
            began: now,
            last_sent: now,
            sent: 0.0,
            acked: 0.0,
            lost: 0.0,
            line: Line::default(),
        }
    }

    /// Segments that may still be acknowledged or lost.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> f64 {
        self.sent - self.acked - self.lost
    }

    /// Actual rate, Mbit/s, over the interval's duration, which includes the transmission time of the last segment.
    #[must_use]
    pub fn actual_rate(&self, segment_mbit: f64) -> f64 {
        self.sent * segment_mbit / (self.last_sent - self.began + segment_mbit / self.rate)
    }

    /// Duration of the interval, including the transmission time of the last segment, s.
    #[must_use]
    pub fn duration(&self, segment_mbit: f64) -> f64 {
        self.last_sent - self.began + segment_mbit / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn a_line_through_samples_has_their_slope_and_their_distance() {
        let mut line = Line::default();
        assert_eq!(line.slope(), None);
        for i in 0..10 {
            line.add(f64::from(i) * 0.01, 0.1 + f64::from(i) * 0.0002);
        }
        let slope = line.slope().expect("ten samples");
        close(slope.gradient, 0.02, 1e-9);
        assert!(slope.error < 1e-6);
        let mut noise = Line::default();
        for i in 0..10 {
            noise.add(f64::from(i), if i % 2 == 0 { 0.09 } else { 0.11 });
        }
        close(noise.slope().expect("ten samples").error, 0.1, 0.03);
    }

    #[test]
    fn the_rate_includes_the_last_segments_time() {
        let mut interval = Interval::new(1.0, 12.0, true);
        (interval.sent, interval.last_sent) = (10.0, 1.009);
        close(interval.actual_rate(0.012), 12.0, 1e-9);
    }
}
