//! The queue of a link.

use std::collections::BTreeMap;

use elephan_cc::Value;
use serde::Deserialize;

/// A queue: its discipline by name, the bounds that every discipline has, and the discipline's parameters, which the queue layer
/// reads and checks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct QueueSpec {
    /// Name of the discipline.
    pub kind: String,
    /// Largest number of waiting packets.
    pub limit_packets: Option<u64>,
    /// Largest number of waiting bytes.
    pub limit_bytes: Option<u64>,
    /// Parameters; a key ends with its unit, if there is one.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// Converts a parameter's value. A list or a table becomes a word that no parameter accepts.
#[must_use]
pub fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Bool(on) => Value::Bool(*on),
        serde_json::Value::Number(number) => Value::Num(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(word) => Value::Text(word.clone()),
        other => Value::Text(other.to_string()),
    }
}
