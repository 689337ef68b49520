//! Rapid Start (draft-kazuho-ccwg-rapid-start, text of November 2025): the window triples each round trip until a queue
//! builds up, and the first loss then reduces it to the share of the BDP and the queue that was delivered.
//!
//! Variant: the recovery's factors follow from the algorithm's own decrease. The draft asks for pacing while the first
//! window is filled; here the stack paces or does not.

use crate::ack::Ack;
use crate::windowed::WindowedMin;

/// Smallest RTT of the last round trip at which no queue builds up: at most so much above the smallest RTT, s, and at
/// most so many times the smallest RTT.
const TOLERATED_S: f64 = 0.004;
const TOLERATED_RATIO: f64 = 1.1;
/// Growth of the window for each segment acknowledged, segments, without a queue.
const GROWTH: f64 = 2.0;
/// Share of the decrease by which the window falls at the beginning of the recovery (K).
const K: f64 = 11.0 / 18.0;
/// Largest share of segments that a full queue drops at a threefold growth.
const MOST_LOST: f64 = 2.0 / 3.0;

/// State of Rapid Start.
#[derive(Clone, Debug)]
pub struct Rapid {
    floor: WindowedMin,
    retreat: Option<Retreat>,
    /// Segments found lost since the last ACK.
    lost: f64,
    is_over: bool,
}

/// Reduction of the window in the first recovery.
#[derive(Clone, Copy, Debug)]
struct Retreat {
    window: f64,
    least: f64,
    /// Segments by which the window falls for each segment acknowledged, and for each segment lost.
    ack_factor: f64,
    loss_factor: f64,
}

impl Rapid {
    pub fn new() -> Self {
        Self { floor: WindowedMin::new(), retreat: None, lost: 0.0, is_over: false }
    }

    /// Growth of the window for each segment that an ACK acknowledges, segments.
    pub fn growth(&mut self, ack: &Ack) -> f64 {
        let Some(rtt) = ack.rtt.filter(|_| !self.is_over) else { return 1.0 };
        let floor = self.floor.update(rtt, ack.now, ack.min_rtt);
        let is_idle = floor <= (ack.min_rtt + TOLERATED_S).min(ack.min_rtt * TOLERATED_RATIO);
        if is_idle { GROWTH } else { 1.0 }
    }

    /// Counts a lost segment.
    pub fn on_lost(&mut self) {
        if !self.is_over || self.retreat.is_some() {
            self.lost += 1.0;
        }
    }

