//! Adaptive timeout of delayed ACKs, and the return to quick ACKs, as in Linux 6.12 (`tcp_event_data_recv`,
//! `tcp_send_delayed_ack`, `tcp_delack_timer_handler`).

use std::cmp::Ordering;

use super::constants::TCP_MAX_QUICKACKS;
use super::jiffies::Interrupts;
use crate::time::Time;

/// Smallest deviation in the first retransmission timeout (`TCP_RTO_MIN`).
const MIN_DEVIATION: Time = Time(Time::SECOND.0 / 5);
/// Largest estimate of the interval between segments (`TCP_DELACK_MAX`).
const LONGEST_ATO: Time = Time(Time::SECOND.0 / 5);

/// State of a receiver that delays ACKs. Intervals are in jiffies.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    interrupts: Interrupts,
    /// Estimate of the interval between segments (`icsk_ack.ato`), and the initial value of this estimate, which is
    /// also its minimum.
    ato: u64,
    min_ato: u64,
    /// Largest estimate: the receiver's retransmission timeout, and at most 200 ms.
    max_ato: u64,
    /// Largest timeout: the RTT, and less than 200 ms (`tcp_delack_max`).
    most: u64,
    /// Pause after which the sender may have begun again with a small window: the receiver's retransmission timeout.
    pause: u64,
    /// Arrival of the last segment in order.
    last: Time,
    /// Longest interval that leaves the estimate at its minimum, as a time.
    steady: Time,
    /// Timeout of an ACK that is delayed now.
    timeout: Time,
}

impl Patience {
    /// Patience for a path whose handshake took `rtt`; `delayed_ack` is the initial timeout.
    pub fn new(rtt: Time, delayed_ack: Time, interrupts: Interrupts) -> Self {
        let jiffy = interrupts.jiffy;
        let min_ato = delayed_ack.0.div_ceil(jiffy.0);
        let timeout = rtt.later(rtt.later(rtt).max(MIN_DEVIATION));
        let pause = timeout.0.div_ceil(jiffy.0);
        let max_ato = pause.min(LONGEST_ATO.0 / jiffy.0);
        let mut patience = Self {
            interrupts,
            ato: min_ato,
            min_ato,
            max_ato,
            most: rtt.0.div_ceil(jiffy.0).min(max_ato.saturating_sub(1)).max(min_ato),
            pause,
            last: Time::NEVER,
            // An odd minimum is halved to less than itself by each segment (`icsk_ack.ato`).
            steady: Time(if min_ato % 2 == 0 { min_ato / 2 * jiffy.0 } else { 0 }),
            timeout: Time::ZERO,
        };
        patience.set_ato(min_ato);
        patience
    }

    fn set_ato(&mut self, jiffies: u64) {
        self.ato = jiffies;
        self.timeout = Time(self.ato.min(self.most) * self.interrupts.jiffy.0);
    }

    /// Takes the next expected segment if it changes nothing but the time of the last segment. Returns false in any other
    /// case, and does nothing then.
    #[inline(always)]
    pub fn is_steady(&mut self, now: Time) -> bool {
        let is_steady = self.ato == self.min_ato && now.since(self.last) < self.steady;
        if is_steady {
            self.last = now;
        }
        is_steady
    }

    /// Takes a segment that is equal to, below or above the next expected segment. Returns the smallest number of quick
    /// ACKs from now on, which is above 0 after a pause, or after a segment that had arrived before.
    pub fn on_segment(&mut self, now: Time, order: Ordering) -> u32 {
        match order {
            Ordering::Less => {
                self.set_ato(self.min_ato);
                TCP_MAX_QUICKACKS
            }
            Ordering::Greater => 0,
            Ordering::Equal => {
                let interval = self.interrupts.count(now).saturating_sub(self.interrupts.count(self.last));
                self.last = now;
                if interval <= self.min_ato / 2 {
                    self.set_ato(self.ato / 2 + self.min_ato / 2);
                } else if interval < self.ato {
                    self.set_ato((self.ato / 2 + interval).min(self.max_ato));
                } else if interval > self.pause {
                    return TCP_MAX_QUICKACKS;
                }
                0
            }
        }
    }

