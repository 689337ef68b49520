//! Replay of a capture: the sender of one algorithm is led by the ACKs and by the transmissions that a capture shows.
//!
//! The algorithm's own transmissions would soon differ from those of the captured sender, and every ACK would then be
//! for segments that the algorithm has not sent. So the segments outstanding, the losses, the RTTs and the delivery rates
//! are those of the capture at all times, and only the window and the pacing rate are the algorithm's. For each
//! segment, [`Followed::allowed`] is the time at which this window and this rate would have let it leave, given all that
//! left before it. A sender that runs the algorithm sends each segment at this time.
//!
//! A retransmission timeout is taken from the capture, too, because the phase of its host's timer interrupts is unknown.

use std::sync::Arc;

use elephan_cc::draws::Draws;
use elephan_cc::{Algorithm, Controller};

use super::boundary::{End, Outlet};
use super::linux::tlp::Probe;
use super::sender::Sender;
use crate::packet::{FlowId, Packet, flag};
use crate::sidecar::{SackEntry, Sidecar};
use crate::spec::{FlowSpec, Handshake, Spec, StackSpec};
use crate::time::Time;

/// An ACK that the captured sender received.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Time of its arrival.
    pub at: Time,
    /// Next segment expected.
    pub cumulative: u32,
    /// SACK blocks `[first, past)`, newest first, and their number.
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub count: u8,
    /// Segments `[first, past)` that arrived twice (D-SACK); empty if there are none to report.
    pub repeated: (u32, u32),
    /// Segment whose arrival caused the ACK, time at which it was sent, and true if that was a retransmission.
    pub trigger: u32,
    /// See [`Acked::trigger`].
    pub stamp: Time,
    /// See [`Acked::trigger`].
    pub is_of_resent: bool,
    /// One-way delay of this segment, in units of [`crate::packet::OWD_UNIT_PS`].
    pub owd: u32,
    /// True if the ACK echoes a mark.
    pub echoes: bool,
    /// Advertised receive window, segments.
    pub window: u32,
}

/// Segments that the captured sender sent together: new ones, or retransmissions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departed {
    /// Time of the transmission.
    pub at: Time,
    /// First segment.
    pub first: u32,
    /// Segment after the last one.
    pub past: u32,
}

/// An event of a capture.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// An ACK arrives.
    Acked(Acked),
    /// Segments leave.
    Departed(Departed),
}

impl Event {
    /// Time of the event.
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::Acked(ack) => ack.at,
            Self::Departed(sent) => sent.at,
        }
    }
}

/// Connection of a capture, as its sender saw it.
#[derive(Clone, Debug)]
pub struct Script {
    /// Transport of the captured host.
    pub stack: StackSpec,
    /// RTT of the handshake.
    pub handshake: Time,
    /// Time at which the sender could send its first segment.
    pub start: Time,
    /// Events, in the order of time.
    pub events: Vec<Event>,
    /// Number of segments.
    pub segments: u32,
}

/// Transmissions that an algorithm allows.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// Time from which the algorithm lets each segment leave; [`Time::NEVER`] if it never does.
    pub allowed: Vec<Time>,
    /// Times of the start and of each event.
    pub at: Vec<Time>,
    /// Window of the algorithm after each event, segments.
    pub window: Vec<u32>,
    /// Segments in flight after each event.
    pub in_flight: Vec<u32>,
}

/// Takes the packets that the sender would send, of which none leaves.
#[derive(Clone, Default)]
struct Nowhere {
    beside: Sidecar,
}

impl Outlet for Nowhere {
    fn address(&self) -> (FlowId, End) {
        (FlowId(0), End::Sender)
    }

    fn send(&mut self, _: Packet) {}

    fn beside(&mut self) -> &mut Sidecar {
        &mut self.beside
    }

    fn has_room_for(&mut self, _: u32) -> bool {
        true
    }
}

/// Number of senders that follow a capture together, if the algorithm draws random numbers.
const BRANCHES: usize = 16;

/// Number of events after which the senders that depart most from the capture are replaced.
const STRETCH: usize = 24;

