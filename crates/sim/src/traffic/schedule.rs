//! Start times, sizes and round-trip times of transfers.

use crate::draw::{Sizes, exponential};
use crate::random::Stream;
use crate::spec::{ArrivalsSpec, DurationSpec, MOST_TRANSFERS, RttSpec, SourceSpec, Spec, SpecError};
use crate::time::Time;

/// Largest size of a transfer, segments; longer transfers are truncated.
const LONGEST_SEGMENTS: f64 = ((1_u64 << 31) - 1) as f64;

/// Inverse of the relative error up to which a load counts as met.
const CLOSE_ENOUGH: u64 = 1000;

/// Number of transfers between two checks for cancellation while a load is drawn, about 10 ms.
const DRAWN_AT_ONCE: u64 = 1 << 16;

/// Largest number of lengths that are kept between the two times at which a load is drawn. In tests the number is small,
/// so that they also draw lengths that are not kept.
const MOST_KNOWN: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// Number of discarded draws after which a load is rejected, since the sizes of the transfers cannot give this load.
const MOST_LEFT_OUT: u32 = 10_000;

/// A transfer before its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Start of the transfer.
    pub start: Time,
    /// Length, segments.
    pub segments: u32,
    /// Propagation round-trip time of the transfer; zero stands for that of the path.
    pub rtt: Time,
}

/// Draws of one source, or of one of its users: sizes and round-trip times have separate streams.
#[derive(Clone, Debug)]
struct Draws {
    sizes: Stream,
    rtts: Stream,
}

impl Draws {
    fn new(seed: u64, name: &str) -> Self {
        Self { sizes: Stream::new(seed, &format!("{name} sizes")), rtts: Stream::new(seed, &format!("{name} rtts")) }
    }
}

/// Distributions of the transfers of a source.
#[derive(Clone, Debug)]
struct Mix {
    sizes: Option<Sizes>,
    rtts: Option<RttSpec>,
    payload_bytes: f64,
}

impl Mix {
    fn segments(&self, bytes: f64) -> u32 {
        (bytes / self.payload_bytes).ceil().clamp(1.0, LONGEST_SEGMENTS) as u32
    }

    /// Draws the length of the next transfer.
    fn draw_segments(&self, sizes: &mut Stream) -> u32 {
        self.sizes.map_or(1, |all| self.segments(all.draw(sizes)))
    }

    fn draw_rtt(&self, rtts: &mut Stream) -> Time {
        self.rtts.as_ref().map_or(Time::ZERO, |all| all.draw(rtts))
    }

    fn draw(&self, draws: &mut Draws) -> (u32, Time) {
        (self.draw_segments(&mut draws.sizes), self.draw_rtt(&mut draws.rtts))
    }
}

/// The users of a source. Each user has its own streams, so that one user's draws do not depend on the speed of
/// another.
#[derive(Clone, Debug)]
pub struct Users {
    think: DurationSpec,
    mix: Mix,
    streams: Vec<(Stream, Draws)>,
    stop: Time,
}

impl Users {
    /// Next transfer of a user whose think time began at `since`; `None` if the transfer would begin too late.
    pub fn next(&mut self, user: u32, since: Time) -> Option<Planned> {
        let (thinking, draws) = &mut self.streams[user as usize];
        let start = since + self.think.draw(thinking);
        let (segments, rtt) = self.mix.draw(draws);
        (start < self.stop).then_some(Planned { start, segments, rtt })
    }
}

/// Schedule of a source's transfers.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Transfers whose start times do not depend on other transfers.
    Open(Box<Open>),
    /// Transfers that begin after other transfers have ended, with the first transfer of each user.
    Closed(Vec<Option<Planned>>, Box<Users>),
}

