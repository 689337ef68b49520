//! Panics of the engine: a defect that is told as one, with the place, and never ends more than the run that met it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Has panics note where they come from; nothing is printed.
pub fn listen() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        let _ = PLACE.try_with(|cell| *cell.borrow_mut() = place);
    }));
}

/// A panic: what it says, and the line of the source.
#[derive(Debug)]
pub struct Defect {
    /// The failed assertion, or what else it says.
    pub message: String,
    /// `file:line:column`.
    pub place: String,
}

/// Does something; a panic in it is an answer.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Defect> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let place = PLACE.with(|cell| cell.take());
        Defect { message: message.unwrap_or_else(|| "a panic without words".to_owned()), place }
    })
}