    /// Number of quick ACKs that the first segment in order begins `pause` after the connection, if segments out of order
    /// have arrived before it.
    pub fn after_pause(&self, pause: Time) -> u32 {
        if self.interrupts.count(pause) > self.pause { TCP_MAX_QUICKACKS } else { 0 }
    }

    /// Records that a delayed ACK's timer expired: segments arrive more slowly than estimated.
    pub fn on_expiry(&mut self) {
        self.set_ato((2 * self.ato).min(self.max_ato));
    }

    /// Records that the last quick ACK was sent (`tcp_dec_quickack_mode`), or that quick ACKs begin at a mark.
    pub fn on_end_of_quick_acks(&mut self) {
        self.set_ato(self.min_ato);
    }

    /// Timeout of an ACK that is delayed now.
    #[inline(always)]
    pub fn timeout(&self) -> Time {
        self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StackSpec;

    fn at(ms: u64) -> Time {
        Time(ms * Time::MILLISECOND.0)
    }

    fn patience(rtt_ms: u64) -> Patience {
        Patience::new(at(rtt_ms), at(40), Interrupts::of(&StackSpec::linux()))
    }

    #[test]
    fn a_pause_of_more_than_the_timeout_brings_quick_acks() {
        for (rtt_ms, pause_ms) in [(100, 300), (40, 240), (300, 900)] {
            let mut state = patience(rtt_ms);
            assert_eq!(state.on_segment(at(4), Ordering::Equal), 0, "the first segment has its own quick ACKs");
            assert_eq!(state.on_segment(at(200), Ordering::Greater), 0);
            assert_eq!(state.on_segment(at(4 + pause_ms), Ordering::Equal), 0);
            assert_eq!(state.on_segment(at(8 + 2 * pause_ms), Ordering::Equal), 16);
        }
    }

    #[test]
    fn a_steady_segment_leaves_the_timeout_as_the_long_way_does() {
        for delayed_ack_ms in [24, 26, 28, 40] {
            let new = || Patience::new(at(100), at(delayed_ack_ms), Interrupts::of(&StackSpec::linux()));
            let (mut short, mut long) = (new(), new());
            for ms in 4..40 {
                if !short.is_steady(at(ms)) {
                    short.on_segment(at(ms), Ordering::Equal);
                }
                long.on_segment(at(ms), Ordering::Equal);
                assert_eq!(short.timeout(), long.timeout(), "{delayed_ack_ms} ms, at {ms} ms");
            }
        }
    }

    #[test]
    fn a_segment_that_had_arrived_before_brings_quick_acks() {
        assert_eq!(patience(100).on_segment(at(1), Ordering::Less), 16);
    }

    #[test]
    fn an_expiry_doubles_the_timeout_up_to_the_rtt_and_segments_halve_it() {
        let mut state = patience(100);
        state.on_segment(at(0), Ordering::Equal);
        assert_eq!(state.timeout(), at(40));
        state.on_expiry();
        assert_eq!(state.timeout(), at(80));
        state.on_expiry();
        assert_eq!(state.timeout(), at(100));
        assert!(!state.is_steady(at(1)));
        for (now, timeout) in [(4, 100), (8, 68), (12, 52), (16, 44), (20, 40), (24, 40)] {
            state.on_segment(at(now), Ordering::Equal);
            assert_eq!(state.timeout(), at(timeout), "{now} ms");
        }
        assert!(state.is_steady(at(28)));
        state.on_segment(at(60), Ordering::Equal);
        assert_eq!(state.timeout(), at(52), "20 ms and the interval of 32 ms");
    }

    #[test]
    fn the_estimate_is_at_most_200_ms_and_the_timeout_less() {
        let mut state = patience(300);
        state.on_segment(at(0), Ordering::Equal);
        for _ in 0..3 {
            state.on_expiry();
        }
        assert_eq!(state.timeout(), at(196), "one jiffy less than the smallest retransmission timeout");
        for (now, timeout) in [(132, 196), (136, 120), (140, 80)] {
            state.on_segment(at(now), Ordering::Equal);
            assert_eq!(state.timeout(), at(timeout), "{now} ms");
        }
    }
}
