//! When transfers begin, how large they are, and over what distance.

use crate::draw::exponential;
use crate::random::Stream;
use crate::spec::{ArrivalsSpec, DurationSpec, MOST_TRANSFERS, RttSpec, SizeSpec, SourceSpec, Spec, SpecError};
use crate::time::Time;

/// A transfer longer than this is cut there, segments.
const LONGEST_SEGMENTS: f64 = ((1_u64 << 31) - 1) as f64;

/// A load that is met to one part in so many needs no more transfers.
const CLOSE_ENOUGH: u64 = 1000;

/// So many draws are left out before a load counts as one that these sizes cannot give.
const MOST_LEFT_OUT: u32 = 10_000;

/// One transfer before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it begins.
    pub start: Time,
    /// Its length.
    pub segments: u32,
    /// Its propagation delay there and back; zero leaves it at the path's.
    pub rtt: Time,
}

/// Draws of one source, or of one of its users: sizes and round trips each have a stream of their own.
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

/// Distributions that every transfer of a source is drawn from.
#[derive(Clone, Debug)]
struct Mix {
    sizes: Option<SizeSpec>,
    rtts: Option<RttSpec>,
    payload_bytes: f64,
}

impl Mix {
    fn segments(&self, bytes: f64) -> u32 {
        (bytes / self.payload_bytes).ceil().clamp(1.0, LONGEST_SEGMENTS) as u32
    }

    fn draw(&self, draws: &mut Draws) -> (u32, Time) {
        let segments = self.sizes.map_or(1, |sizes| self.segments(sizes.draw(&mut draws.sizes)));
        (segments, self.rtts.as_ref().map_or(Time::ZERO, |rtts| rtts.draw(&mut draws.rtts)))
    }
}

/// The users of a source, each with its own streams, so that what one draws does not depend on how fast another is.
#[derive(Clone, Debug)]
pub struct Users {
    think: DurationSpec,
    mix: Mix,
    streams: Vec<(Stream, Draws)>,
    stop: Time,
}

impl Users {
    /// The next transfer of a user who has thought since `since`; `None` if it would begin too late.
    pub fn next(&mut self, user: u32, since: Time) -> Option<Planned> {
        let (thinking, draws) = &mut self.streams[user as usize];
        let start = since + self.think.draw(thinking);
        let (segments, rtt) = self.mix.draw(draws);
        (start < self.stop).then_some(Planned { start, segments, rtt })
    }
}

/// Everything that a source will do, or what decides about it.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Transfers that begin whatever becomes of the others, in order.
    Open(Vec<Planned>),
    /// Transfers that begin after others have ended; the first of each user.
    Closed(Vec<Option<Planned>>, Box<Users>),
}

impl Schedule {
    /// Draws the schedule of a source.
    ///
    /// # Errors
    /// A load that needs too many transfers.
    pub fn new(spec: &Spec, source: &SourceSpec) -> Result<Self, SpecError> {
        let flow = &source.flow;
        let start = Time(flow.start_ps);
        let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
        let payload_bytes = f64::from(flow.stack.payload_bytes);
        let mix = Mix { sizes: source.sizes, rtts: source.rtts.clone(), payload_bytes };
        let name = format!("traffic {}", flow.name);
        let mut arrivals = Stream::new(spec.seed, &format!("{name} arrivals"));
        let mut draws = Draws::new(spec.seed, &name);
        Ok(match &source.arrivals {
            ArrivalsSpec::Poisson { per_second } => {
                let mean_ps = 1e12 / per_second;
                let mut planned = Vec::new();
                let mut at = start.0 as f64 + exponential(&mut arrivals) * mean_ps;
                while at < stop.0 as f64 {
                    let (segments, rtt) = mix.draw(&mut draws);
                    planned.push(Planned { start: Time(at as u64), segments, rtt });
                    at += exponential(&mut arrivals) * mean_ps;
                }
                Self::Open(planned)
            }
            ArrivalsSpec::Load { bps } => {
                let wire_bits = u64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * 8;
                let mut planned = Vec::new();
                // The measured part has the load by itself, not only together with the parts before and after.
                let inner = [spec.measure.from_ps, spec.measure.to_ps].map(|ps| Time(ps).clamp(start, stop));
                for (from, to) in [(start, inner[0]), (inner[0], inner[1]), (inner[1], stop)] {
                    let target = (to.since(from).seconds() * *bps as f64 / wire_bits as f64) as u64;
                    loaded(target, (from, to), &mix, (&mut arrivals, &mut draws), &mut planned)
                        .ok_or_else(|| too_many(&flow.name))?;
                }
                Self::Open(planned)
            }
            ArrivalsSpec::Users { users, think } => {
                let streams = |user| {
                    let name = format!("{name} user {user}");
                    (Stream::new(spec.seed, &format!("{name} think")), Draws::new(spec.seed, &name))
                };
                let mut users = Users { think: *think, mix, streams: (0..*users).map(streams).collect(), stop };
                let first = (0..users.streams.len() as u32).map(|user| users.next(user, start)).collect();
                Self::Closed(first, Box::new(users))
            }
            ArrivalsSpec::List { starts_ps, sizes_bytes, rtts_ps } => {
                let one = |(i, (&at, &bytes)): (usize, (&u64, &u64))| Planned {
                    start: Time(start.0.saturating_add(at)),
                    segments: mix.segments(bytes as f64),
                    rtt: Time(rtts_ps.get(i).copied().unwrap_or(0)),
                };
                let all = starts_ps.iter().zip(sizes_bytes).enumerate().map(one);
                Self::Open(all.take_while(|planned| planned.start < stop).collect())
            }
        })
    }

    /// Transfers that may be under way at once, at most.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Open(planned) => planned.len(),
            Self::Closed(first, _) => first.len(),
        }
    }
}

fn too_many(name: &str) -> SpecError {
    SpecError::new(format!("traffic '{name}'"), "needs more than 20 million transfers for its load")
}

/// Transfers between `from` and `to` whose segments add up to `target`, to the nearest transfer. The arrival times of a Poisson
/// process, given how many there are, are its cumulated gaps scaled to the interval. A draw that alone would overshoot by more
/// than is missing is left out, so the largest sizes of a heavy tail are bounded by the load that they are to give.
fn loaded(
    target: u64,
    (from, to): (Time, Time),
    mix: &Mix,
    (arrivals, draws): (&mut Stream, &mut Draws),
    planned: &mut Vec<Planned>,
) -> Option<()> {
    let first = planned.len();
    let mut sum = 0_u64;
    let (mut gaps, mut left_out) = (Vec::new(), 0);
    let mut at = 0.0;
    while sum < target {
        let (segments, rtt) = mix.draw(draws);
        let after = sum + u64::from(segments);
        if after - target.min(after) > target - sum {
            left_out += 1;
            if (target - sum) * CLOSE_ENOUGH <= target || left_out > MOST_LEFT_OUT {
                break;
            }
            continue;
        }
        sum = after;
        at += exponential(arrivals);
        gaps.push(at);
        planned.push(Planned { start: Time::ZERO, segments, rtt });
        if planned.len() > MOST_TRANSFERS as usize {
            return None;
        }
    }
    at += exponential(arrivals);
    let scale = (to.since(from)).0 as f64 / at;
    for (transfer, gap) in planned[first..].iter_mut().zip(gaps) {
        transfer.start = Time((from.0 + (gap * scale) as u64).min(to.0 - 1));
    }
    Some(())
}
