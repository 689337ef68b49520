//! Tables as bytes: the length of a head (u32, little endian), the head (JSON) and the columns, each aligned to eight bytes.
//!
//! The head has the run's `summary`, and for each table its name and its columns: name, `form`, number of values, and
//! offset of the first value from the beginning. A form is the name of a JavaScript array without `Array`. The forms
//! are `Float64` (NaN for a missing value), `BigUint64`, `Uint16`, `Uint8` (0 or 1), and `Int32`, which is the index of
//! a row's name in `words`, or -1. Columns of form `Text` have their `words` in the head, one for each row.

use elephan_sim::tables::{Column, Table};
use serde_json::{Value, json};

const ALIGNMENT: usize = 8;

/// Encodes tables and a summary.
pub fn bytes(tables: Vec<(&'static str, Table)>, summary: Value) -> Vec<u8> {
    let mut data = Vec::new();
    let head: Vec<Value> = tables
        .into_iter()
        .map(|(name, columns)| {
            let columns: Vec<Value> =
                columns.into_iter().map(|(name, column)| append(name, column, &mut data)).collect();
            json!({"name": name, "columns": columns})
        })
        .collect();
    let mut head = json!({"tables": head, "summary": summary}).to_string().into_bytes();
    head.resize((head.len() + 4).next_multiple_of(ALIGNMENT) - 4, b' ');
    let mut all = Vec::with_capacity(4 + head.len() + data.len());
    all.extend((head.len() as u32).to_le_bytes());
    all.append(&mut head);
    all.append(&mut data);
    all
}

/// Appends the values of a column; returns its entry for the head. Offsets are from the end of the head.
fn append(name: &str, column: Column, data: &mut Vec<u8>) -> Value {
    data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    let offset = data.len();
    let known = |value: f64| if value.is_finite() { value } else { f64::NAN };
    let (form, length, words) = match column {
        Column::Floats(values) => {
            values.iter().for_each(|&value| data.extend(known(value).to_le_bytes()));
            ("Float64", values.len(), None)
        }
        Column::Counts(values) => {
            values.iter().for_each(|value| data.extend(value.to_le_bytes()));
            ("BigUint64", values.len(), None)
        }
        Column::Numbers(values) => {
            values.iter().for_each(|value| data.extend(value.map_or(f64::NAN, f64::from).to_le_bytes()));
            ("Float64", values.len(), None)
        }
        Column::Sizes(values) => {
            values.iter().for_each(|value| data.extend(value.to_le_bytes()));
            ("Uint16", values.len(), None)
        }
        Column::Flags(values) => {
            data.extend(values.iter().map(|&value| u8::from(value)));
            ("Uint8", values.len(), None)
        }
        Column::Texts(values) => ("Text", values.len(), Some(values)),
        Column::Names { keys, words } => {
            keys.iter().for_each(|key| data.extend(key.to_le_bytes()));
            ("Int32", keys.len(), Some(words))
        }
    };
    json!({"name": name, "form": form, "length": length, "offset": offset, "words": words})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_where_the_head_says() {
        let table = vec![
            ("name", Column::Names { keys: vec![1, -1], words: vec!["a".into(), "b".into()] }),
            ("flag", Column::Flags(vec![true])),
            ("value", Column::Floats(vec![1.5, f64::INFINITY])),
        ];
        let bytes = bytes(vec![("t", table)], json!({"n": 1}));
        let head_bytes = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + head_bytes]).expect("JSON");
        assert_eq!(head["summary"]["n"], 1);
        let data = &bytes[4 + head_bytes..];
        let value = &head["tables"][0]["columns"][2];
        assert_eq!((&value["form"], &value["offset"]), (&json!("Float64"), &json!(16)));
        assert_eq!((4 + head_bytes) % 8, 0);
        assert_eq!(f64::from_le_bytes(data[16..24].try_into().expect("eight bytes")), 1.5);
        assert!(f64::from_le_bytes(data[24..32].try_into().expect("eight bytes")).is_nan());
    }
}
