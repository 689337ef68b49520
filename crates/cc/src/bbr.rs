//! BBR, version 1 (Cardwell N, Cheng Y, Gunn CS, Hassas Yeganeh S, Jacobson V, "BBR: congestion-based congestion
//! control", ACM Queue 14(5), 2016). BBR paces at the largest delivery rate of the last ten round trips and keeps about
//! two bandwidth-delay products in flight, regardless of losses.
//!
//! Variant: Linux's module (`tcp_bbr.c` as of 5.x), with its additions to the article. One addition is a pacing rate 1
//! % below the estimate, another is room in the window for aggregated ACKs and for offloaded bursts. Further additions
//! are packet conservation in the first round of recovery, and the long-term rate of a policer. The windows are whole
//! segments. Rates, gains and clocks are exact numbers; the preset `linux` computes in whole numbers as the kernel
//! does, and counts the segments that leave before the next paced burst as the kernel does. Preset `2016` is the article
//! without Linux's additions.
//!
//! Differences from Linux: a delayed ACK may refresh an expired minimum RTT, where the kernel waits for an ACK that is
//! not delayed. Without the preset `linux`, all segments in flight count as in the network.

use crate::ack::{Ack, Delivery};
use crate::algorithm::{Algorithm, Needs};
use crate::draws::Draws;
use crate::event::Event;
use crate::jiffies::Jiffies;
use crate::linux;
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, switch, value};
use crate::windowed::WindowedMax;

use self::aggregation::Aggregation;
use self::compare::{larger, smaller};
pub use self::parameters::BbrParams;
use self::policer::{Counts, Policer};

mod aggregation;
mod compare;
mod events;
mod parameters;
mod policer;
mod probe_rtt;
mod whole;

/// Phases of the gain cycle.
const PHASES: u8 = 8;
/// RTT that the first pacing rate assumes, s.
const FIRST_RTT_S: f64 = 0.001;
/// Pacing rate below which a burst is one segment, bytes/s (1.2 Mbit/s).
const BURST_OF_ONE_BYTES_PER_S: f64 = 150_000.0;
/// Largest burst, bytes (GSO).
const BURST_MOST_BYTES: f64 = 65_535.0;
states! {
    /// State of BBR.
    enum Mode {
        Startup = "Startup",
        Drain = "Drain",
        ProbeBw = "ProbeBW",
        ProbeRtt = "ProbeRTT",
    }
}

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    w: f64,
    ssthresh: f64,
    initial_window: f64,
    segment_bytes: f64,
    pacing_rate: f64,
    /// Segments of one burst at the pacing rate.
    burst: f64,
    rtt_seen: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    bandwidth: WindowedMax,
    rounds: f64,
    round_start: bool,
    next_round: f64,
    min_rtt: f64,
    min_rtt_at: f64,
    probe_rtt_from: Option<f64>,
    probe_rtt_round_done: bool,
    /// Samples with a `prior_delivered` from `limited_from` to `limited_to` count as application-limited, because
    /// ProbeRTT held the window down.
    limited_from: f64,
    limited_to: f64,
    phase: u8,
    phase_at: f64,
    full_bandwidth: f64,
    full_count: f64,
    full_reached: bool,
    prior_window: f64,
    recovering: bool,
    recovery_begins: bool,
    recovery_ends: bool,
    conserve: bool,
    idle_restart: bool,
    delivered: f64,
    /// Time of the last delivery, or of the first transmission after an idle period (`delivered_mstamp`).
    delivered_at: f64,
    lost: f64,
    lost_now: f64,
    aggregation: Aggregation,
    policer: Policer,
    draws: Draws,
    jiffies: Jiffies,
}

impl State {
    fn set_pacing_rate(&mut self, rate: f64) {
        if rate != self.pacing_rate {
            (self.pacing_rate, self.burst) = (rate, Bbr::burst(rate, self.segment_bytes));
        }
    }
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    p: Box<BbrParams>,
    s: Box<State>,
}

