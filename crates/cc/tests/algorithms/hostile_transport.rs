//! A hostile transport drives every algorithm through `ByteDriver`: time goes back, RTTs are zero, one ACK is for 10⁹
//! bytes, and packets that were never sent are lost. No algorithm may panic, and no window may be infinite or below two
//! datagrams.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p elephan-cc --test hostile_transport` searches for longer.

use std::collections::BTreeMap;

use elephan_cc::transport::{Acked, ByteDriver, Connection, Offers};
use elephan_cc::{Cause, Controller, build, registry};
use proptest::prelude::*;

/// One call of the transport.
#[derive(Clone, Debug)]
enum Call {
    Sent { now_ps: u64, bytes: u64, packet: u64 },
    Acked(Acked),
    Lost { now_ps: u64, packet: u64 },
    Congestion { now_ps: u64, sent_ps: u64, ecn: bool, bytes: u64 },
    Persistent { now_ps: u64, bytes: u64 },
    Spurious { now_ps: u64 },
    PathChange { now_ps: u64 },
    Mtu { bytes: u32 },
    Copy,
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(1200), Just(1_000_000_000), Just(u64::MAX), 0..100_000_u64]
}

/// Instants in any order: equal to the previous instant, earlier than that instant, or the largest value of the clock.
fn instant() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 0..200_000_000_000_u64, 0..10_000_000_000_000_u64]
}

fn packet() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, Just(1 << 40), Just(u64::MAX)]
}

prop_compose! {
    fn acked()(now_ps in instant(), bytes in bytes(), newest in packet(), newest_sent_ps in instant(), in_flight_bytes in bytes(),
               app_limited: bool, owd_ps in prop_oneof![Just(None), Just(Some(i64::MIN)), any::<i32>().prop_map(|ps| Some(i64::from(ps)))],
               marked_bytes in bytes()) -> Acked {
        Acked { now_ps, bytes, newest, newest_sent_ps, in_flight_bytes, app_limited, owd_ps, marked_bytes }
    }
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (instant(), bytes(), packet()).prop_map(|(now_ps, bytes, packet)| Call::Sent { now_ps, bytes, packet }),
        6 => acked().prop_map(Call::Acked),
        1 => (instant(), packet()).prop_map(|(now_ps, packet)| Call::Lost { now_ps, packet }),
        2 => (instant(), instant(), any::<bool>(), bytes())
            .prop_map(|(now_ps, sent_ps, ecn, bytes)| Call::Congestion { now_ps, sent_ps, ecn, bytes }),
        1 => (instant(), bytes()).prop_map(|(now_ps, bytes)| Call::Persistent { now_ps, bytes }),
        1 => instant().prop_map(|now_ps| Call::Spurious { now_ps }),
        1 => instant().prop_map(|now_ps| Call::PathChange { now_ps }),
        1 => prop_oneof![Just(0), Just(1200), Just(u32::MAX), any::<u32>()].prop_map(|bytes| Call::Mtu { bytes }),
        1 => Just(Call::Copy),
    ]
}

fn everything() -> Offers {
    let mut offers = Offers::default();
    (offers.pacing, offers.losses, offers.one_way_delay, offers.marks) = (true, true, true, true);
    offers
}

