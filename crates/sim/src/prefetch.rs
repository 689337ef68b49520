//! Prefetching of data into the cache. A prefetch is a hint to the processor: it changes no result, and has no effect
//! on processors without such an instruction.

use branches::prefetch_read_data;

/// Size of a cache line, bytes.
const LINE: usize = 64;

/// Cache into which data are prefetched: the second level. A first-level cache can wait for about twenty lines at a time,
/// less than one endpoint has; the next level can wait for many more.
const SECOND_LEVEL: i32 = 1;

/// Prefetches a whole value.
#[inline(always)]
pub fn value<T>(value: &T) {
    part(value, 0, size_of::<T>());
}

/// Prefetches `bytes` bytes of a value, from byte `from` on.
#[inline(always)]
pub fn part<T>(value: &T, from: usize, bytes: usize) {
    lines(std::ptr::from_ref(value).cast::<u8>().wrapping_add(from), bytes);
}

/// Prefetches `count` elements of a list, which need not exist.
#[inline(always)]
pub fn elements<T>(list: &[T], from: usize, count: usize) {
    lines(list.as_ptr().wrapping_add(from).cast::<u8>(), count * size_of::<T>());
}

/// Prefetches an element of a list, which need not exist.
#[inline(always)]
pub fn element<T>(list: &[T], index: usize) {
    elements(list, index, 1);
}

/// Prefetches `bytes` bytes from `first` on. If the bytes do not begin at the start of a cache line, they may extend
/// into one line more.
#[inline(always)]
fn lines(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        prefetch_read_data::<u8, SECOND_LEVEL>(first.wrapping_add(offset));
    }
    if bytes > size_of::<u64>() {
        prefetch_read_data::<u8, SECOND_LEVEL>(first.wrapping_add(bytes - 1));
    }
}
