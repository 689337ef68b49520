//! YeAH-TCP (Baiocchi A, Castellani A, Vacirca F, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007). While few of
//! the flow's segments are in queues the window grows as in Scalable TCP, otherwise as in standard TCP. YeAH-TCP
//! empties the queue while no Reno flow seems to compete.
//!
//! Variant: the rules of the authors' Linux module in real numbers. The paper's text was not available; the paper's
//! limit φ on the delay may differ.
//!
//! Differences:
//! * Linux works in whole segments and microseconds (preset `linux`).
//! * Linux 2.6.22 counts ACKs, needs 101 ACKs for a step in fast mode, and forgets the base RTT when sending resumes
//!   (preset `linux-2.6`, ns-2's TCP/Linux).
//! * In another simulator the delay limit 1/φ is a quotient of integers and therefore 0, and the decrease is computed
//!   from the bytes in flight.

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::linux;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, FLOOR, LossParams, LossWindow};
use crate::observe::{observed, states};
use crate::param::{BuildError, Entry, Kind, Preset, Settings, flag, num, params, switch, word};
use crate::reports::Signal;
use crate::round_trip::{AckedBeyond, MIN_SAMPLES, RoundTrip};

params! {
    /// Parameters of YeAH-TCP.
    pub struct YeahParams {
        /// Largest number of segments in queues (`Q_max`).
        q_max: f64 = num(80.0, 0.0, 1e9, Unit::Segments), "Linux tcp_yeah.c; in the paper unverified";
        /// Divisor of the queue in an early decrease (γ).
        gamma: f64 = num(1.0, 0.1, 1e6, Unit::None), "Linux tcp_yeah.c; in the paper unverified";
        /// Smallest fraction of the window given up on a loss (2^-δ).
        loss_min: f64 = num(0.125, 0.0, 1.0, Unit::None), "Linux tcp_yeah.c: δ = 3; in the paper unverified";
        /// Largest fraction of the window given up in an early decrease (2^-ε).
        early_max: f64 = num(0.5, 0.0, 1.0, Unit::None), "Linux tcp_yeah.c: ε = 1; in the paper unverified";
        /// Largest queueing delay, as a fraction of the base RTT (1/φ).
        delay_max: f64 = num(0.125, 0.0, 1e3, Unit::None), "Linux tcp_yeah.c: φ = 8; in the paper unverified";
        /// Round trips of slow mode in a row that indicate competition with a Reno flow (ρ).
        rho: f64 = num(16.0, 1.0, 1e6, Unit::RoundTrips), "Linux tcp_yeah.c; in the paper unverified";
        /// Round trips of fast mode after which a Reno flow is forgotten (ζ).
        zeta: f64 = num(50.0, 0.0, 1e6, Unit::RoundTrips), "Linux tcp_yeah.c; in the paper unverified";
        /// Segments acknowledged for each segment of growth in fast mode, at windows above this number.
        stcp_count: f64 = num(100.0, 1.0, 1e6, Unit::Segments), "Linux tcp_yeah.c; Scalable TCP's 0.01";
        /// Forget the base RTT when sending resumes after an idle period.
        forget_base: bool = flag(false), "Linux tcp_vegas.c: on";
    }
}

states! {
    /// Increase rule in use.
    enum Mode {
        /// Increase of standard TCP.
        Slow = "slow",
        /// Increase of Scalable TCP.
        Fast = "fast",
    }
}

/// YeAH-TCP.
#[derive(Clone, Debug)]
pub struct Yeah {
    win: LossWindow,
    p: YeahParams,
    base: f64,
    round: RoundTrip,
    /// End of the round trip in Linux (`beg_snd_nxt`).
    end: AckedBeyond,
    due: bool,
    /// Segments in queues in the last complete round.
    q: f64,
    /// Round trips of slow mode in a row; 0 is fast mode.
    slow: f64,
    fast_count: f64,
    /// Window of a Reno flow that may be competing, segments.
    reno_count: f64,
}

