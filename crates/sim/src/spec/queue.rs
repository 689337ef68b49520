//! The queue of a link.

use std::collections::BTreeMap;

use elephan_cc::Value;
use serde::Deserialize;

/// A queue: its discipline by name, the bounds that every discipline has, and the discipline's parameters, which the queue layer
/// reads and checks.
#[derive(Clone, Debug, Deserialize)]
pub struct QueueSpec {
    /// Name of the discipline.
    pub kind: String,
    /// Packets that may wait.
    pub limit_packets: Option<u64>,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// Parameters; a key ends with its unit where it has one.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// The value of a parameter; nothing for a list, a table or null.
#[must_use]
pub fn value_of(json: &serde_json::Value) -> Option<Value> {
    match json {
        serde_json::Value::Bool(on) => Some(Value::Bool(*on)),
        serde_json::Value::String(word) => Some(Value::Text(word.clone())),
        serde_json::Value::Number(number) => number.as_f64().map(Value::Num),
        _ => None,
    }
}
