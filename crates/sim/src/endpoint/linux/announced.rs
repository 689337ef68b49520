//! The receive window that ACKs announce, as in Linux 6.12.
//!
//! At the start of a connection the window grows (`tcp_grow_window`). The receiver acknowledges each segment while its
//! window grows, so the sender counts the ACKs. A window has a unit, the window scale, and a receiver rounds its window
//! up to the next multiple of the unit (`__tcp_select_window`). The window is then no whole number of segments, and the
//! sender may fill it with a part of a segment.

use super::constants::TCP_MAX_QUICKACKS;
use super::parts::LEAST_GROWING_BYTES;
use super::receive_window::Window;
use crate::endpoint::read::read;
use crate::spec::{FlowSpec, HostRule, MOST_IN_FLIGHT, unit_bytes};
use crate::time::Time;

/// Segments by which each received segment grows the window.
const STEP: u32 = 2;

/// A number that no segment has: at most 2^28 are in flight, and a run ends before the numbers do.
const NO_PART: u32 = u32::MAX;

/// A part of a segment. It has a segment's number, but fewer bytes.
#[derive(Clone, Copy, Debug)]
struct Part {
    segment: u32,
    bytes: u32,
}

/// The window that the latest ACK announced.
#[derive(Clone, Copy, Debug)]
pub struct Announced {
    /// Whole segments that it allows.
    window: u32,
    /// The window before it is rounded, segments.
    segments: u32,
    /// ACKs that will announce a larger window than the ACK before.
    acks: u32,
    /// Segments by which each of these ACKs changes the window; zero if the window is unlimited.
    step: u32,
    /// Payload of a whole segment, bytes.
    payload: u32,
    /// Unit of the window, bytes.
    unit: u64,
    /// Bytes of the window after its last whole segment.
    rest: u32,
    /// True if the sender may send parts of segments.
    splits: bool,
    /// The part that is not yet acknowledged; there is at most one (`tcp_minshall_check`).
    part: Option<Part>,
    /// True if a capture tells that the latest ACK announces a larger window.
    is_told_larger: bool,
    /// The segment of the part, which is compared with every segment that is sent; [`NO_PART`] without a part.
    short: u32,
}

impl Announced {
    read!(window: u32);

    /// The receive window at the start. A window that is smaller than its growth does not grow. `None` in the flow and in
    /// its stack is an unlimited window.
    pub fn new(flow: &FlowSpec) -> Self {
        let stack = &*flow.stack;
        let bound = flow.receive_window.or(stack.receive_window);
        let last = bound.unwrap_or(MOST_IN_FLIGHT);
        let payload = stack.payload_bytes.max(1);
        let is_linux = stack.has(HostRule::ReceiveWindow);
        let fixed = Self {
            window: last,
            segments: last,
            acks: 0,
            step: 0,
            payload,
            unit: 1,
            rest: 0,
            splits: false,
            part: None,
            is_told_larger: false,
            short: NO_PART,
        };
        if is_linux && stack.reads_at_once {
            // The receiver's window grows by rules of its own, and its ACKs say how far.
            let window = Window::new(stack, Time::ZERO).announced();
            return Self { window, segments: window, ..fixed };
        }
        let acks = if is_linux { stack.quick_acks.saturating_sub(TCP_MAX_QUICKACKS) } else { 0 };
        let growth = acks.saturating_mul(STEP);
        let (segments, acks, step) = match bound {
            Some(bound) if bound > growth => (last - growth, acks, STEP),
            Some(_) => (last, 0, 0),
            None => (last, acks, 0),
        };
        let unit = if bound.is_some() && is_linux { unit_bytes(u64::from(last) * u64::from(payload)) } else { 1 };
        let splits = flow.sends_parts() && (u64::from(last) * u64::from(payload)) & (unit - 1) == 0;
        let mut this = Self { segments, acks, step, unit, splits, ..fixed };
        this.settle();
        this
    }

    /// Takes from a capture whether the next ACK announces a larger window.
    pub fn tell_larger(&mut self, is_larger: bool) {
        self.is_told_larger = is_larger;
    }

    /// Takes the window that an ACK states, if the receiver keeps a window by rules of its own.
    pub fn state(&mut self, window: u32) {
        self.window = window;
    }

    /// Bytes of new data that the window allows from segment `next` on, while `una` is the lowest outstanding.
    #[inline(always)]
    pub fn bytes_from(&self, una: u32, next: u32) -> u64 {
        let whole = (una + self.window).checked_sub(next);
        whole.map_or(0, |whole| u64::from(whole) * u64::from(self.payload) + u64::from(self.rest))
    }

    /// Takes an ACK that moves the left edge of the window from `una` to `cumulative`. Returns true if the ACK announces a
    /// larger window.
    #[inline(always)]
    pub fn on_ack(&mut self, una: u32, cumulative: u32) -> bool {
        if self.acks == 0 && self.part.is_none() {
            return self.is_told_larger;
        }
        self.update(una, cumulative)
    }

