//! The first program of a Linux guest in virtual time.
//!
//! It reads `/plan.json`, lays the path, runs the flows, and writes `/log` and `/result.json`, or `/error`. Then it ends the guest.

mod flows;
mod netlink;
mod path;
mod plan;
mod sys;

use std::fs;
use std::io;

use serde_json::json;

use path::{Path, at};
use plan::Plan;

fn run() -> io::Result<()> {
    sys::mount("proc", "/proc").map_err(at("/proc"))?;
    let plan: Plan = serde_json::from_slice(&fs::read("/plan.json")?).map_err(io::Error::other)?;
    let mut path = Path::lay(&plan)?;
    let log = flows::run(&plan, &mut path)?;
    let bytes: Vec<u8> = log.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write("/log", bytes)?;
    let flows: Vec<_> = log.flows.iter().map(|(start, end)| [Some(*start), (*end < u64::MAX).then_some(*end)]).collect();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let result = json!({
        "flow_words": flows::FLOW_WORDS,
        "queue_words": flows::QUEUE_WORDS,
        "flows": flows,
        "release": release.trim(),
    });
    fs::write("/result.json", result.to_string())
}

fn main() {
    if std::process::id() != 1 {
        eprintln!("elephan-guest is the first program of a guest, and does nothing elsewhere");
        std::process::exit(2);
    }
    if let Err(error) = run() {
        // If the file cannot be written, the missing result says that the guest failed.
        let _ = fs::write("/error", error.to_string());
    }
    sys::power_off()
}