/// Error at which a transmission counts half in the comparison of such senders.
const HALF: Time = Time(Time::MILLISECOND.0 / 5);

/// Share of a stretch's score that counts in the next one: a random number may show only later.
const MEMORY: f64 = 0.5;

/// Leads a sender with this algorithm through a capture.
///
/// The random numbers of the captured sender are unknown. An algorithm that draws some is followed by several senders with
/// different numbers, and after each stretch those that depart most from the capture continue from the others.
#[must_use]
pub fn follow(script: &Script, mut algorithm: Controller) -> Followed {
    if algorithm.draws().is_some() {
        return follow_in_branches(script, &algorithm);
    }
    let mut follower = Follower::new(script, algorithm);
    for event in &script.events {
        follower.advance(event);
    }
    let mut followed = follower.followed;
    followed.allowed.resize(script.segments as usize, Time::NEVER);
    followed
}

fn follow_in_branches(script: &Script, algorithm: &Controller) -> Followed {
    let mut seed = 0;
    let mut branches: Vec<Branch> = (0..BRANCHES).map(|_| Branch::new(script, algorithm.clone(), &mut seed)).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    for events in script.events.chunks(STRETCH) {
        for branch in &mut branches {
            events.iter().for_each(|event| branch.follower.advance(event));
            branch.end_stretch(&mut pieces);
        }
        branches.sort_by(|a, b| b.score.total_cmp(&a.score));
        let (best, worst) = branches.split_at_mut(BRANCHES / 2);
        for (worst, best) in worst.iter_mut().zip(best) {
            *worst = best.clone();
            worst.follower.draw_anew(&mut seed);
        }
    }
    let mut next = branches.first().and_then(|best| best.piece);
    let mut line = Vec::new();
    while let Some(piece) = next {
        line.push(piece);
        next = pieces[piece].before;
    }
    let mut followed = Followed::default();
    for piece in line.into_iter().rev() {
        followed.append(&mut pieces[piece].followed);
    }
    followed.allowed.resize(script.segments as usize, Time::NEVER);
    followed
}

/// One of several senders that follow a capture with different random numbers.
#[derive(Clone)]
struct Branch {
    follower: Follower,
    /// Agreement with the capture, of which that of the last stretches counts most.
    score: f64,
    /// The last piece of what this sender did.
    piece: Option<usize>,
}

/// Record of a sender in a stretch, and the piece before it.
struct Piece {
    followed: Followed,
    before: Option<usize>,
}

impl Branch {
    fn new(script: &Script, algorithm: Controller, seed: &mut u64) -> Self {
        let mut follower = Follower::new(script, algorithm);
        follower.draw_anew(seed);
        Self { follower, score: 0.0, piece: None }
    }

    fn end_stretch(&mut self, pieces: &mut Vec<Piece>) {
        self.score = self.score * MEMORY + std::mem::take(&mut self.follower.score);
        pieces.push(Piece { followed: self.follower.take_followed(), before: self.piece });
        self.piece = Some(pieces.len() - 1);
    }
}

impl Followed {
    fn append(&mut self, next: &mut Self) {
        self.allowed.append(&mut next.allowed);
        self.at.append(&mut next.at);
        self.window.append(&mut next.window);
        self.in_flight.append(&mut next.in_flight);
    }
}

/// A sender that follows a capture.
#[derive(Clone)]
struct Follower {
    sender: Sender,
    out: Nowhere,
    /// Segment after the last one that the receive window allows.
    receivable: u32,
    /// The receive window of the last ACK.
    window: u32,
    /// Segment after the last one that the algorithm allows.
    allowed: u32,
    followed: Followed,
    /// Number of the first segment in `followed`.
    first: u32,
    /// Number of segments of the capture.
    segments: u32,
    /// Agreement with the capture in this stretch.
    score: f64,
}

