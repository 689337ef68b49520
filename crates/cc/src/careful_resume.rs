//! Careful Resume (RFC 9959): a connection starts with half of the window that an earlier connection between the same
//! hosts had, and falls back to half of what was delivered if that was too much.
//!
//! Variant: one jump for each connection, with the saved window and RTT as parameters, so their lifetime and their
//! removal are the user's business. Phases end by counts of segments instead of packet numbers. The path is
//! confirmed once, when the initial window is acknowledged.

use crate::ack::Ack;
/// Share of the saved window that a connection may jump to (§3.3).
const JUMP: f64 = 0.5;
/// Smallest and largest RTT, saved RTTs, at which the path counts as the same (§3.2, §4.2.1).
const SHORTEST: f64 = 0.5;
const LONGEST: f64 = 10.0;
/// Share of the delivered window that remains after a loss, and share of it at which slow start then ends (§3.5).
const RETREAT: f64 = 0.5;
const BETA: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Reconnaissance,
    /// `first` segments were sent before the jump.
    Unvalidated {
        first: f64,
        since: f64,
    },
    /// `last` segments were sent before the jump was over.
    Validating {
        last: f64,
    },
    SafeRetreat,
    Over,
}

/// State of Careful Resume.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved_window: f64,
    saved_rtt: f64,
    phase: Phase,
    initial_window: f64,
    delivered: f64,
    /// Segments that the path has held without a loss (PipeSize).
    pipe: f64,
    jump: f64,
    rtt: f64,
}

impl CarefulResume {
    /// A new connection, with the window, segments, and the smallest RTT, s, of an earlier one.
    pub const fn new(saved_window: f64, saved_rtt: f64) -> Self {
        Self {
            saved_window,
            saved_rtt,
            phase: Phase::Reconnaissance,
            initial_window: 0.0,
            delivered: 0.0,
            pipe: 0.0,
            jump: 0.0,
            rtt: 0.0,
        }
    }

    /// The connection begins.
    pub fn start(&mut self, initial_window: f64) {
        self.initial_window = initial_window;
    }

    /// True while the window is the jump's, which no ACK raises.
    pub fn is_unvalidated(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. })
    }

    /// True while the window falls back, which no ACK raises.
    pub fn is_retreating(&self) -> bool {
        self.phase == Phase::SafeRetreat
    }

    /// Pacing rate of the jump, segments/s; `None` outside it.
    pub fn pacing_rate(&self) -> Option<f64> {
        (self.is_unvalidated() && self.rtt > 0.0).then(|| self.jump / self.rtt)
    }

    /// Handles an ACK at a window of `window` segments. Returns a new window if a phase sets one.
    pub fn on_ack(&mut self, ack: &Ack, window: f64) -> Option<f64> {
        self.delivered += ack.acked;
        self.pipe += ack.acked;
        self.rtt = ack.rtt.unwrap_or(self.rtt);
        match self.phase {
            Phase::Reconnaissance => self.look(ack, window),
            Phase::Unvalidated { first, since } => self.check(ack, (first, since)),
            Phase::Validating { last } => {
                if self.delivered >= last {
                    self.phase = Phase::Over;
                }
                None
            }
            Phase::SafeRetreat | Phase::Over => None,
        }
    }

    /// Jumps once the initial window is acknowledged on the same path by a sender that the window limits.
    fn look(&mut self, ack: &Ack, window: f64) -> Option<f64> {
        if self.delivered < self.initial_window || !ack.may_grow() {
            return None;
        }
        let is_same = ack.min_rtt > SHORTEST * self.saved_rtt && ack.min_rtt <= LONGEST * self.saved_rtt;
        let jump = (JUMP * self.saved_window).floor();
        if !is_same || jump <= window {
            self.phase = Phase::Over;
            return None;
        }
        self.phase = Phase::Unvalidated { first: self.delivered + ack.in_flight, since: ack.now };
        (self.pipe, self.jump) = (ack.in_flight, jump);
        Some(jump)
    }

    /// Ends the jump when its window is sent, its first segment acknowledged, or an RTT over.
    fn check(&mut self, ack: &Ack, (first, since): (f64, f64)) -> Option<f64> {
        let before = ack.in_flight + ack.acked;
        let is_sent = before >= self.jump;
        if !is_sent && self.delivered <= first && ack.now - since <= ack.srtt {
            return None;
        }
        let flight = if is_sent { before } else { ack.in_flight };
        if flight < self.initial_window || flight <= self.pipe {
            self.phase = Phase::Over;
            return Some(self.pipe.max(self.initial_window));
        }
        self.phase = Phase::Validating { last: self.delivered + ack.in_flight };
        Some(flight)
    }

    /// Handles a congestion signal. Returns the window of a retreat; `None` if the algorithm's own rule applies.
    pub fn on_congestion(&mut self) -> Option<f64> {
        let retreats = matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. });
        self.phase = if retreats { Phase::SafeRetreat } else { Phase::Over };
        retreats.then_some(RETREAT * self.pipe)
    }

    /// Handles the end of a recovery. Returns the threshold after a retreat; `None` without one.
    pub fn on_recovery_exit(&mut self) -> Option<f64> {
        let was_retreating = self.is_retreating();
        if was_retreating {
            self.phase = Phase::Over;
        }
        was_retreating.then_some(BETA * self.pipe)
    }

    /// Stops: a timeout has shown persistent congestion, or a recovery was undone.
    pub fn stop(&mut self) {
        self.phase = Phase::Over;
    }
}

