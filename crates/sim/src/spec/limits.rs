//! Limits that hold for every run.

use crate::time::Time;

/// Whole seconds in ps.
pub(super) const fn ps_of(seconds: u64) -> u64 {
    seconds * Time::SECOND.0
}

/// Segments that one flow may have outstanding: as many as SACK's scoreboard and the largest receive window allow.
pub const MOST_IN_FLIGHT: u32 = 1 << 28;

/// Shortest time that a host may keep: shorter timers would only burn processor time.
pub const SHORTEST_TIMER_PS: u64 = Time::MILLISECOND.0 / 1000;

/// A retransmission timer whose backoff stops earlier would fire hundreds of times a second on a path that is down; RFC 6298
/// section 2.5 has 60 s, Linux 1 s at least.
pub(super) const SHORTEST_MAX_RTO_PS: u64 = 10 * Time::MILLISECOND.0;

/// Segments that one flow may send: their numbers are 32 bits wide, with room for a window above.
pub const MOST_SEGMENTS: u32 = u32::MAX - (1 << 29);

/// Transfers that one source may begin; their ranks among competing packets are 30 bits wide.
pub const MOST_TRANSFERS: u32 = 500_000_000;

/// Transfers that one source may list, or users that it may have.
pub(super) const MOST_LISTED: u32 = 20_000_000;

/// Flows that a run may have, besides transfers.
pub const MOST_FLOWS: u64 = 10_000_000;
