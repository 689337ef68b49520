//! Tables of plain columns as Arrow record batches, and back; and as a [`file`] between programs.

pub mod file;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_cast::cast;
pub use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, Schema};
use elephan_sim::tables::{Column, NO_NAME, Table};

/// A table as an Arrow record batch; numbers that are not finite are missing.
///
/// # Errors
/// The columns differ in length.
pub fn batch<N: Into<String>>(table: Vec<(N, Column)>) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::with_capacity(table.len());
    let mut arrays = Vec::with_capacity(table.len());
    for (name, column) in table {
        let array = array(column)?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::Floats(values) => {
            Arc::new(values.into_iter().map(|x| x.is_finite().then_some(x)).collect::<Float64Array>())
        }
        Column::Counts(values) => Arc::new(UInt64Array::from(values)),
        Column::Numbers(values) => Arc::new(UInt32Array::from(values)),
        Column::Sizes(values) => Arc::new(UInt16Array::from(values)),
        Column::Flags(values) => Arc::new(BooleanArray::from(values)),
        Column::Texts(values) => Arc::new(StringArray::from(values)),
        Column::Names { keys, words } => {
            let keys: Int32Array = keys.into_iter().map(|key| (key != NO_NAME).then_some(key)).collect();
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(StringArray::from(words)))?)
        }
    })
}

/// Columns of Arrow record batches of one schema, in the order of `wanted`; a column that the batches lack is left out.
/// All numbers are read as floats, and a missing number is NaN.
///
/// # Errors
/// A column has neither numbers nor texts.
pub fn columns(batches: &[RecordBatch], wanted: &[&'static str]) -> Result<Table, ArrowError> {
    let mut table = Table::with_capacity(wanted.len());
    for &name in wanted {
        let arrays: Vec<&ArrayRef> = batches.iter().filter_map(|batch| batch.column_by_name(name)).collect();
        let Some(first) = arrays.first() else { continue };
        table.push((name, if is_text(first.data_type()) { names(&arrays)? } else { numbers(&arrays)? }));
    }
    Ok(table)
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn numbers(arrays: &[&ArrayRef]) -> Result<Column, ArrowError> {
    let mut values = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
    for array in arrays {
        let floats = cast(array, &DataType::Float64)?;
        let floats = floats.as_primitive::<Float64Type>();
        if floats.null_count() == 0 {
            values.extend_from_slice(floats.values());
        } else {
            values.extend(floats.iter().map(|value| value.unwrap_or(f64::NAN)));
        }
    }
    Ok(Column::Floats(values))
}

/// Texts as names: each batch has a dictionary of its own.
fn names(arrays: &[&ArrayRef]) -> Result<Column, ArrowError> {
    let (mut keys, mut words) = (Vec::new(), Vec::<String>::new());
    let mut places: HashMap<String, i32> = HashMap::new();
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    for array in arrays {
        let array = cast(array, &kind)?;
        let dictionary = array.as_dictionary::<Int32Type>();
        let mut place = |word: &str| {
            *places.entry(word.to_owned()).or_insert_with(|| {
                words.push(word.to_owned());
                words.len() as i32 - 1
            })
        };
        let of_batch: Vec<i32> =
            dictionary.values().as_string::<i32>().iter().map(|word| word.map_or(NO_NAME, &mut place)).collect();
        let key = |key: Option<i32>| key.and_then(|key| of_batch.get(key as usize).copied()).unwrap_or(NO_NAME);
        keys.extend(dictionary.keys().iter().map(key));
    }
    Ok(Column::Names { keys, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_back() {
        let names = Column::Names { keys: vec![1, 0, NO_NAME], words: vec!["a".to_owned(), "b".to_owned()] };
        let batch = batch(vec![
            ("time_s", Column::Floats(vec![0.5, f64::INFINITY, 2.0])),
            ("flow", names.clone()),
            ("wire_bytes", Column::Counts(vec![1, 2, 3])),
            ("note", Column::Texts(vec!["x".to_owned(), "y".to_owned(), "x".to_owned()])),
        ]);
        let batch = batch.expect("columns of equal length");
        let found = columns(&[batch.clone(), batch], &["flow", "absent", "wire_bytes", "time_s", "note"]);
        let found = found.expect("numbers and texts");
        assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["flow", "wire_bytes", "time_s", "note"]);
        let words = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(found[0].1, Column::Names { keys: vec![1, 0, NO_NAME, 1, 0, NO_NAME], words });
        assert_eq!(found[1].1, Column::Floats(vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0]));
        assert!(matches!(&found[2].1, Column::Floats(times) if times[0] == 0.5 && times[1].is_nan()));
        assert!(matches!(&found[3].1, Column::Names { keys, .. } if keys == &[0, 1, 0, 0, 1, 0]));
    }
}
