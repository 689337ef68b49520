//! The receiver's measurements of arrivals, and the sender's use of them.

use crate::observe::observed;

/// Number of gaps between arrivals from which the arrival rate is computed (draft-gg-udt-03 section 6.2).
const GAPS: usize = 16;

/// Factor of the median within which a gap counts.
const NEAR: f64 = 8.0;

/// Initial history of the library's receiver: gaps of 1 s, and packet pairs 1 ms apart.
const FIRST_GAP_S: f64 = 1.0;
const FIRST_PAIR_S: f64 = 1e-3;

/// The last few values of a series.
#[derive(Clone, Debug)]
struct Last {
    values: Vec<f64>,
    room: usize,
    oldest: usize,
    sorted: Vec<f64>,
}

impl Last {
    fn new(room: usize, first: Option<f64>) -> Self {
        Self { values: first.map_or(Vec::new(), |value| vec![value; room]), room, oldest: 0, sorted: Vec::new() }
    }

    fn push(&mut self, value: f64) {
        if self.values.len() < self.room {
            self.values.push(value);
        } else {
            self.values[self.oldest] = value;
            self.oldest = (self.oldest + 1) % self.room;
        }
    }

    fn median(&mut self) -> Option<f64> {
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.values);
        self.sorted.sort_unstable_by(f64::total_cmp);
        self.sorted.get(self.sorted.len() / 2).copied()
    }

    /// Sum and number of the values within [`NEAR`] of `median`.
    fn near(&self, median: f64) -> (f64, usize) {
        let near = self.values.iter().filter(|&&gap| gap < median * NEAR && gap > median / NEAR);
        near.fold((0.0, 0), |(sum, count), gap| (sum + gap, count + 1))
    }
}

/// The receiver's history of arrivals, and of packet pairs.
#[derive(Clone, Debug)]
pub struct Arrivals {
    gaps: Last,
    pairs: Last,
    mean_of_pairs: bool,
    last: f64,
    /// Number and arrival time of the first packet of a pair.
    first_of_pair: Option<(u32, f64)>,
}

impl Arrivals {
    /// A receiver that starts at `now`, with a history of `pairs` packet pairs. The receiver uses the mean or the
    /// median of this history. The library's histories are filled before the first arrival; `filled` selects this.
    #[must_use]
    pub fn new(now: f64, pairs: usize, mean_of_pairs: bool, filled: bool) -> Self {
        Self {
            gaps: Last::new(GAPS, filled.then_some(FIRST_GAP_S)),
            pairs: Last::new(pairs, filled.then_some(FIRST_PAIR_S)),
            mean_of_pairs,
            last: now,
            first_of_pair: None,
        }
    }

    /// Records the arrival of a data packet. The sender sends each packet whose number is a multiple of 16 back to back
    /// with the next packet. If both packets arrive at the same instant, since both were held up together, the pair is
    /// not counted.
    pub fn on_packet(&mut self, now: f64, number: u32) {
        self.gaps.push(now - self.last);
        self.last = now;
        match number % 16 {
            0 => self.first_of_pair = Some((number, now)),
            1 => {
                if let Some((first, at)) = self.first_of_pair.take() {
                    if first + 1 == number && now > at {
                        self.pairs.push(now - at);
                    }
                }
            }
            _ => {}
        }
    }

    /// Arrival rate, packets/s: the inverse of the mean of the gaps near their median; 0 if no more than half of the
    /// gaps are near the median.
    pub fn rate(&mut self) -> f64 {
        let Some(median) = self.gaps.median() else { return 0.0 };
        let (sum, count) = self.gaps.near(median);
        if count > GAPS / 2 { count as f64 / sum } else { 0.0 }
    }

    /// Capacity, packets/s; 0 without a pair. The capacity is the inverse of the median gap of the pairs, or of the
    /// mean of the gaps near the median, with the median counted twice.
    pub fn capacity(&mut self) -> f64 {
        let Some(median) = self.pairs.median() else { return 0.0 };
        if !self.mean_of_pairs {
            return 1.0 / median;
        }
        let (sum, count) = self.pairs.near(median);
        (count + 1) as f64 / (sum + median)
    }
}

/// An endpoint's estimate of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// RTT, s.
    pub rtt: f64,
    /// RTTVar, s.
    pub rtt_var: f64,
    /// Arrival rate A, packets/s; 0 while it is unknown.
    pub arrival_rate: f64,
    /// Capacity B, packets/s; 0 while it is unknown.
    pub capacity: f64,
}

observed! {
    self: Estimates;
    /// Smoothed RTT.
    rtt_s = self.rtt, number(Unit::Seconds);
    /// Smoothed variation of the RTT (RTTVar).
    rtt_var_s = self.rtt_var, number(Unit::Seconds);
    /// Packet arrival rate at the receiver (A); 0 while unknown.
    arrival_rate = self.arrival_rate, number(Unit::PacketsPerSecond);
    /// Capacity of the path from packet pairs (B); 0 while unknown.
    capacity = self.capacity, number(Unit::PacketsPerSecond);
}

impl Estimates {
    /// Initial estimates: an RTT of ten SYN intervals, with half of this RTT as its variation.
    #[must_use]
    pub fn new(syn: f64, arrival_rate: f64, capacity: f64) -> Self {
        Self { rtt: 10.0 * syn, rtt_var: 5.0 * syn, arrival_rate, capacity }
    }

    /// Takes an RTT sample; its weight is 1/8 in the RTT and 1/4 in the variation.
    pub fn note_rtt(&mut self, rtt: f64) {
        self.rtt_var = (3.0 * self.rtt_var + (rtt - self.rtt).abs()) / 4.0;
        self.rtt = (7.0 * self.rtt + rtt) / 8.0;
    }

    /// Updates the averages with an ACK's arrival rate and capacity, with weight 1/8, or 1 if the average was unknown;
    /// a value of 0 is ignored.
    pub fn note_rates(&mut self, arrival_rate: f64, capacity: f64) {
        for (held, new) in [(&mut self.arrival_rate, arrival_rate), (&mut self.capacity, capacity)] {
            if new > 0.0 {
                *held = if *held > 0.0 { (7.0 * *held + new) / 8.0 } else { new };
            }
        }
    }
}
