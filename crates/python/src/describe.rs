//! What can be named in a scenario, as JSON.

use std::collections::BTreeMap;

use elephan_cc::{Algorithm, Setting};
use serde_json::{Map, Value, json};

fn setting(value: Setting) -> Value {
    match value {
        Setting::Num(x) if x.is_finite() => json!(x),
        Setting::Num(_) => Value::Null,
        Setting::Bool(x) => json!(x),
        Setting::Text(x) => json!(x),
    }
}

/// Every algorithm with its presets and parameters, those of transports other than TCP last.
pub fn algorithms() -> Value {
    let parameter = |p: &elephan_cc::ParamSpec| {
        let domain = &p.domain;
        let limit = |x: f64| {
            let number = matches!(domain.default, Setting::Num(_));
            if number && x.is_finite() { json!(x) } else { Value::Null }
        };
        json!({
            "name": p.name, "default": setting(domain.default), "min": limit(domain.min), "max": limit(domain.max),
            "unit": domain.unit, "choices": domain.choices, "source": p.source, "doc": p.doc,
        })
    };
    let preset = |p: &elephan_cc::Preset| {
        let overrides: Map<String, Value> = p.overrides.iter().map(|(k, v)| ((*k).to_owned(), setting(*v))).collect();
        json!({"name": p.name, "title": p.title, "overrides": overrides})
    };
    let router = |e: &elephan_cc::Entry| {
        let built = elephan_cc::build(e.name, &BTreeMap::new()).ok();
        built.and_then(|algorithm| algorithm.needs().router).map(elephan_cc::Router::as_str)
    };
    let entry = |e: &elephan_cc::Entry| {
        json!({
            "router": router(e), "name": e.name, "title": e.title, "kind": e.kind.as_str(), "signals": e.signals, "source": e.source,
            "doc": e.doc, "presets": e.presets.iter().map(preset).collect::<Vec<_>>(),
            "parameters": e.parameters().iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    Value::Array(elephan_cc::registry().iter().chain(elephan_cc::other_transports()).map(entry).collect())
}

/// Every queue discipline with its parameters.
pub fn queues() -> Value {
    let entry = |e: &elephan_sim::queue::Entry| {
        let parameters: Vec<Value> = e.parameters.iter().map(queue_parameter).collect();
        json!({"name": e.name, "kind": "queue", "title": e.title, "source": e.source, "parameters": parameters})
    };
    Value::Array(elephan_sim::queue::REGISTRY.iter().map(entry).collect())
}

fn queue_parameter(p: &elephan_sim::queue::Parameter) -> Value {
    use elephan_sim::queue::Default;
    let (default, required) = match p.default {
        Default::Required => (Value::Null, true),
        Default::Derived => (Value::Null, false),
        Default::Number(x) => (json!(x), false),
        Default::Switch(x) => (json!(x), false),
    };
    json!({
        "name": p.name, "unit": p.unit, "default": default, "required": required, "min": p.range.0, "max": p.range.1,
        "doc": p.doc,
    })
}
