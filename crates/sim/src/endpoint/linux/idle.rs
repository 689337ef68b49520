//! A sender that sends again after it was idle, as in Linux 6.12 (`tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`,
//! `CA_EVENT_TX_START`).

use elephan_cc::linux::{self, Restart};
use elephan_cc::{Algorithm, Event};

use crate::endpoint::sender::Sender;
use crate::spec::HostRule;
use crate::time::Time;

impl Sender {
    /// Tells the algorithm that a segment leaves while no segment is in flight, if the algorithm asks for it.
    #[inline(always)]
    pub(in crate::endpoint) fn note_restart(&mut self, now: Time) {
        if self.needs.restarts && self.rules.has(HostRule::IdleRestart) && self.board.in_flight(self.next) == 0 {
            let application_limited = self.sampler.as_ref().is_some_and(|sampler| sampler.is_application_limited());
            let (now_s, idle) = (self.host_seconds(now), self.idle_jiffies(now).seconds());
            let restart = Restart { next: self.next, now: now_s, idle, application_limited };
            self.algorithm.on_event(&Event::Linux(linux::Event::Restart(restart)));
        }
    }

    /// The retransmission timeouts that are shorter than the time since the last transmission, if the algorithm counts them.
    pub(in crate::endpoint) fn idle_timeouts(&self, now: Time) -> Option<linux::Event> {
        let counts = self.needs.idle_timeouts && self.buffer.is_offloaded() && self.rules.has(HostRule::IdleRestart);
        counts.then(|| {
            let idle = self.idle_jiffies(now);
            let timeouts = (idle.0.saturating_sub(1) / self.rtt.timeout().0.max(1)) as u32;
            linux::Event::IdleTimeouts { timeouts }
        })
    }

    /// Time since the last transmission, in whole jiffies of a host that has them.
    fn idle_jiffies(&self, now: Time) -> Time {
        let (clock, last) = (self.clock, self.pace.last());
        if clock.jiffy == Time::ZERO {
            return now.since(last);
        }
        Time((clock.count(now) - clock.count(last)) * clock.jiffy.0)
    }
}
