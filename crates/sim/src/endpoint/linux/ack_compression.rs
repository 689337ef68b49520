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

/// Linux keeps RTTs in eighths of a microsecond.
const EIGHTH_US: u64 = Time::MICROSECOND.0 / 8;
/// Eighths of a microsecond in a millisecond.
const EIGHTHS_PER_MS: u32 = 8000;

/// Largest sample, ms; a larger sample does not fit in the word of the RTT.
const LARGEST_SAMPLE_MS: u32 = 500_000;

/// True if the wait on a path whose handshake took `rtt` depends on the RTT.
pub fn depends_on(rtt: Time) -> bool {
    rtt.0 / WAIT_FRACTION < LONGEST_WAIT.0
}

/// State of the compression.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    /// RTT of the handshake in whole microseconds, and the RTT that the receiver measures; both in eighths of a
    /// microsecond. The second is 0 before the first sample.
    handshake: u32,
    measured: u32,
    /// The timestamp that the last measured segment echoed.
    echo: u32,
    /// The gap of the duplicate ACKs: its first segment, and the number of ACKs sent for it at once.
    gap: u32,
    duplicates: u32,
    /// Segments since the last ACK.
    segments: u32,
}

impl Compression {
    /// Compression for a path whose handshake took `rtt`.
    pub fn new(rtt: Time) -> Self {
        let handshake = u32::try_from(rtt.0 / Time::MICROSECOND.0 * 8).unwrap_or(u32::MAX);
        Self { handshake, measured: 0, echo: 0, gap: 0, duplicates: 0, segments: 0 }
    }

    /// Measures the RTT by the timestamp `echo` of a segment that arrives now (`tcp_rcv_rtt_measure_ts`). A timestamp is
    /// measured once. Timestamps count whole ms, so a sample can be shorter than the RTT of the handshake.
    #[inline(never)]
    pub fn measure(&mut self, now: Time, echo: u32) {
        let sample_ms = ((now.0 / Time::MILLISECOND.0) as u32 + 1).wrapping_sub(echo);
        if echo == std::mem::replace(&mut self.echo, echo) || sample_ms == 0 || sample_ms > LARGEST_SAMPLE_MS {
            return;
        }
        let sample = sample_ms * EIGHTHS_PER_MS;
        let smooth = self.measured - self.measured / 8 + sample / 8;
        self.measured = if self.measured == 0 { sample } else { sample.min(smooth) };
    }

    /// The RTT that the receiver measures; that of the handshake before the first sample.
    #[inline(always)]
    pub fn measured(&self) -> Time {
        let eighths = if self.measured == 0 { self.handshake / 8 } else { self.measured / 8 };
        Time(u64::from(eighths) * Time::MICROSECOND.0)
    }

    /// Time for which an ACK waits for further segments.
    fn wait(&self) -> Time {
        let rtt = if self.measured == 0 { self.handshake } else { self.handshake.min(self.measured) };
        let part_ns = u64::from(rtt) * EIGHTH_US / WAIT_FRACTION / Time::NANOSECOND.0;
        Time(part_ns * Time::NANOSECOND.0).min(LONGEST_WAIT).later(WAIT_SLACK)
    }

    /// True if an ACK waits.
    pub fn is_waiting(&self) -> bool {
        self.segments > 0
    }

    /// Records that an ACK was sent.
    pub fn release(&mut self) {
        self.segments = 0;
    }

    /// Takes a new segment above the gap that begins at segment `gap`. Returns the time for which the segment's ACK
    /// waits; [`Time::NEVER`] if an earlier segment has set the time; `None` if the ACK is sent at once.
    pub fn admit(&mut self, gap: u32) -> Option<Time> {
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
        Some(if self.segments == 1 { self.wait() } else { Time::NEVER })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_follows_the_rtt_that_timestamps_show() {
        let us = |us: u64| Time(us * Time::MICROSECOND.0);
        let mut state = Compression::new(us(4600));
        assert_eq!(state.wait(), us(330), "a twentieth of the handshake's RTT, and the slack");
        state.measure(us(8000), 5);
        assert_eq!(state.wait(), us(300), "from 4 ms to 8 ms");
        state.measure(us(9000), 5);
        assert_eq!(state.wait(), us(300), "a timestamp is measured once");
        state.measure(us(12_000), 7);
        assert_eq!(state.wait(), us(300).later(Time(us(100).0 / 8)), "a larger sample has the weight 1/8");
        state.measure(us(32_000), 20);
        assert_eq!(state.wait(), us(330), "never longer than by the handshake's RTT");
    }
}
