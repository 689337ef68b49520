//! A sender opens its connection by a three-way handshake (RFC 9293 section 3.5), as in Linux 6.12.
//!
//! ```text
//!  start ── SYN ──► path ──► receiver          The SYN is repeated until it is answered.
//!  begin ◄────────────────── SYN-ACK           Its RTT is the first sample: that of the path as it is.
//!        ── ACK, data ─────► receiver          The receiver measures the RTT of its SYN-ACK.
//! ```
//!
//! With TCP Fast Open (RFC 7413), the first SYN has the data of the first segment. A SYN-ACK that acknowledges them leaves
//! the rest of the data to send. Otherwise the data follow the handshake (`tcp_rcv_fastopen_synack`).

use super::core::Sender;
use crate::endpoint::boundary::Outlet;
use crate::packet::{Opening, Packet, Told};
use crate::sidecar::AccEcnOption;
use crate::time::Time;

impl Sender {
    /// Opens the connection: sends a SYN, or begins at once if there is no handshake.
    #[cold]
    pub(super) fn open(&mut self, now: Time, out: &mut impl Outlet) {
        if !self.opening.is_needed() {
            return self.begin(now, self.stack.initial_window, out);
        }
        if self.opening.is_first() {
            self.stats.note_window(now, f64::from(self.stack.initial_window));
        } else {
            self.stats.totals.timeouts += 1;
            self.stats.note_window(now, 1.0);
            self.marks.on_lost_syn();
        }
        let has_data = self.opening.may_have_data() && self.has_first_data(now);
        let told = self.marks.asks(self.opening.lost());
        self.opening.on_syn(now, &self.stack, self.rules, self.clock);
        let flags = self.marks.on_opening();
        if has_data {
            self.opening.on_data();
            self.stats.totals.sent += 1;
            self.send_opening(Opening::SynData, self.bytes.into(), (flags, told), now, out);
        } else {
            self.send_opening(Opening::Syn, self.stack.syn_bytes(), (flags, told), now, out);
        }
    }

    /// Takes the data that the application has at the start; returns true if there is a segment for the SYN.
    fn has_first_data(&mut self, now: Time) -> bool {
        if let Some(application) = self.application.as_mut().filter(|application| application.due() <= now) {
            self.end += application.take(now);
        }
        self.end > 0 && now < self.stop
    }

    /// Takes a handshake without the cookie of an earlier connection, which asks for one.
    pub fn forget_cookie(&mut self) {
        self.opening.forget_cookie();
    }

    /// Takes from a SYN-ACK whether the receiver has the data of the SYN.
    fn settle_first_data(&mut self, kind: Option<Opening>, now: Time) {
        if kind == Some(Opening::SynDataAck) {
            self.next = 1;
            self.board.advance_clean(1);
            if let Some(application) = &mut self.application {
                application.note_acknowledged(1, now);
            }
        } else if self.opening.had_data() {
            self.stats.totals.retransmits += 1;
        }
    }

    fn send_opening(&self, kind: Opening, bytes: u32, ecn: (u8, Told), now: Time, out: &mut impl Outlet) {
        out.send(Packet::opening(kind, now, now, self.flow, bytes as u16, ecn.0).telling(ecn.1));
    }

    /// Takes a SYN-ACK: acknowledges it, and begins.
    #[cold]
    #[inline(never)]
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let now = packet.at;
        self.now = now;
        if !self.opening.on_answer() {
            return;
        }
        let (told, was_marked) = self.marks.settle(packet);
        let option = if told.has_option { AccEcnOption::bytes(AccEcnOption::MOST) } else { 0 };
        self.send_opening(Opening::Ack, self.stack.bare_header_bytes() + u32::from(option), (0, told), now, out);
        self.rtt.on_handshake(self.opening.rtt(now, packet.stamp, self.rules, self.clock));
        let window = self.opening.window(packet.stamp, was_marked, &self.stack, self.rules);
        self.settle_first_data(packet.opens(), now);
        self.begin(now, window, out);
        if self.next > 0 && self.board.una() == self.next {
            self.all_acknowledged(now);
        }
        if self.application_due() <= now {
            self.serve_application(now, out);
        }
        self.set_timer(now);
    }
}
