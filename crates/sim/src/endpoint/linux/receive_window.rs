//! The receive window of a Linux host whose application reads at once: it grows with each segment (`tcp_grow_window`), up
//! to what the receive buffer allows, and the buffer grows with the data of a round trip (`tcp_rcv_space_adjust`).
//!
//! Linux acknowledges each segment that makes the window grow, so the window also decides which segments are
//! acknowledged at once.

use super::constants::{TCP_INIT_CWND, TCP_MAX_QUICKACKS, TCP_RMEM, TCP_RMEM_TO_WIN, UNSCALED_WINDOW_BYTES};
use crate::spec::StackSpec;
use crate::time::Time;

/// Unit in which a host with this largest buffer announces its window, bytes (`tcp_select_initial_window`).
const UNIT_BYTES: u64 = 128;
/// Bytes of the timestamp option in each segment.
const TIMESTAMP_BYTES: u64 = 12;
/// Segments by which the window exceeds twice the data of a round trip.
const SPARE_SEGMENTS: u64 = 16;
/// Memory of a packet besides its payload, bytes, as measured in Linux 6.12 behind a virtual Ethernet device.
const OVERHEAD_BYTES: u64 = 840;

/// State of the window; sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Window {
    payload: u64,
    /// Fraction of the buffer that is window, in 1/256.
    ratio: u64,
    /// True if the program has set the size of the buffer.
    is_fixed: bool,
    buffer: u64,
    /// Upper bound of the window (`window_clamp`), and the window before it is rounded (`rcv_ssthresh`).
    bound: u64,
    window: u64,
    /// The window that was announced last, segments.
    announced: u32,
    /// True if the window has grown since.
    grew: bool,
    /// Data of the largest round trip so far, and where the current one began: a segment and a time.
    space: u64,
    from: u32,
    since: Time,
}

impl Window {
    /// The window of a connection that begins at `now`, whose first data are expected at once.
    pub fn new(stack: &StackSpec, now: Time) -> Self {
        let payload = u64::from(stack.payload_bytes.max(1));
        let ratio = (payload * TCP_RMEM_TO_WIN / (payload + OVERHEAD_BYTES)).max(1);
        let stated = stack.receive_window.map(|segments| u64::from(segments) * payload);
        // A stated window is reached while a segment is in the buffer.
        let buffer = stated.map_or(TCP_RMEM[0], |window| window * TCP_RMEM_TO_WIN / ratio + payload + OVERHEAD_BYTES);
        // Before the first segment, half of the buffer is window, less a segment (`tcp_init_buffer_space`). A SYN-ACK
        // announces whole segments with their options.
        let segment = payload + TIMESTAMP_BYTES;
        let announced = (buffer / 2).min(UNSCALED_WINDOW_BYTES) / segment * segment;
        let first = announced.min((buffer / 2).saturating_sub(payload));
        let mut this = Self {
            payload,
            ratio,
            is_fixed: stated.is_some(),
            buffer,
            bound: stated.unwrap_or(buffer * ratio / TCP_RMEM_TO_WIN),
            window: first,
            space: first.min(u64::from(TCP_INIT_CWND) * payload),
            from: 0,
            since: now,
            announced: 0,
            grew: false,
        };
        this.announced = this.segments();
        this
    }

    /// The window that an ACK announces now, segments: whole units, rounded up (`__tcp_select_window`).
    pub fn segments(&self) -> u32 {
        u32::try_from(self.window.next_multiple_of(UNIT_BYTES) / self.payload).unwrap_or(u32::MAX)
    }

    /// Number of quick ACKs at a time: half of the segments of the window, and at most 16 (`tcp_incr_quickack`).
    pub fn quick_acks(&self) -> u32 {
        match self.window / (2 * self.payload) {
            0 => 2,
            halves => halves.min(TCP_MAX_QUICKACKS.into()) as u32,
        }
    }

    /// The window in segments, if the next ACK announces another one than the ACK before.
    #[inline(always)]
    pub fn announcement(&mut self) -> Option<u32> {
        let segments = if self.grew { self.segments() } else { self.announced };
        self.grew = false;
        (std::mem::replace(&mut self.announced, segments) != segments).then_some(segments)
    }

    /// Begins the first round trip, when the connection opens.
    pub fn open(&mut self, now: Time) {
        self.since = now;
    }

