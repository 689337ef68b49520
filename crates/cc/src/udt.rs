//! UDT's native rate control: AIMD on the packet sending period, with increases that shrink as the rate approaches the
//! capacity.
//!
//! There are three sources: section 7.2 of draft-gg-udt-03 by Gu Y (April 2010); the UDT library, version 4 (BSD
//! license), which differs from the draft; and the paper by Gu Y and Grossman R on UDP-based data transfer for
//! high-speed wide area networks (Computer Networks 51(7), 2007). Preset `udt` is the library since January 2012,
//! `udt:2008` is the library of December 2008, and `udt:draft` is the draft.
//!
//! UDT is a transport of its own. Its receiver measures the arrival rate A and, by packet pairs, the capacity B, and
//! reports both in an ACK every SYN interval and losses in NAKs. So it is no [`Algorithm`](crate::Algorithm) for a TCP
//! endpoint; UDT's own endpoint passes ACKs, NAKs and timeouts to the rate control. Units are whole packets, packets/s
//! and seconds. C is the current rate, 1/P.
//!
//! Choices made here for points that the sources leave open or get wrong:
//! * The period for a given window is (RTT + SYN) / window, as in the library since 2009. Earlier libraries have the
//!   inverse, window / (RTT + SYN), which is a rate.
//! * Periods are not rounded. The library rounds a period up to whole microseconds at each decrease, so at 10 Gbit/s a
//!   decrease is 40 % instead of 11 %.
//! * In the draft the period is initially 0, and no rule changes it when slow start ends with an ACK. Here it becomes
//!   1/A at that time, as when slow start ends with a NAK.

mod history;

pub use history::{Arrivals, Estimates};

use crate::draws::Draws;
use crate::observe::observed;
use crate::param::{
    BuildError, Entry, Kind, Preset, Settings, choice, choices, flag, num, params, switch, value, word,
};

choices! {
    /// Smallest increase:
    /// * `hundredth`: a hundredth of a packet per SYN, so the rate grows by at least one packet/s each SYN.
    /// * `byte`: one byte per SYN, which is 1/MSS of a packet.
    pub enum Floor { Hundredth = "hundredth", Byte = "byte" }

    /// Condition that ends slow start, besides a NAK and a timeout:
    /// * `window`: a window beyond the flow window.
    /// * `first_ack`: the first ACK.
    pub enum SlowStart { Window = "window", FirstAck = "first_ack" }

    /// Further NAKs of a congestion period that lower the rate, with r drawn between 1 and the usual number of NAKs:
    /// * `multiples`: among the next few NAKs, each NAK whose number in the period is a multiple of r.
    /// * `spaced`: the r-th NAK, the 2r-th, and so on, a few times.
    pub enum Schedule { Multiples = "multiples", Spaced = "spaced" }

    /// Source of the endpoint's timers:
    /// * `library`: the k-th expiration in a row comes after k (RTT + 4 RTTVar) + SYN, at least k times
    ///   `min_expiration`. An ACK is repeated after RTT + 4 RTTVar.
    /// * `draft`: the k-th expiration in a row comes after k (4 RTT + RTTVar + SYN), at least `min_expiration`. An ACK
    ///   is repeated after 2 RTTs.
    pub enum Timers { Library = "library", Draft = "draft" }
}

