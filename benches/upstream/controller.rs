//! Direct calls of quinn's controllers that show differences from RFCs: `controller idle` and `controller persistent`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, CubicConfig, NewRenoConfig};

const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(50);

fn cubic(now: Instant) -> Box<dyn Controller> {
    Arc::new(CubicConfig::default()).build(now, MTU as u16)
}

fn datagrams(controller: &dyn Controller) -> u64 {
    controller.window() / MTU
}

/// Acknowledges one window of datagrams, one by one; all are sent at `sent` and acknowledged one RTT later.
fn round(controller: &mut dyn Controller, sent: Instant, app_limited: bool) {
    let rtt = RttEstimator::new(RTT);
    for _ in 0..datagrams(controller) {
        controller.on_ack(sent + RTT, sent, MTU, app_limited, &rtt);
    }
}

/// Prints the window before and after an idle period of 60 s.
///
/// Before the idle period, the flow has a loss at 160 datagrams and then sends bulk data for two seconds.
fn idle() {
    let start = Instant::now();
    let mut cubic = cubic(start);
    for n in 1..=4 {
        round(&mut *cubic, start + n * RTT, false);
    }
    cubic.on_congestion_event(start + 6 * RTT, start + 5 * RTT, false, MTU);
    for n in 7..=46 {
        round(&mut *cubic, start + n * RTT, false);
    }
    round(&mut *cubic, start + 47 * RTT, true);
    let before = datagrams(&*cubic);
    let later = start + 47 * RTT + Duration::from_secs(60);
    round(&mut *cubic, later, false);
    println!("{before} datagrams before 60 s of silence, {} a round trip after them", datagrams(&*cubic));
}

/// Prints the window after persistent congestion.
///
/// In the first case, the lost packets were sent before the recovery period of an earlier loss. In the second case, the
/// persistent congestion is a separate loss event.
fn persistent() {
    let start = Instant::now();
    for (name, mut controller) in
        [("CUBIC", cubic(start)), ("NewReno", Arc::new(NewRenoConfig::default()).build(start, MTU as u16))]
    {
        for n in 1..=4 {
            round(&mut *controller, start + n * RTT, false);
        }
        let window = datagrams(&*controller);
        let mut copy = controller.clone_box();
        controller.on_congestion_event(start + 6 * RTT, start + 5 * RTT, false, MTU);
        controller.on_congestion_event(start + 7 * RTT, start + 5 * RTT, true, MTU);
        copy.on_congestion_event(start + 7 * RTT, start + 6 * RTT, true, MTU);
        let threshold = copy.metrics().ssthresh.unwrap_or(0) / MTU;
        println!(
            "{name}, window of {window} datagrams: {} after persistent congestion in a recovery period; outside one {} with a threshold of {threshold}",
            datagrams(&*controller),
            datagrams(&*copy)
        );
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("idle") => idle(),
        Some("persistent") => persistent(),
        _ => eprintln!("write idle or persistent"),
    }
}
