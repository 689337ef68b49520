//! VCP, the variable-structure congestion control protocol (Xia Y, Subramanian L, Stoica I, Kalyanaraman S, "One More
//! Bit Is Enough", SIGCOMM 2005). Routers write into the two ECN bits whether they have a low load, a high load or an
//! overload, and the sender increases its window multiplicatively, increases it additively, or decreases it.
//!
//! Variant: the parameters scale with the smoothed RTT, so that flows of different RTTs get the same rate. A round trip
//! multiplies the window by (1 + ξ)^(T/t_ρ), or adds α (T/t_ρ)² segments. After a decrease the window is frozen for t_ρ
//! and then grows additively for one round trip, during which the sender ignores routers' answers, since they precede
//! the effect of the decrease. A window of at most 64 segments is sent in equal slots if the slots are longer than
//! t_ρ/2, so that a router sees the flow's load in every interval (from the authors' ns-2 sender); the number of slots
//! is a power of two. The reactions to losses and timeouts are Reno's.
//!
//! Preset `ns2` is the authors' ns-2 sender. It has a reference RTT of 100 ms for the additive scaling, bounds this
//! scaling at both ends, and limits T/t_ρ to 2.5. It does not freeze the window after a decrease, but only delays
//! further decreases.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::loss_window::{LossWindow, MOST, window_getters};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, value, word};
use crate::router::{Answer, Load, Router};

choices! {
    /// Behavior of the sender between a decrease and its effect on the routers' load:
    /// * `hold`: the window is frozen for t_ρ, then grows additively for a round trip.
    /// * `follow`: the sender follows the routers, but without a further decrease (ns-2).
    pub enum Settle { Hold = "hold", Follow = "follow" }

    /// Dependence of the additive step on the RTT T:
    /// * `square`: proportional to (T/T_ref)².
    /// * `bounded`: proportional to (T/T_ref)² between 0.2 and 5 T_ref, proportional to T below that range, and with
    ///   slope 1 above it (ns-2).
    pub enum Scaling { Square = "square", Bounded = "bounded" }
}

params! {
    /// Parameters of VCP.
    pub struct VcpParams {
        /// Interval over which routers measure their load (t_ρ); routers should have the same value.
        t_rho: f64 = num(0.2, 1e-3, 10.0, Unit::Seconds), "SIGCOMM 2005; ns-2 vcp-queue.h";
        /// Gain of the multiplicative increase (k): ξ = k (1/0.8 − 1).
        k: f64 = num(0.25, 1e-3, 10.0, Unit::None), "ns-2 vcp-src.h";
        /// Segments added in a round trip of T_ref (α).
        alpha: f64 = num(1.0, 1e-3, 1e6, Unit::Segments), "ns-2 vcp-src.h";
        /// Fraction of the window kept at a decrease (β).
        beta: f64 = num(0.875, 0.1, 0.999, Unit::None), "SIGCOMM 2005; ns-2 vcp-src.cc";
        /// Round-trip time at which the additive step is α (T_ref).
        t_ref: f64 = num(0.2, 1e-3, 10.0, Unit::Seconds), "SIGCOMM 2005 (t_ρ); ns-2: 0.1";
        /// Dependence of the additive step on the RTT.
        scaling: Scaling = choice("square", Scaling::WORDS), "SIGCOMM 2005; ns-2: bounded";
        /// Largest T/t_ρ in the multiplicative increase.
        rtts_max: f64 = num(1e6, 0.1, 1e6, Unit::None), "SIGCOMM 2005 has no bound; ns-2: 2.5";
        /// Behavior between a decrease and its effect on the routers' load.
        settle: Settle = choice("hold", Settle::WORDS), "SIGCOMM 2005; ns-2: follow";
        /// Spread small windows over long round trips.
        pace: bool = flag(true), "ns-2 vcp-src.cc";
    }
}

/// Utilization up to which the load counts as low.
pub const LOW_BELOW: f64 = 0.8;
/// Largest window that is paced, segments.
const PACED_UP_TO: f64 = 64.0;
/// Limits of the bounded scaling, in units of T_ref.
const BENDS: (f64, f64) = (0.2, 5.0);

/// The sender of VCP.
#[derive(Clone, Debug)]
pub struct Vcp {
    p: VcpParams,
    win: LossWindow,
    /// Smoothed RTT, s.
    rtt: f64,
    /// Time until which the window is frozen, s.
    frozen_until: f64,
    /// Time until which there is no further decrease, s.
    settled_at: f64,
    /// Load that routers reported last.
    load: Option<Load>,
}

