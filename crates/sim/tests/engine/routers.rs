//! XCP and VCP with their routers, against the figures of their papers (Katabi, Handley and Rohrs 2002; Xia and others
//! 2005). Segments are of 1,000 bytes and the buffer is one BDP, as in these papers; each segment is acknowledged.

use crate::common;

use crate::common::{digest, dumbbell, flow, link, linux_stack, ns2_stack, ps};
use elephan_sim::{Engine, Outcome, Spec, Time};
use serde_json::{Value, json};

/// Size of a segment on the wire, bits.
const WIRE_BITS: f64 = 1040.0 * 8.0;

fn router(kind: &str, limit: u64) -> Value {
    let mut queue = match kind {
        "xcp" => json!({"kind": "xcp", "alpha": 0.4, "beta": 0.226, "gamma": 0.1, "standing": 1.0}),
        _ => json!({"kind": "vcp", "t_rho_ps": ps(0.2), "t_q_ps": ps(0.01), "kq": 0.5, "gamma": 0.98}),
    };
    queue["limit_packets"] = json!(limit);
    queue["limit_bytes"] = Value::Null;
    queue
}

/// A dumbbell in which both bottlenecks have routers.
struct Path {
    kind: &'static str,
    rate_bps: u64,
    rtt_s: f64,
    stack: Value,
    sample_s: f64,
    /// Flows on the reverse path.
    reverse: usize,
}

impl Path {
    fn new(kind: &'static str, rate_bps: u64, rtt_s: f64) -> Self {
        Self { kind, rate_bps, rtt_s, stack: ns2_stack(), sample_s: 0.1, reverse: 0 }
    }

    fn bdp(&self) -> u64 {
        (self.rate_bps as f64 * self.rtt_s / 8000.0) as u64
    }

    /// A spec with one flow of `algorithm` for each time in `starts`; the flow starts at this time.
    fn spec(&self, algorithm: &str, starts: &[f64], seconds: f64) -> Spec {
        let each: Vec<(&str, f64)> = starts.iter().map(|start| (algorithm, *start)).collect();
        // Access links of 1 ms there and back, on either side.
        let (mut links, mut flows) = dumbbell(self.rate_bps, self.rtt_s / 2.0 - 0.002, 1, &each, &self.stack);
        for access in links.as_array_mut().expect("it is a list") {
            access["rate_bps"] = json!(self.rate_bps.max(1_000_000_000));
        }
        for (end, record) in [(0, true), (1, false)] {
            links[end]["rate_bps"] = json!(self.rate_bps);
            links[end]["queue"] = router(self.kind, self.bdp());
            links[end]["record"] = json!(record);
        }
        for k in 0..self.reverse {
            let (there, back) = (flows[k]["path"].clone(), flows[k]["reverse_path"].clone());
            let mut other = flows[k].clone();
            (other["name"], other["path"], other["reverse_path"]) = (json!(format!("r{k}")), back, there);
            flows.as_array_mut().expect("it is a list").push(other);
        }
        let mut spec = common::spec(&links, &flows, seconds, 0.0);
        spec.sample_period_ps = ps(self.sample_s);
        spec
    }

    fn run(&self, algorithm: &str, starts: &[f64], seconds: f64) -> Outcome {
        common::run(&self.spec(algorithm, starts, seconds))
    }
}

/// Measurements of a run between two times.
struct Part {
    /// Rate of each flow, segments/s.
    rates: Vec<f64>,
    utilization: f64,
    queue_mean: f64,
    queue_max: u64,
    drops: u64,
}

impl Part {
    fn of(outcome: &Outcome, rate_bps: u64, from_s: f64, to_s: f64) -> Self {
        let (from, to) = (common::at(outcome, from_s), common::at(outcome, to_s));
        let rate = |r: &elephan_sim::record::ReceiverRecord| {
            (r.samples[to].delivered - r.samples[from].delivered) as f64 / (to_s - from_s)
        };
        let rows = &outcome.links[0].1.rows;
        let sent = (rows[to].delivered_bytes - rows[from].delivered_bytes) as f64 * 8.0;
        Self {
            rates: outcome.receivers.iter().map(rate).collect(),
            utilization: sent / (rate_bps as f64 * (to_s - from_s)),
            queue_mean: (rows[to].integral_packet_seconds - rows[from].integral_packet_seconds) / (to_s - from_s),
            queue_max: rows[from + 1..=to].iter().map(|row| row.queue_max).max().expect("it is sampled"),
            drops: rows[to].dropped,
        }
    }
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (rates.len() as f64 * squares)
}

