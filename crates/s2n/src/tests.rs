use std::time::Duration;

use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::recovery::CubicCongestionController;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, Estimator, RateSample};
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::time::{Clock, NoopClock};

use super::*;

const RTT: Duration = Duration::from_millis(50);

fn cubic() -> (State<CubicCongestionController>, Instant) {
    let now = Instant::now();
    (State::new(CubicCongestionController::new(1200, Default::default()), now, 1), now)
}

fn send<C: CongestionController>(state: &mut State<C>, now: Instant, numbers: std::ops::Range<u64>) {
    for number in numbers {
        assert!(state.may_send(), "packet {number} may be sent");
        state.on_sent(now, 1200, number);
    }
}

fn ack<C: CongestionController>(state: &mut State<C>, sent: Instant, packets: u64, in_flight: u64, largest: u64) {
    for _ in 0..packets {
        state.on_acked(sent, 1200);
    }
    state.on_acks_end(sent + RTT, in_flight, false, Some(largest));
}

#[test]
fn what_is_not_served_is_refused_with_the_reason() {
    let refused = |name, ecn| S2n::new(name, 12_000, 1, ecn).expect_err("it is refused");
    assert_eq!(refused("reno", false), "s2n-quic has no 'reno'; write s2n:cubic or s2n:bbr");
    assert_eq!(refused("bbr", true), "'s2n:bbr' needs a count of CE marks with each ACK");
}

#[test]
fn a_window_closes_when_it_is_full_and_opens_with_an_ack() {
    fn check<C: CongestionController>(inner: C) {
        let now = Instant::now();
        let mut state = State::new(inner, now, 1);
        send(&mut state, now, 0..10);
        assert!(!state.may_send());
        ack(&mut state, now, 2, 9_600, 1);
        assert!(state.may_send());
        assert_eq!(state.window(), 14_400, "slow start");
    }
    check(CubicCongestionController::new(1200, Default::default()));
    check(bbr::BbrCongestionController::new(1200, Default::default()));
}

#[test]
fn a_loss_is_told_before_the_ack_that_showed_it() {
    let (mut state, now) = cubic();
    send(&mut state, now, 0..10);
    ack(&mut state, now, 4, 7_200, 4);
    state.on_lost(now + RTT, now, false, 1200);
    assert!(state.may_send(), "one packet goes out at once (RFC 9002 section 7.3.2)");
    assert_eq!(state.window(), 8_400, "0.7 of the window, and no growth by the ACK after it");
    state.on_lost(now + RTT, now, false, 1200);
    assert_eq!(state.window(), 8_400, "one reaction in a recovery period");
    state.on_lost(now + RTT, now, true, 1200);
    assert_eq!(state.window(), 2_400, "persistent congestion");
}

#[test]
fn what_quinn_has_discarded_is_forgotten() {
    let (mut state, now) = cubic();
    send(&mut state, now, 0..10);
    assert!(!state.may_send());
    state.on_acks_end(now + RTT, 0, false, None);
    send(&mut state, now + RTT, 0..10);
    assert!(!state.may_send());
}

#[test]
fn departures_are_a_burst_of_ten_packets_apart() {
    let (mut state, now) = cubic();
    assert_eq!(state.departure(now), None);
    send(&mut state, now, 0..10);
    ack(&mut state, now, 10, 0, 9);
    send(&mut state, now + RTT, 10..20);
    assert_eq!(state.departure(now + RTT), None, "two bursts are free");
    send(&mut state, now + RTT, 20..21);
    let until = state.departure(now + RTT).expect("the third is not");
    // The rate is two windows of 20 packets per RTT, so ten packets take a quarter of an RTT.
    let held = until.saturating_duration_since(now + RTT);
    assert!(held.abs_diff(RTT / 4) < Duration::from_micros(10), "{held:?}");
    assert_eq!(state.departure(until - Duration::from_micros(900)), None, "s2n-quic sends up to 1 ms early");
}

#[test]
fn a_factory_s_pacer_asks_its_newest_controller() {
    let now = Instant::now();
    let factory = S2n::new("bbr", 12_000, 1, false).expect("it is served");
    let pacer = factory.pacer();
    assert_eq!(pacer.held_until(now), None, "there is none yet");
    let mut controller = Arc::new(factory).build(now, 1200);
    assert_eq!((controller.initial_window(), controller.metrics().congestion_window), (12_000, 12_000));
    for number in 0..10 {
        assert_eq!(controller.window(), OPEN);
        controller.on_sent(now, 1200, number);
    }
    assert_eq!(controller.window(), CLOSED);
    controller.on_sent(now, 1200, 10); // a probe, which no window holds back
    assert!(pacer.held_until(now).is_none_or(|until| until > now));
    assert_eq!(controller.clone_box().metrics().congestion_window, 12_000);
}

#[derive(Default)]
struct Rates(Vec<RateSample>);

impl Publisher for Rates {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _congestion_window: u32) {}
    fn on_delivery_rate_sampled(&mut self, rate_sample: RateSample) {
        self.0.push(rate_sample);
    }
    fn on_pacing_rate_updated(&mut self, _rate: Bandwidth, _burst: u32, _gain: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// The first difference of s2n-quic in docs/upstream.md: s2n-quic's estimator counts 3 packets in the time that 2
/// packets take. This test fails once s2n-quic begins a new sample for each ACK; docs/upstream.md must then be changed.
#[test]
fn s2n_s_rate_sample_keeps_the_interval_of_an_earlier_ack() {
    let (mut estimator, mut rates) = (Estimator::default(), Rates::default());
    let at = |ms: u64| NoopClock.get_time() + Duration::from_millis(ms);
    let first = estimator.on_packet_sent(0, 1000, Some(false), at(0));
    estimator.on_ack(1000, at(0), first, at(40), &mut rates);
    // Two packets leave together, and two ACKs report them, 10 ms apart: 100 kB/s.
    let second = estimator.on_packet_sent(0, 1000, Some(false), at(40));
    let third = estimator.on_packet_sent(1000, 1000, Some(false), at(40));
    estimator.on_ack(1000, at(40), second, at(50), &mut rates);
    estimator.on_ack(1000, at(40), third, at(60), &mut rates);
    let [.., before, after] = &rates.0[..] else { panic!("three samples") };
    assert_eq!((before.delivered_bytes, before.interval), (1000, Duration::from_millis(10)));
    assert_eq!((after.delivered_bytes, after.interval), (2000, Duration::from_millis(10)), "20 ms have passed");
}
