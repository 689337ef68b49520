//! Schedule of a receiver's ACKs: of every segment or every second one, at once for a while, or after a wait.

use super::ack_timer::AckTimer;
use super::arrivals::Arrivals;
use crate::endpoint::linux::ack_compression::Compression;
use crate::endpoint::linux::delayed_acks::Patience;
use crate::endpoint::linux::jiffies::Interrupts;
use crate::endpoint::linux::quick_acks::QuickAcks;
use crate::endpoint::linux::receive_window::{Kept, Window};
use crate::packet::Packet;
use crate::spec::FlowSpec;
use crate::time::Time;

/// Timer that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// That of a delayed ACK.
    Delay,
    /// That of an ACK which waited for further segments.
    Wait,
    /// The application has read.
    Read,
}

/// State of all that decides when an ACK is sent.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    every: u32,
    unacknowledged: u32,
    quick: QuickAcks,
    /// True if segments out of order count as quick ACKs too. Linux acknowledges each segment while the receive window
    /// grows, and the window grows with each segment that arrives (`tcp_grow_window`).
    counts_held: bool,
    timer: AckTimer,
    interrupts: Interrupts,
    delay: Time,
    /// `Some` if the timeout of delayed ACKs adapts.
    patience: Option<Patience>,
    /// `Some` if ACKs above a gap are compressed.
    compression: Option<Compression>,
    /// `Some` if the application reads at once: the window whose growth makes quick ACKs.
    window: Option<Box<Window>>,
    /// Time of the connection.
    opened: Time,
}

impl Schedule {
    /// The schedule of a receiver whose connection is opened at `opened`.
    pub(super) fn new(flow: &FlowSpec, opened: Time) -> Self {
        let stack = &*flow.stack;
        let interrupts = Interrupts::of(stack);
        let reads = stack.reads_at_once && stack.is_linux();
        let window = reads.then(|| Box::new(Window::new(stack, Time(flow.start_ps))));
        let quick = window.as_ref().map_or_else(|| flow.quick_acks(), |window| window.quick_acks());
        Self {
            every: stack.ack_every,
            unacknowledged: 0,
            quick: QuickAcks::new(quick),
            // The studies that use other stacks are reproduced without this rule.
            counts_held: stack.is_linux(),
            timer: AckTimer::new(interrupts),
            interrupts,
            delay: Time(stack.delayed_ack_ps),
            patience: None,
            compression: None,
            window,
            opened,
        }
    }

    /// Takes the RTT of the handshake. A receiver that delays ACKs compresses those above a gap from now on, and returns to
    /// quick ACKs after a pause.
    pub(super) fn note_handshake(&mut self, rtt: Time) {
        if self.delays() {
            self.compression = Some(Compression::new(rtt));
            let adapts = self.interrupts.jiffy > Time::ZERO;
            self.patience = adapts.then(|| Patience::new(rtt, self.delay, self.interrupts));
        }
    }

    /// Opens the connection. `answered` is the time of the SYN-ACK, if there was one.
    pub(super) fn open(&mut self, now: Time, answered: Option<Time>) {
        self.opened = now;
        if let Some(window) = &mut self.window {
            window.open(now);
        }
        if let Some(answered) = answered.filter(|_| self.counts_held) {
            self.note_handshake(self.interrupts.elapsed(answered, now));
        }
    }

    /// True if ACKs are delayed.
    pub(super) fn delays(&self) -> bool {
        self.every > 1
    }

