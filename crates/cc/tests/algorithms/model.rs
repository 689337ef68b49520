//! Invariants that every algorithm with every preset must keep after each operation of any list of operations.

use std::collections::BTreeMap;

use elephan_cc::observe::Form;
use elephan_cc::{
    Ack, Algorithm, Answer, Cause, Controller, Delivery, Ecn, Entry, Event, Load, Lost, Needs, Observe, Router, Sent,
    Signal, Start, build, registry,
};
use proptest::prelude::*;

/// Actions of an endpoint on an algorithm.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// `count` ACKs of `acked` segments each, `gap_s` apart.
    Acks { count: u8, acked: u8, gap_s: f64, limited: bool, marks: bool },
    /// A loss (or an ECN echo), some ACKs in recovery, then the end of the recovery.
    Loss { ecn: bool, acks: u8 },
    /// A timeout, or a repeated timeout.
    Timeout { repeated: bool },
    /// An idle time without data to send.
    Idle { seconds: f64 },
    /// A change of the path's RTT.
    Rtt { seconds: f64 },
    /// The last loss or timeout turns out to be spurious.
    Undo,
    /// The recovery ends with fewer segments in flight than the window: with the fraction `part` of the window.
    Moderate { part: f64 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..=60u8, 1..=8u8, 0.0..0.02, any::<bool>(), any::<bool>())
            .prop_map(|(count, acked, gap_s, limited, marks)| Op::Acks { count, acked, gap_s, limited, marks }),
        2 => (any::<bool>(), 0..20u8).prop_map(|(ecn, acks)| Op::Loss { ecn, acks }),
        1 => any::<bool>().prop_map(|repeated| Op::Timeout { repeated }),
        1 => (0.2..100.0).prop_map(|seconds| Op::Idle { seconds }),
        1 => (1e-4..2.0).prop_map(|seconds| Op::Rtt { seconds }),
        1 => Just(Op::Undo),
        1 => (0.0..2.0).prop_map(|part| Op::Moderate { part }),
    ]
}

/// A connection: an algorithm, and the state of the endpoint that calls the algorithm.
struct Connection {
    entry: &'static Entry,
    algorithm: Controller,
    now: f64,
    rtt: f64,
    min_rtt: f64,
    srtt: f64,
    round_end: f64,
    in_recovery: bool,
    /// True while queues mark every packet.
    marks: bool,
    needs: Needs,
    delivered: f64,
    lost: f64,
    /// Largest number of segments that the algorithm may add at one ACK. The number is γα for ns-2's FAST, which does
    /// not spread its updates at RTTs below 4 ms. The number is 2^16 for each of up to 8 segments acknowledged in
    /// Hybla's slow start. The number is γα for EEFAST and HCC, since their steps do not depend on the window, and a
    /// round trip may have only two ACKs.
    at_once: f64,
    /// True if the threshold after a timeout may be above the window: Linux's Westwood sets it to the estimate.
    estimates: bool,
    /// True for an algorithm that acts at the end of its steps, which may be the time of any event.
    in_steps: bool,
    trace: Vec<u64>,
}

impl Connection {
    fn new(spec: &str, initial_ssthresh: f64) -> Self {
        let mut algorithm = build(spec, &BTreeMap::new()).expect("it is in the registry");
        let name = spec.split(':').next();
        let entry = registry().iter().find(|entry| Some(entry.name) == name).expect("it is in the registry");
        algorithm.on_event(&Event::Start(Start {
            now: 0.0,
            initial_window: 10.0,
            initial_ssthresh,
            ..Start::default()
        }));
        let (now, rtt, min_rtt, srtt) = (0.0, 0.1, f64::INFINITY, 0.0);
        let at_once = match spec {
            _ if spec.starts_with("fast:ns2") => 100.0,
            _ if spec.starts_with("hybla") => 8.0 * 65536.0,
            // Linux's Illinois counts acknowledged segments while α is small, and multiplies the count by the next α.
            // α is between 0.3 and 10, so the window grows by at most 10/0.3 segments at once.
            _ if spec.starts_with("illinois:") => 34.0,
            _ if spec.starts_with("hcc") || spec.starts_with("eefast") => 200.0,
            // VCP adds (T/200 ms)² segments in a round trip of T, or 100 segments in a round trip of 2 s. With a window
            // of one segment, each of 8 acknowledged segments adds 100 segments.
            _ if spec.starts_with("vcp") => 800.0,
            // The module of 2006 adds n^¾ / 8 segments, where n is the number of segments sent since the last complete
            // round: at most 24,000 here.
            "compound:linux-jan2008" | "compound:linux-2.6" | "compound:ns2" => 250.0,
            _ => 0.0,
        };
        let needs = algorithm.needs();
        Self {
            entry,
            algorithm,
            now,
            rtt,
            min_rtt,
            srtt,
            round_end: 0.0,
            in_recovery: false,
            marks: false,
            needs,
            delivered: 0.0,
            lost: 0.0,
            at_once,
            estimates: spec == "westwood:linux",
            in_steps: spec == "policy",
            trace: Vec::new(),
        }
    }

