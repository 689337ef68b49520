//! Start and end of a run, which the parent requests on standard input.

use std::io::{BufRead, Write, stdin, stdout};
use std::thread;

use crate::plan::{Problem, doing};
use crate::sys;

/// Reports to the parent that this program is ready, and waits for the start time, ns of the monotonic clock.
/// Afterwards the end of standard input requests a stop.
pub(crate) fn started() -> Result<i64, Problem> {
    writeln!(stdout(), "ready").and_then(|()| stdout().flush()).map_err(doing("standard output"))?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(doing("standard input"))?;
    let started_ns = line.trim().parse().map_err(|_| Problem::Usage("no start time in the first line".into()))?;
    thread::spawn(|| {
        let mut rest = String::new();
        while stdin().lock().read_line(&mut rest).is_ok_and(|read| read > 0) {}
        sys::ask_to_stop();
    });
    Ok(started_ns)
}
