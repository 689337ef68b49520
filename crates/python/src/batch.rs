//! Many runs of which only metrics are wanted: threads of their own run them, without the interpreter.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use elephan_cc::Controller;
use elephan_metrics::{Ask, Data, Metric, MetricError, Scope, Value, impossible_numbers, metric, recorded_links};
use elephan_native::load;
use elephan_sim::algorithms::{controller, parameters};
use elephan_sim::engine::{Supervisor, preferred_slice};
use elephan_sim::spec::FlowSpec;
use elephan_sim::{Engine, RunError, Spec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::defects::{Defect, guarded};
use crate::ledger::{self, MemoryBound};
use crate::pace::Pace;

/// Time after which a thread that waits for memory looks whether the batch was stopped.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A number, or the reason why it is missing.
type Cell = Result<f64, String>;

/// A number of a run: the position of its metric, the flow or link that it describes, and its value.
type Entry = (usize, Option<String>, Cell);

/// Kind and text of a failure.
type Failed = (&'static str, String);

/// A finished run: its number, the engine's time in s, and its numbers or the reason of its failure.
type Done = (u64, f64, Result<Vec<Entry>, Failed>);

/// A run to make: its number, its canonical scenario, and the libraries of a user's algorithms by the flow's index, or by
/// the number of flows plus the source's position.
type Work = (u64, String, Libraries);

type Libraries = BTreeMap<usize, PathBuf>;

/// Limit on the memory of all runs together, shared as in `backends/memory.py`.
struct Memory {
    limit: u64,
    /// Share of a run as a multiple of the memory that it certainly needs.
    headroom: f64,
    runs: u64,
}

/// Work and results of the threads.
#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    done: VecDeque<Done>,
    stopped: bool,
    /// Memory reserved by runs, bytes.
    taken: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    metrics: Vec<&'static Metric>,
    memory: Memory,
}

/// Runs of a batch. [`Batch::submit`] hands over a canonical scenario, and [`Batch::collect`] returns finished runs.
#[pyclass(frozen, module = "elephan._engine")]
pub struct Batch {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[pymethods]
impl Batch {
    /// `memory` limits all runs together, bytes; `headroom` is the share of a run as a multiple of its estimate.
    #[new]
    fn new(metrics: Vec<String>, jobs: usize, memory: u64, headroom: f64) -> PyResult<Self> {
        let found = |name: &String| {
            metric(name).ok_or_else(|| PyValueError::new_err(format!("'{name}' is not a metric of the engine")))
        };
        let metrics = metrics.iter().map(found).collect::<PyResult<Vec<_>>>()?;
        let memory = Memory { limit: memory, headroom, runs: jobs.max(1) as u64 };
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), metrics, memory });
        let serve = |_| {
            let shared = shared.clone();
            std::thread::Builder::new().name("elephan-batch".to_owned()).spawn(move || shared.serve())
        };
        let threads = (0..jobs.max(1)).map(serve).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { shared, threads: Mutex::new(threads) })
    }

    /// Hands over a run, with the libraries of a user's algorithms by the flow's index, or by the number of flows plus the
    /// source's position.
    #[pyo3(signature = (number, spec_json, libraries=Libraries::new()))]
    fn submit(&self, number: u64, spec_json: String, libraries: Libraries) {
        self.shared.lock().waiting.push_back((number, spec_json, libraries));
        // All, since a thread that collects may wait too, and could be the one that is woken.
        self.shared.changed.notify_all();
    }

    /// Finished runs; waits until there is one, for at most `timeout_s`. Releases the GIL.
    fn collect(&self, py: Python<'_>, timeout_s: f64) -> Vec<PyDone> {
        let done = py.detach(|| {
            let until = Instant::now() + Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
            let mut state = self.shared.lock();
            while state.done.is_empty() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = wait(&self.shared.changed, state, left);
            }
            std::mem::take(&mut state.done)
        });
        let row = |(number, seconds, found): Done| match found {
            Ok(entries) => (number, seconds, None, entries.into_iter().map(py_entry).collect()),
            Err(failed) => (number, seconds, Some(failed), Vec::new()),
        };
        done.into_iter().map(row).collect()
    }

    /// Stops all runs, and waits for the threads: for some ms.
    fn stop(&self, py: Python<'_>) {
        let mut state = self.shared.lock();
        state.stopped = true;
        drop(state);
        self.shared.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        py.detach(|| {
            for thread in threads {
                let _ = thread.join(); // a panic was reported as the defect of its run
            }
        });
    }
}