#[cfg(test)]
mod tests {
    use crate::ack::Ack;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::param::{BuildError, Setting};
    use crate::reno::Reno;
    use crate::reports::Cause;
    use crate::testing::{Driver, close, settings};

    fn reno(values: &[(&str, Setting)]) -> Result<Reno, BuildError> {
        Reno::new(&settings(&Reno::ENTRY, "", values)?)
    }

    fn resumed(saved_window: f64, saved_rtt: f64) -> (Driver, Reno) {
        let saved = [("saved_window", Setting::Num(saved_window)), ("saved_rtt", Setting::Num(saved_rtt))];
        let (d, mut r) = (Driver::new(), reno(&saved).expect("it is right"));
        d.start(&mut r, 10.0);
        (d, r)
    }

    /// ACKs a millisecond apart; `in_flight` segments are outstanding after each.
    fn acks(d: &mut Driver, r: &mut Reno, count: u32, in_flight: f64) {
        for _ in 0..count {
            d.now += 0.001;
            let ack = d.make_ack(r, 1.0, 0.1, false);
            r.on_ack(&Ack { in_flight, ..ack });
        }
    }

    #[test]
    fn after_the_initial_window_it_jumps_to_half_of_the_saved_window_and_paces_it() {
        let (mut d, mut r) = resumed(1000.0, 0.1);
        acks(&mut d, &mut r, 9, 9.0);
        assert_eq!((r.window(), r.pacing_rate()), (19.0, None));
        acks(&mut d, &mut r, 1, 18.0);
        assert_eq!(r.window(), 500.0);
        close(r.pacing_rate().expect("a jump is paced"), 5000.0, 1e-9);
        // ACKs of segments sent before the jump do not raise the window.
        acks(&mut d, &mut r, 5, 100.0);
        assert_eq!(r.window(), 500.0);
    }

    #[test]
    fn the_jump_is_validated_by_the_acks_of_its_segments() {
        let (mut d, mut r) = resumed(1000.0, 0.1);
        acks(&mut d, &mut r, 10, 18.0);
        acks(&mut d, &mut r, 1, 499.0);
        assert_eq!((r.window(), r.pacing_rate()), (501.0, None), "all of it is sent: slow start goes on");
        acks(&mut d, &mut r, 499, 500.0);
        assert_eq!(r.window(), 1000.0);
        d.lose(&mut r);
        assert_eq!(r.window(), 500.0, "the path is validated, so Reno's rule applies");
    }

    #[test]
    fn a_loss_in_the_jump_leaves_half_of_what_was_delivered() {
        let (mut d, mut r) = resumed(1000.0, 0.1);
        acks(&mut d, &mut r, 10, 18.0);
        acks(&mut d, &mut r, 18, 482.0);
        acks(&mut d, &mut r, 2, 482.0);
        r.on_event(&Event::Congestion(d.signal(&r, Cause::Loss)));
        // The pipe held 18 segments at the jump, and 20 more were delivered.
        assert_eq!(r.window(), 19.0);
        for _ in 0..100 {
            let ack = d.make_ack(&r, 1.0, 0.1, false);
            r.on_ack(&Ack { in_recovery: true, ..ack });
        }
        r.on_event(&Event::RecoveryExit { now: d.now });
        assert_eq!((r.window(), r.ssthresh()), (19.0, 69.0));
    }

    #[test]
    fn another_path_or_an_idle_sender_gets_no_jump() {
        // An RTT of 100 ms is at most half of 200 ms, and more than ten times 9 ms.
        for saved_rtt in [0.2, 0.009] {
            let (mut d, mut r) = resumed(1000.0, saved_rtt);
            acks(&mut d, &mut r, 12, 10.0);
            assert_eq!(r.window(), 22.0);
        }
        let (mut d, mut r) = resumed(1000.0, 0.1);
        d.window_limited = false;
        acks(&mut d, &mut r, 12, 1.0);
        assert_eq!(r.window(), 10.0);
        d.window_limited = true;
        acks(&mut d, &mut r, 1, 10.0);
        assert_eq!(r.window(), 500.0, "the jump comes when there is more to send");
    }

    #[test]
    fn what_an_application_does_not_send_is_not_validated() {
        let (mut d, mut r) = resumed(1000.0, 0.1);
        acks(&mut d, &mut r, 10, 18.0);
        acks(&mut d, &mut r, 40, 20.0);
        assert!(r.window() < 100.0, "{}", r.window());
    }

    #[test]
    fn a_window_without_an_rtt_is_a_conflict() {
        assert!(reno(&[("saved_window", Setting::Num(100.0))]).is_err());
        assert!(reno(&[("saved_rtt", Setting::Num(0.1))]).is_err());
    }
}
