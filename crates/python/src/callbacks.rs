//! Arguments of the callbacks of an algorithm written in Python: [`elephan_cc`]'s own structures, whose fields are
//! converted on access. The structures can also be constructed by keyword, so that an algorithm can be tested without a
//! simulation.

use elephan_cc::linux::{Recovery, Restart, Sample};
use elephan_cc::{Ack, Cause, Delivery, Detail, Lost, Sent, Signal, Start};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A field of a structure, and its type in Python.
trait Field: Sized {
    type Python;

    /// The value in Python.
    fn shown(self) -> Self::Python;

    /// The value of an argument.
    fn given(python: Self::Python) -> PyResult<Self>;
}

macro_rules! same_in_python {
    ($($ty:ty),+) => {
        $(impl Field for $ty {
            type Python = $ty;

            fn shown(self) -> $ty {
                self
            }

            fn given(python: $ty) -> PyResult<Self> {
                Ok(python)
            }
        })+
    };
}

same_in_python!(f64, bool, u32, u64, Option<f64>, (f64, f64));

/// Declares the words of an enum in Python.
macro_rules! words_in_python {
    ($($ty:ident as $name:literal, $expected:literal { $($variant:ident = $word:literal),+ })+) => {
        $(impl Field for $ty {
            type Python = String;

            fn shown(self) -> String {
                match self { $($ty::$variant => $word),+ }.to_owned()
            }

            fn given(python: String) -> PyResult<Self> {
                match python.as_str() {
                    $($word => Ok($ty::$variant),)+
                    other => Err(PyValueError::new_err(format!(concat!($name, ": '{}' is ", $expected), other))),
                }
            }
        })+
    };
}

words_in_python! {
    Cause as "cause", "neither 'loss' nor 'ecn'" { Loss = "loss", Ecn = "ecn" }
    Recovery as "state", "not 'open', 'disorder' or 'repair'" { Open = "open", Disorder = "disorder", Repair = "repair" }
}

