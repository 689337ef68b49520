//! Loss-based algorithms: a [`LossWindow`], with rules for its growth and for the window after a loss.
//!
//! Most of them differ from standard TCP in these rules alone. [`LossBased`] has the rules, and each type with these
//! rules is an [`Algorithm`]: the window does slow start, reductions, timeouts, idle restarts and undo.

use crate::algorithm::{Ack, Algorithm, Needs, Signal, Start};
use crate::loss_window::LossWindow;
use crate::observe::Observe;

/// The rules of a loss-based algorithm.
pub trait LossBased: Observe {
    /// Smallest window during a recovery that halves the rate, in units of the threshold: half, as most of Linux 2.6's modules
    /// have it (`min_cwnd`), or 1.
    const RECOVERY_FLOOR: f64 = 0.5;

    /// The window; `own_window!` writes this method and the next.
    fn win(&self) -> &LossWindow;

    /// The window, to change it.
    fn win_mut(&mut self) -> &mut LossWindow;

    /// [`Algorithm::needs`].
    #[inline]
    fn requires(&self) -> Needs {
        Needs::default()
    }

    /// The connection has begun.
    fn begin(&mut self, start: &Start) {
        let _ = start;
    }

    /// Looks at an ACK before the window may grow.
    #[inline]
    fn measure(&mut self, ack: &Ack) {
        let _ = ack;
    }

    /// Congestion avoidance: `n` segments (ACKs, in Linux 2.6's arithmetic) are newly acknowledged.
    fn grow(&mut self, ack: &Ack, n: f64);

    /// Every ACK: measurement, slow start, and the rest of the ACK for congestion avoidance.
    #[inline]
    fn acknowledge(&mut self, ack: &Ack) {
        self.measure(ack);
        let n = self.win_mut().slow_start(ack);
        if n > 0.0 {
            self.grow(ack, n);
        }
    }

    /// The threshold and the window that a congestion signal leaves, segments.
    fn reduced(&mut self, signal: &Signal) -> f64;

    /// A congestion signal has reduced the window.
    fn after_reduction(&mut self, signal: &Signal) {
        let _ = signal;
    }

    /// The threshold that a timeout leaves, segments; not asked where the timeout repeats one.
    fn reduced_by_timeout(&mut self, signal: &Signal) -> f64 {
        self.reduced(signal)
    }

    /// A timeout has restarted the window.
    fn after_timeout(&mut self, signal: &Signal) {
        let _ = signal;
    }

    /// Sending resumes after `idle` seconds.
    fn resume(&mut self, now: f64, idle: f64) {
        let _ = (now, idle);
    }

    /// A recovery is over.
    fn recovered(&mut self, now: f64) {
        let _ = now;
    }

    /// The endpoint's recovery has ended, and lowered the window to the recovery's result if it was above.
    fn moderated(&mut self) {}

    /// Smallest window during a recovery that halves the rate, segments.
    fn lowest_in_recovery(&self) -> f64 {
        self.win().ssthresh * Self::RECOVERY_FLOOR
    }

    /// The last signal was spurious; `restored` if the window had anything to restore.
    fn undone(&mut self, restored: bool) {
        let _ = restored;
    }
}

/// The two methods of [`LossBased`] that give the field `win`.
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
    fn needs(&self) -> Needs {
        self.requires()
    }

    fn on_start(&mut self, start: &Start) {
        self.win_mut().start(start);
        self.begin(start);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.acknowledge(ack);
    }

    fn on_congestion(&mut self, signal: &Signal) {
        let target = self.reduced(signal);
        self.win_mut().reduce_to(target);
        self.after_reduction(signal);
    }

    fn on_timeout(&mut self, signal: &Signal) {
        let target = if signal.repeated { self.win().ssthresh } else { self.reduced_by_timeout(signal) };
        self.win_mut().time_out(target, signal.repeated);
        self.after_timeout(signal);
    }

    fn on_idle(&mut self, now: f64, idle: f64) {
        self.win_mut().idle();
        self.resume(now, idle);
    }

    fn on_recovery_exit(&mut self, now: f64) {
        self.recovered(now);
    }

    fn on_undo(&mut self, _now: f64) {
        let restored = self.win_mut().undo().is_some();
        self.undone(restored);
    }

    fn moderate(&mut self, window: f64) {
        self.win_mut().moderate(window);
        self.moderated();
    }

    #[inline]
    fn window(&self) -> f64 {
        self.win().w
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.win().ssthresh
    }

    fn recovery_floor(&self) -> f64 {
        self.lowest_in_recovery()
    }
}
