//! Descriptions of algorithms in the registry, with their presets.

use super::domain::{Default, Parameter};
use super::value::Setting;
use crate::observe::Variable;

/// Named values of some parameters. If the sources of an algorithm disagree, each source is a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Preset's name after the colon; empty for the algorithm's own name.
    pub name: &'static str,
    /// Source that the preset follows.
    pub title: &'static str,
    /// The parameters that the preset changes.
    pub overrides: &'static [(&'static str, Setting)],
}

impl Preset {
    /// Declares a preset that changes these parameters: [`value`]s, [`word`]s and [`switch`]es.
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str, overrides: &'static [(&'static str, Setting)]) -> Self {
        Self { name, title, overrides }
    }
}

/// Sets a number, in a preset.
#[must_use]
pub const fn value(parameter: &'static str, value: f64) -> (&'static str, Setting) {
    (parameter, Setting::Num(value))
}

/// Sets a word, in a preset.
#[must_use]
pub const fn word(parameter: &'static str, word: &'static str) -> (&'static str, Setting) {
    (parameter, Setting::Text(word))
}

/// Sets a switch, in a preset.
#[must_use]
pub const fn switch(parameter: &'static str, on: bool) -> (&'static str, Setting) {
    (parameter, Setting::Bool(on))
}

/// Signal that drives an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Losses (and ECN marks) only.
    Loss,
    /// Mainly queueing delay; losses are the exception.
    Delay,
    /// Both.
    Hybrid,
    /// A model of the path: its bandwidth and delay, or the utility of a rate there.
    Model,
    /// Feedback of routers of the algorithm's own kind.
    Router,
}

impl Kind {
    /// Name of the kind in lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Loss => "loss",
            Kind::Delay => "delay",
            Kind::Hybrid => "hybrid",
            Kind::Model => "model",
            Kind::Router => "router",
        }
    }
}

/// Description of an algorithm in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, as a user writes it.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Signal that drives the algorithm.
    pub kind: Kind,
    /// Signals that the algorithm needs from the endpoint.
    pub signals: &'static [&'static str],
    /// Paper or RFC.
    pub source: &'static str,
    /// Description in one paragraph: the idea, and the differences of the default from the sources.
    pub doc: &'static str,
    /// Presets; the first preset is the algorithm without a suffix.
    pub presets: &'static [Preset],
    /// The parameter tables: the algorithm's own, then those it shares.
    pub tables: &'static [&'static [Parameter]],
    /// The tables of internal variables: the algorithm's own, then those of its components, in their order.
    pub variables: &'static [&'static [Variable]],
}

impl Entry {
    /// Every parameter, with the defaults of the algorithm without a suffix.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = self.tables.iter().flat_map(|table| table.iter().copied()).collect();
        let Some(base) = self.presets.first() else { return all };
        for (name, setting) in base.overrides {
            for spec in all.iter_mut().filter(|spec| spec.name == *name) {
                spec.domain.default = Default::Value(*setting);
            }
        }
        all
    }

    /// Every internal variable, in the order in which the algorithm gives them.
    pub fn variables(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables.iter().copied().flatten()
    }
}
