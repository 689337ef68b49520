//! Conversion of a queue's parameters from a spec, where a key ends with its unit, to the values of a discipline.

use std::collections::BTreeMap;
use std::sync::Arc;

use elephan_cc::Router;
use elephan_cc::param::{Amount, BuildError, Parameter, Problem, Settings, Type, Value};
use serde_json::{Map, Value as Json, json};

use super::discipline::Place;
use super::entry::Entry;
use super::linux;
use super::registry::{Parameters, Queue, Served, row};
use crate::random::Name;
use crate::spec::{LinkSpec, QueueSpec, SpecError, value_of};

/// The keys of a parameter in a spec.
fn keys(parameter: &Parameter) -> Vec<String> {
    let suffixes: &[&str] = match parameter.domain.kind {
        Type::Duration => &["_ps"],
        Type::Packets => &["_packets"],
        Type::Amount => &["_packets", "_bytes"],
        Type::Rate => &["_bps"],
        Type::Size => &["_bytes"],
        Type::Number | Type::Integer | Type::Switch | Type::Word(_) | Type::Text => &[""],
    };
    suffixes.iter().map(|suffix| format!("{}{suffix}", parameter.name)).collect()
}

/// Parameters of a queue `kind` in the form of a spec: the parameters `given`, and the defaults for a link of
/// `rate_bps` whose largest data packets have `packet_bytes`.
///
/// # Errors
/// Values that the discipline rejects.
pub fn form(
    kind: &str,
    mut given: BTreeMap<String, Value>,
    rate_bps: u64,
    packet_bytes: u64,
) -> Result<Map<String, Json>, BuildError> {
    let entry = entry(kind)?;
    (entry.derive)(&mut given, rate_bps as f64 / (8 * packet_bytes) as f64);
    let settings = Settings::new(entry.name, &entry.parameters(), &[], &given)?;
    check_settings(kind, &settings)?;
    let mut form = Map::new();
    for parameter in entry.parameters() {
        let value = &settings.values()[parameter.name];
        if entry.is_addition(&parameter) && parameter.domain.default.is(value) {
            continue;
        }
        let values = match (value, parameter.domain.kind) {
            (Value::Num(x), Type::Duration | Type::Integer | Type::Rate | Type::Size) => vec![json!(*x as u64)],
            (Value::Num(x), _) => vec![json!(x)],
            (Value::Bool(x), _) => vec![json!(x)],
            (Value::Text(x), _) => vec![json!(x)],
            (Value::Amount(x), _) => vec![json!(x.packets), json!(x.bytes)],
        };
        form.extend(keys(&parameter).into_iter().zip(values));
    }
    Ok(form)
}

/// The declaration of a queue discipline of the engine or of Linux.
fn entry(kind: &str) -> Result<&'static Entry, BuildError> {
    linux::row(kind).map_or_else(|| row(kind).map(|row| &row.entry), |row| Ok(&row.entry))
}

/// Checks values against each other.
fn check_settings(kind: &str, settings: &Settings) -> Result<(), BuildError> {
    match linux::row(kind) {
        Some(row) => (row.check)(settings),
        None => (row(kind)?.read)(settings).map(drop),
    }
}

/// The values of `spec` by the names of the parameters.
fn values(entry: &Entry, spec: &QueueSpec) -> Result<BTreeMap<String, Value>, BuildError> {
    let mut values = BTreeMap::new();
    let parameters = entry.parameters();
    let known: Vec<String> = parameters.iter().flat_map(keys).collect();
    if let Some(key) = spec.parameters.keys().find(|key| !known.contains(key)) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(BuildError::unknown_parameter(entry.name, key, &known));
    }
    for parameter in &parameters {
        let given: Vec<Option<&Json>> = keys(parameter).iter().map(|key| spec.parameters.get(key)).collect();
        let value = match given[..] {
            [packets, bytes] => {
                let whole = |json: Option<&Json>| json.and_then(Json::as_u64);
                let wrong = given.iter().flatten().find(|json| !json.is_u64() && !json.is_null());
                let amount = Amount { packets: whole(packets), bytes: whole(bytes) };
                let amount = (amount != Amount::default()).then_some(Value::Amount(amount));
                wrong.map_or(amount, |json| Some(value_of(json)))
            }
            _ => given.into_iter().flatten().next().map(value_of),
        };
        values.extend(value.map(|value| (parameter.name.to_owned(), value)));
    }
    Ok(values)
}

