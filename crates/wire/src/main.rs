//! `elephan-wire`: the programs of the kernel backend. `link` is the emulated path, `send` and `receive` are the hosts
//! at its ends. The Python package makes the namespaces and devices, writes the plan, and starts one process of each
//! program.

mod connection;
mod diag;
mod emulator;
mod frame;
mod host;
mod info;
mod lateness;
mod link;
mod plan;
mod port;
mod route;
mod start;
mod sys;
mod watched;

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::plan::{Plan, Problem, doing};
use crate::route::Route;

const USAGE: &str = "elephan-wire link|send|receive PLAN LOG PARENT DEVICE [DEVICE]; \
     elephan-wire watch PLAN LOG PARENT PEER; elephan-wire offload|probe DEVICE; elephan-wire reserve; \
     elephan-wire route DEVICE TO FROM CONGESTION-CONTROL";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("elephan-wire: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Problem> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["offload", device] => sys::switch_offloads_off(device).map_err(doing("offloads")),
        ["route", device, to, from, congestion] => set_route(device, to, from, congestion),
        ["watch", plan, log, parent, peer] => work(plan, log, parent, |plan| host::watch_peer(&plan, address(peer)?)),
        ["probe", device] => port::Port::open(device, 1514, 64).map(drop).map_err(doing("a packet socket")),
        ["reserve"] => {
            sys::reserve_processor(link::RESERVED_NS.0, link::RESERVED_NS.1).map_err(doing("SCHED_DEADLINE"))
        }
        ["link", plan, log, parent, left, right] => work(plan, log, parent, |plan| link::run(&plan, [left, right])),
        ["send", plan, log, parent, device] => work(plan, log, parent, |plan| host::send(&plan, device)),
        ["receive", plan, log, parent, device] => work(plan, log, parent, |plan| host::receive(&plan, device)),
        _ => Err(Problem::Usage(USAGE.into())),
    }
}

fn address(text: &str) -> Result<Ipv4Addr, Problem> {
    text.parse().map_err(|_| Problem::Usage(format!("'{text}' is not an IPv4 address")))
}

/// Sets a route whose connections have a given congestion control, and time stamps in µs if the kernel supports them.
fn set_route(device: &str, to: &str, from: &str, congestion: &str) -> Result<(), Problem> {
    let index = sys::device_index(device).map_err(doing(device))?;
    let (to, from, congestion) = (address(to)?, address(from)?, Some(congestion));
    let route = Route { to, from, device: index, initial_window: None, congestion, microseconds: true };
    let coarse = Route { microseconds: false, ..route };
    route.set().or_else(|_| coarse.set()).map_err(doing(format!("a route to {to}")))
}

fn work(
    plan: &str,
    log: &str,
    parent: &str,
    what: impl FnOnce(Arc<Plan>) -> Result<serde_json::Value, Problem>,
) -> Result<(), Problem> {
    let parent = parent.parse().map_err(|_| Problem::Usage(USAGE.into()))?;
    sys::die_with(parent).map_err(doing("parent"))?;
    sys::prepare_process().map_err(doing("signals"))?;
    let plan = Arc::new(Plan::load(Path::new(plan))?);
    let document = what(plan)?;
    write(&PathBuf::from(log), &document).map_err(doing(log))
}

fn write(path: &Path, document: &serde_json::Value) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    serde_json::to_writer(&mut file, document)?;
    file.flush()
}
