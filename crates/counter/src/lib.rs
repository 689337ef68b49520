//! Preloaded into User Mode Linux if it runs programs of the user: the processor's cycle counter (`rdtsc`, `rdtscp`), which
//! follows the guest's time instead of the host's, so that a run repeats.
//!
//! A process of the guest is a process of the host that the kernel traces. The counter of all of them is switched off
//! (`PR_SET_TSC`), so that each reading is a fault, and this library answers it before the kernel hears of it: with the guest's time in ns, or with a bit more than the last answer, since a program may wait for the
//! counter and time stands while the program computes. The steps are drawn from the scenario's seed, because libraries
//! that take randomness from the counter reject one that is regular.
//!
//! The counter of the kernel itself and of the path's program is off too, since to switch it at each change between them
//! and a process took half as long again as the run. So they ask the host for the time by system calls.
#![allow(unsafe_code)]
#![cfg(target_arch = "x86_64")]

use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Page with the guest's clock, in the guest's folder (crates/linux, clock.rs), and the place of the time there.
const CLOCK: &CStr = c"schedule";
const CURRENT: usize = 16;
const PAGE_BYTES: usize = 4096;
/// Largest step between two answers at one time, ns, as a mask.
const STEP: u64 = 127;

type Ptrace = unsafe extern "C" fn(c_uint, libc::pid_t, *mut c_void, *mut c_void) -> c_long;
type Wait = unsafe extern "C" fn(libc::pid_t, *mut c_int, c_int) -> libc::pid_t;

/// The latest request that let a process continue.
static RESUMED: AtomicU32 = AtomicU32::new(libc::PTRACE_CONT);
/// The latest answer.
static LAST: AtomicU64 = AtomicU64::new(0);
/// State of the steps' generator; 0 before the first.
static STEPS: AtomicU64 = AtomicU64::new(0);
static PAGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The function of this name behind this library.
fn next(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a null character.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

fn real_ptrace() -> Ptrace {
    static FOUND: OnceLock<Ptrace> = OnceLock::new();
    // SAFETY: the C library has this function, with these arguments on x86-64.
    *FOUND.get_or_init(|| unsafe { transmute::<*mut c_void, Ptrace>(next(c"ptrace")) })
}

fn real_wait() -> Wait {
    static FOUND: OnceLock<Wait> = OnceLock::new();
    // SAFETY: as above.
    *FOUND.get_or_init(|| unsafe { transmute::<*mut c_void, Wait>(next(c"waitpid")) })
}

/// Finds the functions before the kernel starts, since its processes begin in states in which nothing can be looked up.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        real_ptrace();
        real_wait();
        // A host that refuses lets programs read its counter, as without this library.
        // SAFETY: the call changes this process and those that it starts.
        unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
    }
    begin
};

/// The C library's `clock_gettime` without its short way, which reads the counter.
///
/// # Safety
/// Those conditions that the C library's function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    // SAFETY: passed on as it came.
    let done = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, to) };
    if done == 0 { 0 } else { -1 }
}

/// The C library's `ptrace`, which also remembers how a process continued.
///
/// # Safety
/// Those conditions that the C library's function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(request: c_uint, pid: libc::pid_t, at: *mut c_void, data: *mut c_void) -> c_long {
    if matches!(request, libc::PTRACE_CONT | libc::PTRACE_SYSEMU | libc::PTRACE_SYSEMU_SINGLESTEP) {
        RESUMED.store(request, Ordering::Relaxed);
    }
    // SAFETY: passed on as it came.
    unsafe { real_ptrace()(request, pid, at, data) }
}

/// The C library's `waitpid`, which returns after no fault of a reading of the counter.
///
/// # Safety
/// Those conditions that the C library's function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(pid: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t {
    loop {
        // SAFETY: passed on as it came.
        let got = unsafe { real_wait()(pid, status, options) };
        if got <= 0 || status.is_null() {
            return got;
        }
        // SAFETY: the call has written it.
        let seen = unsafe { *status };
        if !(libc::WIFSTOPPED(seen) && libc::WSTOPSIG(seen) == libc::SIGSEGV && answered(got)) {
            return got;
        }
        let request = RESUMED.load(Ordering::Relaxed);
        // SAFETY: the process is stopped and traced by this one.
        if unsafe { real_ptrace()(request, got, null_mut(), null_mut()) } != 0 {
            return got;
        }
    }
}

