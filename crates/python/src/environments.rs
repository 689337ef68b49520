//! Runs whose flows are controlled in steps from outside, many at once: what an environment for learning needs.

use std::sync::{Mutex, PoisonError};

use elephan_cc::steering::{ACTIONS, FEATURE_NAMES, FEATURES, MEASURE_NAMES, MEASURES, Steered, Step};
use elephan_cc::{Algorithm, Controller};
use elephan_sim::algorithms::controllers;
use elephan_sim::engine::preferred_slice;
use elephan_sim::spec::FlowSpec;
use elephan_sim::{Engine, RunError, Spec, SpecError, Time};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::defects::{Defect, EngineDefectError, guarded};
use crate::exceptions::MemoryLimitError;

/// Intervals at which a run whose flows have not begun is looked at, in each RTT of the path.
const LOOKS_PER_RTT: u64 = 2;

/// Names of the features and of the measurements of a step, in their order.
#[pyfunction]
pub fn step_names() -> (Vec<&'static str>, Vec<&'static str>) {
    (FEATURE_NAMES.to_vec(), MEASURE_NAMES.to_vec())
}

/// A path on which runs take place.
struct Path {
    spec: Spec,
    /// Flows that are controlled from outside.
    agents: Vec<usize>,
    /// Time that no RTT of the agents is shorter than.
    quantum: Time,
}

/// A run in progress.
struct Run {
    engine: Engine,
    agents: Vec<usize>,
    /// Time from a timer interrupt of each agent's host to the start of the run.
    phases: Vec<Time>,
    quantum: Time,
    /// End of the last step.
    now: Time,
    end: Time,
}

/// Runs that are controlled in steps.
#[pyclass(frozen, module = "elephan._engine")]
pub struct Environments {
    paths: Vec<Path>,
    agents: usize,
    fixed: Option<f64>,
    paces: bool,
    memory: u64,
    count: usize,
    runs: Mutex<Vec<Option<Run>>>,
}

#[pymethods]
impl Environments {
    /// `count` runs on `paths`, canonical scenarios with the names of the flows to control. A step lasts `fixed` seconds, or
    /// an RTT. Each run is limited to `memory` bytes.
    #[new]
    fn new(
        paths: Vec<(String, Vec<String>)>,
        count: usize,
        fixed: Option<f64>,
        paces: bool,
        memory: u64,
    ) -> PyResult<Self> {
        let paths = paths.iter().map(|(form, agents)| Path::new(form, agents)).collect::<PyResult<Vec<_>>>()?;
        let agents = paths.first().map_or(0, |path| path.agents.len());
        if agents == 0 || paths.iter().any(|path| path.agents.len() != agents) {
            return Err(PyValueError::new_err("every path must have the same number of agents, at least one"));
        }
        if let Some(seconds) = fixed.filter(|seconds| !(*seconds > 0.0 && seconds.is_finite())) {
            return Err(PyValueError::new_err(format!("a step of {seconds} s is not allowed; it must be above 0 s")));
        }
        let runs = Mutex::new((0..count).map(|_| None).collect());
        Ok(Self { paths, agents, fixed, paces, memory, count, runs })
    }

    /// Begins a run anew on a path, and takes it to its first decision. The numbers of its agents are written to
    /// `features` and `measures`.
    fn reset(
        &self,
        py: Python<'_>,
        run: usize,
        path: usize,
        seed: u64,
        features: PyBuffer<f64>,
        measures: PyBuffer<f64>,
    ) -> PyResult<()> {
        let Some(path) = self.paths.get(path) else {
            return Err(PyValueError::new_err(format!("there is no path {path}; there are {}", self.paths.len())));
        };
        if run >= self.count {
            return Err(PyValueError::new_err(format!("there is no run {run}; there are {}", self.count)));
        }
        let steps = py.detach(|| {
            guarded(|| {
                let mut begun = path.begin(seed, self)?;
                let steps = begun.first_step()?;
                self.runs.lock().unwrap_or_else(PoisonError::into_inner)[run] = Some(begun);
                Ok::<_, RunError>(steps)
            })
        });
        let steps = steps.map_err(defect)?.map_err(told)?;
        write(py, &features, self.agents * FEATURES, &steps, |step| &step.features)?;
        write(py, &measures, self.agents * MEASURES, &steps, |step| &step.measures)
    }

