//! XCP, the explicit control protocol (Katabi D, Handley M, Rohrs C, "Congestion Control for High Bandwidth-Delay
//! Product Networks", SIGCOMM 2002). Each segment carries the sender's window and round-trip time to the routers. The
//! segment's ACK returns the change of window that the bottleneck router asks for.
//!
//! Variant: the header has the form recommended in the paper's Appendix A. The header carries changes of rate and not
//! of window, so that routers need not divide. The sender multiplies the change by its smoothed RTT, as ns-2's sender
//! does. While the window limits the sender, the sender asks for any increase that routers allow; otherwise the sender
//! asks for none. A loss halves the window and a timeout restarts the window, as in standard TCP (§3.3). There is no
//! slow start: routers give no increase before the first RTT is known.

use crate::ack::Ack;
use crate::algorithm::{Algorithm, Needs};
use crate::event::Event;
use crate::loss_window::{LossWindow, window_getters};
use crate::observe::observed;
use crate::param::{BuildError, Entry, Kind, Preset, Settings};
use crate::router::{Answer, Request, Router};

/// The sender of XCP.
#[derive(Clone, Debug)]
pub struct Xcp {
    win: LossWindow,
    /// Smoothed RTT, s; 0 before the first sample.
    rtt: f64,
    /// Change of rate that routers asked for with the last ACK, segments/s.
    feedback: f64,
}

impl Xcp {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "xcp",
        title: "XCP, the explicit control protocol",
        kind: Kind::Router,
        signals: &["XCP routers"],
        source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
        doc: "Routers ask for a change of each flow's rate. Each segment carries its sender's window and round-trip \
              time. Once in a mean round-trip time, each router on the path (`queue = \"xcp\"`) computes by how much \
              its traffic should change, and divides the change among the segments, so that all flows get the same \
              rate. The smallest change that a segment meets on its path returns with its ACK, and the window follows \
              it. Queues stay nearly empty and drops are rare, unless ACKs arrive in bursts. Data on the reverse path \
              cause such bursts, and the segments then leave in bursts too; pacing (`pacing = true` in the stack) \
              spreads them. The router's parameters are those of the queue.",
        presets: &[Preset::new("", "SIGCOMM 2002", &[])],
        tables: &[],
        variables: &[Self::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self { win: LossWindow::new(settings)?, rtt: 0.0, feedback: 0.0 })
    }
}

observed! {
    self: Xcp;
    /// Change of rate that routers asked for with the last ACK (H_feedback over the RTT).
    feedback = self.feedback, number(Unit::SegmentsPerSecond);
}

impl Algorithm for Xcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = ack.srtt;
        let Some(Answer::Feedback(feedback)) = ack.answer else { return };
        self.feedback = feedback;
        let change = feedback * ack.srtt;
        if change < 0.0 || ack.may_grow() {
            self.win.w = (self.win.w + change).max(1.0);
        }
    }

    fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Start(ref start) => self.win.start(start),
            Event::Congestion(ref signal) => self.win.lower_to(0.5 * self.win.reduced_from(signal)),
            Event::Timeout(ref signal) => self.win.time_out(0.5 * self.win.reduced_from(signal), signal),
            Event::Idle { .. } => self.win.idle(),
            Event::Moderate { window } | Event::Keep { window } => self.win.moderate(window),
            Event::Undo { .. } => {
                self.win.undo();
            }
            _ => {}
        }
    }

    #[inline]
    fn needs(&self) -> Needs {
        Needs { router: Some(Router::Xcp), ..Needs::default() }
    }

    fn request(&mut self, limited: bool) -> Request {
        Request { rtt: self.rtt, window: self.win.w, increase: if limited { f64::INFINITY } else { 0.0 } }
    }

    window_getters!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, close, settings};

    fn xcp() -> Xcp {
        Xcp::new(&settings(&Xcp::ENTRY, "", &[]).expect("it is right")).expect("it is right")
    }

    fn ack(d: &mut Driver, x: &mut Xcp, feedback: f64) {
        let ack = d.make_ack(x, 1.0, 0.1, false);
        x.on_ack(&Ack { answer: Some(Answer::Feedback(feedback)), ..ack });
    }

    #[test]
    fn the_window_changes_by_what_routers_say_and_stays_at_one_segment() {
        let (mut d, mut x) = (Driver::new(), xcp());
        d.start(&mut x, 10.0);
        // The feedback is 150 bytes on a packet of 1,500 bytes, as a rate over 100 ms.
        ack(&mut d, &mut x, 0.1 / 0.1);
        close(x.window(), 10.1, 1e-12);
        ack(&mut d, &mut x, 0.0);
        close(x.window(), 10.1, 1e-12);
        ack(&mut d, &mut x, -50.0);
        close(x.window(), 5.1, 1e-12);
        ack(&mut d, &mut x, -50.0);
        assert_eq!(x.window(), 1.0);
    }

    #[test]
    fn an_application_gets_no_window_that_it_does_not_use_and_asks_for_none() {
        let (mut d, mut x) = (Driver::new(), xcp());
        d.start(&mut x, 10.0);
        d.window_limited = false;
        ack(&mut d, &mut x, 50.0);
        assert_eq!(x.window(), 10.0);
        ack(&mut d, &mut x, -10.0);
        close(x.window(), 9.0, 1e-12);
        assert_eq!(x.request(false).increase, 0.0);
        assert!(x.request(true).increase.is_infinite());
    }

    #[test]
    fn the_first_segments_say_that_the_round_trip_is_not_known() {
        let (mut d, mut x) = (Driver::new(), xcp());
        d.start(&mut x, 10.0);
        assert_eq!(x.request(true).rtt, 0.0);
        ack(&mut d, &mut x, 0.0);
        assert_eq!(x.request(true), Request { rtt: 0.1, window: 10.0, increase: f64::INFINITY });
    }

    #[test]
    fn losses_are_answered_as_tcp_does() {
        let (mut d, mut x) = (Driver::new(), xcp());
        d.start(&mut x, 100.0);
        d.lose(&mut x);
        assert_eq!((x.window(), x.ssthresh()), (50.0, 50.0));
        d.time_out(&mut x);
        assert_eq!(x.window(), 1.0);
        ack(&mut d, &mut x, 100.0);
        close(x.window(), 11.0, 1e-12);
    }
}
