//! The binding: `run(json) -> Arrow tables`. Nothing else lives here.

mod describe;
mod tables;

use std::time::{Duration, Instant};

use elephan_sim::{Engine, RunError, Spec};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

create_exception!(elephan._engine, Cancelled, PyException, "The progress callback asked the run to stop.");

/// How often the progress callback is called, wall time.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// Simulates a canonical scenario; releases the GIL.
///
/// `progress`, where given, is called about five times a second with the fraction done; a false answer raises `Cancelled`.
/// Raises `ValueError` (`path: message`) for a spec that cannot be run.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn run<'py>(py: Python<'py>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let spec = Spec::from_json(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let mut raised = None;
    let (outcome, wall) = py
        .detach(|| {
            let began = Instant::now();
            let mut reported = began;
            let outcome = Engine::new(spec.clone())?.run(|fraction| {
                if reported.elapsed() < REPORT_EVERY {
                    return true;
                }
                reported = Instant::now();
                match ask(progress.as_ref(), fraction) {
                    Ok(go_on) => go_on,
                    Err(error) => {
                        raised = Some(error);
                        false
                    }
                }
            })?;
            Ok((outcome, began.elapsed()))
        })
        .map_err(|error: RunError| match error {
            RunError::Cancelled(_) => raised.take().unwrap_or_else(|| Cancelled::new_err("cancelled")),
            RunError::Spec(error) => PyValueError::new_err(error.to_string()),
        })?;
    let result = PyDict::new(py);
    let summary = tables::summary(&spec, &outcome, wall);
    result.set_item("flows", tables::flows(&spec, &outcome)?.into_pyarrow_capsule(py)?)?;
    result.set_item("samples", tables::samples(&spec, &outcome)?.into_pyarrow_capsule(py)?)?;
    result.set_item("links", tables::links(&spec, &outcome)?.into_pyarrow_capsule(py)?)?;
    result.set_item("summary", summary)?;
    Ok(result)
}

/// Asks the callback whether to go on; also lets Python handle a pending Ctrl-C.
fn ask(progress: Option<&Py<PyAny>>, fraction: f64) -> PyResult<bool> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(true), |callback| callback.call1(py, (fraction,))?.is_truthy(py))
    })
}

/// Raises `ValueError` (`path: message`) for a spec that cannot be run.
#[pyfunction]
fn check(spec_json: &str) -> PyResult<()> {
    let spec = Spec::from_json(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    for (index, flow) in spec.flows.iter().enumerate() {
        elephan_sim::engine::controller(index, flow).map_err(|e| PyValueError::new_err(e.to_string()))?;
    }
    Ok(())
}

/// Every algorithm, as a JSON list.
#[pyfunction]
fn algorithms() -> String {
    describe::algorithms().to_string()
}

/// Every queue discipline, as a JSON list.
#[pyfunction]
fn queues() -> String {
    describe::queues().to_string()
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// `elephan._engine`.
#[pymodule(gil_used = true)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(queues, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add("Cancelled", module.py().get_type::<Cancelled>())
}
