//! Queue disciplines. Some decide when a packet arrives, whether it may wait and whether it is marked ([`Queue`]); others when
//! it would be sent, and which one ([`Served`]).

mod codel;
mod droptail;
mod dualpi2;
mod fq_codel;
mod pie;
mod red;
mod served;
mod threshold;
mod vcp;
mod xcp;

pub use codel::CodelParameters;
pub use droptail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Parameters};
pub use fq_codel::FqCodel;
pub use pie::{Pie, PieParameters};
pub use red::{Red, RedParameters};
pub use served::Served;
pub use threshold::Threshold;
pub use vcp::{Vcp, VcpParameters};
pub use xcp::{Xcp, XcpParameters};

use crate::random::Stream;
use crate::spec::QueueSpec;
use crate::time::Time;

/// What waits on a link at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What a discipline that decides at arrivals sees of one.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Time,
    /// Of the packet.
    pub bytes: u64,
    /// How long the packet takes to send.
    pub transmission: Time,
    /// What waits before it.
    pub backlog: Backlog,
    /// When the transmitter has sent, or had sent, all that came before.
    pub free: Time,
    /// A mark would be understood.
    pub capable: bool,
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits.
    Accept,
    /// It is marked, and waits.
    Mark,
    /// It is dropped.
    Drop,
}

/// A discipline that decides when a packet arrives, statically dispatched. What waits is first in, first out.
#[derive(Clone, Debug)]
pub enum Queue {
    /// See [`DropTail`].
    DropTail(DropTail),
    /// See [`Threshold`].
    Threshold(Threshold),
    /// See [`Red`].
    Red(Box<Red>),
    /// See [`Pie`].
    Pie(Box<Pie>),
}

/// A discipline that can be named in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What a scenario calls it.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Its parameters, but for the bound on what waits, which every link has.
    pub parameters: &'static [Parameter],
}

/// Default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// It has to be given.
    Required,
    /// What the document's formula gives for the link; the parameter's meaning says it.
    Derived,
    /// A number in the parameter's unit.
    Number(f64),
    /// On or off.
    Switch(bool),
}

/// A parameter of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// What a scenario calls it.
    pub name: &'static str,
    /// `packets`, `amount` (packets or bytes), `bytes`, `s`, or empty for a ratio, a number or a switch.
    pub unit: &'static str,
    /// Where the scenario says nothing.
    pub default: Default,
    /// Smallest and largest value allowed.
    pub range: (f64, f64),
    /// What it does.
    pub doc: &'static str,
}

const fn switch(name: &'static str, default: bool, doc: &'static str) -> Parameter {
    Parameter { name, unit: "", default: Default::Switch(default), range: (0.0, 1.0), doc }
}

const fn seconds(name: &'static str, default: f64, doc: &'static str) -> Parameter {
    Parameter { name, unit: "s", default: Default::Number(default), range: (1e-9, 100.0), doc }
}

const fn number(name: &'static str, default: f64, range: (f64, f64), doc: &'static str) -> Parameter {
    Parameter { name, unit: "", default: Default::Number(default), range, doc }
}

const IN_SERVICE: Parameter =
    switch("count_in_service", false, "whether the packet in transmission counts as waiting (ns-2 and Linux: no)");
const ECN: Parameter = switch("ecn", true, "ECN-capable packets are marked and not dropped");

/// Every discipline.
pub const REGISTRY: &[Entry] = &[
    droptail::ENTRY,
    threshold::ENTRY,
    red::ENTRY,
    pie::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    dualpi2::ENTRY,
    xcp::ENTRY,
    vcp::ENTRY,
];

impl Queue {
    /// The bound on what waits.
    #[inline]
    fn tail(&self) -> &DropTail {
        match self {
            Self::DropTail(queue) => queue,
            Self::Threshold(queue) => &queue.tail,
            Self::Red(queue) => &queue.tail,
            Self::Pie(queue) => &queue.tail,
        }
    }

    /// Whether a packet of `bytes` may join `backlog`, where nothing but the bound decides.
    #[inline]
    pub fn admits(&self, backlog: Backlog, bytes: u64) -> bool {
        self.tail().admits(backlog, bytes)
    }