    fn check(&mut self, what: &str) {
        let (w, ssthresh) = (self.algorithm.window(), self.algorithm.ssthresh());
        assert!(w.is_finite() && w >= 1.0, "window {w} after {what}");
        assert!(ssthresh > 0.0, "threshold {ssthresh} after {what}");
        if let Some(rate) = self.algorithm.pacing_rate() {
            assert!(self.algorithm.needs().pacing, "an algorithm that paces says so in its needs");
            assert!(rate > 0.0, "pacing rate {rate} after {what}");
        }
        self.trace.push(w.to_bits());
        self.trace.push(ssthresh.to_bits());
    }

    /// Checks that the algorithm reports its declared variables in their order, and that each reported state has a
    /// name.
    fn check_variables(&self) {
        let mut declared = self.entry.variables();
        self.algorithm.observe(&mut |name, value| {
            let variable = declared.next().unwrap_or_else(|| panic!("{name} is not declared"));
            assert_eq!(name, variable.name);
            if let Form::State(names) = variable.form {
                let known = (0..names.len()).any(|place| value == place as f64);
                assert!(known || value.is_nan(), "{name} is in the state {value}");
            }
        });
        assert_eq!(declared.next(), None, "declared, and not shown");
    }

    fn ack(&mut self, acked: f64, gap_s: f64, window_limited: bool) {
        self.now += gap_s;
        self.min_rtt = self.min_rtt.min(self.rtt);
        self.srtt = if self.srtt == 0.0 { self.rtt } else { 0.875 * self.srtt + 0.125 * self.rtt };
        let round_start = self.now >= self.round_end;
        if round_start {
            self.round_end = self.now + self.rtt;
        }
        let before = self.algorithm.window();
        let in_flight = before.floor();
        if self.needs.sends {
            self.algorithm.on_event(&Event::Sent(Sent { now: self.now, in_flight, retransmission: false }));
        }
        self.delivered += acked;
        let delivery = Delivery {
            rate: (gap_s > 0.0).then(|| in_flight / self.rtt),
            interval: self.rtt,
            delivered: self.delivered,
            prior_delivered: (self.delivered - in_flight).max(0.0),
            app_limited: !window_limited,
            tx_in_flight: in_flight,
            lost: 0.0,
            departs_in: 0.0,
        };
        let answer = self.answer(acked);
        let ack = Ack {
            now: self.now,
            acked,
            rtt: Some(self.rtt),
            owd: self.needs.one_way_delay.then_some(self.rtt - 100.0),
            min_rtt: self.min_rtt,
            srtt: self.srtt,
            delivery: self.needs.delivery.then_some(delivery),
            in_flight,
            window_at_send: before,
            round_start,
            in_recovery: self.in_recovery,
            sample: None,
            window_limited,
            marked: if self.marks && self.needs.ecn != Ecn::Endpoint { acked } else { 0.0 },
            answer,
        };
        self.algorithm.on_ack(&ack);
        let after = self.algorithm.window();
        if self.needs.own_recovery {
            // The window follows a model of the path, during recovery too.
            return self.check("an ACK");
        }
        if !ack.may_grow() {
            // A decision of NV raises a window below NV's smallest window, as in Linux.
            let least = if self.entry.name == "nv" { 2.0 } else { 0.0 };
            assert!(after <= before.max(least), "grew from {before} to {after} where it may not");
        }
        // The fastest rule adds one segment for each acknowledged segment; only BIC adds more, S_max at windows below
        // S_max. An algorithm that decides once a round adds the whole step at once (Vegas), or first the rest of the
        // last round's step (FAST: up to doubling) and then this ACK's share.
        let most = before + acked * (32.0 / before).max(1.0) + 1.0 + self.at_once;
        assert!(after <= most.max(2.0 * before + acked), "jumped from {before} to {after}");
        self.check("an ACK");
    }