/// True if a stopped process has read the counter, and now has an answer.
fn answered(pid: libc::pid_t) -> bool {
    const SI_KERNEL: c_int = 0x80;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    // SAFETY: the process is stopped and traced by this one, and both structures are as large as the kernel's.
    let (info, mut registers) = unsafe {
        let ptrace = real_ptrace();
        if ptrace(libc::PTRACE_GETSIGINFO, pid, null_mut(), info.as_mut_ptr().cast()) != 0 {
            return false;
        }
        // A page that is missing has another code, so nothing more is asked for it.
        if info.assume_init_ref().si_code != SI_KERNEL {
            return false;
        }
        if ptrace(libc::PTRACE_GETREGS, pid, null_mut(), registers.as_mut_ptr().cast()) != 0 {
            return false;
        }
        (info.assume_init(), registers.assume_init())
    };
    debug_assert_eq!(info.si_signo, libc::SIGSEGV);
    let Some(length) = reads_counter(&code(pid, registers.rip)) else { return false };
    let Some(value) = now_ns().map(counter) else { return false };
    (registers.rax, registers.rdx) = (value & u64::from(u32::MAX), value >> 32);
    if length == RDTSCP.len() {
        registers.rcx = 0;
    }
    registers.rip += length as u64;
    // SAFETY: as above.
    unsafe { real_ptrace()(libc::PTRACE_SETREGS, pid, null_mut(), (&raw mut registers).cast()) == 0 }
}

const RDTSC: [u8; 2] = [0x0f, 0x31];
const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];

/// Length of the instruction, if it reads the counter.
fn reads_counter(code: &[u8]) -> Option<usize> {
    [&RDTSC[..], &RDTSCP].into_iter().find(|known| code.starts_with(known)).map(<[u8]>::len)
}

/// The bytes of a process at an address; fewer at the end of its memory.
fn code(pid: libc::pid_t, at: u64) -> Vec<u8> {
    let mut bytes = [0_u8; RDTSCP.len()];
    let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // A page may end behind the first two bytes.
    let parts = [2, 1].map(|length| libc::iovec { iov_base: null_mut(), iov_len: length });
    let mut from = parts;
    from[0].iov_base = at as *mut c_void;
    from[1].iov_base = at.wrapping_add(2) as *mut c_void;
    // SAFETY: the kernel writes at most as many bytes as `to` has.
    let count = unsafe { libc::process_vm_readv(pid, &raw const to, 1, from.as_ptr(), 2, 0) };
    bytes[..usize::try_from(count).unwrap_or(0)].to_vec()
}

/// The guest's time, ns; `None` if the clock cannot be read.
fn now_ns() -> Option<u64> {
    let mut page = PAGE.load(Ordering::Relaxed);
    if page.is_null() {
        // SAFETY: the name ends with a null character, and the mapping is read-only and stays.
        page = unsafe {
            let file = libc::open(CLOCK.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if file < 0 {
                return None;
            }
            let page = libc::mmap(null_mut(), PAGE_BYTES, libc::PROT_READ, libc::MAP_SHARED, file, 0);
            libc::close(file);
            page
        };
        if page == libc::MAP_FAILED {
            return None;
        }
        PAGE.store(page, Ordering::Relaxed);
    }
    // SAFETY: the page is mapped, and the time is an aligned word that the path's program writes while the guest waits.
    Some(unsafe { page.byte_add(CURRENT).cast::<u64>().cast_const().read_volatile() })
}

/// The counter at a time: later than each answer before.
fn counter(now_ns: u64) -> u64 {
    let after = LAST.load(Ordering::Relaxed) + 1 + (step() & STEP);
    let value = after.max(now_ns);
    LAST.store(value, Ordering::Relaxed);
    value
}

/// The next number of SplitMix64 (Steele, Lea, Flood 2014).
fn step() -> u64 {
    let mut state = STEPS.load(Ordering::Relaxed);
    if state == 0 {
        // SAFETY: nothing in this process changes the environment meanwhile.
        let text = unsafe { libc::getenv(c"ELEPHAN_GUEST_SEED".as_ptr()) };
        // SAFETY: the text, if any, ends with a null character.
        state = if text.is_null() { 1 } else { unsafe { libc::strtoull(text, null::<*mut i8>().cast_mut(), 10) } };
    }
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    STEPS.store(state, Ordering::Relaxed);
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_instructions_are_known() {
        assert_eq!(reads_counter(&[0x0f, 0x31, 0xc3]), Some(2));
        assert_eq!(reads_counter(&[0x0f, 0x31]), Some(2));
        assert_eq!(reads_counter(&[0x0f, 0x01, 0xf9]), Some(3));
        assert_eq!((reads_counter(&[0x0f, 0x01]), reads_counter(&[0x90, 0x0f, 0x31])), (None, None));
    }

    #[test]
    fn the_counter_follows_the_time_and_never_stands() {
        let first = counter(1000);
        assert!(first >= 1000);
        let second = counter(1000);
        assert!(second > first && second <= first + 1 + STEP);
        assert_eq!(counter(1_000_000), 1_000_000);
    }
}
