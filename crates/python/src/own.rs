//! A user's own algorithm: [`Algorithm`] for a Python object.

use std::sync::{Arc, OnceLock};

use elephan_cc::{Ack, Algorithm, Ecn, Event, Form, Needs, Observe, Observer, linux};
use elephan_sim::spec::MOST_IN_FLIGHT;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::callbacks::{PyAck, told};

/// An event: its callback, the pattern of its variant in Rust up to the details, and the details with their types.
type Described = (&'static str, String, Vec<(&'static str, &'static str)>);

/// Events of an algorithm, in the order of their declaration.
#[pyfunction]
pub fn events() -> Vec<Described> {
    let form = |path: &str, form: &Form| (form.callback, format!("{path}{}", form.variant), form.details.to_vec());
    let general = Event::FORMS.iter().map(|event| form("Event::", event));
    general.chain(linux::Event::FORMS.iter().map(|event| form("Event::Linux(linux::Event::", event))).collect()
}

/// The first exception of a run; no callback is called after it.
#[derive(Debug)]
pub struct Raised {
    /// Index of the flow whose algorithm raised.
    pub flow: usize,
    /// Name of the callback.
    pub callback: &'static str,
    /// Simulated time, s.
    pub now: f64,
    /// The exception.
    pub error: PyErr,
}

/// First exception of the algorithms of one run.
pub type Failure = Arc<OnceLock<Raised>>;

/// The Python object of one flow, and its answers after its last callback.
pub struct Own {
    object: Py<PyAny>,
    /// Makes the objects of a source's transfers.
    maker: Option<Py<PyAny>>,
    flow: usize,
    needs: Needs,
    now: f64,
    window: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    failure: Failure,
}

impl Own {
    /// # Errors
    /// The exception that the object raises while its needs are read.
    pub fn new(object: &Bound<'_, PyAny>, flow: usize, failure: Failure) -> PyResult<Self> {
        let words: Vec<String> = object.call_method0(intern!(object.py(), "_needs"))?.extract()?;
        Ok(Self {
            object: object.clone().unbind(),
            maker: None,
            flow,
            needs: needs(&words)?,
            now: 0.0,
            window: 1.0,
            ssthresh: f64::INFINITY,
            pacing_rate: None,
            failure,
        })
    }

    /// The algorithm of a source: `maker` is called without arguments for the object of each transfer.
    ///
    /// # Errors
    /// The exception that `maker` or its object raises.
    pub fn of_source(maker: &Bound<'_, PyAny>, source: usize, failure: Failure) -> PyResult<Self> {
        Ok(Self { maker: Some(maker.clone().unbind()), ..Self::new(&maker.call0()?, source, failure)? })
    }

    /// The algorithm of the next transfer of a source.
    fn of_transfer(&self) -> Option<Self> {
        let maker = self.maker.as_ref()?;
        let (failure, source) = (self.failure.clone(), self.flow);
        let made = Python::attach(|py| Self::new(&maker.bind(py).call0()?, source, failure));
        Some(made.unwrap_or_else(|error| {
            self.raise("__init__", error);
            // The run ends before this transfer's first callback.
            Self {
                object: Python::attach(|py| self.object.clone_ref(py)),
                maker: None,
                failure: self.failure.clone(),
                ..*self
            }
        }))
    }

    /// Calls a callback, and then reads the object's window, threshold and pacing rate.
    #[inline]
    fn call<A>(&mut self, callback: &'static str, now: f64, call: A)
    where
        A: FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
    {
        if self.failure.get().is_some() {
            return;
        }
        self.now = now;
        let done = Python::attach(|py| {
            let object = self.object.bind(py).clone();
            call(&object)?;
            self.look(&object)
        });
        if let Err(error) = done {
            self.raise(callback, error);
        }
    }

    fn raise(&self, callback: &'static str, error: PyErr) {
        // Only the first exception counts; no callback is called after it.
        let _ = self.failure.set(Raised { flow: self.flow, callback, now: self.now, error });
    }

    #[inline]
    fn look(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let window = number(object, intern!(py, "window"))?;
        let ssthresh = number(object, intern!(py, "ssthresh"))?;
        if !(1.0..=f64::from(MOST_IN_FLIGHT)).contains(&window) {
            let most = MOST_IN_FLIGHT;
            return refuse(format!(
                "window is {window:?}; it must be from 1 to {most} segments (2^28), the most in flight"
            ));
        }
        if ssthresh.is_nan() || ssthresh <= 0.0 {
            return refuse(format!("ssthresh is {ssthresh}; it must be a number of segments above 0, or infinite"));
        }
        (self.window, self.ssthresh) = (window, ssthresh);
        if self.needs.pacing {
            let name = intern!(py, "pacing_rate");
            let none = object.getattr(name)?.is_none();
            self.pacing_rate = if none { None } else { Some(number(object, name)?) };
            if let Some(rate) = self.pacing_rate {
                if !(rate > 0.0 && rate < f64::INFINITY) {
                    return refuse(format!("pacing_rate is {rate}; it must be segments per second above 0, or None"));
                }
            }
        }
        Ok(())
    }
}

/// Rejects a pacing rate of an algorithm without the need "pacing". Checking once a round trip finds the error at
/// almost no cost.
fn check_unasked(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if object.getattr(intern!(object.py(), "pacing_rate"))?.is_none() {
        return Ok(());
    }
    refuse("pacing_rate is set, but 'pacing' is not among its needs".to_owned())
}

/// Reads an attribute, which must be a number.
#[inline]
fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<f64> {
    let value = object.getattr(name)?;
    value.extract().map_err(|_| PyTypeError::new_err(format!("{name} is {value:?}, which is not a number")))
}

/// An entry of the dictionary that `observe` returns.
fn named(name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<(String, f64)> {
    let Ok(name) = name.extract::<String>() else {
        return Err(PyTypeError::new_err(format!("observe returned the name {name:?}, which is not a text")));
    };
    match value.extract() {
        Ok(number) => Ok((name, number)),
        Err(_) => Err(PyTypeError::new_err(format!("observe returned {value:?} for '{name}', which is not a number"))),
    }
}

fn refuse(message: String) -> PyResult<()> {
    Err(PyValueError::new_err(message))
}

/// # Errors
/// An unknown need.
fn needs(words: &[String]) -> PyResult<Needs> {
    let mut needs = Needs::default();
    for word in words {
        match word.as_str() {
            "window_at_send" => needs.window_at_send = true,
            "one_way_delay" => needs.one_way_delay = true,
            "delivery" => needs.delivery = true,
            "losses" => needs.losses = true,
            "sends" => needs.sends = true,
            "restarts" => needs.restarts = true,
            "idle_timeouts" => needs.idle_timeouts = true,
            "reductions" => needs.reductions = true,
            "pacing" => needs.pacing = true,
            "own_recovery" => needs.own_recovery = true,
            "accurate_ecn" => needs.ecn = Ecn::Accurate,
            "l4s" => needs.ecn = Ecn::L4s,
            other => return Err(PyValueError::new_err(format!("'{other}' is not a need"))),
        }
    }
    Ok(needs)
}

impl Observe for Own {
    fn observe(&self, observer: &mut Observer<'_>) {
        if self.failure.get().is_some() {
            return;
        }
        let observed: PyResult<Vec<(String, f64)>> = Python::attach(|py| {
            let given = self.object.bind(py).call_method0(intern!(py, "observe"))?;
            let Ok(given) = given.cast_into::<PyDict>() else {
                return Err(PyTypeError::new_err("observe returned no dictionary of names and numbers"));
            };
            given.iter().map(|(name, value)| named(&name, &value)).collect()
        });
        match observed {
            Ok(variables) => variables.iter().for_each(|(name, value)| observer(name, *value)),
            Err(error) => self.raise("observe", error),
        }
    }
}

impl Algorithm for Own {
    fn on_ack(&mut self, ack: &Ack) {
        let told = PyAck(*ack);
        let look_closer = ack.round_start && !self.needs.pacing;
        self.call("on_ack", ack.now, |o| {
            o.call_method1(intern!(o.py(), "on_ack"), (told,))?;
            if look_closer { check_unasked(o) } else { Ok(()) }
        });
    }
    fn on_event(&mut self, event: &Event) {
        let mut details = Vec::new();
        event.details(&mut |name, detail| details.push((name, detail)));
        let now = details.iter().find_map(|&(name, detail)| detail.time(name)).unwrap_or(self.now);
        self.call(event.callback(), now, |o| {
            let arguments = details.iter().map(|(_, detail)| told(o.py(), *detail)).collect::<PyResult<Vec<_>>>()?;
            let callback = PyString::intern(o.py(), event.callback());
            o.call_method1(callback, PyTuple::new(o.py(), arguments)?).map(drop)
        });
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn recovery_floor(&self) -> f64 {
        if self.failure.get().is_some() {
            return self.ssthresh;
        }
        let floor = Python::attach(|py| {
            let floor = number(self.object.bind(py), intern!(py, "recovery_floor"))?;
            if floor.is_nan() { refuse(format!("recovery_floor is {floor}")).map(|()| floor) } else { Ok(floor) }
        });
        floor.unwrap_or_else(|error| {
            self.raise("recovery_floor", error);
            self.ssthresh
        })
    }
    fn takes_reduction(&mut self) -> bool {
        let mut is_wanted = false;
        self.call("takes_reduction", self.now, |o| {
            let answer = o.call_method0(intern!(o.py(), "takes_reduction"))?;
            is_wanted = answer.extract().map_err(|_| {
                PyTypeError::new_err(format!("takes_reduction returned {answer:?}, which is neither True nor False"))
            })?;
            Ok(())
        });
        is_wanted
    }
    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        self.of_transfer().map(|made| Box::new(made) as _)
    }
}
