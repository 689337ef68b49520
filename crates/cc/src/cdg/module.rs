//! Linux's module (tcp_cdg.c, 6.12) in its own arithmetic: whole segments and whole microseconds.

use super::parameters::{CdgParams, Queue, Report};
use crate::ack::Ack;
use crate::draws::Draws;
use crate::linux::{Recovery, Sample};
use crate::loss_window::{FLOOR, LossWindow};
use crate::round_trip::AckedBeyond;

/// Noise of a gradient sum, µs.
const NOISE_US: i64 = 32;
/// Smallest thresholds of the slow start, µs.
const HYSTART_MIN_US: i64 = 125;
/// Gap between two ACKs from which the second ACK is not of the train, µs.
const TRAIN_GAP_US: i64 = 3000;
const HYSTART_SAMPLES: u32 = 8;
/// exp(−0.000256 × 2ᵏ) in units of 2⁻¹⁶, for k = 0, 1, …
const POWERS_OF_E: [u64; 16] =
    [65519, 65502, 65469, 65402, 65268, 65002, 64471, 63423, 61379, 57485, 50424, 38796, 22966, 8048, 988, 15];
const DELAYED_MAX: u32 = 5;

/// Smallest and largest value of a quantity, µs; both are 0 while unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extremes {
    pub(super) min: i64,
    pub(super) max: i64,
}

/// State of the module.
#[derive(Clone, Debug)]
pub(super) struct Module {
    p: CdgParams,
    draws: Draws,
    pub(super) rtt: Extremes,
    pub(super) previous: Extremes,
    gradients: Box<[Extremes]>,
    sum: Extremes,
    tail: usize,
    filled: bool,
    queue: Queue,
    /// True from a back-off to the end of its reduction.
    backs_off: bool,
    delayed: u32,
    end: AckedBeyond,
    pub(super) shadow: f64,
    pub(super) ineffectual: u32,
    samples: u32,
    base: i64,
    train: Option<(i64, i64)>,
    /// True from a back-off until the endpoint has begun its reduction (`TCP_CA_CWR`).
    asks: bool,
    timed_out: bool,
    /// True if the next ACK ends a recovery, and if the samples of the next ACK are already taken.
    completes: bool,
    is_sampled: bool,
}