/// Katabi and others, figure 10: five flows share 45 Mbit/s × 40 ms and start 2 s apart. Each new flow has its fair
/// share before the next flow starts (50 round trips). Utilization stays high, and the queue stays below 10 packets.
#[test]
fn xcp_flows_that_come_one_after_another_each_get_their_share_within_50_round_trips() {
    let path = Path::new("xcp", 45_000_000, 0.04);
    let outcome = path.run("xcp", &[0.0, 2.0, 4.0, 6.0, 8.0], 12.0);
    for newest in 0..5_usize {
        let from = 2.0 * newest as f64 + 1.4;
        let part = Part::of(&outcome, path.rate_bps, from, from + 0.6);
        assert!(jain(&part.rates[..=newest]) >= 0.99, "{newest}: {:?}", part.rates);
        assert!(part.utilization >= 0.98, "{newest}: {}", part.utilization);
        assert!(part.queue_max <= 10, "{newest}: {}", part.queue_max);
    }
    // Utilization and queue also stay within limits over the whole time in which flows start.
    let all = Part::of(&outcome, path.rate_bps, 1.0, 12.0);
    assert!(all.utilization >= 0.98 && all.queue_max < path.bdp() / 5, "{} {}", all.utilization, all.queue_max);
    let last = Part::of(&outcome, path.rate_bps, 10.0, 12.0);
    assert!(jain(&last.rates) >= 0.999 && last.queue_mean < 5.0, "{:?} {}", last.rates, last.queue_mean);
    assert_eq!(last.drops, 0);
}

/// Within 50 round trips of the last start, one flow reaches the capacity, or several flows share the capacity evenly;
/// the rates then stay constant.
#[test]
fn xcp_fills_long_fat_paths_with_an_empty_queue_and_no_drop() {
    for (rate_bps, starts, seconds) in
        [(622_000_000, &[0.0][..], 12.0), (622_000_000, &[0.0, 3.0], 14.0), (155_000_000, &[0.0, 1.0, 2.0, 3.0], 16.0)]
    {
        let path = Path::new("xcp", rate_bps, 0.1);
        let outcome = path.run("xcp", starts, seconds);
        let from = starts[starts.len() - 1] + 5.0;
        let part = Part::of(&outcome, rate_bps, from, seconds);
        assert!(part.utilization >= 0.98, "{starts:?}: {}", part.utilization);
        assert!(jain(&part.rates) >= 0.99, "{starts:?}: {:?}", part.rates);
        assert!(part.queue_mean < 0.01 * path.bdp() as f64 && part.drops == 0, "{starts:?}: {}", part.queue_mean);
    }
}

#[test]
fn xcp_shares_10_gbit_s_over_100_ms_between_delayed_acks() {
    let mut stack = linux_stack();
    (stack["payload_bytes"], stack["receive_window"]) = (json!(8948), Value::Null);
    let path = Path { stack, ..Path::new("xcp", 10_000_000_000, 0.1) };
    let outcome = path.run("xcp", &[0.0, 2.0], 9.0);
    let part = Part::of(&outcome, path.rate_bps, 7.0, 9.0);
    assert!(part.utilization >= 0.98 && jain(&part.rates) >= 0.99, "{} {:?}", part.utilization, part.rates);
    assert!(part.drops == 0 && part.queue_max < 100, "{}", part.queue_max);
}

/// Figures 4 and 8 a: many flows, and an equal number on the reverse path, so that ACKs arrive in bursts. Utilization
/// is near optimal, no packet is dropped, and all flows have equal rates.
#[test]
fn xcp_stands_reverse_traffic() {
    let path = Path { reverse: 15, ..Path::new("xcp", 45_000_000, 0.08) };
    let starts: Vec<f64> = (0..15).map(|k| 0.013 * f64::from(k)).collect();
    let outcome = path.run("xcp", &starts, 30.0);
    let part = Part::of(&outcome, path.rate_bps, 10.0, 30.0);
    assert!(part.utilization >= 0.98, "{}", part.utilization);
    assert!(jain(&part.rates[..15]) >= 0.99, "{:?}", part.rates);
    // Bursts of ACKs cause bursts of segments, so queues form but do not persist.
    assert!(part.drops == 0 && part.queue_mean < path.bdp() as f64 / 3.0, "{} {}", part.drops, part.queue_mean);
    let other = jain(&part.rates[15..]);
    assert!(other >= 0.99, "{other}");
}