/// A finished run for Python: its number, the engine's time in s, its failure, and its numbers.
type PyDone = (u64, f64, Option<Failed>, Vec<PyEntry>);

/// An entry for Python: position of the metric, flow or link, value, and the reason for a missing value.
type PyEntry = (usize, Option<String>, f64, Option<String>);

fn py_entry((place, of, cell): Entry) -> PyEntry {
    match cell {
        Ok(value) => (place, of, value, None),
        Err(why) => (place, of, f64::NAN, Some(why)),
    }
}

fn wait<'s>(changed: &Condvar, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
    changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread: runs until the batch is stopped.
    fn serve(&self) {
        while let Some((number, spec_json, libraries)) = self.next() {
            let begun = Instant::now();
            let mut engine_s = 0.0;
            let found = guarded(|| self.run(&spec_json, &libraries, &mut engine_s))
                .unwrap_or_else(|Defect { message, place }| Err(("defect", format!("{message} ({place})"))));
            let seconds = if found.is_ok() { engine_s } else { begun.elapsed().as_secs_f64() };
            self.lock().done.push_back((number, seconds, found));
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(work) = state.waiting.pop_front() {
                return Some(work);
            }
            state = wait(&self.changed, state, Duration::from_secs(3600));
        }
    }

    /// The numbers of a run within a share of the memory; if the share is not enough, the run is repeated alone with all
    /// of the memory.
    fn run(&self, spec_json: &str, libraries: &Libraries, engine_s: &mut f64) -> Result<Vec<Entry>, Failed> {
        let spec = Spec::from_json(spec_json).map_err(|error| ("scenario", error.to_string()))?;
        let certain = spec.memory_bytes() + ledger::KEPT_BYTES;
        if certain > self.memory.limit {
            return Err(("needs", (certain >> 20).to_string()));
        }
        for alone in [false, true] {
            let share = self.reserve(certain, alone)?;
            let found = self.run_within(&spec, libraries, share, engine_s);
            self.lock().taken -= share;
            self.changed.notify_all();
            match found {
                Err(("memory", _)) if share < self.memory.limit => {}
                found => return found,
            }
        }
        Err(("memory", "memory: the run outgrew it".to_owned()))
    }

    /// Reserves a share of the memory, or all of it; waits until it is free.
    fn reserve(&self, certain: u64, alone: bool) -> Result<u64, Failed> {
        let Memory { limit, headroom, runs } = self.memory;
        let wanted = if alone { limit } else { limit.min((limit / runs).max((headroom * certain as f64) as u64)) };
        let mut state = self.lock();
        while state.taken > 0 && state.taken + wanted > limit {
            if state.stopped {
                return Err(cancelled());
            }
            state = wait(&self.changed, state, LOOK_AGAIN);
        }
        state.taken += wanted;
        Ok(wanted)
    }

    fn run_within(
        &self,
        spec: &Spec,
        libraries: &Libraries,
        share: u64,
        engine_s: &mut f64,
    ) -> Result<Vec<Entry>, Failed> {
        let bound = MemoryBound::new(share);
        let room = share - spec.bytes_besides_transfers().min(share);
        let begun = Instant::now();
        let stopped = || self.lock().stopped;
        let go_on = || if stopped() { Err(RunError::Cancelled(0.0)) } else { Ok(()) };
        let failure: Failure = Failure::default();
        let mut own = loaded(spec, libraries, &failure)?;
        let make = |index: usize, flow: &FlowSpec| own.remove(&index).map_or_else(|| controller(index, flow), Ok);
        let engine = Engine::while_wanted(spec.clone(), preferred_slice(spec), make, go_on).map_err(told)?;
        let over = || stopped() || failure.get().is_some();
        let mut limits = Limits { bound: &bound, stopped: over, pace: Pace::new(), full: false };
        let outcome = engine.limit_memory(room).run_reporting(&mut limits);
        if limits.full {
            return Err(("memory", format!("memory: the run took more than {} MiB", bound.limit_mib())));
        }
        if let Some(text) = failure.get() {
            return Err(("algorithm", text.clone()));
        }
        let outcome = outcome.map_err(told)?;
        *engine_s = begun.elapsed().as_secs_f64();
        let data = Data::of_outcome(spec, &outcome);
        let broken = impossible_numbers(&data, 0.0).map_err(|error| ("defect", error.to_string()))?;
        if let Some(broken) = broken.into_iter().next() {
            return Err(("defect", broken));
        }
        let mut entries = Vec::new();
        for (place, metric) in self.metrics.iter().enumerate() {
            add_entries(&mut entries, place, metric, &data);
        }
        Ok(entries)
    }
}

