//! The registry builds every algorithm that it lists, and refuses any other name with the list of allowed names.

use std::collections::{BTreeMap, BTreeSet};

use elephan_cc::observe::Form;
use elephan_cc::param::{Default, Type, Unit};
use elephan_cc::udt::Estimates;
use elephan_cc::{
    Ack, Algorithm, Answer, BuildError, Cause, Controller, Delivery, Event, Load, Observe, Setting, Signal, Start,
    Value, build, build_udt, other_transports, registry,
};

fn none() -> BTreeMap<String, Value> {
    BTreeMap::new()
}

fn one(name: &str, value: Value) -> BTreeMap<String, Value> {
    BTreeMap::from([(name.to_owned(), value)])
}

fn error(spec: &str, params: &BTreeMap<String, Value>) -> String {
    build(spec, params).expect_err("it is wrong").to_string()
}

/// Every preset of every algorithm, by its full name.
fn presets() -> impl Iterator<Item = (String, Controller)> {
    let named = registry().iter().flat_map(|entry| entry.presets.iter().map(|preset| (entry.name, preset.name)));
    named.map(|(name, preset)| {
        let spec = if preset.is_empty() { name.to_owned() } else { format!("{name}:{preset}") };
        let controller = build(&spec, &none()).expect("it is in the registry");
        (spec, controller)
    })
}

#[test]
fn every_algorithm_and_preset_can_be_built_and_started() {
    for entry in registry() {
        assert_eq!(entry.presets[0].name, "", "the first preset of {} is its default", entry.name);
    }
    for (spec, mut controller) in presets() {
        controller.on_event(&Event::Start(Start { initial_window: 3.0, ..Start::default() }));
        if spec == "fixed" {
            continue;
        }
        assert_eq!(controller.window(), 3.0, "{spec}");
        assert!(controller.ssthresh().is_infinite());
    }
}

/// A plain ACK with the additional signals that an algorithm may ask for.
fn filled_in(ack: &Ack, answers: bool) -> Ack {
    let delivery =
        Delivery { rate: Some(1e3), interval: 0.1, delivered: 1e4, tx_in_flight: 9.0, ..Delivery::default() };
    let answer = answers.then_some(Answer::Load(Load::Low));
    Ack { owd: Some(0.03), delivery: Some(delivery), window_at_send: 7.0, answer, ..*ack }
}

/// The ACKs of some round trips over a queue that fills and drains, and the ACKs after a loss.
fn acks() -> impl Iterator<Item = (Ack, bool)> {
    (1..2000_u32).map(|i| {
        let now = f64::from(i) * 0.001;
        let rtt = 0.05 + 0.02 * libm::sin(now).abs();
        let (round_start, in_flight) = (i % 50 == 1, 40.0);
        let ack =
            Ack { now, acked: 1.0, rtt: Some(rtt), min_rtt: 0.05, srtt: rtt, in_flight, round_start, ..Ack::default() };
        (Ack { window_limited: true, ..ack }, i % 700 == 0)
    })
}

#[test]
fn exactly_the_algorithms_that_need_nothing_with_an_ack_get_it_as_it_is() {
    for (spec, mut controller) in presets() {
        let needs = controller.needs();
        controller.on_event(&Event::Start(Start::default()));
        let mut completed = 0;
        for (ack, _) in acks().take(10) {
            controller.react(ack, |ack| {
                completed += 1;
                *ack = filled_in(ack, needs.router.is_some());
            });
        }
        assert_eq!(completed, if needs.with_acks() { 10 } else { 0 }, "{spec}");
    }
}

#[test]
fn what_an_algorithm_does_not_ask_for_it_does_not_read() {
    for (spec, mut plain) in presets() {
        let needs = plain.needs();
        let mut told = build(&spec, &none()).expect("it is in the registry");
        for controller in [&mut plain, &mut told] {
            controller.on_event(&Event::Start(Start::default()));
        }
        for (ack, lost) in acks() {
            let all = filled_in(&ack, false);
            let asked = Ack {
                owd: all.owd.filter(|_| needs.one_way_delay),
                delivery: all.delivery.filter(|_| needs.delivery),
                window_at_send: if needs.window_at_send { all.window_at_send } else { 0.0 },
                ..ack
            };
            plain.on_ack(&asked);
            told.on_ack(&all);
            if lost {
                let (now, srtt) = (ack.now, ack.srtt);
                let signal = Signal {
                    now,
                    in_flight: 40.0,
                    cause: Cause::Loss,
                    srtt,
                    min_rtt: 0.05,
                    repeated: false,
                    kept: 0.0,
                };
                plain.on_event(&Event::Congestion(signal));
                told.on_event(&Event::Congestion(signal));
            }
            assert_eq!(plain.window().to_bits(), told.window().to_bits(), "{spec} at {} s", ack.now);
        }
    }
}

