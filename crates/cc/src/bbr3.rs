//! BBR, version 3 (draft-ietf-ccwg-bbr, "BBR congestion control", working copy of August 2026): version 1's model
//! of the path, with bounds on rate and volume that losses set. If a probe causes more than 2 % of loss, the volume in
//! flight at that point becomes the long-term bound. Between probes a loss lowers the rate and the window until the
//! next probe.
//!
//! Variant: the draft's procedures under their own names, with `ProbeRTT` every 5 s and a minimum filter of 10 s. The
//! text leaves some points open; the following choices are made here. The gains follow the state
//! table at each transition. The bound for the coexistence with Reno is compared in segments. The caps on the volume in
//! flight are those of the draft's bounding procedure, so Drain has no cap. Losses count as separate ranges when
//! separate ACKs report them, as in Linux. ECN is ignored, since the draft has no rule for it. The draft corrects for a
//! segment lost early in a burst. Here each segment has its own record of the data in flight, so no correction is
//! needed.

use crate::ack::{Ack, Delivery};
use crate::algorithm::{Algorithm, Needs};
use crate::draws::Draws;
use crate::event::Event;
use crate::linux;
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params};
use crate::reports::{Cause, Lost, Signal, Start};

mod aggregation;
mod full_pipe;
mod losses;
mod min_rtt;
mod mode;
mod probe_bw;
mod probe_rtt;
mod sample;
mod state;
#[cfg(test)]
mod tests;

use self::aggregation::Aggregation;
use self::full_pipe::FullPipe;
use self::losses::Losses;
use self::min_rtt::MinRtt;
use self::mode::{AckPhase, Mode, Undo};
use self::sample::Sample;

params! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// Pacing gain in Startup.
        startup_gain: f64 = num(4.0 * std::f64::consts::LN_2, 1.0, 10.0, Unit::None), "draft-ietf-ccwg-bbr §2.4; 4 ln 2";
        /// Pacing gain in Drain.
        drain_gain: f64 = num(0.5, 0.01, 1.0, Unit::None), "draft-ietf-ccwg-bbr §5.6.1";
        /// Pacing gain in ProbeBW_DOWN.
        down_gain: f64 = num(0.9, 0.01, 1.0, Unit::None), "draft-ietf-ccwg-bbr §5.6.1";
        /// Pacing gain in ProbeBW_UP.
        up_gain: f64 = num(1.25, 1.0, 10.0, Unit::None), "draft-ietf-ccwg-bbr §5.6.1";
        /// Window gain outside ProbeBW_UP and ProbeRTT.
        cwnd_gain: f64 = num(2.0, 1.0, 10.0, Unit::None), "draft-ietf-ccwg-bbr §5.6.1";
        /// Window gain in ProbeBW_UP.
        up_cwnd_gain: f64 = num(2.25, 1.0, 10.0, Unit::None), "draft-ietf-ccwg-bbr §5.6.1";
        /// Window gain in ProbeRTT.
        probe_rtt_cwnd_gain: f64 = num(0.5, 0.0, 1.0, Unit::None), "draft-ietf-ccwg-bbr §2.8";
        /// Largest fraction of segments lost in a round that is tolerated while probing for bandwidth.
        loss_threshold: f64 = num(0.02, 0.0, 0.9, Unit::None), "draft-ietf-ccwg-bbr §2.7";
        /// Smallest fraction of a bound that remains after a round with losses.
        beta: f64 = num(0.7, 0.01, 1.0, Unit::None), "draft-ietf-ccwg-bbr §2.7";
        /// Fraction of the long-term bound left free in ProbeBW_CRUISE.
        headroom: f64 = num(0.15, 0.0, 0.9, Unit::None), "draft-ietf-ccwg-bbr §2.7";
        /// Smallest window.
        min_window: f64 = num(4.0, 1.0, 100.0, Unit::Segments), "draft-ietf-ccwg-bbr §2.7";
        /// Lifetime of the smallest RTT.
        min_rtt_window: f64 = num(10.0, 0.1, 1e4, Unit::Seconds), "draft-ietf-ccwg-bbr §2.8";
        /// Time between two ProbeRTT phases.
        probe_rtt_interval: f64 = num(5.0, 0.1, 1e4, Unit::Seconds), "draft-ietf-ccwg-bbr §2.8";
        /// Shortest duration of ProbeRTT.
        probe_rtt_time: f64 = num(0.2, 0.0, 10.0, Unit::Seconds), "draft-ietf-ccwg-bbr §2.8";
        /// Shortest time between two probes for bandwidth; a random time of up to 1 s is added.
        probe_wait: f64 = num(2.0, 0.0, 1e3, Unit::Seconds), "draft-ietf-ccwg-bbr §5.3.3.5";
        /// Largest number of rounds between two probes, for coexistence with Reno.
        probe_rounds: f64 = num(63.0, 1.0, 1e6, Unit::RoundTrips), "draft-ietf-ccwg-bbr §5.3.3.5";
        /// Margin between bandwidth and pacing rate, as a fraction of the bandwidth.
        pacing_margin: f64 = num(0.01, 0.0, 0.5, Unit::None), "draft-ietf-ccwg-bbr §2.5";
    }
}

