//! Tables as Arrow record batches, with the Arrow `PyCapsule` interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use elephan_sim::tables::{Column, NO_NAME};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of a run, which Polars, pyarrow and others read by its `__arrow_c_stream__`.
#[pyclass(frozen, module = "elephan._engine")]
pub struct ArrowTable(RecordBatch);

impl ArrowTable {
    /// # Errors
    /// `RuntimeError`: the columns differ in length.
    pub fn new<N: Into<String>>(table: Vec<(N, Column)>) -> PyResult<Self> {
        batch(table).map(Self).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl ArrowTable {
    /// A capsule with the table as a stream of one record batch; a requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// A table as a record batch; numbers that are not finite are missing.
fn batch<N: Into<String>>(table: Vec<(N, Column)>) -> Result<RecordBatch, ArrowError> {
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
