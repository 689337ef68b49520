//! Replays of a capture by algorithms.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{ArrowPrimitiveType, RecordBatch};
use elephan_sim::Time;
use elephan_sim::endpoint::replay::{
    Acked, Bounds, Burst, Captured, Departed, Departures, Event, Followed, Guesses, Script, follow,
};
use elephan_sim::spec::StackSpec;
use elephan_sim::tables::Column;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyAny;
use pyo3_arrow::PyTable;

use crate::defects::guarded;
use crate::{EngineDefectError, capsule};

/// Kinds of events: an ACK, and a transmission.
const ACKED: u8 = 0;

/// Bits of the column `flags`: the ACK is of a retransmission, and it echoes a mark.
const OF_RESENT: u8 = 1;
const ECHO: u8 = 2;

/// Places of packets in bursts: at the beginning, and behind it.
const BEGINS: u8 = 1;
const JOINED: u8 = 2;

/// A connection of a capture, ready for replays.
#[pyclass]
pub struct Replay {
    script: Script,
}

#[pymethods]
impl Replay {
    /// Takes the events of a capture and the stack of its sender, as JSON; away from the sender also the packets that the
    /// capture has, with the times between which they left, in place of the transmissions. Raises `ValueError`.
    #[new]
    #[pyo3(signature = (events, stack_json, handshake_ps, start_ps, segments, phase_ps, captured=None))]
    fn new(
        events: PyTable,
        stack_json: &str,
        handshake_ps: u64,
        start_ps: u64,
        segments: u32,
        phase_ps: u64,
        captured: Option<PyTable>,
    ) -> PyResult<Self> {
        let mut stack: StackSpec =
            serde_json::from_str(stack_json).map_err(|error| PyValueError::new_err(format!("stack: {error}")))?;
        stack.phase = Time(phase_ps);
        let mut read = Vec::new();
        for batch in events.into_inner().0 {
            read_events(&batch, &mut read)?;
        }
        check(&read, segments)?;
        let (handshake, start) = (Time(handshake_ps), Time(start_ps));
        let departures = captured.map(|captured| read_captured(captured, segments)).transpose()?.map(Arc::new);
        if departures.is_some() {
            read.retain(|event| matches!(event, Event::Acked(_)));
        }
        Ok(Self { script: Script { stack, handshake, start, events: read, segments, departures } })
    }

    /// Follows the capture with an algorithm. Returns two tables: for each segment, the time from which the algorithm allows
    /// it, s (NaN: never); and after the start and each event, the algorithm's window and the segments in flight.
    /// An algorithm with random numbers is followed with few guesses of them, or with `many`.
    fn follow<'py>(
        &self,
        py: Python<'py>,
        algorithm: &str,
        many: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let guesses = if many { Guesses::Many } else { Guesses::Few };
        let controller =
            elephan_cc::build(algorithm, &BTreeMap::new()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let Followed { allowed, at, window, in_flight, .. } =
            guarded(|| py.detach(|| follow(&self.script, controller, guesses)))
                .map_err(|defect| EngineDefectError::new_err((defect.message, defect.place)))?;
        let seconds = |time: Time| if time == Time::NEVER { f64::NAN } else { time.seconds() };
        let allowed = vec![("allowed_s", Column::Floats(allowed.into_iter().map(seconds).collect()))];
        let windows = vec![
            ("time_s", Column::Floats(at.into_iter().map(Time::seconds).collect())),
            ("window", Column::Counts(window.into_iter().map(u64::from).collect())),
            ("in_flight", Column::Counts(in_flight.into_iter().map(u64::from).collect())),
        ];
        Ok((capsule(allowed, py)?, capsule(windows, py)?))
    }
}

