//! `my_stcp.py` in Rust: the skeleton written by `elephan export ./examples/my_stcp.py:MyStcp --to rust`, with its
//! arithmetic filled in.

use elephan_cc::param::{BuildError, Parameter, Settings, num};
use elephan_cc::{Ack, Algorithm, Event, Observe, Signal, Start, Tunable};

elephan_cc::params! {
    /// Parameters: default, smallest and largest value.
    pub struct Parameters {
        /// Growth for each segment acknowledged.
        increase: f64 = num(0.01, 1e-6, 1.0, Unit::Segments), "Kelly 2003";
        /// Multiplicative decrease of the window on a loss.
        decrease: f64 = num(0.125, 0.0, 1.0, Unit::None), "Kelly 2003";
        /// Window up to which standard TCP is used.
        legacy_window: f64 = num(16.0, 0.0, 1e9, Unit::Segments), "Kelly 2003";
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self { increase: 0.01, decrease: 0.125, legacy_window: 16.0 }
    }
}

/// The controller of one connection.
#[derive(Clone, Debug)]
pub struct MyStcp {
    parameters: Parameters,
    /// Congestion window, segments.
    window: f64,
    /// Slow start threshold, segments.
    ssthresh: f64,
    initial_window: f64,
    saved: Option<(f64, f64)>,
}

impl MyStcp {
    /// A controller before its first callback.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, window: 1.0, ssthresh: f64::INFINITY, initial_window: 0.0, saved: None }
    }

    fn reduced(&self) -> f64 {
        let part = if self.window <= self.parameters.legacy_window { 0.5 } else { self.parameters.decrease };
        ((1.0 - part) * self.window).max(2.0)
    }

    fn on_start(&mut self, start: &Start) {
        self.window = start.initial_window.max(1.0);
        self.ssthresh = start.initial_ssthresh.max(2.0);
        self.initial_window = self.window;
    }

    fn on_congestion(&mut self) {
        self.saved = Some((self.window, self.ssthresh));
        self.ssthresh = self.reduced();
        self.window = self.ssthresh;
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.saved = Some((self.window, self.ssthresh));
        if !signal.repeated {
            self.ssthresh = self.reduced();
        }
        self.window = 1.0;
    }

    fn moderate(&mut self, window: f64) {
        if window < self.window {
            self.window = window.max(1.0);
        }
    }

    fn on_undo(&mut self) {
        if let Some((window, ssthresh)) = self.saved.take() {
            self.window = self.window.max(window);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

impl Default for MyStcp {
    fn default() -> Self {
        Self::new(Parameters::default())
    }
}

impl Observe for MyStcp {}

impl Tunable for MyStcp {
    const PARAMETERS: &'static [Parameter] = Parameters::TABLE;

    fn tuned(settings: &Settings) -> Result<Self, BuildError> {
        Parameters::read(settings).map(Self::new)
    }
}

impl Algorithm for MyStcp {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_grow() {
            return;
        }
        let mut segments = ack.acked;
        if self.window < self.ssthresh {
            let wanted = self.window + segments;
            self.window = wanted.min(self.ssthresh);
            segments = (wanted - self.ssthresh).max(0.0);
        }
        if self.window <= self.parameters.legacy_window {
            self.window += segments / self.window;
        } else {
            self.window += segments * self.parameters.increase;
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.on_start(start),
            Event::Congestion(_) => self.on_congestion(),
            Event::Timeout(ref signal) => self.on_timeout(signal),
            Event::Idle { .. } => self.window = self.window.min(self.initial_window),
            Event::Moderate { window } | Event::Keep { window } => self.moderate(window),
            Event::Undo { .. } => self.on_undo(),
            _ => {}
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn recovery_floor(&self) -> f64 {
        self.ssthresh * 0.5
    }

    fn clone_boxed(&self) -> Option<Box<dyn Algorithm + Send>> {
        Some(Box::new(self.clone()))
    }
}
