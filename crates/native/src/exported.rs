//! The library's half: its content, and its objects behind a border that no panic crosses.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

use elephan_cc::param::Settings;
use elephan_cc::{Ack, Algorithm, BuildError, Event, Needs, Observer, Parameter, Tunable};

use crate::BUILT_FROM;

/// Length of the text that says what a library is built from.
const TEXT: usize = 128;

/// Told why values are not allowed: the parameter, if it is about one, and the reason.
pub type Refused<'a> = &'a mut dyn FnMut(Option<&str>, &str);

/// Content of a library under the name `ELEPHAN_ALGORITHM`. The text comes first and has a fixed length, so that it can
/// be read before anything else of the library is trusted.
#[repr(C)]
pub struct Exported {
    built_from: [u8; TEXT],
    /// Parameters of the algorithm.
    pub parameters: &'static [Parameter],
    /// Makes an object with checked values; `None` after a panic, or if the values contradict each other, which the last
    /// argument is told.
    pub make: fn(&Settings, Refused<'_>) -> Option<Box<dyn Hosted>>,
    /// Frees an object.
    pub free: fn(Box<dyn Hosted>),
}

impl Exported {
    /// The content of a library with the algorithm `T`, which has no parameters.
    #[must_use]
    pub const fn of<T: Algorithm + Clone + Default + Send + 'static>() -> Self {
        Self { built_from: Self::stamp(), parameters: &[], make: make::<T>, free: drop }
    }

    /// The content of a library with the algorithm `T` and its parameters.
    #[must_use]
    pub const fn tunable<T: Tunable + Clone + Send + 'static>() -> Self {
        Self { built_from: Self::stamp(), parameters: T::PARAMETERS, make: tuned::<T>, free: drop }
    }

    const fn stamp() -> [u8; TEXT] {
        let (text, mut built_from, mut i) = (BUILT_FROM.as_bytes(), [0; TEXT], 0);
        assert!(text.len() <= TEXT, "a version of the compiler that is this long");
        while i < text.len() {
            built_from[i] = text[i];
            i += 1;
        }
        built_from
    }

    /// Compiler and sources that the library is built from.
    #[must_use]
    pub fn built_from(&self) -> String {
        String::from_utf8_lossy(&self.built_from).trim_end_matches('\0').to_owned()
    }
}

/// Exports a type of this crate as the algorithm of the library: it is an [`Algorithm`], [`Clone`] and [`Send`], and
/// [`Default`] or, in `export!(Mine, tunable)`, [`Tunable`].
#[macro_export]
macro_rules! export {
    ($algorithm:ty) => {
        $crate::export!($algorithm, of);
    };
    ($algorithm:ty, $kind:ident) => {
        /// The algorithm of this library.
        #[unsafe(no_mangle)]
        pub static ELEPHAN_ALGORITHM: $crate::Exported = $crate::Exported::$kind::<$algorithm>();
    };
}

/// The answers that an endpoint reads after a call.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// Congestion window, segments.
    pub window: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// Pacing rate, segments/s.
    pub pacing_rate: Option<f64>,
    /// Smallest window during a recovery by rate halving, segments.
    pub recovery_floor: f64,
}

/// An object of a library. Each call returns `None` if it panicked.
pub trait Hosted: Send {
    /// The answers before the first call.
    fn answers(&mut self) -> Option<Answers>;
    /// Calls [`Algorithm::needs`].
    fn needs(&mut self) -> Option<Needs>;
    /// Calls [`Algorithm::on_ack`].
    fn on_ack(&mut self, ack: &Ack) -> Option<Answers>;
    /// Calls [`Algorithm::on_event`].
    fn on_event(&mut self, event: &Event) -> Option<Answers>;
    /// Calls [`Algorithm::takes_reduction`].
    fn takes_reduction(&mut self) -> Option<bool>;
    /// Calls [`elephan_cc::Observe::observe`].
    fn observe(&self, observer: &mut Observer<'_>);
    /// A copy with the same state.
    fn copy(&self) -> Option<Box<dyn Hosted>>;
    /// The text of the panic.
    fn panicked(&self) -> &str;
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

struct Host<T> {
    algorithm: T,
    panicked: String,
}

fn make<T: Algorithm + Clone + Default + Send + 'static>(_: &Settings, _: Refused<'_>) -> Option<Box<dyn Hosted>> {
    hosted(T::default)
}

fn tuned<T: Tunable + Clone + Send + 'static>(settings: &Settings, refused: Refused<'_>) -> Option<Box<dyn Hosted>> {
    let found: Result<T, BuildError> = caught(|| T::tuned(settings))?;
    match found {
        Ok(made) => hosted(|| made),
        Err(error) => {
            let problem = error.problem();
            refused(problem.parameter.as_deref(), &problem.message);
            None
        }
    }
}