    /// Begins the first recovery at a window of `window` segments, which an algorithm would reduce to `target` segments.
    /// Returns the window of the recovery; `None` for a later recovery.
    pub fn retreat(&mut self, window: f64, target: f64, initial: f64) -> Option<f64> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        let beta = (target / window).clamp(0.0, 1.0);
        let ack_factor = K * (1.0 - beta);
        let silence = beta + ack_factor;
        let least = (window * (silence - (1.0 - MOST_LOST) * ack_factor - MOST_LOST * silence)).max(initial * beta);
        let begun = silence * window;
        let retreat = Retreat { window: begun, least: least.min(begun), ack_factor, loss_factor: silence };
        self.retreat = Some(retreat);
        Some(self.follow(0.0).unwrap_or(begun))
    }

    /// Window of the recovery after an ACK of `acked` segments; `None` if there is no such recovery.
    pub fn follow(&mut self, acked: f64) -> Option<f64> {
        let lost = std::mem::take(&mut self.lost);
        let r = self.retreat.as_mut()?;
        r.window = (r.window - r.ack_factor * acked - r.loss_factor * lost).max(r.least);
        Some(r.window)
    }

    /// Ends the recovery. Rapid Start applies to the first slow start of a connection only.
    pub fn end(&mut self) {
        (self.retreat, self.is_over, self.lost) = (None, true, 0.0);
    }

    /// Ends the recovery at the recovery's end, if there was one.
    pub fn end_recovery(&mut self) {
        self.retreat = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::cubic::Cubic;
    use crate::event::Event;
    use crate::param::Setting;
    use crate::reno::Reno;
    use crate::reports::{Cause, Lost};
    use crate::testing::{Driver, close, settings};

    fn reno() -> Reno {
        let set = settings(&Reno::ENTRY, "", &[("slow_start", Setting::Text("rapid"))]).expect("it is right");
        Reno::new(&set).expect("it is right")
    }

    #[test]
    fn the_factors_have_the_published_values() {
        // For β = 0.5 the draft has 29/36 and 11/36, for 0.7 it has 53/60 and 11/60.
        for (beta, silence, ack) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
            let mut rapid = Rapid::new();
            close(rapid.retreat(1000.0, beta * 1000.0, 10.0).expect("it is the first"), silence * 1000.0, 1e-12);
            let retreat = rapid.retreat.expect("it has begun");
            close(retreat.ack_factor, ack, 1e-12);
            close(retreat.loss_factor, silence, 1e-12);
        }
    }

    #[test]
    fn the_window_triples_until_a_queue_builds_up() {
        // An RTT of 20 ms tolerates 2 ms of queue, an RTT of 100 ms tolerates 4 ms.
        for (rtt, tolerated) in [(0.02, 0.002), (0.1, 0.004)] {
            let (mut d, mut r) = (Driver::new(), reno());
            d.start(&mut r, 10.0);
            for window in [30.0, 90.0, 270.0] {
                d.round(&mut r, rtt);
                assert_eq!(r.window(), window);
            }
            // The smallest RTT of the last RTT is what counts, so the first round still sees that of the round before.
            for _ in 0..2 {
                d.round(&mut r, rtt + 1.1 * tolerated);
            }
            let before = r.window();
            d.round(&mut r, rtt + 1.1 * tolerated);
            close(r.window(), 2.0 * before, 0.01);
        }
    }

    /// Window at the end of the first recovery, in shares of the window before it, if `loss` of a window is lost.
    fn kept(algorithm: &mut impl Algorithm, loss: f64) -> f64 {
        let (mut d, window) = (Driver::new(), 810.0);
        d.start(algorithm, 10.0);
        while algorithm.window() < window {
            d.round(algorithm, 0.1);
        }
        let lost = (loss * window) as u32;
        algorithm.on_event(&Event::Lost(Lost::default()));
        algorithm.on_event(&Event::Congestion(d.signal(algorithm, Cause::Loss)));
        for i in 0..window as u32 {
            if i > 0 && i < lost {
                algorithm.on_event(&Event::Lost(Lost::default()));
            }
            if i >= lost {
                d.now += 1e-4;
                let ack = d.make_ack(algorithm, 1.0, 0.1, false);
                algorithm.on_ack(&Ack { in_recovery: true, ..ack });
            }
        }
        algorithm.on_event(&Event::RecoveryExit { now: d.now });
        algorithm.window() / window
    }

    #[test]
    fn after_the_recovery_the_window_is_the_algorithms_share_of_what_was_delivered() {
        let cubic = || {
            let set = settings(&Cubic::ENTRY, "", &[("slow_start", Setting::Text("rapid"))]).expect("it is right");
            Cubic::new(&set).expect("it is right")
        };
        for loss in [0.1, 1.0 / 3.0, 0.6] {
            close(kept(&mut reno(), loss), 0.5 * (1.0 - loss), 0.02);
            close(kept(&mut cubic(), loss), 0.7 * (1.0 - loss), 0.02);
        }
        // More losses than a full queue can cause reduce the window no further.
        close(kept(&mut reno(), 0.9), 0.5 / 3.0, 0.02);
    }

    #[test]
    fn the_next_slow_start_is_standard() {
        let (mut d, mut r) = (Driver::new(), reno());
        d.start(&mut r, 64.0);
        d.time_out(&mut r);
        assert_eq!((r.window(), r.ssthresh()), (1.0, 32.0));
        d.round(&mut r, 0.1);
        assert_eq!(r.window(), 2.0);
    }
}
