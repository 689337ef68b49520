//! Names and parameters of a scenario, as JSON.

use std::collections::BTreeMap;

use elephan_cc::observe::Form;
use elephan_cc::param::{Default, Domain, S, Type};
use elephan_cc::{Algorithm, Ecn, Parameter, Setting};
use serde_json::{Map, Value, json};

/// A number of a parameter's domain: durations in s, integers as integers, null for an infinite bound.
fn number(domain: &Domain, x: f64) -> Value {
    match domain.kind {
        Type::Duration => json!(x / S),
        Type::Integer => json!(x as i64),
        _ if x.is_finite() => json!(x),
        _ => Value::Null,
    }
}

fn setting(domain: &Domain, value: Setting) -> Value {
    match value {
        Setting::Num(x) => number(domain, x),
        Setting::Bool(x) => json!(x),
        Setting::Text(x) => json!(x),
    }
}

/// A parameter of an algorithm or of a queue, with its default: a value, or a note that the value is required or
/// derived.
pub fn parameter(p: &Parameter) -> Value {
    let domain = &p.domain;
    let (default, derived) = match domain.default {
        Default::Value(value) => (setting(domain, value), Value::Null),
        Default::Derived(formula) => (Value::Null, json!(formula)),
        Default::Required => (Value::Null, Value::Null),
    };
    let (choices, ranged): (&[_], _) = match domain.kind {
        Type::Word(words) => (words, false),
        kind => (&[], !matches!(kind, Type::Switch | Type::Text)),
    };
    let limit = |x| if ranged { number(domain, x) } else { Value::Null };
    json!({
        "name": p.name, "type": domain.kind.as_str(), "unit": domain.unit.as_str(), "default": default, "derived": derived,
        "required": domain.default == Default::Required, "min": limit(domain.min), "max": limit(domain.max),
        "choices": choices, "source": p.source, "doc": p.doc,
    })
}

/// An internal variable of an algorithm.
fn variable(v: &elephan_cc::Variable) -> Value {
    let (unit, states): (_, &[_]) = match v.form {
        Form::Number(unit) => (unit.as_str(), &[]),
        Form::State(names) => ("", names),
    };
    json!({"name": v.name, "unit": unit, "states": states, "doc": v.doc})
}

/// Every algorithm with its presets, parameters and internal variables; algorithms of transports other than TCP come
/// last.
pub fn algorithms() -> Value {
    let built = |name: &str| elephan_cc::build(name, &BTreeMap::new()).ok();
    let draws = |e: &elephan_cc::Entry, p: &elephan_cc::Preset| {
        built(&format!("{}:{}", e.name, p.name)).is_some_and(|mut algorithm| algorithm.draws().is_some())
    };
    let entry = |e: &elephan_cc::Entry| {
        let parameters = e.parameters();
        let changed = |(name, value): &(&str, Setting)| {
            let declared = parameters.iter().find(|p| p.name == *name);
            ((*name).to_owned(), declared.map_or(Value::Null, |p| setting(&p.domain, *value)))
        };
        let preset = |p: &elephan_cc::Preset| {
            let overrides: Map<String, Value> = p.overrides.iter().map(changed).collect();
            json!({"name": p.name, "title": p.title, "overrides": overrides})
        };
        // Algorithms of other transports cannot be built here.
        let needs = built(e.name).map(|algorithm| algorithm.needs());
        json!({
            "router": needs.and_then(|needs| needs.router).map(elephan_cc::Router::as_str),
            "trains": needs.map_or(elephan_cc::Trains::None, |needs| needs.trains()).as_str(),
            "hosted": needs.is_some_and(|needs| !needs.unhosted), "needs_marks": needs.is_some_and(|needs| needs.ecn != Ecn::Endpoint),
            "draws": e.presets.iter().any(|p| draws(e, p)), "name": e.name, "title": e.title, "kind": e.kind.as_str(), "signals": e.signals, "source": e.source,
            "doc": e.doc, "presets": e.presets.iter().map(preset).collect::<Vec<_>>(),
            "parameters": parameters.iter().map(parameter).collect::<Vec<_>>(),
            "variables": e.variables().map(variable).collect::<Vec<_>>(),
        })
    };
    Value::Array(elephan_cc::registry().iter().chain(elephan_cc::other_transports()).map(entry).collect())
}

/// Every queue discipline with its presets and parameters; disciplines that only one backend can run come last.
pub fn queues() -> Value {
    let preset = |p: &elephan_sim::queue::Preset| json!({"name": p.name, "title": p.title, "overrides": {}, "below_limit": p.below_limit});
    let entry = |e: &elephan_sim::queue::Entry, backend: Option<&str>| {
        json!({
            "name": e.name, "kind": "queue", "backend": backend, "title": e.title, "source": e.source,
            "presets": e.presets.iter().map(preset).collect::<Vec<_>>(),
            "parameters": e.parameters().iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    let simulated = elephan_sim::queue::entries().map(|e| entry(e, None));
    Value::Array(simulated.chain(elephan_sim::queue::linux::entries().map(|e| entry(e, Some("linux")))).collect())
}