#[test]
fn names_are_unique_and_everything_is_documented() {
    let mut names = BTreeSet::new();
    for entry in registry() {
        assert!(names.insert(entry.name));
        for text in [entry.title, entry.source, entry.doc] {
            assert!(!text.is_empty());
        }
        let mut seen = BTreeSet::new();
        for spec in entry.parameters() {
            assert!(seen.insert(spec.name), "{}.{}", entry.name, spec.name);
            assert!(!spec.doc.is_empty() && !spec.doc.starts_with(' ') && !spec.source.is_empty());
        }
        let mut presets = BTreeSet::new();
        for preset in entry.presets {
            assert!(presets.insert(preset.name) && !preset.title.is_empty());
            for (name, _) in preset.overrides {
                assert!(seen.contains(name), "{}:{} sets '{name}', which is no parameter", entry.name, preset.name);
            }
        }
    }
}

#[test]
fn a_variable_is_declared_once_with_its_unit_and_a_definition() {
    for entry in registry().iter().chain(other_transports()) {
        let mut names = BTreeSet::new();
        for variable in entry.variables() {
            let place = format!("{}.{}", entry.name, variable.name);
            assert!(names.insert(variable.name), "{place}");
            assert!(variable.doc.ends_with('.') && !variable.doc.starts_with(' '), "{place}");
            assert_eq!(variable.form == Form::Number(Unit::Seconds), variable.name.ends_with("_s"), "{place}");
            if let Form::State(states) = variable.form {
                assert!(states.len() > 1 && states.iter().collect::<BTreeSet<_>>().len() == states.len(), "{place}");
            }
        }
    }
}

#[test]
fn every_preset_shows_the_variables_that_its_algorithm_declares() {
    let declared = |name: &str| {
        let entry = registry().iter().find(|entry| entry.name == name).expect("it is in the registry");
        entry.variables().map(|variable| variable.name).collect::<Vec<_>>()
    };
    for (spec, mut controller) in presets() {
        let needs = controller.needs();
        controller.on_event(&Event::Start(Start::default()));
        for (ack, _) in acks().take(500) {
            let mut shown = Vec::new();
            controller.observe(&mut |name, _| shown.push(name.to_owned()));
            assert_eq!(shown, declared(spec.split(':').next().expect("it has a name")), "{spec}");
            controller.react(ack, |ack| *ack = filled_in(ack, needs.router.is_some()));
        }
    }
    let mut shown = Vec::new();
    let mut observer = |name: &str, _: f64| shown.push(name.to_owned());
    build_udt("udt", &none()).expect("it exists").observe(&mut observer);
    Estimates::new(0.01, 0.0, 0.0).observe(&mut observer);
    let udt = &other_transports()[0];
    assert_eq!(shown, udt.variables().map(|variable| variable.name).collect::<Vec<_>>());
}

#[test]
fn every_number_accepts_its_limits_and_nothing_beyond() {
    for entry in registry() {
        for spec in entry.parameters() {
            let Default::Value(Setting::Num(default)) = spec.domain.default else { continue };
            let (min, max) = (spec.domain.min, spec.domain.max);
            assert!((min..=max).contains(&default), "{}.{}", entry.name, spec.name);
            for wrong in [min - 1.0, max + max.abs().max(1.0), f64::NAN, f64::INFINITY] {
                let got = build(entry.name, &one(spec.name, Value::Num(wrong)));
                assert!(matches!(got, Err(BuildError::OutOfRange { .. })), "{}.{} = {wrong}", entry.name, spec.name);
            }
            for limit in [min, max] {
                let got = build(entry.name, &one(spec.name, Value::Num(limit)));
                assert!(
                    matches!(got, Ok(_) | Err(BuildError::Conflict { .. })),
                    "{}.{} = {limit}",
                    entry.name,
                    spec.name
                );
            }
        }
    }
}

