//! A user's algorithm in a library of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elephan_cc::Value;
use elephan_native::{LoadError, Loaded, MOST_WINDOW, load, parameters};
use elephan_sim::spec::MOST_IN_FLIGHT;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::describe;
use crate::own::{Failure, Raised};

const _: () = assert!(MOST_WINDOW == MOST_IN_FLIGHT as f64, "one limit");

/// Value of a parameter.
#[derive(FromPyObject)]
pub enum Given {
    /// A switch.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A word or a text.
    Text(String),
}

/// Values of parameters by name.
pub type Values = BTreeMap<String, Given>;

fn values_of(given: Values) -> BTreeMap<String, Value> {
    let value = |given| match given {
        Given::Switch(x) => Value::Bool(x),
        Given::Number(x) => Value::Num(x),
        Given::Text(x) => Value::Text(x),
    };
    given.into_iter().map(|(name, given)| (name, value(given))).collect()
}

/// The library of an object, or of what a source's function makes, with the values of its parameters; `None` for an
/// algorithm in Python.
///
/// # Errors
/// The exception that the function raises.
pub fn library(given: &Bound<'_, PyAny>, is_maker: bool) -> PyResult<Option<(PathBuf, Values)>> {
    let object = if is_maker { given.call0()? } else { given.clone() };
    let Some(path) = object.getattr_opt(intern!(given.py(), "_library"))? else { return Ok(None) };
    Ok(Some((path.extract()?, object.getattr(intern!(given.py(), "_parameters"))?.extract()?)))
}

/// The algorithm of a library for a flow, or for a source by its number.
///
/// # Errors
/// The library has no algorithm for this engine, or a value is not allowed.
pub fn make(path: &Path, values: Values, flow: usize, failure: Failure) -> PyResult<Loaded> {
    let report = move |callback, now, why| {
        // Only the first failure counts; no callback is called after it.
        let _ = failure.set(Raised { flow, callback, now, error: PyRuntimeError::new_err(why) });
    };
    load(path, &values_of(values), Arc::new(report)).map_err(|error| refused(&error))
}

/// A `ValueError` with the reason and, if it is about one, the parameter.
fn refused(error: &LoadError) -> PyErr {
    match error {
        LoadError::Parameter(Some(name), why) => PyValueError::new_err((why.clone(), name.clone())),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Raises `ValueError` if a library has no algorithm that this engine can run with these values of its parameters; its
/// second argument is then the parameter, if it is about one.
#[pyfunction]
#[pyo3(signature = (path, values=Values::new()))]
pub fn check_library(path: PathBuf, values: Values) -> PyResult<()> {
    load(&path, &values_of(values), Arc::new(|_, _, _| ())).map(drop).map_err(|error| refused(&error))
}

/// The parameters of a library's algorithm, as JSON in the form of those of the built-in algorithms.
#[pyfunction]
pub fn library_parameters(path: PathBuf) -> PyResult<String> {
    let found = parameters(&path).map_err(|error| refused(&error))?;
    Ok(serde_json::Value::from(found.iter().map(describe::parameter).collect::<Vec<_>>()).to_string())
}

/// Compiler and sources from which this engine is built, and an algorithm for it has to be.
#[pyfunction]
pub fn built_from() -> &'static str {
    elephan_native::BUILT_FROM
}
