//! The receive window of a Linux host whose application reads at once: it grows with each segment (`tcp_grow_window`), up
//! to what the receive buffer allows, and the buffer grows with the data of a round trip (`tcp_rcv_space_adjust`).
//!
//! Linux acknowledges each segment that makes the window grow, so the window also decides which segments are
//! acknowledged at once. Data above a gap take room in the buffer until the gap is filled, and the right edge of the window
//! then hardly moves (`__tcp_select_window`).

use super::constants::{TCP_INIT_CWND, TCP_MAX_QUICKACKS, TCP_RMEM, TCP_RMEM_TO_WIN, UNSCALED_WINDOW_BYTES};
use crate::spec::StackSpec;
use crate::time::Time;

/// Unit in which a host with this largest buffer announces its window, bytes (`tcp_select_initial_window`).
const UNIT_BYTES: u64 = 128;
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
    /// Right edge of the window that the last ACK announced, bytes from the first segment on; `None` if it is `announced`
    /// above the last acknowledged segment, since no data wait in the buffer.
    edge: Option<u64>,
    /// The edge that the next ACK announces, if it acknowledges the segments up to this one.
    next_edge: (u32, Option<u64>),
    /// True if the application sent the last ACK, after it had read all data.
    pub is_by_reader: bool,
    /// Data of the largest round trip so far, and where the current one began: a segment and a time.
    space: u64,
    from: u32,
    since: Time,
}

/// Data in the receive buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Segments that the application has not read yet, and segments above a gap.
    pub segments: u64,
    /// Runs of consecutive segments, which Linux keeps together (`tcp_try_coalesce`).
    pub runs: u64,
    /// Segments among them that the application reads now.
    pub in_order: u64,
}

impl Kept {
    /// One segment in order, and nothing else.
    pub const ONE: Self = Self { segments: 1, runs: 1, in_order: 1 };

    /// The data that are left after the application has read.
    #[inline]
    pub fn above(self) -> Self {
        Self { segments: self.segments - self.in_order, runs: self.runs - u64::from(self.in_order > 0), in_order: 0 }
    }
}

impl Window {
    /// The window of a connection that begins at `now`, whose first data are expected at once.
    pub fn new(stack: &StackSpec, now: Time) -> Self {
        let payload = u64::from(stack.payload_bytes.max(1));
        let ratio = (payload * TCP_RMEM_TO_WIN / (payload + OVERHEAD_BYTES)).max(1);
        let stated = stack.receive_window.map(|segments| u64::from(segments) * payload);
        // A stated window is reached while a segment is in the buffer. When the first segment above a gap arrives, the buffer
        // is empty, and the window grows once more.
        let buffer = stated.map_or(TCP_RMEM[0], |window| window * TCP_RMEM_TO_WIN / ratio + payload + OVERHEAD_BYTES);
        // Before the first segment, half of the buffer is window, less a segment (`tcp_init_buffer_space`). The SYN-ACK
        // announces that segment too.
        let offered = (buffer / 2 / payload * payload).min(UNSCALED_WINDOW_BYTES);
        let first = offered.min((buffer / 2).saturating_sub(payload));
        Self {
            payload,
            ratio,
            is_fixed: stated.is_some(),
            buffer,
            bound: buffer * ratio / TCP_RMEM_TO_WIN,
            window: first,
            space: first.min(u64::from(TCP_INIT_CWND) * payload),
            from: 0,
            since: now,
            announced: (offered / payload) as u32,
            grew: false,
            edge: None,
            next_edge: (0, None),
            is_by_reader: false,
        }
    }

    /// True if the program has set the size of the buffer.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The window that the latest ACK announced, or the SYN-ACK before the first, segments.
    pub fn announced(&self) -> u32 {
        self.announced
    }

    /// True if the ACK of two segments waits until the application has read them, because the window would be smaller than
    /// the one before while a segment is in the buffer (`__tcp_ack_snd_check`).
    pub fn is_left_to_reader(&self) -> bool {
        self.is_by_reader && self.window > self.free(Kept::ONE)
    }

    /// Number of quick ACKs at a time: half of the segments of the announced window, and at most 16
    /// (`tcp_incr_quickack`).
    pub fn quick_acks(&self) -> u32 {
        match self.announced / 2 {
            0 => 2,
            halves => halves.min(TCP_MAX_QUICKACKS),
        }
    }

    /// The window in segments, if the next ACK announces another one than the ACK before. The ACK before acknowledged the
    /// segments up to `acknowledged`, `next` is the next expected segment, and `kept` are the data in the buffer.
    #[inline(always)]
    pub fn announcement(&mut self, acknowledged: u32, next: u32, kept: Kept) -> Option<u32> {
        let waits = kept.segments > 1 || kept.segments > kept.in_order;
        let is_changed = self.grew || self.edge.is_some() || self.next_edge.1.is_some() || waits;
        if is_changed { self.select(acknowledged, next, kept) } else { None }
    }

