//! Checks of a user's parameters against their declarations.

use std::collections::BTreeMap;

use elephan_cc::param::{Amount, BuildError};
use elephan_cc::{Algorithm, Value};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

create_exception!(
    elephan._engine,
    ParameterError,
    PyValueError,
    "A parameter is wrong; args are its name, or None if several contradict each other, and the message."
);

fn refused(error: &BuildError) -> PyErr {
    let problem = error.problem();
    let message = if problem.parameter.is_some() { problem.message.clone() } else { error.to_string() };
    ParameterError::new_err((problem.parameter.clone(), message))
}

/// A number, a switch, a word, or an amount as a pair of packets and bytes.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return value.extract().map(Value::Bool);
    }
    if let Ok((packets, bytes)) = value.extract() {
        return Ok(Value::Amount(Amount { packets, bytes }));
    }
    match value.extract() {
        Ok(number) => Ok(Value::Num(number)),
        Err(_) => Ok(Value::Text(value.str()?.to_string_lossy().into_owned())),
    }
}

fn values_of(given: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Value>> {
    given.iter().map(|(name, value)| Ok((name.str()?.to_string_lossy().into_owned(), value_of(&value)?))).collect()
}

/// Raises `ParameterError` for parameters that an algorithm, with or without a preset, cannot have.
#[pyfunction]
pub fn check_parameters(algorithm: &str, parameters: &Bound<'_, PyDict>) -> PyResult<()> {
    let (given, name) = (values_of(parameters)?, algorithm.split(':').next());
    let other = elephan_cc::other_transports().iter().any(|entry| Some(entry.name) == name);
    let built = if other {
        elephan_cc::build_udt(algorithm, &given).map(|_| ())
    } else {
        elephan_cc::build(algorithm, &given).map(|_| ())
    };
    built.map_err(|error| refused(&error))
}

/// The parameters of a queue in the canonical form, as JSON. The parameters are `given`, with durations in ps and
/// amounts as pairs of packets and bytes, and the defaults for a link of `rate_bps` whose largest data packets have
/// `packet_bytes`. Raises `ParameterError`.
#[pyfunction]
pub fn queue_form(kind: &str, given: &Bound<'_, PyDict>, rate_bps: u64, packet_bytes: u64) -> PyResult<String> {
    let form = elephan_sim::queue::form(kind, values_of(given)?, rate_bps, packet_bytes);
    form.map(|form| serde_json::Value::Object(form).to_string()).map_err(|error| refused(&error))
}

/// True if an algorithm with these parameters counts in the jiffies of its host; false if it cannot be built.
#[pyfunction]
pub fn counts_jiffies(algorithm: &str, parameters: &Bound<'_, PyDict>) -> PyResult<bool> {
    Ok(elephan_cc::build(algorithm, &values_of(parameters)?).is_ok_and(|built| built.needs().hz))
}
