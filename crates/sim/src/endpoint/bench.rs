//! A test bench for one end of a flow. A test creates the arrivals, and the bench collects the packets that the end
//! sends.

use std::sync::Arc;

use super::boundary::{End, Endpoint, EndpointState, Outlet};
use super::sender::Sender;
use crate::algorithms::controller;
use crate::packet::{FlowId, Packet, flag};
use crate::sidecar::{SackEntry, Sidecar};
use crate::spec::{FlowSpec, Handshake, Spec, StackSpec};
use crate::time::Time;

/// Collects the packets that an endpoint sends.
#[derive(Default)]
pub struct Wire {
    pub sent: Vec<Packet>,
    beside: Sidecar,
}

impl Outlet for Wire {
    fn address(&self) -> (FlowId, End) {
        (FlowId(0), End::Sender)
    }

    fn send(&mut self, packet: Packet) {
        self.sent.push(packet);
    }

    fn beside(&mut self) -> &mut Sidecar {
        &mut self.beside
    }

    fn has_room_for(&mut self, _: u32) -> bool {
        true
    }
}

/// Time in microseconds.
pub fn us(time: u64) -> Time {
    Time(time * 1_000_000)
}

/// A sender of the stack `linux` with a constant window.
pub struct Bench {
    pub sender: Sender,
    pub wire: Wire,
}

impl Bench {
    /// Starts a flow of `size` segments with a window of `window` segments, after a handshake of `rtt_us`.
    pub fn start(window: u32, rtt_us: u64, size: Option<u64>) -> Self {
        Self::start_stack(window, rtt_us, size, StackSpec::linux())
    }

    /// Starts a flow as [`Bench::start`], with another stack.
    pub fn start_stack(window: u32, rtt_us: u64, size: Option<u64>, stack: StackSpec) -> Self {
        let mut flow = FlowSpec::bulk("f", "fixed", Time::ZERO, &[0], &[1]);
        flow.parameters.insert("window".to_owned(), window.into());
        (flow.size_segments, flow.stack) = (size, Arc::new(stack));
        Self::start_flow(flow, window, rtt_us)
    }

    /// Starts a flow of Reno with an initial window of `window` segments, after a handshake of `rtt_us`.
    pub fn start_reno(window: u32, rtt_us: u64) -> Self {
        Self::start_flow(FlowSpec::bulk("f", "reno", Time::ZERO, &[0], &[1]), window, rtt_us)
    }

    /// Starts a flow of Reno with classic ECN as [`Bench::start_reno`].
    pub fn start_ecn(window: u32, rtt_us: u64) -> Self {
        let mut flow = FlowSpec::bulk("f", "reno", Time::ZERO, &[0], &[1]);
        flow.stack = Arc::new(StackSpec { ecn: true, ..StackSpec::linux() });
        Self::start_flow(flow, window, rtt_us)
    }

    /// Starts a flow of TCP-LP as [`Bench::start_reno`].
    pub fn start_lp(window: u32, rtt_us: u64) -> Self {
        Self::start_flow(FlowSpec::bulk("f", "lp", Time::ZERO, &[0], &[1]), window, rtt_us)
    }

    /// Starts a flow of BBR as [`Bench::start_reno`].
    pub fn start_bbr(window: u32, rtt_us: u64) -> Self {
        Self::start_flow(FlowSpec::bulk("f", "bbr", Time::ZERO, &[0], &[1]), window, rtt_us)
    }

    /// Starts a flow of Prague as [`Bench::start_ecn`].
    pub fn start_prague(window: u32, rtt_us: u64) -> Self {
        let mut flow = FlowSpec::bulk("f", "prague", Time::ZERO, &[0], &[1]);
        flow.stack = Arc::new(StackSpec { ecn: true, ..StackSpec::linux() });
        Self::start_flow(flow, window, rtt_us)
    }

    fn start_flow(mut flow: FlowSpec, window: u32, rtt_us: u64) -> Self {
        let stack = StackSpec::clone(&flow.stack);
        flow.stack = Arc::new(StackSpec { initial_window: window, handshake: false, ..stack });
        let spec = Spec::dumbbell(1_000_000_000, us(10_000), 100, us(1_000_000), &[]);
        let algorithm = controller(0, &flow).expect("the window is allowed");
        let times: Arc<[Time]> = Arc::new([us(1_000_000)]);
        let mut sender = Sender::new(FlowId(0), &spec, &flow, Time::ZERO, algorithm, &times);
        let rtt = us(rtt_us);
        let handshake = Some(Handshake { rtt, receivers_rtt: rtt });
        sender.note_handshake(handshake, handshake);
        let mut bench = Self { sender, wire: Wire::default() };
        bench.sender.on_timer(&mut bench.wire);
        bench
    }

    /// Delivers an ACK of the segments below `cumulative` at `at_us`. Returns the number of segments sent at once.
    pub fn acknowledge(&mut self, cumulative: u32, at_us: u64) -> usize {
        self.arrive(cumulative, cumulative - 1, None, at_us)
    }

    /// Delivers an ACK of the segments below `cumulative` and of the segments in `block` at `at_us`, after the timers
    /// due until then. The arrival of segment `trigger` caused the ACK. Returns the number of segments sent at once.
    pub fn arrive(&mut self, cumulative: u32, trigger: u32, block: Option<(u32, u32)>, at_us: u64) -> usize {
        self.arrive_with(0, (cumulative, trigger), block, at_us)
    }

    /// Delivers an ACK as [`Bench::acknowledge`] that echoes a mark.
    pub fn echo(&mut self, cumulative: u32, at_us: u64) -> usize {
        self.arrive_with(flag::ECE, (cumulative, cumulative - 1), None, at_us)
    }

    fn arrive_with(
        &mut self,
        echo: u8,
        (cumulative, trigger): (u32, u32),
        block: Option<(u32, u32)>,
        at_us: u64,
    ) -> usize {
        let segment = self.wire.sent.iter().rfind(|sent| sent.segment() == trigger).expect("it was sent");
        let (stamp, mut flags) = (segment.stamp, flag::ACK | echo | (segment.flags() & flag::RETRANSMIT));
        let mut extra = 0;
        if let Some(block) = block {
            flags |= flag::BESIDE;
            let blocks = [block, (0, 0), (0, 0)];
            extra = self.wire.beside.sacks.put(SackEntry { blocks, count: 1, trigger, ..SackEntry::default() });
        }
        while self.sender.timer() <= us(at_us) {
            self.sender.on_timer(&mut self.wire);
        }
        let before = self.wire.sent.len();
        let ack = Packet::new(us(at_us), stamp, FlowId(0), cumulative, 52, flags, extra);
        self.sender.on_packet(&ack, &mut self.wire);
        self.wire.sent.len() - before
    }

    /// Segments retransmitted so far.
    pub fn retransmitted(&self) -> Vec<u32> {
        let again = self.wire.sent.iter().filter(|sent| sent.flags() & flag::RETRANSMIT != 0);
        again.map(Packet::segment).collect()
    }
}