    /// True if the receive window is that of an application that reads at once.
    pub(super) fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// Lower bound of the time of the next expiry.
    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.timer.due()
    }

    /// True if the next segment is acknowledged at once.
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.quick.are_left()
    }

    /// True if the ACK of earlier segments is delayed.
    pub(super) fn is_delaying(&self) -> bool {
        self.unacknowledged > 0 && !self.is_quick()
    }

    /// Measures the RTT, if the segment echoes a timestamp.
    #[inline(always)]
    pub(super) fn measure(&mut self, packet: &Packet) {
        if packet.extra() > 0 {
            if let Some(compression) = &mut self.compression {
                compression.measure(self.interrupts.clock(packet.at), packet.extra());
            }
        }
    }

    /// Takes the next expected segment, while nothing is missing; `next` is the segment after it. Returns true if an ACK is
    /// due.
    #[inline(always)]
    pub(super) fn take_next(&mut self, now: Time, next: u32) -> bool {
        self.note_next(now);
        self.grow_window(Kept::ONE);
        self.read(now, next);
        self.is_due()
    }

    /// Adapts the timeout of delayed ACKs and the number of quick ACKs to a segment, before it is taken.
    #[inline]
    pub(super) fn adapt(&mut self, now: Time, segment: u32, arrivals: &Arrivals) {
        if self.window.is_some() && arrivals.is_new(segment) {
            self.grow_window(arrivals.kept_with(segment));
        }
        let Some(patience) = &mut self.patience else { return };
        let mut least = patience.on_segment(now, segment.cmp(&arrivals.next()));
        if self.quick.are_missed() && arrivals.next() == 0 && segment == 0 {
            least = patience.after_pause(now.since(self.opened));
        }
        self.restart_quick_acks(least);
    }

    /// Grows the window by a new segment, if the application reads at once, while the buffer has `kept`.
    #[inline(always)]
    fn grow_window(&mut self, kept: Kept) {
        if self.window.as_mut().is_some_and(|window| window.grow(kept)) {
            self.quick.note_growth();
        }
    }

    /// Lets the application read the data below `next`, if it reads at once.
    #[inline(always)]
    pub(super) fn read(&mut self, now: Time, next: u32) {
        if let (Some(window), Some(compression)) = (&mut self.window, &self.compression) {
            window.read(now, next, compression.measured());
        }
    }

    /// The first segment that the latest ACK did not acknowledge; `next` is the next expected segment.
    #[inline(always)]
    pub(super) fn acknowledged(&self, next: u32) -> u32 {
        next.saturating_sub(self.unacknowledged)
    }

    /// The window in segments, if the next ACK announces another one than the ACK before. Before the latest arrival,
    /// segments up to `before` were there, and those up to `acknowledged` were acknowledged.
    #[inline(always)]
    pub(super) fn announcement(&mut self, acknowledged: u32, before: u32, arrivals: &Arrivals) -> Option<u32> {
        let kept = arrivals.kept_since(before);
        // If the arrival had no ACK, the application has read before there is one.
        let kept = if self.unacknowledged > 0 { kept.above() } else { kept };
        self.window.as_mut()?.announcement(acknowledged, arrivals.next(), kept)
    }

    /// True if the application reads from a buffer of a stated size, whose window depends on the data in it.
    pub(super) fn has_fixed_window(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_fixed())
    }

    /// True if the application sends the ACK of a segment in order, when it has read what has arrived, because the segment
    /// is the last of a burst, or one of several of which the kernel acknowledges none.
    pub(super) fn waits_for_reader(&self, is_one_of_several: bool) -> bool {
        self.window.as_ref().is_some_and(|window| !is_one_of_several || window.is_left_to_reader())
    }

    /// Lets the application send the ACK of a segment that arrives now.
    pub(super) fn leave_to_reader(&mut self, now: Time) {
        self.timer.wait_for_reader(now);
    }

    /// Records that the application, and not the kernel, has sent the latest ACK.
    pub(super) fn note_reader(&mut self) {
        if let Some(window) = &mut self.window {
            window.is_by_reader = true;
        }
    }

    /// Takes at least `least` quick ACKs for a new reason, if `least` is not zero.
    #[inline]
    fn restart_quick_acks(&mut self, least: u32) {
        if least > 0 {
            self.quick.restart(self.window.as_ref().map_or(least, |window| least.min(window.quick_acks())));
        }
    }

    /// Takes the quick ACKs of a mark or of a retransmission.
    pub(super) fn quicken(&mut self) {
        self.quick.start_at_mark();
        self.end_quick_acks();
    }

    fn end_quick_acks(&mut self) {
        if let Some(patience) = &mut self.patience {
            patience.on_end_of_quick_acks();
        }
    }

    #[inline]
    fn count_quick_ack(&mut self) {
        if self.quick.count() {
            self.end_quick_acks();
        }
    }

    /// Counts a small part of a segment that arrives in order.
    pub(super) fn note_small_part(&mut self) {
        self.quick.count_small_part();
    }

    /// Counts a new segment out of order as a quick ACK.
    #[inline]
    pub(super) fn note_held(&mut self, arrivals: &Arrivals) {
        if self.counts_held && self.is_quick() {
            if arrivals.next() == 0 && arrivals.held() == 1 {
                self.quick.miss_beginning();
            }
            self.count_quick_ack();
        }
    }

    /// Counts a segment in order. Returns true if it is acknowledged at once.
    #[inline(always)]
    pub(super) fn is_due(&mut self) -> bool {
        self.unacknowledged += 1;
        if self.is_quick() {
            self.count_quick_ack();
            return true;
        }
        self.unacknowledged >= self.every
    }

    /// Adapts the timeout of delayed ACKs to the next expected segment.
    #[inline(always)]
    fn note_next(&mut self, now: Time) {
        if let Some(patience) = &mut self.patience {
            if !patience.is_steady(now) {
                let least = patience.on_segment(now, std::cmp::Ordering::Equal);
                self.restart_quick_acks(least);
            }
        }
    }

    /// Takes `count` segments in order that arrive until now, while nothing is missing. Returns the number of their ACKs; none
    /// is left to wait.
    pub(super) fn take_train(&mut self, now: Time, count: u32) -> u32 {
        self.note_next(now);
        let mut acks = 0;
        while acks < count && self.is_quick() {
            self.count_quick_ack();
            acks += 1;
        }
        let delayed = count - acks;
        let waiting = if delayed > 0 { self.unacknowledged + delayed } else { 0 };
        acks + waiting.div_ceil(self.every)
    }

    /// Delays the ACK of a segment that arrives now.
    #[inline(always)]
    pub(super) fn delay(&mut self, now: Time) {
        self.timer.delay(now, self.patience.as_ref().map_or(self.delay, Patience::timeout));
    }

    /// True if ACKs above a gap may wait.
    pub(super) fn compresses(&self) -> bool {
        self.compression.is_some()
    }

    /// True if an ACK waits for further segments.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.compression.as_ref().is_some_and(Compression::is_waiting)
    }

    /// True if the ACK of a new segment above the gap at `gap` waits for further segments.
    #[inline]
    pub(super) fn waits(&mut self, now: Time, gap: u32) -> bool {
        let Some(wait) = self.compression.as_mut().and_then(|state| state.admit(gap)) else { return false };
        self.timer.wait(now, wait);
        true
    }

    /// Counts the ACK of a single segment below a gap as an ACK for the gap at `gap`, as Linux does: the ACK is not due by
    /// the number of new segments, but because segments above the gap are held.
    pub(super) fn note_new_gap(&mut self, gap: u32) {
        if let Some(state) = &mut self.compression {
            state.admit(gap);
        }
    }

    /// Handles the timer at `now`. Returns the timer that has expired, if any, whose ACK is sent now.
    pub(super) fn on_timer(&mut self, now: Time) -> Option<Expired> {
        if !self.timer.expires(now) {
            return None;
        }
        if self.timer.is_read() {
            return Some(Expired::Read);
        }
        if self.is_waiting() {
            return Some(if self.timer.is_kick() { Expired::Wait } else { Expired::Delay });
        }
        if let Some(patience) = &mut self.patience {
            patience.on_expiry();
        }
        Some(Expired::Delay)
    }

    /// Records an ACK of a segment in order, while nothing is missing.
    #[inline(always)]
    pub(super) fn note_clean_ack(&mut self) {
        self.unacknowledged = 0;
        self.timer.stop();
    }

    /// Records an ACK.
    #[inline(always)]
    pub(super) fn note_ack(&mut self) {
        self.note_clean_ack();
        if let Some(state) = &mut self.compression {
            state.release();
        }
        if let Some(window) = &mut self.window {
            window.is_by_reader = false;
        }
    }
}
