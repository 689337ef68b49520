//! The event log as an Arrow table: one row an event, in order of time.

use std::sync::Arc;

use arrow_array::builder::UInt32Builder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array, StringArray, UInt16Array, UInt32Array};
use elephan_sim::Spec;
use elephan_sim::events::{Event, Kind, Log, NONE};
use elephan_sim::packet::flag;
use elephan_tables::{Result, Table, floats, table};

/// The flags of a packet, each a column.
const FLAGS: [(&str, u8); 7] = [
    ("ack", flag::ACK),
    ("retransmit", flag::RETRANSMIT),
    ("ect0", flag::ECT0),
    ("ect1", flag::ECT1),
    ("ce", flag::CE),
    ("ece", flag::ECE),
    ("cwr", flag::CWR),
];

const SACKS: [[&str; 2]; 3] =
    [["sack_1_first", "sack_1_past"], ["sack_2_first", "sack_2_past"], ["sack_3_first", "sack_3_past"]];

/// Every event.
pub fn events(spec: &Spec, log: &Log) -> Result<Table> {
    let rows = &log.rows;
    let speaks = |e: &Event| matches!(e.kind, Kind::Sent | Kind::Acked);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time_s", floats(rows.iter().map(|e| e.at.0 as f64 / 1e12))),
        ("kind", words(rows.iter().map(|e| Some(e.kind as i32)), &Kind::NAMES)?),
        (
            "flow",
            words(rows.iter().map(|e| Some(e.flow.0 as i32)), &spec.flows.iter().map(|f| &f.name).collect::<Vec<_>>())?,
        ),
        (
            "link",
            words(
                rows.iter().map(|e| (e.link != NONE).then_some(e.link as i32)),
                &spec.links.iter().map(|l| &l.name).collect::<Vec<_>>(),
            )?,
        ),
        ("segment", Arc::new(rows.iter().map(|e| e.segment).collect::<UInt32Array>())),
        ("bytes", Arc::new(rows.iter().map(|e| e.bytes).collect::<UInt16Array>())),
        ("stamp_s", floats(rows.iter().map(|e| e.stamp.0 as f64 / 1e12))),
    ];
    for (name, bit) in FLAGS {
        columns.push((name, Arc::new(rows.iter().map(|e| Some(e.flags & bit != 0)).collect::<BooleanArray>())));
    }
    columns.push(("cwnd", floats(rows.iter().map(|e| f64::from(e.cwnd)))));
    columns
        .push(("in_flight", Arc::new(rows.iter().map(|e| speaks(e).then_some(e.in_flight)).collect::<UInt32Array>())));
    columns.push(("srtt_s", floats(rows.iter().map(|e| f64::from(e.srtt)))));
    for (i, names) in SACKS.into_iter().enumerate() {
        let [mut first, mut past] =
            [UInt32Builder::with_capacity(rows.len()), UInt32Builder::with_capacity(rows.len())];
        for event in rows {
            let blocks = log.sacks.get(event.sack as usize).filter(|b| usize::from(b.count) > i);
            first.append_option(blocks.map(|b| b.blocks[i].0));
            past.append_option(blocks.map(|b| b.blocks[i].1));
        }
        columns.push((names[0], Arc::new(first.finish())));
        columns.push((names[1], Arc::new(past.finish())));
    }
    table(columns)
}

fn words<T: AsRef<str>>(keys: impl Iterator<Item = Option<i32>>, values: &[T]) -> Result<ArrayRef> {
    let values: StringArray = values.iter().map(|value| Some(value.as_ref())).collect();
    let array = DictionaryArray::<Int32Type>::try_new(keys.collect::<Int32Array>(), Arc::new(values));
    Ok(Arc::new(array?))
}
