//! Start and end of a run, as the parent asks for them on the standard input.

use std::io::{BufRead, Write, stdin, stdout};
use std::thread;

use crate::plan::{Problem, doing};
use crate::sys;

/// Tells the parent that this program is ready, and waits for the instant of the beginning, in ns of the monotonic clock. From
/// then on the end of the standard input asks to stop.
pub(crate) fn started() -> Result<i64, Problem> {
    writeln!(stdout(), "ready").and_then(|()| stdout().flush()).map_err(doing("standard output"))?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(doing("standard input"))?;
    let started_ns = line.trim().parse().map_err(|_| Problem::Usage("no time to start at".into()))?;
    thread::spawn(|| {
        let mut rest = String::new();
        while stdin().lock().read_line(&mut rest).is_ok_and(|read| read > 0) {}
        sys::ask_to_stop();
    });
    Ok(started_ns)
}
