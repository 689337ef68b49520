//! TCP NV, "New Vegas" (Brakmo L, "TCP-NV: congestion avoidance for data centers", Linux Plumbers Conference 2010;
//! Linux tcp_nv.c). NV keeps the window close to the largest rate of the last round trips times the smallest RTT, plus
//! a few segments.
//!
//! Variant: Linux's module, in whole segments; no paper exists. NV is for data centers where all flows use NV. The
//! flight size at the time of a segment's transmission comes from the delivery-rate sample. After each recovery the
//! smallest RTT is measured anew, as in Linux. Linux's parameter for growth faster than one segment a round trip is off
//! by default and left out here.

use crate::ack::{Ack, Delivery};
use crate::algorithm::Needs;
use crate::draws::Draws;
use crate::jiffies::Jiffies;
use crate::linux::Recovery;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{FLOOR, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params, word};
use crate::reports::{Signal, Start};

params! {
    /// Parameters of NV.
    pub struct NvParams {
        /// Largest number of segments in queues.
        pad: f64 = num(10.0, 0.0, 1e6, Unit::Segments), "Linux tcp_nv.c nv_pad";
        /// Distance from `pad` within which the window does not grow.
        pad_buffer: f64 = num(2.0, 0.0, 1e6, Unit::Segments), "Linux tcp_nv.c nv_pad_buffer";
        /// Mean lifetime of the smallest RTT.
        reset_period: f64 = num(5.0, 0.1, 1e4, Unit::Seconds), "Linux tcp_nv.c nv_reset_period";
        /// Smallest window without losses.
        min_cwnd: f64 = num(2.0, 2.0, 1e4, Unit::Segments), "Linux tcp_nv.c nv_min_cwnd";
        /// Fraction of the excess by which the window shrinks, in 128ths.
        congestion_decrease: f64 = num(38.0, 0.0, 128.0, Unit::Of128), "Linux tcp_nv.c nv_cong_dec_mult: 30 %";
        /// Fraction of the window kept on a loss, in 1024ths.
        loss_keep: f64 = num(819.0, 128.0, 1024.0, Unit::Of1024), "Linux tcp_nv.c nv_loss_dec_factor: 80 %";
        /// Weight of a new RTT in the average, in 256ths; 0: no average.
        rtt_factor: f64 = num(128.0, 0.0, 256.0, Unit::Of256), "Linux tcp_nv.c nv_rtt_factor";
        /// RTT of the path, if known, which bounds the smallest RTT; 0: unknown.
        base_rtt: f64 = num(0.0, 0.0, 10.0, Unit::Seconds), "Linux tcp_nv.c: asked of a BPF program";
        /// Decisions without congestion after which the growth rate doubles again, if timeouts lowered it; 0: timeouts
        /// do not lower it.
        growth_rate_neg: f64 = num(8.0, 0.0, 1e3, Unit::Decisions), "Linux tcp_nv.c nv_cwnd_growth_rate_neg";
        /// RTT samples needed for a decision to shrink.
        dec_eval_min: f64 = num(60.0, 0.0, 254.0, Unit::Samples), "Linux tcp_nv.c nv_dec_eval_min_calls";
        /// RTT samples needed for a decision to grow.
        inc_eval_min: f64 = num(20.0, 0.0, 254.0, Unit::Samples), "Linux tcp_nv.c nv_inc_eval_min_calls";
        /// RTT samples needed to end the first slow start.
        ssthresh_eval_min: f64 = num(30.0, 0.0, 254.0, Unit::Samples), "Linux tcp_nv.c nv_ssthresh_eval_min_calls";
        /// Round trips without enough samples after which growth stops.
        stop_rtt_cnt: f64 = num(10.0, 0.0, 254.0, Unit::RoundTrips), "Linux tcp_nv.c nv_stop_rtt_cnt";
        /// Round trips needed for a decision to shrink.
        rtt_min_cnt: f64 = num(2.0, 0.0, 254.0, Unit::RoundTrips), "Linux tcp_nv.c nv_rtt_min_cnt";
    }
}