params! {
    /// Parameters of UDT: those of the rate control, then those of the endpoint.
    pub struct UdtParams {
        /// SYN: interval between two increases, and between two ACKs.
        syn: f64 = num(0.01, 1e-4, 1.0, Unit::Seconds), "draft-gg-udt-03 §4";
        /// Factor β of the increase: packets × bytes for each bit/s of available bandwidth.
        beta: f64 = num(1.5e-6, 1e-9, 1e-3, Unit::PacketByteSecondsPerBit), "draft-gg-udt-03 §7.2";
        /// Smallest increase.
        floor: Floor = choice("hundredth", Floor::WORDS), "draft-gg-udt-03 §7.2 (min_inc); UDT4 of 24 January 2012";
        /// Relative growth of the period at a decrease; by default the rate falls by 1/9.
        decrease: f64 = num(0.125, 0.001, 10.0, Unit::None), "draft-gg-udt-03 §7.2; UDT4 onLoss";
        /// Largest number of further decreases in a congestion period. For `multiples`: NAKs that may cause a decrease,
        /// the first one included.
        more_decreases: f64 = num(5.0, 0.0, 1000.0, Unit::None), "draft-gg-udt-03 §7.2; UDT4 onLoss";
        /// Further NAKs of a congestion period that cause a decrease.
        schedule: Schedule = choice("multiples", Schedule::WORDS), "UDT4 onLoss; spaced: draft-gg-udt-03 §7.2";
        /// Limit the available bandwidth to a ninth of the capacity while the rate is below that of the last decrease.
        cap: bool = flag(true), "UDT4 onACK; not in the draft";
        /// Skip the increase after a NAK.
        pause: bool = flag(true), "UDT4 onACK (m_bLoss); not in the draft";
        /// Event that ends slow start, besides a NAK and a timeout.
        slow_start: SlowStart = choice("window", SlowStart::WORDS), "UDT4 onACK; first_ack: draft-gg-udt-03 §7.2";
        /// Decrease the rate at a NAK that ends slow start, in addition to setting it to the arrival rate.
        decrease_at_exit: bool = flag(false), "draft-gg-udt-03 §7.2; on: UDT4 of December 2008";
        /// Sending period in slow start.
        initial_period: f64 = num(1e-6, 0.0, 1.0, Unit::Seconds), "UDT4; draft-gg-udt-03 §7.2 has 0";
        /// Window at the start.
        initial_window: f64 = num(16.0, 1.0, 1e6, Unit::Packets), "draft-gg-udt-03 §7.2";
        /// Margin of the window over A (RTT + SYN).
        margin: f64 = num(16.0, 1.0, 1e6, Unit::Packets), "draft-gg-udt-03 §7.2";
        /// Largest number of unacknowledged packets: the receiver's buffer.
        flow_window: f64 = num(25_600.0, 2.0, 1e8, Unit::Packets), "UDT4 (UDT_FC)";
        /// Arrival rate before the first ACK; 0: unknown, so that the first measurement replaces it.
        initial_arrival_rate: f64 = num(16.0, 0.0, 1e9, Unit::PacketsPerSecond), "UDT4; the draft has none";
        /// Capacity before the first ACK; 0: unknown, so that the first measurement replaces it.
        initial_capacity: f64 = num(1.0, 0.0, 1e9, Unit::PacketsPerSecond), "UDT4; the draft has none";
        /// Number of packet pairs in the receiver's history.
        pairs: f64 = num(64.0, 2.0, 1024.0, Unit::Pairs), "UDT4 (CPktTimeWindow); draft-gg-udt-03 §6.2 has 16";
        /// Compute the capacity from the mean of the pairs near the median, and not from the median.
        mean_of_pairs: bool = flag(true), "UDT4 getBandwidth; off: draft-gg-udt-03 §6.2";
        /// Number of packets after which the receiver sends a light ACK, which has only a packet number, between two
        /// ACKs.
        light_ack: f64 = num(64.0, 1.0, 1e6, Unit::Packets), "UDT4 (self-clocking interval)";
        /// Report a loss again k RTT after its last report, with k = 2, 3, ….
        repeat_naks: bool = flag(false), "UDT4 (periodic NAKs disabled); on: draft-gg-udt-03 §6.2";
        /// Rules of the expiration timer and of the repetition of ACKs: the library's or the draft's.
        timers: Timers = choice("library", Timers::WORDS), "UDT4 checkTimers, sendCtrl; draft: draft-gg-udt-03 §4, §6.2";
        /// Shortest period of the expiration timer.
        min_expiration: f64 = num(0.3, 0.001, 60.0, Unit::Seconds), "UDT4; draft-gg-udt-03 §4 has 0.5";
    }
}

impl UdtParams {
    /// Time without packets from the receiver after which all unacknowledged packets are sent again, s; `k` counts such
    /// times in a row, from 1.
    #[must_use]
    pub fn expiration_s(&self, k: f64, rtt: f64, rtt_var: f64) -> f64 {
        match self.timers {
            Timers::Library => (k * (rtt + 4.0 * rtt_var) + self.syn).max(k * self.min_expiration),
            Timers::Draft => (k * (4.0 * rtt + rtt_var + self.syn)).max(self.min_expiration),
        }
    }

    /// Time after which an ACK without new data is sent again, s.
    #[must_use]
    pub fn ack_again_s(&self, rtt: f64, rtt_var: f64) -> f64 {
        match self.timers {
            Timers::Library => rtt + 4.0 * rtt_var,
            Timers::Draft => 2.0 * rtt,
        }
    }

    /// Interval between two checks for losses to report again, s.
    #[must_use]
    pub fn repeat_s(&self, rtt: f64, rtt_var: f64) -> f64 {
        4.0 * rtt + rtt_var + self.syn
    }
}

