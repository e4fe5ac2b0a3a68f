//! A panic of the core becomes an exception that carries its backtrace, and the process lives on.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread's panics are caught.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
    /// What the last caught panic said, and where.
    static REPORT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic of the core: its message, place and backtrace.
pub struct CorePanic(pub String);

/// Runs `work`; a panic in it is given back.
///
/// What outlives it is whole: a state of the wire is written after the work, caches take finished entries, and locks
/// are taken whether or not they are poisoned. Only a stream in this process that was at work may have lost a chunk.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, CorePanic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| if CAUGHT.get() { report(info) } else { usual(info) }));
    });
    let outer = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CAUGHT.set(outer);
    result.map_err(|_| CorePanic(REPORT.take()))
}

fn report(info: &PanicHookInfo<'_>) {
    REPORT.set(format!("{info}\n{}", Backtrace::force_capture()));
}

/// Panics inside the core: for tests of what becomes of that.
#[pyo3::pyfunction]
pub fn panic_in_core(py: pyo3::Python<'_>, message: &str) -> pyo3::PyResult<()> {
    crate::error::enter(py, || -> Result<(), dragoman_protocol::Error> { panic!("{message}") })
}
