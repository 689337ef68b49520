//! An algorithm that believes the shortest round trip to be longer or shorter than it was.

use elephan_cc::{
    Ack, Algorithm, Answer, Controller, Lost, Needs, Observe, Observer, Request, RouterAssisted, Sent, Signal, Start,
};

/// Any algorithm with a wrong base RTT (Leith et al. 2008, figure 11). Many algorithms take the smallest sample themselves, so
/// samples are read wrong too: none is below what is believed, and one of the shortest round trip is what is believed. The
/// endpoint's own estimators see the truth.
pub struct Misled {
    inner: Controller,
    /// Believed less true, s.
    error: f64,
}

impl Misled {
    /// `inner`, with a base RTT that is off by `error`, s.
    #[must_use]
    pub fn new(inner: Controller, error: f64) -> Self {
        Self { inner, error }
    }

    fn believed(&self, ack: &Ack) -> Ack {
        let base = ack.min_rtt + self.error;
        let rtt = ack.rtt.map(|rtt| if rtt <= ack.min_rtt { base } else { rtt.max(base) });
        Ack { rtt, min_rtt: base, ..*ack }
    }

    fn signaled(&self, signal: &Signal) -> Signal {
        Signal { min_rtt: signal.min_rtt + self.error, ..*signal }
    }
}

impl Observe for Misled {
    fn observe(&self, observer: &mut Observer<'_>) {
        self.inner.observe(observer);
    }
}

impl Algorithm for Misled {
    fn on_start(&mut self, start: &Start) {
        self.inner.on_start(start);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.inner.on_ack(&self.believed(ack));
    }
    fn on_congestion(&mut self, signal: &Signal) {
        self.inner.on_congestion(&self.signaled(signal));
    }
    fn on_timeout(&mut self, signal: &Signal) {
        self.inner.on_timeout(&self.signaled(signal));
    }
    fn on_idle(&mut self, now: f64, idle: f64) {
        self.inner.on_idle(now, idle);
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.inner.on_lost(lost);
    }
    fn on_recovery_exit(&mut self, now: f64) {
        self.inner.on_recovery_exit(now);
    }
    fn moderate(&mut self, window: f64) {
        self.inner.moderate(window);
    }
    fn on_undo(&mut self, now: f64) {
        self.inner.on_undo(now);
    }
    fn window(&self) -> f64 {
        self.inner.window()
    }
    fn ssthresh(&self) -> f64 {
        self.inner.ssthresh()
    }
    fn recovery_floor(&self) -> f64 {
        self.inner.recovery_floor()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.inner.pacing_rate()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
    fn router_assisted(&mut self) -> Option<&mut dyn RouterAssisted> {
        let assisted = self.inner.needs().router.is_some();
        assisted.then_some(self)
    }
}

impl RouterAssisted for Misled {
    fn request(&mut self, limited: bool) -> Request {
        self.inner.router_assisted().map_or_else(Request::default, |assisted| assisted.request(limited))
    }
    fn on_answer(&mut self, ack: &Ack, answer: Answer) {
        let ack = self.believed(ack);
        if let Some(assisted) = self.inner.router_assisted() {
            assisted.on_answer(&ack, answer);
        }
    }
}