/// Largest number of rounds in Drain (§5.3.2).
const DRAIN_ROUNDS: f64 = 3.0;
/// Duration of one burst, s, and its limits, segments and bytes (§5.6.3).
const QUANTUM_S: f64 = 0.001;
const QUANTUM_LEAST: f64 = 2.0;
const QUANTUM_MOST_BYTES: f64 = 65_536.0;
/// Number of bursts by which the window is enlarged (§5.5.8).
const OFFLOAD_QUANTA: f64 = 3.0;
/// RTT that the first pacing rate assumes, s.
const FIRST_RTT_S: f64 = 0.001;

/// State of a connection: what the states of BBR share, and the parts that keep their own.
#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    w: f64,
    initial_window: f64,
    segment_bytes: f64,
    pacing_rate: f64,
    rtt_seen: bool,
    delivered: f64,
    next_round: f64,
    round_start: bool,
    rounds: f64,
    rounds_since_probe_up: f64,
    /// Two flags, for the last round and for the current round: true if the window, and not the pacing rate, limited
    /// the flow.
    window_filled: [bool; 2],
    max_bw: [f64; 2],
    bw: f64,
    bw_shortterm: f64,
    bw_latest: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    inflight_latest: f64,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    losses: Losses,
    recovering: bool,
    prior_window: f64,
    undo: Undo,
    full: FullPipe,
    drain_round: f64,
    ack_phase: AckPhase,
    cycle_at: f64,
    probe_wait: f64,
    probe_sample: bool,
    probe_up_rounds: u32,
    probe_up_acked: f64,
    probe_up_per_step: f64,
    probe_too_high: bool,
    probe_precautionary: bool,
    probe_rtt_until: Option<f64>,
    probe_rtt_round_done: bool,
    limited_from: f64,
    limited_to: f64,
    idle_restart: bool,
    draws: Draws,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    p: Box<Bbr3Params>,
    s: Box<State>,
}

impl Bbr3 {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "bbr3",
        title: "BBR, version 3",
        kind: Kind::Model,
        signals: &["delivery rate", "RTT", "loss"],
        source: "draft-ietf-ccwg-bbr",
        doc: "BBR's model of the path with bounds. More than 2 % of loss in a probe sets a bound on the volume in \
              flight. A loss between probes lowers rate and window until the next probe. BBRv3 probes every two to \
              three seconds, or as often as Reno would, and leaves 15 % of the bound to other flows in between.",
        presets: &[Preset::new("", "draft-ietf-ccwg-bbr", &[])],
        tables: &[Bbr3Params::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = Bbr3Params::read(settings)?;
        Ok(Self { p: Box::new(p), s: Box::new(State::new()) })
    }

    fn pacing_gain(&self) -> f64 {
        match self.s.mode {
            Mode::Startup => self.p.startup_gain,
            Mode::Drain => self.p.drain_gain,
            Mode::Down => self.p.down_gain,
            Mode::Up => self.p.up_gain,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.s.mode {
            Mode::Up => self.p.up_cwnd_gain,
            Mode::ProbeRtt => self.p.probe_rtt_cwnd_gain,
            _ => self.p.cwnd_gain,
        }
    }

    /// Volume of `gain` bandwidth-delay products, segments; the initial window before the first RTT sample.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        let min_rtt = self.s.min_rtt.get();
        if min_rtt.is_finite() { gain * bw * min_rtt } else { self.s.initial_window }
    }

    fn quantized(&self, inflight: f64) -> f64 {
        let most = (QUANTUM_MOST_BYTES / self.s.segment_bytes).max(QUANTUM_LEAST);
        let quantum = (self.s.pacing_rate * QUANTUM_S).clamp(QUANTUM_LEAST, most);
        let inflight = inflight.max(OFFLOAD_QUANTA * quantum).max(self.p.min_window);
        if self.s.mode == Mode::Up { inflight + 2.0 } else { inflight }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantized(self.bdp(bw, gain))
    }

