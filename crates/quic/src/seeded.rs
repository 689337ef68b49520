//! A replacement of the operating system's randomness by a sequence that depends on the run's seed.
//!
//! Quinn's BBR draws the phase of its cycle from the thread's generator, which is seeded by `getrandom(2)` and cannot
//! be given a seed. This program's `getrandom` replaces the C library's, so that the run depends only on its own seed.
//! The program has no secrets.
#![allow(unsafe_code, reason = "a symbol of the C library is replaced, and its buffer is a pointer")]

use std::sync::atomic::{AtomicU64, Ordering};

static STATE: AtomicU64 = AtomicU64::new(0);

/// Begins the sequence of a seed.
pub fn seed(seed: u64) {
    STATE.store(seed, Ordering::Relaxed);
}

/// The next number (Steele, Lea and Flood's SplitMix64).
fn next() -> u64 {
    let mut z = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `getrandom(2)`.
///
/// # Safety
/// `buffer` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    if buffer.is_null() {
        return 0; // a call without a buffer tests whether the function exists
    }
    // SAFETY: the caller guarantees a valid buffer, as for the C library's function.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, length) };
    for piece in buffer.chunks_mut(8) {
        piece.copy_from_slice(&next().to_le_bytes()[..piece.len()]);
    }
    length as isize
}