/// UDT's sender control.
#[derive(Clone, Debug)]
pub struct Udt {
    p: UdtParams,
    /// Size of a packet, headers included, bytes.
    packet_bytes: f64,
    /// P, s.
    period: f64,
    window: f64,
    slow_start: bool,
    last_increase: f64,
    /// Next packet expected by the receiver at slow start's last update.
    last_ack: u32,
    /// True if a NAK has arrived since the last increase.
    loss: bool,
    /// P before the first decrease of the last congestion period.
    last_dec_period: f64,
    /// Next packet number at the last decrease; packets with lower numbers were sent before the decrease.
    recover: u32,
    nak_count: u32,
    avg_nak_num: u32,
    dec_count: u32,
    dec_random: u32,
    draws: Draws,
}

observed! {
    self: Udt;
    /// Sending period: time from the start of a packet to that of the next (P).
    period_s = self.period, number(Unit::Seconds);
    /// Largest number of unacknowledged packets (W).
    window = self.window(), number(Unit::Packets);
    /// 1 during slow start.
    slow_starting = self.slow_start, plain();
    /// P before the first decrease of the last congestion period (LastDecPeriod).
    last_dec_period_s = self.last_dec_period, number(Unit::Seconds);
    /// Number of NAKs in this congestion period so far (NAKCount).
    nak_count = self.nak_count, plain();
    /// Smoothed number of NAKs in a congestion period (AvgNAKNum).
    avg_nak_num = self.avg_nak_num, plain();
}

impl Udt {
    /// Descriptor in the registry.
    pub const ENTRY: Entry = Entry {
        name: "udt",
        title: "UDT",
        kind: Kind::Loss,
        signals: &["a UDT endpoint: NAKs, arrival rates, packet pairs"],
        source: "Gu & Grossman, Computer Networks 51(7), 2007; draft-gg-udt-03; the UDT library, version 4",
        doc: "UDT is rate control over datagrams, not TCP. The sender spaces its packets by a period. The receiver \
              acknowledges every 10 ms and reports losses by negative acknowledgements (NAKs). Every 10 ms the rate \
              grows by a step that depends only on the order of magnitude of the unused bandwidth, measured by packet \
              pairs, and not on the RTT. The first NAK of a congestion period lowers the rate by a ninth; some of the \
              period's further NAKs lower it by another ninth. A window of arrival rate × (RTT + 10 ms) + 16 packets \
              limits the packets in flight. The default is the library since January 2012, with periods that are not \
              rounded to microseconds.",
        presets: &[
            Preset::new("", "the UDT library, version 4, since January 2012", &[]),
            Preset::new(
                "2008",
                "the UDT library of December 2008: increases as small as a byte",
                &[word("floor", "byte"), switch("decrease_at_exit", true)],
            ),
            Preset::new(
                "draft",
                "draft-gg-udt-03: slow start ends with the first ACK, NAKs are repeated",
                &[
                    word("schedule", "spaced"),
                    switch("cap", false),
                    switch("pause", false),
                    word("slow_start", "first_ack"),
                    value("initial_period", 0.0),
                    value("initial_arrival_rate", 0.0),
                    value("initial_capacity", 0.0),
                    value("pairs", 16.0),
                    switch("mean_of_pairs", false),
                    switch("repeat_naks", true),
                    word("timers", "draft"),
                    value("min_expiration", 0.5),
                ],
            ),
        ],
        tables: &[UdtParams::TABLE],
        variables: &[Self::VARIABLES, Estimates::VARIABLES],
    };