    fn target_inflight(&self) -> f64 {
        self.bdp(self.s.bw, 1.0).min(self.s.w)
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.s.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.p.headroom * self.s.inflight_longterm).max(1.0);
        (self.s.inflight_longterm - headroom).max(self.p.min_window)
    }

    fn too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > self.p.loss_threshold * tx_in_flight
    }

    /// Volume in flight at which losses crossed the threshold. `tx_in_flight` counts the segments in flight when the
    /// lost segment was sent, itself included.
    fn inflight_at_loss(&self, tx_in_flight: f64, lost: f64) -> f64 {
        let (before, lost_before) = (tx_in_flight - 1.0, lost - 1.0);
        before + (self.p.loss_threshold * before - lost_before) / (1.0 - self.p.loss_threshold)
    }

    /// Delivery-rate sample of an ACK (`RS` in the draft); `None` if the ACK has no sample.
    fn sample(&self, ack: &Ack) -> Option<Sample> {
        let Delivery { rate, delivered, prior_delivered, app_limited, tx_in_flight, lost, .. } = ack.delivery?;
        let s = &*self.s;
        Some(Sample {
            rate: rate.unwrap_or(0.0),
            delivered: delivered - prior_delivered,
            prior_delivered,
            tx_in_flight,
            lost,
            app_limited: app_limited || (s.limited_from..=s.limited_to).contains(&prior_delivered),
        })
    }

    fn update_model(&mut self, ack: &Ack, sample: &Sample) {
        self.s.update_latest(sample);
        self.s.update_round(sample);
        self.s.update_max_bw(sample);
        if self.s.losses.takes_round() && !self.s.mode.probes_bandwidth() {
            self.s.lower_bounds(self.p.beta);
        }
        let s = &mut *self.s;
        s.aggregation.update(ack, (s.bw, s.w), s.rounds, s.full.is_reached());
        s.full.look(sample, s.round_start);
        self.leave_startup(sample);
        self.leave_drain(ack);
        self.update_cycle(ack, sample);
        self.s.min_rtt.update(ack, self.p.probe_rtt_interval, self.p.min_rtt_window);
        self.probe_rtt(ack);
        if self.s.losses.begins_round() {
            (self.s.bw_latest, self.s.inflight_latest) = (sample.rate, sample.delivered);
        }
        self.s.bw = self.s.max_bw().min(self.s.bw_shortterm);
    }

    /// Leaves Startup when the bandwidth stops growing, or after a whole round of recovery with many losses.
    fn leave_startup(&mut self, sample: &Sample) {
        let has_many_losses = self.s.losses.count();
        if self.s.mode == Mode::Startup
            && has_many_losses
            && self.s.recovering
            && self.too_high(sample.lost, sample.tx_in_flight)
        {
            let bdp = self.bdp(self.s.bw, 1.0);
            let s = &mut *self.s;
            s.undo.mode = Some(Mode::Startup);
            s.full.set_reached(true);
            s.inflight_longterm = bdp.max(s.inflight_latest);
        }
        let s = &mut *self.s;
        if s.mode == Mode::Startup && s.full.is_reached() {
            s.mode = Mode::Drain;
            s.drain_round = s.rounds;
        }
    }

    fn leave_drain(&mut self, ack: &Ack) {
        let s = &*self.s;
        if s.mode == Mode::Drain
            && (ack.in_flight <= self.inflight(s.bw, 1.0) || s.rounds > s.drain_round + DRAIN_ROUNDS)
        {
            self.start_down(ack.now);
        }
    }

    fn pace(&mut self, gain: f64) {
        let rate = gain * self.s.bw * (1.0 - self.p.pacing_margin);
        if rate > self.s.pacing_rate || (self.s.full.is_reached() && rate > 0.0) {
            self.s.pacing_rate = rate;
        }
    }

    fn first_pace(&mut self, rtt: f64) {
        self.s.pacing_rate = self.p.startup_gain * self.s.initial_window / rtt;
    }

    fn set_window(&mut self, acked: f64) {
        let most = self.quantized(self.bdp(self.s.bw, self.cwnd_gain()) + self.s.aggregation.get());
        let s = &mut *self.s;
        if s.full.is_reached() {
            s.w = (s.w + acked).min(most);
        } else if s.w < most || s.delivered < s.initial_window {
            s.w += acked;
        }
        s.w = s.w.max(self.p.min_window);
        let cap = match s.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::Cruise => self.inflight_with_headroom(),
            Mode::ProbeRtt => self.inflight_with_headroom().min(self.probe_rtt_window()),
            Mode::Down | Mode::Refill | Mode::Up => s.inflight_longterm,
        };
        let s = &mut *self.s;
        s.w = s.w.min(cap.min(s.inflight_shortterm).max(self.p.min_window));
    }
}

