//! Arguments of the callbacks of an algorithm written in Python: [`elephan_cc`]'s own structures, whose fields are
//! converted on access. The structures can also be constructed by keyword, so that an algorithm can be tested without a
//! simulation.

use elephan_cc::linux::Restart;
use elephan_cc::{Ack, Cause, Delivery, Detail, Lost, Sent, Signal, Start};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A frozen class around a structure: a keyword and a getter for each field, and a `repr` that names them.
macro_rules! told {
    ($(#[$meta:meta])* $class:ident($inner:ident) as $name:literal {
        $($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $default:expr),+ $(,)?
    }) => {
        $(#[$meta])*
        #[pyclass(frozen, module = "elephan", name = $name)]
        #[derive(Clone, Copy, Debug)]
        pub struct $class(pub $inner);

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (*, $($field = $default),+))]
            #[allow(clippy::too_many_arguments, reason = "a keyword for each field")]
            fn new($($field: $ty),+) -> Self {
                Self($inner { $($field),+ })
            }
            $($(#[doc = $doc])+ #[getter] fn $field(&self) -> $ty { self.0.$field })+

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields: Vec<String> = vec![$(written(py, stringify!($field), self.0.$field)?),+];
                Ok(format!(concat!($name, "({})"), fields.join(", ")))
            }

            /// For pickle and copy.
            fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
                let fields = PyDict::new(py);
                $(fields.set_item(stringify!($field), self.0.$field)?;)+
                Ok(((), fields))
            }
        }
    };
}

/// Argument of a callback for a detail of its event.
pub fn told<'py>(py: Python<'py>, detail: Detail<'_>) -> PyResult<Bound<'py, PyAny>> {
    match detail {
        Detail::Number(number) => number.into_bound_py_any(py),
        Detail::Count(count) => count.into_bound_py_any(py),
        Detail::Start(start) => PyStart(*start).into_bound_py_any(py),
        Detail::Ack(ack) => PyAck(*ack).into_bound_py_any(py),
        Detail::Signal(signal) => PySignal(*signal).into_bound_py_any(py),
        Detail::Sent(sent) => PySent(*sent).into_bound_py_any(py),
        Detail::Lost(lost) => PyLost(*lost).into_bound_py_any(py),
        Detail::Restart(restart) => PyRestart(*restart).into_bound_py_any(py),
    }
}

/// Time of an event of which `detail` is known under `name`, s.
pub fn time_of(name: &str, detail: Detail<'_>) -> Option<f64> {
    match detail {
        Detail::Number(now) => (name == "now").then_some(now),
        Detail::Count(_) => None,
        Detail::Start(start) => Some(start.now),
        Detail::Ack(ack) => Some(ack.now),
        Detail::Signal(signal) => Some(signal.now),
        Detail::Sent(sent) => Some(sent.now),
        Detail::Lost(lost) => Some(lost.now),
        Detail::Restart(restart) => Some(restart.now),
    }
}

/// A field in Python's notation.
fn written<'py, T: IntoPyObject<'py>>(py: Python<'py>, name: &str, value: T) -> PyResult<String> {
    let value = value.into_bound_py_any(py)?;
    Ok(format!("{name}={}", value.repr()?))
}

told! {
    /// Start of a connection.
    PyStart(Start) as "Start" {
        /// Seconds.
        now: f64 = 0.0,
        /// Segments.
        initial_window: f64 = 10.0,
        /// Initial slow start threshold, segments; infinite if slow start lasts until the first loss.
        initial_ssthresh: f64 = f64::INFINITY,
        /// Payload of a segment, bytes.
        segment_bytes: f64 = 1448.0,
        /// Timer interrupts a second of the sending host (Linux's `HZ`).
        hz: f64 = 1000.0,
        /// Seed of the algorithm's random numbers, if it uses any.
        seed: u64 = 0,
        /// RTT of the handshake, s; `None` if it was not measured.
        rtt: Option<f64> = None,
    }
}

told! {
    /// A segment put on the wire.
    PySent(Sent) as "Sent" {
        /// Seconds.
        now: f64 = 0.0,
        /// Segments outstanding, itself included.
        in_flight: f64 = 1.0,
        /// True if the segment was sent before.
        retransmission: bool = false,
    }
}

told! {
    /// A segment put on the wire while no segment is in flight, on a Linux host.
    PyRestart(Restart) as "Restart" {
        /// Seconds.
        now: f64 = 0.0,
        /// Number of the next new segment.
        next: u32 = 0,
        /// Time since the last transmission, s, in whole timer interrupts of the host.
        idle: f64 = 0.0,
        /// True if the application limits the delivery rate; false if the algorithm's `needs` do not contain "delivery".
        application_limited: bool = false,
    }
}