impl QueueSpec {
    /// The checked parameters.
    fn read(&self) -> Result<Parameters, BuildError> {
        let row = row(&self.kind)?;
        let entry = &row.entry;
        (row.read)(&Settings::new(entry.name, &entry.parameters(), &[], &values(entry, self)?)?)
    }

    /// Checks the parameters of a discipline of the engine, or of Linux.
    fn check(&self) -> Result<(), BuildError> {
        let entry = entry(&self.kind)?;
        check_settings(&self.kind, &Settings::new(entry.name, &entry.parameters(), &[], &values(entry, self)?)?)
    }

    /// Kind of router that the discipline implements, for algorithms that need such routers.
    #[must_use]
    pub fn router(&self) -> Option<Router> {
        row(&self.kind).ok().and_then(|row| row.entry.router)
    }
}

/// A link whose queue has been checked.
#[derive(Clone, Debug)]
pub struct CheckedLink<'a> {
    spec: &'a LinkSpec,
    parameters: Arc<Parameters>,
}

impl<'a> CheckedLink<'a> {
    /// The link.
    #[must_use]
    pub fn spec(&self) -> &'a LinkSpec {
        self.spec
    }

    /// Builds the link's empty queue in the run `seed`: one that decides at arrivals, or one that decides at
    /// departures.
    #[must_use]
    pub fn queue(&self, seed: u64) -> (Queue, Option<Served>) {
        let LinkSpec { name, rate_bps, queue, .. } = self.spec;
        let draws = Name::default().and("link ").and(name).and(" queue").stream(seed);
        let (limit_packets, limit_bytes) = (queue.limit_packets, queue.limit_bytes);
        Parameters::clone(&self.parameters).build(Place { limit_packets, limit_bytes, rate_bps: *rate_bps, draws })
    }
}

/// Checks the queue of each link: rejects unknown disciplines, unknown parameters and wrong values. The access links of
/// a large group of flows have equal queues, so parameters that equal those of the previous link's queue are not read
/// again.
///
/// # Errors
/// The first wrong field.
pub fn check<'a>(links: &'a [LinkSpec]) -> Result<Vec<CheckedLink<'a>>, SpecError> {
    let mut last: Option<CheckedLink<'a>> = None;
    let one = |(i, spec): (usize, &'a LinkSpec)| {
        if let Some(last) = last.as_ref().filter(|last| last.spec.queue == spec.queue) {
            return Ok(CheckedLink { spec, parameters: last.parameters.clone() });
        }
        let parameters = spec.queue.read().map_err(|error| located(i, &error))?;
        let checked = CheckedLink { spec, parameters: Arc::new(parameters) };
        last = Some(checked.clone());
        Ok(checked)
    };
    links.iter().enumerate().map(one).collect()
}

/// Checks the queue of each link as [`check`] does, and also allows the disciplines that only Linux runs.
///
/// # Errors
/// The first field that is wrong.
pub fn check_form(links: &[LinkSpec]) -> Result<(), SpecError> {
    links.iter().enumerate().try_for_each(|(i, spec)| spec.queue.check().map_err(|error| located(i, &error)))
}

/// An error of a link's queue with the field's path.
fn located(link: usize, error: &BuildError) -> SpecError {
    let Problem { parameter, message, .. } = error.problem();
    SpecError::new(format!("links[{link}].queue.{}", parameter.as_deref().unwrap_or("kind")), message.clone())
}

#[cfg(test)]
mod tests {
    use super::super::entries;
    use super::*;
    use elephan_cc::param::Default;

    fn link(queue: Json) -> LinkSpec {
        let link = json!({"name": "l", "rate_bps": 100_000_000, "delay_ps": 1000, "queue": queue});
        serde_json::from_value(link).expect("a link")
    }