impl Yeah {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "yeah",
        title: "YeAH-TCP",
        kind: Kind::Hybrid,
        signals: &["loss", "RTT"],
        source: "Baiocchi, Castellani & Vacirca, PFLDnet 2007; Linux tcp_yeah.c",
        doc: "YeAH behaves like Scalable TCP while at most 80 of its segments wait in queues and the RTT exceeds its \
              base by at most an eighth, and like standard TCP otherwise. In the standard-TCP mode, YeAH also \
              empties the queue by an early decrease, unless sixteen round trips of this mode in a row indicate a \
              competing Reno flow. The default has the authors' Linux rules in real numbers.",
        presets: &[
            Preset::new("", "PFLDnet 2007 as in the authors' module, real numbers", &[]),
            Preset::new("linux", "Linux", &[word("arithmetic", "linux"), switch("forget_base", true)]),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22, ns-2 TCP/Linux",
                &[word("arithmetic", "linux-2.6"), switch("forget_base", true)],
            ),
        ],
        tables: &[YeahParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self {
            win: LossWindow::new(settings)?,
            p: YeahParams::read(settings)?,
            base: f64::INFINITY,
            round: RoundTrip::NEW,
            end: AckedBeyond::NEW,
            due: false,
            q: 0.0,
            slow: 0.0,
            fast_count: 0.0,
            reno_count: FLOOR,
        })
    }

    /// An RTT in the unit of the arithmetic; Linux adds 1 µs to each sample, so that none is 0.
    fn in_ticks(&self, rtt: f64) -> f64 {
        if self.win.integer() { (rtt * 1e6).round() + 1.0 } else { rtt }
    }

    /// Segments of this flow in queues, and true if these segments or their delay exceed the limit.
    fn queue(&self, rtt: f64) -> (f64, bool) {
        let (rtt, base) = (self.in_ticks(rtt), self.in_ticks(self.base));
        let q = self.win.whole(self.win.w * (rtt - base) / rtt);
        (q, q > self.p.q_max || rtt - base > self.win.whole(self.p.delay_max * base))
    }

    /// Updates the mode at the end of a round.
    fn end_round(&mut self) {
        let round = std::mem::replace(&mut self.round, RoundTrip::NEW);
        self.due = false;
        if round.samples < MIN_SAMPLES {
            return;
        }
        let (q, too_much) = self.queue(round.min);
        if too_much {
            if q > self.p.q_max && self.win.w > self.reno_count {
                self.decongest(q);
            }
            self.reno_count = if self.reno_count <= FLOOR {
                self.win.whole(self.win.w / 2.0).max(FLOOR)
            } else {
                self.reno_count + 1.0
            };
            self.slow += 1.0;
        } else {
            self.fast_count += 1.0;
            if self.fast_count > self.p.zeta {
                (self.reno_count, self.fast_count) = (FLOOR, 0.0);
            }
            self.slow = 0.0;
        }
        self.q = q;
    }

    /// Early decrease: empties the queue before it overflows.
    fn decongest(&mut self, q: f64) {
        let w = self.win.w;
        let cut = self.win.whole(q / self.p.gamma).min(self.win.whole(w * self.p.early_max));
        // The window does not fall below the floor; a window already below the floor is not raised.
        self.win.w = (w - cut).max(self.reno_count).max(FLOOR).min(w);
        self.win.ssthresh = self.win.w.max(FLOOR);
    }
}

observed! {
    self: Yeah, self.win;
    /// Mode: increase of Scalable TCP, or of standard TCP.
    mode = if self.slow > 0.0 { Mode::Slow } else { Mode::Fast }, state(Mode::NAMES);
    /// Segments of the flow in queues, in the last round trip (Q).
    q = self.q, number(Unit::Segments);
    /// Round trips of slow mode in a row.
    slow = self.slow, number(Unit::RoundTrips);
    /// Round trips of fast mode since a competing flow was last seen.
    fast_count = self.fast_count, number(Unit::RoundTrips);
    /// Window of a Reno flow that may be competing.
    reno_count = self.reno_count, number(Unit::Segments);
    /// Smallest RTT.
    base_s = self.base, number(Unit::Seconds);
}

impl LossBased for Yeah {
    own_window!();

    #[inline]
    fn requires(&self) -> Needs {
        let is_linux = self.win.integer();
        Needs { rounds_restart: is_linux, restarts: is_linux, every_ack: true, ..Needs::default() }
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
        }
        self.round.add(ack);
        self.due |= match ack.sample.filter(|_| self.win.integer()) {
            Some(sample) => {
                // Linux begins a round where a recovery or a disorder ends, after the ACK's sample, and looks for the end
                // of a round where the window may grow (`tcp_vegas_state`, `tcp_yeah_cong_avoid`).
                if sample.opens() {
                    self.round = RoundTrip::NEW;
                    self.end.restart();
                }
                ack.may_grow() && self.end.passed(&sample)
            }
            None => ack.round_start,
        };
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
        if self.due && ack.may_grow() {
            self.end_round();
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, n: f64) {
        let fast = self.slow == 0.0;
        if self.win.arithmetic != Arithmetic::Linux26 {
            let divisor = if fast { self.win.w.min(self.p.stcp_count) } else { self.win.w };
            self.win.grow_one_in(n, divisor);
        } else if fast {
            self.win.counter += ack.acked;
            if self.win.counter > self.win.w.min(self.p.stcp_count) {
                self.win.w += 1.0;
                self.win.counter = 0.0;
            }
        } else {
            self.win.counter += 1.0;
            if self.win.counter >= self.win.w {
                self.win.w += 1.0;
                self.win.counter = 0.0;
            }
        }
    }

