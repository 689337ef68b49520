//! TCP-LP (Kuzmanovic A, Knightly EW, "TCP-LP: a distributed algorithm for low priority data transfer", INFOCOM 2003)
//! and HSTCP-LP (the same authors, PFLDnet 2004). The window grows as in standard TCP or HighSpeed TCP, and is reduced
//! as soon as the one-way delay rises above a small fraction of its range.
//!
//! Variant: an early indication of congestion is a smoothed one-way delay above the smallest delay plus 15 % of the
//! range. It halves the window and starts an inference time of three round trips without growth; a second indication,
//! on data sent after the first, brings the window down to one segment. Indications count only after the first loss,
//! since only a loss shows the range. Growth after a reaction is additive. The extremes of the delay are those of the
//! last `memory` seconds. Neither paper was available, so constants are Linux's, and statements about the papers are
//! marked unverified.
//!
//! Linux (presets `linux`, `linux-2.6`) differs:
//! * Its delays are differences of TCP timestamps in 32-bit words, converted by an integer quotient with an estimate of
//!   the receiver's clock rate. They jump by the whole uptime if this estimate exceeds 1000, as each growing queue
//!   makes it do, or falls below 501. They are smoothed in integers.
//! * After each indication the extremes are set to the smoothed delay and twice the smoothed delay. A new largest
//!   sample counts only once a still larger sample arrives.
//! * Indications count from the beginning, and slow start follows an indication.
//! * Since Linux 4.10 each connection's timestamps begin at a random number, so a delay is a random number of up to 2³²
//!   ms beside which the real delay is negligible. After at most one indication, `linux` behaves as standard TCP.
//! * Before 4.13 timestamps were jiffies. Preset `linux-2.6` assumes hosts that started at the same time; the scenario
//!   sets differences of their clocks.
//!
//! ns-2's TCP/Linux has 64-bit words and rounds timestamps to the nearest millisecond (preset `ns2-timestamps`).
//! Timestamps are off in ns-2 unless a script turns them on; without them TCP-LP behaves as standard TCP (preset
//! `ns2`).

mod timestamps;
mod watch;

pub use self::watch::{Delays, LpParams};
use self::watch::{Early, Watch};
use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::hstcp::{Hstcp, HstcpParams};
use crate::loss_window::{FLOOR, LossParams, LossWindow};
use crate::observe::{Observe, Observer};
use crate::param::{BuildError, Entry, Kind, Preset, Setting, Settings, flag, params, switch, word};
use crate::reno::{Reno, RenoParams};

params! {
    /// Parameters of HSTCP-LP.
    pub struct HstcpLpParams {
        /// Reduce the window by HighSpeed TCP's fraction b(w) at the first indication; off: by half.
        own_decrease: bool = flag(false), "Kuzmanovic, Knightly & Cottrell, PFLDnet 2004 (unverified)";
    }
}

/// Interface of an algorithm that can run at low priority.
pub trait Yields: Algorithm {
    /// Lowers the window to `window`. Segments that were counted towards the next step of the window stay counted, as in
    /// Linux.
    fn lower(&mut self, window: f64);

    /// Sets the slow start threshold to the current window.
    fn leave_slow_start(&mut self);
}

impl Yields for Reno {
    fn lower(&mut self, window: f64) {
        self.win.lower(window);
    }

    fn leave_slow_start(&mut self) {
        self.win.ssthresh = self.win.w.max(FLOOR);
    }
}

impl Yields for Hstcp {
    fn lower(&mut self, window: f64) {
        self.win.lower(window);
    }

    fn leave_slow_start(&mut self) {
        self.win.ssthresh = self.win.w.max(FLOOR);
    }
}

/// An algorithm at low priority, which gives way to all other flows.
#[derive(Clone, Debug)]
pub struct LowPriority<A> {
    inner: A,
    watch: Box<Watch>,
    /// Fraction of the window kept on the first indication.
    keep: fn(&A, f64) -> f64,
}

/// TCP-LP.
pub type Lp = LowPriority<Reno>;
/// HSTCP-LP.
pub type HstcpLp = LowPriority<Hstcp>;

