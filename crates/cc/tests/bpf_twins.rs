//! The kernel's algorithms (`bpf/`) are held to these: over the same recorded ACKs, losses, timeouts, idle times and
//! spurious losses their windows stay within one segment of each other, all along.

mod twin;

use elephan_cc::Setting;
use twin::{Course, difference};

/// 100 Mbit/s and 40 ms with a buffer of one bandwidth-delay product: drops of slow start and of the sawtooth.
const DROPTAIL: Course = Course {
    name: "droptail",
    rate: 8333.0,
    base: 40_000,
    buffer: 333,
    random_loss: 0.0,
    reverse_jitter: 0,
    seconds: 60,
    outage: None,
    pause: None,
    spurious: None,
};

/// Random losses, a jittery way back, an outage with its timeout, a spurious loss and an idle time.
const ROUGH: Course = Course {
    name: "rough",
    rate: 8333.0,
    base: 60_000,
    buffer: 200,
    random_loss: 2e-5,
    reverse_jitter: 2000,
    seconds: 60,
    outage: Some(20),
    pause: Some(35),
    spurious: Some(40),
};

#[track_caller]
fn together(algorithm: &str, settings: &[(&str, Setting)], course: Course) {
    let (worst, largest) = difference(algorithm, settings, course);
    println!("{algorithm} {}: {worst} of {largest:.1}", course.name);
    assert!(largest > 100.0, "{algorithm}, {}: a window of {largest} shows nothing", course.name);
    assert!(worst <= 1.0, "{algorithm}, {}: {worst} segments apart", course.name);
}

macro_rules! twins {
    ($($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            together(stringify!($name), &[], DROPTAIL);
            together(stringify!($name), &[], ROUGH);
        })+
    };
}

twins!(stcp, hstcp, htcp, bic, westwood, vegas, illinois, yeah, areno, fusion, compound, fast);

#[test]
fn stcp_with_other_constants() {
    let settings = [("increase", Setting::Num(0.02)), ("decrease", Setting::Num(0.25))];
    together("stcp", &settings, ROUGH);
}
