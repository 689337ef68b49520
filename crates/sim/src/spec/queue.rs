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
    /// Packets that may wait.
    pub limit_packets: Option<u64>,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// Parameters; a key ends with its unit, if there is one.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// The value of a parameter. A list or a table is a word, which no parameter has.
#[must_use]
pub fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Bool(on) => Value::Bool(*on),
        serde_json::Value::Number(number) => Value::Num(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(word) => Value::Text(word.clone()),
        other => Value::Text(other.to_string()),
    }
}