impl Vcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "vcp",
        title: "VCP, the variable-structure congestion control protocol",
        kind: Kind::Router,
        signals: &["VCP routers"],
        source: "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005",
        doc: "Routers report with two bits whether they have a low load, a high load or an overload. A router \
              (`queue = \"vcp\"`) compares the arrivals of the last 200 ms and its queue with its capacity. The router \
              writes the load into the ECN bits of each segment, unless an earlier router was more loaded, and the \
              receiver echoes the load. Below a load of 80 % the sender increases its window multiplicatively, from \
              80 % additively, and above 100 % it reduces the window by an eighth and waits for the effect. Queues \
              stay short and drops are rare, but shares converge only at the speed of additive increase and decrease.",
        presets: &[
            Preset::new("", "SIGCOMM 2005", &[]),
            Preset::new(
                "ns2",
                "the authors' ns-2 sender",
                &[value("t_ref", 0.1), word("scaling", "bounded"), value("rtts_max", 2.5), word("settle", "follow")],
            ),
        ],
        tables: &[VcpParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let (p, win) = (VcpParams::read(settings)?, LossWindow::new(settings)?);
        Ok(Self { p, win, rtt: 0.0, frozen_until: f64::NEG_INFINITY, settled_at: f64::NEG_INFINITY, load: None })
    }

    /// Growth at low load for each segment acknowledged, segments.
    fn multiplied(&self) -> f64 {
        let xi = self.p.k * (1.0 / LOW_BELOW - 1.0);
        libm::pow(1.0 + xi, (self.rtt / self.p.t_rho).min(self.p.rtts_max)) - 1.0
    }

    /// Growth at high load, segments a round trip.
    fn added(&self) -> f64 {
        let x = self.rtt / self.p.t_ref;
        let scale = match self.p.scaling {
            Scaling::Bounded if x <= BENDS.0 => BENDS.0 * x,
            Scaling::Bounded if x > BENDS.1 => BENDS.1 * BENDS.1 + (x - BENDS.1),
            Scaling::Bounded | Scaling::Square => x * x,
        };
        self.p.alpha * scale
    }

    fn decrease(&mut self, now: f64) {
        self.win.w = (self.p.beta * self.win.w).max(1.0);
        let shows_at = now + self.p.t_rho;
        self.settled_at = shows_at + self.rtt;
        if self.p.settle == Settle::Hold {
            self.frozen_until = shows_at;
        }
    }

    /// Load to which the sender may now respond.
    fn allowed(&self, ack: &Ack, load: Load) -> Option<Load> {
        let unsettled = ack.now < self.settled_at;
        match self.p.settle {
            _ if !unsettled => Some(load),
            _ if ack.now < self.frozen_until => None,
            Settle::Hold => Some(Load::High),
            // ns-2's rule: in the first interval another overload has no effect; in the following round trip the window
            // grows additively.
            Settle::Follow if load == Load::Overload => (ack.now >= self.settled_at - self.rtt).then_some(Load::High),
            Settle::Follow => Some(load),
        }
    }
}

observed! {
    self: Vcp;
    /// Load that routers reported last; null before the first report.
    load = self.load.map_or(f64::NAN, f64::from), state(Load::NAMES);
    /// Time until which the window is frozen after a decrease; null before the first.
    frozen_until_s = self.frozen_until, number(Unit::Seconds);
    /// Time until which there is no further decrease; null before the first.
    settled_at_s = self.settled_at, number(Unit::Seconds);
}

