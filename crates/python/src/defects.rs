//! Panics of the engine. A panic is reported as a defect, with its place in the source, and ends only its run.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    elephan._engine,
    EngineDefectError,
    PyException,
    "The engine failed an internal check; args are the failed check and the line of the source."
);

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a hook that records the place of a panic and prints nothing.
pub fn listen() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        let _ = PLACE.try_with(|cell| *cell.borrow_mut() = place);
    }));
}

/// A panic: its message, and the line of the source.
#[derive(Debug)]
pub struct Defect {
    /// The failed assertion, or another message.
    pub message: String,
    /// `file:line:column`.
    pub place: String,
}

/// Calls a function, and returns a panic in it as an error.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Defect> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let place = PLACE.with(|cell| cell.take());
        Defect { message: message.unwrap_or_else(|| "a panic without a message".to_owned()), place }
    })
}
