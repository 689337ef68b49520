//! Fetching data into the cache before it is needed. It is a hint to the processor: it changes no result, and does nothing where
//! the processor has no such instruction.

use branches::prefetch_read_data;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Fetches all of a value.
#[inline(always)]
pub fn value<T>(value: &T) {
    part(value, 0, size_of::<T>());
}

/// Fetches so many bytes of a value, from one on.
#[inline(always)]
pub fn part<T>(value: &T, from: usize, bytes: usize) {
    lines(std::ptr::from_ref(value).cast::<u8>().wrapping_add(from), bytes);
}

/// Fetches so many elements of a list, which need not be there.
#[inline(always)]
pub fn elements<T>(list: &[T], from: usize, count: usize) {
    lines(list.as_ptr().wrapping_add(from).cast::<u8>(), count * size_of::<T>());
}

/// Fetches an element of a list, which need not be there.
#[inline(always)]
pub fn element<T>(list: &[T], index: usize) {
    elements(list, index, 1);
}

/// Fetches `bytes` bytes from `first` on. They may begin within a line, so that the last one is in a line of its own.
#[inline(always)]
fn lines(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        prefetch_read_data::<u8, 0>(first.wrapping_add(offset));
    }
    if bytes > size_of::<u64>() {
        prefetch_read_data::<u8, 0>(first.wrapping_add(bytes - 1));
    }
}