/// Factor of Linux's unit of rates, hundreds of bits a second, and µs.
const HUNDREDS_OF_BITS: f64 = 80_000.0;
/// Corrects a number that rounding put just below a whole number.
const WHOLE: f64 = 1e-3;
/// Lifetime of the first smallest RTT, s.
const FIRST_RESET_S: f64 = 2.0;
/// Lower bound of valid RTT samples, as a fraction of a known RTT.
const LOWER_BOUND: f64 = 205.0 / 256.0;
/// Largest value of the counters.
const COUNT_MAX: f64 = 255.0;
/// Smallest growth exponent: one segment in 2⁸ windows.
const GROWTH_MIN: i32 = -8;
/// Segments by which a round with a single sample is extended; each extension adds two more.
const MIN_ROUND: f64 = 4.0;
const MIN_ROUND_STEP: f64 = 2.0;
const MIN_ROUND_MAX: f64 = 81.0;

/// TCP NV.
#[derive(Clone, Debug)]
pub struct Nv {
    p: NvParams,
    win: LossWindow,
    draws: Draws,
    growth: i32,
    may_grow: bool,
    samples: f64,
    rounds: f64,
    uncongested: f64,
    /// Averaged RTT, s; 0 before the first sample.
    rtt: f64,
    rtt_min: f64,
    rtt_min_next: f64,
    reset_at: f64,
    /// Largest rate since the last decision, segments/s.
    rate: f64,
    /// Segments delivered so far; the count at which the round ends; the count at the last sample.
    una: f64,
    round_end: f64,
    una_at_sample: f64,
    min_round: f64,
    restart: bool,
    jiffies: Jiffies,
    /// Size of a segment in Linux's arithmetic, bytes; 0 in real numbers.
    segment_bytes: f64,
}

