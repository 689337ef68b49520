//! Test: controllers of s2n-quic fill a path, and are paced as they ask.

use elephan_sim::tables::{self, Column, Table};
use elephan_sim::{Spec, Time};

use crate::make_foreign;

/// Flows of 20 s of an algorithm at 50 Mbit/s, 40 ms and one BDP of buffer.
fn flows(algorithm: &str) -> Table {
    let ms = Time::MILLISECOND.0;
    let mut spec = Spec::dumbbell(50_000_000, Time(40 * ms), 166, Time(20_000 * ms), &[algorithm]);
    make_foreign(&mut spec);
    let outcome = crate::simulate(&spec, Vec::new(), u64::MAX).expect("it ends");
    tables::flows(&spec, &outcome)
}

fn number(table: &Table, column: &str) -> f64 {
    match table.iter().find(|(name, _)| *name == column) {
        Some((_, Column::Floats(values))) => values[0],
        _ => panic!("no column of numbers {column}"),
    }
}

#[test]
fn controllers_of_s2n_quic_fill_a_path_and_a_seed_gives_the_same_bytes() {
    for algorithm in ["s2n:cubic", "s2n:bbr"] {
        let found = flows(algorithm);
        let goodput = number(&found, "goodput_mbps");
        assert!((40.0..50.0).contains(&goodput), "{algorithm}: {goodput} Mbit/s");
        // Compared as texts, since a missing value is NaN, which equals nothing.
        assert!(format!("{found:?}") == format!("{:?}", flows(algorithm)), "{algorithm}: the tables differ");
    }
}
