//! An application that passes segments to the sender over time.
//!
//! The application has a clock that runs only in on periods. By this clock, segments arrive at equal intervals, as a
//! Poisson process, or in frames of random size. An off period can interrupt an interval; the rest of the interval
//! passes in the next on period. The mean rate is therefore the stated rate times the fraction of on time, even with
//! very short bursts. An application with writes hands over the segments of each write at the write's time.

use crate::draw::{exponential, weibull};
use crate::random::Stream;
use crate::record::Written;
use crate::spec::{ApplicationSpec, DurationSpec, FlowSpec, FramesSpec, MOST_SEGMENTS, Spec, WriteSpec};
use crate::time::Time;

/// Largest burst of segments for which memory is not checked; a larger burst must fit into the run's memory before its
/// first segment leaves.
pub const SMALL_BURST: u32 = 4096;

/// Largest number of bursts computed at once between two segments; a billion bursts would take seconds.
const MOST_BURSTS: u32 = 10_000;

/// On and off periods.
#[derive(Clone, Debug)]
struct Bursts {
    on: DurationSpec,
    off: DurationSpec,
    /// Beginning and end of the current or next on period.
    from: Time,
    to: Time,
    /// The application's clock at the start of this on period.
    clock: Time,
    draws: Stream,
}

/// Process that determines the times of the segments, with its state.
#[derive(Clone, Debug)]
enum Pace {
    Even,
    Poisson {
        draws: Stream,
        at: Time,
    },
    Frames {
        draws: Stream,
        interval_ps: u64,
        shape: f64,
        /// Number of the current frame, from 1, and the number of its remaining segments.
        frame: u64,
        ready: u64,
        /// Remaining bits that do not fill a segment; they are added to the next frame.
        rest: f64,
        /// Rates from given times on, bit/s.
        steps: Vec<(Time, u64)>,
    },
    Writes {
        /// Segments of each write, and the position of the next write.
        segments: Vec<u64>,
        next: usize,
    },
}

/// An application's remaining data, and the times at which it hands the data over.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bits of a segment × 10¹², and the rate in bit/s: their ratio is the interval between segments in ps.
    bits_ps: u128,
    rate_bps: u128,
    pace: Pace,
    bursts: Option<Bursts>,
    start: Time,
    stop: Time,
    /// Segments handed over so far, and in total.
    handed: u64,
    total: u64,
    due: Time,
    /// True if the computation was interrupted after many on and off periods. The computation continues at the next due
    /// time, at which no segment is handed over.
    pausing: bool,
    /// Time since which all segments handed over are acknowledged.
    pub idle_since: Time,
    writes: Writes,
}

/// Writes of an application, in the order of their times.
#[derive(Clone, Debug, Default)]
struct Writes {
    rows: Vec<Written>,
    /// Number of segments of all writes up to and including each one.
    ends: Vec<u64>,
    acknowledged: usize,
}

