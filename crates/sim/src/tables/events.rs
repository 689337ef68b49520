//! The event log as a table with one row for each event, in order of time.

use super::column::{Column, NO_NAME, Table, floats, flow_names};
use crate::events::{Event, Kind, Log, NONE};
use crate::packet::flag;
use crate::spec::Spec;

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

/// The fields of an AccECN option.
const OPTION: [&str; 3] = ["ee0b", "eceb", "ee1b"];

/// The table of all events.
#[must_use]
pub fn events(spec: &Spec, log: &Log) -> Table {
    let rows = &log.rows;
    let speaks = |e: &Event| matches!(e.kind, Kind::Sent | Kind::Acked);
    let of = |keys: &dyn Fn(&Event) -> i32, words| Column::Names { keys: rows.iter().map(keys).collect(), words };
    let link_names = spec.links.iter().map(|link| link.name.clone()).collect();
    let kinds = Kind::NAMES.iter().map(|&name| name.to_owned()).collect();
    let link = |e: &Event| if e.link == NONE { NO_NAME } else { e.link as i32 };
    let mut columns: Table = vec![
        ("time_s", floats(rows.iter().map(|e| e.at.0 as f64 / 1e12))),
        ("kind", of(&|e| e.kind as i32, kinds)),
        ("flow", of(&|e| e.flow.0 as i32, flow_names(spec))),
        ("link", of(&link, link_names)),
        ("segment", Column::Numbers(rows.iter().map(|e| Some(e.segment)).collect())),
        ("bytes", Column::Sizes(rows.iter().map(|e| e.bytes).collect())),
        ("stamp_s", floats(rows.iter().map(|e| e.stamp.0 as f64 / 1e12))),
    ];
    for (name, bit) in FLAGS {
        // In data, the bit of ECE has another meaning.
        let needed = if bit == flag::ECE { bit | flag::ACK } else { bit };
        let is_set = |e: &Event| if bit == flag::CE { flag::is_marked(e.flags) } else { e.flags & needed == needed };
        columns.push((name, Column::Flags(rows.iter().map(is_set).collect())));
    }
    columns.push(("cwnd", floats(rows.iter().map(|e| f64::from(e.cwnd)))));
    columns.push(("in_flight", Column::Numbers(rows.iter().map(|e| speaks(e).then_some(e.in_flight)).collect())));
    columns.push(("srtt_s", floats(rows.iter().map(|e| f64::from(e.srtt)))));
    for (i, names) in SACKS.into_iter().enumerate() {
        let blocks = |e: &Event| log.sacks.get(e.sack as usize).filter(|b| usize::from(b.count) > i);
        let of = |end: &dyn Fn((u32, u32)) -> u32| {
            Column::Numbers(rows.iter().map(|e| blocks(e).map(|b| end(b.blocks[i]))).collect())
        };
        columns.push((names[0], of(&|block| block.0)));
        columns.push((names[1], of(&|block| block.1)));
    }
    // In an ACK that is not ECN-capable, the bit of CE is AE.
    let is_counter = |e: &Event| e.flags & (flag::ACK | flag::CE | flag::ECT) == flag::ACK | flag::CE;
    columns.push(("ae", Column::Flags(rows.iter().map(is_counter).collect())));
    for (place, name) in OPTION.into_iter().enumerate() {
        let field = |e: &Event| {
            let option = log.sacks.get(e.sack as usize)?.option;
            option.present().any(|present| present == place).then_some(option.fields[place])
        };
        columns.push((name, Column::Numbers(rows.iter().map(field).collect())));
    }
    columns
}
