//! Tests of UDT's rules at their published check points, one call at a time.

use std::collections::BTreeMap;

use super::*;
use crate::param::Value;

const PACKET_BYTES: f64 = 1500.0;
/// Rate of 1 Gbit/s as a number of packets of 1,500 bytes per second.
const GIGABIT: f64 = 1e9 / (8.0 * PACKET_BYTES);

fn built(spec: &str, parameters: &[(&str, f64)]) -> Udt {
    let parameters: BTreeMap<_, _> = parameters.iter().map(|(k, v)| ((*k).to_owned(), Value::Num(*v))).collect();
    let mut udt = crate::build_udt(spec, &parameters).expect("the parameters are allowed");
    udt.on_start(0.0, PACKET_BYTES, 1);
    udt
}

fn path(arrival_rate: f64, capacity: f64) -> Estimates {
    Estimates { rtt: 0.1, rtt_var: 0.05, arrival_rate, capacity }
}

/// UDT after slow start with period `period`, before a first decrease.
fn sending(spec: &str, period: f64) -> Udt {
    let mut udt = built(spec, &[]);
    udt.leave_slow_start(&path(1.0 / period, 0.0));
    udt.period = period;
    udt
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

#[test]
fn the_increase_is_a_step_for_each_order_of_magnitude() {
    // Pairs of available bit/s and packets in the next SYN, from the table of draft-gg-udt-01 and of the paper, with
    // the floor of 2012.
    for (bps, packets) in [
        (1e10, 10.0),
        (1.0001e9, 10.0),
        (1e9, 1.0),
        (1.0001e8, 1.0),
        (1e8, 0.1),
        (1e7, 0.01),
        (1e6, 0.01),
        (-1e9, 0.01),
    ] {
        let mut udt = sending("udt", 1e9);
        udt.last_dec_period = f64::INFINITY;
        let capacity = udt.rate() + bps / (8.0 * PACKET_BYTES);
        assert!(close(udt.increase(capacity), packets), "{bps}: {}", udt.increase(capacity));
    }
    let old = sending("udt:2008", 1e9);
    assert!(close(old.increase(1e6 / (8.0 * PACKET_BYTES)), 0.001));
    assert!(close(old.increase(0.0), 1.0 / PACKET_BYTES), "the table's last row: 0.00067");
}

#[test]
fn exact_powers_of_ten_stay_what_they_are() {
    for exponent in 0..22 {
        let power = 10_f64.powi(exponent);
        assert_eq!(next_power_of_ten(power).to_bits(), power.to_bits());
        assert!(close(next_power_of_ten(power * 1.000_001), power * 10.0));
    }
}

#[test]
fn an_increase_of_one_packet_shortens_a_period_of_12_us_to_11_98562() {
    let mut udt = sending("udt", 12e-6);
    udt.last_dec_period = 1.0;
    udt.on_ack(1.0, 1, &path(GIGABIT, GIGABIT + 0.5 * GIGABIT));
    assert!((udt.period() * 1e6 - 11.98562).abs() < 1e-5, "{}", udt.period());
    assert!(close(udt.rate() * 0.01, 12e-6_f64.recip() * 0.01 + 1.0));
}

#[test]
fn from_nothing_nine_tenths_of_a_gigabit_take_7_5_seconds() {
    let mut udt = sending("udt", 1.0);
    let mut syns = 0;
    while udt.rate() < 0.9 * GIGABIT {
        syns += 1;
        udt.on_ack(f64::from(syns) * 0.01, 1, &path(0.0, GIGABIT));
    }
    // The rate rises from 0 to 0.9 × 833.33 packets per SYN, by one packet in each SYN.
    assert!((syns - 750_i32).abs() <= 1, "{syns}");
}

#[test]
fn the_window_is_the_arrival_rate_times_rtt_and_syn_and_sixteen() {
    let mut udt = sending("udt", 12e-6);
    udt.on_ack(1.0, 1, &path(83_333.0, GIGABIT));
    assert!((udt.window() - 9182.63).abs() < 0.01, "{}", udt.window());
}

#[test]
fn at_most_one_increase_a_syn() {
    let mut udt = sending("udt", 1e-3);
    let path = path(1000.0, GIGABIT);
    udt.on_ack(0.01, 1, &path);
    let once = udt.period();
    udt.on_ack(0.0199, 1, &path);
    assert_eq!(udt.period().to_bits(), once.to_bits());
    udt.on_ack(0.02, 1, &path);
    assert!(udt.period() < once);
}

#[test]
fn a_congestion_period_begins_with_a_ninth_less() {
    let mut udt = sending("udt", 12e-6);
    assert!(udt.on_nak(100, 200, &path(GIGABIT, GIGABIT)));
    assert!(close(udt.period(), 13.5e-6));
    // Losses of packets sent before the decrease belong to the same period. A loss of a later packet begins the next
    // period.
    assert!(!udt.on_nak(199, 300, &path(GIGABIT, GIGABIT)));
    assert!(udt.on_nak(300, 400, &path(GIGABIT, GIGABIT)));
}

#[test]
fn a_period_with_many_naks_takes_five_decreases_in_the_library_and_six_in_the_draft() {
    for (spec, times) in [("udt", 5), ("udt:draft", 6)] {
        let mut udt = sending(spec, 12e-6);
        for nak in 0..50 {
            udt.on_nak(100, 200 + nak, &path(GIGABIT, GIGABIT));
        }
        assert!(close(udt.period(), 12e-6 * 1.125_f64.powi(times)), "{spec}: {}", udt.period());
    }
    assert!((1.125_f64.powi(-5) - 0.5549).abs() < 1e-4);
}

#[test]
fn further_decreases_are_spread_where_periods_have_many_naks() {
    let mut udt = sending("udt", 12e-6);
    let mut factors = Vec::new();
    for period in 0..200_u32 {
        let before = udt.period();
        for nak in 0..40 {
            udt.on_nak(1000 * period, 1000 * period + 500 + nak, &path(GIGABIT, GIGABIT));
        }
        factors.push((udt.period() / before).ln() / 1.125_f64.ln());
        assert!(udt.dec_random >= 1 && udt.dec_random <= udt.avg_nak_num.max(1));
        udt.period = 12e-6;
    }
    let decreases: Vec<u32> = factors.iter().map(|f| f.round() as u32).collect();
    assert!(decreases.iter().all(|n| (1..=5).contains(n)), "{decreases:?}");
    assert!(decreases.iter().any(|&n| n < 5), "once NAKs are many, not every one counts");
}

#[test]
fn below_the_rate_of_the_last_decrease_a_ninth_of_the_capacity_is_available() {
    // At a capacity of 2 Gbit/s, 1.9 Gbit/s of unused capacity give a step of 10; a ninth of the capacity, 222 Mbit/s,
    // gives a step of 1.
    let mut udt = sending("udt", 120e-6);
    udt.last_dec_period = 100e-6;
    assert!(close(udt.increase(2.0 * GIGABIT), 1.0));
    udt.last_dec_period = 130e-6;
    assert!(close(udt.increase(2.0 * GIGABIT), 10.0));
    let draft = sending("udt:draft", 120e-6);
    assert!(close(draft.increase(2.0 * GIGABIT), 10.0));
}

#[test]
fn the_increase_after_a_nak_is_left_out() {
    for (spec, pauses) in [("udt", true), ("udt:draft", false)] {
        let mut udt = sending(spec, 12e-6);
        udt.on_nak(100, 200, &path(GIGABIT, GIGABIT));
        let after = udt.period();
        udt.on_ack(1.0, 1, &path(GIGABIT, GIGABIT));
        assert_eq!(udt.period() >= after, pauses, "{spec}");
        udt.on_ack(2.0, 1, &path(GIGABIT, GIGABIT));
        assert!(udt.period() < after, "{spec}");
    }
}

#[test]
fn slow_start_counts_what_is_acknowledged_up_to_the_flow_window() {
    let mut udt = built("udt", &[("flow_window", 100.0)]);
    assert_eq!((udt.window(), udt.period()), (16.0, 1e-6));
    udt.on_ack(0.01, 16, &path(50_000.0, GIGABIT));
    assert_eq!((udt.window(), udt.in_slow_start()), (32.0, true));
    udt.on_ack(0.02, 84, &path(50_000.0, GIGABIT));
    assert_eq!((udt.window(), udt.in_slow_start()), (100.0, true));
    udt.on_ack(0.03, 85, &path(50_000.0, GIGABIT));
    assert!(!udt.in_slow_start());
    assert_eq!(udt.window().to_bits(), 100.0_f64.to_bits(), "never above the flow window");
    // The period is 1/A, followed by the increase of that ACK: 0.4 Gbit/s are unused, which gives a step of 1.
    assert!(close(udt.rate(), 50_000.0 + 100.0), "{}", udt.rate());
}

#[test]
fn a_nak_ends_slow_start_with_the_arrival_rate() {
    for (spec, period) in [("udt", 20e-6), ("udt:draft", 20e-6), ("udt:2008", 22.5e-6)] {
        let mut udt = built(spec, &[]);
        assert!(udt.on_nak(3, 20, &path(50_000.0, GIGABIT)));
        assert!(close(udt.period(), period), "{spec}: {}", udt.period());
    }
    // Without an arrival rate, the rate is the window divided by RTT + SYN, reduced by a ninth.
    let mut udt = built("udt", &[]);
    udt.on_nak(3, 20, &path(0.0, 0.0));
    assert!(close(udt.rate(), 16.0 / 0.11 / 1.125), "{}", udt.rate());
}

#[test]
fn a_timeout_ends_slow_start_and_costs_no_rate_later() {
    let mut udt = built("udt", &[]);
    udt.on_timeout(&path(50_000.0, GIGABIT));
    assert!(close(udt.rate(), 50_000.0));
    udt.on_timeout(&path(10.0, GIGABIT));
    assert!(close(udt.rate(), 50_000.0));
}

#[test]
fn the_draft_s_slow_start_ends_with_the_first_ack() {
    let mut udt = built("udt:draft", &[]);
    assert!(udt.rate().is_infinite());
    udt.on_ack(0.01, 16, &path(10_000.0, GIGABIT));
    assert!(!udt.in_slow_start());
    assert!(close(udt.window(), 10_000.0 * 0.11) && close(udt.rate(), 10_000.0));
}

#[test]
fn expirations_come_later_each_time() {
    let library = *built("udt", &[]).parameters();
    let draft = *built("udt:draft", &[]).parameters();
    assert!(close(library.expiration_s(1.0, 0.01, 0.005), 0.3));
    assert!(close(library.expiration_s(3.0, 0.01, 0.005), 0.9));
    assert!(close(library.expiration_s(2.0, 0.2, 0.1), 1.21));
    assert!(close(draft.expiration_s(1.0, 0.1, 0.05), 0.5));
    assert!(close(draft.expiration_s(2.0, 0.2, 0.1), 1.82));
    assert!(close(draft.repeat_s(0.1, 0.05), 0.46));
    assert!(close(library.ack_again_s(0.1, 0.05), 0.3) && close(draft.ack_again_s(0.1, 0.05), 0.2));
}

#[test]
fn the_arrival_rate_leaves_out_what_is_far_from_the_median() {
    let mut arrivals = Arrivals::new(0.0, 16, true, true);
    let mut now = 0.0;
    for number in 2..16 {
        now += 1e-4;
        arrivals.on_packet(now, number);
    }
    // The history has fourteen gaps of 0.1 ms, and two of the initial gaps of 1 s.
    assert!(close(arrivals.rate(), 1e4), "{}", arrivals.rate());
    for (gap, number) in [(0.1, 16), (1e-6, 17), (1e-4, 18)] {
        now += gap;
        arrivals.on_packet(now, number);
    }
    assert!(close(arrivals.rate(), 1e4), "a pause and a burst are no gaps of the stream");
    // Half of the gaps are a tenth of the other gaps, so there is no constant rate.
    let mut mixed = Arrivals::new(0.0, 16, true, true);
    let mut now = 0.0;
    for number in 0..16 {
        now += if number % 2 == 0 { 1e-3 } else { 1e-5 };
        mixed.on_packet(now, number);
    }
    assert!(mixed.rate().abs() < 1e-12, "{}", mixed.rate());
}

#[test]
fn an_empty_history_has_no_rate_and_no_capacity() {
    let mut draft = Arrivals::new(0.0, 16, false, false);
    assert!(draft.rate().abs() < 1e-12 && draft.capacity().abs() < 1e-12);
    // The library's history begins with pairs whose packets are 1 ms apart.
    assert!(close(Arrivals::new(0.0, 64, true, true).capacity(), 1000.0));
}

#[test]
fn packet_pairs_show_the_capacity() {
    for mean in [false, true] {
        let mut arrivals = Arrivals::new(0.0, 16, mean, false);
        for pair in 0..16_u32 {
            let at = f64::from(pair) * 0.01;
            // In one of eight pairs, another packet was between the two packets.
            let gap = if pair % 8 == 0 { 200e-6 } else { 12e-6 };
            arrivals.on_packet(at, 16 * pair);
            arrivals.on_packet(at + gap, 16 * pair + 1);
        }
        assert!(close(arrivals.capacity(), GIGABIT), "{mean}: {}", arrivals.capacity());
        // Pairs that were held up and arrive together are not counted either.
        for pair in 16..80 {
            arrivals.on_packet(0.5, 16 * pair);
            arrivals.on_packet(0.5, 16 * pair + 1);
        }
        assert!(close(arrivals.capacity(), GIGABIT));
        // The second packet of a pair is not counted if the first was lost.
        arrivals.on_packet(1.0, 16 * 90 + 1);
        arrivals.on_packet(1.1, 16 * 91);
        arrivals.on_packet(1.2, 16 * 92 + 1);
        assert!(close(arrivals.capacity(), GIGABIT));
    }
}

#[test]
fn estimates_are_smoothed_by_an_eighth_and_begin_with_what_comes() {
    let mut library = Estimates::new(0.01, 16.0, 1.0);
    assert_eq!((library.rtt, library.rtt_var), (0.1, 0.05));
    library.note_rtt(0.02);
    assert!(close(library.rtt_var, (3.0 * 0.05 + 0.08) / 4.0) && close(library.rtt, 0.09));
    library.note_rates(96.0, 0.0);
    assert!(close(library.arrival_rate, 26.0) && close(library.capacity, 1.0));
    let mut draft = Estimates::new(0.01, 0.0, 0.0);
    draft.note_rates(96.0, 1000.0);
    assert!(close(draft.arrival_rate, 96.0) && close(draft.capacity, 1000.0));
}

#[test]
fn the_registry_knows_it_apart_from_tcp() {
    let entry = &crate::other_transports()[0];
    assert_eq!((entry.name, entry.presets[0].name), ("udt", ""));
    for preset in entry.presets {
        for (name, _) in preset.overrides {
            assert!(entry.parameters().iter().any(|p| p.name == *name), "{name}");
        }
    }
    assert!(crate::build("udt", &BTreeMap::new()).is_err(), "no TCP endpoint can run it");
    let wrong = crate::build_udt("udt:2009", &BTreeMap::new()).expect_err("there is no such preset").to_string();
    assert_eq!(wrong, "'2009' is not a preset of udt; did you mean '2008'?");
}

#[test]
fn the_drafts_slow_start_ends_with_a_window_of_a_packet_at_least() {
    let mut udt = built("udt:draft", &[]);
    udt.on_ack(1.0, 1, &path(0.5, 1.0));
    assert!(!udt.in_slow_start());
    assert_eq!(udt.window(), 1.0, "0.5 packets/s × 0.11 s are 0.055 packets");
    let mut udt = built("udt:draft", &[]);
    udt.on_ack(1.0, 1, &path(100.0, 1.0));
    assert!(close(udt.window(), 11.0), "{}", udt.window());
}
