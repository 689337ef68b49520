//! Checks of a run in trains: some stretches of it run in single segments too, from the same state, and the two are compared.
//! A run whose stretches differ too much goes on in single segments. In less than a round trip no ACK of a train comes back, so
//! a stretch has one at least, and a run of fewer than 34 has no stretch: its copy would cost more than the trains gain.

use crate::random::Name;
use crate::spec::Spec;
use crate::time::Time;

/// Largest number of stretches, their share of a long run, where single segments take a hundred times as long as trains, and
/// that of any.
const STRETCHES: u64 = 3;
const SHARE_OF_LONG: f64 = 0.003;
const SHARE_OF_ALL: f64 = 0.03;
/// Largest difference with which a run goes on in trains.
pub const MOST_DIFFERENCE: f64 = 0.01;

/// Outcome of the checks of a run in trains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolutionReport {
    /// Stretches that were compared: start and end, s, and the difference of their two versions ([`Progress::difference`]).
    pub stretches: Vec<(f64, f64, f64)>,
    /// Time, s, from which the run had single segments because a difference was too large.
    pub single_from_s: Option<f64>,
}

/// Progress of a run, all flows together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Segments delivered so far.
    pub delivered: u64,
    /// Sum of the windows, segments.
    pub windows: f64,
}

impl Progress {
    /// Difference of two versions of a stretch that begins with `from`: that of the segments delivered in it, relative to
    /// them, or that of the windows at its end, whichever is larger.
    pub fn difference(from: Self, single: Self, trains: Self) -> f64 {
        let delivered = (single.delivered - from.delivered).max(1) as f64;
        let of_delivered = single.delivered.abs_diff(trains.delivered) as f64 / delivered;
        of_delivered.max((single.windows - trains.windows).abs() / single.windows.max(1.0))
    }
}

/// A stretch whose version in single segments has run.
#[derive(Debug)]
pub struct Stretch<E> {
    /// Time of its begin.
    pub begin: Time,
    /// Time of its end.
    pub end: Time,
    /// Progress at its begin.
    pub from: Progress,
    /// The run in single segments at the end of the stretch.
    pub single: Box<E>,
}

/// Checks that are due, and those that were made.
#[derive(Debug)]
pub struct Checks<E> {
    /// Starts of stretches, the latest first.
    due: Vec<Time>,
    length: Time,
    /// The stretch that is under way.
    pub open: Option<Stretch<E>>,
    /// Outcome so far.
    pub report: ResolutionReport,
}

impl<E> Checks<E> {
    /// Checks of a run, at times that depend on its seed.
    pub fn new(spec: &Spec) -> Self {
        let duration = spec.duration_ps as f64;
        let length = Time((SHARE_OF_LONG / STRETCHES as f64 * duration).max(longest_rtt(spec).0 as f64) as u64);
        let stretches = STRETCHES.min((SHARE_OF_ALL * duration / length.0.max(1) as f64) as u64);
        let part = spec.duration_ps / stretches.max(1);
        let mut stream = Name::default().and("resolution").stream(spec.seed);
        let mut begin = |k: u64| Time(k * part + stream.below((part.saturating_sub(length.0)).max(1)));
        let mut due: Vec<Time> = (0..stretches).map(&mut begin).collect();
        due.reverse();
        Self { due, length, open: None, report: ResolutionReport::default() }
    }

    /// Time at which a stretch starts or ends next.
    pub fn next(&self) -> Time {
        match &self.open {
            Some(stretch) => stretch.end,
            None => self.due.last().copied().unwrap_or(Time::NEVER),
        }
    }

    /// Notes the difference of a stretch, and returns it. A run that differs too much has no further checks.
    pub fn note(&mut self, begin: Time, end: Time, difference: f64) -> f64 {
        self.report.stretches.push((begin.seconds(), end.seconds(), difference));
        if difference > MOST_DIFFERENCE {
            self.report.single_from_s = Some(begin.seconds());
            self.due.clear();
        }
        difference
    }

    /// The stretch that begins by `now`, if one does: its end.
    pub fn take_due(&mut self, now: Time) -> Option<Time> {
        let is_due = self.due.last().is_some_and(|due| *due <= now);
        is_due.then(|| self.due.pop()).map(|_| now + self.length)
    }
}

/// Longest round trip of a flow without queues.
fn longest_rtt(spec: &Spec) -> Time {
    let delay = |&link: &usize| {
        let link = &spec.links[link];
        link.delays_ps.iter().copied().max().unwrap_or_else(|| link.longest_ps())
    };
    let flows = spec.flows.iter().map(|flow| flow.path.iter().chain(&flow.reverse_path).map(delay).sum());
    Time(flows.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_few_and_depend_on_the_seed_of_a_run() {
        let spec = |seed| Spec {
            seed,
            ..Spec::dumbbell(1_000_000, Time::MILLISECOND, 10, Time(300 * Time::SECOND.0), &["reno"])
        };
        let begins = |seed| {
            let mut checks = Checks::<()>::new(&spec(seed));
            let mut begins = Vec::new();
            while let Some(end) = Some(checks.next()).filter(|at| *at < Time::NEVER).and_then(|at| checks.take_due(at))
            {
                begins.push(end.since(Time::SECOND));
            }
            begins
        };
        let first = begins(1);
        assert!(first.len() == 3 && first.is_sorted() && first != begins(2), "{first:?}");
        assert!(first.iter().zip(0..).all(|(begin, k)| (k * 100..k * 100 + 99).contains(&(begin.seconds() as u64))));
    }

    #[test]
    fn a_stretch_has_a_round_trip_and_all_have_at_most_three_hundredths_of_a_run() {
        let checks = |rtts: u64| {
            let duration = Time(rtts * Time::SECOND.0);
            Checks::<()>::new(&Spec::dumbbell(1_000_000, Time::SECOND, 10, duration, &["reno"]))
        };
        let found =
            [20, 40, 80, 200, 12_000].map(|rtts| (checks(rtts).due.len(), checks(rtts).length.seconds().round()));
        assert_eq!(found, [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (3, 12.0)]);
    }

    #[test]
    fn a_run_that_differs_too_much_is_checked_no_more() {
        let from = Progress { delivered: 1000, windows: 50.0 };
        let [single, trains] = [(2000, 40.0), (1990, 41.0)].map(|(delivered, windows)| Progress { delivered, windows });
        assert!((Progress::difference(from, single, trains) - 0.025).abs() < 1e-12, "of the windows");
        assert!((Progress::difference(from, single, Progress { windows: 40.0, ..trains }) - 0.01).abs() < 1e-12);
        let spec = Spec::dumbbell(1_000_000, Time::MILLISECOND, 10, Time::SECOND, &["reno"]);
        let mut checks = Checks::<()>::new(&spec);
        checks.note(Time::ZERO, Time::MILLISECOND, 0.009);
        assert!(checks.next() < Time::NEVER && checks.report.single_from_s.is_none());
        checks.note(Time::SECOND, Time::SECOND, 0.02);
        assert_eq!((checks.next(), checks.report.single_from_s), (Time::NEVER, Some(1.0)));
    }
}
