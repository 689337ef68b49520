//! The engine for the browser: it takes a canonical scenario and returns the tables of its run.
//!
//! An instance of the module holds one run. The caller of the module, a worker of a page, writes a scenario to the
//! address that [`elephan_input`] returns, calls [`elephan_begin`], and then [`elephan_advance`] until the run ends.
//! Between two calls the caller may begin another scenario instead. The output is at the address [`elephan_output`]
//! with the length [`elephan_output_length`], in the form of [`answer`]. After a trap, which is a defect of the engine,
//! the output is the panic's message, and the instance must be discarded.

mod answer;

use std::cell::RefCell;
use std::collections::BTreeMap;

use elephan_sim::{Engine, Spec, queue, tables};
use serde_json::json;

/// Memory limit of a run, bytes: an instance can have 4 GiB, but the memory of a browser's tab is smaller.
const MEMORY: u64 = 1 << 30;

/// Result of a call: the run is at its end.
const DONE: i32 = 0;
/// Result of a call: the run is not at its end.
const MORE: i32 = 1;
/// Result of a call: the input was refused, or there is no run; the output has the reason.
const REFUSED: i32 = 2;

struct Run {
    spec: Spec,
    engine: Engine,
}

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

fn put_out(bytes: Vec<u8>) {
    OUTPUT.with_borrow_mut(|output| *output = bytes);
}

fn refuse(message: &str) -> i32 {
    put_out(message.as_bytes().to_vec());
    REFUSED
}

/// Allocates `bytes` for a scenario. Returns the address.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_input(bytes: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(bytes, 0);
        input.as_mut_ptr()
    })
}

/// Address of the last output.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Length of the last output, bytes.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_output_length() -> usize {
    OUTPUT.with_borrow(Vec::len)
}

/// Writes the default parameters of a queue in the canonical form, as JSON, to the output. The input is the queue's
/// kind; the arguments are the link's rate and the size of its largest data packets. Returns [`DONE`] or [`REFUSED`].
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_queue_form(rate_bps: f64, packet_bytes: u32) -> i32 {
    let kind = INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned());
    match queue::form(&kind, BTreeMap::new(), rate_bps as u64, u64::from(packet_bytes)) {
        Ok(form) => {
            put_out(serde_json::Value::Object(form).to_string().into_bytes());
            DONE
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// Lays out the run of the scenario in the input; this run replaces the last run. Returns [`MORE`], or [`REFUSED`] with
/// one line in the output.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_begin() -> i32 {
    std::panic::set_hook(Box::new(|info| put_out(info.to_string().into_bytes())));
    RUN.set(None);
    match INPUT.with_borrow(|input| lay_out(input)) {
        Ok(run) => {
            RUN.set(Some(run));
            MORE
        }
        Err(message) => refuse(&message),
    }
}

fn lay_out(input: &[u8]) -> Result<Run, String> {
    let text = std::str::from_utf8(input).map_err(|error| error.to_string())?;
    let spec = Spec::from_json(text).map_err(|error| error.to_string())?;
    let certain = spec.memory_bytes();
    if certain > MEMORY {
        return Err(format!("the run needs at least {} MiB, more than {} MiB", certain >> 20, MEMORY >> 20));
    }
    let engine = Engine::new(spec.clone()).map_err(|error| error.to_string())?;
    let engine = engine.limit_memory(MEMORY - spec.bytes_besides_transfers());
    Ok(Run { spec, engine })
}

/// Runs for at most `slices` slices. Returns [`DONE`], [`MORE`], or [`REFUSED`] with one line in the output.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_advance(slices: u32) -> i32 {
    let went_on = RUN.with_borrow_mut(|run| run.as_mut().map(|run| run.engine.advance(slices)));
    match went_on {
        Some(Ok(true)) => MORE,
        Some(Ok(false)) => DONE,
        Some(Err(error)) => refuse(&error.to_string()),
        None => refuse("there is no run"),
    }
}

/// Fraction of the run that is done.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_fraction() -> f64 {
    RUN.with_borrow(|run| run.as_ref().map_or(0.0, |run| run.engine.fraction()))
}

/// Writes the samples so far to the output: the tables `samples` and `links`.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_so_far() -> i32 {
    RUN.with_borrow_mut(|run| {
        let Some(Run { spec, engine }) = run else { return refuse("there is no run") };
        let outcome = engine.so_far();
        let parts = vec![("samples", tables::samples(spec, &outcome)), ("links", tables::links(spec, &outcome))];
        put_out(answer::bytes(parts, json!({})));
        MORE
    })
}

/// Ends a complete run: writes its tables and its summary to the output, and drops the run.
#[allow(unsafe_code, reason = "the page finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn elephan_finish() -> i32 {
    let Some(Run { spec, engine }) = RUN.take() else { return refuse("there is no run") };
    let outcome = engine.finish();
    put_out(answer::bytes(tables::all(&spec, &outcome), tables::summary(&spec, &outcome)));
    DONE
}
