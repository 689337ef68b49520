//! An algorithm whose growth and decrease are formulas of a user: what a search over algorithms writes.
//!
//! Variant: none; the default formulas are those of [`reno`](crate::reno). Slow start, timeouts, idle restarts and undo are
//! those of every loss-based algorithm ([`LossWindow`]). The formulas are read once ([`Formula`]).

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::formula::Formula;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Parameter, Preset, Settings, Unit, text};
use crate::reports::{Signal, Start};

/// Names of the variables.
pub const VARIABLES: [&str; 5] = ["w", "w_max", "t", "rtt", "rtt_min"];

/// Bounds on the fraction of the window that a loss leaves.
pub const KEPT: (f64, f64) = (0.1, 0.99);

/// Longest text of a formula, characters.
const MOST_TEXT: f64 = 2000.0;

const GROWTH: Parameter = Parameter {
    name: "growth",
    domain: text("1", MOST_TEXT, Unit::Segments),
    source: "RFC 5681 §3.1",
    doc: "Growth of the window in a round trip of congestion avoidance, a formula of w (window, segments), w_max (window \
          at the last loss), t (time since then, s), rtt (smoothed, s) and rtt_min (smallest, s) with + - * /, min, max, \
          abs, sqrt, cbrt, log and exp. The window grows by 0 to w segments in a round trip; a value outside counts as the \
          bound, and one that is not a number as 0.",
};

const DECREASE: Parameter = Parameter {
    name: "kept",
    domain: text("0.5", MOST_TEXT, Unit::None),
    source: "RFC 5681 §3.1",
    doc: "Fraction of the window that is kept after a loss, a formula of the same variables. It is from 0.1 to 0.99; a \
          value outside counts as the bound, and one that is not a number as 0.5.",
};

/// An algorithm of formulas.
#[derive(Clone, Debug)]
pub struct Expression {
    win: LossWindow,
    growth: Formula,
    kept: Formula,
    w_max: f64,
    /// Time of the last loss, or of the start.
    since: f64,
}

impl Expression {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "expression",
        title: "Formulas for growth and decrease",
        kind: Kind::Hybrid,
        signals: &["loss", "delay", "ECN"],
        source: "the user's; the defaults are RFC 5681's",
        doc: "The growth of the window in congestion avoidance, and the fraction of it that a loss leaves, are formulas of \
              the user, such as those that a search over algorithms finds. The default formulas are Reno's.",
        presets: &[Preset::new("", "formulas of the user; by default those of Reno", &[])],
        tables: &[&[GROWTH, DECREASE], LossParams::TABLE],
        variables: &[Expression::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] for a text that is no formula.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let read = |parameter: &Parameter| {
            let text: String = settings.read(parameter)?;
            Formula::read(&text, &VARIABLES).or_else(|why| settings.conflict_of(parameter.name, why))
        };
        Ok(Self {
            win: LossWindow::real_valued(settings)?,
            growth: read(&GROWTH)?,
            kept: read(&DECREASE)?,
            w_max: 0.0,
            since: 0.0,
        })
    }

    fn variables(&self, now: f64, rtt: f64, rtt_min: f64) -> [f64; VARIABLES.len()] {
        [self.win.w, self.w_max, now - self.since, rtt, rtt_min]
    }
}

observed! {
    self: Expression, self.win;
    /// Window at the last loss; 0 before the first.
    w_max = self.w_max, number(Unit::Segments);
}

impl LossBased for Expression {
    own_window!();

    fn requires(&self) -> Needs {
        Needs { unhosted: true, ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.since = start.now;
    }

    fn grow(&mut self, ack: &Ack, n: f64) {
        let grown = self.growth.value(&self.variables(ack.now, ack.srtt, ack.min_rtt));
        if grown > 0.0 {
            self.win.grow_per_round(n, grown.min(self.win.w));
        }
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.w_max = self.win.w;
        let kept = self.kept.value(&self.variables(signal.now, signal.srtt, signal.min_rtt));
        let kept = if kept.is_nan() { 0.5 } else { kept.clamp(KEPT.0, KEPT.1) };
        self.since = signal.now;
        kept * self.win.reduced_from(signal)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::param::Value;
    use crate::testing::{Driver, close};
    use crate::{Controller, build};

    fn made(growth: &str, kept: &str) -> Result<Controller, BuildError> {
        let given = [("growth", growth), ("kept", kept)];
        build("expression", &given.map(|(name, text)| (name.to_owned(), Value::Text(text.to_owned()))).into())
    }

    #[test]
    fn the_default_is_reno() {
        let algorithms = ["expression", "reno"].map(|name| build(name, &BTreeMap::new()).expect("it exists"));
        let windows = algorithms.map(|mut algorithm| {
            let mut d = Driver::new();
            d.start_at(&mut algorithm, 100.0);
            d.lose(&mut algorithm);
            (0..30).for_each(|_| d.round(&mut algorithm, 0.1));
            algorithm.window().to_bits()
        });
        assert_eq!(windows[0], windows[1]);
    }

    #[test]
    fn formulas_see_the_window_at_the_last_loss_and_the_time_since() {
        let mut d = Driver::new();
        let mut algorithm = made("1.2*(t - cbrt(0.75*w_max))*(t - cbrt(0.75*w_max))*rtt", "0.7").expect("right");
        d.start_at(&mut algorithm, 100.0);
        d.lose(&mut algorithm);
        close(algorithm.window(), 70.0, 1e-12);
        (0..42).for_each(|_| d.round(&mut algorithm, 0.1));
        close(algorithm.window(), 100.0, 0.05); // CUBIC's K is 4.2 s
    }

    #[test]
    fn values_outside_their_bounds_count_as_these() {
        for (growth, kept, window) in [("w*1e9", "5", 100.0 * 0.99 * 2.0), ("0 - 5", "-1", 10.0), ("0/0", "0/0", 50.0)]
        {
            let mut d = Driver::new();
            let mut algorithm = made(growth, kept).expect("right");
            d.start_at(&mut algorithm, 100.0);
            d.lose(&mut algorithm);
            let before = algorithm.window();
            d.ack(&mut algorithm, before, 0.1, 0.1);
            close(algorithm.window(), window, 1e-9);
        }
    }

    #[test]
    fn a_text_that_is_no_formula_is_refused() {
        let error = made("w +", "0.5").expect_err("it is none").to_string();
        assert_eq!(error, "expression: growth: a number, a variable or a function is missing before 'the end'");
    }
}
