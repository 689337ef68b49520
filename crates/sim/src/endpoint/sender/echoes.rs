//! Response of a sender to ECN echoes.

use elephan_cc::Cause;
use elephan_cc::linux::Sample;

use super::core::Sender;
use super::marks::Mode;
use crate::packet::{Packet, flag};

impl Sender {
    /// Handles the echo of an ACK of `delivered` segments, if there is one; `rtt` and `sample` are the ACK's samples. Returns
    /// the number of marked segments to report to the algorithm.
    #[inline(always)]
    pub(super) fn marked_by(
        &mut self,
        packet: &Packet,
        delivered: u32,
        rtt: Option<f64>,
        sample: Option<&Sample>,
    ) -> f64 {
        if packet.flags() & flag::ECE == 0 { 0.0 } else { self.on_echo(packet, delivered, rtt, sample) }
    }

    #[inline(never)]
    fn on_echo(&mut self, packet: &Packet, delivered: u32, rtt: Option<f64>, sample: Option<&Sample>) -> f64 {
        let (now, cumulative) = (packet.at, packet.segment());
        self.stats.totals.marked += u64::from(delivered);
        match self.marks.mode {
            Mode::Accurate => return f64::from(delivered),
            // Linux responds whenever no recovery or reduction is under way (`tcp_enter_cwr`).
            Mode::Classic if self.repair.is_open() && (self.rules.cwr || cumulative > self.marks.until) => {
                self.stats.totals.ecn_events += 1;
                self.give_sample(now, rtt, sample);
                self.begin_episode(now, Cause::Ecn);
                self.marks.answered = true;
                self.marks.until = self.next;
            }
            Mode::Classic | Mode::Off => {}
        }
        0.0
    }

    /// Records a response to a loss, which also counts as the response to marks in the same window.
    pub(super) fn settle_marks(&mut self) {
        if self.marks.mode == Mode::Classic {
            self.marks.answered = true;
            self.marks.until = self.next;
        }
    }
}
