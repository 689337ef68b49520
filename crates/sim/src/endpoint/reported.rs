//! Modified reports to an algorithm: base RTTs with an error, and ACKs counted instead of segments.

use std::any::Any;

use elephan_cc::{Ack, Algorithm, Controller, Event, Needs, Observe, Observer, Request, Signal, Start, linux};

use crate::spec::FlowSpec;

/// Wraps `controller`, so that it gets the modified reports that the flow's scenario asks for.
pub(crate) fn reporting(mut controller: Controller, flow: &FlowSpec) -> Controller {
    if flow.base_rtt_error_ps != 0 {
        let error = flow.base_rtt_error_ps as f64 * 1e-12;
        controller = Controller::Custom(Box::new(Reported {
            inner: controller,
            report: Misled { error, least: f64::INFINITY },
        }));
    }
    if flow.stack.acks_counted > 0 {
        let acks = f64::from(flow.stack.acks_counted);
        controller = Controller::Custom(Box::new(Reported { inner: controller, report: Counting { acks } }));
    }
    controller
}

/// Modification of what is reported to an algorithm.
trait Report {
    /// Changes an ACK.
    fn ack(&mut self, ack: &Ack) -> Ack;

    /// Changes an event, except Linux's sample, which is an ACK.
    fn event(&self, event: &Event) -> Event {
        *event
    }
}

/// A smallest RTT with an error (Leith and others 2008, figure 11). Many algorithms compute the smallest RTT from
/// samples themselves, so samples are changed too. The endpoint's own estimators use the true values.
///
/// With a base RTT that is too long, no sample is below it. With one that is too short, each sample that is smaller than
/// all before shows it, and all other samples are true, as on a path that was shorter for a moment.
struct Misled {
    /// Assumed minus true smallest RTT, s.
    error: f64,
    /// Smallest true sample, s.
    least: f64,
}

impl Report for Misled {
    fn ack(&mut self, ack: &Ack) -> Ack {
        let base = ack.min_rtt + self.error;
        Ack { rtt: ack.rtt.map(|rtt| self.shown(rtt, base)), min_rtt: base, ..*ack }
    }

    fn event(&self, event: &Event) -> Event {
        let signal = |signal: Signal| Signal { min_rtt: signal.min_rtt + self.error, ..signal };
        match *event {
            // The handshake's small packets are faster than data, so that its RTT does not count as the smallest sample.
            Event::Start(start) => Event::Start(Start { rtt: start.rtt.map(|rtt| rtt + self.error), ..start }),
            Event::Congestion(given) => Event::Congestion(signal(given)),
            Event::Timeout(given) => Event::Timeout(signal(given)),
            other => other,
        }
    }
}

impl Misled {
    /// The sample that the algorithm gets instead of `rtt`.
    fn shown(&mut self, rtt: f64, base: f64) -> f64 {
        if rtt < self.least {
            self.least = rtt;
            return rtt + self.error;
        }
        rtt.max(base)
    }
}

/// Counting of ACKs instead of segments (RFC 5681 without the byte counting of RFC 3465): a receiver that divides its
/// ACKs accelerates such a sender (Savage et al., ACM CCR 29(5), 1999).
struct Counting {
    /// Number of ACKs that the sender counts for each packet that acknowledges new data.
    acks: f64,
}

impl Report for Counting {
    fn ack(&mut self, ack: &Ack) -> Ack {
        Ack { acked: if ack.acked > 0.0 { self.acks } else { 0.0 }, ..*ack }
    }
}

/// Any algorithm behind a [`Report`].
struct Reported<R> {
    inner: Controller,
    report: R,
}

impl<R: Report> Observe for Reported<R> {
    fn observe(&self, observer: &mut Observer<'_>) {
        self.inner.observe(observer);
    }
}

impl<R: Report> Algorithm for Reported<R> {
    fn on_ack(&mut self, ack: &Ack) {
        self.inner.on_ack(&self.report.ack(ack));
    }
    fn on_event(&mut self, event: &Event) {
        let changed = match event {
            Event::Linux(linux::Event::Sample(ack)) => Event::Linux(linux::Event::Sample(self.report.ack(ack))),
            _ => self.report.event(event),
        };
        self.inner.on_event(&changed);
    }
    fn window(&self) -> f64 {
        self.inner.window()
    }
    fn ssthresh(&self) -> f64 {
        self.inner.ssthresh()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.inner.pacing_rate()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
    fn recovery_floor(&self) -> f64 {
        self.inner.recovery_floor()
    }
    fn takes_reduction(&mut self) -> bool {
        self.inner.takes_reduction()
    }
    fn request(&mut self, limited: bool) -> Request {
        self.inner.request(limited)
    }
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        self.inner.as_any()
    }
}