    /// The router's answer for an ACK of `acked` segments. While queues mark, the router is overloaded, and XCP's
    /// feedback is minus one segment for each acknowledged segment. Otherwise the router's load is low, and XCP's
    /// feedback is plus one segment for each acknowledged segment. For the first 100 delivered segments, a VCP router
    /// gives no answer, and an XCP router that is not overloaded gives zero feedback.
    fn answer(&self, acked: f64) -> Option<Answer> {
        let given = self.delivered > 100.0;
        match (self.needs.router?, self.marks) {
            (Router::Xcp, true) => Some(Answer::Feedback(-acked / self.srtt)),
            (Router::Xcp, false) => Some(Answer::Feedback(if given { acked / self.srtt } else { 0.0 })),
            (Router::Vcp, marks) => given.then_some(Answer::Load(if marks { Load::Overload } else { Load::Low })),
        }
    }

    fn signal(&self, cause: Cause, repeated: bool) -> Signal {
        let in_flight = self.algorithm.window().floor();
        Signal { now: self.now, in_flight, cause, srtt: self.srtt, min_rtt: self.min_rtt, repeated, kept: 0.0 }
    }

    fn report_lost(&mut self) {
        self.lost += 1.0;
        let in_flight = self.algorithm.window().floor();
        self.algorithm.on_event(&Event::Lost(Lost {
            now: self.now,
            sent_at: self.now - self.rtt,
            delivered: self.delivered,
            prior_delivered: (self.delivered - in_flight).max(0.0),
            app_limited: false,
            tx_in_flight: in_flight,
            lost: self.lost,
            by_timer: false,
        }));
        self.check("a lost segment");
    }

    fn lose(&mut self, ecn: bool, acks: u8) {
        let before = self.algorithm.window();
        let cause = if ecn { Cause::Ecn } else { Cause::Loss };
        if self.needs.losses && !ecn {
            self.report_lost();
        }
        self.algorithm.on_event(&Event::Congestion(self.signal(cause, false)));
        self.check("a loss");
        let after = self.algorithm.window();
        assert!(self.in_steps || after <= before.max(2.0), "a loss raised the window from {before} to {after}");
        self.in_recovery = true;
        for _ in 0..acks {
            self.ack(1.0, 0.001, true);
        }
        self.in_recovery = false;
        self.algorithm.on_event(&Event::RecoveryExit { now: self.now });
        self.check("the end of recovery");
    }

    fn time_out(&mut self, repeated: bool) {
        let (before, threshold) = (self.algorithm.window(), self.algorithm.ssthresh());
        self.algorithm.on_event(&Event::Timeout(self.signal(Cause::Loss, false)));
        self.check("a timeout");
        assert!(self.algorithm.window() <= 2.0 || self.needs.own_recovery);
        assert!(self.estimates || self.algorithm.ssthresh() <= threshold.max(before).max(2.0));
        if repeated {
            let threshold = self.algorithm.ssthresh();
            self.algorithm.on_event(&Event::Timeout(self.signal(Cause::Loss, true)));
            self.check("a repeated timeout");
            assert_eq!(self.algorithm.ssthresh(), threshold, "a repeated timeout moved the threshold");
        }
        self.algorithm.on_event(&Event::RecoveryExit { now: self.now });
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Acks { count, acked, gap_s, limited, marks } => {
                self.marks = marks;
                for _ in 0..count {
                    self.ack(f64::from(acked), gap_s, limited);
                }
            }
            Op::Loss { ecn, acks } => self.lose(ecn, acks),
            Op::Timeout { repeated } => self.time_out(repeated),
            Op::Idle { seconds } => {
                let before = self.algorithm.window();
                self.now += seconds;
                self.algorithm.on_event(&Event::Idle { now: self.now, idle: seconds });
                self.check("an idle time");
                // An algorithm with a model of the path may end its current phase and return to a larger window.
                assert!(self.algorithm.window() <= before.min(10.0) || self.needs.own_recovery);
            }
            Op::Rtt { seconds } => self.rtt = seconds,
            Op::Undo => {
                let before = self.algorithm.window();
                self.algorithm.on_event(&Event::Undo { now: self.now });
                self.check("an undo");
                assert!(self.in_steps || self.algorithm.window() >= before, "an undo lowered the window");
            }
            Op::Moderate { part } => {
                let limit = part * self.algorithm.window();
                self.algorithm.on_event(&Event::Moderate { window: limit });
                self.check("moderation");
                assert!(self.algorithm.window() <= limit.max(1.0));
            }
        }
        self.check_variables();
    }
}