    /// Takes all runs one step further. `actions` has the actions of each run's agents; `features` and `measures` take the
    /// numbers of the step, and `over` whether the run has ended.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyBuffer<f64>,
        features: PyBuffer<f64>,
        measures: PyBuffer<f64>,
        over: PyBuffer<u8>,
    ) -> PyResult<()> {
        let controls = if self.paces { ACTIONS } else { 1 };
        let agents = self.count * self.agents;
        let given = actions.to_vec(py)?;
        if given.len() != agents * controls {
            let (got, want) = (given.len(), agents * controls);
            return Err(PyValueError::new_err(format!("actions have {got} numbers; {want} are needed")));
        }
        if let Some(wrong) = given.iter().find(|action| !(-1.0..=1.0).contains(*action)) {
            return Err(PyValueError::new_err(format!("an action is {wrong}; it must be from -1 to 1")));
        }
        let taken = py.detach(|| {
            // Locked without the interpreter's lock, which another thread may hold while it waits for this one.
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            guarded(|| step_all(&mut runs, &given, controls, self))
        });
        let (steps, ended) = taken.map_err(defect)??;
        write(py, &features, agents * FEATURES, &steps, |step| &step.features)?;
        write(py, &measures, agents * MEASURES, &steps, |step| &step.measures)?;
        over.copy_from_slice(py, &ended)
    }
}

/// Takes each run one step further. Returns the steps of all agents, and which runs have ended.
fn step_all(
    runs: &mut [Option<Run>],
    actions: &[f64],
    controls: usize,
    all: &Environments,
) -> PyResult<(Vec<Step>, Vec<u8>)> {
    let (mut steps, mut over) = (Vec::with_capacity(runs.len() * all.agents), Vec::with_capacity(runs.len()));
    for (place, own) in runs.iter_mut().zip(actions.chunks_exact(all.agents * controls)) {
        let Some(run) = place else { return Err(PyValueError::new_err("a run has not begun; call reset first")) };
        for (agent, action) in own.chunks_exact(controls).enumerate() {
            run.steered(agent).choose([action[0], action.get(1).copied().unwrap_or(0.0)]);
        }
        match run.step(all.fixed) {
            Ok(taken) => steps.extend(taken),
            Err(error) => {
                *place = None; // it cannot go on
                return Err(told(error));
            }
        }
        over.push(u8::from(run.now >= run.end));
    }
    Ok((steps, over))
}

impl Path {
    fn new(form: &str, agents: &[String]) -> PyResult<Self> {
        let spec = Spec::from_json(form).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let place = |name: &String| {
            let found = spec.flows.iter().position(|flow| flow.name == *name);
            let found = found.filter(|&at| !spec.flows[at].datagrams && !spec.flows[at].is_udt());
            found.ok_or_else(|| PyValueError::new_err(format!("'{name}' is not a TCP flow of the scenario")))
        };
        let agents = agents.iter().map(place).collect::<PyResult<Vec<_>>>()?;
        let delay = |links: &[usize]| links.iter().map(|&link| spec.links[link].delay_ps).sum::<u64>();
        let rtt = |&agent: &usize| delay(&spec.flows[agent].path) + delay(&spec.flows[agent].reverse_path);
        let shortest = agents.iter().map(rtt).min().unwrap_or(0);
        let quantum = Time((shortest / LOOKS_PER_RTT).max(Time::MICROSECOND.0));
        Ok(Self { spec, agents, quantum })
    }

    fn begin(&self, seed: u64, all: &Environments) -> Result<Run, RunError> {
        let spec = self.spec.clone().with_seed(seed);
        let mut others = controllers();
        let make = |index: usize, flow: &FlowSpec| {
            if self.agents.contains(&index) {
                return Ok(Controller::Custom(Box::new(Steered::new(all.fixed, all.paces))));
            }
            others(index, flow)
        };
        let phases = self.agents.iter().map(|&agent| spec.flows[agent].stack.phase).collect();
        let end = Time(spec.duration_ps);
        let room = all.memory.saturating_sub(spec.bytes_besides_transfers());
        let slice = preferred_slice(&spec);
        let engine = Engine::with_transports(spec, slice, make)?.limit_memory(room);
        Ok(Run { engine, agents: self.agents.clone(), phases, quantum: self.quantum, now: Time::ZERO, end })
    }
}