impl Application {
    /// The application of the flow `name` in the run `seed`, with `total` segments of `bits` each between `start` and
    /// `stop`.
    #[must_use]
    pub fn new(
        spec: &ApplicationSpec,
        seed: u64,
        name: &str,
        bits: u64,
        (start, stop): (Time, Time),
        total: u64,
    ) -> Self {
        let stream = |what| Stream::new(seed, &format!("flow {name} {what}"));
        let bursts = spec.bursts.map(|(on, off)| {
            let mut draws = stream("bursts");
            let to = start + on.draw(&mut draws);
            Bursts { on, off, from: start, to, clock: Time::ZERO, draws }
        });
        let payload_bytes = (bits / 8) as u32;
        let mut ends: Vec<u64> = spec.writes.iter().map(|write| write.segments(payload_bytes)).collect();
        let segments = ends.clone();
        let mut sum = 0;
        ends.iter_mut().for_each(|end| {
            sum += *end;
            *end = sum;
        });
        let row = |write: &WriteSpec| Written { at: start.max(Time(write.at_ps)), bytes: write.bytes, completed: None };
        let writes = Writes { rows: spec.writes.iter().map(row).collect(), ends, acknowledged: 0 };
        let mut this = Self {
            bits_ps: u128::from(bits) * u128::from(Time::SECOND.0),
            rate_bps: u128::from(spec.rate_bps),
            pace: match spec.frames {
                Some(FramesSpec { interval_ps, shape }) => {
                    let steps = spec.rate_steps.iter().map(|step| (Time(step.at_ps), step.rate_bps)).collect();
                    Pace::Frames { draws: stream("frames"), interval_ps, shape, frame: 0, ready: 0, rest: 0.0, steps }
                }
                None if !segments.is_empty() => Pace::Writes { segments, next: 0 },
                None if spec.poisson => Pace::Poisson { draws: stream("arrivals"), at: Time::ZERO },
                None => Pace::Even,
            },
            bursts,
            start,
            stop,
            handed: 0,
            total,
            due: Time::NEVER,
            pausing: false,
            idle_since: start,
            writes,
        };
        this.draw_next(0);
        this.schedule();
        this
    }

    /// The application of a flow that starts at `start`, if the flow has an application.
    #[must_use]
    pub fn of_flow(spec: &Spec, flow: &FlowSpec, start: Time) -> Option<Box<Self>> {
        let application = flow.application.as_ref()?;
        let stack = &flow.stack;
        let bytes = stack.payload_bytes + if flow.datagrams { stack.header_bytes } else { 0 };
        let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
        let written = (!application.writes.is_empty()).then(|| application.written_segments(stack.payload_bytes));
        let total = flow.size_segments.or(written).unwrap_or(u64::from(MOST_SEGMENTS));
        let bits = u64::from(bytes) * 8;
        Some(Box::new(Self::new(application, spec.seed, &flow.name, bits, (start, stop), total)))
    }

