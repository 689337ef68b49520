//! Tests of the quantiles over the flows of a group, and of the choice of the recorded flows.

use crate::common::{dumbbell, linux_stack, ps, run};
use elephan_sim::crowd::{CrowdSample, quantile};
use elephan_sim::spec::Group;
use elephan_sim::{Engine, Outcome, Spec, Time};
use serde_json::{Value, json};

/// Two groups over one bottleneck: one has delayed ACKs, spread starts and a stop time; the other has receivers that
/// are evaluated inline, and transfers of a given size.
fn groups(reversed: bool, record: Option<u32>) -> Spec {
    let (mut links, mut flows) = dumbbell(20_000_000, 0.02, 60, &[("cubic", 0.0), ("bbr", 0.3)], &linux_stack());
    for (i, count) in [(0_usize, 7), (1, 5)] {
        for side in 0..4 {
            links[2 + 4 * i + side]["copies"] = json!(count);
        }
        flows[i]["count"] = json!(count);
        flows[i]["start_spread_ps"] = json!(ps(0.5));
    }
    flows[0]["stop_ps"] = json!(ps(2.5));
    flows[1]["size_segments"] = json!(600);
    flows[1]["stack"]["ack_every"] = json!(1);
    let Value::Array(mut flows) = flows else { unreachable!("a list of flows") };
    if reversed {
        flows.reverse();
    }
    let text = json!({
        "seed": 1, "duration_ps": ps(4.0), "sample_period_ps": ps(0.013), "measure": {"from_ps": ps(1.0), "to_ps": ps(3.0)},
        "links": links, "flows": flows, "record_flows": record,
    });
    Spec::from_json(&text.to_string()).expect("the scenario is right")
}

/// The rows of the group called `name`, as text.
fn rows(outcome: &Outcome, name: &str) -> Vec<String> {
    let crowd = outcome.crowd.as_ref().expect("quantiles are recorded");
    let place = crowd.groups.iter().position(|group| group.name == name).expect("the group is there");
    crowd.rows.iter().skip(place).step_by(crowd.groups.len()).map(|row| format!("{row:?}")).collect()
}

fn everything(outcome: &Outcome) -> String {
    let ends = outcome.senders.iter().zip(&outcome.receivers);
    let ends: Vec<_> = ends.map(|(s, r)| format!("{:?} {:?} {:?}", s.samples, r.samples, r.measured)).collect();
    format!("{ends:?} {:?}", outcome.crowd)
}

#[test]
fn quantiles_do_not_depend_on_the_length_of_slices() {
    for record in [0, 2] {
        let expected = everything(&run(&groups(false, Some(record))));
        for slice in [Time::MILLISECOND.0 / 10, 7 * Time::MILLISECOND.0, Time::SECOND.0] {
            let engine = Engine::with_slice(groups(false, Some(record)), Time(slice)).expect("the scenario is right");
            assert_eq!(everything(&engine.run(|_| true).expect("nobody cancels")), expected, "slices of {slice} ps");
        }
    }
}

#[test]
fn few_samples_wait_for_the_end_of_a_slice() {
    let slice = |record: Option<u32>| run(&groups(false, record)).slice;
    let four_samples = Time(4 * ps(0.013));
    assert!(slice(Some(0)) <= four_samples && slice(None) > Time::ZERO);
    let mut often = groups(false, Some(0));
    often.sample_period_ps = Time::MILLISECOND.0 / 10;
    assert_eq!(run(&often).slice.0, 4 * often.sample_period_ps);
    often.sample_period_ps = 0;
    assert!(run(&often).crowd.is_some_and(|crowd| crowd.rows.len() == 4));
}

#[test]
fn quantiles_do_not_depend_on_the_order_of_groups() {
    let [forth, back] = [false, true].map(|reversed| run(&groups(reversed, Some(0))));
    for name in ["f0", "f1"] {
        assert_eq!(rows(&forth, name), rows(&back, name));
    }
}

