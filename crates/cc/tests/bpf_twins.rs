//! Compares each kernel algorithm (`bpf/`) with the Rust algorithm of the same name. Both algorithms get the same
//! recorded ACKs, losses, timeouts, idle times and spurious losses, and their windows differ by at most one segment at
//! each event.

mod twin;

use elephan_cc::Setting;
use elephan_cc::draws::Draws;
use twin::{Course, difference, fixed_point};

/// Path of 100 Mbit/s and 40 ms with a buffer of one bandwidth-delay product, with drops at the end of slow start and
/// at each peak of the sawtooth.
const DROPTAIL: Course = Course {
    name: "droptail",
    rate: 8333.0,
    dip: 1.0,
    base: 40_000,
    buffer: 333,
    random_loss: 0.0,
    reverse_jitter: 0,
    seconds: 20,
    outage: None,
    deaf: None,
    pause: None,
    spurious: None,
    unasked: false,
};

/// Path with random losses, jitter on the reverse path, timeouts inside and outside a recovery, a spurious loss and an
/// idle time.
const ROUGH: Course = Course {
    name: "rough",
    rate: 8333.0,
    dip: 1.0,
    base: 60_000,
    buffer: 200,
    random_loss: 2e-5,
    reverse_jitter: 2000,
    seconds: 30,
    outage: Some(10),
    deaf: Some(26),
    pause: Some(18),
    spurious: Some(22),
    unasked: false,
};

/// Path with a deep buffer before a link whose rate alternates between two values, so that queues have all lengths and
/// losses are few.
const SWINGING: Course = Course {
    name: "swinging",
    rate: 8333.0,
    dip: 0.6,
    base: 40_000,
    buffer: 800,
    random_loss: 4e-6,
    reverse_jitter: 200,
    seconds: 30,
    outage: None,
    deaf: None,
    pause: None,
    spurious: None,
    unasked: false,
};

/// Long path with random losses, short queues and small changes of its rate, for each algorithm's own growth and
/// decrease.
const LONG: Course = Course {
    name: "long",
    rate: 8333.0,
    dip: 0.85,
    base: 100_000,
    buffer: 400,
    random_loss: 3e-5,
    reverse_jitter: 500,
    seconds: 40,
    outage: None,
    deaf: None,
    pause: None,
    spurious: None,
    unasked: false,
};

/// [`ROUGH`] on a kernel that sets an arbitrary slow-start threshold after a loss instead of asking the algorithm for
/// it, as was observed on one kernel.
const UNASKED: Course = Course { name: "unasked", unasked: true, ..ROUGH };

#[track_caller]
fn together(algorithm: &str, settings: &[(&str, Setting)], course: Course) {
    let (worst, largest) = difference(algorithm, settings, course);
    println!("{algorithm} {}: {worst} of {largest:.1}", course.name);
    assert!(largest > 50.0, "{algorithm}, {}: a window of {largest} shows nothing", course.name);
    assert!(worst <= 1.0, "{algorithm}, {}: {worst} segments apart", course.name);
}

macro_rules! twins {
    ($($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            together(stringify!($name), &[], DROPTAIL);
            together(stringify!($name), &[], ROUGH);
            together(stringify!($name), &[], SWINGING);
            together(stringify!($name), &[], LONG);
            together(stringify!($name), &[], UNASKED);
        })+
    };
}

twins!(stcp, hstcp, htcp, bic, westwood, vegas, illinois, yeah, areno, fusion, compound, fast, hcc);

