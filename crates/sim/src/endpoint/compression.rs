//! Compression of ACKs above a gap, as in Linux 6.12 (`__tcp_ack_snd_check`): after some duplicate ACKs for a gap, an ACK
//! waits for further segments.

use crate::time::Time;

/// Duplicate ACKs for a gap that are sent at once.
const UNCOMPRESSED: u32 = 3;
/// Largest number of segments for which an ACK waits (`tcp_comp_sack_nr`).
const MOST_SEGMENTS: u32 = 44;
/// Longest wait, as a fraction of the RTT and as a time (`tcp_comp_sack_delay_ns`), and the slack of its timer
/// (`tcp_comp_sack_slack_ns`).
const WAIT_FRACTION: u64 = 20;
const LONGEST_WAIT: Time = Time::MILLISECOND;
const WAIT_SLACK: Time = Time(Time::MILLISECOND.0 / 10);
/// SACK blocks that each ACK has room for even with further options (`TCP_SACK_BLOCKS_EXPECTED`).
const KEPT_BLOCKS: usize = 2;

/// State of the compression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compression {
    /// Time for which an ACK waits for further segments.
    wait: Time,
    /// The gap of the duplicate ACKs: its first segment, and the number of ACKs sent for it at once.
    gap: u32,
    duplicates: u32,
    /// Segments since the last ACK.
    segments: u32,
}

impl Compression {
    /// Compression for a path whose handshake took `rtt`.
    pub(super) fn new(rtt: Time) -> Self {
        // Linux measures the RTT in whole microseconds.
        let rtt = rtt.0 / Time::MICROSECOND.0 * Time::MICROSECOND.0;
        let wait = Time(rtt / WAIT_FRACTION).min(LONGEST_WAIT).later(WAIT_SLACK);
        Self { wait, gap: 0, duplicates: 0, segments: 0 }
    }

    /// True if an ACK waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.segments > 0
    }

    /// Records that an ACK was sent.
    pub(super) fn release(&mut self) {
        self.segments = 0;
    }

    /// Takes a new segment above the gap that begins at segment `gap`. Returns the time for which the segment's ACK
    /// waits; [`Time::NEVER`] if an earlier segment has set the time; `None` if the ACK is sent at once.
    pub(super) fn admit(&mut self, gap: u32) -> Option<Time> {
        if self.segments >= MOST_SEGMENTS {
            return None;
        }
        if self.gap != gap {
            (self.gap, self.duplicates) = (gap, 0);
        }
        if self.duplicates < UNCOMPRESSED {
            self.duplicates += 1;
            return None;
        }
        self.segments += 1;
        Some(if self.segments == 1 { self.wait } else { Time::NEVER })
    }

    /// True if the next ACK may have no room for a block that `segment` changes: `segment` extends none of the latest
    /// SACK blocks, and an ACK has no room for more blocks.
    pub(super) fn loses_block(blocks: &[(u32, u32)], segment: u32) -> bool {
        let latest = &blocks[..blocks.len().min(KEPT_BLOCKS)];
        let extends = latest.iter().any(|&(first, past)| past >= segment && segment + 1 >= first);
        !extends && latest.len() == KEPT_BLOCKS
    }
}