fn hosted<T: Algorithm + Clone + Send + 'static>(make: impl FnOnce() -> T) -> Option<Box<dyn Hosted>> {
    let algorithm = caught(make)?;
    Some(Box::new(Host { algorithm, panicked: String::new() }))
}

/// Result of a function; `None` if it panicked.
fn caught<A>(call: impl FnOnce() -> A) -> Option<A> {
    static HOOK: Once = Once::new();
    // A library has a standard library of its own, so this is no hook of the engine.
    HOOK.call_once(|| {
        set_hook(Box::new(|info| {
            let place = info.location().map(|at| format!("{}:{}: ", at.file(), at.line())).unwrap_or_default();
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or("a panic without a text");
            LAST_PANIC.with(|last| *last.borrow_mut() = format!("{place}{text}"));
        }));
    });
    catch_unwind(AssertUnwindSafe(call)).ok()
}

impl<T: Algorithm> Host<T> {
    fn call<A>(&mut self, call: impl FnOnce(&mut T) -> A) -> Option<A> {
        let called = catch_unwind(AssertUnwindSafe(|| call(&mut self.algorithm)));
        if called.is_err() {
            self.panicked = LAST_PANIC.with(RefCell::take);
        }
        called.ok()
    }
}

fn read(algorithm: &impl Algorithm) -> Answers {
    Answers {
        window: algorithm.window(),
        ssthresh: algorithm.ssthresh(),
        pacing_rate: algorithm.pacing_rate(),
        recovery_floor: algorithm.recovery_floor(),
    }
}

impl<T: Algorithm + Clone + Send + 'static> Hosted for Host<T> {
    fn answers(&mut self) -> Option<Answers> {
        self.call(|algorithm| read(algorithm))
    }

    fn needs(&mut self) -> Option<Needs> {
        self.call(|algorithm| algorithm.needs())
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Answers> {
        self.call(|algorithm| {
            algorithm.on_ack(ack);
            read(algorithm)
        })
    }

    fn on_event(&mut self, event: &Event) -> Option<Answers> {
        self.call(|algorithm| {
            algorithm.on_event(event);
            read(algorithm)
        })
    }

    fn takes_reduction(&mut self) -> Option<bool> {
        self.call(Algorithm::takes_reduction)
    }

    fn observe(&self, observer: &mut Observer<'_>) {
        // A panic would cross the border here, and a run goes on without the numbers.
        let _ = catch_unwind(AssertUnwindSafe(|| self.algorithm.observe(observer)));
    }

    fn copy(&self) -> Option<Box<dyn Hosted>> {
        let copied = catch_unwind(AssertUnwindSafe(|| self.algorithm.clone())).ok()?;
        Some(Box::new(Host { algorithm: copied, panicked: String::new() }))
    }

    fn panicked(&self) -> &str {
        &self.panicked
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use elephan_cc::param::Settings;
    use elephan_cc::reno::Reno;
    use elephan_cc::{Observe, Start};

    use super::*;

    #[derive(Clone)]
    struct Fragile(Reno);

    impl Default for Fragile {
        fn default() -> Self {
            let settings = Settings::resolve(&Reno::ENTRY, "", &BTreeMap::new()).expect("defaults are allowed");
            Self(Reno::new(&settings).expect("defaults are allowed"))
        }
    }

    impl Observe for Fragile {}

    impl Algorithm for Fragile {
        fn on_ack(&mut self, ack: &Ack) {
            assert!(ack.acked < 2.0, "too many: {}", ack.acked);
            self.0.on_ack(ack);
        }
        fn on_event(&mut self, event: &Event) {
            self.0.on_event(event);
        }
        fn window(&self) -> f64 {
            self.0.window()
        }
        fn ssthresh(&self) -> f64 {
            self.0.ssthresh()
        }
    }

    #[test]
    fn a_panic_is_a_missing_answer_with_its_text() {
        let library = Exported::of::<Fragile>();
        assert_eq!(library.built_from(), BUILT_FROM);
        let none = Settings::new("it", library.parameters, &[], &BTreeMap::new()).expect("it has none");
        let mut object = (library.make)(&none, &mut |_, _| ()).expect("its Default does not panic");
        object.on_event(&Event::Start(Start::default())).expect("it starts");
        let ack = Ack { acked: 1.0, window_limited: true, ..Ack::default() };
        let before = object.on_ack(&ack).expect("one segment is not too many").window;
        let mut copy = object.copy().expect("it can be copied");
        assert!(object.on_ack(&Ack { acked: 2.0, ..ack }).is_none());
        assert!(object.panicked().ends_with("too many: 2"), "{}", object.panicked());
        assert_eq!(copy.on_ack(&ack).map(|answers| answers.window), Some(before + 1.0));
        (library.free)(object);
        (library.free)(copy);
    }
}
