//! Test: controllers of s2n-quic fill a path, and are paced as they ask.

use arrow_array::{Array, Float64Array, RecordBatch};
use elephan_sim::{Spec, Time, tables};

use crate::make_foreign;

/// Flows of 20 s of an algorithm at 50 Mbit/s, 40 ms and one BDP of buffer.
fn flows(algorithm: &str) -> RecordBatch {
    let ms = Time::MILLISECOND.0;
    let mut spec = Spec::dumbbell(50_000_000, Time(40 * ms), 166, Time(20_000 * ms), &[algorithm]);
    make_foreign(&mut spec);
    let outcome = crate::simulate(&spec, Vec::new()).expect("it ends");
    elephan_tables::batch(tables::flows(&spec, &outcome)).expect("it is a table")
}

fn number(table: &RecordBatch, column: &str) -> f64 {
    let column = table.column_by_name(column).expect("it is there");
    column.as_any().downcast_ref::<Float64Array>().expect("numbers").value(0)
}

#[test]
fn controllers_of_s2n_quic_fill_a_path_and_a_seed_gives_the_same_bytes() {
    for algorithm in ["s2n:cubic", "s2n:bbr"] {
        let found = flows(algorithm);
        let goodput = number(&found, "goodput_mbps");
        assert!((40.0..50.0).contains(&goodput), "{algorithm}: {goodput} Mbit/s");
        assert!(found == flows(algorithm), "{algorithm}: the tables differ");
    }
}