    /// Window after a loss.
    fn reduced(&mut self, signal: &Signal) -> f64 {
        let w = self.win.reduced_from(signal);
        let half = self.win.whole(w / 2.0).max(FLOOR);
        let cut = if self.win.must_halve() {
            w / 2.0
        } else if self.slow < self.p.rho {
            self.q.min(half).max(self.win.whole(w * self.p.loss_min))
        } else {
            half
        };
        self.fast_count = 0.0;
        self.reno_count = self.win.whole(self.reno_count / 2.0).max(FLOOR);
        w - cut
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        self.round = RoundTrip::NEW;
    }

    fn resume(&mut self, _now: f64, _idle: f64) {
        self.round = RoundTrip::NEW;
        if self.p.forget_base {
            self.base = f64::INFINITY;
        }
    }

    /// Forgets all samples (`tcp_vegas_cwnd_event`).
    fn on_linux(&mut self, event: &linux::Event) {
        if let linux::Event::Restart(restart) = event {
            self.base = f64::INFINITY;
            self.round = RoundTrip::NEW;
            self.end.begin(restart.next);
        }
    }

    fn recovered(&mut self, _now: f64) {
        self.round = RoundTrip::NEW;
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::{Recovery, Sample};
    use crate::reports::Start;
    use crate::testing::{Driver, close, run_over_link, settings};

    fn yeah(preset: &str) -> Yeah {
        Yeah::new(&settings(&Yeah::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    /// YeAH in congestion avoidance at window `w`, after a round with smallest RTT `rtt`; the base RTT is 0.1 s.
    fn after_a_round(preset: &str, w: f64, rtt: f64) -> (Driver, Yeah) {
        let (d, mut y) = (Driver::new(), yeah(preset));
        y.on_event(&Event::Start(Start { initial_window: w, initial_ssthresh: 2.0, ..Start::default() }));
        y.base = 0.1;
        y.round = RoundTrip { min: rtt, sum: 3.0 * rtt, samples: 3, acked: w };
        y.end_round();
        (d, y)
    }

    // The paper's text was not available: these values follow from the authors' Linux module.
    #[test]
    fn a_queue_of_more_than_80_is_given_up() {
        let (_, y) = after_a_round("linux", 1000.0, 0.11);
        assert_eq!((y.q, y.window(), y.ssthresh(), y.reno_count, y.slow), (90.0, 910.0, 910.0, 455.0, 1.0));
        let (_, y) = after_a_round("", 1000.0, 0.11);
        close(y.q, 90.909, 1e-5);
        close(y.window(), 909.09, 1e-5);
    }

    #[test]
    fn less_than_80_and_little_delay_is_fast_mode() {
        let (_, y) = after_a_round("", 1000.0, 0.108);
        close(y.q, 74.074, 1e-5);
        assert_eq!((y.window(), y.slow, y.fast_count), (1000.0, 0.0, 1.0));
    }

    #[test]
    fn much_delay_with_few_segments_is_slow_mode_without_giving_up_any() {
        for preset in ["", "linux"] {
            let (_, y) = after_a_round(preset, 500.0, 0.1126);
            close(y.q, 55.95, 0.02);
            assert_eq!((y.window(), y.slow), (500.0, 1.0));
        }
    }

    #[test]
    fn a_loss_gives_up_the_queue_between_an_eighth_and_a_half() {
        for (q, slow, left) in
            [(90.0, 1.0, 875.0), (300.0, 1.0, 700.0), (700.0, 1.0, 500.0), (0.0, 16.0, 500.0), (700.0, 16.0, 500.0)]
        {
            for preset in ["", "linux", "linux-2.6"] {
                let (d, mut y) = after_a_round(preset, 1000.0, 0.1);
                (y.q, y.slow) = (q, slow);
                d.lose(&mut y);
                assert_eq!(y.window(), left, "{preset} {q} {slow}");
            }
        }
    }

    #[test]
    fn fast_mode_grows_by_a_percent_and_slow_mode_by_one() {
        for (preset, per_round) in [("", 10.0), ("linux", 10.0), ("linux-2.6", 9.0)] {
            let (mut d, mut y) = after_a_round(preset, 1000.0, 0.1);
            d.round(&mut y, 0.1);
            close(y.window() - 1000.0, per_round, 1e-3);
            let (mut d, mut y) = after_a_round(preset, 500.0, 0.1126);
            d.burst(&mut y, 0.1, 0.1);
            // Linux 2.6 needs as many ACKs as the window has segments.
            close(y.window() - 500.0, 1.0, 0.01);
        }
    }

    #[test]
    fn below_100_segments_fast_mode_is_reno() {
        let (mut d, mut y) = after_a_round("", 50.0, 0.1);
        d.round(&mut y, 0.1);
        close(y.window(), 51.0, 1e-3);
    }

    #[test]
    fn sixteen_slow_rounds_in_a_row_prove_competition() {
        let (d, mut y) = after_a_round("", 500.0, 0.1126);
        for _ in 0..15 {
            y.round = RoundTrip { min: 0.1126, sum: 0.0, samples: 3, acked: 500.0 };
            y.end_round();
        }
        assert_eq!((y.slow, y.reno_count), (16.0, 265.0));
        d.lose(&mut y);
        assert_eq!((y.window(), y.reno_count), (250.0, 132.5));
        // Fifty-one fast rounds later the competing flow is forgotten.
        for _ in 0..51 {
            assert_eq!(y.reno_count, 132.5);
            y.round = RoundTrip { min: 0.1, sum: 0.0, samples: 3, acked: 500.0 };
            y.end_round();
        }
        assert_eq!((y.slow, y.reno_count), (0.0, 2.0));
    }

    #[test]
    fn the_reno_estimate_bounds_what_is_given_up() {
        let (_, mut y) = after_a_round("", 1000.0, 0.1);
        y.reno_count = 800.0;
        y.round = RoundTrip { min: 0.2, sum: 0.0, samples: 3, acked: 1000.0 };
        y.end_round();
        assert_eq!((y.window(), y.reno_count), (800.0, 801.0));
    }

    #[test]
    fn a_queue_ends_slow_start() {
        let (mut d, mut y) = (Driver::new(), yeah(""));
        d.start(&mut y, 500.0);
        d.round(&mut y, 0.1);
        d.round(&mut y, 0.15);
        let w = y.window();
        let ack = d.make_ack(&y, 1.0, 0.15, true);
        y.on_ack(&ack);
        assert!(y.window() < w && y.ssthresh() == y.window());
    }

    #[test]
    fn too_few_samples_decide_nothing() {
        let (_, mut y) = after_a_round("", 1000.0, 0.1);
        y.round = RoundTrip { min: 0.2, sum: 0.4, samples: 2, acked: 2.0 };
        y.end_round();
        assert_eq!((y.window(), y.slow), (1000.0, 0.0));
    }

    #[test]
    fn linux_forgets_the_base_rtt_when_idle() {
        for (preset, base) in [("", 0.1), ("linux", f64::INFINITY)] {
            let (_, mut y) = after_a_round(preset, 1000.0, 0.1);
            y.on_event(&Event::Idle { now: 10.0, idle: 5.0 });
            assert_eq!(y.base, base);
        }
    }

    #[test]
    fn alone_it_keeps_the_link_busy_with_a_queue_of_less_than_200() {
        let (mut d, mut y) = (Driver::new(), yeah(""));
        d.start_at(&mut y, 900.0);
        let queue = run_over_link(&mut d, &mut y, 10_000.0, 0.1, 60.0);
        assert!((20.0..200.0).contains(&queue), "{queue}");
    }

    #[test]
    fn a_round_of_linux_begins_where_a_disorder_ends() {
        let (mut d, mut y) = (Driver::new(), yeah("linux"));
        d.start_at(&mut y, 100.0);
        let mut samples = |state, una, next| {
            let ack = d.make_ack(&y, 1.0, 0.1, true);
            y.on_ack(&Ack { sample: Some(Sample { state, una, next, ..Sample::default() }), ..ack });
            y.round.samples
        };
        assert_eq!(samples(Recovery::Open, 1, 101), 0, "the end of a round");
        assert_eq!(samples(Recovery::Open, 2, 102), 1);
        assert_eq!(samples(Recovery::Disorder, 102, 150), 0, "the ACK's own sample is forgotten");
        assert_eq!([150, 151].map(|una| samples(Recovery::Open, una, 200)), [1, 0]);
    }
}
