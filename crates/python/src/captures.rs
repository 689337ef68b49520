//! Captures of packets, as tables.

use std::path::PathBuf;

use elephan_capture::{Connection, Failure, Handshake, Listing, Options, Reading, list, read, tables};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::capsules::capsule_of;
use crate::defects::{EngineDefectError, guarded};

create_exception!(elephan._engine, CaptureError, PyException, "A file is no capture; args are one clause.");

/// The connections of a capture, the largest first, and counts of its packets. Raises `CaptureError` for another content,
/// and `OSError`.
#[pyfunction]
pub fn capture_connections(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let listing: Listing = interruptible(py, |go_on| list(&path, go_on))?;
    let found = PyDict::new(py);
    let connections = listing.connections.iter().map(|connection| described(py, connection));
    found.set_item("connections", PyList::new(py, connections.collect::<PyResult<Vec<_>>>()?)?)?;
    found.set_item("packets", listing.packets)?;
    found.set_item("tcp", listing.tcp)?;
    found.set_item("cut", listing.cut)?;
    found.set_item("fragments", listing.fragments)?;
    found.set_item("unknown_links", listing.unknown_links)?;
    found.set_item("unknown_link", listing.unknown_link)?;
    found.set_item("forgotten", listing.forgotten)?;
    found.set_item("end", format!("{:?}", listing.end).to_lowercase())?;
    Ok(found)
}

fn described<'py>(py: Python<'py>, connection: &Connection) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("number", connection.number)?;
    found.set_item("hosts", connection.hosts.map(|(address, port)| (address.to_string(), port)))?;
    found.set_item("packets", connection.packets)?;
    found.set_item("payload_bytes", connection.payload_bytes)?;
    found.set_item("first_ns", connection.first_ns)?;
    found.set_item("last_ns", connection.last_ns)?;
    found.set_item("opened", connection.opened)?;
    Ok(found)
}

/// The packets of one connection: tables `segments` and `acks`, and what the handshake says. Times count from `origin_ns`.
#[pyfunction]
pub fn capture_packets(
    py: Python<'_>,
    path: PathBuf,
    number: u64,
    sender: usize,
    most_packets: usize,
    origin_ns: i64,
) -> PyResult<Bound<'_, PyDict>> {
    let options = Options { number, sender: sender.min(1), most_packets };
    let reading: Reading = interruptible(py, |go_on| read(&path, options, go_on))?;
    let receiver = 1 - options.sender;
    let scale = reading.handshake.scale(receiver);
    let found = PyDict::new(py);
    let (segments, acks) =
        py.detach(|| (tables::segments(&reading.segments, origin_ns), tables::acks(&reading.acks, origin_ns, scale)));
    found.set_item("segments", capsule_of(segments, py)?)?;
    found.set_item("acks", capsule_of(acks, py)?)?;
    found.set_item("handshake", shaken(py, &reading.handshake, options.sender, origin_ns)?)?;
    found.set_item("window_scale", scale)?;
    found.set_item("reset_ns", reading.reset_ns.map(|time| time - origin_ns))?;
    found.set_item("left_out", reading.left_out)?;
    found.set_item("disordered", reading.disordered)?;
    found.set_item("step_back_ns", reading.step_back_ns)?;
    found.set_item("options_cut", reading.options_cut)?;
    found.set_item("from_start", reading.from_start)?;
    Ok(found)
}

fn shaken<'py>(py: Python<'py>, shake: &Handshake, sender: usize, origin_ns: i64) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let after = |time: Option<i64>| time.map(|time| time.saturating_sub(origin_ns));
    found.set_item("syn_ns", after(shake.syn_ns))?;
    found.set_item("answer_ns", after(shake.answer_ns))?;
    found.set_item("complete_ns", after(shake.complete_ns))?;
    for (name, side) in [("sender", sender), ("receiver", 1 - sender)] {
        let options = shake.options[side].as_ref();
        found.set_item(format!("{name}_mss"), options.and_then(|options| options.mss))?;
        found.set_item(format!("{name}_sack"), options.map(|options| options.sack))?;
        found.set_item(format!("{name}_stamps"), options.map(|options| options.stamp.is_some()))?;
        found.set_item(format!("{name}_scale"), options.and_then(|options| options.scale))?;
    }
    Ok(found)
}

/// Runs without the interpreter's lock, and stops after Ctrl-C.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let mut go_on = || match Python::attach(|py| py.check_signals()) {
        Ok(()) => true,
        Err(error) => {
            raised = Some(error);
            false
        }
    };
    let result = guarded(|| py.detach(|| work(&mut go_on)))
        .map_err(|defect| EngineDefectError::new_err((defect.message, defect.place)))?;
    result.map_err(|failure| match failure {
        Failure::Io(error) => error.into(),
        Failure::Content(content) => CaptureError::new_err(content.to_string()),
        Failure::Interrupted => raised.unwrap_or_else(|| CaptureError::new_err("interrupted")),
    })
}
