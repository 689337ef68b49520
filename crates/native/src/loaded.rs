//! The engine's half: libraries by their files, and [`Algorithm`] for an object of one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use elephan_cc::param::Settings;
use elephan_cc::{Ack, Algorithm, Event, Needs, Observe, Observer, Parameter, Value};
use libloading::Library;

use crate::{Answers, BUILT_FROM, Exported, Hosted};

/// Name of what a library exports.
const SYMBOL: &[u8] = b"ELEPHAN_ALGORITHM";

/// Largest window that the engine accepts, segments.
pub const MOST_WINDOW: f64 = (1_u32 << 28) as f64;

/// Reason why a library has no algorithm for this engine.
#[derive(Debug)]
pub enum LoadError {
    /// The file is no library, or one without an algorithm.
    Library(String),
    /// The library is built by another compiler, or from other sources, which are named.
    Foreign(String),
    /// The algorithm panicked when it was made.
    Panicked,
    /// A value of a parameter, if it is about one, is not allowed.
    Parameter(Option<String>, String),
    /// The algorithm needs routers of its kind, to which a library has no interface.
    Routers,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(why) => write!(f, "it has no algorithm: {why}"),
            Self::Foreign(other) => {
                write!(f, "it is built from {other}, and the engine from {BUILT_FROM}; build it again with this engine")
            }
            Self::Panicked => write!(f, "it panicked when it was made"),
            Self::Parameter(Some(name), why) => write!(f, "{name}: {why}"),
            Self::Parameter(None, why) => write!(f, "{why}"),
            Self::Routers => write!(f, "it needs routers of its own, which only a built-in algorithm can have"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Told of the first failure of an object: the callback, the time, and the reason.
pub type Report = Arc<dyn Fn(&'static str, f64, String) + Send + Sync>;

/// An object of a library.
pub struct Loaded {
    library: &'static Exported,
    /// Always present until the object is dropped.
    object: Option<Box<dyn Hosted>>,
    needs: Needs,
    answers: Answers,
    /// Time of the last ACK, s.
    now: f64,
    has_failed: bool,
    report: Report,
}

/// The algorithm of a library with values of its parameters. A library stays loaded until the process ends.
///
/// # Errors
/// The file has no algorithm that this engine can run, or a value is not allowed.
pub fn load(path: &Path, values: &BTreeMap<String, Value>, report: Report) -> Result<Loaded, LoadError> {
    let library = known(path)?;
    let settings = Settings::new("the algorithm", library.parameters, &[], values).map_err(|error| {
        let problem = error.problem();
        LoadError::Parameter(problem.parameter.clone(), problem.message.clone())
    })?;
    let mut why = LoadError::Panicked;
    let object = (library.make)(&settings, &mut |parameter, text| {
        why = LoadError::Parameter(parameter.map(str::to_owned), text.to_owned());
    });
    let made = Loaded::new(library, object, report).ok_or(why)?;
    if made.needs.router.is_some() { Err(LoadError::Routers) } else { Ok(made) }
}

/// The parameters of a library's algorithm.
///
/// # Errors
/// The file has no algorithm that this engine can run.
pub fn parameters(path: &Path) -> Result<&'static [Parameter], LoadError> {
    known(path).map(|library| library.parameters)
}

fn known(path: &Path) -> Result<&'static Exported, LoadError> {
    static KNOWN: Mutex<BTreeMap<PathBuf, &'static Exported>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = known.get(path) {
        return Ok(library);
    }
    let library = open(path)?;
    known.insert(path.to_owned(), library);
    Ok(library)
}

#[allow(unsafe_code, reason = "a library is code that is found by a name")]
fn open(path: &Path) -> Result<&'static Exported, LoadError> {
    let wrong = |error: libloading::Error| LoadError::Library(error.to_string());
    // SAFETY: initializers of the library run here, as code of a user's algorithm does anyway.
    let library: &'static Library = Box::leak(Box::new(unsafe { Library::new(path) }.map_err(wrong)?));
    // SAFETY: the name is only that of `export!`, which gives it this type; the text at its start is read first.
    let exported = unsafe { library.get::<*const Exported>(SYMBOL) }.map_err(wrong)?;
    // SAFETY: as above, and the library is never unloaded.
    let exported: &'static Exported = unsafe { &**exported };
    if exported.built_from() != BUILT_FROM {
        return Err(LoadError::Foreign(exported.built_from()));
    }
    Ok(exported)
}