/// Figure 8 b: flows with round-trip times from 40 to 330 ms in steps of 10 ms over 30 Mbit/s have equal rates.
#[test]
fn xcp_does_not_favor_short_round_trips() {
    let path = Path::new("xcp", 30_000_000, 0.04);
    let mut spec = path.spec("xcp", &[0.0; 30], 60.0);
    for flow in 0..30_u64 {
        for side in [0, 3] {
            // Half of the flow's additional delay, on its first and on its last access link.
            spec.links[2 + 4 * flow as usize + side].delay_ps += ps(0.005) * flow;
        }
    }
    let outcome = common::run(&spec);
    let part = Part::of(&outcome, path.rate_bps, 30.0, 60.0);
    assert!(jain(&part.rates) >= 0.98, "{:?}", part.rates);
    assert!(part.utilization >= 0.98 && part.drops == 0, "{} {}", part.utilization, part.drops);
    let (short, long): (f64, f64) = (part.rates[..10].iter().sum(), part.rates[20..].iter().sum());
    assert!((long / short - 1.0).abs() < 0.1, "{long} {short}");
}

/// Outcome of a run over links in a row, with flows over all links and flows over each link.
fn parking_lot(rates_bps: &[u64], through: usize, cross: usize, seconds: f64) -> Outcome {
    let hops = rates_bps.len();
    let mut links = Vec::new();
    for direction in ["east", "west"] {
        for (hop, rate) in rates_bps.iter().enumerate() {
            let mut this = link(&format!("{direction} {hop}"), *rate, 0.02, None);
            this["queue"] = router("xcp", 1000);
            this["record"] = json!(direction == "east");
            links.push(this);
        }
    }
    let all: Vec<usize> = (0..hops).collect();
    let back: Vec<usize> = (hops..2 * hops).rev().collect();
    let stack = ns2_stack();
    let mut flows = Vec::new();
    for k in 0..through {
        flows.push(flow(&format!("through {k}"), "xcp", 0.01 * k as f64, &all, &back, &stack));
    }
    for hop in 0..hops {
        for k in 0..cross {
            flows.push(flow(&format!("cross {hop} {k}"), "xcp", 0.01 * k as f64, &[hop], &[hops + hop], &stack));
        }
    }
    common::run(&common::spec(&json!(links), &json!(flows), seconds, 0.0))
}

fn on_link(outcome: &Outcome, hop: usize, rate_bps: u64, from_s: f64, to_s: f64) -> (f64, u64) {
    let rows = &outcome.links[hop].1.rows;
    let (from, to) = (common::at(outcome, from_s), common::at(outcome, to_s));
    let bits = (rows[to].delivered_bytes - rows[from].delivered_bytes) as f64 * 8.0;
    (bits / (rate_bps as f64 * (to_s - from_s)), rows[to].dropped)
}

/// Figure 9 with two links, of 100 and 50 Mbit/s: the 50 Mbit/s link limits the flows that cross both. The shuffled
/// traffic of the 100 Mbit/s link reduces its utilization by less than 10 %.
#[test]
fn the_tighter_of_two_xcp_routers_wins_and_the_other_gives_its_flows_the_rest() {
    let rates = [100_000_000, 50_000_000];
    let outcome = parking_lot(&rates, 3, 3, 30.0);
    let rate = |flow: usize| {
        let samples = &outcome.receivers[flow].samples;
        let (from, to) = (common::at(&outcome, 15.0), common::at(&outcome, 30.0));
        (samples[to].delivered - samples[from].delivered) as f64 / 15.0 * WIRE_BITS / 1e6
    };
    // Max-min: 50/6 for each flow at the tighter link.
    for flow in [0, 1, 2, 6, 7, 8] {
        assert!((rate(flow) - 50.0 / 6.0).abs() < 0.1 * 50.0 / 6.0, "{flow}: {}", rate(flow));
    }
    assert!(rate(3) > 2.0 * rate(0), "{} {}", rate(3), rate(0));
    let (first, dropped) = on_link(&outcome, 0, rates[0], 15.0, 30.0);
    let (second, also) = on_link(&outcome, 1, rates[1], 15.0, 30.0);
    assert!(first > 0.9 && second >= 0.98 && dropped + also == 0, "{first} {second} {dropped} {also}");
}

/// Figure 9: nine links of 100 Mbit/s, except for the fifth with 50 Mbit/s; utilization is above 90 % on each, and no
/// packet is dropped. The paper has 50 flows over all links and 50 over each; this test has 10 and 10.
#[test]
fn nine_xcp_routers_in_a_row_all_keep_their_links_above_90_percent() {
    let rates = [100, 100, 100, 100, 50, 100, 100, 100, 100].map(|mbps| mbps * 1_000_000);
    let outcome = parking_lot(&rates, 10, 10, 16.0);
    for (hop, rate) in rates.iter().enumerate() {
        let (used, dropped) = on_link(&outcome, hop, *rate, 6.0, 16.0);
        assert!(used > 0.9 && dropped == 0, "link {}: {used}, {dropped} drops", hop + 1);
    }
}