told! {
    /// A segment declared lost.
    PyLost(Lost) as "Lost" {
        /// Seconds.
        now: f64 = 0.0,
        /// Time at which the segment was last sent, s.
        sent_at: f64 = 0.0,
        /// Segments delivered on this connection so far. `delivered` and the fields below it are 0 if the algorithm's
        /// `needs` do not contain "delivery".
        delivered: f64 = 0.0,
        /// Value of `delivered` at the time when the segment was sent.
        prior_delivered: f64 = 0.0,
        /// True if the application, not the window, limited the sender when the segment was sent.
        app_limited: bool = false,
        /// Segments outstanding when the segment was sent, itself included.
        tx_in_flight: f64 = 0.0,
        /// Segments found lost since the segment was sent, itself included.
        lost: f64 = 0.0,
        /// True if a timer, and not an ACK, shows the loss.
        by_timer: bool = false,
    }
}

told! {
    /// A delivery-rate sample, of the newest segment that an ACK reports.
    PyDelivery(Delivery) as "Delivery" {
        /// Delivery rate, segments/s; `None` if the interval is too short for a reliable rate.
        rate: Option<f64> = None,
        /// Interval of the sample, s: the longer of the time in which its segments were sent and the time in which they
        /// were acknowledged.
        interval: f64 = 0.0,
        /// Segments delivered on this connection so far, this ACK included.
        delivered: f64 = 0.0,
        /// Value of `delivered` at the time when the segment was sent.
        prior_delivered: f64 = 0.0,
        /// True if the application, not the window, limited the sender when the segment was sent.
        app_limited: bool = false,
        /// Segments outstanding when the segment was sent, itself included.
        tx_in_flight: f64 = 0.0,
        /// Segments found lost since the segment was sent.
        lost: f64 = 0.0,
        /// Time until the pacing lets the next segment leave, s; 0 if the segment may leave now.
        departs_in: f64 = 0.0,
    }
}

/// An ACK that acknowledges new data, cumulatively or by SACK.
#[pyclass(frozen, module = "elephan", name = "Ack")]
#[derive(Clone, Copy, Debug)]
pub struct PyAck(pub Ack);

#[pymethods]
impl PyAck {
    #[new]
    #[pyo3(signature = (
        *, now = 0.0, acked = 1.0, rtt = None, owd = None, min_rtt = f64::INFINITY, srtt = 0.0, delivery = None,
        in_flight = 0.0, window_at_send = 0.0, round_start = false, in_recovery = false, window_limited = true, marked = 0.0
    ))]
    #[allow(clippy::too_many_arguments, reason = "a keyword for each field")]
    fn new(
        now: f64,
        acked: f64,
        rtt: Option<f64>,
        owd: Option<f64>,
        min_rtt: f64,
        srtt: f64,
        delivery: Option<Bound<'_, PyDelivery>>,
        in_flight: f64,
        window_at_send: f64,
        round_start: bool,
        in_recovery: bool,
        window_limited: bool,
        marked: f64,
    ) -> Self {
        let delivery = delivery.map(|sample| sample.get().0);
        Self(Ack {
            now,
            acked,
            rtt,
            owd,
            min_rtt,
            srtt,
            delivery,
            in_flight,
            window_at_send,
            round_start,
            in_recovery,
            sample: None,
            window_limited,
            marked,
            answer: None,
        })
    }

    /// Arrival time at the sender, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now
    }
    /// Segments newly delivered by this ACK, each counted once.
    #[getter]
    fn acked(&self) -> f64 {
        self.0.acked
    }
    /// Round-trip time of the newest segment that this ACK reports, s.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt
    }
    /// One-way delay of the same segment by the two hosts' clocks, s; only with the need "one_way_delay".
    #[getter]
    fn owd(&self) -> Option<f64> {
        self.0.owd
    }
    /// Smallest RTT since the connection began, s; infinite before the first sample.
    #[getter]
    fn min_rtt(&self) -> f64 {
        self.0.min_rtt
    }
    /// RFC 6298 smoothed RTT, s; 0 before the first sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.0.srtt
    }
    /// Delivery-rate sample; only with the need "delivery".
    #[getter]
    fn delivery(&self) -> Option<PyDelivery> {
        self.0.delivery.map(PyDelivery)
    }
    /// Segments outstanding after this ACK.
    #[getter]
    fn in_flight(&self) -> f64 {
        self.0.in_flight
    }
    /// Window in force when the newest acknowledged segment was sent; 0 without the need "window_at_send".
    #[getter]
    fn window_at_send(&self) -> f64 {
        self.0.window_at_send
    }
    /// True for the first ACK of a new round trip.
    #[getter]
    fn round_start(&self) -> bool {
        self.0.round_start
    }
    /// True if the endpoint is in fast recovery, or if this duplicate ACK may begin one; the window must not change.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }
    /// True if the window, and not the application or the receiver, limited the sender.
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }
    /// Newly delivered segments that carried an ECN mark of a queue; only with the needs "accurate_ecn" and "l4s".
    #[getter]
    fn marked(&self) -> f64 {
        self.0.marked
    }
    /// True if the window may grow: the flow is not in recovery, and the window limits it.
    #[getter]
    fn may_grow(&self) -> bool {
        self.0.may_grow()
    }
    /// Time at which the newest segment that this ACK reports was sent, s.
    #[getter]
    fn sent_at(&self) -> f64 {
        self.0.sent_at()
    }

    /// For pickle and copy.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
        let (a, fields) = (&self.0, PyDict::new(py));
        for (name, value) in [
            ("now", a.now),
            ("acked", a.acked),
            ("min_rtt", a.min_rtt),
            ("srtt", a.srtt),
            ("in_flight", a.in_flight),
            ("window_at_send", a.window_at_send),
            ("marked", a.marked),
        ] {
            fields.set_item(name, value)?;
        }
        for (name, value) in [("rtt", a.rtt), ("owd", a.owd)] {
            fields.set_item(name, value)?;
        }
        for (name, value) in
            [("round_start", a.round_start), ("in_recovery", a.in_recovery), ("window_limited", a.window_limited)]
        {
            fields.set_item(name, value)?;
        }
        fields.set_item("delivery", self.delivery())?;
        Ok(((), fields))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let a = &self.0;
        let fields = [
            written(py, "now", a.now)?,
            written(py, "acked", a.acked)?,
            written(py, "rtt", a.rtt)?,
            written(py, "srtt", a.srtt)?,
            written(py, "in_flight", a.in_flight)?,
            written(py, "in_recovery", a.in_recovery)?,
        ];
        Ok(format!("Ack({})", fields.join(", ")))
    }
}