impl Bbr {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "bbr",
        title: "BBR, version 1",
        kind: Kind::Model,
        signals: &["delivery rate", "RTT"],
        source: "Cardwell, Cheng, Gunn, Hassas Yeganeh & Jacobson, ACM Queue 14(5), 2016; Linux tcp_bbr.c",
        doc: "Measures the bottleneck's rate and the path's smallest RTT. BBR sends at the bottleneck's rate, and \
              allows twice the product of this rate and the smallest RTT in flight. BBR probes for more bandwidth \
              every eight round trips and measures the RTT anew every ten seconds. In the first round trip of a \
              recovery, BBR sends one segment for each segment acknowledged. The default is Linux's arithmetic with \
              exact gains.",
        presets: &[
            Preset::new("", "Linux's rules, exact gains", &[]),
            Preset::new(
                "linux",
                "Linux, in its arithmetic",
                &[value("startup_gain", 739.0 / 256.0), value("drain_gain", 88.0 / 256.0), switch("integer", true)],
            ),
            Preset::new(
                "2016",
                "ACM Queue 2016, without Linux's additions",
                &[
                    value("pacing_margin", 0.0),
                    switch("offload_budget", false),
                    switch("ack_aggregation", false),
                    switch("policer", false),
                ],
            ),
        ],
        tables: &[BbrParams::TABLE],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = BbrParams::read(settings)?;
        let s = State {
            mode: Mode::Startup,
            w: 1.0,
            ssthresh: f64::INFINITY,
            initial_window: 1.0,
            segment_bytes: 1448.0,
            pacing_rate: 1.0,
            burst: 1.0,
            rtt_seen: false,
            pacing_gain: p.startup_gain,
            cwnd_gain: p.startup_gain,
            bandwidth: WindowedMax::new(0.0, 0.0),
            rounds: 0.0,
            round_start: false,
            next_round: 0.0,
            min_rtt: f64::INFINITY,
            min_rtt_at: 0.0,
            probe_rtt_from: None,
            probe_rtt_round_done: false,
            limited_from: f64::INFINITY,
            limited_to: f64::NEG_INFINITY,
            phase: 0,
            phase_at: 0.0,
            full_bandwidth: 0.0,
            full_count: 0.0,
            full_reached: false,
            prior_window: 0.0,
            recovering: false,
            recovery_begins: false,
            recovery_ends: false,
            conserve: false,
            idle_restart: false,
            delivered: 0.0,
            delivered_at: 0.0,
            lost: 0.0,
            lost_now: 0.0,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            draws: Draws::default(),
            jiffies: Jiffies::default(),
        };
        Ok(Self { p: Box::new(p), s: Box::new(s) })
    }

    /// Bandwidth estimate, segments/s.
    #[inline]
    fn bandwidth(&self) -> f64 {
        self.s.policer.rate().unwrap_or_else(|| self.s.bandwidth.get())
    }

    /// Window of `gain` bandwidth-delay products, segments, rounded up.
    #[inline]
    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        if !self.s.min_rtt.is_finite() {
            self.s.initial_window
        } else if self.p.integer {
            whole::window(bandwidth, self.s.min_rtt, gain)
        } else {
            (gain * bandwidth * self.s.min_rtt).ceil()
        }
    }

    /// Segments of one burst: about 1 ms at the pacing rate, segments/s.
    fn burst(pacing_rate: f64, segment_bytes: f64) -> f64 {
        let bytes_per_s = pacing_rate * segment_bytes;
        let least = if bytes_per_s < BURST_OF_ONE_BYTES_PER_S { 1.0 } else { 2.0 };
        ((bytes_per_s / 1024.0).min(BURST_MOST_BYTES) / segment_bytes).floor().clamp(least, 127.0)
    }

    /// Rounds a window up, to allow for bursts, for pairs of delayed ACKs, and for the additional segments of the
    /// probing phase.
    #[inline]
    fn quantized(&self, window: f64) -> f64 {
        if !self.p.offload_budget {
            return window;
        }
        let window = 2.0 * ((window + 3.0 * self.s.burst) / 2.0).ceil();
        if self.s.mode == Mode::ProbeBw && self.s.phase == 0 { window + 2.0 } else { window }
    }

    fn in_flight_target(&self, gain: f64) -> f64 {
        self.quantized(self.bdp(self.s.bandwidth.get(), gain))
    }

    /// Takes a delivery-rate sample. Returns true if the sample may only raise the estimate.
    #[inline]
    fn update_bandwidth(&mut self, ack: &Ack) -> bool {
        self.s.round_start = false;
        let Some(Delivery { rate: Some(mut rate), interval, delivered, prior_delivered, app_limited, .. }) =
            ack.delivery
        else {
            return true;
        };
        if self.p.integer {
            rate = whole::bandwidth(delivered - prior_delivered, interval);
        }
        let s = &mut *self.s;
        if prior_delivered >= s.next_round {
            s.next_round = s.delivered;
            s.rounds += 1.0;
            s.round_start = true;
            s.conserve = false;
        }
        let limited = app_limited || (s.limited_from..=s.limited_to).contains(&prior_delivered);
        // Without losses there is no policer to detect.
        if self.p.policer && (s.policer.is_active() || s.lost_now > 0.0) {
            self.look_for_policer(ack.now, limited);
        }
        let s = &mut *self.s;
        if !limited || rate >= s.bandwidth.get() {
            s.bandwidth.update(rate, s.rounds, self.p.bandwidth_rounds);
        }
        limited
    }

    /// Detects a token bucket, and uses its rate as the bandwidth.
    fn look_for_policer(&mut self, now: f64, limited: bool) {
        let at = self.counts(now);
        let s = &mut *self.s;
        if s.policer.rate().is_none() {
            s.policer.sample(at, (s.lost_now > 0.0, limited, s.round_start), (s.segment_bytes, self.p.integer));
        } else if s.mode == Mode::ProbeBw && s.round_start && s.policer.expires(at) {
            self.enter_probe_bw(now);
        }
    }

    fn counts(&self, now: f64) -> Counts {
        Counts { now, delivered: self.s.delivered, lost: self.s.lost }
    }

    #[inline]
    fn aggregation_room(&self, bandwidth: f64) -> f64 {
        if self.p.ack_aggregation && self.s.full_reached {
            self.s.aggregation.room(bandwidth, self.p.integer)
        } else {
            0.0
        }
    }

    #[inline]
    fn update_phase(&mut self, ack: &Ack) {
        let s = &*self.s;
        if s.mode != Mode::ProbeBw {
            return;
        }
        let lasted = if self.p.integer {
            whole::microseconds(ack.now) - whole::microseconds(s.phase_at) > whole::microseconds(s.min_rtt)
        } else {
            ack.now - s.phase_at > s.min_rtt
        };
        let before = self.in_network(ack, ack.in_flight + ack.acked + s.lost_now);
        let next = if s.pacing_gain > 1.0 {
            lasted && (s.lost_now > 0.0 || before >= self.in_flight_target(s.pacing_gain))
        } else if s.pacing_gain < 1.0 {
            lasted || before <= self.in_flight_target(1.0)
        } else {
            lasted
        };
        if next {
            self.next_phase(ack.now);
        }
    }

    /// Segments of `in_flight` that will be in the network when the pacing lets the next burst leave
    /// (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, ack: &Ack, in_flight: f64) -> f64 {
        if !self.p.integer {
            return in_flight;
        }
        let wait = ack.delivery.map_or(0.0, |delivery| delivery.departs_in);
        let joins = if self.s.pacing_gain > 1.0 { self.s.burst } else { 0.0 };
        larger(in_flight + joins - whole::segments(self.bandwidth(), wait), 0.0)
    }

    fn next_phase(&mut self, now: f64) {
        self.s.phase = (self.s.phase + 1) % PHASES;
        self.s.phase_at = now;
    }

    /// Enters `ProbeBW` in a random phase other than the draining one, so that flows do not probe in step.
    fn enter_probe_bw(&mut self, now: f64) {
        self.s.mode = Mode::ProbeBw;
        self.s.phase = PHASES - 1 - (self.s.draws.bits() % 7) as u8;
        self.next_phase(now);
    }

    #[inline]
    fn look_for_full_pipe(&mut self, limited: bool) {
        let s = &mut *self.s;
        if s.full_reached || !s.round_start || limited {
            return;
        }
        let bandwidth = s.bandwidth.get();
        let enough = if self.p.integer {
            whole::times(s.full_bandwidth, self.p.full_growth)
        } else {
            self.p.full_growth * s.full_bandwidth
        };
        if bandwidth >= enough {
            (s.full_bandwidth, s.full_count) = (bandwidth, 0.0);
            return;
        }
        s.full_count += 1.0;
        s.full_reached = s.full_count >= self.p.full_rounds;
    }

    #[inline]
    fn drain(&mut self, ack: &Ack) {
        if self.s.mode == Mode::Startup && self.s.full_reached {
            self.s.mode = Mode::Drain;
            self.s.ssthresh = self.in_flight_target(1.0).max(self.p.min_window);
        }
        if self.s.mode == Mode::Drain && self.in_network(ack, ack.in_flight) <= self.in_flight_target(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    #[inline]
    fn update_gains(&mut self) {
        let s = &mut *self.s;
        (s.pacing_gain, s.cwnd_gain) = match s.mode {
            Mode::Startup => (self.p.startup_gain, self.p.startup_gain),
            Mode::Drain => (self.p.drain_gain, self.p.startup_gain),
            Mode::ProbeBw if s.policer.rate().is_some() => (1.0, self.p.cwnd_gain),
            Mode::ProbeBw => match s.phase {
                0 => (self.p.probe_gain, self.p.cwnd_gain),
                1 => (self.p.yield_gain, self.p.cwnd_gain),
                _ => (1.0, self.p.cwnd_gain),
            },
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    #[inline]
    fn pace(&mut self, gain: f64, bandwidth: f64) {
        let rate = self.rate(gain, bandwidth);
        if rate > self.s.pacing_rate || (self.s.full_reached && rate > 0.0) {
            self.s.set_pacing_rate(rate);
        }
    }

    /// Sets the pacing rate before any sample: the initial window in one RTT, times Startup's gain.
    fn first_pace(&mut self, rtt: f64) {
        let (gain, window) = (self.p.startup_gain, self.s.initial_window);
        let rate = if self.p.integer {
            self.rate(gain, whole::bandwidth(window, rtt))
        } else {
            gain * window / rtt * (1.0 - self.p.pacing_margin)
        };
        self.s.set_pacing_rate(rate);
    }

    /// Pacing rate of a bandwidth and a gain, segments/s.
    #[inline]
    fn rate(&self, gain: f64, bandwidth: f64) -> f64 {
        if self.p.integer {
            whole::pacing_rate(bandwidth, gain, self.p.pacing_margin, self.s.segment_bytes)
        } else {
            gain * bandwidth * (1.0 - self.p.pacing_margin)
        }
    }

    /// Begins a recovery. If one ACK ends a recovery and begins another, both count as one recovery.
    fn begin_recovery(&mut self) {
        self.s.recovery_begins = !self.s.recovery_ends;
        (self.s.recovering, self.s.recovery_ends) = (true, false);
    }

    fn save_window(&mut self) {
        let s = &mut *self.s;
        let good = !s.recovering && !s.recovery_ends && s.mode != Mode::ProbeRtt;
        s.prior_window = if good { s.w } else { s.prior_window.max(s.w) };
    }

    #[inline]
    fn set_window(&mut self, ack: &Ack, bandwidth: f64) {
        let target = self.quantized(self.bdp(bandwidth, self.s.cwnd_gain) + self.aggregation_room(bandwidth));
        // Linux counts the SYN as delivered.
        let syn = f64::from(u8::from(self.p.integer));
        let s = &mut *self.s;
        if s.lost_now > 0.0 {
            s.w = larger(s.w - s.lost_now, 1.0);
        }
        if s.recovery_begins {
            s.conserve = true;
            s.next_round = s.delivered;
            s.w = larger(ack.in_flight + ack.acked, 1.0);
        } else if s.recovery_ends {
            s.conserve = false;
            s.w = larger(s.w, s.prior_window);
        }
        (s.recovery_begins, s.recovery_ends) = (false, false);
        if s.conserve {
            s.w = larger(s.w, ack.in_flight + ack.acked);
        } else {
            if s.full_reached {
                s.w = smaller(s.w + ack.acked, target);
            } else if s.w < target || s.delivered + syn < s.initial_window {
                s.w += ack.acked;
            }
            s.w = larger(s.w, self.p.min_window);
        }
        if s.mode == Mode::ProbeRtt {
            s.w = smaller(s.w, self.p.min_window);
        }
    }
}

observed! {
    self: Bbr;
    /// State.
    mode = self.s.mode, state(Mode::NAMES);
    /// Estimated bottleneck bandwidth (BtlBw).
    bw = self.bandwidth(), number(Unit::SegmentsPerSecond);
    /// Estimated round-trip propagation time (RTprop).
    min_rtt_s = self.s.min_rtt, number(Unit::Seconds);
    /// Pacing gain.
    pacing_gain = self.s.pacing_gain, plain();
    /// Window gain.
    cwnd_gain = self.s.cwnd_gain, plain();
    /// Phase of the gain cycle, 0 to 7; outside ProbeBW the phase of the last cycle.
    cycle_index = self.s.phase, plain();
    /// 1 once Startup has filled the pipe.
    full_bw_reached = self.s.full_reached, plain();
    /// Largest excess of acknowledged data over the bandwidth.
    extra_acked = self.aggregation_room(self.bandwidth()), number(Unit::Segments);
    /// 1 while a policer's rate is used as the bandwidth.
    lt_use_bw = self.s.policer.rate().is_some(), plain();
}

impl Algorithm for Bbr {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.s.delivered = ack.delivery.map_or(self.s.delivered + ack.acked, |d| d.delivered);
        if ack.acked > 0.0 {
            self.s.delivered_at = ack.now;
        }
        let limited = self.update_bandwidth(ack);
        let bandwidth = self.bandwidth();
        if self.p.ack_aggregation {
            if self.s.round_start {
                self.s.aggregation.next_round();
            }
            self.s.aggregation.update((ack.now, ack.acked), bandwidth, self.s.w, self.p.integer);
        }
        self.update_phase(ack);
        self.look_for_full_pipe(limited);
        self.drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
        if !self.s.rtt_seen && ack.srtt > 0.0 {
            self.s.rtt_seen = true;
            self.first_pace(ack.srtt);
        }
        self.pace(self.s.pacing_gain, bandwidth);
        self.set_window(ack, bandwidth);
        self.s.lost_now = 0.0;
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
            Event::Linux(linux::Event::Restart(ref restart)) => self.on_restart(restart),
            Event::Linux(linux::Event::LossInReduction { .. }) => self.begin_recovery(),
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        let of_linux = self.p.integer;
        Needs {
            delivery: true,
            losses: true,
            pacing: true,
            own_recovery: true,
            hz: of_linux,
            restarts: of_linux,
            idle_timeouts: of_linux,
            ..Needs::default()
        }
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
        self.s.ssthresh
    }

    #[inline]
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.s.pacing_rate)
    }
}

#[cfg(test)]
mod tests;