observed! {
    self: Bbr3;
    /// State.
    mode = self.s.mode, state(Mode::NAMES);
    /// Largest bandwidth of the last two probes (BBR.max_bw).
    max_bw = self.s.max_bw(), number(Unit::SegmentsPerSecond);
    /// Bandwidth from which pacing rate and window follow (BBR.bw).
    bw = self.s.bw, number(Unit::SegmentsPerSecond);
    /// Bound of the bandwidth after a loss (BBR.bw_shortterm); null without one.
    bw_shortterm = self.s.bw_shortterm, number(Unit::SegmentsPerSecond);
    /// Bound of the volume in flight after a loss (BBR.inflight_shortterm); null without one.
    inflight_shortterm = self.s.inflight_shortterm, number(Unit::Segments);
    /// Largest safe volume in flight (BBR.inflight_longterm); null without one.
    inflight_longterm = self.s.inflight_longterm, number(Unit::Segments);
    /// Smallest RTT (BBR.min_rtt).
    min_rtt_s = self.s.min_rtt.get(), number(Unit::Seconds);
    /// Pacing gain.
    pacing_gain = self.pacing_gain(), plain();
    /// Window gain.
    cwnd_gain = self.cwnd_gain(), plain();
    /// Largest excess of acknowledged data over the bandwidth (BBR.extra_acked).
    extra_acked = self.s.aggregation.get(), number(Unit::Segments);
    /// 1 once Startup has filled the pipe.
    full_bw_reached = self.s.full.is_reached(), plain();
}

impl Bbr3 {
    fn on_start(&mut self, start: &Start) {
        let s = &mut *self.s;
        s.w = start.initial_window.max(1.0);
        s.initial_window = s.w;
        s.segment_bytes = start.segment_bytes;
        s.aggregation.begin(start.now);
        s.draws = Draws::new(start.seed);
        s.rtt_seen = start.rtt.is_some();
        s.min_rtt = MinRtt::new(start.now, start.rtt);
        self.first_pace(start.rtt.unwrap_or(FIRST_RTT_S));
    }

    fn on_lost(&mut self, lost: &Lost) {
        let s = &mut *self.s;
        if s.losses.note(lost.delivered) {
            s.save_upon_loss();
        }
        if s.probe_sample && self.too_high(lost.lost, lost.tx_in_flight) {
            let in_flight = self.inflight_at_loss(lost.tx_in_flight, lost.lost);
            self.handle_too_high(lost.now, in_flight, lost.app_limited);
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        if signal.cause == Cause::Loss {
            self.s.recovering = true;
        }
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.s.save_upon_loss();
        self.s.recovering = true;
        self.s.w = 1.0 + signal.kept;
    }

    fn on_idle(&mut self, now: f64) {
        self.s.idle_restart = true;
        self.s.aggregation.begin(now);
        if self.s.mode.in_probe_bw() {
            self.pace(1.0);
        } else if self.s.mode == Mode::ProbeRtt {
            self.leave_probe_rtt(now);
        }
    }

    fn on_recovery_exit(&mut self) {
        if self.s.recovering {
            self.s.recovering = false;
            self.s.restore_window();
        }
    }

    fn on_undo(&mut self) {
        self.on_recovery_exit();
        let s = &mut *self.s;
        s.losses.forget_round();
        s.full.begin(0.0);
        s.bw_shortterm = s.bw_shortterm.max(s.undo.bw_shortterm);
        s.inflight_shortterm = s.inflight_shortterm.max(s.undo.inflight_shortterm);
        s.inflight_longterm = s.inflight_longterm.max(s.undo.inflight_longterm);
        match s.undo.mode.take() {
            Some(Mode::Startup) if s.mode != Mode::Startup => {
                s.full.set_reached(false);
                if s.mode != Mode::ProbeRtt {
                    s.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if !matches!(s.mode, Mode::Up | Mode::ProbeRtt) => s.start_refill(),
            _ => {}
        }
    }
}

impl Algorithm for Bbr3 {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.s.delivered = ack.delivery.map_or(self.s.delivered + ack.acked, |d| d.delivered);
        self.s.window_filled[1] |= ack.window_limited && ack.in_flight + ack.acked + 1.0 >= self.s.w.floor();
        if let Some(sample) = self.sample(ack) {
            self.update_model(ack, &sample);
        }
        if !self.s.rtt_seen && ack.srtt > 0.0 {
            self.s.rtt_seen = true;
            self.first_pace(ack.srtt);
        }
        self.pace(self.pacing_gain());
        self.set_window(ack.acked);
        self.s.losses.end_ack();
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(ref signal) => self.on_congestion(signal),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { now, .. } => self.on_idle(now),
            Event::Lost(ref lost) => self.on_lost(lost),
            Event::Moderate { window } | Event::Keep { window } => self.s.w = self.s.w.min(window).max(1.0),
            Event::RecoveryExit { .. } => self.on_recovery_exit(),
            Event::Undo { .. } => self.on_undo(),
            Event::Linux(linux::Event::LossInReduction { .. }) => self.s.recovering = true,
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { delivery: true, losses: true, pacing: true, own_recovery: true, ..Needs::default() }
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.s.draws)
    }

    #[inline]
    fn window(&self) -> f64 {
        self.s.w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.s.pacing_rate)
    }
}
