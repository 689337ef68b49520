//! Columns of a connection, as Arrow record batches. Times count from an origin, ns.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt8Array, UInt16Array, UInt32Array};
use arrow_schema::ArrowError;

use crate::headers::MOST_BLOCKS;
use crate::reading::{Ack, Segment};

type Stamp = Option<(u32, Option<u32>)>;

/// The segments of the sender.
///
/// # Errors
/// Never: the columns have one length.
pub fn segments(rows: &[Segment], origin_ns: i64) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable([
        ("time_ns", longs(rows, |row| row.time_ns.saturating_sub(origin_ns)), false),
        ("seq", longs(rows, |row| row.seq), false),
        ("bytes", column::<UInt32Array, _, _>(rows, |row| row.bytes), false),
        ("retransmission", flags(rows, |row| row.mark.retransmission), false),
        ("late", flags(rows, |row| row.mark.late), false),
        ("flags", column::<UInt16Array, _, _>(rows, |row| row.flags), false),
        ("ecn", column::<UInt8Array, _, _>(rows, |row| row.ecn), false),
        ("ident", Arc::new(rows.iter().map(|row| row.ident).collect::<UInt16Array>()), true),
        ("bare", column::<UInt32Array, _, _>(rows, |row| row.bare), false),
        ("tsval", value(rows, |row| row.stamp), true),
        ("tsecr", echo(rows, |row| row.stamp), true),
    ])
}

/// The acknowledgments of the receiver. `scale` is the shift of its window; without it the window is unknown.
///
/// # Errors
/// Never: the columns have one length.
pub fn acks(rows: &[Ack], origin_ns: i64, scale: Option<u8>) -> Result<RecordBatch, ArrowError> {
    let window: Int64Array = rows.iter().map(|row| scale.map(|shift| i64::from(row.window) << shift)).collect();
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![
        ("time_ns".into(), longs(rows, |row| row.time_ns.saturating_sub(origin_ns)), false),
        ("ack".into(), longs(rows, |row| row.ack), false),
        ("window".into(), Arc::new(window), true),
        ("window_field".into(), column::<UInt16Array, _, _>(rows, |row| row.window), false),
        ("bytes".into(), column::<UInt32Array, _, _>(rows, |row| row.bytes), false),
        ("flags".into(), column::<UInt16Array, _, _>(rows, |row| row.flags), false),
        ("ecn".into(), column::<UInt8Array, _, _>(rows, |row| row.ecn), false),
        ("tsval".into(), value(rows, |row| row.stamp), true),
        ("tsecr".into(), echo(rows, |row| row.stamp), true),
    ];
    for block in 0..MOST_BLOCKS {
        let first: Int64Array = rows.iter().map(|row| row.blocks[block].map(|(first, _)| first)).collect();
        let past: Int64Array = rows.iter().map(|row| row.blocks[block].map(|(_, past)| past)).collect();
        columns.push((format!("sack_{}_first", block + 1), Arc::new(first), true));
        columns.push((format!("sack_{}_past", block + 1), Arc::new(past), true));
    }
    RecordBatch::try_from_iter_with_nullable(columns)
}

fn longs<R>(rows: &[R], of: impl Fn(&R) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(of)))
}

fn flags<R>(rows: &[R], of: impl Fn(&R) -> bool) -> ArrayRef {
    Arc::new(rows.iter().map(|row| Some(of(row))).collect::<BooleanArray>())
}

fn column<A, V, R>(rows: &[R], of: impl Fn(&R) -> V) -> ArrayRef
where
    A: arrow_array::Array + From<Vec<V>> + 'static,
{
    Arc::new(A::from(rows.iter().map(of).collect::<Vec<V>>()))
}

fn value<R>(rows: &[R], of: impl Fn(&R) -> Stamp) -> ArrayRef {
    Arc::new(rows.iter().map(|row| of(row).map(|(value, _)| value)).collect::<UInt32Array>())
}

fn echo<R>(rows: &[R], of: impl Fn(&R) -> Stamp) -> ArrayRef {
    Arc::new(rows.iter().map(|row| of(row).and_then(|(_, echo)| echo)).collect::<UInt32Array>())
}