/// A congestion signal or a timeout.
#[pyclass(frozen, module = "elephan", name = "Signal")]
#[derive(Clone, Copy, Debug)]
pub struct PySignal(pub Signal);

#[pymethods]
impl PySignal {
    #[new]
    #[pyo3(signature = (*, now = 0.0, in_flight = 0.0, cause = "loss", srtt = 0.0, min_rtt = f64::INFINITY, repeated = false, kept = 0.0))]
    fn new(
        now: f64,
        in_flight: f64,
        cause: &str,
        srtt: f64,
        min_rtt: f64,
        repeated: bool,
        kept: f64,
    ) -> PyResult<Self> {
        let cause = match cause {
            "loss" => Cause::Loss,
            "ecn" => Cause::Ecn,
            other => return Err(PyValueError::new_err(format!("cause: '{other}' is neither 'loss' nor 'ecn'"))),
        };
        Ok(Self(Signal { now, in_flight, cause, srtt, min_rtt, repeated, kept }))
    }

    /// Seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now
    }
    /// Segments outstanding just before the loss was detected.
    #[getter]
    fn in_flight(&self) -> f64 {
        self.0.in_flight
    }
    /// "loss" or "ecn".
    #[getter]
    fn cause(&self) -> &'static str {
        match self.0.cause {
            Cause::Loss => "loss",
            Cause::Ecn => "ecn",
        }
    }
    /// Smoothed RTT, s.
    #[getter]
    fn srtt(&self) -> f64 {
        self.0.srtt
    }
    /// Smallest RTT so far, s.
    #[getter]
    fn min_rtt(&self) -> f64 {
        self.0.min_rtt
    }
    /// True for a timeout that follows another one without new data acknowledged between them.
    #[getter]
    fn repeated(&self) -> bool {
        self.0.repeated
    }
    /// Segments that a timeout leaves in flight: those of the last RTT under RACK, and none with other stacks.
    #[getter]
    fn kept(&self) -> f64 {
        self.0.kept
    }

    /// For pickle and copy.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
        let (s, fields) = (&self.0, PyDict::new(py));
        for (name, value) in
            [("now", s.now), ("in_flight", s.in_flight), ("srtt", s.srtt), ("min_rtt", s.min_rtt), ("kept", s.kept)]
        {
            fields.set_item(name, value)?;
        }
        fields.set_item("cause", self.cause())?;
        fields.set_item("repeated", s.repeated)?;
        Ok(((), fields))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let s = &self.0;
        let fields = [
            written(py, "now", s.now)?,
            written(py, "in_flight", s.in_flight)?,
            written(py, "cause", self.cause())?,
            written(py, "repeated", s.repeated)?,
        ];
        Ok(format!("Signal({})", fields.join(", ")))
    }
}
