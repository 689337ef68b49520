//! An algorithm whose sender counts ACKs and not the segments that they acknowledge.

use elephan_cc::{
    Ack, Algorithm, Answer, Controller, Lost, Needs, Observe, Observer, Request, RouterAssisted, Sent, Signal, Start,
};

/// Any algorithm behind a sender that counts ACKs (RFC 5681 without the byte counting of RFC 3465): a receiver that divides its
/// ACKs speeds it up (Savage et al., ACM CCR 29(5), 1999).
pub struct Counting {
    inner: Controller,
    /// ACKs in each packet that acknowledges something new.
    acks: f64,
}

impl Counting {
    /// `inner`, with `acks` ACKs for each packet that acknowledges something new.
    #[must_use]
    pub fn new(inner: Controller, acks: u32) -> Self {
        Self { inner, acks: f64::from(acks) }
    }

    fn counted(&self, ack: &Ack) -> Ack {
        Ack { acked: if ack.acked > 0.0 { self.acks } else { 0.0 }, ..*ack }
    }
}

impl Observe for Counting {
    fn observe(&self, observer: &mut Observer<'_>) {
        self.inner.observe(observer);
    }
}

impl Algorithm for Counting {
    fn on_start(&mut self, start: &Start) {
        self.inner.on_start(start);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.inner.on_ack(&self.counted(ack));
    }
    fn on_congestion(&mut self, signal: &Signal) {
        self.inner.on_congestion(signal);
    }
    fn on_timeout(&mut self, signal: &Signal) {
        self.inner.on_timeout(signal);
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

impl RouterAssisted for Counting {
    fn request(&mut self, limited: bool) -> Request {
        self.inner.router_assisted().map_or_else(Request::default, |assisted| assisted.request(limited))
    }
    fn on_answer(&mut self, ack: &Ack, answer: Answer) {
        let ack = self.counted(ack);
        if let Some(assisted) = self.inner.router_assisted() {
            assisted.on_answer(&ack, answer);
        }
    }
}
