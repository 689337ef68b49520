//! The binding: `run(json) -> Arrow tables`.

mod batch;
mod callbacks;
mod capsules;
mod captures;
mod defects;
mod describe;
mod environments;
mod exceptions;
mod ledger;
mod native;
mod numbers;
mod own;
mod pace;
mod parameters;
mod replay;
mod saved;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use elephan_cc::{Algorithm, Controller};
use elephan_sim::algorithms::{check_algorithms, controller, controllers};
use elephan_sim::crowd::{QUANTILES, Spread};
use elephan_sim::engine::{Supervisor, preferred_slice};
use elephan_sim::tables;
use elephan_sim::{Engine, Outcome, RunError, Spec};
use elephan_tables::batch;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use capsules::{capsule, capsule_of};
use defects::{EngineDefectError, guarded};
use exceptions::{CallbackError, Cancelled, MemoryLimitError};
use ledger::MemoryBound;
use own::{Failure, Own};
use pace::Pace;

#[global_allocator]
static ALLOCATOR: ledger::Counting = ledger::Counting;

/// Interval of the progress callback, wall time.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// A user's algorithms of a run by the index of their flow, and functions that make them for a source's transfers by the
/// number of flows plus the source's position.
type Objects = BTreeMap<usize, Py<PyAny>>;

/// Simulates a canonical scenario; releases the GIL if `algorithms` is empty.
///
/// `progress`, if given, is called about five times a second with the fraction done; if it returns false, `Cancelled`
/// is raised. `algorithms` are the objects of the flows whose algorithm is written in Python, by the flows' index, and
/// functions that make such objects for the transfers of a source, by the number of flows plus the source's position. The
/// run is limited to `memory` bytes. Raises `ValueError` (`path: message`) for a spec that cannot be run,
/// `CallbackError` for an exception in an algorithm, `MemoryLimitError` for a run that needs more memory, and
/// `EngineDefectError` for a defect of the engine.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None, algorithms=None, memory=u64::MAX))]
fn run<'py>(
    py: Python<'py>,
    spec_json: &str,
    progress: Option<Py<PyAny>>,
    algorithms: Option<Objects>,
    memory: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let spec = Spec::from_json(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    guarded(|| run_spec(py, &spec, progress.as_ref(), algorithms, memory))
        .map_err(|defect| EngineDefectError::new_err((defect.message, defect.place)))?
}

fn run_spec<'py>(
    py: Python<'py>,
    spec: &Spec,
    progress: Option<&Py<PyAny>>,
    algorithms: Option<Objects>,
    memory: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let certain = spec.memory_bytes() + ledger::KEPT_BYTES;
    if certain > memory {
        let (needed, limit) = (certain >> 20, memory >> 20);
        return Err(MemoryLimitError::new_err(format!(
            "memory: the run needs at least {needed} MiB, more than {limit} MiB"
        )));
    }
    let bound = MemoryBound::new(memory);
    let room = memory - spec.bytes_besides_transfers();
    let began = Instant::now();
    let mut watch = Watch::new(progress, &bound);
    let outcome = match algorithms {
        Some(objects) if !objects.is_empty() => simulate_own(py, spec, &objects, &mut watch, room)?,
        _ => py.detach(|| {
            let engine = Engine::while_wanted(spec.clone(), preferred_slice(spec), controllers(), || watch.layout());
            let engine = engine.map_err(|error| watch.raise(error))?;
            simulate(engine.limit_memory(room), &mut watch, || false)
        })?,
    };
    let wall = began.elapsed();
    let result = PyDict::new(py);
    // The tables of a hundred thousand flows take seconds, in which other threads look for signals.
    let (mut summary, batches) = py.detach(|| {
        let tables = tables::all(spec, &outcome).into_iter();
        (tables::summary(spec, &outcome), tables.map(|(name, table)| (name, batch(table))).collect::<Vec<_>>())
    });
    summary["wall_seconds_inside"] = wall.as_secs_f64().into();
    for (name, table) in batches {
        result.set_item(name, capsule_of(table, py)?)?;
    }
    result.set_item("summary", summary.to_string())?;
    Ok(result)
}

