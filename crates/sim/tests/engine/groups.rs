//! Groups of equal flows in the canonical form.

use crate::common::{dumbbell, linux_stack, ps, spec};
use elephan_sim::Spec;
use elephan_sim::engine::{PREFERRED_SLICE, preferred_slice};
use serde_json::{Value, json};

/// A change to links and flows.
type Damage = fn(&mut Value, &mut Value);

/// A group of `count` flows on a dumbbell; each flow has its own copy of the access links.
fn group(count: u32) -> (Value, Value) {
    let (mut links, mut flows) = dumbbell(50_000_000, 0.02, 100, &[("cubic", 0.0)], &linux_stack());
    for link in 2..6 {
        links[link]["copies"] = json!(count);
    }
    flows[0]["count"] = json!(count);
    (links, flows)
}

fn refusal(links: &Value, flows: &Value) -> String {
    let text = json!({
        "duration_ps": ps(1.0), "sample_period_ps": ps(0.1), "measure": {"from_ps": 0, "to_ps": ps(1.0)},
        "links": links, "flows": flows,
    });
    Spec::from_json(&text.to_string()).expect_err("it makes no sense").to_string()
}

#[test]
fn flows_of_a_group_have_names_starts_and_links_of_their_own() {
    let (mut links, mut flows) = group(4);
    flows[0]["start_ps"] = json!(100);
    flows[0]["start_spread_ps"] = json!(10);
    links[2]["delays_ps"] = json!([1, 2, 3, 4]);
    let spec = spec(&links, &flows, 1.0, 0.5);
    assert_eq!(spec.flow_count(), 4);
    let of = |i: usize| (spec.flows[i].name.as_str(), spec.flows[i].start_ps, spec.flows[i].path.clone());
    assert_eq!(of(0), ("f0-1", 100, vec![2, 0, 6]));
    assert_eq!(of(3), ("f0-4", 107, vec![5, 0, 9]));
    assert_eq!(spec.flows[3].reverse_path, [13, 1, 17]);
    assert_eq!(spec.links.len(), 2 + 4 * 4);
    assert_eq!(spec.links[2..6].iter().map(|link| link.delay_ps).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(spec.links.iter().all(|link| link.copies == 1) && spec.flows.iter().all(|flow| flow.count == 1));
}

#[test]
fn a_group_needs_as_much_memory_as_its_flows() {
    let (links, flows) = group(50);
    let text = json!({
        "duration_ps": ps(1.0), "sample_period_ps": ps(0.1), "measure": {"from_ps": 0, "to_ps": ps(1.0)},
        "links": links, "flows": flows,
    });
    let read = Spec::read(&text.to_string()).expect("the scenario is right");
    assert_eq!(read.memory_bytes(), read.clone().without_groups().memory_bytes());
}

#[test]
fn slices_of_a_group_are_those_of_its_flows() {
    for access_bps in [100_000_u64, 1_000_000_000] {
        let (mut links, flows) = group(5000);
        for link in 2..6 {
            links[link]["rate_bps"] = json!(access_bps);
        }
        let text = json!({
            "duration_ps": ps(1.0), "sample_period_ps": ps(0.1), "measure": {"from_ps": 0, "to_ps": ps(1.0)},
            "links": links, "flows": flows,
        });
        let read = Spec::read(&text.to_string()).expect("the scenario is right");
        let slice = preferred_slice(&read);
        assert!(slice > PREFERRED_SLICE, "{slice:?}");
        assert_eq!(slice, preferred_slice(&read.without_groups()));
    }
}

#[test]
fn groups_that_do_not_fit_their_links_are_refused() {
    let cases: [(Damage, &str); 7] = [
        (|_, flows| flows[0]["count"] = json!(0), "flows[0].count: must be at least 1"),
        (|_, flows| flows[0]["count"] = json!(2), "flows[0].path: crosses a link whose number of copies differs"),
        (|links, _| links[3]["copies"] = json!(0), "flows[0].path: crosses a link whose number of copies differs"),
        (|links, _| links[3]["delays_ps"] = json!([1]), "links[3].delays_ps: needs one value for each copy, or none"),
        (|links, _| links[3]["delays_ps"] = json!([1, 2, 1_u64 << 61]), "links[3].delays_ps: must be below 26 days"),
        (|_, flows| flows[0]["start_spread_ps"] = json!(1_u64 << 62), "flows[0].start_spread_ps: must end within"),
        (
            |links, flows| {
                links.as_array_mut().expect("a list")[2..]
                    .iter_mut()
                    .for_each(|link| link["copies"] = json!(20_000_000));
                flows[0]["count"] = json!(20_000_000);
            },
            "flows: are more than 10000000",
        ),
    ];
    for (damage, expected) in cases {
        let (mut links, mut flows) = group(3);
        damage(&mut links, &mut flows);
        let message = refusal(&links, &flows);
        assert!(message.starts_with(expected), "{message}");
    }
    let (links, mut flows) = group(3);
    let mut other = flows[0].clone();
    other["name"] = json!("other");
    flows.as_array_mut().expect("a list").push(other);
    assert!(refusal(&links, &flows).starts_with("links[2].copies: must be 1, or the number of flows"));
}
