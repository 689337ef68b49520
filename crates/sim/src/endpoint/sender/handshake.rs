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
use super::marks::{Marks, Mode};
use crate::endpoint::boundary::Outlet;
use crate::endpoint::jiffies::Interrupts;
use crate::packet::{Opening, Packet};
use crate::time::Time;

/// Timeouts of a SYN after which its timeout doubles (`tcp_syn_linear_timeouts`).
const LINEAR_TIMEOUTS: u32 = 4;

impl Sender {
    /// Opens the connection: sends a SYN, or begins at once if there is no handshake.
    #[cold]
    pub(super) fn open(&mut self, now: Time, out: &mut impl Outlet) {
        if !self.opening.is_needed {
            return self.begin(now, self.stack.initial_window, out);
        }
        if self.opening.syns == 0 {
            self.opening.first = now;
            self.stats.note_window(now, f64::from(self.stack.initial_window));
        } else {
            self.stats.totals.timeouts += 1;
            self.stats.note_window(now, 1.0);
            // RFC 3168 section 6.1.1.1: a repeated SYN does not ask for ECN.
            if self.marks.mode == Mode::Classic {
                self.marks = Marks::new(self.needs, false);
            }
            if !self.rules.linux || self.opening.syns > LINEAR_TIMEOUTS {
                self.opening.timeout = Time(self.opening.timeout.0.saturating_mul(2)).min(Time(self.stack.max_rto_ps));
            }
        }
        let has_data = self.opening.syns == 0 && self.opening.is_fast && self.has_first_data(now);
        self.opening.syns += 1;
        self.opening.due = Interrupts::of(&self.stack).expiry(now, self.opening.timeout);
        if has_data {
            self.opening.had_data = true;
            self.stats.totals.sent += 1;
            return self.send_opening(Opening::SynData, self.bytes.into(), self.marks.on_opening(), now, out);
        }
        self.send_opening(Opening::Syn, self.stack.syn_bytes(), self.marks.on_opening(), now, out);
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
        self.opening.is_fast = false;
    }

    /// Takes from a SYN-ACK whether the receiver has the data of the SYN.
    fn settle_first_data(&mut self, kind: Option<Opening>, now: Time) {
        if kind == Some(Opening::SynDataAck) {
            self.next = 1;
            self.board.advance_clean(1);
            if let Some(application) = &mut self.application {
                application.note_acknowledged(1, now);
            }
        } else if self.opening.had_data {
            self.stats.totals.retransmits += 1;
        }
    }

    fn send_opening(&self, kind: Opening, bytes: u32, flags: u8, now: Time, out: &mut impl Outlet) {
        out.send(Packet::opening(kind, now, now, self.flow, bytes as u16, flags));
    }

    /// Takes a SYN-ACK: acknowledges it, and begins.
    #[cold]
    #[inline(never)]
    pub(super) fn on_syn_ack(&mut self, packet: &Packet, out: &mut impl Outlet) {
        let now = packet.at;
        self.now = now;
        self.opening.answers += 1;
        if self.started {
            return;
        }
        self.opening.acks += 1;
        self.send_opening(Opening::Ack, self.stack.header_bytes, 0, now, out);
        self.note_rtt_of_handshake(self.rtt_of_handshake(packet));
        let window = self.first_window(packet.stamp == self.opening.first);
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

    /// RTT that the SYN-ACK shows. After a repeated SYN only the echoed timestamp shows an RTT; those of Linux count
    /// whole ms (`tcp_rtt_tsopt_us`).
    fn rtt_of_handshake(&self, packet: &Packet) -> Time {
        if self.opening.syns == 1 || !self.rules.linux {
            return self.rack.elapsed(packet.at, packet.stamp);
        }
        let ms = self.rack.host_ms(packet.at) - self.rack.host_ms(packet.stamp);
        Time(ms.max(1) * Time::MILLISECOND.0)
    }

    /// First window, segments: one segment after the loss of a SYN (RFC 5681 section 3.1). Linux keeps the usual window
    /// after one loss, and if the SYN-ACK answers the first SYN (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`).
    fn first_window(&self, answers_first: bool) -> u32 {
        let lost = self.opening.syns - 1;
        let is_small = if self.rules.linux { lost > 1 && !answers_first } else { lost > 0 };
        if is_small { 1 } else { self.stack.initial_window }
    }
}