/// Section 5 of Xia and others shows utilization and queue as functions of the capacity, with 50 flows each way and 80
/// ms. VCP's utilization is at most 7 % below XCP's, and no packet is dropped. The queue is a small fraction of the
/// buffer, and this fraction decreases with the capacity.
#[test]
fn vcp_uses_at_most_7_percent_less_than_xcp_with_a_short_queue_and_no_drops() {
    let mut waiting = 0.15;
    for rate_bps in [20_000_000, 45_000_000, 100_000_000] {
        let at = |kind: &'static str| {
            let path = Path { reverse: 50, ..Path::new(kind, rate_bps, 0.08) };
            let starts: Vec<f64> = (0..50).map(|k| 0.017 * f64::from(k)).collect();
            let outcome = path.run(kind, &starts, 30.0);
            (Part::of(&outcome, rate_bps, 16.0, 30.0), path.bdp() as f64)
        };
        let ((xcp, _), (vcp, buffer)) = (at("xcp"), at("vcp"));
        let gap = xcp.utilization - vcp.utilization;
        assert!(gap <= 0.07 && xcp.utilization > 0.98, "{rate_bps}: {} {}", xcp.utilization, vcp.utilization);
        let now_waiting = vcp.queue_mean / buffer;
        assert!(now_waiting < waiting && vcp.drops == 0, "{rate_bps}: {now_waiting} {waiting}, {} drops", vcp.drops);
        waiting = now_waiting;
        assert!(jain(&vcp.rates[..50]) > 0.98, "{:?}", vcp.rates);
    }
    assert!(waiting < 0.05, "{waiting}");
}

/// Convergence to fair shares in the paper of Xia and others: flows of VCP converge, but much later than those of XCP.
#[test]
fn vcp_becomes_fair_much_more_slowly_than_xcp() {
    let fair_at = |kind: &'static str, algorithm: &str, seconds: f64| {
        let path = Path { sample_s: 1.0, ..Path::new(kind, 45_000_000, 0.08) };
        let outcome = path.run(algorithm, &[0.0, 20.0], seconds);
        let last = seconds as u32 - 1;
        let part = |from: u32| Part::of(&outcome, path.rate_bps, f64::from(from), f64::from(from) + 1.0);
        assert_eq!(part(last).drops, 0);
        (20..=last).find(|from| jain(&part(*from).rates) >= 0.99).map(|from| from - 20)
    };
    let xcp = fair_at("xcp", "xcp", 40.0).expect("XCP is fair within 20 s");
    let ns2 = fair_at("vcp", "vcp:ns2", 200.0).expect("VCP is fair within 180 s");
    let paper = fair_at("vcp", "vcp", 400.0).expect("VCP is fair within 380 s");
    assert!(xcp <= 3 && ns2 > 10 * xcp.max(1) && paper > ns2, "{xcp} {ns2} {paper}");
}

#[test]
fn a_vcp_flow_hears_the_most_loaded_of_two_routers() {
    // The slower link is half as fast: its load determines the rate, however idle the other link is.
    for order in [[40_000_000, 20_000_000], [20_000_000, 40_000_000]] {
        let mut links = Vec::new();
        for (k, rate) in [order[0], order[1], order[1], order[0]].into_iter().enumerate() {
            let mut this = link(&format!("l{k}"), rate, 0.02, None);
            this["queue"] = router("vcp", 200);
            this["record"] = json!(k < 2);
            links.push(this);
        }
        let flows = json!([flow("f", "vcp", 0.0, &[0, 1], &[2, 3], &linux_stack())]);
        let outcome = common::run(&common::spec(&json!(links), &flows, 60.0, 0.0));
        let tight = usize::from(order[1] < order[0]);
        let (used, dropped) = on_link(&outcome, tight, 20_000_000, 30.0, 60.0);
        assert!((0.85..=0.99).contains(&used) && dropped == 0, "{order:?}: {used} {dropped}");
    }
}