#[test]
fn samples_of_recorded_flows_and_totals_of_all_are_those_of_a_run_that_records_all() {
    let (all, some) = (run(&groups(false, None)), run(&groups(false, Some(2))));
    for (i, (whole, part)) in all.senders.iter().zip(&some.senders).enumerate() {
        let recorded = [0, 3, 7, 9].contains(&i);
        assert_eq!(format!("{:?}", part.samples), if recorded { format!("{:?}", whole.samples) } else { "[]".into() });
        assert_eq!((whole.totals, whole.completed), (part.totals, part.completed));
        let (whole, part) = (&all.receivers[i], &some.receivers[i]);
        assert_eq!(part.samples.len(), if recorded { all.times.len() } else { 0 });
        assert_eq!((whole.totals, whole.measured), (part.totals, part.measured));
        assert!(whole.measured[1].delivered > 0);
    }
}

#[test]
fn quantiles_are_those_of_the_samples() {
    let (all, reduced) = (run(&groups(false, None)), run(&groups(false, Some(0))));
    let crowd = reduced.crowd.expect("quantiles are recorded");
    let stop = Time(ps(2.5));
    for (k, &at) in all.times.iter().enumerate() {
        let active = |i: &usize| all.senders[*i].start <= at && (*i >= 7 || at <= stop);
        let active = |i: &usize| active(i) && all.senders[*i].completed.is_none_or(|end| at <= end);
        for (group, members) in [0..7, 7..12].into_iter().enumerate() {
            let found: &CrowdSample = &crowd.rows[2 * k + group];
            let mut windows: Vec<f64> = members.filter(active).map(|i| all.senders[i].samples[k].cwnd).collect();
            windows.sort_by(f64::total_cmp);
            assert_eq!(found.active, windows.len() as u64);
            assert_eq!(found.cwnd[3].to_bits(), quantile(&windows, 0.5).unwrap_or(f64::NAN).to_bits());
        }
    }
    assert!(crowd.rows.iter().any(|row| row.active == 0) && crowd.rows.iter().any(|row| row.active == 7));
}

#[test]
fn recorded_flows_are_evenly_spread() {
    let of = |count: u32, wanted: Option<u32>| -> Vec<usize> {
        let group = Group { name: String::new(), algorithm: String::new(), first: 0, count };
        (0..count as usize).filter(|&i| group.records(i, wanted)).collect()
    };
    assert_eq!(of(10_000, Some(4)), [0, 2500, 5000, 7500]);
    assert_eq!(of(10, Some(3)), [0, 3, 6]);
    assert_eq!(of(7, Some(5)), [0, 1, 2, 4, 5]);
    assert_eq!(of(3, Some(9)), [0, 1, 2]);
    assert_eq!(of(3, None), [0, 1, 2]);
    assert_eq!(of(5, Some(0)), [0_usize; 0]);
}

#[test]
fn memory_follows_the_recorded_flows() {
    let needs = |record: Option<u32>| {
        let (mut links, mut flows) = dumbbell(50_000_000, 0.02, 100, &[("cubic", 0.0)], &linux_stack());
        (2..6).for_each(|link| links[link]["copies"] = json!(1000));
        flows[0]["count"] = json!(1000);
        let text = json!({
            "duration_ps": ps(100.0), "sample_period_ps": ps(0.01), "measure": {"from_ps": 0, "to_ps": ps(1.0)},
            "links": links, "flows": flows, "record_flows": record, "internals": true,
        });
        let read = Spec::read(&text.to_string()).expect("the scenario is right");
        assert_eq!(read.memory_bytes(), read.clone().without_groups().memory_bytes());
        read.memory_bytes()
    };
    let [all, some, none] = [None, Some(100), Some(0)].map(needs);
    assert!(all > 9 * some && some > 5 * none, "{all} {some} {none}");
}
