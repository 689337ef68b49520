use std::collections::BTreeMap;

use super::*;
use crate::packet::FlowId;
use crate::queue::check;
use crate::record::sample_times;
use crate::spec::{LinkSpec, LossSpec, QueueSpec};
use proptest::prelude::*;

fn spec(limit: Option<u64>, record: bool) -> LinkSpec {
    LinkSpec {
        name: "l".into(),
        rate_bps: 1_000_000_000,
        delay_ps: 5_000,
        loss: LossSpec::None,
        loss_on_wire: false,
        queue: QueueSpec {
            kind: "droptail".into(),
            limit_packets: limit,
            limit_bytes: None,
            parameters: BTreeMap::new(),
        },
        record,
        impairments: None,
        copies: 1,
        delays_ps: Vec::new(),
    }
}

fn link(limit: Option<u64>, record: bool, sizes: (u64, u64), times: &std::sync::Arc<[Time]>) -> Link {
    Link::new(&check(&[spec(limit, record)]).expect("it is right")[0], sizes, 0, times)
}

#[test]
fn a_packet_leaves_when_its_last_bit_has_been_sent_and_arrives_a_delay_later() {
    let mut link = link(None, false, (125, 125), &sample_times(Time(1), Time(0), Time(1), Time(1)));
    // 125 bytes at 1 Gbit/s are 1 µs.
    let at = |link: &mut Link, now| link.carry(now, 125, false).map(|carried| carried.at);
    assert_eq!(at(&mut link, Time(0)), Some(Time(1_005_000)));
    assert_eq!(at(&mut link, Time(400_000)), Some(Time(2_005_000)));
    assert_eq!(at(&mut link, Time(9_000_000)), Some(Time(10_005_000)));
}

#[test]
fn a_queue_of_two_holds_two_besides_the_one_in_transmission() {
    for sizes in [(125, 125), (100, 125)] {
        let times = sample_times(Time(10_000_000), Time(0), Time(1_500_000), Time(10_000_000));
        let mut link = link(Some(2), true, sizes, &times);
        let carried: Vec<bool> = (0..5).map(|_| link.carry(Time(0), 125, false).is_some()).collect();
        assert_eq!(carried, [true, true, true, false, false]);
        // At 1.5 µs one packet has left, one is in transmission and one waits.
        let rows = link.finish(Time(10_000_000)).expect("the link is recorded").rows;
        assert_eq!((rows[1].queue, rows[1].delivered, rows[1].dropped, rows[1].queue_max), (1, 1, 2, 2));
        assert_eq!((rows[2].queue, rows[2].delivered, rows[2].queue_min), (0, 3, 0));
        assert!((rows[2].integral_packet_seconds - 3e-6).abs() < 1e-15);
    }
}

#[test]
fn the_smallest_queue_of_a_sample_does_not_depend_on_whether_packets_have_one_size() {
    let mut spec = spec(None, true);
    spec.queue.kind = "codel".into();
    for sizes in [(125, 125), (100, 125)] {
        let times = sample_times(Time(2_000_000), Time(0), Time(1), Time(4_000_000));
        let mut link = Link::new(&check(&[spec.clone()]).expect("it is right")[0], sizes, 0, &times);
        let mut gone = Vec::new();
        for _ in 0..10 {
            link.receive(Packet::new(Time(0), Time(0), FlowId(0), 0, 125, 0, 0), &mut gone, &mut ());
        }
        // One packet leaves every µs, from 0 on: two packets leave before 2 µs, and two more before 4 µs.
        while link.next_service() < Time(4_000_000) {
            link.send_next(link.next_service(), &mut gone, &mut ());
        }
        let rows = link.finish(Time(4_000_000)).expect("the link is recorded").rows;
        let least: Vec<u64> = rows.iter().map(|row| row.queue_min).collect();
        assert_eq!((&least[..], gone.len()), (&[0, 0, 8, 6][..], 0));
    }
}

proptest! {
    /// Compares the two forms of the backlog: a time, for packets of one size, and a list, for packets of any size. The
    /// time becomes a list when the packet number `part` is smaller, and the list a time after this packet has left.
    #[test]
    fn packets_of_one_size_are_treated_as_packets_of_any_size(
        gaps in proptest::collection::vec(0_u64..2_500_000, 1..400), limit in 1_u64..12, part in 0_usize..600,
    ) {
        let end = Time(gaps.iter().sum::<u64>() + 50_000_000);
        let times = sample_times(Time(700_000), Time(1), Time(2), end);
        let mut one = link(Some(limit), true, (125, 125), &times);
        let mut any = link(Some(limit), true, (124, 125), &times);
        prop_assert!(one.uniform.is_some() && any.uniform.is_none());
        // Time at which the small packet has left for certain, and the packets that arrive later.
        let (mut now, mut left, mut later) = (Time(0), Time::NEVER, 0);
        for (packet, gap) in gaps.into_iter().enumerate() {
            now += Time(gap);
            let bytes = if packet == part { 60 } else { 125 };
            left = if packet == part { now + Time((limit + 2) * 1_000_000) } else { left };
            later += u64::from(now >= left);
            prop_assert_eq!(one.carry(now, bytes, false), any.carry(now, bytes, false));
            prop_assert!(one.uniform.is_some() || packet >= part);
            prop_assert!(one.uniform.is_none() || packet != part);
            prop_assert!(one.uniform.is_some() || packet <= part || later <= 1);
        }
        prop_assert_eq!(one.totals, any.totals);
        let (one, any) = (one.finish(end).expect("recorded").rows, any.finish(end).expect("recorded").rows);
        prop_assert_eq!(format!("{one:?}"), format!("{any:?}"));
    }
}
