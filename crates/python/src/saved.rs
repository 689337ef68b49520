//! Tables as files: Parquet, and the digest of their contents.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use elephan_metrics::{Extremes, impossible_value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3_arrow::PyTable;
use sha2::{Digest, Sha256};

/// Columns of a table as lists; names that the table lacks are left out.
#[pyfunction]
pub fn columns<'py>(py: Python<'py>, table: PyTable, names: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
    let (batches, _) = table.into_inner();
    let found = PyDict::new(py);
    for name in names {
        let arrays: Vec<&ArrayRef> = batches.iter().filter_map(|batch| batch.column_by_name(&name)).collect();
        if arrays.is_empty() {
            continue;
        }
        let values = PyList::empty(py);
        for array in arrays {
            add_list(&values, array).map_err(|e| PyValueError::new_err(e.to_string()))?;
        }
        found.set_item(name, values)?;
    }
    Ok(found)
}

/// Appends the values of an array to a list; missing values are `None`.
fn add_list(values: &Bound<'_, PyList>, array: &ArrayRef) -> Result<(), Box<dyn std::error::Error>> {
    let kind = kind_of(array.data_type());
    let array = cast(array, &kind)?;
    match kind {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().try_for_each(|value| values.append(value))?,
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().try_for_each(|value| values.append(value))?,
        DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().try_for_each(|value| values.append(value))?,
        _ => array.as_string::<i32>().iter().try_for_each(|value| values.append(value))?,
    }
    Ok(())
}

/// One sentence for each column of a table that has an impossible value.
#[pyfunction]
pub fn impossible_values(py: Python<'_>, name: &str, table: PyTable) -> PyResult<Vec<String>> {
    let (batches, schema) = table.into_inner();
    let find = || -> Result<_, ArrowError> {
        let mut found = Vec::new();
        for (place, field) in schema.fields().iter().enumerate().filter(|(_, field)| field.data_type().is_numeric()) {
            let mut values = Extremes { least: f64::INFINITY, most: f64::NEG_INFINITY, finite: true };
            for batch in &batches {
                let column = cast(batch.column(place), &DataType::Float64)?;
                for value in column.as_primitive::<Float64Type>().iter().flatten() {
                    values.least = values.least.min(value);
                    values.most = values.most.max(value);
                    values.finite &= value.is_finite();
                }
            }
            found.extend(impossible_value(name, field.name(), values));
        }
        Ok(found)
    };
    py.detach(find).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Size from which a table is compressed, bytes. To set up a compressor and a dictionary for each column of a small table
/// takes longer than the run that made the table.
const COMPRESSED_BYTES: usize = 100_000;

/// The Parquet file of a table; large tables are compressed with LZ4, whose code in Rust compiles in
/// two seconds (that of zstd, in C, takes a minute of the setup).
#[pyfunction]
pub fn parquet(py: Python<'_>, table: PyTable) -> PyResult<Bound<'_, PyBytes>> {
    let (batches, schema) = table.into_inner();
    let write = || {
        let schema = Arc::new(Schema::new(schema.fields().iter().map(|field| plain_field(field)).collect::<Vec<_>>()));
        let batches = batches.iter().map(|batch| plain(batch, &schema)).collect::<Result<Vec<_>, _>>()?;
        let large = batches.iter().map(RecordBatch::get_array_memory_size).sum::<usize>() >= COMPRESSED_BYTES;
        let compression = if large { Compression::LZ4_RAW } else { Compression::UNCOMPRESSED };
        let properties = WriterProperties::builder().set_compression(compression).set_dictionary_enabled(large).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.into_inner()
    };
    let content = py.detach(write).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(PyBytes::new(py, &content))
}

/// A field whose texts have one representation, so that a table of Polars gives the same file as one of the engine.
fn plain_field(field: &Field) -> Field {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let kind = match field.data_type() {
        kind if is_text(kind) => DataType::Utf8,
        DataType::Dictionary(_, values) if is_text(values) => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        kind => kind.clone(),
    };
    Field::new(field.name(), kind, true)
}

fn plain(batch: &RecordBatch, schema: &Arc<Schema>) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(schema.clone(), columns)
}

/// SHA-256 of the contents of tables by name, in hexadecimal: of all names and values, whatever their representation.
#[pyfunction]
pub fn digest(py: Python<'_>, mut tables: Vec<(String, PyTable)>) -> PyResult<String> {
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    let tables: Vec<_> = tables.into_iter().map(|(name, table)| (name, table.into_inner())).collect();
    let hash = || -> Result<String, ArrowError> {
        let mut total = Sha256::new();
        for (name, (batches, schema)) in &tables {
            add_text(&mut total, name);
            add_count(&mut total, schema.fields().len());
            for (i, field) in schema.fields().iter().enumerate() {
                add_text(&mut total, field.name());
                add_column(&mut total, batches, i, field.data_type())?;
            }
        }
        Ok(total.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    py.detach(hash).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The type as which values are read: floats, integers or texts.
fn kind_of(kind: &DataType) -> DataType {
    match kind {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => DataType::Int64,
        kind if kind.is_unsigned_integer() || matches!(kind, DataType::Boolean) => DataType::UInt64,
        _ => DataType::Utf8,
    }
}

fn add_count(total: &mut Sha256, count: usize) {
    total.update((count as u64).to_le_bytes());
}

fn add_text(total: &mut Sha256, text: &str) {
    add_count(total, text.len());
    total.update(text);
}

/// Adds a column: its kind, its rows without a value, and its values, with zeros for missing numbers.
fn add_column(total: &mut Sha256, batches: &[RecordBatch], column: usize, kind: &DataType) -> Result<(), ArrowError> {
    let as_kind = kind_of(kind);
    add_text(total, &as_kind.to_string());
    add_count(total, batches.iter().map(RecordBatch::num_rows).sum());
    let mut before = 0;
    for batch in batches {
        let array = cast(batch.column(column), &as_kind)?;
        let missing: Vec<usize> = (0..array.len()).filter(|&row| array.is_null(row)).collect();
        add_count(total, missing.len());
        missing.iter().for_each(|row| add_count(total, before + row));
        add_values(total, &array);
        before += array.len();
    }
    Ok(())
}

fn add_values(total: &mut Sha256, array: &ArrayRef) {
    let mut bytes: Vec<u8> = Vec::with_capacity(8 * array.len());
    match array.data_type() {
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>().iter();
            floats.for_each(|value| bytes.extend(value.unwrap_or(0.0).to_bits().to_le_bytes()));
        }
        DataType::Int64 => {
            let numbers = array.as_primitive::<Int64Type>().iter();
            numbers.for_each(|value| bytes.extend(value.unwrap_or(0).to_le_bytes()));
        }
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>().iter();
            numbers.for_each(|value| bytes.extend(value.unwrap_or(0).to_le_bytes()));
        }
        _ => {
            for text in array.as_string::<i32>().iter().flatten() {
                add_text(total, text);
            }
        }
    }
    total.update(bytes);
}
