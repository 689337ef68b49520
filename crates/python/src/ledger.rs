//! Memory of each thread, counted by the allocator. A run has one thread, so its memory can be distinguished from that
//! of other runs.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Mimalloc, which also counts the memory of each thread.
///
/// It keeps blocks of one size together, and asks for huge pages. The flows of a crowd are visited in the order of their
/// packets, so that with scattered pages of 4 KiB most visits miss in the TLB too.
pub struct Counting;

fn count(bytes: i64) {
    // A thread that ends may free memory after its counter is gone.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

/// The line of a process that gets no more memory.
const NO_MEMORY: &[u8] =
    b"elephan: memory: the system gives this process no more memory; a limit (--memory) below that of \
the system (ulimit -v) ends a run in order\n";

/// The block, unless it is null: then the process ends with one line. Rust's own end is SIGABRT, with two lines about an
/// allocation, and an allocator must not unwind. Results are renamed when they are complete, so that none is left in part.
fn found(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        out_of_memory();
    }
    block
}

#[cold]
#[allow(unsafe_code, reason = "system calls that neither allocate nor unwind")]
fn out_of_memory() -> ! {
    // SAFETY: the line outlives the call, and `_exit` ends the process without running any code of it.
    unsafe {
        libc::write(2, NO_MEMORY.as_ptr().cast(), NO_MEMORY.len());
        libc::_exit(2)
    }
}

/// Memory that mimalloc takes in each run besides what is asked of it, bytes: its pages have blocks of one size.
pub const KEPT_BYTES: u64 = 10 << 20;

/// `mi_option_purge_delay` of mimalloc.h, which the bindings do not have.
const PURGE_DELAY: mi_option_t = 15;

/// Time after which freed memory returns to the system, ms. With 10 ms a run of ten thousand flows, which frees and takes
/// memory all the time, breaks up its huge pages and takes 7 % more time. With mimalloc's own 1000 ms, transfers that
/// begin and end take a third more memory, and are no faster.
const PURGE_DELAY_MS: c_long = 50;

/// Lets freed memory return to the system early; to be called before anything is allocated. Mimalloc's environment
/// variables have precedence.
#[allow(unsafe_code, reason = "a function in C")]
pub fn prepare() {
    // SAFETY: the call writes one option, and before the module is imported no thread uses this allocator.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}

// SAFETY: every call goes to mimalloc unchanged; counting neither allocates nor unwinds.
#[allow(unsafe_code, reason = "an allocator cannot be written without unsafe code")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's obligations are passed on.
        found(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as above.
        found(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64 - layout.size() as i64);
        // SAFETY: as above.
        found(unsafe { MiMalloc.realloc(block, layout, new_size) })
    }
}

/// Memory that this thread holds, bytes.
fn held() -> i64 {
    LIVE.with(Cell::get)
}

/// Resident memory of this process, bytes; `None` if the system does not report it.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// A bound on the memory of the run on this thread.
pub struct MemoryBound {
    limit: u64,
    held: i64,
    resident: Option<u64>,
}

impl MemoryBound {
    /// A bound of `limit` bytes from now on.
    pub fn new(limit: u64) -> Self {
        Self { limit, held: held(), resident: resident() }
    }

    /// True if this thread allocated more than the bound, and the process grew by more than the bound. Memory that was
    /// never used does not count, and memory of other threads does not count.
    pub fn is_exceeded(&self) -> bool {
        let asked = u64::try_from(held() - self.held).unwrap_or(0);
        asked > self.limit
            && self.resident.is_none_or(|before| resident().is_none_or(|now| now.saturating_sub(before) > self.limit))
    }

    /// The bound, MiB.
    pub fn limit_mib(&self) -> u64 {
        self.limit >> 20
    }
}