    /// Takes a new segment while `held` segments wait above a gap. Returns true if the window grows.
    #[inline(always)]
    pub fn grow(&mut self, held: u64) -> bool {
        if self.window >= self.bound {
            return false;
        }
        // The segment itself is in the buffer until it is read. Segments above a gap are joined (`tcp_try_coalesce`).
        let kept = (held + 1) * self.payload + OVERHEAD_BYTES;
        let free = self.buffer.saturating_sub(kept) * self.ratio / TCP_RMEM_TO_WIN;
        let room = self.bound.min(free).saturating_sub(self.window);
        self.window += room.min(2 * self.payload);
        self.grew |= room > 0;
        room > 0
    }

    /// Records that the application has read all data below segment `next` at `now`; `rtt` is the RTT that the receiver
    /// measures.
    #[inline(always)]
    pub fn read(&mut self, now: Time, next: u32, rtt: Time) {
        if now.since(self.since) >= rtt {
            self.end_round(now, next);
        }
    }

    #[inline(never)]
    fn end_round(&mut self, now: Time, next: u32) {
        let data = u64::from(next - self.from) * self.payload;
        if data > self.space {
            if !self.is_fixed {
                let twice = 2 * data + SPARE_SEGMENTS * self.payload;
                let wanted = twice + 2 * (twice * (data - self.space) / self.space.max(1));
                let buffer = (wanted * TCP_RMEM_TO_WIN / self.ratio).min(TCP_RMEM[1]);
                if buffer > self.buffer {
                    (self.buffer, self.bound) = (buffer, buffer * self.ratio / TCP_RMEM_TO_WIN);
                }
            }
            self.space = data;
        }
        (self.from, self.since) = (next, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time(50 * Time::MILLISECOND.0);

    /// Segments that make the window grow in each round of a slow start that doubles from 10 segments.
    fn growing(stack: &StackSpec, rounds: u32) -> Vec<u32> {
        let mut window = Window::new(stack, Time::ZERO);
        let (mut next, mut found) = (0, Vec::new());
        for round in 0..rounds {
            let mut grown = 0;
            for _ in 0..10 << round {
                grown += u32::from(window.grow(0));
                next += 1;
                window.read(Time(RTT.0 * u64::from(round)), next, RTT);
            }
            found.push(grown);
        }
        found
    }

    #[test]
    fn the_window_grows_while_the_buffer_follows_the_data_of_a_round_trip() {
        // 64,088 to 81,496 bytes in steps of 2,896 need seven segments, the first to the last of which Linux acknowledges
        // one by one. The buffer grows at the third round's first
        // segment, which shows that 20 segments and not 11 arrived in the second round.
        let found = growing(&StackSpec::linux(), 5);
        assert_eq!(found[..2], [7, 0]);
        assert!(found[2] >= 39, "{found:?}");
    }

    #[test]
    fn an_announcement_has_whole_segments_and_is_made_once() {
        let mut window = Window::new(&StackSpec::linux(), Time::ZERO);
        assert_eq!((window.segments(), window.announcement()), (44, None));
        assert!(window.grow(0));
        assert_eq!((window.announcement(), window.announcement()), (Some(46), None));
    }

    #[test]
    fn a_window_of_few_large_segments_makes_few_quick_acks() {
        let quick_acks =
            |payload_bytes| Window::new(&StackSpec { payload_bytes, ..StackSpec::linux() }, Time::ZERO).quick_acks();
        assert_eq!([1448, 8948, 40_000].map(quick_acks), [16, 3, 2]);
    }

    #[test]
    fn a_stated_buffer_does_not_grow() {
        let stack = StackSpec { receive_window: Some(40), ..StackSpec::linux() };
        // The window begins with 45,458 bytes, and grows to 57,920 bytes in steps of 2,896.
        let found = growing(&stack, 4);
        assert_eq!((found[0], found.iter().skip(1).sum::<u32>()), (5, 0), "{found:?}");
    }

    #[test]
    fn data_above_a_gap_take_the_room_of_the_window() {
        let mut window = Window::new(&StackSpec::linux(), Time::ZERO);
        assert!(!window.grow(20), "21 segments leave 63,171 bytes of window");
        assert!(window.grow(0));
    }
}