impl Loaded {
    fn new(library: &'static Exported, made: Option<Box<dyn Hosted>>, report: Report) -> Option<Self> {
        let mut found = Self {
            library,
            object: Some(made?),
            needs: Needs::default(),
            answers: Answers { window: 1.0, ssthresh: f64::INFINITY, pacing_rate: None, recovery_floor: 0.0 },
            now: 0.0,
            has_failed: false,
            report,
        };
        let object = found.object.as_mut()?;
        (found.needs, found.answers) = (object.needs()?, object.answers()?);
        Some(found)
    }

    /// Calls the object; `time` gives the time of a failure.
    fn call<A>(
        &mut self,
        callback: &'static str,
        time: impl FnOnce(f64) -> f64,
        call: impl FnOnce(&mut dyn Hosted) -> Option<A>,
    ) -> Option<A> {
        if self.has_failed {
            return None;
        }
        let answer = call(self.object.as_deref_mut()?);
        if answer.is_none() {
            let why = self.object.as_deref().map_or("", |object| object.panicked());
            let why = format!("panicked: {why}");
            self.fail(callback, time(self.now), why);
        }
        answer
    }

    fn fail(&mut self, callback: &'static str, now: f64, why: String) {
        self.has_failed = true;
        (self.report)(callback, now, why);
    }

    fn take(&mut self, callback: &'static str, answers: Option<Answers>) {
        let Some(answers) = answers else { return };
        match answers.refused() {
            Some(why) => self.fail(callback, self.now, why),
            None => self.answers = answers,
        }
    }
}

/// Time of an event, s; `before` if it has none.
fn time_of(event: &Event, before: f64) -> f64 {
    let mut time = None;
    event.details(&mut |name, detail| time = time.or_else(|| detail.time(name)));
    time.unwrap_or(before)
}

impl Answers {
    /// The reason why an endpoint cannot use them.
    fn refused(&self) -> Option<String> {
        let Self { window, ssthresh, pacing_rate, recovery_floor } = *self;
        if !(1.0..=MOST_WINDOW).contains(&window) {
            let most = MOST_WINDOW;
            return Some(format!(
                "window is {window:?}; it must be from 1 to {most} segments (2^28), the most in flight"
            ));
        }
        if ssthresh.is_nan() || ssthresh <= 0.0 {
            return Some(format!("ssthresh is {ssthresh}; it must be a number of segments above 0, or infinite"));
        }
        if recovery_floor.is_nan() {
            return Some(format!("recovery_floor is {recovery_floor}"));
        }
        let rate = pacing_rate.filter(|rate| !(*rate > 0.0 && rate.is_finite()))?;
        Some(format!("pacing_rate is {rate}; it must be segments per second above 0, or None"))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            (self.library.free)(object);
        }
    }
}

impl Observe for Loaded {
    fn observe(&self, observer: &mut Observer<'_>) {
        if let Some(object) = &self.object {
            object.observe(observer);
        }
    }
}

impl Algorithm for Loaded {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        let answers = self.call("on_ack", |now| now, |object| object.on_ack(ack));
        self.take("on_ack", answers);
    }
    fn on_event(&mut self, event: &Event) {
        let answers = self.call(event.callback(), |before| time_of(event, before), |object| object.on_event(event));
        self.take(event.callback(), answers);
    }
    fn window(&self) -> f64 {
        self.answers.window
    }
    fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }
    fn needs(&self) -> Needs {
        self.needs
    }
    fn recovery_floor(&self) -> f64 {
        self.answers.recovery_floor
    }
    fn takes_reduction(&mut self) -> bool {
        self.call("takes_reduction", |now| now, |object| object.takes_reduction()).unwrap_or(false)
    }
    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        let copied = self.object.as_ref()?.copy();
        Self::new(self.library, copied, self.report.clone()).map(|copy| Box::new(copy) as _)
    }
}