    /// Time at which the application hands over the next segment; [`Time::NEVER`] after the last one.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// True after the last segment.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.due == Time::NEVER
    }

    /// True if the application has a fixed number of segments and has handed over all of them.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.handed == self.total
    }

    /// Takes the segments due by `now`, and returns their number; 0 if `now` was only a time to continue the
    /// computation.
    pub fn take(&mut self, now: Time) -> u32 {
        let before = self.handed;
        while self.due <= now {
            if !self.pausing {
                // All segments of a frame are handed over at once; a frame may have a billion segments.
                let together = match &self.pace {
                    Pace::Frames { ready, .. } => (*ready).min(self.total - self.handed).max(1),
                    Pace::Writes { segments, next } => segments[*next],
                    Pace::Even | Pace::Poisson { .. } => 1,
                };
                self.handed += together;
                self.draw_next(together);
            }
            self.schedule();
        }
        (self.handed - before) as u32
    }

    /// Records that all segments before `una` are acknowledged at `now`.
    #[inline(never)]
    pub fn note_acknowledged(&mut self, una: u32, now: Time) {
        let Writes { rows, ends, acknowledged } = &mut self.writes;
        while ends.get(*acknowledged).is_some_and(|&end| end <= u64::from(una)) {
            rows[*acknowledged].completed = Some(now);
            *acknowledged += 1;
        }
    }

    /// The writes, with the times at which they were acknowledged.
    #[must_use]
    pub fn into_writes(self) -> Vec<Written> {
        self.writes.rows
    }

    /// Draws the next interval or frame after `gone` segments.
    fn draw_next(&mut self, gone: u64) {
        match &mut self.pace {
            Pace::Even => {}
            Pace::Writes { next, .. } => *next += usize::from(gone > 0),
            Pace::Poisson { draws, at } => {
                let mean_ps = self.bits_ps as f64 / self.rate_bps as f64;
                *at = Time(at.0.saturating_add((exponential(draws) * mean_ps) as u64));
            }
            Pace::Frames { draws, interval_ps, shape, frame, ready, rest, steps } => {
                let bits = (self.bits_ps / u128::from(Time::SECOND.0)) as f64;
                *ready = ready.saturating_sub(gone);
                while *ready == 0 {
                    let at = Time(self.start.0.saturating_add(frame.saturating_mul(*interval_ps)));
                    let step = steps.iter().rev().find(|step| step.0 <= at);
                    let rate_bps = step.map_or(self.rate_bps, |step| u128::from(step.1));
                    *frame += 1;
                    if rate_bps == 0 {
                        continue;
                    }
                    *rest += weibull(draws, rate_bps as f64 * (*interval_ps as f64 * 1e-12), *shape);
                    *ready = (*rest / bits) as u64;
                    *rest -= *ready as f64 * bits;
                }
            }
        }
    }

    /// Computes the time of the next segment.
    fn schedule(&mut self) {
        let ps = match &self.pace {
            Pace::Poisson { at, .. } => u128::from(at.0),
            Pace::Frames { interval_ps, frame, .. } => u128::from(frame - 1) * u128::from(*interval_ps),
            Pace::Writes { next, .. } => {
                self.writes.rows.get(*next).map_or(0, |write| u128::from(write.at.since(self.start).0))
            }
            Pace::Even => u128::from(self.handed) * self.bits_ps / self.rate_bps,
        };
        let clock = Time(ps.min(u128::from(u64::MAX >> 1)) as u64);
        let mut at = Time(self.start.0.saturating_add(clock.0));
        self.pausing = false;
        if let Some(bursts) = &mut self.bursts {
            let mut left = MOST_BURSTS;
            while bursts.from < self.stop && clock - bursts.clock >= bursts.to - bursts.from {
                if left == 0 {
                    self.pausing = true;
                    self.due = if bursts.to >= self.stop { Time::NEVER } else { bursts.to };
                    return;
                }
                left -= 1;
                bursts.clock += bursts.to - bursts.from;
                bursts.from = bursts.to + bursts.off.draw(&mut bursts.draws);
                bursts.to = bursts.from + bursts.on.draw(&mut bursts.draws);
            }
            at = bursts.from + (clock - bursts.clock);
        }
        self.due = if self.handed >= self.total || at >= self.stop { Time::NEVER } else { at };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::RateStep;

    const SECOND: u64 = Time::SECOND.0;

    fn times(spec: &ApplicationSpec, bits: u64, until_s: u64, total: u64) -> Vec<Time> {
        let mut application = Application::new(spec, 1, "f", bits, (Time(SECOND), Time(until_s * SECOND)), total);
        let mut times = Vec::new();
        while !application.is_over() {
            let due = application.due();
            times.extend((0..application.take(due)).map(|_| due));
        }
        times
    }

    #[test]
    fn a_constant_rate_is_exact_and_begins_at_the_start() {
        let spec = ApplicationSpec {
            rate_bps: 3_000,
            poisson: false,
            frames: None,
            bursts: None,
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let times = times(&spec, 1_000, 3, u64::MAX);
        assert_eq!(times.len(), 6);
        assert_eq!(times[..4], [SECOND, SECOND + SECOND / 3, SECOND + 2 * SECOND / 3, 2 * SECOND].map(Time));
    }

    #[test]
    fn an_application_stops_at_its_total() {
        let spec = ApplicationSpec {
            rate_bps: 1_000,
            poisson: false,
            frames: None,
            bursts: None,
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        assert_eq!(times(&spec, 1_000, 100, 5).len(), 5);
    }

    #[test]
    fn short_bursts_keep_the_mean_rate() {
        // Each period, on or off, lasts 3/4 of the interval between segments. The mean rate is half of the stated rate,
        // and not one segment per on period.
        let half = DurationSpec::Constant { mean_ps: 3 * SECOND / 4 };
        let spec = ApplicationSpec {
            rate_bps: 1_000,
            poisson: false,
            frames: None,
            bursts: Some((half, half)),
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let times = times(&spec, 1_000, 3001, u64::MAX);
        assert_eq!(times.len(), 1500);
        assert_eq!(times[..3], [SECOND, SECOND + 7 * SECOND / 4, SECOND + 7 * SECOND / 2].map(Time));
    }

    #[test]
    fn bursts_much_shorter_than_a_segment_keep_the_mean_rate_and_let_others_in() {
        let micro = DurationSpec::Constant { mean_ps: Time::MILLISECOND.0 / 1000 };
        let spec = ApplicationSpec {
            rate_bps: 1_000,
            poisson: false,
            frames: None,
            bursts: Some((micro, micro)),
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let mut application = Application::new(&spec, 1, "f", 1_000, (Time(0), Time(10 * SECOND)), u64::MAX);
        let (mut segments, mut looks) = (0, 0);
        while !application.is_over() {
            segments += application.take(application.due());
            looks += 1;
        }
        // There is one segment in 2 s, and 10^6 bursts precede each segment.
        assert_eq!(segments, 5);
        assert!(looks > 400, "{looks}");
    }

    #[test]
    fn exponential_bursts_give_their_share_of_the_rate() {
        let mean = |ms: u64| DurationSpec::Exponential { mean_ps: ms * Time::MILLISECOND.0 };
        let spec = ApplicationSpec {
            rate_bps: 1_000_000,
            poisson: false,
            frames: None,
            bursts: Some((mean(300), mean(700))),
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let n = times(&spec, 1_000, 20_001, u64::MAX).len() as f64;
        // 20,000 cycles: the on-time's standard deviation is √(20,000 × 2) × 0.3 × 0.7 s = 42 s.
        assert!((n / 1e3 / 20_000.0 - 0.3).abs() < 5.0 * 42.0 / 20_000.0, "{n}");
    }

    #[test]
    fn frames_come_at_equal_distances_with_weibull_sizes_and_the_stated_mean() {
        let frames = FramesSpec { interval_ps: SECOND / 25, shape: 0.8099 };
        let spec = ApplicationSpec {
            rate_bps: 2_500_000,
            poisson: false,
            frames: Some(frames),
            bursts: None,
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        // Segments of 100 bits in frames of 100,000 bits on average, so that rounding is negligible.
        let times = times(&spec, 100, 4001, u64::MAX);
        let mut sizes = vec![0_u32; 100_000];
        for time in &times {
            let since = (*time - Time(SECOND)).0;
            assert_eq!(since % frames.interval_ps, 0);
            sizes[(since / frames.interval_ps) as usize] += 1;
        }
        sizes.sort_unstable();
        let scale = 1000.0 / libm::tgamma(1.0 + 1.0 / frames.shape);
        let cdf = |x: f64| 1.0 - libm::exp(-libm::pow(x / scale, frames.shape));
        let n = sizes.len() as f64;
        let worst =
            sizes.iter().enumerate().map(|(i, &x)| (cdf(f64::from(x)) - i as f64 / n).abs()).fold(0.0, f64::max);
        // Rounding to whole segments adds a step of at most 1 / 1000 of the mean.
        assert!(worst < 2.225 / n.sqrt() + 0.002, "{worst}");
        // The standard deviation is 1.24 times the mean.
        let mean = times.len() as f64 / n;
        assert!((mean / 1000.0 - 1.0).abs() < 5.0 * 1.24 / n.sqrt(), "{mean}");
    }

    #[test]
    fn an_encoder_changes_its_rate_and_pauses_at_given_times() {
        let frames = FramesSpec { interval_ps: SECOND / 50, shape: 100.0 };
        let steps = [(101, 4_000_000), (201, 0), (301, 1_000_000)];
        let rate_steps = steps.map(|(at, rate_bps)| RateStep { at_ps: at * SECOND, rate_bps }).into();
        let spec = ApplicationSpec {
            rate_bps: 2_000_000,
            poisson: false,
            frames: Some(frames),
            bursts: None,
            rate_steps,
            writes: Vec::new(),
        };
        let times = times(&spec, 1_000, 401, u64::MAX);
        let within = |from: u64, to: u64| {
            times.iter().filter(|at| (from * SECOND..to * SECOND).contains(&at.0)).count() as f64
                / 1e3
                / (to - from) as f64
        };
        // Each rate applies to 5,000 frames, whose sizes have a standard deviation of 1.3 %.
        for (from, to, mbps) in [(1, 101, 2.0), (101, 201, 4.0), (301, 401, 1.0)] {
            assert!((within(from, to) / mbps - 1.0).abs() < 0.001, "{}", within(from, to));
        }
        assert_eq!(within(201, 301), 0.0);
    }

    #[test]
    fn a_frame_of_a_thousand_million_segments_is_handed_over_at_once_up_to_the_total() {
        let frames = FramesSpec { interval_ps: SECOND, shape: 1.0 };
        let spec = ApplicationSpec {
            rate_bps: 1_u64 << 40,
            poisson: false,
            frames: Some(frames),
            bursts: None,
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let mut application = Application::new(&spec, 1, "f", 8, (Time(0), Time(10 * SECOND)), 3_000_000_000);
        let first = application.take(Time(0));
        assert!(first > 100_000_000, "{first}");
        let rest: u32 = (1..10).map(|s| application.take(Time(s * SECOND))).sum();
        assert_eq!(first + rest, 3_000_000_000);
        assert!(application.is_over());
    }

    #[test]
    fn poisson_gaps_pass_kolmogorov_smirnov() {
        let spec = ApplicationSpec {
            rate_bps: 1_000_000,
            poisson: true,
            frames: None,
            bursts: None,
            rate_steps: Vec::new(),
            writes: Vec::new(),
        };
        let times = times(&spec, 1_000, 101, u64::MAX);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).seconds()).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let cdf = |x: f64| 1.0 - libm::exp(-x * 1000.0);
        let worst = gaps.iter().enumerate().map(|(i, x)| (cdf(*x) - i as f64 / n).abs()).fold(0.0, f64::max);
        assert!(worst < 2.225 / n.sqrt(), "{worst}");
        assert!((n - 100_000.0).abs() < 5.0 * 316.3, "{n}");
    }

    #[test]
    fn writes_are_handed_over_at_their_times_in_whole_segments_of_their_own() {
        let write = |at: u64, bytes| WriteSpec { at_ps: at * SECOND, bytes };
        // The flow starts at 1 s; segments have 100 B.
        let writes = vec![write(0, 250), write(1, 1), write(5, 100), write(5, 1000), write(9, 5)];
        let spec =
            ApplicationSpec { rate_bps: 0, poisson: false, frames: None, bursts: None, rate_steps: Vec::new(), writes };
        let total = spec.written_segments(100);
        let mut application = Application::new(&spec, 1, "f", 800, (Time(SECOND), Time(20 * SECOND)), total);
        let mut taken = Vec::new();
        while !application.is_over() {
            let due = application.due();
            taken.push((due.0 / SECOND, application.take(due)));
        }
        assert_eq!(taken, [(1, 4), (5, 11), (9, 1)]);
        assert!(application.is_complete());
        application.note_acknowledged(2, Time(2 * SECOND));
        application.note_acknowledged(5, Time(6 * SECOND));
        application.note_acknowledged(14, Time(7 * SECOND));
        let rows = application.into_writes();
        let completed: Vec<_> = rows.iter().map(|row| row.completed.map(|at| at.0 / SECOND)).collect();
        assert_eq!(completed, [Some(6), Some(6), Some(6), None, None]);
        assert_eq!(rows.iter().map(|row| row.at.0 / SECOND).collect::<Vec<_>>(), [1, 1, 5, 5, 9]);
    }
}
