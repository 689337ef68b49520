//! Rules for the number of segments that may be sent during loss recovery.

use super::linux::prr::Prr;
use crate::spec::RecoveryRule;

/// Losses detected on an ACK or by the timer of the reordering window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// True if a segment, perhaps a retransmission, was marked lost.
    pub more: bool,
    /// True if the recovery begins with this loss.
    pub begin: bool,
}

/// Progress of a recovery by an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Segments that the ACK delivers, and segments in flight after it.
    pub delivered: u32,
    pub in_flight: u32,
    /// True if the ACK moves the left edge of the window.
    pub in_order: bool,
    pub losses: Losses,
}

/// The first `place` of `parts` equal parts of `all`.
fn part(all: u32, place: u32, parts: u32) -> u32 {
    (u64::from(all) * u64::from(place) / u64::from(parts)) as u32
}

/// Rule of a recovery, with the state that it alone has.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Pipe,
    /// The estimate of the segments in flight by `TCP/Sack1`.
    PipeSack1 {
        pipe: u32,
    },
    Prr(Prr),
    /// ACKs since the last segment by which the window fell.
    RateHalving {
        acks: u32,
    },
    /// ns-2's `next_pkts_in_flight`.
    RateHalvingNs2 {
        next: u32,
    },
}

/// A recovery: reduces the window from its value at the loss to the value that the algorithm asks for.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    rule: Rule,
    /// Window at the end of the recovery, segments.
    target: u32,
    /// Smallest window during rate halving, segments.
    floor: u32,
    /// Lowest threshold of the algorithm so far, segments, if the target follows it.
    ssthresh: f64,
    /// Segments that may be in flight now.
    allowance: u32,
}

impl Episode {
    /// Begins a recovery at a window of `window` segments, with `outstanding` segments unacknowledged. `target` is the
    /// algorithm's new window.
    pub fn begin(rule: RecoveryRule, window: u32, outstanding: u32, target: u32, floor: u32) -> Self {
        let (rule, allowance) = match rule {
            RecoveryRule::Pipe => (Rule::Pipe, target),
            RecoveryRule::PipeSack1 => (Rule::PipeSack1 { pipe: outstanding }, target),
            RecoveryRule::Prr => (Rule::Prr(Prr::begin(window)), window),
            RecoveryRule::RateHalving => (Rule::RateHalving { acks: 0 }, window),
            RecoveryRule::RateHalvingNs2 => (Rule::RateHalvingNs2 { next: window }, window),
        };
        Self { rule, target, floor: floor.max(1), ssthresh: f64::NEG_INFINITY, allowance }
    }

    /// Segments that may be in flight now.
    #[inline]
    pub fn allowance(&self) -> u32 {
        self.allowance
    }

    /// Makes the target follow the algorithm's threshold, which is `ssthresh` now, where the threshold falls.
    #[must_use]
    pub fn following(self, ssthresh: f64) -> Self {
        Self { ssthresh, ..self }
    }

    /// Lowers the target to the algorithm's threshold if the threshold has fallen: Linux's HyStart may lower it in a
    /// recovery.
    #[inline]
    pub fn follow(&mut self, ssthresh: f64) {
        if ssthresh < self.ssthresh {
            (self.ssthresh, self.target) = (ssthresh, self.target.min(ssthresh as u32).max(1));
        }
    }

    /// Handles an ACK; returns the window. At the start of the recovery one retransmission is sent under any rule.
    pub fn on_ack(&mut self, ack: Progress) -> f64 {
        let Self { rule, target, floor, allowance, .. } = self;
        let in_flight = ack.in_flight;
        match rule {
            Rule::Pipe => {}
            Rule::PipeSack1 { pipe } => {
                // Three duplicate ACKs begin the recovery. The lost segment is retransmitted regardless of the estimate.
                let first = ack.losses.begin;
                *pipe = pipe.saturating_sub(if first { 3 } else { 1 + u32::from(ack.in_order) });
                *allowance = in_flight + target.saturating_sub(*pipe).max(u32::from(first));
            }
            Rule::Prr(prr) => {
                let extra = u32::from(ack.in_order && !ack.losses.more);
                if let Some(quota) = prr.release(ack.delivered, in_flight, *target, extra) {
                    *allowance = in_flight + quota;
                }
            }
            // Linux's rate halving: one segment less for every second ACK, down to the floor, without bursts.
            Rule::RateHalving { acks } => {
                *acks = (*acks + 1) % 2;
                if *acks == 0 && *allowance > *floor {
                    *allowance -= 1;
                }
                *allowance = (*allowance).min(in_flight + 1);
            }
            // ns-2's rate halving: for two segments acknowledged one is sent, down to the floor; below the floor the
            // whole deficit is sent.
            Rule::RateHalvingNs2 { next } => {
                *next = (*next).min(in_flight + 1);
                *allowance = in_flight;
                if in_flight < (*floor).max(*next) {
                    *allowance = (*floor).max(in_flight + 1);
                    *next = (*next).min(in_flight.max(1));
                }
            }
        }
        self.window().into()
    }