/// A frozen class around a structure: a keyword and a getter for each field, a getter for each derived value, and a `repr`
/// that names the fields.
macro_rules! told {
    ($(#[$meta:meta])* $class:ident($inner:ident) as $name:literal {
        $($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $default:expr),+ $(,)?
    } $(derived { $($(#[doc = $derived_doc:literal])+ $derived:ident: $derived_ty:ty),+ $(,)? })? $(..$rest:expr)?) => {
        $(#[$meta])*
        #[pyclass(frozen, from_py_object, module = "elephan", name = $name)]
        #[derive(Clone, Copy, Debug)]
        pub struct $class(pub $inner);

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (*, $($field = $default),+))]
            #[allow(clippy::too_many_arguments, reason = "a keyword for each field")]
            fn new($($field: $ty),+) -> PyResult<Self> {
                Ok(Self($inner { $($field: Field::given($field)?,)+ $(..$rest)? }))
            }
            $($(#[doc = $doc])+ #[getter] fn $field(&self) -> $ty { self.0.$field.shown() })+
            $($($(#[doc = $derived_doc])+ #[getter] fn $derived(&self) -> $derived_ty { self.0.$derived() })+)?

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields: Vec<String> = vec![$(written(py, stringify!($field), self.$field())?),+];
                Ok(format!(concat!($name, "({})"), fields.join(", ")))
            }

            /// For pickle and copy.
            fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
                let fields = PyDict::new(py);
                $(fields.set_item(stringify!($field), self.$field())?;)+
                Ok(((), fields))
            }
        }

        impl Field for Option<$inner> {
            type Python = Option<$class>;

            fn shown(self) -> Option<$class> {
                self.map($class)
            }

            fn given(python: Option<$class>) -> PyResult<Self> {
                Ok(python.map(|class| class.0))
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

told! {
    /// A Linux host's sample of an ACK, which its modules get in `pkts_acked` before the ACK changes the state of loss
    /// recovery.
    PySample(Sample) as "Sample" {
        /// State of loss recovery before the ACK: "open", "disorder" (segments are SACKed) or "repair".
        state: String = "open".to_owned(),
        /// State after the ACK, in which Linux calls its modules' `cong_avoid`.
        then: String = "open".to_owned(),
        /// Lowest unacknowledged segment after the ACK (`snd_una`).
        una: u32 = 0,
        /// Next new segment (`snd_nxt`).
        next: u32 = 0,
        /// Segments that the ACK acknowledges cumulatively, SACKed ones included.
        acked: f64 = 0.0,
        /// SACKed segments above `una` after the ACK (`sacked_out`).
        sacked: u32 = 0,
        /// True if Linux processes the ACK on its slow path: it has SACK blocks, echoes a mark or changes the window.
        is_slow: bool = false,
        /// Largest burst that segmentation offload sends, segments; 0 without offload.
        largest_burst: f64 = 0.0,
        /// Window before the ACK, segments; in a recovery that of the endpoint's recovery rule.
        window: f64 = 0.0,
        /// The ACK's two timestamps, s: the one that it echoes, and its own; only with the need "one_way_delay".
        timestamps: (f64, f64) = (0.0, 0.0),
    }
}

told! {
    /// An ACK that acknowledges new data, cumulatively or by SACK.
    PyAck(Ack) as "Ack" {
        /// Arrival time at the sender, s.
        now: f64 = 0.0,
        /// Segments newly delivered by this ACK, each counted once.
        acked: f64 = 1.0,
        /// Round-trip time of the newest segment that this ACK reports, s.
        rtt: Option<f64> = None,
        /// One-way delay of the same segment by the two hosts' clocks, s; only with the need "one_way_delay".
        owd: Option<f64> = None,
        /// Smallest RTT since the connection began, s; infinite before the first sample.
        min_rtt: f64 = f64::INFINITY,
        /// RFC 6298 smoothed RTT, s; 0 before the first sample.
        srtt: f64 = 0.0,
        /// Delivery-rate sample; only with the need "delivery".
        delivery: Option<PyDelivery> = None,
        /// Segments outstanding after this ACK.
        in_flight: f64 = 0.0,
        /// Window in force when the newest acknowledged segment was sent; 0 without the need "window_at_send".
        window_at_send: f64 = 0.0,
        /// True for the first ACK of a new round trip.
        round_start: bool = false,
        /// True if the endpoint is in fast recovery, or if this duplicate ACK may begin one; the window must not change.
        in_recovery: bool = false,
        /// Sample of a Linux host; `None` with other hosts.
        sample: Option<PySample> = None,
        /// True if the window, and not the application or the receiver, limited the sender.
        window_limited: bool = true,
        /// Newly delivered segments that carried an ECN mark of a queue; only with the needs "accurate_ecn" and "l4s".
        marked: f64 = 0.0,
    } derived {
        /// True if the window may grow: the flow is not in recovery, and the window limits it.
        may_grow: bool,
        /// Time at which the newest segment that this ACK reports was sent, s.
        sent_at: f64,
    } ..Ack::default()
}

told! {
    /// A congestion signal or a timeout.
    PySignal(Signal) as "Signal" {
        /// Seconds.
        now: f64 = 0.0,
        /// Segments outstanding just before the loss was detected.
        in_flight: f64 = 0.0,
        /// "loss" or "ecn".
        cause: String = "loss".to_owned(),
        /// Smoothed RTT, s.
        srtt: f64 = 0.0,
        /// Smallest RTT so far, s.
        min_rtt: f64 = f64::INFINITY,
        /// True for a timeout that follows another one without new data acknowledged between them.
        repeated: bool = false,
        /// Segments that a timeout leaves in flight: those of the last RTT under RACK, and none with other stacks.
        kept: f64 = 0.0,
    }
}
