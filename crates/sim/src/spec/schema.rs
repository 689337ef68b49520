//! The JSON Schema of the canonical form.
//!
//! The schema is derived from the types of this module and their comments. Python's types and a page of the
//! documentation are generated from the schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Spec;
use super::queue::QueueSpec;

/// The schema as indented JSON. A property that is not required has its default if it is absent.
#[must_use]
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Spec).to_value();
    schema.sort_all_objects(); // the order of a file must not depend on that of the code
    format!("{schema:#}\n")
}

/// Parameters of an algorithm. A class written in Python may distinguish 1 from 1.0, so the schema names integers too.
pub(super) fn parameters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": ["boolean", "integer", "number", "string"]},
        "default": {},
    })
}

impl JsonSchema for QueueSpec {
    fn schema_name() -> Cow<'static, str> {
        "QueueSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let limit = |description: &str, schema: Schema| {
            let mut limit = schema;
            limit.insert("description".into(), description.into());
            limit.insert("default".into(), serde_json::Value::Null);
            limit
        };
        json_schema!({
            "type": "object",
            "description": "A queue. Every further key is a parameter of its discipline: in packets (`_packets`), bytes \
                (`_bytes`) or ps (`_ps`), a plain number or a switch.",
            "properties": {
                "kind": {"type": "string", "description": "Queue discipline."},
                "limit_packets": limit("Capacity, packets; unlimited if absent.", generator.subschema_for::<Option<u64>>()),
                "limit_bytes": limit("Capacity, bytes; unlimited if absent.", generator.subschema_for::<Option<u64>>()),
            },
            "required": ["kind"],
            "additionalProperties": {"type": ["boolean", "integer", "number", "null"]},
        })
    }
}