    /// Handles an ACK that stands for `acks`, each of which releases what the rule allows. The rules that count segments
    /// allow the same for all of them together.
    pub fn on_train(&mut self, acks: u32, all: Progress) -> f64 {
        if acks == 1 {
            return self.on_ack(all);
        }
        let (holds_sent, acks) = match self.rule {
            Rule::Pipe | Rule::Prr(_) => (false, 1),
            Rule::PipeSack1 { .. } => (false, acks),
            Rule::RateHalving { .. } | Rule::RateHalvingNs2 { .. } => (true, acks),
        };
        let (mut sent, mut window) = (0, 0.0);
        for place in 1..=acks {
            let [before, until] = [place - 1, place].map(|place| part(all.delivered, place, acks));
            let in_flight = all.in_flight + all.delivered - until + sent;
            let losses = Losses { begin: all.losses.begin && place == 1, ..all.losses };
            window = self.on_ack(Progress { delivered: until - before, in_flight, losses, ..all });
            sent += if holds_sent { self.allowance.saturating_sub(in_flight) } else { 0 };
        }
        window
    }

    /// Records that segments were sent during the recovery.
    #[inline]
    pub fn on_sent(&mut self, segments: u32) {
        match &mut self.rule {
            Rule::Prr(prr) => prr.on_sent(segments),
            Rule::PipeSack1 { pipe } => *pipe += segments,
            Rule::Pipe | Rule::RateHalving { .. } | Rule::RateHalvingNs2 { .. } => {}
        }
    }

    /// Window after the recovery, with `outstanding` segments unacknowledged.
    pub fn final_window(&self, outstanding: u32) -> u32 {
        match self.rule {
            Rule::RateHalving { .. } => self.allowance.min(self.target),
            // Linux's burst limit of three segments applies if the window must grow back to the target.
            Rule::RateHalvingNs2 { .. } if self.floor < self.target => self.target.min(outstanding + 3),
            _ => self.target,
        }
    }

