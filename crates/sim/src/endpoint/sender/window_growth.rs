//! Growth of the receive window at the start of a connection, as in Linux 6.12 (`tcp_grow_window`). The receiver
//! acknowledges each segment while its window grows, so the sender counts the ACKs.

use crate::spec::{Detection, MOST_IN_FLIGHT, StackSpec};

/// Segments by which each received segment grows the window.
const STEP: u32 = 2;
/// Quick ACKs at the start that grow no window (`TCP_MAX_QUICKACKS`).
const WITHOUT_GROWTH: u32 = 16;

/// Growth of the receive window that is still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowGrowth {
    /// ACKs that will announce a larger window than the ACK before.
    acks: u32,
    /// Segments by which each of these ACKs changes the window; zero if the window is unlimited.
    step: u32,
}

impl WindowGrowth {
    /// The receive window at the start, segments, and its growth. `bound` is the window at the end of the growth; `None`
    /// is unlimited. A window that is smaller than the growth does not grow.
    pub(super) fn new(stack: &StackSpec, bound: Option<u32>) -> (u32, Self) {
        let last = bound.unwrap_or(MOST_IN_FLIGHT);
        let is_linux = stack.detection == Detection::Rack && stack.ack_every > 1;
        let acks = if is_linux { stack.quick_acks.saturating_sub(WITHOUT_GROWTH) } else { 0 };
        let growth = acks.saturating_mul(STEP);
        match bound {
            Some(bound) if bound > growth => (last - growth, Self { acks, step: STEP }),
            Some(_) => (last, Self { acks: 0, step: 0 }),
            None => (last, Self { acks, step: 0 }),
        }
    }

    /// Takes an ACK, and grows the receive window `window`. Returns true if the ACK announces a larger window.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, window: &mut u32) -> bool {
        if self.acks == 0 {
            return false;
        }
        self.acks -= 1;
        *window += self.step;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window_after(acks: u32, stack: &StackSpec, bound: Option<u32>) -> u32 {
        let (mut window, mut growth) = WindowGrowth::new(stack, bound);
        for _ in 0..acks {
            growth.on_ack(&mut window);
        }
        window
    }

    #[test]
    fn the_window_grows_by_two_segments_for_each_quick_ack_but_the_last_sixteen() {
        for (acks, window) in [(0, 1605), (1, 1607), (1063, 3731), (1064, 3733), (2000, 3733)] {
            assert_eq!(window_after(acks, &StackSpec::linux(), Some(3733)), window);
        }
    }

    #[test]
    fn a_small_or_unlimited_window_and_the_windows_of_other_stacks_are_constant() {
        let dupthresh = StackSpec { detection: Detection::Dupthresh, ..StackSpec::linux() };
        for (bound, stack) in [(Some(100), StackSpec::linux()), (None, StackSpec::linux()), (Some(3733), dupthresh)] {
            assert_eq!(window_after(0, &stack, bound), window_after(1, &stack, bound));
        }
    }
}
