//! Standard TCP congestion avoidance: AIMD(1, 1/2), as NewReno and SACK TCP use it (RFC 5681, RFC 6582, RFC 6675).
//!
//! Variant: byte counting (every segment acknowledged counts), so delayed ACKs do not slow it down; what happens inside
//! recovery is the endpoint's. Differences: RFC 5681 halves what is in flight, the default here halves the window as
//! Linux and ns-2 do (`reduce_from`, preset `rfc5681`). Linux keeps whole segments and a counter (preset `linux`); Linux
//! 2.6, and with it ns-2's TCP/Linux, counts ACKs and takes w + 1 of them for a step (preset `linux-2.6`).

use crate::algorithm::{Ack, Algorithm, Cause, Signal, Start};
use crate::loss_window::{LossParams, LossWindow};
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, num, params};

params! {
    /// Parameters of standard TCP.
    pub struct RenoParams {
        /// Additive increase for each round trip (a).
        increase: f64 = num(1.0, 0.0, 1e6, "segments"), "RFC 5681 §3.1";
        /// Part of the window given up on a loss (b).
        decrease: f64 = num(0.5, 0.0, 1.0, ""), "RFC 5681 §3.1";
        /// Part of the window given up on an ECN echo.
        decrease_ecn: f64 = num(0.5, 0.0, 1.0, ""), "RFC 3168 §6.1.2; RFC 8511 §3 allows 0.2";
    }
}

/// Standard TCP.
#[derive(Clone, Debug)]
pub struct Reno {
    win: LossWindow,
    p: RenoParams,
}

impl Reno {
    /// What the registry says about it.
    pub const ENTRY: Entry = Entry {
        name: "reno",
        title: "NewReno / SACK TCP",
        kind: Kind::Loss,
        signals: &["loss", "ECN"],
        source: "RFC 5681, RFC 6582, RFC 6675",
        doc: "Standard TCP: one segment more each round trip, half of the window on a loss. The baseline, and what the \
              others fall back to at small windows. The default counts every acknowledged segment and halves the window; \
              RFC 5681 halves what is in flight.",
        presets: &[
            Preset { name: "", title: "RFC 5681 with byte counting, real-valued window", overrides: &[] },
            Preset {
                name: "rfc5681",
                title: "halves what is in flight",
                overrides: &[("reduce_from", Setting::Text("flight"))],
            },
            Preset {
                name: "abe",
                title: "RFC 8511: gives up a fifth on an ECN echo",
                overrides: &[("decrease_ecn", Setting::Num(0.2))],
            },
            Preset { name: "linux", title: "Linux", overrides: &[("arithmetic", Setting::Text("linux"))] },
            Preset {
                name: "linux-2.6",
                title: "Linux 2.6.22, ns-2 TCP/Linux",
                overrides: &[("arithmetic", Setting::Text("linux-2.6"))],
            },
        ],
        tables: &[RenoParams::TABLE, LossParams::TABLE],
    };

    /// # Errors
    /// As [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self { win: LossWindow::new(settings)?, p: RenoParams::read(settings)? })
    }

    fn reduced(&self, signal: &Signal) -> f64 {
        let b = if signal.cause == Cause::Ecn { self.p.decrease_ecn } else { self.p.decrease };
        (1.0 - b) * self.win.reduced_from(signal)
    }
}

impl Algorithm for Reno {
    fn on_start(&mut self, start: &Start) {
        self.win.start(start);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let n = self.win.slow_start(ack);
        if n > 0.0 {
            self.win.grow_per_round(n, self.p.increase);
        }
    }

    fn on_congestion(&mut self, signal: &Signal) {
        self.win.reduce_to(self.reduced(signal));
    }

    fn on_timeout(&mut self, signal: &Signal) {
        self.win.time_out(self.reduced(signal));
    }

    fn on_idle(&mut self, _now: f64, _idle: f64) {
        self.win.idle();
    }

    fn on_undo(&mut self, _now: f64) {
        self.win.undo();
    }

    fn moderate(&mut self, window: f64) {
        self.win.moderate(window);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.win.w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.win.ssthresh
    }
}