#[test]
fn every_choice_accepts_its_words() {
    for entry in registry() {
        for spec in entry.parameters() {
            let Type::Word(words) = spec.domain.kind else { continue };
            for word in words {
                let got = build(entry.name, &one(spec.name, Value::Text((*word).to_owned())));
                assert!(
                    matches!(got, Ok(_) | Err(BuildError::Conflict { .. })),
                    "{}.{} = {word}",
                    entry.name,
                    spec.name
                );
            }
        }
    }
}

#[test]
fn errors_say_what_is_allowed() {
    assert_eq!(error("cubik", &none()), "'cubik' is not an algorithm; did you mean 'cubic'?");
    assert_eq!(error("tahoe", &none()), format!("'tahoe' is not an algorithm; {} are allowed", registry().len()));
    assert_eq!(
        error("cubic:1999", &none()),
        "'1999' is not a preset of cubic; allowed: abe, rfc8312, 2005, linux, linux-2.6, ns2"
    );
    assert_eq!(
        error("vegas", &one("alpa", Value::Num(1.0))),
        "vegas: alpa: not a parameter of vegas; did you mean 'alpha'?"
    );
    assert_eq!(
        error("vegas", &one("window", Value::Num(1.0))),
        "vegas: window: not a parameter of vegas; allowed: alpha, beta, gamma, diff, round_rtt, samples_min, \
         double_every_other, spread_increase, decrease, timeout_window, forget_base"
    );
    assert_eq!(
        error("stcp", &one("decrease", Value::Num(1.5))),
        "stcp: decrease: 1.5 is not allowed; it must be from 0 to 1"
    );
    assert_eq!(
        error("bic", &one("s_max", Value::Num(0.0))),
        "bic: s_max: 0 is not allowed; it must be from 0.01 to 1000000 segments"
    );
    for (value, read) in [(Value::Text("fast".to_owned()), "'fast'"), (Value::Bool(true), "true")] {
        let allowed = "is not one of its values; allowed: standard, limited, hystart, hystart++, search, \
             search-delivered, rapid";
        assert_eq!(error("reno", &one("slow_start", value)), format!("reno: slow_start: {read} {allowed}"));
    }
    assert_eq!(error("htcp", &one("rtt_scaling", Value::Num(1.0))), "htcp: rtt_scaling: 1 is neither true nor false");
    assert_eq!(error("fast", &one("alpha", Value::Text("many".to_owned()))), "fast: alpha: 'many' is not a number");
    assert_eq!(error("vegas", &one("alpha", Value::Num(9.0))), "vegas: alpha 9 must not be above beta 4");
}

#[test]
fn a_user_s_value_goes_before_the_preset_and_the_preset_before_the_default() {
    let ssthresh_after_a_loss = |spec: &str, params: &BTreeMap<String, Value>| {
        let mut c = build(spec, params).expect("it is right");
        c.on_event(&Event::Start(Start {
            now: 0.0,
            initial_window: 1000.0,
            initial_ssthresh: 1000.0,
            ..Start::default()
        }));
        c.on_event(&Event::Congestion(elephan_cc::Signal {
            now: 1.0,
            in_flight: 1000.0,
            cause: elephan_cc::Cause::Loss,
            srtt: 0.1,
            min_rtt: 0.1,
            repeated: false,
            kept: 0.0,
        }));
        c.ssthresh()
    };
    assert_eq!(ssthresh_after_a_loss("cubic", &none()), 700.0);
    assert_eq!(ssthresh_after_a_loss("cubic:2005", &none()), 800.0);
    assert_eq!(ssthresh_after_a_loss("cubic:2005", &one("beta", Value::Num(0.6))), 600.0);
}

#[test]
fn the_described_default_is_that_of_the_algorithm_without_a_suffix() {
    let cubic = registry().iter().find(|e| e.name == "cubic").expect("it exists");
    let slow_start = cubic.parameters().into_iter().find(|p| p.name == "slow_start").expect("it exists");
    assert_eq!(slow_start.domain.default, Default::Value(Setting::Text("hystart")));
}

#[test]
fn a_controller_is_small() {
    assert!(size_of::<elephan_cc::Controller>() <= 512, "{}", size_of::<elephan_cc::Controller>());
}