    /// Current window, for reports.
    pub fn window(&self) -> u32 {
        match self.rule {
            Rule::RateHalvingNs2 { .. } => self.floor,
            Rule::PipeSack1 { .. } => self.target,
            Rule::Pipe | Rule::Prr(_) | Rule::RateHalving { .. } => self.allowance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Losses = Losses { more: false, begin: false };

    fn found(begin: bool) -> Losses {
        Losses { more: begin, begin }
    }

    fn progress(delivered: u32, in_flight: u32, in_order: bool, losses: Losses) -> Progress {
        Progress { delivered, in_flight, in_order, losses }
    }

    #[test]
    fn prr_ends_a_single_loss_at_ssthresh() {
        // Window and flight size are 20 and the target is 10; the first segment is lost (RFC 6937 section 5).
        let mut episode = Episode::begin(RecoveryRule::Prr, 20, 20, 10, 10);
        let mut in_flight = 19_u32;
        for ack in 0..19 {
            in_flight -= 1;
            episode.on_ack(progress(1, in_flight, false, found(ack == 0)));
            let sent = episode.allowance() - in_flight;
            episode.on_sent(sent);
            in_flight += sent;
        }
        assert_eq!(in_flight, 10);
        assert_eq!(episode.final_window(10), 10);
    }

    #[test]
    fn prr_sends_more_than_was_delivered_only_where_recovery_makes_good_progress() {
        // Window and flight size are 100 and the target is 50; 60 segments are lost, so the flight size is 40 after the
        // first ACK.
        let begin = || {
            let mut episode = Episode::begin(RecoveryRule::Prr, 100, 100, 50, 50);
            episode.on_ack(progress(3, 37, false, found(true)));
            assert_eq!(episode.allowance() - 37, 3, "as many as were delivered");
            episode.on_sent(3);
            episode
        };
        let more = Losses { more: true, begin: false };
        for (in_order, losses, sent) in [(false, NONE, 1), (true, NONE, 2), (true, more, 1), (false, more, 1)] {
            let mut episode = begin();
            episode.on_ack(progress(1, 39, in_order, losses));
            assert_eq!(episode.allowance() - 39, sent, "in order: {in_order}, {losses:?}");
        }
        let mut episode = begin();
        episode.on_ack(progress(1, 49, true, NONE));
        assert_eq!(episode.allowance(), 50, "never beyond the target");
        episode.on_ack(progress(0, 30, true, NONE));
        assert_eq!(episode.allowance(), 50, "what delivers nothing changes nothing");
    }

    #[test]
    fn above_its_target_prr_asks_only_what_was_delivered() {
        for (in_order, losses) in [(false, NONE), (true, NONE), (true, found(false)), (false, found(false))] {
            let mut episode = Episode::begin(RecoveryRule::Prr, 100, 100, 50, 50);
            episode.on_ack(progress(1, 99, false, found(true)));
            episode.on_sent(1);
            episode.on_ack(progress(1, 99, in_order, losses));
            assert_eq!(episode.allowance(), 99, "half a segment for each of two, and one was sent");
            episode.on_ack(progress(1, 98, in_order, losses));
            assert_eq!(episode.allowance(), 99);
        }
    }

    #[test]
    fn a_threshold_that_falls_lowers_the_target() {
        let mut fixed = Episode::begin(RecoveryRule::Prr, 100, 100, 70, 70);
        fixed.follow(55.0);
        assert_eq!(fixed.final_window(0), 70, "this episode does not follow the threshold");
        let mut episode = fixed.following(60.0);
        episode.follow(60.0);
        assert_eq!(episode.final_window(0), 70, "the threshold has not changed");
        episode.follow(55.0);
        episode.on_ack(progress(1, 55, true, NONE));
        assert_eq!((episode.allowance(), episode.final_window(0)), (56, 55), "one segment at the start, in any case");
    }

    #[test]
    fn rate_halving_takes_one_segment_for_every_two_acks() {
        let mut episode = Episode::begin(RecoveryRule::RateHalving, 100, 100, 50, 25);
        for _ in 0..40 {
            let held = episode.allowance();
            episode.on_ack(progress(1, held - 1, false, NONE));
        }
        assert_eq!(episode.allowance(), 80);
    }

    #[test]
    fn as_ns2_the_flight_sinks_by_one_for_two_acks_and_a_deficit_is_a_burst() {
        let mut episode = Episode::begin(RecoveryRule::RateHalvingNs2, 100, 100, 50, 25);
        let mut in_flight = 100_u32;
        for _ in 0..40 {
            in_flight -= 1;
            episode.on_ack(progress(1, in_flight, false, NONE));
            in_flight = in_flight.max(episode.allowance());
        }
        assert_eq!(in_flight, 80);
        episode.on_ack(progress(1, 10, false, NONE));
        assert_eq!(episode.allowance(), 25);
        assert_eq!(episode.final_window(30), 33);
        assert_eq!(Episode::begin(RecoveryRule::RateHalvingNs2, 100, 100, 80, 80).final_window(30), 80);
        // An algorithm without its own floor: the whole deficit is computed at once, without a loop.
        let mut unbounded = Episode::begin(RecoveryRule::RateHalvingNs2, 10, 10, u32::MAX, u32::MAX);
        unbounded.on_ack(progress(1, 9, false, NONE));
        assert_eq!(unbounded.allowance(), u32::MAX);
    }

    #[test]
    fn as_sack1_what_is_lost_stays_in_the_pipe() {
        // Window and flight size are 20, and 4 segments are lost: 16 duplicate ACKs arrive. The pipe reaches the target
        // of 10 after ten of these ACKs (the first three count together). Only later ACKs release segments.
        let mut episode = Episode::begin(RecoveryRule::PipeSack1, 20, 20, 10, 5);
        let mut sent = 0;
        for ack in 0..14 {
            episode.on_ack(progress(1, 0, false, found(ack == 0)));
            let now = episode.allowance();
            episode.on_sent(now);
            sent += now;
        }
        assert_eq!(sent, 1 + 5, "the first hole at once, then one for each ACK below the target");
        episode.on_ack(progress(1, 0, true, NONE));
        assert_eq!(episode.allowance(), 2, "an ACK in order takes two out");
    }
}
