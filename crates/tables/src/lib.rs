//! Tables of plain columns as Arrow record batches.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
};
pub use arrow_schema::ArrowError;
use arrow_schema::{Field, Schema};
use elephan_sim::tables::{Column, NO_NAME, Table};

/// A table as an Arrow record batch; numbers that are not finite are missing.
///
/// # Errors
/// The columns differ in length.
pub fn batch(table: Table) -> Result<RecordBatch, ArrowError> {
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