/// Raises `ValueError` for events out of order, and for segments that the capture does not have.
fn check(events: &[Event], segments: u32) -> PyResult<()> {
    if let Some(pair) = events.windows(2).find(|pair| pair[0].at() > pair[1].at()) {
        return Err(PyValueError::new_err(format!("the events are not in order at {} ps", pair[1].at().0)));
    }
    let past = |event: &Event| match event {
        Event::Acked(ack) => {
            let blocks = ack.blocks.iter().take(ack.count.into()).map(|block| block.1).max();
            ack.cumulative.max(ack.repeated.1).max(blocks.unwrap_or(0))
        }
        Event::Departed(sent) => sent.past,
    };
    match events.iter().map(past).find(|&past| past > segments) {
        Some(past) => Err(PyValueError::new_err(format!("segment {past} is beyond the last of {segments}"))),
        None => Ok(()),
    }
}

/// The packets that a capture has. Raises `ValueError` for segments that it does not have.
fn read_captured(table: PyTable, segments: u32) -> PyResult<Departures> {
    let mut packets = Vec::new();
    for batch in table.into_inner().0 {
        let [first, past, unseen] = columns(&batch, ["first", "past", "unseen"])?;
        let burst = column::<UInt8Type>(&batch, "burst")?;
        let low = column::<UInt64Type>(&batch, "low_ps")?;
        let high = column::<UInt64Type>(&batch, "high_ps")?;
        packets.extend((0..batch.num_rows()).map(|row| Captured {
            first: first[row],
            past: past[row],
            unseen: unseen[row],
            burst: match burst[row] {
                BEGINS => Burst::Begins,
                JOINED => Burst::Joined,
                _ => Burst::Unknown,
            },
            left: Bounds { low: Time(low[row]), high: Time(high[row]) },
        }));
    }
    match packets.iter().find(|packet| packet.past > segments || packet.first >= packet.past) {
        Some(packet) => {
            let Captured { first, past, .. } = packet;
            Err(PyValueError::new_err(format!("a packet has the segments from {first} to {past} of {segments}")))
        }
        None => Ok(Departures::new(packets, segments)),
    }
}

/// Adds the events of a batch.
fn read_events(batch: &RecordBatch, events: &mut Vec<Event>) -> PyResult<()> {
    let kind = column::<UInt8Type>(batch, "kind")?;
    let flags = column::<UInt8Type>(batch, "flags")?;
    let count = column::<UInt8Type>(batch, "count")?;
    let at = column::<UInt64Type>(batch, "at_ps")?;
    let stamp = column::<UInt64Type>(batch, "stamp_ps")?;
    let echo = column::<UInt64Type>(batch, "echo_ps")?;
    let [first, past, trigger, owd] = columns(batch, ["first", "past", "trigger", "owd"])?;
    let edges = columns(batch, ["sack_1", "past_1", "sack_2", "past_2", "sack_3", "past_3"])?;
    let repeated = columns(batch, ["repeated_first", "repeated_past"])?;
    for row in 0..batch.num_rows() {
        let at = Time(at[row]);
        events.push(if kind[row] == ACKED {
            Event::Acked(Acked {
                at,
                cumulative: first[row],
                window: past[row],
                blocks: [0, 2, 4].map(|edge| (edges[edge][row], edges[edge + 1][row])),
                count: count[row].min(3),
                repeated: (repeated[0][row], repeated[1][row]),
                trigger: trigger[row],
                stamp: Time(stamp[row]),
                is_of_resent: flags[row] & OF_RESENT != 0,
                owd: owd[row],
                echo: Time(echo[row]),
                echoes: flags[row] & ECHO != 0,
            })
        } else {
            Event::Departed(Departed { at, first: first[row], past: past[row] })
        });
    }
    Ok(())
}

/// The values of some columns.
fn columns<'a, const N: usize>(batch: &'a RecordBatch, names: [&str; N]) -> PyResult<[&'a [u32]; N]> {
    let mut found = [&[][..]; N];
    for (values, name) in found.iter_mut().zip(names) {
        *values = column::<UInt32Type>(batch, name)?;
    }
    Ok(found)
}

/// The values of a column.
fn column<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a [T::Native]> {
    let array = batch.column_by_name(name).and_then(|array| array.as_primitive_opt::<T>());
    let array = array.filter(|array| arrow_array::Array::null_count(*array) == 0);
    array
        .map(|array| &**array.values())
        .ok_or_else(|| PyValueError::new_err(format!("the events have no column '{name}' of its type")))
}
