//! Loss-based algorithms: a [`LossWindow`], with rules for its growth and for the window after a loss.
//!
//! Most loss-based algorithms differ from standard TCP only in the rules for growth and for the window after a loss.
//! [`LossBased`] declares the rules, and each type that implements [`LossBased`] is an [`Algorithm`]. [`LossWindow`]
//! implements slow start, reductions, timeouts, idle restarts and undo.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::linux;
use crate::loss_window::{Arithmetic, LossWindow};
use crate::observe::Observe;
use crate::reports::{Signal, Start};

/// The rules of a loss-based algorithm.
pub trait LossBased: Observe {
    /// Smallest window during a recovery by rate halving, in units of the threshold: one half, as in most modules of
    /// Linux 2.6 (`min_cwnd`), or 1.
    const RECOVERY_FLOOR: f64 = 0.5;

    /// The window. `own_window!` implements this method and `win_mut`.
    fn win(&self) -> &LossWindow;

    /// The window, mutable.
    fn win_mut(&mut self) -> &mut LossWindow;

    /// [`Algorithm::needs`].
    #[inline]
    fn requires(&self) -> Needs {
        Needs::default()
    }

    /// Handles the start of the connection.
    fn begin(&mut self, start: &Start) {
        let _ = start;
    }

    /// Takes the samples of an ACK, before the window may grow.
    #[inline]
    fn measure(&mut self, ack: &Ack) {
        let _ = ack;
    }

    /// Grows the window in congestion avoidance, for `n` newly acknowledged segments (ACKs, in Linux 2.6's arithmetic).
    fn grow(&mut self, ack: &Ack, n: f64);

    /// Handles an ACK: takes samples, applies slow start, and passes the remaining segments to congestion avoidance.
    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.measure(ack);
        let n = self.win_mut().slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
    }

    /// Threshold and window after a congestion signal, segments.
    fn reduced(&mut self, signal: &Signal) -> f64;

    /// [`Algorithm::takes_reduction`].
    fn takes_reduction(&mut self) -> bool {
        false
    }

    /// Called after a congestion signal has reduced the window.
    fn after_reduction(&mut self, signal: &Signal) {
        let _ = signal;
    }

    /// Threshold after a timeout, segments; not called for a repeated timeout.
    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        self.reduced(signal)
    }

    /// Called after a timeout has restarted the window.
    fn after_timeout(&mut self, signal: &Signal) {
        let _ = signal;
    }

    /// Called when sending resumes after `idle` seconds.
    fn resume(&mut self, now: f64, idle: f64) {
        let _ = (now, idle);
    }

    /// Called when a recovery ends.
    fn recovered(&mut self, now: f64) {
        let _ = now;
    }

    /// Called after the end of the endpoint's recovery, which may have lowered the window.
    fn moderated(&mut self) {}

    /// Smallest window during a recovery by rate halving, segments.
    fn lowest_in_recovery(&self) -> f64 {
        self.win().ssthresh * Self::RECOVERY_FLOOR
    }

    /// Handles an event of a Linux host, after its rule for every window.
    fn on_linux(&mut self, event: &linux::Event) {
        let _ = event;
    }

    /// Called when the last signal was spurious; `restored` is true if the window was restored.
    fn undone(&mut self, restored: bool) {
        let _ = restored;
    }
}

/// The two methods of [`LossBased`] that return the field `win`.
macro_rules! own_window {
    () => {
        #[inline]
        fn win(&self) -> &$crate::loss_window::LossWindow {
            &self.win
        }

        #[inline]
        fn win_mut(&mut self) -> &mut $crate::loss_window::LossWindow {
            &mut self.win
        }
    };
}
pub(crate) use own_window;

impl<T: LossBased> Algorithm for T {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.win_mut().follow(ack);
        self.acknowledge(ack);
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                self.win_mut().start(start);
                self.begin(start);
            }
            Event::Congestion(signal) => {
                let target = self.reduced(signal);
                self.win_mut().reduce_to(target);
                self.after_reduction(signal);
            }
            Event::Timeout(signal) => {
                let target = if signal.repeated { self.win().ssthresh } else { self.reduced_by_timeout(signal) };
                self.win_mut().time_out(target, signal);
                self.after_timeout(signal);
            }
            Event::Idle { now, idle } => {
                self.win_mut().idle();
                self.resume(*now, *idle);
            }
            Event::Moderate { window } => {
                self.win_mut().moderate(*window);
                self.moderated();
            }
            Event::Keep { window } => self.win_mut().keep(*window),
            Event::RecoveryExit { now } => {
                self.win_mut().end_recovery();
                self.recovered(*now);
            }
            Event::Undo { .. } => {
                let restored = self.win_mut().undo().is_some();
                self.undone(restored);
            }
            Event::Linux(event) => {
                if let linux::Event::IdleTimeouts { timeouts } = event {
                    self.win_mut().restart_after(*timeouts);
                }
                self.on_linux(event);
            }
            Event::Lost(_) => self.win_mut().on_lost(),
            Event::Sent(_) => {}
        }
    }

    #[inline]
    fn window(&self) -> f64 {
        self.win().w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.win().ssthresh
    }

    #[inline]
    fn needs(&self) -> Needs {
        let idle_timeouts = self.win().arithmetic == Arithmetic::Linux;
        self.win().needs(Needs { idle_timeouts, ..self.requires() })
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.win().pacing_rate()
    }

    fn recovery_floor(&self) -> f64 {
        self.lowest_in_recovery()
    }

    fn takes_reduction(&mut self) -> bool {
        LossBased::takes_reduction(self)
    }
}