fn drive(controller: Controller, calls: &[Call]) -> Result<(), String> {
    let mut driver = ByteDriver::new(controller, Connection::new(1200), everything())?;
    let mut mtu = 1200_u64;
    for call in calls {
        match *call {
            Call::Sent { now_ps, bytes, packet } => driver.on_sent(now_ps, bytes, packet),
            Call::Acked(ref acked) => driver.on_acked(acked),
            Call::Lost { now_ps, packet } => driver.on_lost(now_ps, packet),
            Call::Congestion { now_ps, sent_ps, ecn, bytes } => {
                driver.on_congestion(now_ps, sent_ps, if ecn { Cause::Ecn } else { Cause::Loss }, bytes);
            }
            Call::Persistent { now_ps, bytes } => driver.on_persistent_congestion(now_ps, bytes),
            Call::Spurious { now_ps } => driver.on_spurious_loss(now_ps),
            Call::PathChange { now_ps } => driver.on_path_change(now_ps),
            Call::Mtu { bytes } => {
                mtu = u64::from(bytes.clamp(1, 65_527));
                driver.on_mtu(bytes);
            }
            Call::Copy => driver = driver.clone(),
        }
        let window = driver.window();
        let segments = elephan_cc::Algorithm::window(driver.controller());
        if !segments.is_finite() || window < 2 * mtu {
            return Err(format!(
                "a window of {segments} segments, {window} bytes with datagrams of {mtu} bytes after {call:?}"
            ));
        }
        if driver.pacing_rate().is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(format!("a pacing rate of {:?} bytes/s after {call:?}", driver.pacing_rate()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_transport_makes_a_window_infinite(calls in prop::collection::vec(call(), 1..60)) {
        let mut driven = 0;
        for entry in registry().iter().filter(|entry| !["xcp", "vcp"].contains(&entry.name)) {
            let controller = build(entry.name, &BTreeMap::new()).expect("the defaults are right");
            drive(controller, &calls).map_err(|why| TestCaseError::fail(format!("{}: {why}", entry.name)))?;
            driven += 1;
        }
        prop_assert!(driven >= 33);
    }
}

fn driver(name: &str) -> ByteDriver {
    let controller = build(name, &BTreeMap::new()).expect("the name is right");
    ByteDriver::new(controller, Connection::new(1000), everything()).expect("everything is offered")
}

const MS: u64 = 1_000_000_000;

/// Sends `packets` datagrams, and acknowledges them a round trip of 50 ms later.
fn round(driver: &mut ByteDriver, first: u64, packets: u64, at_ps: u64) {
    for packet in first..first + packets {
        driver.on_sent(at_ps, 1000, packet);
    }
    for packet in first..first + packets {
        let in_flight_bytes = (first + packets - 1 - packet) * 1000;
        let (now_ps, newest_sent_ps) = (at_ps + 50 * MS, at_ps);
        let acked = Acked { now_ps, bytes: 1000, newest: packet, newest_sent_ps, in_flight_bytes, ..Acked::default() };
        driver.on_acked(&acked);
    }
}

#[test]
fn one_recovery_period_has_one_reaction() {
    let mut driver = driver("reno");
    round(&mut driver, 0, 10, 0);
    assert_eq!(driver.window(), 20_000);
    driver.on_congestion(100 * MS, 60 * MS, Cause::Loss, 1000);
    driver.on_congestion(101 * MS, 99 * MS, Cause::Loss, 1000);
    assert_eq!(driver.window(), 10_000);
    driver.on_congestion(160 * MS, 101 * MS, Cause::Loss, 1000);
    assert_eq!(driver.window(), 5_000);
}

#[test]
fn persistent_congestion_leaves_two_datagrams_and_the_threshold() {
    let mut driver = driver("reno");
    round(&mut driver, 0, 10, 0);
    driver.on_congestion(100 * MS, 60 * MS, Cause::Loss, 1000);
    driver.on_persistent_congestion(101 * MS, 1000);
    assert_eq!((driver.window(), driver.ssthresh()), (2_000, Some(10_000)));
}

#[test]
fn a_new_path_begins_with_the_initial_window() {
    let mut driver = driver("cubic");
    round(&mut driver, 0, 10, 0);
    driver.on_congestion(100 * MS, 60 * MS, Cause::Loss, 1000);
    driver.on_path_change(200 * MS);
    assert_eq!((driver.window(), driver.ssthresh(), driver.srtt()), (10_000, None, 0.0));
    round(&mut driver, 10, 10, 200 * MS);
    assert_eq!(driver.window(), 20_000);
}

#[test]
fn a_larger_datagram_keeps_the_window_in_bytes_and_a_smaller_one_in_datagrams() {
    let mut driver = driver("reno");
    round(&mut driver, 0, 10, 0);
    driver.on_mtu(1250);
    assert_eq!(driver.window(), 20_000);
    driver.on_mtu(1000);
    assert_eq!(driver.window(), 16_000);
}

#[test]
fn a_requirement_that_the_transport_lacks_is_named() {
    for (name, what) in [
        ("bbr", "a pacing rate"),
        ("dctcp", "a count of CE marks"),
        ("hcc", "the one-way delay"),
        ("xcp", "routers that write"),
    ] {
        let controller = build(name, &BTreeMap::new()).expect("the name is right");
        let message = ByteDriver::new(controller, Connection::new(1000), Offers::default()).expect_err("it lacks that");
        assert!(message.contains(what), "{name}: {message}");
    }
}
