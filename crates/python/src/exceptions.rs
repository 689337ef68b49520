//! Exceptions of runs.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(elephan._engine, Cancelled, PyException, "The progress callback stopped the run.");
create_exception!(
    elephan._engine,
    CallbackError,
    PyException,
    "A user's algorithm raised an exception, which is the cause; args are the flow's index, the callback and the \
     simulated time in s."
);
create_exception!(
    elephan._engine,
    MemoryLimitError,
    PyException,
    "A run needs more memory than its limit, by the estimate before its start or while it ran."
);
