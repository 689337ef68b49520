//! `elephan-linux`: runs a canonical scenario with a Linux guest as the host of its flows.
//!
//! ```text
//! elephan-linux run    in the guest's folder: reads spec.json and path.json, boots the guest, and is its clock and its network;
//!                      writes the file `tables` with the tables of the engine, and summary.json;
//!                      writes captures of the guest's frames if the plan asks for them
//! ```
//!
//! The tables have the flows that the engine simulates; the guest writes records of its own flows.
//! Exit status 2: the scenario cannot be run; standard error has one line, `field: reason`.

mod capture;
mod clock;
mod connections;
mod device;
mod frame;
mod guest;
mod host;
mod plan;
mod spin;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::PoisonError;

use elephan_sim::engine::preferred_slice;
use elephan_sim::tables;
use elephan_sim::{Engine, Outcome, RunError, Spec, SpecError, Transport};

use host::{Failure, LinuxHost};
use plan::Plan;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Guest(String),
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::Run(error.into())
    }
}

fn main() -> ExitCode {
    if std::env::args().skip(1).ne(["run".to_string()]) {
        eprintln!("elephan-linux: expected 'run'");
        return ExitCode::from(2);
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, Error::Run(RunError::Spec(_))) { 2 } else { 1 })
        }
    }
}

fn run() -> Result<(), Error> {
    let mut spec = Spec::from_json(&std::fs::read_to_string("spec.json")?)?;
    let plan: Plan = serde_json::from_slice(&std::fs::read("path.json")?)?;
    plan.stay()?;
    for flow in &plan.flows {
        let Some(foreign) = spec.flows.get_mut(flow.position).and_then(|flow| flow.foreign.as_mut()) else {
            return Err(Error::Guest(format!("flow {} has no sizes of its packets", flow.position)));
        };
        foreign.hosted = true;
    }
    spec.validate()?;
    let outcome = simulate(&spec, plan)?;
    elephan_tables::file::write(Path::new("tables"), &tables::all(&spec, &outcome))?;
    Ok(std::fs::write("summary.json", tables::summary(&spec, &outcome).to_string())?)
}

fn simulate(spec: &Spec, plan: Plan) -> Result<Outcome, Error> {
    let engine = Engine::with_transports(spec.clone(), preferred_slice(spec), |index, flow| {
        if flow.is_hosted() {
            return Ok(Transport::Hosted);
        }
        elephan_sim::algorithms::controller(index, flow).map(Transport::from)
    })?;
    let failure = Failure::default();
    let why = || failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let host = LinuxHost::boot(plan, failure.clone())?;
    let outcome =
        engine.with_host(Box::new(host)).run(|_| failure.lock().unwrap_or_else(PoisonError::into_inner).is_none());
    if let Some(why) = why() {
        return Err(Error::Guest(why));
    }
    Ok(outcome?)
}
