use std::collections::BTreeMap;

use super::*;

choices! {
    /// A word.
    pub enum Pace { Slow = "slow", Fast = "fast" }
}

params! {
    /// One parameter of each type.
    pub struct Every {
        /// A number.
        gain: f64 = num(0.5, 0.0, 1.0, Unit::PerSecond), "a test";
        /// A whole number.
        queues: u32 = int(8.0, 1.0, 64.0, Unit::None), "a test";
        /// A switch.
        ecn: bool = flag(true), "a test";
        /// A word.
        pace: Pace = choice("fast", Pace::WORDS), "a test";
        /// A duration.
        target: f64 = duration(5.0 * MS, 100.0 * US, 2.0 * S), "a test";
        /// A queue length.
        low: f64 = derived(Type::Packets, "a formula", 0.0, 100.0, Unit::Packets), "a test";
        /// A threshold.
        mark: Amount = required_amount(1.0, 1e9), "a test";
    }
}

fn given(more: &[(&str, Value)]) -> BTreeMap<String, Value> {
    let mark = Value::Amount(Amount { packets: Some(20), bytes: None });
    let base = [("low", Value::Num(3.0)), ("mark", mark)];
    base.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn refused(name: &str, value: Value) -> String {
    let error = Settings::new("thing", Every::TABLE, &[], &given(&[(name, value)])).expect_err("it is wrong");
    assert_eq!(error.problem().parameter.as_deref(), Some(name));
    error.problem().message.clone()
}

#[test]
fn a_user_s_value_goes_before_the_default_and_is_read_as_the_field_s_type() {
    let some = given(&[("queues", Value::Num(16.0)), ("pace", Value::Text("slow".to_owned()))]);
    let every = Every::read(&Settings::new("thing", Every::TABLE, &[], &some).expect("right")).expect("right");
    assert_eq!((every.gain, every.queues, every.ecn, every.pace), (0.5, 16, true, Pace::Slow));
    assert_eq!((every.target, every.low, every.mark.packets), (5e9, 3.0, Some(20)));
}

#[test]
fn a_wrong_value_is_refused_with_the_value_and_the_range() {
    let text = |word: &str| Value::Text(word.to_owned());
    let bytes = Value::Amount(Amount { packets: None, bytes: Some(0) });
    for (name, value, message) in [
        ("gain", Value::Num(2.0), "2 is not allowed; it must be from 0 to 1 1/s"),
        ("gain", Value::Num(f64::NAN), "nan is not allowed; it must be from 0 to 1 1/s"),
        ("gain", text("high"), "'high' is not a number"),
        ("queues", Value::Num(8.5), "8.5 is not a whole number"),
        ("queues", Value::Num(65.0), "65 is not allowed; it must be from 1 to 64"),
        ("ecn", Value::Num(1.0), "1 is neither true nor false"),
        ("pace", text("medium"), "'medium' is not one of its values; allowed: slow, fast"),
        ("pace", text("fost"), "'fost' is not one of its values; did you mean 'fast'?"),
        ("target", Value::Num(5e6), "5 us is not allowed; it must be from 100 us to 2 s"),
        ("target", Value::Num(2e12 + 1.0), "2.000000000001 s is not allowed; it must be from 100 us to 2 s"),
        ("low", Value::Num(101.0), "101 packets is not allowed; it must be from 0 to 100 packets"),
        ("mark", bytes, "0 B is not allowed; it must be from 1 to 1e9 packets or bytes"),
        ("mark", Value::Amount(Amount::default()), "0 B is not an amount; write for example \"20 packets\""),
        ("mark", Value::Num(20.0), "20 is not an amount; write for example \"20 packets\""),
        ("tarjet", Value::Num(5.0), "not a parameter of thing; did you mean 'target'?"),
    ] {
        assert_eq!(refused(name, value), message);
    }
}

#[test]
fn a_parameter_without_a_default_must_be_given() {
    let error = Settings::new("thing", Every::TABLE, &[], &BTreeMap::new()).expect_err("two are missing");
    assert_eq!(
        error.to_string(),
        "thing: low: missing, and thing has no default for it; write for example low = \"20 packets\""
    );
}
