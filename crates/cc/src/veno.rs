//! TCP Veno (Fu CP, Liew SC, "TCP Veno: TCP enhancement for transmission over wireless access networks", JSAC 21(2),
//! 2003). TCP Veno is standard TCP that classifies a loss by Vegas' backlog, N = w (RTT - base)/RTT, as congestion or
//! as a random loss.
//!
//! Variant: N is computed once a round trip from the smallest RTT of that round. A loss in slow start counts as
//! congestion for any N. Growth at a backlog of β or more is half a segment a round trip; the paper has one segment
//! every other round trip. An ECN mark always counts as congestion and halves the window.
//!
//! Differences: Linux (presets `linux`, `linux-2.6`) computes N on every ACK, in halves of a segment, from the samples
//! since the last ACK. Linux counts RTT samples once for the whole connection, adds a segment every second window and
//! also uses N in slow start. ns-2's TCP/Linux is `linux-2.6`.

use crate::ack::Ack;
use crate::algorithm::Needs;
use crate::linux;
use crate::linux::Recovery;
use crate::loss_based::{LossBased, own_window};
use crate::loss_window::{Arithmetic, LossParams, LossWindow};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params, word};
use crate::reports::{Cause, Signal};

params! {
    /// Parameters of Veno.
    pub struct VenoParams {
        /// Smallest backlog of a congested path.
        beta: f64 = num(3.0, 0.0, 1e6, Unit::Segments), "Fu & Liew 2003; Linux tcp_veno.c; ns-3";
        /// Fraction of the window kept on a loss without congestion.
        keep_random: f64 = num(0.8, 0.1, 1.0, Unit::None), "Fu & Liew 2003; Linux tcp_veno.c; ns-3";
        /// Fraction of the window kept on a loss in congestion.
        keep_congested: f64 = num(0.5, 0.1, 1.0, Unit::None), "Fu & Liew 2003; Linux tcp_veno.c; ns-3";
        /// Smallest number of RTT samples of a valid backlog; with fewer the flow behaves as standard TCP.
        samples_min: f64 = num(3.0, 1.0, 1e3, Unit::Samples), "Linux tcp_veno.c; ns-3";
    }
}

/// TCP Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    win: LossWindow,
    p: VenoParams,
    /// Smallest RTT of the connection and of the round (of the ACK, for Linux), s; whole microseconds for Linux.
    base: f64,
    rtt: f64,
    samples: f64,
    /// Backlog, segments.
    n: f64,
    /// True if the next full window adds a segment (Linux's form only).
    inc: bool,
    /// True from a timeout to the end of the recovery, while Linux behaves as standard TCP.
    reno: bool,
}

impl Veno {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "veno",
        title: "TCP Veno",
        kind: Kind::Hybrid,
        signals: &["loss", "ECN", "RTT"],
        source: "Fu & Liew, IEEE JSAC 21(2), 2003",
        doc: "Veno is standard TCP that estimates its backlog as Vegas does. While the backlog is below three \
              segments, a loss is probably random and keeps four fifths of the window. With a larger backlog, a loss \
              halves the window, and the window also grows at half the speed. The default estimates the backlog once a \
              round trip.",
        presets: &[
            Preset::new("", "Fu & Liew 2003", &[]),
            Preset::new("linux", "Linux: the backlog of each ACK, whole segments", &[word("arithmetic", "linux")]),
            Preset::new("linux-2.6", "Linux 2.6.22, ns-2 TCP/Linux", &[word("arithmetic", "linux-2.6")]),
        ],
        tables: &[VenoParams::TABLE, LossParams::TABLE],
        variables: &[Self::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self {
            win: LossWindow::new(settings)?,
            p: VenoParams::read(settings)?,
            base: f64::INFINITY,
            rtt: f64::INFINITY,
            samples: 0.0,
            n: 0.0,
            inc: true,
            reno: false,
        })
    }

    fn congested(&self) -> bool {
        self.n >= self.p.beta
    }

    #[inline]
    fn sample(&mut self, rtt: f64) {
        let rtt = if self.win.integer() { (rtt * 1e6 + 1e-3).floor() + 1.0 } else { rtt };
        self.base = self.base.min(rtt);
        self.rtt = self.rtt.min(rtt);
        self.samples += 1.0;
    }

    /// Computes the backlog of the round that ended, if it had enough samples.
    #[cold]
    fn end_round(&mut self) {
        if self.samples >= self.p.samples_min {
            self.n = self.win.w * (self.rtt - self.base) / self.rtt;
        }
        (self.samples, self.rtt) = (0.0, f64::INFINITY);
    }

    /// Linux's rules for one ACK.
    #[inline]
    fn on_ack_linux(&mut self, ack: &Ack) {
        if let Some(sample) = ack.sample {
            // Linux behaves as standard TCP while segments are SACKed, and begins anew afterwards (`tcp_veno_state`).
            // The ACK that ends this state is a sample of it, so that no sample is left and the backlog appears to be the
            // whole window.
            self.reno = sample.then == Recovery::Disorder;
            if sample.opens() {
                self.rtt = f64::INFINITY;
            }
        }
        if !ack.may_grow() {
            return;
        }
        let counts = !self.reno && self.samples >= self.p.samples_min;
        if counts {
            // Twice the backlog, in whole halves of a segment.
            let halves = 2.0 * self.win.w;
            self.n = (halves - (halves * self.base / self.rtt).floor()) / 2.0;
        }
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            if counts && self.congested() {
                self.grow_every_other(n);
            } else {
                self.win.grow_per_round(n, 1.0);
            }
        }
        if !self.reno {
            self.rtt = f64::INFINITY;
        }
    }

    fn grow_every_other(&mut self, n: f64) {
        if self.win.counter < self.win.w {
            self.win.counter += if self.win.arithmetic == Arithmetic::Linux26 { 1.0 } else { n };
            return;
        }
        self.win.counter = 0.0;
        if self.inc {
            self.win.w += 1.0;
        }
        self.inc = !self.inc;
    }

    /// Begins a new round after an event that invalidates the samples.
    fn restart(&mut self) {
        self.rtt = f64::INFINITY;
        if !self.win.integer() {
            self.samples = 0.0;
        }
    }
}