impl Run {
    fn steered(&mut self, agent: usize) -> &mut Steered {
        let found = self.engine.algorithm(self.agents[agent]);
        let own = found.and_then(Controller::as_any).and_then(|any| any.downcast_mut());
        own.expect("the algorithm of an agent is steered: Path::begin made it")
    }

    /// Time of the run at which an agent's clock shows `seconds`.
    fn time_of(&self, agent: usize, seconds: f64) -> Time {
        Time((seconds * 1e12).ceil() as u64).since(self.phases[agent])
    }

    /// Runs until the first agent has finished its first step.
    fn first_step(&mut self) -> Result<Vec<Step>, RunError> {
        loop {
            let begun = (0..self.agents.len()).filter_map(|agent| {
                let ends = self.steered(agent).steering.ends()?;
                Some(self.time_of(agent, ends))
            });
            if let Some(until) = begun.min() {
                self.go_to(until)?;
                return Ok(self.close());
            }
            if self.now >= self.end {
                let message = "ends before an agent has received an ACK";
                return Err(RunError::Spec(SpecError::new("duration", message.to_owned())));
            }
            self.go_to(self.now.later(self.quantum))?;
        }
    }

    /// Runs until the step is over: a single agent's once an ACK has arrived, and that of several after the longest of
    /// their steps.
    fn step(&mut self, fixed: Option<f64>) -> Result<Vec<Step>, RunError> {
        if self.agents.len() > 1 {
            let longest = (0..self.agents.len()).map(|agent| self.steered(agent).steering.srtt()).fold(0.0, f64::max);
            self.go_to(self.now.later(Time::from_seconds(fixed.unwrap_or(longest)).max(Time(1))))?;
            return Ok(self.close());
        }
        while self.now < self.end {
            let Some(ends) = self.steered(0).steering.ends() else { break };
            self.go_to(self.time_of(0, ends))?;
            // An ACK that is there makes this the end; otherwise the step is extended.
            if self.steered(0).steering.is_over(ends) {
                break;
            }
        }
        Ok(self.close())
    }

    fn go_to(&mut self, until: Time) -> Result<(), RunError> {
        self.now = until.min(self.end);
        self.engine.advance_to(self.now).map(drop)
    }

    /// Ends the step of each agent, and gives its times as those of the run.
    fn close(&mut self) -> Vec<Step> {
        let (now, count) = (self.now, self.agents.len());
        let close = |agent: usize| {
            let phase = self.phases[agent];
            let steering = &mut self.steered(agent).steering;
            // The end as the agent's own clock has it, unless several share a step or the run has ended before.
            let own = steering.ends().filter(|_| count == 1).unwrap_or(f64::INFINITY);
            let mut step = steering.close(now.later(phase).seconds().min(own));
            step.measures[0] = now.seconds();
            step
        };
        (0..count).map(close).collect()
    }
}

fn defect(defect: Defect) -> PyErr {
    EngineDefectError::new_err((defect.message, defect.place))
}

fn told(error: RunError) -> PyErr {
    match error {
        error @ RunError::Memory { .. } => MemoryLimitError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Writes numbers of steps to an array, which must have `count` of them.
fn write<const N: usize>(
    py: Python<'_>,
    array: &PyBuffer<f64>,
    count: usize,
    steps: &[Step],
    numbers: impl Fn(&Step) -> &[f64; N],
) -> PyResult<()> {
    if array.item_count() != count {
        let got = array.item_count();
        return Err(PyValueError::new_err(format!("an array has {got} numbers; {count} are needed")));
    }
    let flat: Vec<f64> = steps.iter().flat_map(|step| numbers(step).iter().copied()).collect();
    array.copy_from_slice(py, &flat)
}
