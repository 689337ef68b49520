//! Reduction of the window without a recovery, after a mark or by the algorithm's decision, and its signal to the receiver, as
//! in Linux 6.12 (`tcp_enter_cwr`, `tcp_init_cwnd_reduction`).

use elephan_cc::linux;
use elephan_cc::{Algorithm, Event};

use crate::endpoint::sender::Sender;
use crate::endpoint::sender::repair::{Repair, Undo};
use crate::spec::HostRule;
use crate::time::Time;

impl Sender {
    /// True if a mark of a window to which the sender has responded reduces the window again: Linux responds whenever no
    /// recovery or reduction is under way.
    pub(in crate::endpoint) fn answers_again(&self) -> bool {
        self.rules.has(HostRule::Cwr)
    }

    /// Makes the recovery that begins a mere reduction of the window.
    pub(in crate::endpoint) fn reduce_without_recovery(&mut self) {
        if self.rules.has(HostRule::Cwr) {
            self.repair.become_reduction();
        }
    }

    /// Signals a reduction to the receiver (CWR).
    pub(in crate::endpoint) fn signal_reduction(&mut self) {
        if self.rules.has(HostRule::Cwr) {
            self.marks.on_reduction();
        }
    }

    /// Takes back the signal of a reduction that is undone.
    pub(in crate::endpoint) fn withdraw_signal(&mut self) {
        if self.rules.has(HostRule::Cwr) {
            self.marks.on_undo();
        }
    }

    /// Continues a reduction of the window as a recovery, with the same target and the same end (`tcp_enter_recovery`).
    /// The reduction has been signalled to the receiver (CWR), and is not signalled again.
    pub(in crate::endpoint) fn turn_into_recovery(&mut self, now: Time) {
        let Repair::Cwr { episode, point, .. } = self.repair else { return };
        self.stats.totals.loss_events += 1;
        self.begin_resending(now);
        let is_over = self.past.first_resent == now && point <= self.board.una();
        let undo = if is_over { Undo::ByAny } else { Undo::ByOriginal };
        self.repair.recover(episode, point, self.stack.undo.then_some(undo));
        self.past.restores = false;
        self.expect_reports();
        let (now, window) = (self.host_seconds(now), f64::from(episode.allowance()));
        self.algorithm.on_event(&Event::Linux(linux::Event::LossInReduction { now, window }));
    }
}