observed! {
    self: Veno, self.win;
    /// Backlog: segments of the flow in queues (N).
    n = self.n, number(Unit::Segments);
    /// Smallest RTT (BaseRTT).
    base_s = if self.win.integer() { self.base * 1e-6 } else { self.base }, number(Unit::Seconds);
}

impl LossBased for Veno {
    own_window!();

    const RECOVERY_FLOOR: f64 = 1.0;

    #[inline]
    fn requires(&self) -> Needs {
        Needs { restarts: self.win.integer(), every_ack: true, ..Needs::default() }
    }

    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        if self.win.integer() {
            if let Some(rtt) = ack.rtt {
                self.sample(rtt);
            }
            self.on_ack_linux(ack);
            return;
        }
        if ack.round_start {
            self.end_round();
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, n: f64) {
        self.win.grow_per_round(n, if self.congested() { 0.5 } else { 1.0 });
    }

    fn reduced(&mut self, signal: &Signal) -> f64 {
        // Linux asks neither for slow start nor for the cause (`tcp_veno_ssthresh`).
        let certain = !self.win.integer() && (self.win.in_slow_start() || signal.cause == Cause::Ecn);
        let congested = self.congested() || certain || self.win.must_halve();
        let keep = if congested { self.p.keep_congested } else { self.p.keep_random };
        keep * self.win.reduced_from(signal)
    }

    fn after_timeout(&mut self, _signal: &Signal) {
        self.reno = self.win.integer();
        self.restart();
    }

    fn resume(&mut self, _now: f64, _idle: f64) {
        self.base = f64::INFINITY;
        self.inc = true;
        self.restart();
    }

    /// Forgets all samples (`tcp_veno_cwnd_event`).
    fn on_linux(&mut self, event: &linux::Event) {
        if let linux::Event::Restart(_) = event {
            self.resume(0.0, 0.0);
        }
    }

    fn recovered(&mut self, _now: f64) {
        self.reno = false;
        self.restart();
    }