impl Schedule {
    /// Builds the schedule of a source. `go_on` is called every few milliseconds.
    ///
    /// # Errors
    /// A load that needs too many transfers, or an error of `go_on`.
    pub fn new<E: From<SpecError>>(
        spec: &Spec,
        source: &SourceSpec,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let flow = &source.flow;
        let start = Time(flow.start_ps);
        let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
        let payload_bytes = f64::from(flow.stack.payload_bytes);
        let mix = Mix { sizes: source.sizes.map(Sizes::new), rtts: source.rtts.clone(), payload_bytes };
        let name = format!("traffic {}", flow.name);
        let mut draws = Draws::new(spec.seed, &name);
        let mut arrivals = Stream::new(spec.seed, &format!("{name} arrivals"));
        let (times, count) = match &source.arrivals {
            ArrivalsSpec::Poisson { per_second } => {
                let mean_ps = 1e12 / per_second;
                let at = start.0 as f64 + exponential(&mut arrivals) * mean_ps;
                let times = Poisson { at, mean_ps, stop: stop.0 as f64 };
                let count = times.count(arrivals.clone(), go_on)?;
                (Times::Poisson(times), count)
            }
            ArrivalsSpec::Load { bps } => {
                let (parts, count) = Parts::new(spec, source, *bps, &mix, (arrivals.clone(), &mut draws.sizes), go_on)?;
                (Times::Load(parts), count)
            }
            ArrivalsSpec::Users { users, think } => {
                let streams = |user| {
                    let name = format!("{name} user {user}");
                    (Stream::new(spec.seed, &format!("{name} think")), Draws::new(spec.seed, &name))
                };
                let mut users = Users { think: *think, mix, streams: (0..*users).map(streams).collect(), stop };
                let first = (0..users.streams.len() as u32).map(|user| users.next(user, start)).collect();
                return Ok(Self::Closed(first, Box::new(users)));
            }
            ArrivalsSpec::List { starts_ps, sizes_bytes, rtts_ps } => {
                let one = |(i, (&at, &bytes)): (usize, (&u64, &u64))| Planned {
                    start: Time(start.0.saturating_add(at)),
                    segments: mix.segments(bytes as f64),
                    rtt: Time(rtts_ps.get(i).copied().unwrap_or(0)),
                };
                let all = starts_ps.iter().zip(sizes_bytes).enumerate().map(one);
                let listed: Vec<Planned> = all.take_while(|planned| planned.start < stop).collect();
                let count = listed.len() as u64;
                (Times::List(listed.into_iter()), count)
            }
        };
        let mut open = Open { times, mix, arrivals, draws, count, next: None };
        open.advance();
        Ok(Self::Open(Box::new(open)))
    }

    /// Upper bound of the number of simultaneously active transfers.
    #[must_use]
    pub fn width(&self) -> u64 {
        match self {
            Self::Open(open) => open.count,
            Self::Closed(first, _) => first.len() as u64,
        }
    }
}

fn too_many(name: &str) -> SpecError {
    SpecError::new(format!("traffic '{name}'"), "needs more than 500 million transfers for its load")
}

/// Transfers whose start times do not depend on other transfers, in order. Each transfer is drawn at the start of the
/// previous transfer, so memory does not grow with the number of transfers.
#[derive(Clone, Debug)]
pub struct Open {
    times: Times,
    mix: Mix,
    arrivals: Stream,
    draws: Draws,
    /// Total number of transfers.
    count: u64,
    next: Option<Planned>,
}

/// Start times of transfers.
#[derive(Clone, Debug)]
enum Times {
    Poisson(Poisson),
    Load(Parts),
    List(std::vec::IntoIter<Planned>),
}

impl Open {
    /// The next transfer.
    #[must_use]
    pub fn peek(&self) -> Option<&Planned> {
        self.next.as_ref()
    }

    /// Takes the next transfer.
    pub fn take(&mut self) -> Option<Planned> {
        let taken = self.next;
        self.advance();
        taken
    }

    fn advance(&mut self) {
        let Self { times, mix, arrivals, draws, next, .. } = self;
        *next = match times {
            Times::Poisson(times) => times.next(arrivals).map(|start| {
                let (segments, rtt) = mix.draw(draws);
                Planned { start, segments, rtt }
            }),
            Times::Load(parts) => parts.next(mix, arrivals, draws),
            Times::List(listed) => listed.next(),
        };
    }
}