    /// # Errors
    /// The errors of [`Settings::read`].
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        let p = UdtParams::read(settings)?;
        Ok(Self {
            period: p.initial_period,
            window: p.initial_window,
            packet_bytes: 1500.0,
            slow_start: true,
            last_increase: 0.0,
            last_ack: 0,
            loss: false,
            last_dec_period: p.initial_period,
            recover: 0,
            nak_count: u32::from(p.schedule == Schedule::Spaced),
            avg_nak_num: u32::from(p.schedule == Schedule::Spaced),
            dec_count: 1,
            dec_random: 1,
            draws: Draws::default(),
            p,
        })
    }

    /// Starts the connection. `packet_bytes` is the size of a packet with its headers; `seed` is for random draws at
    /// decreases.
    pub fn on_start(&mut self, now: f64, packet_bytes: f64, seed: u64) {
        self.packet_bytes = packet_bytes;
        self.last_increase = now;
        self.draws = Draws::new(seed);
    }

    /// Handles a full ACK, which acknowledges all packets below `next`, perhaps not for the first time.
    pub fn on_ack(&mut self, now: f64, next: u32, path: &Estimates) {
        // The tolerance allows for rounding in sums of periods.
        if now - self.last_increase < self.p.syn * (1.0 - 1e-9) {
            return;
        }
        self.last_increase = now;
        if self.slow_start {
            match self.p.slow_start {
                SlowStart::Window => {
                    self.window += f64::from(next - self.last_ack.min(next));
                    self.last_ack = next;
                    if self.window <= self.p.flow_window {
                        return;
                    }
                    self.leave_slow_start(path);
                }
                SlowStart::FirstAck => {
                    self.leave_slow_start(path);
                    if path.arrival_rate > 0.0 {
                        // The draft has no margin here. A sender without packets in flight may always send one packet,
                        // so a window below one packet counts as one packet.
                        self.window = (path.arrival_rate * (path.rtt + self.p.syn)).max(1.0);
                    }
                    return;
                }
            }
        } else {
            self.window = path.arrival_rate * (path.rtt + self.p.syn) + self.p.margin;
        }
        if self.p.pause && self.loss {
            self.loss = false;
            return;
        }
        let inc = self.increase(path.capacity);
        self.period = self.period * self.p.syn / (self.period * inc + self.p.syn);
    }

    /// Additional packets in the next SYN interval at a capacity of `capacity` packets/s.
    #[must_use]
    pub fn increase(&self, capacity: f64) -> f64 {
        let mut available = capacity - self.rate();
        if self.p.cap && self.period > self.last_dec_period {
            available = available.min(capacity / 9.0);
        }
        let floor = match self.p.floor {
            Floor::Hundredth => 0.01,
            Floor::Byte => 1.0 / self.packet_bytes,
        };
        let bits = available * self.packet_bytes * 8.0;
        if bits <= 0.0 { floor } else { (next_power_of_ten(bits) * self.p.beta / self.packet_bytes).max(floor) }
    }

    /// Handles a NAK: `first` is the lowest packet that the NAK reports, and `next` the first packet never sent.
    /// Returns true if a congestion period begins.
    pub fn on_nak(&mut self, first: u32, next: u32, path: &Estimates) -> bool {
        if self.slow_start {
            self.leave_slow_start(path);
            if path.arrival_rate > 0.0 && !self.p.decrease_at_exit {
                return true;
            }
        }
        self.loss = true;
        if first >= self.recover {
            self.last_dec_period = self.period;
            self.slow_down(next);
            self.avg_nak_num = (7 * self.avg_nak_num + self.nak_count).div_ceil(8);
            self.nak_count = 1;
            self.dec_count = 1;
            let drawn = (self.draws.uniform() * f64::from(self.avg_nak_num)) as u32 + 1;
            self.dec_random = drawn.min(self.avg_nak_num.max(1));
            return true;
        }
        match self.p.schedule {
            Schedule::Multiples => {
                if f64::from(self.dec_count) < self.p.more_decreases {
                    self.nak_count += 1;
                    if self.nak_count % self.dec_random == 0 {
                        self.slow_down(next);
                    }
                }
                self.dec_count = self.dec_count.saturating_add(1);
            }
            Schedule::Spaced => {
                // The draft does not state when a NAK is counted. Here the NAK is counted after this test; otherwise an
                // r of 1 could never cause a further decrease.
                let due = self.nak_count == self.dec_count * self.dec_random;
                if due && f64::from(self.dec_count) <= self.p.more_decreases {
                    self.slow_down(next);
                    self.dec_count += 1;
                }
                self.nak_count += 1;
            }
        }
        false
    }

    fn slow_down(&mut self, next: u32) {
        self.period *= 1.0 + self.p.decrease;
        self.recover = next;
    }

    /// Handles an expired timer: no packet from the receiver arrived in time.
    pub fn on_timeout(&mut self, path: &Estimates) {
        if self.slow_start {
            self.leave_slow_start(path);
        }
    }

    fn leave_slow_start(&mut self, path: &Estimates) {
        self.slow_start = false;
        self.period =
            if path.arrival_rate > 0.0 { 1.0 / path.arrival_rate } else { (path.rtt + self.p.syn) / self.window };
    }

    /// Packets that may be unacknowledged.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window.min(self.p.flow_window)
    }

    /// P: time from the start of a packet to the start of the next packet, s.
    #[must_use]
    pub fn period(&self) -> f64 {
        self.period
    }

    /// Rate C = 1/P, packets/s; infinite until the draft's slow start ends.
    #[must_use]
    pub fn rate(&self) -> f64 {
        1.0 / self.period
    }

    /// True in slow start.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.slow_start
    }

    /// The parameters' values.
    #[must_use]
    pub fn parameters(&self) -> &UdtParams {
        &self.p
    }
}

/// The smallest power of ten that is at least `x` and at least 1: max(1, 10^⌈log₁₀ x⌉). The power is computed by
/// multiplication, since a rounded logarithm can miss an exact power of ten.
fn next_power_of_ten(x: f64) -> f64 {
    let mut power = 1.0;
    while power < x * (1.0 - 1e-12) {
        power *= 10.0;
    }
    power
}

#[cfg(test)]
mod tests;