impl Nv {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "nv",
        title: "TCP NV",
        kind: Kind::Delay,
        signals: &["RTT", "delivery rate", "loss"],
        source: "Brakmo, Linux Plumbers Conference 2010; Linux tcp_nv.c",
        doc: "Vegas for data centers: the window may exceed the largest rate times the smallest RTT by ten segments, \
              and shrinks by a fraction of any further excess. A decision needs many samples. The smallest RTT expires \
              every few seconds.",
        presets: &[Preset::new("", "Linux", &[word("arithmetic", "linux")])],
        tables: &[NvParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self {
            p: NvParams::read(settings)?,
            win: LossWindow::new(settings)?,
            draws: Draws::default(),
            growth: 0,
            may_grow: true,
            samples: 0.0,
            rounds: 0.0,
            uncongested: 0.0,
            rtt: 0.0,
            rtt_min: f64::INFINITY,
            rtt_min_next: f64::INFINITY,
            reset_at: 0.0,
            rate: 0.0,
            una: 0.0,
            round_end: 0.0,
            una_at_sample: 0.0,
            min_round: MIN_ROUND,
            restart: false,
            jiffies: Jiffies::default(),
            segment_bytes: 0.0,
        })
    }

    /// An RTT in Linux's precision, whole microseconds.
    fn whole(&self, rtt: f64) -> f64 {
        if self.segment_bytes > 0.0 { (rtt * 1e6 + WHOLE).floor() * 1e-6 } else { rtt }
    }

    /// Rate of `flight` segments in `rtt` s, segments/s; Linux's rate is a whole number of hundreds of bits a second.
    fn rate_of(&self, flight: f64, rtt: f64) -> f64 {
        let unit = HUNDREDS_OF_BITS * self.segment_bytes;
        if unit > 0.0 {
            (flight * unit / (rtt * 1e6).round() + WHOLE * 1e-3).floor() / unit * 1e6
        } else {
            flight / rtt
        }
    }

    /// Segments of the largest rate in the smallest RTT.
    fn needed(&self) -> f64 {
        let unit = HUNDREDS_OF_BITS * self.segment_bytes;
        if unit > 0.0 {
            ((self.rate * unit / 1e6).round() * (self.rtt_min * 1e6).round() / unit).floor()
        } else {
            (self.rate * self.rtt_min).floor()
        }
    }

    /// True if the smallest RTT expires; Linux compares jiffies.
    fn expires(&self, now: f64) -> bool {
        if self.segment_bytes > 0.0 {
            self.jiffies.at(now) >= self.jiffies.at(self.reset_at)
        } else {
            now >= self.reset_at
        }
    }

    /// Time until the smallest RTT expires, from three to five quarters of `reset_period`, s. Linux draws one byte, and
    /// drops the fraction of a jiffy.
    fn reset_period(&mut self) -> f64 {
        if self.segment_bytes > 0.0 {
            let drawn = f64::from(self.draws.word() >> 24);
            let jiffies = (self.p.reset_period * (384.0 + drawn) / 512.0 * self.jiffies.hz()).floor();
            self.jiffies.seconds(jiffies)
        } else {
            self.p.reset_period * (0.75 + 0.5 * self.draws.uniform())
        }
    }

    fn begin_samples(&mut self) {
        (self.samples, self.rounds, self.uncongested, self.rtt, self.rate) = (0.0, 0.0, 0.0, 0.0, 0.0);
        (self.round_end, self.una_at_sample, self.restart) = (self.una, self.una, false);
    }

    /// Takes an RTT sample, and the flight size when its segment was sent.
    #[inline]
    fn sample(&mut self, now: f64, rtt: f64, flight: f64) {
        if self.p.rtt_factor == 0.0 {
            self.rtt = rtt;
        } else if self.rtt == 0.0 {
            (self.rtt, self.rtt_min) = (rtt, f64::INFINITY);
        } else {
            self.rtt = self.whole(self.rtt + self.p.rtt_factor / 256.0 * (rtt - self.rtt));
        }
        self.rate = self.rate.max(self.rate_of(flight, self.rtt));
        self.samples = (self.samples + 1.0).min(COUNT_MAX);
        let base = self.p.base_rtt;
        let bounded = if base > 0.0 { self.rtt.clamp(LOWER_BOUND * base, base) } else { self.rtt };
        self.rtt_min = self.rtt_min.min(bounded);
        self.rtt_min_next = self.rtt_min_next.min(bounded);
        if self.expires(now) {
            (self.rtt_min, self.rtt_min_next) = (self.rtt_min_next, f64::INFINITY);
            self.reset_at = now + self.reset_period();
            self.min_round = (self.min_round / 2.0).floor().max(MIN_ROUND);
        }
    }

    fn end_round(&mut self, next: f64, acked: f64) {
        self.round_end = next;
        self.rounds = (self.rounds + 1.0).min(COUNT_MAX);
        if self.samples == 1.0 && acked >= self.min_round - 1.0 && self.min_round < MIN_ROUND_MAX {
            self.min_round = (self.min_round + MIN_ROUND_STEP).min(MIN_ROUND_MAX);
            self.round_end = next + self.min_round;
            (self.samples, self.may_grow) = (0.0, true);
            return;
        }
        let most = self.needed() + self.p.pad;
        let decided = if self.win.w > most {
            self.shrink(most)
        } else if self.win.w <= most - self.p.pad_buffer {
            self.release()
        } else {
            false
        };
        if decided {
            (self.samples, self.rounds, self.rate) = (0.0, 0.0, 0.0);
            // A decision to grow raises a window below the minimum too.
            self.win.w = self.win.w.max(self.p.min_cwnd);
        }
    }

    /// Decides whether a window above `most` is reduced, and reduces it. Returns true if a decision was made.
    fn shrink(&mut self, most: f64) -> bool {
        if self.rounds < self.p.rtt_min_cnt {
            return false;
        }
        if self.win.ssthresh.is_infinite() {
            if self.samples < self.p.ssthresh_eval_min {
                return false;
            }
        } else if self.samples < self.p.dec_eval_min {
            self.may_grow &= self.rounds <= self.p.stop_rtt_cnt;
            return false;
        }
        self.may_grow = false;
        self.win.ssthresh = most.max(FLOOR);
        let excess = self.win.w - most;
        if excess > 2.0 {
            self.win.w -= (excess * self.p.congestion_decrease / 128.0).floor().max(2.0);
        } else if self.p.congestion_decrease > 0.0 {
            self.win.w = most;
        }
        self.uncongested = 0.0;
        true
    }

    /// Decides whether a window well below the path's capacity may grow. Returns true if a decision was made.
    fn release(&mut self) -> bool {
        if self.samples < self.p.inc_eval_min {
            return false;
        }
        self.may_grow = true;
        self.uncongested += 1.0;
        if self.growth < 0 && self.p.growth_rate_neg > 0.0 && self.uncongested > self.p.growth_rate_neg {
            self.growth += 1;
            self.uncongested = 0.0;
        }
        true
    }
}

