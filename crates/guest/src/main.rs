//! The first program of a Linux guest in virtual time.
//!
//! On the host, `elephan-guest launch PARENT PROGRAM ARGUMENT…` executes a program that ends with its parent. In the
//! guest, this program reads `/plan.json`, configures the path, runs the flows and programs, and writes `/log` and
//! `/result.json`, or `/error`. Then it shuts the guest down. As `confined FOLDER COMMAND ARGUMENT…` it becomes a program
//! of the user, which sees no more than [`view`] shows.

mod flows;
mod netlink;
mod path;
mod plan;
mod programs;
mod sys;
mod view;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::{self, process::CommandExt};
use std::process::Command;

use serde_json::json;

use path::{Path, at};
use plan::Plan;

fn run() -> io::Result<()> {
    sys::mount("proc", "/proc").map_err(at("/proc"))?;
    let plan: Plan = serde_json::from_slice(&fs::read("/plan.json")?).map_err(io::Error::other)?;
    let mut path = Path::lay(&plan)?;
    let (log, programs) = flows::run(&plan, &mut path)?;
    let bytes: Vec<u8> = log.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write("/log", bytes)?;
    let flows: Vec<_> =
        log.flows.iter().map(|(start, end)| [Some(*start), (*end < u64::MAX).then_some(*end)]).collect();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let result = json!({
        "flow_words": flows::FLOW_WORDS,
        "queue_words": flows::QUEUE_WORDS,
        "flows": flows,
        "programs": programs,
        "release": release.trim(),
        "warnings": kernel_warnings()?,
    });
    fs::write("/result.json", result.to_string())
}

/// Lines of the kernel's log that name a defect, if the kernel has found one (`Documentation/admin-guide/tainted-kernels.rst`).
fn kernel_warnings() -> io::Result<Vec<String>> {
    const BAD_PAGE: u64 = 1 << 5;
    const DIED: u64 = 1 << 7;
    const WARNED: u64 = 1 << 9;
    let tainted = fs::read_to_string("/proc/sys/kernel/tainted")?.trim().parse().unwrap_or(0);
    if tainted & (BAD_PAGE | DIED | WARNED) == 0 {
        return Ok(Vec::new());
    }
    let text = String::from_utf8_lossy(&sys::kernel_log()?).into_owned();
    let named = |line: &&str| ["WARNING:", "BUG:", "Oops", "refcount_t:"].iter().any(|word| line.contains(word));
    let found: Vec<String> = text.lines().filter(named).map(str::to_owned).collect();
    Ok(if found.is_empty() { vec![format!("the kernel is tainted: {tainted}")] } else { found })
}

/// Executes another program, which the kernel kills when the parent ends. Returns only with an error.
fn launch() -> String {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [verb, parent, program, rest @ ..] = words.as_slice() else {
        return "usage: elephan-guest launch PARENT PROGRAM [ARGUMENT...]".into();
    };
    let parent = parent.to_str().and_then(|parent| parent.parse().ok());
    if verb != "launch" || parent.is_none() {
        return "usage: elephan-guest launch PARENT PROGRAM [ARGUMENT...]".into();
    }
    sys::allow_counter();
    if let Err(error) = sys::die_with_parent() {
        return error.to_string();
    }
    // The parent may have ended before the request.
    if parent != Some(unix::process::parent_id()) {
        return "the parent has ended".into();
    }
    format!("{}: {}", program.to_string_lossy(), Command::new(program).args(rest).exec())
}

/// Becomes a program of the user. Returns only with an error.
fn confined(words: &[OsString]) -> String {
    let [folder, program, rest @ ..] = words else { return "no command".into() };
    let entered = sys::limit_process().and_then(|()| view::enter(&folder.to_string_lossy()));
    if let Err(error) = entered.and_then(|()| sys::become_ordinary()) {
        return error.to_string();
    }
    format!("{}: {}", program.to_string_lossy(), Command::new(program).args(rest).exec())
}

fn main() {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [verb, rest @ ..] = words.as_slice() {
        if verb == "confined" {
            eprintln!("{}", confined(rest));
            std::process::exit(127);
        }
    }
    if std::process::id() != 1 {
        eprintln!("elephan-guest: {}", launch());
        std::process::exit(2);
    }
    if let Err(error) = run() {
        // If the file cannot be written, the missing result shows that the guest failed.
        let _ = fs::write("/error", error.to_string());
    }
    sys::power_off()
}
