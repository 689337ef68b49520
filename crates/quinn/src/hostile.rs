//! Test: drives every algorithm that quinn supports with invalid calls, which quinn itself never makes. Time goes back,
//! RTTs are zero, one ACK frame acknowledges 10⁹ bytes or more, packets that were never sent are lost, and time stamps
//! are wrong. No algorithm may panic, and no window may be infinite or below two datagrams.
//!
//! `make fuzz` searches for longer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use elephan_cc::registry;
use proptest::prelude::*;
use quinn_proto::congestion::Controller;

use crate::stamp::{ForwardDelay, Stamper};
use crate::{Driven, Elephan};

/// Largest window of the adapter, bytes.
const MOST_WINDOW: u64 = 1 << 50;

/// One call of quinn, or a datagram with a time stamp. Instants are counted from one hour before the start.
#[derive(Clone, Debug)]
enum Call {
    Sent { now: Duration, bytes: u64, packet: u64 },
    Acks { now: Duration, packets: Vec<(Duration, u64)>, in_flight: u64, app_limited: bool, largest: Option<u64> },
    Congestion { now: Duration, sent: Duration, persistent: bool, bytes: u64 },
    Mtu(u16),
    Stamp { left_ps: i64, reported_ps: i64, now_ps: i64 },
    Copy,
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(1200), Just(1_000_000_000), Just(u64::MAX), 0..100_000_u64]
}

/// Instants in any order: before the start, at the start, equal to the previous one, or 300 years later.
fn instant() -> impl Strategy<Value = Duration> {
    const HOUR_NS: u64 = 3_600_000_000_000;
    prop_oneof![Just(0), Just(HOUR_NS), Just(u64::MAX / 2), HOUR_NS..HOUR_NS + 10_000_000_000, 0..2 * HOUR_NS]
        .prop_map(Duration::from_nanos)
}

fn packet() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, Just(1 << 40), Just(u64::MAX)]
}

fn call() -> impl Strategy<Value = Call> {
    let stamp = || prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), any::<i64>()];
    let acks = (
        instant(),
        prop::collection::vec((instant(), bytes()), 0..4),
        bytes(),
        any::<bool>(),
        prop::option::of(packet()),
    );
    prop_oneof![
        4 => (instant(), bytes(), packet()).prop_map(|(now, bytes, packet)| Call::Sent { now, bytes, packet }),
        6 => acks.prop_map(|(now, packets, in_flight, app_limited, largest)| {
            Call::Acks { now, packets, in_flight, app_limited, largest }
        }),
        3 => (instant(), instant(), any::<bool>(), bytes())
            .prop_map(|(now, sent, persistent, bytes)| Call::Congestion { now, sent, persistent, bytes }),
        1 => prop_oneof![Just(0), Just(1200), Just(u16::MAX), any::<u16>()].prop_map(Call::Mtu),
        1 => (stamp(), stamp(), stamp())
            .prop_map(|(left_ps, reported_ps, now_ps)| Call::Stamp { left_ps, reported_ps, now_ps }),
        1 => Just(Call::Copy),
    ]
}

fn drive(factory: &Elephan, delay: &ForwardDelay, calls: &[Call]) -> Result<(), String> {
    let start = Instant::now();
    let hour = Duration::from_secs(3600);
    let mut driven = Driven::new(factory, start + hour, 1200);
    let mut stamper = Stamper::new(delay.clone());
    let mut mtu = 1200_u64;
    for call in calls {
        match *call {
            Call::Sent { now, bytes, packet } => driven.on_sent(start + now, bytes, packet),
            Call::Acks { now, ref packets, in_flight, app_limited, largest } => {
                for &(sent, bytes) in packets {
                    driven.take_acked(start + sent, bytes);
                }
                driven.on_end_acks(start + now, in_flight, app_limited, largest);
            }
            Call::Congestion { now, sent, persistent, bytes } => {
                driven.on_congestion_event(start + now, start + sent, persistent, bytes);
            }
            Call::Mtu(bytes) => {
                mtu = u64::from(bytes.clamp(1, 65_527));
                driven.on_mtu_update(bytes);
            }
            Call::Stamp { left_ps, reported_ps, now_ps } => {
                let datagram = [left_ps.to_le_bytes(), reported_ps.to_le_bytes()].concat();
                stamper.read(&datagram, now_ps);
            }
            Call::Copy => driven = driven.copy(),
        }
        let (window, shown) = (driven.window(), driven.metrics().congestion_window);
        if window != shown + 1 || shown < 2 * mtu || shown > MOST_WINDOW {
            return Err(format!(
                "a window of {window} bytes, shown as {shown}, with datagrams of {mtu} bytes after {call:?}"
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_quinn_s_calls_makes_a_window_infinite(calls in prop::collection::vec(call(), 1..60)) {
        let mut driven = 0;
        for entry in registry() {
            let delay = ForwardDelay::default();
            let Ok(factory) = Elephan::with(entry.name, BTreeMap::new(), Some(delay.clone())) else { continue };
            drive(&factory, &delay, &calls).map_err(|why| TestCaseError::fail(format!("{}: {why}", entry.name)))?;
            driven += 1;
        }
        prop_assert!(driven >= 25, "{driven} algorithms were driven");
    }
}