/// The tables that a backend's program wrote, by name. Raises `ValueError` for the content of another file.
#[pyfunction]
fn read_tables<'py>(py: Python<'py>, content: &[u8]) -> PyResult<BTreeMap<String, Bound<'py, PyAny>>> {
    let tables = elephan_tables::file::read(content).map_err(|e| PyValueError::new_err(e.to_string()))?;
    tables.into_iter().map(|(name, table)| Ok((name, capsule(table, py)?))).collect()
}

/// Checks for cancellation and memory during the layout and the run.
struct Watch<'a> {
    progress: Option<&'a Py<PyAny>>,
    bound: &'a MemoryBound,
    reported: Instant,
    raised: Option<PyErr>,
}

impl<'a> Watch<'a> {
    fn new(progress: Option<&'a Py<PyAny>>, bound: &'a MemoryBound) -> Self {
        Self { progress, bound, reported: Instant::now(), raised: None }
    }

    /// Calls the callback about five times a second, and lets Python handle a pending Ctrl-C.
    fn report(&mut self, now: Instant, fraction: f64) -> bool {
        if now.duration_since(self.reported) < REPORT_EVERY {
            return true;
        }
        self.reported = now;
        ask(self.progress, fraction).unwrap_or_else(|error| {
            self.raised = Some(error);
            false
        })
    }

    /// Checks the memory of the run.
    fn has_memory(&mut self) -> bool {
        if self.bound.is_exceeded() {
            let message = format!("memory: the run took more than {} MiB", self.bound.limit_mib());
            self.raised = Some(MemoryLimitError::new_err(message));
            return false;
        }
        true
    }

    /// Returns an error if the layout must stop.
    fn layout(&mut self) -> Result<(), RunError> {
        if self.report(Instant::now(), 0.0) { Ok(()) } else { Err(RunError::Cancelled(0.0)) }
    }

    /// The exception for the end of a run.
    fn raise(&mut self, error: RunError) -> PyErr {
        match error {
            RunError::Cancelled(_) => self.raised.take().unwrap_or_else(|| Cancelled::new_err("cancelled")),
            error @ RunError::Memory { .. } => MemoryLimitError::new_err(error.to_string()),
            error @ (RunError::Spec(_) | RunError::TooManyEvents { .. }) => PyValueError::new_err(error.to_string()),
        }
    }
}

/// Runs until the end, or until `stop` or `progress` stops the run or raises, or until the memory limit is reached.
/// These conditions are checked every few milliseconds, independently of the work in a slice.
fn simulate(engine: Engine, watch: &mut Watch<'_>, stop: impl Fn() -> bool) -> PyResult<Outcome> {
    let outcome = engine.run_reporting(Checks { watch, stop, pace: Pace::new(), fraction: 0.0 });
    outcome.map_err(|error| watch.raise(error))
}

/// The checks of a run in progress.
struct Checks<'a, 'b, F> {
    watch: &'a mut Watch<'b>,
    stop: F,
    pace: Pace,
    fraction: f64,
}

impl<F: Fn() -> bool> Supervisor for Checks<'_, '_, F> {
    fn after_slices(&mut self, fraction: f64) -> Option<u32> {
        self.fraction = fraction;
        let slices = self.pace.slices(Instant::now());
        self.within_slice().then_some(slices)
    }

    fn within_slice(&mut self) -> bool {
        !(self.stop)() && self.watch.has_memory() && self.watch.report(Instant::now(), self.fraction)
    }
}

