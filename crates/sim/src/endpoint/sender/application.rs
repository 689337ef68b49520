//! A sender whose application hands its data over bit by bit.

use elephan_cc::Algorithm;

use super::Sender;
use super::transmit::SMALL_BURST;
use crate::network::Network;
use crate::spec::{FlowSpec, MOST_SEGMENTS, Spec};
use crate::time::Time;
use crate::traffic::Application;

/// The application of a flow that starts at `start`, where it has one.
pub(in crate::endpoint) fn of_flow(spec: &Spec, flow: &FlowSpec, start: Time) -> Option<Box<Application>> {
    let application = flow.application.as_ref()?;
    let stack = &flow.stack;
    let bytes = stack.payload_bytes + if flow.datagrams { stack.header_bytes } else { 0 };
    let stop = Time(flow.stop_ps.unwrap_or(spec.duration_ps).min(spec.duration_ps));
    let total = flow.size_segments.unwrap_or(u64::from(MOST_SEGMENTS));
    let bits = u64::from(bytes) * 8;
    Some(Box::new(Application::new(application, spec.seed, &flow.name, bits, (start, stop), total)))
}

impl Sender {
    /// When the application next hands something over.
    pub(super) fn application_due(&self) -> Time {
        self.application.as_ref().map_or(Time::NEVER, |application| application.due())
    }

    /// The application hands over what is due.
    pub(super) fn serve_application(&mut self, now: Time, network: &mut Network) {
        let Some(application) = &mut self.application else { return };
        let fresh = application.take(now);
        let idle_since = application.idle_since;
        if fresh == 0 {
            return;
        }
        self.end += fresh;
        if self.datagrams {
            if fresh > SMALL_BURST && !network.has_room_for(fresh) {
                return;
            }
            for segment in self.next..self.end {
                self.emit(segment, 0, now, network);
            }
            self.next = self.end;
            self.board.advance_clean(self.next);
            return;
        }
        let idle = now.since(idle_since);
        if self.next == self.board.una() && self.next > 0 && idle > self.rto.timeout() {
            self.algorithm.on_idle(now.seconds(), idle.seconds());
            self.note_window(now, self.algorithm.window());
        }
        self.transmit(now, network);
    }

    /// Nothing is outstanding any more.
    #[inline(never)]
    pub(super) fn all_acknowledged(&mut self, now: Time) {
        if let Some(application) = &mut self.application {
            application.idle_since = now;
            if !application.is_complete() {
                return;
            }
        }
        if self.board.una() >= self.end && self.completed.is_none() {
            self.completed = Some(now);
        }
    }
}
