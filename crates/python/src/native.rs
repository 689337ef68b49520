//! A user's algorithm in a library of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use elephan_native::{LoadError, Loaded, MOST_WINDOW, load};
use elephan_sim::spec::MOST_IN_FLIGHT;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::own::{Failure, Raised};

const _: () = assert!(MOST_WINDOW == MOST_IN_FLIGHT as f64, "one limit");

/// The library of an object, or of what a source's function makes; `None` for an algorithm in Python.
///
/// # Errors
/// The exception that the function raises.
pub fn library(given: &Bound<'_, PyAny>, is_maker: bool) -> PyResult<Option<PathBuf>> {
    let object = if is_maker { given.call0()? } else { given.clone() };
    object.getattr_opt(intern!(given.py(), "_library"))?.map(|path| path.extract()).transpose()
}

/// The algorithm of a library for a flow, or for a source by its number.
///
/// # Errors
/// The library has no algorithm for this engine.
pub fn make(path: &Path, flow: usize, failure: Failure) -> PyResult<Loaded> {
    let report = move |callback, now, why| {
        // Only the first failure counts; no callback is called after it.
        let _ = failure.set(Raised { flow, callback, now, error: PyRuntimeError::new_err(why) });
    };
    load(path, Arc::new(report)).map_err(|error| refused(&error))
}

fn refused(error: &LoadError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Raises `ValueError` if a library has no algorithm that this engine can run.
#[pyfunction]
pub fn check_library(path: PathBuf) -> PyResult<()> {
    load(&path, Arc::new(|_, _, _| ())).map(drop).map_err(|error| refused(&error))
}

/// Compiler and sources from which this engine is built, and an algorithm for it has to be.
#[pyfunction]
pub fn built_from() -> &'static str {
    elephan_native::BUILT_FROM
}
