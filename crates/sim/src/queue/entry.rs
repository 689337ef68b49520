//! Declaration of a discipline: its name, source and parameters.

use std::collections::BTreeMap;

use elephan_cc::Router;
use elephan_cc::param::{Field, Parameter, Value};

use crate::time::Time;

/// A discipline that a scenario can name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in a scenario.
    pub name: &'static str,
    /// Title, one line.
    pub title: &'static str,
    /// Paper, RFC or program that defines the discipline.
    pub source: &'static str,
    /// The parameter tables: the discipline's own, and those that it shares. No table has the limit, which is common to
    /// all queues.
    pub tables: &'static [&'static [Parameter]],
    /// Parameters that are not in the form of a spec if they have their defaults. So the hashes of scenarios stay that are
    /// older than these parameters.
    pub additions: &'static [&'static [Parameter]],
    /// Other forms of counting the limit.
    pub presets: &'static [Preset],
    /// Kind of router of this discipline, for algorithms that need one.
    pub router: Option<Router>,
    /// Adds the derived defaults to a user's values, given the link's rate in packets/s.
    pub derive: fn(&mut BTreeMap<String, Value>, f64),
}

/// A form of counting the limit, as in another program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name after the colon.
    pub name: &'static str,
    /// Title, one line.
    pub title: &'static str,
    /// Difference between the stated limit and the number of packets or bytes that may wait.
    pub below_limit: u64,
}

impl Entry {
    /// An entry without presets, routers and derived defaults.
    pub(super) const fn new(
        name: &'static str,
        title: &'static str,
        source: &'static str,
        tables: &'static [&'static [Parameter]],
    ) -> Self {
        Self { name, title, source, tables, additions: &[], presets: &[], router: None, derive: |_, _| () }
    }

    /// Every parameter.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.tables.iter().chain(self.additions).flat_map(|table| table.iter().copied()).collect()
    }

    /// True if the form of a spec has this parameter only with another value than the default.
    pub(super) fn is_addition(&self, parameter: &Parameter) -> bool {
        self.additions.iter().any(|table| table.iter().any(|one| one.name == parameter.name))
    }
}

impl Field for Time {
    fn of(parameter: &Parameter, value: &Value) -> Option<Self> {
        f64::of(parameter, value).map(|ps| Self(ps as u64))
    }
}