    /// Whether more than the bound decides.
    #[must_use]
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::DropTail(_))
    }

    /// What becomes of an arrival.
    pub fn decide(&mut self, arrival: &Arrival) -> Verdict {
        match self {
            Self::DropTail(queue) if queue.admits(arrival.backlog, arrival.bytes) => Verdict::Accept,
            Self::DropTail(_) => Verdict::Drop,
            Self::Threshold(queue) => queue.decide(arrival),
            Self::Red(queue) => queue.decide(arrival),
            Self::Pie(queue) => queue.decide(arrival),
        }
    }

    /// How many packets of `bytes` each may wait, where that is all that this discipline decides by.
    #[must_use]
    pub fn uniform_limit(&self, bytes: u64) -> Option<u64> {
        if self.is_active() { None } else { self.tail().uniform_limit(bytes) }
    }

    /// Whether it never refuses a packet, so that nobody need count what waits.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        !self.is_active() && self.tail().is_unlimited()
    }

    /// Whether a packet counts as waiting until its last bit is sent, and not only until its first.
    #[must_use]
    pub fn counts_in_service(&self) -> bool {
        self.tail().count_in_service
    }
}

impl QueueSpec {
    /// The queue of the link `name` of `rate_bps` in the run `seed`: one that decides at arrivals, and one that decides at departures where
    /// the discipline is of that kind.
    #[must_use]
    pub fn build(&self, seed: u64, name: &str, rate_bps: u64) -> (Queue, Option<Served>) {
        let draws = || Stream::new(seed, &format!("link {name} queue"));
        let (limit_packets, limit_bytes) = self.limits();
        let tail = |count_in_service| DropTail::new(limit_packets, limit_bytes, count_in_service);
        let served = |queue| (Queue::DropTail(tail(false)), Some(queue));
        match *self {
            Self::DropTail { count_in_service, .. } => (Queue::DropTail(tail(count_in_service)), None),
            Self::Threshold { count_in_service, mark_packets, mark_bytes, .. } => {
                (Queue::Threshold(Threshold::new(tail(count_in_service), mark_packets, mark_bytes)), None)
            }
            Self::Red { count_in_service, min_packets, max_packets, max_p, weight, gentle, adaptive, ecn, .. } => {
                let p = RedParameters { min_packets, max_packets, max_p, weight, gentle, adaptive, ecn };
                (Queue::Red(Box::new(Red::new(tail(count_in_service), p, draws()))), None)
            }
            Self::Pie { count_in_service, target_ps, update_ps, alpha, beta, burst_ps, mark_threshold, .. } => {
                let (target, update, burst) = (Time(target_ps), Time(update_ps), Time(burst_ps));
                let p = PieParameters { target, update, alpha, beta, burst, mark_threshold };
                (Queue::Pie(Box::new(Pie::new(tail(count_in_service), p, draws()))), None)
            }
            Self::Codel { target_ps, interval_ps, ecn, .. } => {
                let p = CodelParameters { target: Time(target_ps), interval: Time(interval_ps), ecn };
                served(Served::Codel(served::Codel::new(tail(false), p)))
            }
            Self::FqCodel { target_ps, interval_ps, ecn, queues, quantum, .. } => {
                let p = CodelParameters { target: Time(target_ps), interval: Time(interval_ps), ecn };
                served(Served::FqCodel(FqCodel::new(limit_packets, p, queues, quantum)))
            }
            Self::DualPi2 { target_ps, update_ps, alpha, beta, coupling, step_ps, classic_share, .. } => {
                let (target, update, step) = (Time(target_ps), Time(update_ps), Time(step_ps));
                let p = DualPi2Parameters { target, update, alpha, beta, coupling, step, classic_share };
                served(Served::DualPi2(DualPi2::new(limit_packets, limit_bytes, p, draws())))
            }
            Self::Xcp { alpha, beta, gamma, standing, .. } => {
                let p = XcpParameters { alpha, beta, gamma, standing };
                served(Served::Xcp(Box::new(Xcp::new(tail(false), p, rate_bps))))
            }
            Self::Vcp { t_rho_ps, t_q_ps, kq, gamma, .. } => {
                let p = VcpParameters { t_rho: Time(t_rho_ps), t_q: Time(t_q_ps), kq, gamma };
                served(Served::Vcp(Box::new(Vcp::new(tail(false), p, rate_bps))))
            }
        }
    }
}