#[test]
fn neither_the_length_of_a_turn_nor_the_order_of_flows_nor_what_is_recorded_matters() {
    for kind in ["xcp", "vcp"] {
        for stack in [ns2_stack(), linux_stack()] {
            let path = Path { stack, reverse: 2, ..Path::new(kind, 20_000_000, 0.05) };
            let spec = path.spec(kind, &[0.0, 0.3, 0.7], 8.0);
            let run = |spec: &Spec, window: u64| {
                let engine = Engine::with_slice(spec.clone(), Time(window)).expect("it is right");
                engine.run(|_| true).expect("nobody cancels")
            };
            let one = run(&spec, 4_000_000_000);
            assert_eq!(digest(&one), digest(&run(&spec, 300_000_000)), "{kind}");
            let mut turned = spec.clone();
            turned.flows.reverse();
            let other = run(&turned, 4_000_000_000);
            for (a, b) in one.senders.iter().zip(other.senders.iter().rev()) {
                assert_eq!(
                    format!("{:?}{:?}", a.totals, a.samples),
                    format!("{:?}{:?}", b.totals, b.samples),
                    "{kind}"
                );
            }
            let mut unseen = spec.clone();
            unseen.links[0].record = false;
            let other = run(&unseen, 4_000_000_000);
            for (a, b) in one.senders.iter().zip(&other.senders) {
                assert_eq!(
                    format!("{:?}{:?}", a.totals, a.samples),
                    format!("{:?}{:?}", b.totals, b.samples),
                    "{kind}"
                );
            }
        }
    }
}

/// Congestion headers are counted like packets. The engine asserts the count, which includes the headers of lost,
/// duplicated and reordered packets and of packets in flight.
#[test]
fn headers_survive_a_hostile_path() {
    let path = Path::new("xcp", 20_000_000, 0.05);
    let mut spec = path.spec("xcp", &[0.0, 0.3], 20.0);
    for (end, p) in [(0, 0.002), (1, 0.01)] {
        let mut form = json!({"name": "x", "rate_bps": 1, "delay_ps": 0, "queue": {"kind": "droptail"}});
        form["loss"] = json!({"kind": "bernoulli", "p": p});
        form["impairments"] = json!({"reorder": {"p": 0.02, "delay_ps": ps(0.003)}, "duplicate": 0.02, "jitter": {"kind": "exponential", "mean_ps": ps(0.001)}});
        let hostile: elephan_sim::spec::LinkSpec = serde_json::from_value(form).expect("it is right");
        (spec.links[end].loss, spec.links[end].impairments) = (hostile.loss, hostile.impairments);
    }
    let outcome = common::run(&spec);
    let part = Part::of(&outcome, path.rate_bps, 5.0, 20.0);
    assert!(part.utilization > 0.3, "{}", part.utilization);
    assert!(outcome.conservation.duplicated > 0 && outcome.conservation.dropped > 0);
}

#[test]
fn a_standard_flow_may_share_the_buffer_of_a_router() {
    for kind in ["xcp", "vcp"] {
        let path = Path::new(kind, 20_000_000, 0.05);
        let mut spec = path.spec(kind, &[0.0, 5.0], 40.0);
        spec.flows[1].algorithm = "reno".into();
        let outcome = common::run(&spec);
        let part = Part::of(&outcome, path.rate_bps, 20.0, 40.0);
        // The other flow ignores the router and is limited by losses only; the flow that uses the router's feedback
        // yields.
        assert!(part.rates[1] > part.rates[0] && part.utilization > 0.9, "{kind}: {:?}", part.rates);
    }
}

#[test]
fn an_application_limited_flow_leaves_the_rest_to_the_others() {
    let path = Path::new("xcp", 20_000_000, 0.05);
    let mut spec = path.spec("xcp", &[0.0, 0.0], 20.0);
    let limited = json!({"rate_bps": 2_000_000});
    spec.flows[1].application = Some(serde_json::from_value(limited).expect("it is right"));
    let outcome = common::run(&spec);
    let part = Part::of(&outcome, path.rate_bps, 10.0, 20.0);
    assert!((part.rates[1] - 250.0).abs() < 5.0, "{:?}", part.rates);
    // Capacity shuffled to the limited flow stays unused, as on the links before the tightest link: less than 10 %
    // (section 5.2).
    assert!(part.utilization > 0.9 && part.drops == 0, "{}", part.utilization);
}

#[test]
fn an_algorithm_without_its_routers_is_refused() {
    let mut spec = Path::new("xcp", 20_000_000, 0.05).spec("xcp", &[0.0, 0.0], 5.0);
    spec.flows[1].algorithm = "vcp:ns2".into();
    let error = Engine::new(spec).expect_err("there is no VCP router");
    assert_eq!(
        error.to_string(),
        "flows[1].algorithm: 'vcp:ns2' needs vcp routers, and no link on its path has one; write queue = \"vcp\""
    );
}