impl Lp {
    const fn linux(arithmetic: &'static str, delays: &'static str, timestamps: bool) -> [(&'static str, Setting); 5] {
        [
            switch("slow_start_after", true),
            word("arithmetic", arithmetic),
            word("delays", delays),
            switch("from_first_loss", false),
            switch("timestamps", timestamps),
        ]
    }

    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "lp",
        title: "TCP-LP (low priority)",
        kind: Kind::Hybrid,
        signals: &["one-way delay", "loss", "ECN"],
        source: "Kuzmanovic & Knightly, INFOCOM 2003; RFC 6297 §3.3",
        doc: "Standard TCP for background transfers. TCP-LP halves its window as soon as the one-way delay rises above \
              15 % of its range, and reduces the window to one segment if the delay stays high. Other flows are hardly \
              affected. The default measures delays exactly and reacts only after the first loss.",
        presets: &[
            Preset::new("", "INFOCOM 2003, with Linux's constants", &[]),
            Preset::new(
                "linux",
                "Linux since 4.13: delays from timestamps with a random offset",
                &Self::linux("linux", "linux", true),
            ),
            Preset::new(
                "linux-2.6",
                "Linux 2.6.22: delays from timestamps in jiffies",
                &Self::linux("linux-2.6", "linux-2.6", true),
            ),
            Preset::new(
                "ns2-timestamps",
                "ns-2.35 TCP/Linux with timestamps: Linux 2.6.22 in 64-bit words",
                &Self::linux("ns2", "ns2", true),
            ),
            Preset::new(
                "ns2",
                "ns-2.35 TCP/Linux: Linux 2.6.22 without timestamps, which is standard TCP",
                &Self::linux("ns2", "ns2", false),
            ),
        ],
        tables: &[LpParams::TABLE, RenoParams::TABLE, LossParams::TABLE],
        variables: &[Watch::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`], and [`BuildError::Conflict`] if Linux's delays should be smoothed by another
    /// weight.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let watch = Watch::read(settings)?;
        Ok(Self { inner: Reno::new(settings)?, watch, keep: |_, _| 0.5 })
    }
}

impl HstcpLp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "hstcp-lp",
        title: "HSTCP-LP (HighSpeed TCP, low priority)",
        kind: Kind::Hybrid,
        signals: &["one-way delay", "loss"],
        source: "Kuzmanovic, Knightly & Cottrell, PFLDnet 2004; RFC 6297 §3.3",
        doc: "HSTCP-LP has HighSpeed TCP's growth and response to losses with TCP-LP's response to delay, so that the \
              window grows back fast once other flows leave. The use of TCP-LP's early reaction could not be verified.",
        presets: &[
            Preset::new("", "TCP-LP's reactions (unverified)", &[]),
            Preset::new(
                "own-decrease",
                "the first reaction is HighSpeed TCP's (unverified)",
                &[switch("own_decrease", true)],
            ),
        ],
        tables: &[HstcpLpParams::TABLE, LpParams::TABLE, HstcpParams::TABLE, LossParams::TABLE],
        variables: &[Watch::VARIABLES, Hstcp::VARIABLES, LossWindow::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Hstcp::new`] and [`Lp::new`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let watch = Watch::read(settings)?;
        let own = HstcpLpParams::read(settings)?.own_decrease;
        Ok(Self { inner: Hstcp::new(settings)?, watch, keep: if own { |h, w| 1.0 - h.b(w) } else { |_, _| 0.5 } })
    }
}

impl<A: Yields> LowPriority<A> {
    fn react(&mut self, early: Early) {
        let w = self.inner.window();
        match early {
            Early::Nothing => return,
            Early::Halve => self.inner.lower((self.keep)(&self.inner, w) * w),
            Early::One => self.inner.lower(1.0),
        }
        if !self.watch.p.slow_start_after {
            self.inner.leave_slow_start();
        }
    }
}

impl<A: Yields> Observe for LowPriority<A> {
    fn observe(&self, observer: &mut Observer<'_>) {
        self.watch.observe(observer);
        self.inner.observe(observer);
    }
}

impl<A: Yields> Algorithm for LowPriority<A> {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.watch.measure(ack, self.inner.window());
        let early = self.watch.judge(ack);
        if early == Early::Nothing && !self.watch.infers(ack.now) {
            self.inner.on_ack(ack);
            return;
        }
        if early == Early::Halve && self.watch.linux.is_some() {
            // Linux's inference time begins with the next ACK, so the window grows on this ACK.
            self.react(early);
            self.inner.on_ack(ack);
            return;
        }
        // The inner algorithm's estimators are updated, but its window does not grow.
        self.inner.on_ack(&Ack { window_limited: false, ..*ack });
        self.react(early);
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Start(start) => self.watch.start(start),
            Event::Congestion(_) | Event::Timeout(_) => self.watch.armed = true,
            Event::Idle { .. } => self.watch.reacted_at = None,
            _ => {}
        }
        self.inner.on_event(event);
    }

    #[inline]
    fn window(&self) -> f64 {
        self.inner.window()
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.inner.ssthresh()
    }

    #[inline]
    fn needs(&self) -> Needs {
        let hz = matches!(self.watch.p.delays, Delays::Linux26 | Delays::Ns2) && self.watch.p.timestamps;
        Needs { one_way_delay: true, hz, ..self.inner.needs() }
    }

    fn recovery_floor(&self) -> f64 {
        self.inner.recovery_floor()
    }
}

#[cfg(test)]
mod tests;