/// Runs with a user's algorithms. With one in Python, the thread stays attached to the interpreter for the whole run: with
/// Reno in Python an ACK then takes 380 ns of CPU time, and 450 ns if each callback attaches anew. Attaching anew had no
/// measurable advantage for several simultaneous runs, since nearly all of the time is the interpreter's. Other threads
/// run inside the callbacks, where the interpreter switches threads every few milliseconds.
fn simulate_own(py: Python<'_>, spec: &Spec, objects: &Objects, watch: &mut Watch<'_>, room: u64) -> PyResult<Outcome> {
    let failure = Failure::default();
    let mut own: BTreeMap<usize, Box<dyn Algorithm + Send>> = BTreeMap::new();
    let flows: usize = spec.flows.iter().map(|flow| flow.count as usize).sum();
    let mut is_python = false;
    for (&index, given) in objects {
        let (given, is_source) = (given.bind(py), index >= flows);
        let made: Box<dyn Algorithm + Send> = match native::library(given, is_source)? {
            Some((path, values)) => Box::new(native::make(&path, values, index, failure.clone())?),
            None => {
                is_python = true;
                let make = if is_source { Own::of_source } else { Own::new };
                Box::new(make(given, index, failure.clone())?)
            }
        };
        own.insert(index, made);
    }
    let mut run = || {
        let make = |index: usize, flow: &elephan_sim::spec::FlowSpec| match own.remove(&index) {
            Some(own) => Ok(Controller::Custom(own)),
            None => controller(index, flow),
        };
        let engine = Engine::while_wanted(spec.clone(), preferred_slice(spec), make, || watch.layout())
            .map_err(|error| watch.raise(error))?
            .reporting_every(1)
            .limit_memory(room);
        simulate(engine, watch, || failure.get().is_some())
    };
    let outcome = if is_python { run() } else { py.detach(run) };
    let Some(raised) = failure.get() else { return outcome };
    let error = raised.error.clone_ref(py);
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Err(error); // an interrupt may arrive inside a callback, and is not the algorithm's error
    }
    let wrapped = CallbackError::new_err((raised.flow, raised.callback, raised.now));
    wrapped.set_cause(py, Some(error));
    Err(wrapped)
}

/// Calls the callback; false stops the run. Also lets Python handle a pending Ctrl-C, and other threads run: the thread that
/// ends a command after a signal must not wait for a run that holds the interpreter's lock.
fn ask(progress: Option<&Py<PyAny>>, fraction: f64) -> PyResult<bool> {
    Python::attach(|py| {
        py.detach(std::thread::yield_now);
        py.check_signals()?;
        progress.map_or(Ok(true), |callback| callback.call1(py, (fraction,))?.is_truthy(py))
    })
}