/// A Poisson process, with the time `at` of its next arrival, ps; arrivals are before `stop`.
#[derive(Clone, Copy, Debug)]
struct Poisson {
    at: f64,
    mean_ps: f64,
    stop: f64,
}

impl Poisson {
    fn next(&mut self, arrivals: &mut Stream) -> Option<Time> {
        let at = self.at;
        (at < self.stop).then(|| {
            self.at += exponential(arrivals) * self.mean_ps;
            Time(at as u64)
        })
    }

    /// Counts the arrivals.
    fn count<E>(mut self, mut arrivals: Stream, go_on: &mut impl FnMut() -> Result<(), E>) -> Result<u64, E> {
        let mut count = 0_u64;
        while self.next(&mut arrivals).is_some() {
            count += 1;
            if count % DRAWN_AT_ONCE == 0 {
                go_on()?;
            }
        }
        Ok(count)
    }
}

/// An interval of a run with a target for the sum of its transfers' segments.
#[derive(Clone, Copy, Debug)]
struct Part {
    from: Time,
    to: Time,
    target: u64,
    /// Factor that converts cumulative gaps to times, ps.
    scale: f64,
}

/// Transfers whose segments add up to targets, rounded to the nearest transfer. For a given number of arrivals, the
/// arrival times of a Poisson process are its cumulative gaps scaled to the interval. Therefore all gaps are first
/// drawn to compute the scale, and then drawn again one by one.
#[derive(Clone, Debug)]
struct Parts {
    /// Remaining intervals, the last one first.
    parts: Vec<Part>,
    drawn: Drawn,
    /// Sum of the gaps so far.
    at: f64,
    /// The first lengths, which are not drawn again. Their number is limited, so memory does not grow with the number
    /// of transfers.
    known: std::vec::IntoIter<u32>,
}

impl Parts {
    /// The intervals of a load, and its number of transfers; an error if there are too many transfers. Moves the stream
    /// of sizes behind the known lengths.
    fn new<E: From<SpecError>>(
        spec: &Spec,
        source: &SourceSpec,
        bps: u64,
        mix: &Mix,
        (mut arrivals, sizes): (Stream, &mut Stream),
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(Self, u64), E> {
        let flow = &source.flow;
        let start = Time(flow.start_ps);
        let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
        let wire_bits = u64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8;
        // The load applies to the measurement window alone and to the whole run.
        let inner = [spec.measure.from_ps, spec.measure.to_ps].map(|ps| Time(ps).clamp(start, stop));
        let (mut parts, mut count, mut known) = (Vec::new(), 0_u64, Vec::new());
        let mut unknown = sizes.clone();
        let mut draw = || {
            let segments = mix.draw_segments(&mut unknown);
            if known.len() < MOST_KNOWN {
                known.push(segments);
                *sizes = unknown.clone();
            }
            (segments, ())
        };
        for (from, to) in [(start, inner[0]), (inner[0], inner[1]), (inner[1], stop)] {
            let target = (to.since(from).seconds() * bps as f64 / wire_bits as f64) as u64;
            let (mut drawn, mut at) = (Drawn::until(target), 0.0);
            while drawn.next(&mut draw).is_some() {
                at += exponential(&mut arrivals);
                count += 1;
                if count > u64::from(MOST_TRANSFERS) {
                    return Err(too_many(&flow.name).into());
                }
                if count % DRAWN_AT_ONCE == 0 {
                    go_on()?;
                }
            }
            at += exponential(&mut arrivals);
            parts.push(Part { from, to, target, scale: to.since(from).0 as f64 / at });
        }
        parts.reverse();
        let drawn = Drawn::until(parts.last().map_or(0, |part| part.target));
        Ok((Self { parts, drawn, at: 0.0, known: known.into_iter() }, count))
    }

    fn next(&mut self, mix: &Mix, arrivals: &mut Stream, draws: &mut Draws) -> Option<Planned> {
        loop {
            let Part { from, to, scale, .. } = *self.parts.last()?;
            let known = &mut self.known;
            let draw = || {
                let segments = known.next().unwrap_or_else(|| mix.draw_segments(&mut draws.sizes));
                (segments, mix.draw_rtt(&mut draws.rtts))
            };
            if let Some((segments, rtt)) = self.drawn.next(draw) {
                self.at += exponential(arrivals);
                let start = Time((from.0 + (self.at * scale) as u64).min(to.0 - 1));
                return Some(Planned { start, segments, rtt });
            }
            // The gap from the last arrival to the end of the interval.
            exponential(arrivals);
            self.parts.pop();
            self.drawn = Drawn::until(self.parts.last().map_or(0, |part| part.target));
            self.at = 0.0;
        }
    }
}

/// Draws whose segments add up to a target, rounded to the nearest draw. A transfer that would exceed the target by
/// more than the missing load is discarded, so the load limits the largest sizes of a heavy tail.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    target: u64,
    sum: u64,
    left_out: u32,
}

