//! The kernel's reports on senders over time: windows, retransmissions, loss events.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::info::TcpInfo;

/// Smallest of Linux's states of a sender (`enum tcp_ca_state`) in which the sender repairs a loss.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// The state in which it reduces its window in response to an ECN echo.
const REDUCING: u8 = 2;

/// State of one connection.
#[derive(Clone, Debug)]
struct Seen {
    info: TcpInfo,
    loss_events: u64,
    ecn_events: u64,
    /// Timeouts counted by this program, if the kernel does not count them.
    timeouts: u64,
}

impl Seen {
    fn next(before: Option<&Self>, info: TcpInfo) -> Self {
        let was = before.map_or(0, |seen| seen.info.state);
        let (loss_events, ecn_events, timeouts) =
            before.map_or((0, 0, 0), |seen| (seen.loss_events, seen.ecn_events, seen.timeouts));
        Self {
            loss_events: loss_events + u64::from(info.state >= RECOVERY && was < RECOVERY),
            ecn_events: ecn_events + u64::from(info.state == REDUCING && was != REDUCING),
            timeouts: timeouts + u64::from(info.state >= LOSS && was < LOSS),
            info,
        }
    }
}

/// Values of a flow at a sample time.
#[derive(Clone, Debug, Default)]
struct Sample {
    cwnd: Option<u64>,
    ssthresh: Option<u32>,
    srtt_s: Option<f64>,
    in_flight: u64,
    retransmits: u64,
    loss_events: u64,
    ecn_events: u64,
    timeouts: u64,
}

/// The sender of a flow: one connection, or all connections of one direction.
#[derive(Default)]
pub struct Watched {
    connections: HashMap<(u16, u16), Seen>,
    now: Sample,
    cwnd_sum: f64,
    cwnd_count: u64,
    cwnd_max: u64,
    /// Busy time, and time limited by the receive window, before the measurement window, µs.
    limits_before: (u64, u64),
    limits: (u64, u64),
    samples: Vec<Sample>,
}

impl Watched {
    /// Takes the current reports of the connections, each with its ports; `measured` is true inside the measurement
    /// window.
    pub fn look(&mut self, live: Vec<((u16, u16), TcpInfo)>, measured: bool) {
        let there: Vec<(u16, u16)> = live.iter().map(|(ports, _)| *ports).collect();
        for (ports, info) in live {
            let seen = Seen::next(self.connections.get(&ports), info);
            self.connections.insert(ports, seen);
        }
        let all = || self.connections.values();
        let live = || there.iter().filter_map(|ports| self.connections.get(ports)).map(|seen| &seen.info);
        let only = live().next().filter(|_| there.len() == 1);
        let widest = live().max_by_key(|info| info.cwnd);
        self.now = Sample {
            cwnd: widest.map(|_| live().map(|info| u64::from(info.cwnd)).sum()),
            ssthresh: only.and_then(|info| info.ssthresh),
            srtt_s: widest.and_then(TcpInfo::srtt_s),
            in_flight: live().map(|info| u64::from(info.in_flight())).sum(),
            retransmits: all().map(|seen| seen.info.retransmits).sum(),
            loss_events: all().map(|seen| seen.loss_events).sum(),
            ecn_events: all().map(|seen| seen.ecn_events).sum(),
            timeouts: all().map(|seen| seen.info.timeouts.unwrap_or(seen.timeouts)).sum(),
        };
        let limits = all().fold((0, 0), |(busy, limited), seen| {
            (busy + seen.info.busy_us, limited + seen.info.receive_window_limited_us)
        });
        if let Some(cwnd) = self.now.cwnd.filter(|_| measured) {
            self.cwnd_sum += cwnd as f64;
            self.cwnd_count += 1;
            self.cwnd_max = self.cwnd_max.max(cwnd);
            self.limits = limits;
        } else if self.cwnd_count == 0 {
            (self.limits_before, self.limits) = (limits, limits);
        }
    }

    /// Takes a sample: the values of the last reports.
    pub fn sample(&mut self) {
        self.samples.push(self.now.clone());
    }

    /// All samples and totals, for the log.
    #[must_use]
    pub fn log(&self) -> Value {
        let (busy, limited) = (self.limits.0 - self.limits_before.0, self.limits.1 - self.limits_before.1);
        let any = self.cwnd_count > 0;
        json!({
            "retransmits": self.now.retransmits, "loss_events": self.now.loss_events,
            "ecn_events": self.now.ecn_events, "timeouts": self.now.timeouts,
            "segment_bytes": self.connections.values().next().map(|seen| seen.info.segment_bytes),
            "cwnd_mean": any.then(|| self.cwnd_sum / self.cwnd_count as f64),
            "cwnd_max": any.then_some(self.cwnd_max),
            "receive_window_limited_fraction": if busy > 0 { limited as f64 / busy as f64 } else { 0.0 },
            "looks": self.cwnd_count,
            "samples": {
                "cwnd": self.column(|s| s.cwnd.into()), "ssthresh": self.column(|s| s.ssthresh.into()),
                "srtt_s": self.column(|s| s.srtt_s.into()), "in_flight": self.column(|s| s.in_flight.into()),
                "retransmits": self.column(|s| s.retransmits.into()),
                "loss_events": self.column(|s| s.loss_events.into()),
                "ecn_events": self.column(|s| s.ecn_events.into()), "timeouts": self.column(|s| s.timeouts.into()),
            },
        })
    }

    fn column(&self, what: fn(&Sample) -> Value) -> Vec<Value> {
        self.samples.iter().map(what).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::tests::info;

    #[test]
    fn a_loss_event_is_counted_once_however_often_it_is_looked_at() {
        let mut watched = Watched::default();
        for state in [0, 3, 3, 4, 0, 1, 3, 0] {
            watched.look(vec![((1, 2), info(state, 10))], true);
            watched.sample();
        }
        let log = watched.log();
        assert_eq!((&log["loss_events"], &log["cwnd_mean"], &log["looks"]), (&json!(2), &json!(10.0), &json!(8)));
        assert_eq!(log["samples"]["loss_events"], json!([0, 1, 1, 1, 1, 1, 2, 2]));
    }

    #[test]
    fn reductions_by_marks_and_timeouts_are_counted_over_time() {
        let mut watched = Watched::default();
        for state in [0, 2, 2, 0, 2, 3, 4, 0] {
            watched.look(vec![((1, 2), info(state, 10))], true);
            watched.sample();
        }
        let log = watched.log();
        assert_eq!(log["samples"]["ecn_events"], json!([0, 1, 1, 1, 2, 2, 2, 2]));
        assert_eq!(log["samples"]["loss_events"], json!([0, 0, 0, 0, 0, 1, 1, 1]));
        assert_eq!((&log["ecn_events"], &log["timeouts"]), (&json!(2), &log["samples"]["timeouts"][7]));
    }

    #[test]
    fn windows_of_several_connections_add_up_and_what_they_counted_stays() {
        let mut watched = Watched::default();
        watched.look(vec![((1, 2), info(3, 10)), ((3, 2), info(0, 5))], true);
        watched.sample();
        watched.look(vec![((3, 2), info(0, 7))], true);
        watched.sample();
        watched.look(Vec::new(), true);
        watched.sample();
        let log = watched.log();
        assert_eq!(log["samples"]["cwnd"], json!([15, 7, null]));
        assert_eq!(log["samples"]["loss_events"], json!([1, 1, 1]));
        assert_eq!((&log["cwnd_max"], &log["looks"]), (&json!(15), &json!(2)));
    }
}