observed! {
    self: Nv, self.win;
    /// Averaged RTT; 0 before the first sample.
    avg_s = self.rtt, number(Unit::Seconds);
    /// Smallest RTT of the current reset period.
    rtt_min_s = self.rtt_min, number(Unit::Seconds);
    /// Largest rate since the last decision.
    rate = self.rate, number(Unit::SegmentsPerSecond);
    /// Largest rate times the smallest RTT; null before an RTT sample.
    needed = self.rate * self.rtt_min, number(Unit::Segments);
    /// Exponent e of the growth factor 2^e.
    growth = self.growth, plain();
    /// 1 while the window may grow.
    may_grow = self.may_grow, plain();
}

impl LossBased for Nv {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        Needs { delivery: true, hz: self.win.integer(), ..Needs::default() }
    }

    fn begin(&mut self, start: &Start) {
        self.draws = Draws::new(start.seed);
        self.jiffies = Jiffies::new(start.hz);
        self.segment_bytes = if self.win.integer() { start.segment_bytes } else { 0.0 };
        self.reset_at = start.now + FIRST_RESET_S;
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.una = ack.sample.map_or(self.una + ack.acked, |sample| f64::from(sample.una));
        // The ACK that ends a recovery is still one of the recovery, and the samples begin anew there (tcpnv_state).
        if ack.was_repairing() {
            if self.restart && ack.sample.is_some() {
                self.begin_samples();
            }
            return;
        }
        // Linux also samples a duplicate ACK that begins no recovery.
        if ack.in_recovery && ack.sample.is_none_or(|sample| sample.then == Recovery::Repair) {
            return;
        }
        self.measure(ack);
        if ack.in_recovery || !self.may_grow || !ack.window_limited {
            return;
        }
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
    }

    #[inline]
    fn measure(&mut self, ack: &Ack) {
        if self.restart {
            self.begin_samples();
        }
        // Linux counts the segments delivered since the newest segment was sent.
        let sent = |d: Delivery| if ack.sample.is_some() { d.delivered - d.prior_delivered } else { d.tx_in_flight };
        let flight = ack.delivery.map_or(ack.in_flight + ack.acked, sent);
        let next = ack.sample.map_or(self.una + ack.in_flight, |sample| f64::from(sample.next));
        if let Some(rtt) = ack.rtt {
            if rtt > 0.0 && flight > 0.0 {
                let acked = self.una - self.una_at_sample;
                self.una_at_sample = self.una;
                self.sample(ack.now, rtt, flight);
                if self.una > self.round_end {
                    self.end_round(next, acked);
                }
            }
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        let divisor = if self.growth < 0 { self.win.w * f64::from(1_u32 << -self.growth) } else { self.win.w.max(4.0) };
        self.win.grow_one_in(n, divisor);
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        self.win.reduced_from(signal) * self.p.loss_keep / 1024.0
    }

    fn after_reduction(&mut self, _signal: &Signal) {
        self.may_grow = false;
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        self.may_grow = false;
        if self.p.growth_rate_neg > 0.0 && self.growth > GROWTH_MIN {
            self.growth -= 1;
        }
    }

    fn recovered(&mut self, _now: f64) {
        self.restart = true;
    }

    fn undone(&mut self, _restored: bool) {
        // The timeout ends any recovery.
        self.restart = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::Sample;
    use crate::param::Setting;
    use crate::reports::Cause;
    use crate::testing::{Driver, close, run_over_link, settings};

    fn nv(values: &[(&str, Setting)]) -> Nv {
        Nv::new(&settings(&Nv::ENTRY, "", values).expect("it is right")).expect("it is right")
    }

    /// NV on a path of 25,000 segments a second with an RTT of 4 ms, so that 100 segments fill the path without a
    /// queue.
    fn at(w: f64, samples: f64) -> Nv {
        let mut v = nv(&[]);
        (v.win.w, v.win.ssthresh) = (w, 50.0);
        (v.rate, v.rtt_min, v.samples, v.rounds) = (25_000.0, 0.004, samples, 5.0);
        v.may_grow = false;
        v
    }

    #[test]
    fn a_decision_has_the_computed_values() {
        for (w, next, may_grow) in [
            (150.0, 139.0, false),
            (111.0, 110.0, false),
            (105.0, 105.0, true),
            (109.0, 109.0, false),
            (1.0, 2.0, true),
        ] {
            let mut v = at(w, 100.0);
            v.end_round(0.0, 1.0);
            assert_eq!((v.window(), v.may_grow), (next, may_grow), "{w}");
        }
        let mut v = at(150.0, 100.0);
        v.end_round(0.0, 1.0);
        assert_eq!(v.ssthresh(), 110.0);
    }

    #[test]
    fn a_decision_needs_enough_samples_and_round_trips() {
        for (samples, first, rounds, shrinks) in
            [(59.0, false, 5.0, false), (60.0, false, 5.0, true), (30.0, true, 5.0, true), (29.0, true, 5.0, false)]
        {
            let mut v = at(150.0, samples);
            v.rounds = rounds;
            if first {
                v.win.ssthresh = f64::INFINITY;
            }
            v.end_round(0.0, 1.0);
            assert_eq!(v.window() < 150.0, shrinks, "{samples}");
        }
        let mut v = at(150.0, 100.0);
        v.rounds = 0.0;
        v.end_round(0.0, 1.0);
        assert_eq!(v.window(), 150.0);
        for (samples, grows) in [(19.0, false), (20.0, true)] {
            let mut v = at(105.0, samples);
            v.end_round(0.0, 1.0);
            assert_eq!(v.may_grow, grows);
        }
    }

    #[test]
    fn a_round_of_one_sample_and_its_shortest_length_but_one_is_lengthened() {
        for (acked, length, samples) in [(MIN_ROUND - 2.0, 0.0, 1.0), (MIN_ROUND - 1.0, MIN_ROUND_STEP, 0.0)] {
            let mut v = at(105.0, 1.0);
            v.end_round(0.0, acked);
            assert_eq!((v.min_round, v.samples), (MIN_ROUND + length, samples), "{acked}");
        }
    }

    #[test]
    fn a_loss_keeps_819_of_1024_parts() {
        let (d, mut v) = (Driver::new(), nv(&[]));
        d.start_at(&mut v, 1000.0);
        d.lose(&mut v);
        assert_eq!(v.window(), 799.0);
    }

    #[test]
    fn timeouts_slow_growth_down_and_nine_decisions_without_congestion_speed_it_up() {
        let (d, mut v) = (Driver::new(), nv(&[]));
        d.start_at(&mut v, 1000.0);
        for _ in 0..10 {
            d.time_out(&mut v);
        }
        assert_eq!(v.growth, -8);
        for _ in 0..9 {
            v.samples = 20.0;
            assert!(v.release());
        }
        assert_eq!(v.growth, -7);
    }

    #[test]
    fn it_grows_by_one_a_round_trip_and_by_a_quarter_of_the_acks_at_small_windows() {
        let (mut d, mut v) = (Driver::new(), nv(&[]));
        d.start_at(&mut v, 100.0);
        for _ in 0..10 {
            d.round(&mut v, 0.1);
        }
        assert_eq!(v.window(), 110.0);
        let (mut d, mut v) = (Driver::new(), nv(&[]));
        d.start_at(&mut v, 2.0);
        for _ in 0..4 {
            d.ack(&mut v, 1.0, 0.1, 0.05);
        }
        assert_eq!(v.window(), 3.0);
    }

    #[test]
    fn a_known_rtt_bounds_the_smallest() {
        for (rtt, expected) in [(0.2, 0.1), (0.05, 0.1 * 205.0 / 256.0), (0.09, 0.09)] {
            let mut v = nv(&[("base_rtt", Setting::Num(0.1))]);
            v.reset_at = 1.0;
            v.sample(0.0, rtt, 10.0);
            close(v.rtt_min, expected, 1e-12);
        }
    }

    #[test]
    fn the_smallest_rtt_is_forgotten_every_few_seconds() {
        let mut v = nv(&[]);
        v.reset_at = 2.0;
        v.sample(0.0, 0.1, 10.0);
        for k in 1..800 {
            v.sample(f64::from(k) * 0.01, 0.2, 10.0);
        }
        // The first reset keeps the old smallest RTT, since both periods contain this RTT. The second reset discards
        // this RTT.
        close(v.rtt_min, 0.2, 1e-3);
        assert!(v.reset_at > 8.0 && v.reset_at < 15.0);
    }

    #[test]
    fn it_holds_about_ten_segments_in_the_queue() {
        let (mut d, mut v) = (Driver::new(), nv(&[("reset_period", Setting::Num(1e4))]));
        d.start(&mut v, 10.0);
        v.reset_at = 1e9;
        let queue = run_over_link(&mut d, &mut v, 10_000.0, 0.02, 20.0);
        assert!((7.0..=11.0).contains(&queue), "{queue}");
    }

    #[test]
    fn after_an_undo_it_measures_anew() {
        let d = Driver::new();
        let mut v = at(150.0, 59.0);
        v.on_event(&Event::Congestion(d.signal(&v, Cause::Loss)));
        v.on_event(&Event::Undo { now: d.now });
        assert_eq!(v.window(), 150.0);
        assert!(v.restart, "no end of a recovery follows");
    }

    #[test]
    fn linux_computes_rates_and_rtts_in_whole_units() {
        let mut v = nv(&[]);
        v.on_event(&Event::Start(Start { segment_bytes: 1448.0, ..Start::default() }));
        close(v.whole(0.100_000_6), 0.1, 1e-12);
        // 100 segments in 30,007 µs: 386,043 hundreds of bits a second, and 99 whole segments in the same RTT.
        (v.rate, v.rtt_min) = (v.rate_of(100.0, 0.030_007), 0.030_007);
        close(v.rate * 1448.0 * 0.08, 386_043.0, 1e-12);
        assert_eq!(v.needed(), 99.0);
    }

    #[test]
    fn the_samples_of_linux_begin_anew_with_the_ack_that_ends_a_recovery() {
        let (mut d, mut v) = (Driver::new(), nv(&[]));
        d.start_at(&mut v, 100.0);
        v.restart = true;
        let ack = d.make_ack(&v, 1.0, 0.1, false);
        v.on_ack(&Ack {
            sample: Some(Sample { state: Recovery::Repair, una: 50, next: 90, ..Sample::default() }),
            ..ack
        });
        assert_eq!((v.round_end, v.samples, v.restart), (50.0, 0.0, false));
        v.on_ack(&Ack { sample: Some(Sample { una: 51, next: 91, ..Sample::default() }), ..ack });
        assert_eq!((v.round_end, v.samples, v.rounds), (91.0, 1.0, 1.0));
    }
}