/// Every algorithm with every preset, except the constant window, which never changes.
fn specs() -> Vec<String> {
    let full = |name: &str, preset: &str| if preset.is_empty() { name.to_owned() } else { format!("{name}:{preset}") };
    registry()
        .iter()
        .filter(|e| e.name != "fixed")
        .flat_map(|e| e.presets.iter().map(move |p| full(e.name, p.name)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_algorithm_keeps_its_promises_and_is_deterministic(
        ops in prop::collection::vec(op(), 1..60),
        initial_ssthresh in prop_oneof![Just(f64::INFINITY), 2.0..200.0],
    ) {
        for spec in specs() {
            let run = || {
                let mut connection = Connection::new(&spec, initial_ssthresh);
                for op in &ops {
                    connection.apply(*op);
                }
                connection.trace
            };
            let trace = std::panic::catch_unwind(run)
                .map_err(|_| TestCaseError::fail(format!("{spec} broke a promise")))?;
            prop_assert_eq!(trace, run(), "{} is not deterministic", spec);
        }
    }

    #[test]
    fn a_clock_that_should_stand_still_does(seconds in 1.0..1000.0_f64, idle in any::<bool>()) {
        for spec in specs() {
            // An algorithm with a model of the path has no growth clock that could stop.
            if build(&spec, &BTreeMap::new()).expect("it is in the registry").needs().own_recovery {
                continue;
            }
            // The same connection with and without a pause: the round that follows must be the same.
            let after = |pause: f64| {
                let mut c = Connection::new(&spec, 100.0);
                for _ in 0..300 {
                    c.ack(1.0, 0.001, true);
                }
                c.lose(false, 10);
                for _ in 0..300 {
                    c.ack(1.0, 0.001, true);
                }
                let begun = c.algorithm.window();
                if pause > 0.0 && idle {
                    c.now += pause;
                    c.algorithm.on_event(&Event::Idle { now: c.now, idle: pause });
                } else if pause > 0.0 {
                    for _ in 0..1000 {
                        c.ack(1.0, pause / 1000.0, false);
                    }
                }
                let resumed = c.algorithm.window();
                c.round_end = c.now + c.rtt;
                let mut growth = 0.0;
                for _ in 0..50 {
                    c.ack(1.0, 0.001, true);
                    growth = c.algorithm.window() - resumed;
                }
                (begun, growth)
            };
            let ((_, without), (w, with)) = (after(0.0), after(seconds));
            if idle {
                // At a smaller window, a round trip has fewer ACKs, and each of them may increase the window. Slow
                // start adds one segment for each ACK; Hybla's slow start adds enough to reach the earlier window.
                let most = if spec.starts_with("hybla") { w.max(50.0) } else { 50.0 };
                prop_assert!(with <= most + 1e-9, "{spec}: grew by {with} after an idle time");
            } else {
                // A delay-based algorithm may take one step by delays measured during the pause. The time in which
                // TCP-LP does not grow may have ended during the pause; TCP-LP then grows as standard TCP does.
                let without = if spec.contains("lp") { 50.0 } else { without };
                prop_assert!(with <= without + 0.02 * w + 2.0, "{spec}: grew by {with} instead of {without}");
            }
        }
    }
}