    fn undone(&mut self, _restored: bool) {
        self.reno = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::event::Event;
    use crate::linux::Restart;
    use crate::linux::Sample;
    use crate::testing::{Driver, close, settings};

    fn veno(preset: &str) -> Veno {
        Veno::new(&settings(&Veno::ENTRY, preset, &[]).expect("it is right")).expect("it is right")
    }

    /// A connection with a base RTT of 100 ms, whose window of `w` then has an RTT of `rtt` s.
    fn at(preset: &str, w: f64, rtt: f64) -> (Driver, Veno) {
        let (mut d, mut v) = (Driver::new(), veno(preset));
        d.start_at(&mut v, w);
        d.round(&mut v, 0.1);
        d.round(&mut v, rtt);
        // One more ACK ends the round, at the window `w`.
        v.win.w = w;
        d.now += rtt;
        let ack = d.make_ack(&v, 1.0, rtt, true);
        v.on_ack(&ack);
        v.win.w = w;
        (d, v)
    }

    #[test]
    fn the_backlog_tells_chance_from_congestion() {
        for (rtt, n, after) in [(0.104, 1.923, 40.0), (0.11, 4.545, 25.0)] {
            let (d, mut v) = at("", 50.0, rtt);
            close(v.n, n, 1e-3);
            d.lose(&mut v);
            assert_eq!((v.window(), v.ssthresh()), (after, after));
            for preset in ["linux", "linux-2.6"] {
                let (d, mut v) = at(preset, 50.0, rtt);
                // Halves of a segment, rounded up.
                assert_eq!(v.n, if rtt < 0.105 { 2.0 } else { 5.0 });
                d.lose(&mut v);
                assert_eq!(v.window(), after, "{preset}");
            }
        }
    }

    #[test]
    fn ten_round_trips_from_50_end_at_60_or_at_55() {
        for preset in ["", "linux", "linux-2.6"] {
            for (rtt, end) in [(0.1, 60.0), (0.12, 55.0)] {
                let (mut d, mut v) = at(preset, 50.0, rtt);
                for _ in 0..10 {
                    d.round(&mut v, rtt);
                }
                assert!((v.window() - end).abs() <= 1.0, "{preset} at {rtt}: {}", v.window());
            }
        }
    }

    #[test]
    fn a_loss_in_slow_start_halves() {
        let (mut d, mut v) = (Driver::new(), veno(""));
        d.start(&mut v, 50.0);
        d.round(&mut v, 0.1);
        assert!(v.n < 3.0);
        d.lose(&mut v);
        assert_eq!(v.window(), 50.0);
    }

    #[test]
    fn a_mark_is_never_chance() {
        let (d, mut v) = at("", 50.0, 0.1);
        let signal = d.signal(&v, Cause::Ecn);
        v.on_event(&Event::Congestion(signal));
        assert_eq!(v.window(), 25.0);
    }

    #[test]
    fn linux_does_not_ask_for_the_cause() {
        for (rtt, after) in [(0.104, 40.0), (0.11, 25.0)] {
            let (d, mut v) = at("linux", 50.0, rtt);
            v.on_event(&Event::Congestion(d.signal(&v, Cause::Ecn)));
            assert_eq!(v.window(), after);
        }
    }

    #[test]
    fn two_samples_leave_the_backlog_alone() {
        let (mut d, mut v) = at("", 50.0, 0.11);
        v.restart();
        for round_start in [false, false, true] {
            let ack = d.make_ack(&v, 1.0, 0.1, round_start);
            v.on_ack(&ack);
        }
        close(v.n, 4.545, 1e-3);
    }

    #[test]
    fn an_idle_time_forgets_the_base_and_linux_is_standard_tcp_until_a_repair() {
        let (mut d, mut v) = at("linux", 50.0, 0.11);
        v.on_event(&Event::Idle { now: d.now, idle: 10.0 });
        assert!(v.base.is_infinite());
        d.time_out(&mut v);
        let before = v.n;
        d.round(&mut v, 0.2);
        assert_eq!(v.n, before);
        v.on_event(&Event::RecoveryExit { now: d.now });
        d.round(&mut v, 0.3);
        assert!(v.n != before);
    }

    #[test]
    fn linux_takes_the_whole_window_for_the_backlog_where_a_disorder_ends() {
        use Recovery::{Disorder, Open};
        let (mut d, mut v) = (Driver::new(), veno("linux"));
        d.start_at(&mut v, 100.0);
        for _ in 0..4 {
            d.ack(&mut v, 1.0, 0.1, 0.01);
        }
        assert_eq!(v.n, 0.0);
        for (state, then, n, reno) in
            [(Open, Disorder, 0.0, true), (Disorder, Open, 100.0, false), (Open, Open, 0.0, false)]
        {
            let ack = d.make_ack(&v, 1.0, 0.1, false);
            v.on_ack(&Ack { sample: Some(Sample { state, then, ..Sample::default() }), ..ack });
            assert_eq!((v.n, v.reno), (n, reno), "{state:?} to {then:?}");
        }
    }

    #[test]
    fn linux_measures_its_base_anew_when_nothing_is_in_flight() {
        let (mut d, mut v) = (Driver::new(), veno("linux"));
        d.start_at(&mut v, 100.0);
        d.ack(&mut v, 1.0, 0.1, 0.01);
        v.on_event(&Event::Linux(linux::Event::Restart(Restart { next: 1, ..Restart::default() })));
        let ack = d.make_ack(&v, 1.0, 0.2, false);
        v.on_ack(&Ack { sample: Some(Sample::default()), ..ack });
        assert_eq!(v.base, 200_001.0);
    }
}