/// The first failure of a user's algorithm in a run, as a JSON list: the flow's index, the callback, the time in s, and
/// the reason.
type Failure = Arc<OnceLock<String>>;

/// The flow of an index, which counts the flows of a group, or the source by the number of flows plus its position.
fn stated(spec: &Spec, index: usize) -> Option<&FlowSpec> {
    let mut left = index;
    for flow in &spec.flows {
        let count = flow.count as usize;
        if left < count {
            return Some(flow);
        }
        left -= count;
    }
    spec.traffic.get(left).map(|source| &source.flow)
}

/// The algorithms of libraries.
fn loaded(spec: &Spec, libraries: &Libraries, failure: &Failure) -> Result<BTreeMap<usize, Controller>, Failed> {
    let one = |(&index, path): (&usize, &PathBuf)| {
        let failure = failure.clone();
        let report = move |callback, now, why| {
            // Only the first failure counts; no callback is called after it.
            let _ = failure.set(serde_json::json!([index, callback, now, why]).to_string());
        };
        let values = stated(spec, index).map(parameters).unwrap_or_default();
        let made = load(path, &values, Arc::new(report)).map_err(|error| ("scenario", error.to_string()))?;
        Ok((index, Controller::Custom(Box::new(made))))
    };
    libraries.iter().map(one).collect()
}

/// The limits of a run of a batch: its memory, and the end of the batch.
struct Limits<'a, F> {
    bound: &'a MemoryBound,
    stopped: F,
    pace: Pace,
    full: bool,
}

impl<F: Fn() -> bool> Supervisor for &mut Limits<'_, F> {
    fn after_slices(&mut self, _: f64) -> Option<u32> {
        let slices = self.pace.slices(Instant::now());
        (self.within_slice() && !(self.stopped)()).then_some(slices)
    }

    fn within_slice(&mut self) -> bool {
        self.full = self.bound.is_exceeded();
        !self.full
    }
}

fn cancelled() -> Failed {
    ("cancelled", "the batch was stopped".to_owned())
}

/// The failure that an error of the engine stands for.
fn told(error: RunError) -> Failed {
    match error {
        RunError::Cancelled(_) => cancelled(),
        error @ RunError::Memory { .. } => ("memory", error.to_string()),
        error @ (RunError::Spec(_) | RunError::TooManyEvents { .. }) => ("scenario", error.to_string()),
    }
}

/// Adds the numbers of a metric: one of the run, one of each flow, or one of the bottleneck and one of each recorded link
/// if there are several.
fn add_entries(entries: &mut Vec<Entry>, place: usize, metric: &Metric, data: &Data) {
    let why = |error: MetricError| error.to_string();
    match metric.value(data, &Ask::default()) {
        Ok(Value::Number(number)) => entries.push((place, None, Ok(number))),
        Ok(Value::Flows(flows)) => {
            entries.extend(flows.into_iter().map(|(name, number)| (place, Some(name), Ok(number))));
        }
        Err(error) => entries.push((place, None, Err(why(error)))),
    }
    if metric.scope() != Scope::Link {
        return;
    }
    let links = recorded_links(data).unwrap_or_default();
    if links.len() < 2 {
        return;
    }
    for link in links {
        let found = metric.value(data, &Ask { link: Some(&link), ..Ask::default() });
        let cell = match found {
            Ok(Value::Number(number)) => Ok(number),
            Ok(Value::Flows(_)) => Ok(f64::NAN),
            Err(error) => Err(why(error)),
        };
        entries.push((place, Some(link), cell));
    }
}