/// Raises `ValueError` (`path: message`) for a spec that cannot be run. Algorithms written in Python are not checked.
#[pyfunction]
fn check(spec_json: &str) -> PyResult<()> {
    let spec = Spec::read(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let checked = elephan_sim::queue::check_form(&spec.links).and_then(|()| check_algorithms(&spec));
    checked.map_err(|e| PyValueError::new_err(e.to_string()))
}

/// The memory that a canonical scenario is certain to need, bytes, with the allocator's share but without the growth of
/// windows and unbounded queues. Raises `ValueError` as `check` does.
#[pyfunction]
fn memory(spec_json: &str) -> PyResult<u64> {
    let spec = Spec::read(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(spec.memory_bytes() + ledger::KEPT_BYTES)
}

/// Quantiles recorded for each group of flows, from the smallest to the largest.
#[pyfunction]
fn quantiles() -> [f64; 7] {
    QUANTILES
}

/// Values at these quantiles, interpolated linearly; NaN without values. Values that are NaN are left out.
#[pyfunction]
fn spread(mut values: Vec<f64>) -> Spread {
    elephan_sim::crowd::spread(&mut values)
}

/// Time from a timer interrupt of a host with `hz` interrupts a second to the start of a run, ns.
#[pyfunction]
fn timer_phase_ns(seed: u64, hz: u32) -> u64 {
    elephan_sim::spec::timer_phase_ns(seed, hz)
}

/// Send buffer of each flow in Linux's accounting, bytes.
#[pyfunction]
fn send_buffers(spec_json: &str) -> PyResult<Vec<u64>> {
    let spec = Spec::from_json(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(spec.flows.iter().map(|flow| flow.send_buffer_bytes).collect())
}

/// Receive windows of each flow on a Linux host whose stack states none, at the start and after their growth, segments.
#[pyfunction]
fn receive_windows(spec_json: &str) -> PyResult<Vec<(u64, u64)>> {
    let spec = Spec::from_json(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(spec.flows.iter().map(|flow| spec.linux_windows(flow)).collect())
}

/// Key of the random stream `name` in a run with `seed`.
#[pyfunction]
fn stream_key(seed: u64, name: &str) -> u64 {
    elephan_sim::random::Stream::new(seed, name).key()
}

/// Every algorithm, as a JSON list.
#[pyfunction]
fn algorithms() -> String {
    sorted(describe::algorithms())
}

/// Every queue discipline, as a JSON list. The entry of a discipline that only one backend can run names the backend.
#[pyfunction]
fn queues() -> String {
    sorted(describe::queues())
}

/// JSON whose objects are in alphabetical order, as pages and `--json` list them.
fn sorted(mut document: serde_json::Value) -> String {
    document.sort_all_objects();
    document.to_string()
}

/// JSON Schema of the canonical form.
#[pyfunction]
fn schema() -> String {
    elephan_sim::spec::schema()
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// `elephan._engine`.
#[pymodule(gil_used = true)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ledger::prepare();
    module.add_function(wrap_pyfunction!(run, module)?)?;
    defects::listen();
    module.add_function(wrap_pyfunction!(read_tables, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(memory, module)?)?;
    module.add_function(wrap_pyfunction!(quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(spread, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::check_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::queue_form, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::counts_jiffies, module)?)?;
    module.add_function(wrap_pyfunction!(send_buffers, module)?)?;
    module.add_function(wrap_pyfunction!(receive_windows, module)?)?;
    module.add_function(wrap_pyfunction!(stream_key, module)?)?;
    module.add_function(wrap_pyfunction!(timer_phase_ns, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(queues, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(own::events, module)?)?;
    module.add_function(wrap_pyfunction!(native::check_library, module)?)?;
    module.add_function(wrap_pyfunction!(native::library_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(native::built_from, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::jain_index, module)?)?;
    module.add_function(wrap_pyfunction!(saved::parquet, module)?)?;
    module.add_function(wrap_pyfunction!(saved::digest, module)?)?;
    module.add_function(wrap_pyfunction!(saved::columns, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::impossible_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(saved::impossible_values, module)?)?;
    module.add_function(wrap_pyfunction!(captures::capture_connections, module)?)?;
    module.add_function(wrap_pyfunction!(captures::capture_packets, module)?)?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<environments::Environments>()?;
    module.add_function(wrap_pyfunction!(environments::step_names, module)?)?;
    module.add_class::<numbers::Numbers>()?;
    module.add_class::<replay::Replay>()?;
    module.add("UndefinedError", module.py().get_type::<numbers::UndefinedError>())?;
    module.add_class::<callbacks::PyAck>()?;
    module.add_class::<callbacks::PyDelivery>()?;
    module.add_class::<callbacks::PyLost>()?;
    module.add_class::<callbacks::PyRestart>()?;
    module.add_class::<callbacks::PySample>()?;
    module.add_class::<callbacks::PySent>()?;
    module.add_class::<callbacks::PySignal>()?;
    module.add_class::<callbacks::PyStart>()?;
    module.add("CaptureError", module.py().get_type::<captures::CaptureError>())?;
    module.add("CallbackError", module.py().get_type::<CallbackError>())?;
    module.add("EngineDefectError", module.py().get_type::<EngineDefectError>())?;
    module.add("ParameterError", module.py().get_type::<parameters::ParameterError>())?;
    module.add("MemoryLimitError", module.py().get_type::<MemoryLimitError>())?;
    module.add("Cancelled", module.py().get_type::<Cancelled>())
}