impl Algorithm for Vcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = ack.srtt;
        let Some(Answer::Load(load)) = ack.answer else { return };
        self.load = Some(load);
        match self.allowed(ack, load) {
            Some(Load::Overload) if !ack.in_recovery => self.decrease(ack.now),
            Some(Load::Low) if ack.may_grow() => self.win.w = (self.win.w + ack.acked * self.multiplied()).min(MOST),
            Some(Load::High) if ack.may_grow() => self.win.w += ack.acked * self.added() / self.win.w,
            _ => {}
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.win.start(start),
            Event::Congestion(ref signal) => self.win.lower_to(0.5 * self.win.reduced_from(signal)),
            Event::Timeout(ref signal) => self.win.time_out(0.5 * self.win.reduced_from(signal), signal),
            Event::Idle { .. } => self.win.idle(),
            Event::Moderate { window } | Event::Keep { window } => self.win.moderate(window),
            Event::Undo { .. } => {
                self.win.undo();
            }
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { router: Some(Router::Vcp), pacing: self.p.pace, ..Needs::default() }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let whole = self.win.w.floor();
        if !self.p.pace || self.rtt <= 0.0 || !(2.0..=PACED_UP_TO).contains(&whole) {
            return None;
        }
        let slots = f64::from((whole as u32).next_power_of_two());
        (self.rtt / slots > self.p.t_rho / 2.0).then_some(slots / self.rtt)
    }

    window_getters!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, close, settings};

    fn vcp(preset: &str) -> Vcp {
        Vcp::new(&settings(&Vcp::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    /// One ACK for each segment of a window.
    fn round(d: &mut Driver, v: &mut Vcp, rtt: f64, load: Load) {
        let n = v.window().floor();
        for _ in 0..n as u32 {
            d.now += rtt / n;
            answered(d, v, rtt, load);
        }
    }

    /// An ACK with the routers' answer.
    fn answered(d: &mut Driver, v: &mut Vcp, rtt: f64, load: Load) {
        let ack = d.make_ack(v, 1.0, rtt, false);
        v.on_ack(&Ack { answer: Some(Answer::Load(load)), ..ack });
    }

    /// Growth in a round trip, segments.
    fn growth(preset: &str, w: f64, rtt: f64, load: Load) -> f64 {
        let (mut d, mut v) = (Driver::new(), vcp(preset));
        d.start(&mut v, w);
        round(&mut d, &mut v, rtt, load);
        v.window() - w
    }

    #[test]
    fn low_load_multiplies_the_window_by_a_sixteenth_more_in_every_interval() {
        for (rtt, percent) in [(0.1, 3.078), (0.4, 12.891)] {
            close(growth("", 1000.0, rtt, Load::Low), 10.0 * percent, 1e-3);
        }
        // The growth is that of at most 2.5 intervals.
        close(growth("ns2", 1000.0, 2.0, Load::Low), 1000.0 * (libm::pow(1.0625, 2.5) - 1.0), 1e-9);
        close(growth("", 1000.0, 2.0, Load::Low), 1000.0 * (libm::pow(1.0625, 10.0) - 1.0), 1e-9);
    }

    #[test]
    fn high_load_adds_by_the_square_of_the_round_trip() {
        close(growth("", 1000.0, 0.1, Load::High), 0.25, 1e-3);
        close(growth("ns2", 1000.0, 0.1, Load::High), 1.0, 1e-3);
        // The scaling bends at RTTs of 20 ms and 500 ms.
        close(growth("ns2", 1000.0, 0.01, Load::High), 0.02, 1e-3);
        close(growth("ns2", 1000.0, 0.8, Load::High), 28.0, 0.02);
    }

    #[test]
    fn overload_takes_an_eighth_freezes_for_an_interval_and_adds_for_a_round_trip() {
        let (mut d, mut v) = (Driver::new(), vcp(""));
        d.start(&mut v, 100.0);
        let mut at = |now: f64, load| {
            d.now = now;
            answered(&mut d, &mut v, 0.1, load);
            v.window()
        };
        assert_eq!(at(1.0, Load::Overload), 87.5);
        for load in [Load::Overload, Load::Low, Load::High] {
            assert_eq!(at(1.199, load), 87.5);
        }
        let mut last = 87.5;
        for load in [Load::Overload, Load::Low, Load::High] {
            let now = at(1.299, load);
            close(now - last, 0.25 / last, 1e-9);
            last = now;
        }
        close(at(1.301, Load::Overload), last * 0.875, 1e-12);
    }

    #[test]
    fn ns_2_s_sender_follows_a_router_that_is_no_longer_overloaded() {
        let (mut d, mut v) = (Driver::new(), vcp("ns2"));
        d.start(&mut v, 100.0);
        let mut at = |now: f64, load| {
            d.now = now;
            answered(&mut d, &mut v, 0.1, load);
            v.window()
        };
        assert_eq!(at(1.0, Load::Overload), 87.5);
        assert_eq!(at(1.1, Load::Overload), 87.5);
        close(at(1.1, Load::High), 87.5 + 1.0 / 87.5, 1e-12);
        let before = at(1.15, Load::Low);
        close(at(1.25, Load::Overload), before + 1.0 / before, 1e-12);
        let before = at(1.29, Load::Low);
        close(at(1.31, Load::Overload), 0.875 * before, 1e-12);
    }

    #[test]
    fn the_window_stays_at_one_segment_and_without_an_answer_where_it_is() {
        let (mut d, mut v) = (Driver::new(), vcp(""));
        d.start(&mut v, 1.0);
        round(&mut d, &mut v, 0.1, Load::Overload);
        assert_eq!(v.window(), 1.0);
        d.round(&mut v, 0.1);
        assert_eq!(v.window(), 1.0);
    }

    #[test]
    fn small_windows_on_long_paths_are_sent_in_equal_slots() {
        let paced = |rtt: f64, w: f64| {
            let (mut d, mut v) = (Driver::new(), vcp(""));
            d.start(&mut v, w);
            d.ack(&mut v, 1.0, rtt, 0.0);
            v.pacing_rate()
        };
        // The window is paced only if its slots are longer than 100 ms.
        assert_eq!(paced(1.0, 1.0), None);
        assert_eq!(paced(1.0, 3.0), Some(4.0));
        assert_eq!(paced(1.0, 8.0), Some(8.0));
        assert_eq!(paced(1.0, 9.0), None);
        assert_eq!(paced(0.1, 2.0), None);
        assert_eq!(paced(8.0, 65.0), None);
    }

    #[test]
    fn losses_are_reno_s() {
        let (mut d, mut v) = (Driver::new(), vcp(""));
        d.start(&mut v, 100.0);
        d.lose(&mut v);
        assert_eq!(v.window(), 50.0);
        d.time_out(&mut v);
        assert_eq!(v.window(), 1.0);
        round(&mut d, &mut v, 0.1, Load::Low);
        close(v.window(), 1.0308, 1e-3);
    }
}