impl Follower {
    fn new(script: &Script, algorithm: Controller) -> Self {
        let mut flow = FlowSpec::bulk("captured", "reno", script.start, &[0], &[1]);
        flow.stack =
            Arc::new(StackSpec { handshake: false, quick_acks: 0, receive_window: None, ..script.stack.clone() });
        let spec = Spec::dumbbell(1_000_000_000, script.handshake, 1, Time::SECOND, &[]);
        let mut sender = Sender::new(FlowId(0), &spec, &flow, script.start, algorithm, &Arc::from([]));
        let handshake = Some(Handshake { rtt: script.handshake, receivers_rtt: script.handshake });
        sender.note_handshake(handshake, handshake);
        let mut this = Self {
            sender,
            out: Nowhere::default(),
            receivable: u32::MAX,
            window: u32::MAX,
            allowed: 0,
            followed: Followed::default(),
            first: 0,
            segments: script.segments,
            score: 0.0,
        };
        this.sender.begin_led(script.start, &mut this.out);
        this.note(script.start);
        this
    }

    /// Gives the algorithm random numbers that no other sender has.
    fn draw_anew(&mut self, seed: &mut u64) {
        *seed += 1;
        if let Some(draws) = self.sender.algorithm.draws() {
            *draws = Draws::new(*seed);
        }
    }

    /// Takes the next event.
    fn advance(&mut self, event: &Event) {
        self.run_timer(event.at());
        match event {
            Event::Acked(ack) => self.take(ack),
            Event::Departed(sent) => self.send(*sent),
        }
        self.note(event.at());
    }

    /// Takes what has been recorded of the segments that were sent.
    fn take_followed(&mut self) -> Followed {
        let sent = (self.sender.next - self.first) as usize;
        self.followed.allowed.resize(sent.max(self.followed.allowed.len()), Time::NEVER);
        // A piece keeps the memory of its own segments alone, and not that of all that are allowed already.
        let own = self.followed.allowed.drain(..sent).collect();
        let later = std::mem::take(&mut self.followed.allowed);
        self.first = self.sender.next;
        let followed = std::mem::replace(&mut self.followed, Followed { allowed: later, ..Followed::default() });
        Followed { allowed: own, ..followed }
    }

    /// Lets the timer of the reordering window expire, if that is due by `now`.
    fn run_timer(&mut self, now: Time) {
        let due = self.sender.timers.reordering_due();
        if due <= now && self.sender.timers.takes_reordering(due) {
            self.give_up_waiting(due.max(self.sender.now));
        }
    }

    fn give_up_waiting(&mut self, now: Time) {
        self.sender.now = now;
        self.sender.give_up_waiting(now, &mut self.out);
        self.note(now);
    }

    /// Takes an ACK.
    fn take(&mut self, ack: &Acked) {
        let next = self.sender.next;
        if ack.cumulative > next {
            // The capture lacks a transmission.
            self.send_new(Departed { at: ack.at, first: next, past: ack.cumulative });
        }
        self.sender.settle_new_data();
        let next = self.sender.next;
        self.receivable = ack.cumulative.saturating_add(ack.window);
        self.sender.announced.tell_larger(ack.window > self.window);
        self.window = ack.window;
        let mut flags = flag::ACK;
        flags |= if ack.is_of_resent { flag::RETRANSMIT } else { 0 } | if ack.echoes { flag::ECE } else { 0 };
        let mut extra = ack.owd;
        if ack.count > 0 || ack.repeated.0 < ack.repeated.1 {
            flags |= flag::BESIDE;
            let blocks = ack.blocks.map(|(first, past)| (first, past.min(next)));
            extra = self.out.beside.sacks.put(SackEntry {
                blocks,
                count: ack.count,
                owd: ack.owd,
                trigger: ack.trigger.min(next.saturating_sub(1)),
                repeated: ack.repeated,
                ..SackEntry::default()
            });
        }
        let packet = Packet::new(ack.at, ack.stamp.min(ack.at), FlowId(0), ack.cumulative, 52, flags, extra);
        self.sender.on_ack(&packet, &mut self.out);
    }

    /// Takes a transmission.
    fn send(&mut self, sent: Departed) {
        self.sender.now = sent.at;
        let next = self.sender.next;
        if sent.first < next {
            self.send_again(Departed { past: sent.past.min(next), ..sent });
        }
        if sent.past > next {
            self.send_new(Departed { first: next, ..sent });
        }
    }