    fn refused(queue: Json) -> String {
        check(&[link(queue)]).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_form_with_all_defaults_is_one_that_a_spec_may_have() {
        let required = |parameter: &Parameter| match (parameter.domain.default, parameter.domain.kind) {
            (Default::Required, Type::Amount) => Some(Value::Amount(Amount { packets: Some(20), bytes: None })),
            (Default::Required, _) => Some(Value::Num(1e6)),
            _ => None,
        };
        for entry in entries() {
            let needed = |p: &Parameter| required(p).map(|value| (p.name.to_owned(), value));
            let given = entry.parameters().iter().filter_map(needed).collect();
            let mut queue = form(entry.name, given, 100_000_000, 1500).expect("it is right");
            let parameters = entry.parameters();
            let written = parameters.iter().filter(|&parameter| !entry.is_addition(parameter));
            assert_eq!(queue.len(), written.flat_map(keys).count(), "{}", entry.name);
            queue.insert("kind".to_owned(), json!(entry.name));
            queue.insert("limit_packets".to_owned(), json!(100));
            check(&[link(json!(queue))]).expect("it is right");
        }
    }

    #[test]
    fn an_addition_is_in_the_form_only_with_another_value_than_the_default() {
        for newton in [false, true] {
            let given = BTreeMap::from([("newton".to_owned(), Value::Bool(newton))]);
            let form = form("codel", given, 1_000_000, 1500).expect("it is right");
            assert_eq!(form.get("newton"), newton.then_some(json!(true)).as_ref());
        }
    }

    #[test]
    fn every_parameter_is_documented_and_its_keys_are_its_own() {
        for entry in entries() {
            let mut found: Vec<String> = entry.parameters().iter().flat_map(keys).collect();
            found.extend(["kind", "limit_packets", "limit_bytes"].map(str::to_owned));
            let all = found.len();
            found.sort();
            found.dedup();
            assert_eq!(found.len(), all, "{}", entry.name);
            for parameter in entry.parameters() {
                assert!(!parameter.doc.is_empty() && !parameter.source.is_empty(), "{}.{}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_key_and_the_nearest_word() {
        for (queue, message) in [
            (json!({"kind": "cobel"}), "kind: 'cobel' is not a queue discipline; did you mean 'codel'?"),
            (json!({"kind": "codel", "taget_ps": 5}), "taget_ps: not a parameter of codel; did you mean 'target_ps'?"),
            (
                json!({"kind": "xcp", "weight": 1}),
                "weight: not a parameter of xcp; allowed: alpha, beta, gamma, standing",
            ),
            (
                json!({"kind": "pie", "update_ps": 5_000_000}),
                "update: 5 us is not allowed; it must be from 100 us to 100 s",
            ),
            (json!({"kind": "pie", "update_ps": 1000.5}), "update: 1000.5 is not a whole number of ps"),
            (json!({"kind": "pie", "alpha": [1]}), "alpha: '[1]' is not a number"),
            (json!({"kind": "pie", "alpha": null}), "alpha: 'null' is not a number"),
            (
                json!({"kind": "threshold"}),
                "mark: missing, and threshold has no default for it; write for example mark = \"20 packets\"",
            ),
            (
                json!({"kind": "threshold", "mark_bytes": -1}),
                "mark: -1 is not an amount; write for example \"20 packets\"",
            ),
            (
                json!({"kind": "red", "min_packets": 90, "max_packets": 30, "weight": 0.002}),
                "max: 30 packets must be more than min, 90",
            ),
        ] {
            assert_eq!(refused(queue), format!("links[0].queue.{message}"));
        }
    }

    #[test]
    fn a_key_that_is_not_there_has_the_declared_default() {
        let (spec, full) = (link(json!({"kind": "codel"})), json!({"target_ps": 5_000_000_000_u64, "ecn": true}));
        let read = values(&row("codel").expect("it is one").entry, &spec.queue).expect("it is right");
        assert!(read.is_empty());
        let given = form("codel", read, 1_000_000, 1500).expect("it is right");
        assert_eq!((&given["target_ps"], &given["ecn"]), (&full["target_ps"], &full["ecn"]));
    }
}