impl Drawn {
    fn until(target: u64) -> Self {
        Self { target, sum: 0, left_out: 0 }
    }

    /// Next draw that is not discarded; `None` once the target is met or nearly met.
    fn next<R>(&mut self, mut draw: impl FnMut() -> (u32, R)) -> Option<(u32, R)> {
        while self.sum < self.target {
            let (segments, rest) = draw();
            let after = self.sum + u64::from(segments);
            let missing = self.target - self.sum;
            if after.saturating_sub(self.target) <= missing {
                self.sum = after;
                return Some((segments, rest));
            }
            self.left_out += 1;
            if missing * CLOSE_ENOUGH <= self.target || self.left_out > MOST_LEFT_OUT {
                self.target = self.sum;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The whole schedule of a load, drawn at once.
    fn whole_load(bps: u64, spec: &Spec, source: &SourceSpec, mix: &Mix) -> Vec<Planned> {
        let flow = &source.flow;
        let (start, stop) = (Time(flow.start_ps), Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps)));
        let name = format!("traffic {}", flow.name);
        let mut arrivals = Stream::new(spec.seed, &format!("{name} arrivals"));
        let mut draws = Draws::new(spec.seed, &name);
        let wire_bits = u64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8;
        let mut planned: Vec<Planned> = Vec::new();
        let inner = [spec.measure.from_ps, spec.measure.to_ps].map(|ps| Time(ps).clamp(start, stop));
        for (from, to) in [(start, inner[0]), (inner[0], inner[1]), (inner[1], stop)] {
            let target = (to.since(from).seconds() * bps as f64 / wire_bits as f64) as u64;
            let first = planned.len();
            let (mut sum, mut gaps, mut left_out, mut at) = (0_u64, Vec::new(), 0, 0.0);
            while sum < target {
                let (segments, rtt) = mix.draw(&mut draws);
                let after = sum + u64::from(segments);
                if after - target.min(after) > target - sum {
                    left_out += 1;
                    if (target - sum) * CLOSE_ENOUGH <= target || left_out > MOST_LEFT_OUT {
                        break;
                    }
                    continue;
                }
                sum = after;
                at += exponential(&mut arrivals);
                gaps.push(at);
                planned.push(Planned { start: Time::ZERO, segments, rtt });
            }
            at += exponential(&mut arrivals);
            let scale = (to.since(from)).0 as f64 / at;
            for (transfer, gap) in planned[first..].iter_mut().zip(gaps) {
                transfer.start = Time((from.0 + (gap * scale) as u64).min(to.0 - 1));
            }
        }
        planned
    }

    /// The whole schedule of a Poisson process, drawn at once.
    fn whole_poisson(per_second: f64, spec: &Spec, source: &SourceSpec, mix: &Mix) -> Vec<Planned> {
        let flow = &source.flow;
        let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
        let name = format!("traffic {}", flow.name);
        let mut arrivals = Stream::new(spec.seed, &format!("{name} arrivals"));
        let mut draws = Draws::new(spec.seed, &name);
        let mean_ps = 1e12 / per_second;
        let mut planned = Vec::new();
        let mut at = flow.start_ps as f64 + exponential(&mut arrivals) * mean_ps;
        while at < stop.0 as f64 {
            let (segments, rtt) = mix.draw(&mut draws);
            planned.push(Planned { start: Time(at as u64), segments, rtt });
            at += exponential(&mut arrivals) * mean_ps;
        }
        planned
    }

    fn spec(arrivals: &serde_json::Value, sizes: &serde_json::Value, seed: u64, from_ps: u64) -> Spec {
        let stack = json!({"payload_bytes": 1448, "header_bytes": 52, "ack_bytes": 52, "sack_block_bytes": 8, "initial_window": 10,
            "ack_every": 1, "delayed_ack_ps": 0, "quick_acks": 0, "host": "linux", "detection": "rack", "dup_threshold": 3, "recovery": "prr",
            "min_rto_ps": 200_000_000_000_u64, "initial_rto_ps": 1_000_000_000_000_u64, "max_rto_ps": 120_000_000_000_000_u64,
            "rto_granularity_ps": 200_000_000_000_u64, "limited_transmit": true, "undo": true, "time_one_segment": false,
            "any_ack_restarts_timer": false});
        let link = |name: &str| json!({"name": name, "rate_bps": 1_000_000_000, "delay_ps": 5_000_000_000_u64, "queue": {"kind": "droptail"}});
        let flow = json!({"name": "web", "algorithm": "reno", "path": [0], "reverse_path": [1], "start_ps": 100_000_000_000_u64,
            "stop_ps": 1_900_000_000_000_u64, "stack": stack});
        let rtts = json!({"shares": [0.0, 1.0], "rtts_ps": [10_000_000_000_u64, 90_000_000_000_u64]});
        let text = json!({"seed": seed, "duration_ps": 2_000_000_000_000_u64, "sample_period_ps": 100_000_000_000_u64, "start_jitter_ps": 0,
            "send_jitter_ps": 0, "measure": {"from_ps": from_ps, "to_ps": 1_500_000_000_000_u64}, "flows": [],
            "links": [link("there"), link("back")], "traffic": [{"flow": flow, "arrivals": arrivals, "sizes": sizes, "rtts": rtts}]});
        Spec::from_json(&text.to_string()).expect("the scenario is right")
    }

    fn streamed(spec: &Spec) -> (Vec<Planned>, u64) {
        let made = Schedule::new(spec, &spec.traffic[0], &mut || Ok::<_, SpecError>(()));
        let Ok(Schedule::Open(mut open)) = made else { panic!("it is open") };
        let count = open.count;
        assert_eq!(open.peek().copied(), open.clone().take());
        (std::iter::from_fn(|| open.take()).collect(), count)
    }

    proptest! {
        #[test]
        fn what_is_drawn_one_by_one_is_what_is_drawn_at_once(seed in 0_u64..1000, bps in 1_000_000_u64..2_000_000_000, shape in 1.05_f64..3.0,
                from_ps in 0_u64..1_400_000_000_000, kind in 0..3) {
            let sizes = match kind {
                0 => json!({"kind": "pareto", "mean_bytes": 25_000.0, "shape": shape}),
                1 => json!({"kind": "constant", "mean_bytes": 20_000.0 * shape}),
                _ => json!({"kind": "lognormal_pareto", "mu": 9.357, "sigma": 1.318, "body_share": 0.93, "tail_bytes": 133e3,
                    "tail_shape": shape, "most_bytes": 1e8}),
            };
            let load = spec(&json!({"kind": "load", "bps": bps}), &sizes, seed, from_ps);
            let source = &load.traffic[0];
            let mix = Mix { sizes: source.sizes.map(Sizes::new), rtts: source.rtts.clone(), payload_bytes: 1448.0 };
            let whole = whole_load(bps, &load, source, &mix);
            prop_assert_eq!(streamed(&load), (whole.clone(), whole.len() as u64));
            let per_second = bps as f64 / 1e5;
            let poisson = spec(&json!({"kind": "poisson", "per_second": per_second}), &sizes, seed, from_ps);
            let whole = whole_poisson(per_second, &poisson, &poisson.traffic[0], &mix);
            prop_assert_eq!(streamed(&poisson), (whole.clone(), whole.len() as u64));
        }
    }
}