/// Parameters and options of the objects that differ from the defaults.
#[test]
fn other_parameters_and_choices() {
    use Setting::{Bool, Num, Text};
    let variants: &[(&str, &[(&str, Setting)])] = &[
        ("stcp", &[("increase", Num(0.02)), ("decrease", Num(0.25))]),
        ("hstcp", &[("low_p", Num(1.5 / (38.0 * 38.0))), ("high_p", Num(1e-6))]),
        ("hstcp", &[("slow_start", Text("limited"))]),
        ("htcp", &[("rtt_scaling", Bool(true)), ("delta_l", Num(0.5)), ("bandwidth_switch", Bool(false))]),
        ("bic", &[("search_update", Text("round")), ("converge_against", Text("max_win"))]),
        ("westwood", &[("filter", Text("twice")), ("relearn_rtt", Bool(true))]),
        ("vegas", &[("diff", Text("ns2")), ("spread_increase", Bool(true)), ("timeout_window", Num(2.0))]),
        ("vegas", &[("diff", Text("linux")), ("round_rtt", Text("min")), ("double_every_other", Bool(false))]),
        ("illinois", &[("max_source", Text("round-mean")), ("ignored_rounds", Num(2.0))]),
        ("compound", &[("grow_from", Text("dwnd")), ("rtt_filter", Text("mean")), ("spread", Bool(false))]),
        ("illinois", &[("theta", Num(2.0)), ("d1", Num(0.1))]),
        ("yeah", &[("q_max", Num(10.0)), ("delay_max", Num(0.05)), ("rho", Num(4.0)), ("zeta", Num(10.0))]),
        ("compound", &[("gamma", Num(6.0)), ("gamma_high", Num(60.0)), ("gamma_gain", Num(0.5))]),
        ("areno", &[("rtt_source", Text("last")), ("loss_order", Text("level-first"))]),
        ("fusion", &[("rtt_statistic", Text("mean")), ("reno_reset", Text("reduced"))]),
        ("fast", &[("alpha", Num(50.0)), ("update_every", Num(1.0)), ("known_rtt", Num(0.05))]),
        ("hcc", &[("alpha", Num(100.0)), ("search_from", Text("on_target")), ("filter", Text("min_round"))]),
        ("hcc", &[("alpha", Num(100.0)), ("reference", Text("fast")), ("filter", Text("mean_round"))]),
        ("hcc", &[("update_clock", Text("timer")), ("start_growth", Text("per_round")), ("filter", Text("ns2"))]),
        (
            "hcc",
            &[("after_timeout", Text("start")), ("start_loss", Text("ignore")), ("clip_order", Text("part_then_clip"))],
        ),
    ];
    for (algorithm, settings) in variants {
        together(algorithm, settings, ROUGH);
        together(algorithm, settings, LONG);
    }
}

/// Compares products and quotients of windows and times of all sizes with exact results: the error is a few units, or
/// 2^-30 of the result.
#[test]
fn fixed_point_is_as_exact_as_it_says() {
    const ONE: f64 = 4_294_967_296.0;
    let mut draws = Draws::new(5);
    let number = |draws: &mut Draws| {
        let size = (draws.uniform() * 62.0) as u32;
        let value = 1 + (draws.bits() >> 1 >> (62 - size)) as i64;
        if draws.uniform() < 0.25 { -value } else { value }
    };
    let mut questions = Vec::new();
    for _ in 0..20_000 {
        let (a, b) = (number(&mut draws), number(&mut draws));
        questions.extend([("mul", a, b), ("div", a, b), ("log2", a.abs(), 0), ("exp2", a % (30 << 32), 0)]);
    }
    questions.extend([("div", 5, 0), ("mean", 7, 2), ("mean", 4_000_000_000, 3), ("mul", i64::MAX, i64::MAX)]);
    let limit = i64::MAX as f64;
    for ((name, a, b), got) in questions.iter().zip(fixed_point(&questions)) {
        let (x, y) = (*a as f64, *b as f64);
        let expected = match *name {
            "mul" => x * y / ONE,
            "div" => x / y * ONE,
            "log2" => (x / ONE).log2() * ONE,
            "exp2" => (x / ONE).exp2() * ONE,
            _ => x / y * ONE,
        };
        let expected = expected.clamp(-limit, limit);
        let off = (got as f64 - expected).abs();
        assert!(off <= 12.0 + expected.abs() * 2.0_f64.powi(-29), "{name} {a} {b}: {got}, not {expected}");
    }
}
