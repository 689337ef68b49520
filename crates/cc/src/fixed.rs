//! A constant window: no congestion control at all.
//!
//! Variant: none. A flow with this window shows the capacity of a path, an endpoint or the simulator itself without
//! congestion control. The benchmark uses the constant window as its upper bound.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::observe::Observe;
use crate::param::{BuildError, Entry, Kind, Preset, Settings, num, params};

params! {
    /// Parameters of the constant window.
    pub struct FixedParams {
        /// The constant window.
        window: f64 = num(100.0, 1.0, 268_435_456.0, Unit::Segments), "the user's";
    }
}

/// A constant window.
#[derive(Clone, Debug)]
pub struct Fixed {
    p: FixedParams,
}

impl Fixed {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "fixed",
        title: "Constant window",
        kind: Kind::Loss,
        signals: &[],
        source: "no congestion control; RFC 9293 §3.8.6 (the window alone)",
        doc: "A constant window, which neither ACKs nor losses change: the reference for a comparison with an \
              algorithm.",
        presets: &[Preset::new("", "a constant window", &[])],
        tables: &[FixedParams::TABLE],
        variables: &[],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self { p: FixedParams::read(settings)? })
    }
}

impl Observe for Fixed {}

impl Algorithm for Fixed {
    #[inline]
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_event(&mut self, _event: &Event) {}

    #[inline]
    fn window(&self) -> f64 {
        self.p.window
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.p.window
    }

    fn needs(&self) -> Needs {
        Needs { unhosted: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::param::Value;
    use crate::reports::Cause;
    use crate::reports::Signal;

    #[test]
    fn nothing_changes_the_window() {
        let parameters = BTreeMap::from([("window".to_owned(), Value::Num(7.0))]);
        let mut fixed = crate::build("fixed", &parameters).expect("7 segments are allowed");
        let signal = Signal {
            now: 1.0,
            in_flight: 7.0,
            cause: Cause::Loss,
            srtt: 0.1,
            min_rtt: 0.1,
            repeated: false,
            kept: 0.0,
        };
        fixed.on_event(&Event::Congestion(signal));
        fixed.on_event(&Event::Timeout(signal));
        fixed.on_event(&Event::Moderate { window: 1.0 });
        assert_eq!(fixed.window().to_bits(), 7.0_f64.to_bits());
    }
}