    /// The window is not smaller than what is left of the window before, and is rounded up to whole units.
    #[inline(never)]
    fn select(&mut self, acknowledged: u32, next: u32, kept: Kept) -> Option<u32> {
        if acknowledged >= self.next_edge.0 {
            self.edge = self.next_edge.1;
        }
        let first = next;
        let next = u64::from(next) * self.payload;
        let edge = self.edge.unwrap_or((u64::from(acknowledged) + u64::from(self.announced)) * self.payload);
        let left = edge.saturating_sub(next);
        let wanted = self.window.min(self.free(kept)).max(left).next_multiple_of(UNIT_BYTES);
        // The application reads what is in order, and announces the window anew if it is twice as large then
        // (`tcp_cleanup_rbuf`).
        let after = self.window.min(self.free(kept.above()));
        let bytes = if after >= 2 * wanted { after.next_multiple_of(UNIT_BYTES) } else { wanted };
        self.next_edge = (first, (bytes < self.window).then_some(next + bytes));
        self.grew = false;
        let segments = u32::try_from(bytes / self.payload).unwrap_or(u32::MAX);
        (std::mem::replace(&mut self.announced, segments) != segments).then_some(segments)
    }

    /// Window for which the buffer has room beside the data that are kept, bytes.
    fn free(&self, kept: Kept) -> u64 {
        let bytes = kept.segments * self.payload + kept.runs * OVERHEAD_BYTES;
        self.buffer.saturating_sub(bytes) * self.ratio / TCP_RMEM_TO_WIN
    }

    /// Begins the first round trip, when the connection opens.
    pub fn open(&mut self, now: Time) {
        self.since = now;
    }

    /// Takes a new segment while the buffer has `kept`. Returns true if the window grows.
    #[inline(always)]
    pub fn grow(&mut self, kept: Kept) -> bool {
        if self.window >= self.bound {
            return false;
        }
        let room = self.bound.min(self.free(kept)).saturating_sub(self.window);
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
                grown += u32::from(window.grow(Kept::ONE));
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
        assert_eq!((window.announced(), window.announcement(0, 0, Kept::ONE)), (45, None));
        assert!(window.grow(Kept::ONE));
        assert_eq!((window.announcement(0, 1, Kept::ONE), window.announcement(1, 2, Kept::ONE)), (Some(46), None));
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
        let kept = |segments| Kept { segments, runs: 1, in_order: 0 };
        assert!(!window.grow(kept(21)), "21 segments leave 63,171 bytes of window");
        assert!(window.grow(kept(1)));
    }

    /// Windows in units of 128 bytes that Linux 6.12 announced with packets of 9,000 bytes.
    #[test]
    fn data_above_a_gap_hold_the_right_edge_until_the_gap_is_filled() {
        let payload = 8948;
        let mut window = Window::new(&StackSpec { payload_bytes: payload, ..StackSpec::linux() }, Time::ZERO);
        (0..12).for_each(|_| _ = window.grow(Kept::ONE));
        assert_eq!(window.announcement(12, 12, Kept::ONE), Some(867 * 128 / payload));
        let held = |segments| Kept { segments, runs: 2, in_order: 0 };
        assert!(window.grow(Kept::default()), "nothing is kept when the first segment above the gap arrives");
        for segments in 1..9 {
            assert_eq!(window.announcement(12, 12, held(segments)), None, "the edge stays");
        }
        let filled = |segments, in_order| Kept { segments, runs: 3, in_order };
        for (next, kept, units) in [(13, filled(10, 1), 798), (14, filled(10, 1), 729), (16, filled(10, 2), 590)] {
            assert_eq!(window.announcement(12, next, kept), Some(units * 128 / payload));
        }
        let all = Kept { segments: 9, runs: 1, in_order: 9 };
        assert_eq!(window.announcement(16, 25, all), Some(936 * 128 / payload), "the application has read");
    }

    #[test]
    fn a_segment_that_waits_for_its_ack_does_not_move_the_right_edge() {
        let (none, above) = (Kept::default(), Kept { segments: 1, runs: 1, in_order: 0 });
        for (acknowledged, announced) in [(100, Some(27)), (101, None)] {
            let mut window = Window::new(&StackSpec { receive_window: Some(27), ..StackSpec::linux() }, Time::ZERO);
            while window.grow(none) {}
            assert_eq!(window.announcement(100, 100, none), Some(28), "the application has read");
            assert_eq!(window.announcement(100, 101, none), None);
            assert_eq!(
                window.announcement(acknowledged, 101, above),
                announced,
                "ACK of segment {acknowledged} before"
            );
        }
    }
}