    fn send_new(&mut self, sent: Departed) {
        // Segments that left together waited for the last of them, and for the pacing of the burst before.
        let is_paced = self.sender.pace.is_active() && self.sender.socket_rate(sent.first).is_some();
        let paced = if is_paced { self.sender.pace.next() } else { Time::ZERO };
        if sent.first >= self.allowed && self.is_probe(&sent) {
            // A tail loss probe leaves although the window does not allow it.
            self.allow(sent.at, sent.past);
            self.sender.timers.on_probe(sent.past, Probe::New);
        }
        let of = |segment: u32| segment.saturating_sub(self.first) as usize;
        if let Some(together) = self.followed.allowed.get_mut(of(sent.first)..of(sent.past.min(self.allowed))) {
            let released = together.iter().copied().fold(Time::ZERO, Time::max);
            let latest = released.max(paced);
            together.fill(latest);
            if is_paced && released <= paced {
                // The sender waited for its pacing alone, so it was not late, whatever the algorithm's rate would be.
                self.sender.pace.allow_at(sent.at);
            }
            let error = latest.0.abs_diff(sent.at.0) as f64 / HALF.0 as f64;
            self.score += together.len() as f64 / (1.0 + error);
        }
        let receivable = self.receivable.saturating_sub(sent.past);
        self.sender.send_led(sent.past - sent.first, receivable, sent.at, &mut self.out);
    }

    fn send_again(&mut self, sent: Departed) {
        let una = self.sender.board.una();
        for segment in sent.first.max(una)..sent.past {
            if self.sender.board.is_sacked(segment) {
                continue;
            }
            if !self.sender.board.is_unrepaired(segment) && self.sender.timers.awaits_reordered() {
                self.sender.timers.stop_reordering();
                self.give_up_waiting(sent.at);
            }
            let is_overtaken = segment < self.sender.board.forward_ack() && !self.sender.board.is_resent(segment);
            if !self.sender.board.is_unrepaired(segment) && is_overtaken {
                self.sender.lose_led(segment, sent.at, &mut self.out);
            }
            if self.sender.board.is_unrepaired(segment) {
                self.sender.resend_led(segment, sent.at, &mut self.out);
            } else if segment + 1 == self.sender.next && self.sender.timers.probe.is_acknowledged() {
                self.sender.probe_led(segment, sent.at, &mut self.out);
            } else if segment == self.sender.board.una() {
                self.sender.on_timeout(sent.at, &mut self.out);
                if self.sender.board.is_unrepaired(segment) {
                    self.sender.resend_led(segment, sent.at, &mut self.out);
                }
            } else {
                self.sender.probe_led(segment, sent.at, &mut self.out);
            }
        }
        self.sender.note_led_burst(sent.past - sent.first, sent.at);
    }

    /// Records the segments that the algorithm allows at `now`.
    fn note(&mut self, now: Time) {
        let sender = &self.sender;
        let (window, in_flight) = (sender.allowance(), sender.board.in_flight(sender.next));
        // Lost segments come before new ones. Segments that have left although the window did not allow them are allowed
        // once it does.
        let taken = in_flight + sender.board.unrepaired();
        let past = (sender.next + window).saturating_sub(taken).min(self.receivable.max(sender.next));
        self.allowed = self.allowed.min(past.max(sender.next));
        self.allow(now, past);
        self.followed.at.push(now);
        self.followed.window.push(window);
        self.followed.in_flight.push(in_flight);
    }

    /// True if these new segments are a tail loss probe: one segment after a silence of a round trip.
    fn is_probe(&self, sent: &Departed) -> bool {
        let silent_since = self.sender.pace.last();
        sent.past - sent.first == 1 && sent.at.since(silent_since) > self.sender.rtt.smoothed()
    }

    /// Records that the segments below `past` are allowed from `now` on.
    fn allow(&mut self, now: Time, past: u32) {
        let last = past.min(self.segments);
        for segment in self.allowed.max(self.first)..last {
            let place = (segment - self.first) as usize;
            if place >= self.followed.allowed.len() {
                self.followed.allowed.resize(place + 1, Time::NEVER);
            }
            self.followed.allowed[place] = now;
        }
        self.allowed = self.allowed.max(last);
    }
}
