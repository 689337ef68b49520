//! Tables as objects for Python.

use arrow_array::RecordBatch;
use elephan_sim::tables::Column;
use elephan_tables::batch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// A table as an object with the Arrow `PyCapsule` interface.
pub fn capsule<N: Into<String>>(table: Vec<(N, Column)>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    capsule_of(batch(table), py)
}

/// A record batch as such an object.
pub fn capsule_of<E: std::fmt::Display>(batch: Result<RecordBatch, E>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let batch = batch.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    let schema = batch.schema();
    let table = PyTable::try_new(vec![batch], schema).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    Ok(Bound::new(py, table)?.into_any())
}
