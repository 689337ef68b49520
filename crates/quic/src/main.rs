//! `elephan-quic`: runs a canonical scenario with quinn's connections as its flows.
//!
//! ```text
//! elephan-quic run FOLDER     reads FOLDER/spec.json; writes the file `tables` and summary.json
//! there; each line on standard output is the simulated fraction elephan-quic qlog FOLDER    the same as run, and
//! writes quinn's own log of the flow at position N to FOLDER/N.sqlog elephan-quic check          reads a scenario from
//! standard input, and rejects it if it cannot be run
//! ```
//!
//! Exit status 2: the scenario cannot be run; standard error has one line, `field: reason`.

mod algorithms;
mod core;
mod ends;
#[cfg(test)]
mod exported;
#[cfg(all(test, feature = "s2n"))]
mod s2n_runs;
mod seeded;
mod session;
mod watch;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use elephan_sim::algorithms::{check_algorithms, controller};
use elephan_sim::engine::preferred_slice;
use elephan_sim::packet::BYTES_PER_PACKET;
use elephan_sim::record::sample_times;
use elephan_sim::spec::{FlowSpec, ForeignSpec};
use elephan_sim::tables;
use elephan_sim::{Engine, Outcome, RunError, Spec, SpecError, Time, Transport};

/// Interval of reports of the simulated fraction, wall time.
const REPORT_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::Run(error.into())
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [verb @ ("run" | "qlog"), folder, bytes] => match bytes.parse() {
            Ok(bytes) => run(Path::new(folder), verb == "qlog", bytes),
            Err(_) => Err(Failure::Io(std::io::Error::other("the memory is not a number of bytes"))),
        },
        ["check"] => check(),
        _ => {
            eprintln!("elephan-quic: expected 'run FOLDER BYTES', 'qlog FOLDER BYTES' or 'check'");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            match &error {
                // The engine counts packets, which are a small part of the memory.
                Failure::Run(RunError::Memory { at_s, .. }) => {
                    eprintln!(
                        "memory: datagrams on their way and quinn's records of them outgrew it, at {at_s} s of the run"
                    );
                }
                error => eprintln!("{error}"),
            }
            ExitCode::from(match error {
                Failure::Run(RunError::Spec(_)) => 2,
                Failure::Run(RunError::Memory { .. }) => 3,
                _ => 1,
            })
        }
    }
}

/// Memory of a datagram on its way, with its payload and quinn's record of it, bytes.
const DATAGRAM_BYTES: u64 = 2000;

/// Reads a scenario, at least one of whose flows uses QUIC.
fn read(text: &str) -> Result<Spec, Failure> {
    let mut spec = Spec::from_json(text)?;
    make_foreign(&mut spec);
    Ok(spec)
}

/// Tells the engine which flows are connections of quinn, and the sizes of their packets. These are the flows that name the
/// backend (if none does, those that name no other), and flows with a controller of a QUIC stack.
fn make_foreign(spec: &mut Spec) {
    let own = spec.flows.iter().any(|flow| flow.backend.as_deref() == Some("quic")).then_some("quic");
    let has_controller = |flow: &FlowSpec| matches!(flow.algorithm.split_once(':'), Some(("quinn" | "s2n", _)));
    let is_real = |flow: &FlowSpec| flow.backend.as_deref() == own || has_controller(flow);
    for flow in spec.flows.iter_mut().filter(|flow| !flow.datagrams && is_real(flow)) {
        let (smallest_bytes, largest_bytes) = algorithms::wire_bytes(flow);
        flow.foreign = Some(ForeignSpec { smallest_bytes, largest_bytes, hosted: false });
    }
}

fn check() -> Result<(), Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let spec = read(&text)?;
    spec.validate()?;
    for (index, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| flow.foreign.is_some()) {
        algorithms::chosen(index, flow, spec.seed)?;
    }
    Ok(check_algorithms(&spec)?)
}

fn run(folder: &Path, logged: bool, memory_bytes: u64) -> Result<(), Failure> {
    let spec = read(&std::fs::read_to_string(folder.join("spec.json"))?)?;
    seeded::seed(spec.seed);
    let began = Instant::now();
    let log = |(index, flow): (usize, &FlowSpec)| {
        let is_logged = logged && flow.foreign.is_some();
        is_logged.then(|| File::create(folder.join(format!("{index}.sqlog")))).transpose()
    };
    let logs = spec.flows.iter().enumerate().map(log).collect::<Result<_, _>>()?;
    let outcome = simulate(&spec, logs, memory_bytes)?;
    let wall = began.elapsed();
    elephan_tables::file::write(&folder.join("tables"), &tables::all(&spec, &outcome))?;
    let mut summary = tables::summary(&spec, &outcome);
    summary["wall_seconds_inside"] = wall.as_secs_f64().into();
    Ok(std::fs::write(folder.join("summary.json"), summary.to_string())?)
}

fn simulate(spec: &Spec, mut logs: Vec<Option<File>>, memory_bytes: u64) -> Result<Outcome, Failure> {
    let times = sample_times(
        Time(spec.sample_period_ps),
        Time(spec.measure.from_ps),
        Time(spec.measure.to_ps),
        Time(spec.duration_ps),
    );
    let engine = Engine::with_transports(spec.clone(), preferred_slice(spec), |index, flow| {
        if flow.foreign.is_none() {
            return Ok(Transport::Tcp(controller(index, flow)?));
        }
        let chosen = algorithms::chosen(index, flow, spec.seed)?;
        let log = logs.get_mut(index).and_then(Option::take);
        let [sender, receiver] = ends::ends_of(index, spec, flow, &times, chosen, log);
        Ok::<_, SpecError>(Transport::Foreign(sender, receiver))
    })?;
    let mut reported = Instant::now();
    // A datagram has a payload, and quinn keeps a record of it: the packet itself is a small part of its memory.
    let room_bytes = memory_bytes / DATAGRAM_BYTES * BYTES_PER_PACKET;
    let outcome = engine.limit_memory(room_bytes).run(|fraction| {
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            println!("{fraction}");
            return std::io::stdout().flush().is_ok(); // the caller has ended
        }
        true
    })?;
    Ok(outcome)
}