    #[inline(never)]
    fn update(&mut self, una: u32, cumulative: u32) -> bool {
        let mut grows = self.acks > 0;
        if let Some(part) = self.part.filter(|part| part.segment < cumulative) {
            let is_latest = part.segment >= una && part.segment + 1 == cumulative;
            grows &= !is_latest || part.bytes >= LEAST_GROWING_BYTES;
            (self.part, self.short) = (None, NO_PART);
        }
        if grows {
            self.acks -= 1;
            self.segments += self.step;
        }
        self.settle();
        grows
    }

    /// Brings the whole segments in the window up to date. A part that is not acknowledged leaves room for further bytes.
    fn settle(&mut self) {
        let payload = u64::from(self.payload);
        let saved = u64::from(self.part.map_or(0, |part| self.payload - part.bytes));
        // The unit is a power of two.
        let added = (u64::from(self.segments) * payload).wrapping_neg() & (self.unit - 1);
        let rest = added + saved;
        (self.window, self.rest) = (self.segments, rest as u32);
        // Only a small segment, a large unit or a part of a segment needs the divisions, which cost more than all else here.
        if rest >= payload {
            (self.window, self.rest) = (self.segments + (rest / payload) as u32, (rest % payload) as u32);
        }
    }

    /// True if a part of a segment may be sent now.
    pub fn allows_part(&self) -> bool {
        self.splits && self.part.is_none()
    }

    /// Makes the next segment `segment` a part with `bytes` of payload.
    pub fn split(&mut self, segment: u32, bytes: u32) {
        (self.part, self.short) = (Some(Part { segment, bytes }), segment);
        self.settle();
    }

    /// Bytes by which a segment is shorter than a whole segment.
    pub fn missing_in(&self, segment: u32) -> u32 {
        if segment == self.short { self.part.map_or(0, |part| self.payload - part.bytes) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{HostKind, StackSpec};
    use crate::time::Time;
    use std::sync::Arc;

    fn flow(stack: StackSpec, bound: Option<u32>) -> FlowSpec {
        let mut flow = FlowSpec::bulk("f", "reno", Time::ZERO, &[0], &[1]);
        flow.stack = Arc::new(StackSpec { receive_window: bound, ..stack });
        flow
    }

    fn window_after(acks: u32, stack: StackSpec, bound: Option<u32>) -> u32 {
        let mut announced = Announced::new(&flow(stack, bound));
        for ack in 0..acks {
            announced.on_ack(ack, ack + 1);
        }
        announced.window()
    }

    #[test]
    fn the_window_grows_by_two_segments_for_each_quick_ack_but_the_last_sixteen() {
        for (acks, window) in [(0, 1605), (1, 1607), (1063, 3731), (1064, 3733), (2000, 3733)] {
            assert_eq!(window_after(acks, StackSpec::linux(), Some(3733)), window);
        }
    }

    #[test]
    fn a_small_or_unlimited_window_and_the_windows_of_other_stacks_are_constant() {
        let plain = StackSpec { host: HostKind::Plain, ..StackSpec::linux() };
        for (bound, stack) in [(Some(100), StackSpec::linux()), (None, StackSpec::linux()), (Some(3733), plain)] {
            assert_eq!(window_after(0, stack.clone(), bound), window_after(1, stack, bound));
        }
    }

    /// Windows in units of 128 bytes that a receiver of Linux 6.12 announced in its first ACKs.
    #[test]
    fn the_window_is_announced_in_units() {
        let mut announced = Announced::new(&flow(StackSpec::linux(), Some(3040)));
        assert_eq!((announced.window(), announced.rest), (912, 0));
        let units = [10_340_u64, 10_363, 10_385, 10_408, 10_431, 10_453, 10_476, 10_498, 10_521];
        for (ack, units) in (1..).zip(units) {
            announced.on_ack(ack - 1, ack);
            let bytes = units * 128;
            assert_eq!((announced.window(), announced.rest), ((bytes / 1448) as u32, (bytes % 1448) as u32));
        }
    }

    #[test]
    fn a_part_fills_the_window_and_is_the_only_one_until_its_ack() {
        let mut announced = Announced::new(&flow(StackSpec::linux(), Some(3040)));
        announced.on_ack(0, 1);
        assert_eq!((announced.window(), announced.rest), (914, 48));
        announced.split(915, 48);
        assert_eq!(
            (announced.window(), announced.rest, announced.allows_part()),
            (915, 0, false),
            "the window is full"
        );
        assert_eq!((announced.missing_in(915), announced.missing_in(916)), (1400, 0));
        assert!(announced.on_ack(1, 915), "whole segments grow the window");
        assert_eq!((announced.window(), announced.rest), (917, 48), "10,363 units of 128 bytes, and 1,400 bytes");
        assert!(!announced.on_ack(915, 916), "a small part does not");
        assert_eq!((announced.window(), announced.rest, announced.allows_part()), (916, 96, true));
    }

    #[test]
    fn a_window_that_never_becomes_a_number_of_segments_has_no_parts() {
        for (bound, allows) in [(Some(3042), false), (Some(3040), true), (None, true)] {
            assert_eq!(Announced::new(&flow(StackSpec::linux(), bound)).allows_part(), allows, "{bound:?}");
        }
    }
}
