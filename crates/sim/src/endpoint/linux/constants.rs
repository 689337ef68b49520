//! Constants of Linux 6.12 under their names there, each stated once: those of headers, and defaults of `sysctl`.

use crate::time::Time;

/// First window of a connection, segments; the receiver expects as many, and the sender paces none of them.
pub const TCP_INIT_CWND: u32 = 10;
/// Largest number of quick ACKs at a time, which is also that of the quick ACKs at the start that grow no receive window.
pub const TCP_MAX_QUICKACKS: u32 = 16;
/// Margin against early timers, which is added to the two round trips before a tail loss probe and to the wait for a
/// reordered segment (2 ms in RFC 8985 section 7.2, too).
pub const TCP_TIMEOUT_MIN: Time = Time(2 * Time::MILLISECOND.0);
/// Recoveries without a report of a duplicate after which RACK's reordering window is small again.
pub const TCP_RACK_RECOVERY_THRESH: u8 = 16;
/// Unit of the fraction of the receive buffer that is window (`1 << TCP_RMEM_TO_WIN_SCALE`).
pub const TCP_RMEM_TO_WIN: u64 = 256;
/// Receive buffer at the start and at most, bytes (`tcp_rmem`).
pub const TCP_RMEM: [u64; 2] = [131_072, 6_291_456];

/// Largest number of SACKed segments that reordering may explain (`tcp_max_reordering`).
pub const MAX_REORDERING: u32 = 300;
/// Timeouts of a SYN after which its timeout doubles (`tcp_syn_linear_timeouts`).
pub const SYN_LINEAR_TIMEOUTS: u32 = 4;
/// Pacing rate in units of window/RTT, in slow start and afterwards (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
pub const PACING_SS_RATIO: f64 = 2.0;
pub const PACING_CA_RATIO: f64 = 1.2;
/// Smallest burst, segments (`tcp_min_tso_segs`).
pub const MIN_TSO_SEGS: u32 = 2;
/// Divisor of the window for deferral: a burst of less than this share of the window may wait (`tcp_tso_win_divisor`).
pub const TSO_WIN_DIVISOR: u64 = 3;
/// Microseconds of the smallest RTT with each of which the addition to a burst halves (`1 << tcp_tso_rtt_log`).
pub const TSO_RTT_US: f64 = 512.0;

/// Largest buffer that Linux passes to a device at once, bytes of payload: 64 KiB minus the room for headers
/// (`GSO_LEGACY_MAX_SIZE`, `MAX_TCP_HEADER`).
pub const GSO_MAX_BYTES: u32 = 65_343;
/// Largest window of a SYN-ACK, bytes, whose window field is not scaled (RFC 7323 section 2.2).
pub const UNSCALED_WINDOW_BYTES: u64 = 65_535;