fn whole_us(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// exp(−`millionths` × 10⁻⁶) in units of 2⁻³², by Linux's approximation (`nexp_u32`): the eight lower bits are linear,
/// and each other bit is a factor.
fn exp_of_minus(millionths: u32) -> u32 {
    let (low, high) = (millionths & 0xff, millionths >> 8);
    if high > 0xffff {
        return 0;
    }
    let linear = u64::from(u32::MAX - low * (u32::MAX / 1_000_000));
    let powers = POWERS_OF_E.iter().enumerate();
    // The upper bit of `high` ends the product; a factor of a zero bit is 1.
    powers.filter(|(k, _)| (high >> k) & 1 == 1).fold(linear, |product, (_, power)| (product * power) >> 16) as u32
}

impl Module {
    pub(super) fn new(p: CdgParams) -> Self {
        Self {
            p,
            draws: Draws::default(),
            rtt: Extremes::default(),
            previous: Extremes::default(),
            gradients: vec![Extremes::default(); p.window as usize].into_boxed_slice(),
            sum: Extremes::default(),
            tail: 0,
            filled: false,
            queue: Queue::Unknown,
            backs_off: false,
            delayed: 0,
            end: AckedBeyond::NEW,
            shadow: 1.0,
            ineffectual: 0,
            samples: 0,
            base: 0,
            train: None,
            asks: false,
            timed_out: false,
            completes: false,
            is_sampled: false,
        }
    }

    /// The module's random numbers.
    pub(super) fn draws(&mut self) -> &mut Draws {
        &mut self.draws
    }

    /// Begins with a window of `window` segments. The RTT of the handshake, s, is the first sample, since the module's
    /// `init` keeps what the acknowledgement of the SYN has brought. It is smaller than those of segments, which are larger
    /// than a SYN.
    pub(super) fn start(&mut self, draws: Draws, window: f64, handshake: Option<f64>) {
        let rtt = handshake.map_or(0, whole_us);
        *self = Self { draws, shadow: window, rtt: Extremes { min: rtt, max: rtt }, ..Self::new(self.p) };
    }

    /// Begins anew after an idle period (`CA_EVENT_CWND_RESTART`).
    pub(super) fn restart(&mut self, window: f64) {
        let draws = self.draws;
        self.start(draws, window, None);
    }

    pub(super) fn report(&self) -> Report {
        Report {
            sums: (self.sum.min as f64 * 1e-6, self.sum.max as f64 * 1e-6),
            queue: self.queue,
            shadow: self.shadow,
            ineffectual: f64::from(self.ineffectual),
            backing_off: self.backs_off,
        }
    }

    /// Takes the samples of an ACK, and ends the recovery or the reduction that the ACK ends.
    pub(super) fn take(&mut self, ack: &Ack, sample: &Sample) {
        if let Some(us) = ack.rtt.map(whole_us).filter(|&us| us > 0) {
            self.measure(us, sample);
        }
        if std::mem::take(&mut self.completes) {
            (self.queue, self.backs_off) = (Queue::Unknown, false);
            self.end.begin(sample.next);
            (self.previous, self.rtt) = (self.rtt, Extremes::default());
        }
        self.is_sampled = true;
    }

    /// Takes an RTT sample (`tcp_cdg_acked`), with the filter for delayed ACKs.
    fn measure(&mut self, us: i64, sample: &Sample) {
        if sample.sacked == 0 {
            if sample.acked == 1.0 && self.delayed > 0 {
                self.rtt.min = self.rtt.min.min(us);
                self.delayed -= 1;
                return;
            }
            if sample.acked > 1.0 && self.delayed < DELAYED_MAX {
                self.delayed += 1;
            }
        }
        self.rtt.min = if self.rtt.min == 0 { us } else { self.rtt.min.min(us) };
        self.rtt.max = self.rtt.max.max(us);
    }

    /// Handles an ACK.
    pub(super) fn on_ack(&mut self, ack: &Ack, sample: &Sample, win: &mut LossWindow) {
        if !std::mem::take(&mut self.is_sampled) {
            self.take(ack, sample);
            self.is_sampled = false;
        }
        if ack.in_recovery && sample.then == Recovery::Repair {
            return;
        }
        if !ack.in_recovery {
            self.avoid(ack, sample, win);
        }
    }

    /// Congestion avoidance and slow start (`tcp_cdg_cong_avoid`).
    fn avoid(&mut self, ack: &Ack, sample: &Sample, win: &mut LossWindow) {
        if win.in_slow_start() && self.p.hystart {
            self.look_for_the_exit(ack, win);
        }
        if self.rtt != Extremes::default() && self.end.passed(sample) {
            let gradient = if self.previous == Extremes::default() { 0 } else { self.gradient() };
            (self.previous, self.rtt) = (self.rtt, Extremes::default());
            (self.train, self.samples) = (None, 0);
            if gradient > 0 && self.draws_back_off(gradient) {
                self.back_off(win);
                return;
            }
        }
        if !ack.window_limited {
            self.shadow = self.shadow.min(win.w);
            return;
        }
        let before = win.w;
        let n = win.slow_start(ack);
        if n > 0.0 {
            win.grow_per_round(n, 1.0);
        }
        self.shadow += win.w - before;
    }

    /// Slow start's exit (`tcp_cdg_hystart_update`).
    fn look_for_the_exit(&mut self, ack: &Ack, win: &mut LossWindow) {
        if self.base == 0 || (self.rtt.min != 0 && self.rtt.min < self.base) {
            self.base = self.rtt.min;
        }
        if self.base == 0 {
            return;
        }
        let now = (ack.now * 1e6 + 1e-3).floor() as i64;
        match self.train.filter(|_| ack.window_limited) {
            None => self.train = Some((now, now)),
            Some((start, last)) if now < last + TRAIN_GAP_US => {
                self.train = Some((start, now));
                if now > start + (self.base / 2).max(HYSTART_MIN_US) {
                    win.ssthresh = win.w;
                    return;
                }
            }
            Some(_) => {}
        }
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
        } else if self.rtt.min > (self.base + self.base / 8).max(HYSTART_MIN_US) {
            win.ssthresh = win.w;
        }
    }

    /// Sum of the gradients of the last round trips, µs (`tcp_cdg_grad`).
    fn gradient(&mut self) -> i64 {
        let new = Extremes { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        let rounds = self.gradients.len();
        self.tail = (self.tail + 1) & (rounds - 1);
        let mut gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        self.filled |= self.tail == 0;
        if !self.filled {
            gradient = gradient * rounds as i64 / self.tail as i64;
        }
        if self.sum.min <= -NOISE_US || self.sum.max <= -NOISE_US {
            self.ineffectual = 0;
        }
        if self.p.use_tolerance {
            if self.sum.min >= NOISE_US && self.sum.max < NOISE_US {
                self.queue = Queue::Full;
            } else if self.sum.min >= NOISE_US || self.sum.max <= -NOISE_US {
                self.queue = Queue::NotFull;
            }
        }
        gradient
    }

    /// True if the flow backs off at a gradient of `us` (`tcp_cdg_backoff`).
    fn draws_back_off(&mut self, us: i64) -> bool {
        // Linux's product has 32 bits.
        let exponent = (self.p.backoff_factor * us as f64).floor() as u64 as u32;
        if self.draws.word() <= exp_of_minus(exponent) {
            return false;
        }
        if self.p.use_ineff > 0.0 {
            self.ineffectual += 1;
        }
        self.p.use_ineff == 0.0 || f64::from(self.ineffectual) <= self.p.use_ineff
    }

    /// Asks for a reduction (`tcp_cdg_backoff`, `tcp_enter_cwr`).
    fn back_off(&mut self, win: &LossWindow) {
        self.shadow = self.shadow.max(win.w);
        (self.backs_off, self.asks) = (true, true);
    }

    /// True once after a back-off.
    pub(super) fn takes_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    /// Threshold after a back-off or a loss (`tcp_cdg_ssthresh`).
    pub(super) fn threshold(&mut self, win: &LossWindow) -> f64 {
        if self.backs_off {
            return self.p.backoff_beta * win.w;
        }
        if self.queue == Queue::NotFull && self.p.use_tolerance {
            return win.w;
        }
        self.shadow = (self.shadow / 2.0).floor().min(win.w);
        let half = (win.w / 2.0).floor().max(FLOOR);
        if self.p.use_shadow { half.max(self.shadow) } else { half }
    }

    pub(super) fn time_out(&mut self) {
        self.timed_out = true;
    }

    /// A recovery begins, also after a timeout: its end counts.
    pub(super) fn begin_recovery(&mut self) {
        self.timed_out = false;
    }

    /// Handles the end of a recovery. The end of the recovery from a timeout is not signaled to the module.
    pub(super) fn recovered(&mut self) {
        self.completes = !std::mem::take(&mut self.timed_out);
    }

    pub(super) fn undone(&mut self) {
        self.timed_out = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::cdg::Cdg;
    use crate::event::Event;
    use crate::reports::Cause;
    use crate::testing::{Driver, settings};

    fn linux(d: &mut Driver, window: f64) -> Cdg {
        let mut c = Cdg::new(&settings(&Cdg::ENTRY, "linux", &[]).expect("it is right")).expect("it is right");
        d.start_at(&mut c, window);
        c
    }

    fn sample(una: u32, next: u32, acked: f64) -> Sample {
        Sample { una, next, acked, ..Sample::default() }
    }

    #[test]
    fn the_gradient_is_in_whole_microseconds() {
        let mut d = Driver::new();
        let mut c = linux(&mut d, 10.0);
        let mut module = c.module.take().expect("the preset has it");
        (module.previous, module.rtt) =
            (Extremes { min: 100_000, max: 100_000 }, Extremes { min: 100_007, max: 100_031 });
        assert_eq!(module.gradient(), 56, "7 µs, extrapolated to eight round trips");
        module.ineffectual = 3;
        (module.previous, module.rtt) = (module.rtt, Extremes { min: 99_968, max: 100_031 });
        assert_eq!((module.gradient(), module.ineffectual), (124, 0), "-32 µs and 31 µs after two round trips");
    }

    #[test]
    fn a_delayed_ack_counts_only_for_a_known_minimum() {
        let mut module =
            Module::new(CdgParams::read(&settings(&Cdg::ENTRY, "linux", &[]).expect("right")).expect("right"));
        module.measure(100, &sample(2, 9, 2.0));
        module.rtt = Extremes::default();
        module.measure(90, &sample(3, 9, 1.0));
        assert_eq!(module.rtt, Extremes::default());
        module.measure(90, &sample(4, 9, 1.0));
        assert_eq!(module.rtt, Extremes { min: 90, max: 90 }, "the filter remembers one ACK of two segments");
    }

    #[test]
    fn only_a_recovery_ends_a_round_and_not_the_repair_after_a_timeout() {
        for has_recovery in [false, true] {
            let mut d = Driver::new();
            let mut c = linux(&mut d, 10.0);
            c.on_ack(&Ack { sample: Some(sample(0, 10, 1.0)), ..d.make_ack(&c, 1.0, 0.1, false) });
            let signal = d.signal(&c, Cause::Loss);
            c.on_event(&Event::Timeout(signal));
            if has_recovery {
                c.on_event(&Event::Congestion(signal));
            }
            c.on_event(&Event::RecoveryExit { now: 1.0 });
            assert_eq!(c.module.expect("the preset has it").completes, has_recovery);
        }
    }

    #[test]
    fn the_first_ack_may_show_a_loss() {
        let mut d = Driver::new();
        let mut c = linux(&mut d, 10.0);
        let ack = Ack { sample: Some(Sample { sacked: 3, ..sample(0, 10, 0.0) }), ..d.make_ack(&c, 1.0, 0.1, false) };
        c.on_event(&Event::Linux(crate::linux::Event::Sample(ack)));
        let shadow = c.report().shadow;
        let signal = d.signal(&c, Cause::Loss);
        c.on_event(&Event::Congestion(signal));
        assert_eq!(c.report().shadow, (shadow / 2.0).floor());
    }

    #[test]
    fn an_ack_below_sacked_segments_is_never_taken_for_a_delayed_one() {
        let mut module =
            Module::new(CdgParams::read(&settings(&Cdg::ENTRY, "linux", &[]).expect("right")).expect("right"));
        module.measure(100, &sample(2, 9, 2.0));
        module.measure(110, &Sample { sacked: 1, then: Recovery::Repair, ..sample(3, 9, 1.0) });
        assert_eq!(module.rtt, Extremes { min: 100, max: 110 });
        module.measure(120, &Sample { then: Recovery::Repair, is_slow: true, ..sample(4, 9, 1.0) });
        assert_eq!(module.rtt, Extremes { min: 100, max: 110 }, "without SACKed segments, also in a recovery");
    }

    #[test]
    fn a_back_off_asks_once_for_a_reduction_and_the_next_loss_halves() {
        let mut d = Driver::new();
        let mut c = linux(&mut d, 10.0);
        c.on_ack(&Ack { sample: Some(sample(0, 10, 1.0)), ..d.make_ack(&c, 1.0, 0.1, false) });
        c.module.as_mut().expect("the preset has it").back_off(&c.win);
        assert_eq!([c.takes_reduction(), c.takes_reduction()], [true, false]);
        let before = c.window();
        let signal = d.signal(&c, Cause::Ecn);
        c.on_event(&Event::Congestion(signal));
        assert_eq!(c.window(), (before * 724.0 / 1024.0).floor());
        c.on_event(&Event::RecoveryExit { now: 1.0 });
        c.on_ack(&Ack { sample: Some(sample(12, 20, 1.0)), ..d.make_ack(&c, 1.0, 0.1, false) });
        let signal = d.signal(&c, Cause::Loss);
        c.on_event(&Event::Congestion(signal));
        assert_eq!(c.window(), (before / 2.0).floor(), "half of the shadow window, and not 724 / 1,024 again");
    }
}
