//! Limits of every run.

use crate::time::Time;

/// Whole seconds in ps.
pub(super) const fn ps_of(seconds: u64) -> u64 {
    seconds * Time::SECOND.0
}

/// Largest number of outstanding segments of a flow, by the SACK scoreboard and the largest receive window.
pub const MOST_IN_FLIGHT: u32 = 1 << 28;

/// Shortest timer of a host; shorter timers would only waste processor time.
pub const SHORTEST_TIMER_PS: u64 = Time::MILLISECOND.0 / 1000;

/// Smallest allowed upper bound of the retransmission timeout. With a lower upper bound, the timer would expire
/// hundreds of times a second while a path is down. RFC 6298 section 2.5 requires at least 60 s, Linux at least 1 s.
pub(super) const SHORTEST_MAX_RTO_PS: u64 = 10 * Time::MILLISECOND.0;

/// Largest number of segments of a flow: segment numbers have 32 bits, with room for a window above the last segment.
pub const MOST_SEGMENTS: u32 = u32::MAX - (1 << 29);

/// Largest number of transfers of a source; their ranks among competing packets have 30 bits.
pub const MOST_TRANSFERS: u32 = 500_000_000;

/// Largest number of listed transfers of a source, and largest number of users of a source.
pub(super) const MOST_LISTED: u32 = 20_000_000;

/// Largest number of flows of a run, besides transfers.
pub const MOST_FLOWS: u64 = 10_000_000;
