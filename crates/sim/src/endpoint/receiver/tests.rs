use super::*;
use crate::endpoint::bench::{Wire, us};
use crate::packet::OWD_UNIT_PS;
use crate::spec::{HostKind, StackSpec};

/// A receiver of a flow with this stack, and its outlet.
fn receiver(stack: StackSpec) -> (Receiver, Wire) {
    receiver_of(stack, None)
}

/// A receiver on a path whose handshake took `rtt`.
fn receiver_after(rtt: Time, stack: StackSpec) -> (Receiver, Wire) {
    receiver_of(stack, Some(Handshake { rtt, receivers_rtt: rtt }))
}

fn receiver_of(stack: StackSpec, handshake: Option<Handshake>) -> (Receiver, Wire) {
    let stack = Arc::new(StackSpec { handshake: false, ..stack });
    let flow = FlowSpec { stack, ..FlowSpec::bulk("f", "reno", Time::ZERO, &[0], &[1]) };
    let (times, needs): (Arc<[Time]>, _) = (Arc::new([us(1_000_000)]), Needs::default());
    let receiver = Receiver::starting(Time::ZERO, FlowId(0), &flow, &Peer { needs, handshake }, &times);
    (receiver, Wire::default())
}

/// Number of ACKs sent after each of the segments, with four quick ACKs.
fn acks(host: HostKind, segments: &[u32]) -> Vec<usize> {
    let (mut receiver, mut wire) = receiver(StackSpec { quick_acks: 4, host, ..StackSpec::linux() });
    let arrive = |(i, &segment): (usize, &u32)| {
        let at = us(10 * i as u64);
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
        wire.sent.len()
    };
    segments.iter().enumerate().map(arrive).collect()
}

#[test]
fn acks_above_a_gap_wait_for_a_twentieth_of_the_rtt_after_three_duplicates() {
    let (mut receiver, mut wire) = receiver_after(us(4000), StackSpec { quick_acks: 0, ..StackSpec::linux() });
    // A segment each 120 µs, and segment 0 is lost. 200 µs and the slack of 100 µs contain two more segments.
    let mut sent = Vec::new();
    for segment in 1..=10 {
        let at = us(120 * u64::from(segment));
        while receiver.timer() <= at {
            receiver.on_timer(&mut wire);
        }
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
        sent.push(wire.sent.len());
    }
    assert_eq!(sent, [1, 2, 3, 3, 3, 3, 4, 4, 4, 5]);
    receiver.on_packet(&Packet::new(us(1300), Time::ZERO, FlowId(0), 0, 1500, 0, 0), &mut wire);
    assert_eq!(wire.sent.len(), 6, "a segment that fills the gap is acknowledged at once");
}

#[test]
fn an_ack_that_waited_in_vain_has_the_time_of_the_latest_segment() {
    let (mut receiver, mut wire) = receiver_after(us(4000), StackSpec { quick_acks: 0, ..StackSpec::linux() });
    for segment in 1..=6 {
        let at = us(120 * u64::from(segment));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
    }
    assert_eq!(receiver.timer(), us(780), "segment 4 began to wait at 480 us");
    receiver.on_timer(&mut wire);
    let slots: Vec<u32> = wire.sent.iter().map(Packet::extra).collect();
    let delays = slots.into_iter().filter_map(|slot| wire.beside().sacks.take(slot)).map(|entry| entry.owd);
    let expected = [120, 240, 360, 720].map(|time| (us(time).0 / OWD_UNIT_PS) as u32);
    assert!(delays.eq(expected));
}

#[test]
fn a_third_sack_block_releases_the_ack_that_waits() {
    let (mut receiver, mut wire) = receiver_after(us(100_000), StackSpec { quick_acks: 0, ..StackSpec::linux() });
    let mut arrive = |segment: u32| {
        receiver.on_packet(&Packet::new(us(segment.into()), Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
        wire.sent.len()
    };
    let sent = [1, 2, 3, 4, 6, 7, 9, 10, 12].map(&mut arrive);
    assert_eq!(sent, [1, 2, 3, 3, 3, 3, 4, 4, 5], "segments 9 and 12 begin the third and the fourth block");
}

#[test]
fn segments_out_of_order_count_as_quick_acks_of_linux() {
    let segments = [0, 2, 1, 3, 4, 5, 6, 7];
    assert_eq!(acks(HostKind::Linux, &segments), [1, 2, 3, 4, 4, 5, 5, 6]);
    assert_eq!(acks(HostKind::Plain, &segments), [1, 2, 3, 4, 5, 6, 6, 7]);
}

#[test]
fn a_first_segment_out_of_order_takes_the_quick_acks_of_a_beginning() {
    for (first_us, pairs) in [(50_000, true), (250_000, false)] {
        let (mut receiver, mut wire) = receiver_after(us(40_000), StackSpec { quick_acks: 20, ..StackSpec::linux() });
        let mut at = us(first_us);
        let mut arrive = |segment: u32| {
            at += us(10);
            receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
            wire.sent.len()
        };
        // Four quick ACKs follow from the growth of the window, and the first segment takes one of these.
        let sent = [1, 0, 2, 3, 4, 5, 6].map(&mut arrive);
        assert_eq!(sent[..4], [1, 2, 3, 4]);
        assert_eq!(sent[4..] == [4, 5, 5], pairs, "{sent:?}: the timeout is 240 ms");
    }
}

#[test]
fn the_ack_of_a_segment_below_a_gap_is_one_of_the_three_that_do_not_wait() {
    let (mut receiver, mut wire) = receiver_after(us(100_000), StackSpec { quick_acks: 0, ..StackSpec::linux() });
    let mut at = Time::ZERO;
    let mut arrive = |segment: u32| {
        at = at.later(us(1));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
        wire.sent.len()
    };
    // Segment 0 fills the gap below segment 1. The gap at segment 3 is new, and segment 2 is below it.
    let sent = [1, 0, 4, 2, 5, 6, 7].map(&mut arrive);
    assert_eq!(sent, [1, 2, 3, 4, 5, 6, 6]);
}

#[test]
fn an_ack_has_the_bytes_of_the_sack_option_and_of_each_block() {
    let (mut receiver, mut wire) = receiver(StackSpec { quick_acks: 4, ..StackSpec::linux() });
    for segment in [0, 2, 4] {
        let at = us(10 * u64::from(segment));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, 0, 0), &mut wire);
    }
    let bytes: Vec<u16> = wire.sent.iter().map(|ack| ack.bytes() as u16).collect();
    assert_eq!(bytes, [52, 52 + 4 + 8, 52 + 4 + 16], "RFC 2018 section 3, with two bytes of padding");
}

#[test]
fn linux_acknowledges_two_segments_at_once_from_the_first_mark_on() {
    let (mut receiver, mut wire) = receiver(StackSpec { ecn: true, quick_acks: 0, ..StackSpec::linux() });
    let mut arrive = |segment: u32, flags: u8| {
        let at = us(10 * u64::from(segment));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
        wire.sent.len()
    };
    let (plain, ce) = (flag::ECT0, flag::ECT0 | flag::CE);
    let marked = [plain, plain, ce, ce, ce, ce].into_iter().enumerate();
    let sent: Vec<usize> = marked.map(|(segment, flags)| arrive(segment as u32, flags)).collect();
    assert_eq!(sent, [0, 1, 2, 3, 3, 4]);
    assert_eq!(arrive(6, ce | flag::CWR), 5, "a mark after a report of the sender is a first mark again");
}

#[test]
fn linux_acknowledges_two_segments_at_once_from_a_retransmission_on() {
    let (mut receiver, mut wire) = receiver(StackSpec { ecn: true, quick_acks: 0, ..StackSpec::linux() });
    // Segment 1 is lost, and its retransmission is not ECN-capable.
    let arrivals = [(0, flag::ECT0), (2, flag::ECT0), (1, flag::RETRANSMIT), (3, flag::ECT0), (4, flag::ECT0)];
    let mut arrive = |(i, (segment, flags)): (usize, (u32, u8))| {
        receiver.on_packet(&Packet::new(us(10 * i as u64), Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
        wire.sent.len()
    };
    let sent: Vec<usize> = arrivals.into_iter().enumerate().map(&mut arrive).collect();
    assert_eq!(sent, [0, 1, 2, 3, 3]);
}

#[test]
fn acks_above_a_gap_also_wait_while_they_echo_a_mark() {
    let (mut receiver, mut wire) =
        receiver_after(us(100_000), StackSpec { ecn: true, quick_acks: 0, ..StackSpec::linux() });
    let mut arrive = |segment: u32| {
        let flags = if segment == 1 { flag::ECT0 | flag::CE } else { flag::ECT0 };
        receiver.on_packet(&Packet::new(us(segment.into()), Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
        wire.sent.len()
    };
    // The two quick ACKs from the mark on are no duplicates that count.
    let sent = [1, 2, 3, 4, 5, 6, 7].map(&mut arrive);
    assert_eq!(sent, [1, 2, 3, 4, 5, 5, 5]);
}

#[test]
fn linux_acknowledges_a_retransmission_above_a_gap_and_a_first_mark_there_at_once() {
    for flags in [flag::RETRANSMIT, flag::ECT0 | flag::CE] {
        let (mut receiver, mut wire) =
            receiver_after(us(100_000), StackSpec { ecn: true, quick_acks: 0, ..StackSpec::linux() });
        let mut at = Time::ZERO;
        let mut arrive = |segment: u32, flags: u8| {
            at = at.later(us(1));
            receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
            wire.sent.len()
        };
        let sent = [1, 2, 3, 5, 6].map(|segment| arrive(segment, flag::ECT0));
        assert_eq!(sent, [1, 2, 3, 3, 3]);
        assert_eq!(arrive(4, flags), 4);
    }
}

#[test]
fn a_retransmission_while_the_window_grows_adds_two_quick_acks_at_the_end_of_the_growth() {
    // The first segment arrives out of order, so that the quick ACKs of a beginning are missing.
    let ends = [flag::ECT0, flag::RETRANSMIT].map(|flags| {
        let (mut receiver, mut wire) = receiver(StackSpec { ecn: true, quick_acks: 24, ..StackSpec::linux() });
        let mut arrive = |segment: u32, flags: u8, at: u64| {
            receiver.on_packet(&Packet::new(us(at), Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
            wire.sent.len()
        };
        arrive(1, flag::ECT0, 1);
        arrive(0, flags, 2);
        (2..20)
            .map(|segment| arrive(segment, flag::ECT0, 10 * u64::from(segment)))
            .enumerate()
            .find_map(|(waiting, acks)| (acks < waiting + 3).then_some(waiting))
    });
    assert_eq!(ends, [Some(6), Some(8)]);
}

#[test]
fn a_mark_above_a_gap_releases_the_ack_of_earlier_segments() {
    let (mut receiver, mut wire) = receiver(StackSpec { quick_acks: 0, ..StackSpec::linux() });
    for (segment, flags) in [(0, 0), (2, flag::CE)] {
        let at = us(10 * u64::from(segment));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
    }
    let acks = wire.sent.iter().map(|ack| (ack.segment(), ack.flags() & flag::ECE != 0));
    assert_eq!(acks.collect::<Vec<_>>(), [(1, false), (1, true)]);
}

#[test]
fn linux_acknowledges_a_change_of_the_marks_at_once_and_earlier_segments_before_it() {
    let (mut receiver, mut wire) = receiver(StackSpec { quick_acks: 0, ..StackSpec::linux() });
    for (segment, flags) in [flag::CWR, 0, 0, flag::CE, flag::CE, flag::CE | flag::CWR, 0].into_iter().enumerate() {
        let at = us(10 * segment as u64);
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment as u32, 1500, flags, 0), &mut wire);
    }
    let acks = wire.sent.iter().map(|ack| (ack.segment(), ack.flags() & flag::ECE != 0));
    assert_eq!(acks.collect::<Vec<_>>(), [(1, false), (3, false), (4, true), (6, true), (7, false)]);
    assert_eq!(receiver.packets().sent, wire.sent.len() as u64);
    // Segment 7 waits for another one when a mark arrives: there are two ACKs, and the first one has no echo.
    for (segment, flags) in [(7, 0), (8, flag::CE | flag::CWR)] {
        let at = us(10 * u64::from(segment));
        receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
    }
    let last = wire.sent[5..].iter().map(|ack| (ack.segment(), ack.flags() & flag::ECE != 0));
    assert_eq!(last.collect::<Vec<_>>(), [(8, false), (9, true)]);
    assert_eq!(receiver.packets().sent, wire.sent.len() as u64);
}

#[test]
fn the_last_segment_of_a_burst_is_acknowledged_at_once_if_the_application_reads_at_once() {
    for (reads_at_once, expected) in [(true, [1, 2, 2, 3, 4]), (false, [0, 1, 1, 2, 2])] {
        // A stated window of 30 segments grows with the first few of them only.
        let stack = StackSpec { quick_acks: 0, receive_window: Some(30), reads_at_once, ..StackSpec::linux() };
        let (mut receiver, mut wire) = receiver(stack);
        let mut arrive = |segment: u32, flags: u8| {
            let at = us(10 * u64::from(segment));
            receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
            while receiver.timer() <= at + us(1) {
                receiver.on_timer(&mut wire);
            }
            wire.sent.len()
        };
        let begun = (0..40).map(|segment| arrive(segment, 0)).last().unwrap_or(0);
        let pushed = if reads_at_once { flag::PUSH } else { 0 };
        let sent = [(40, pushed), (41, pushed), (42, 0), (43, 0), (44, pushed)];
        let counts = sent.map(|(segment, flags)| arrive(segment, flags) - begun);
        assert_eq!(counts, expected);
    }
}

#[test]
fn the_application_acknowledges_a_burst_after_a_copy_of_its_last_segment() {
    let stack = StackSpec { receive_window: Some(30), reads_at_once: true, ..StackSpec::linux() };
    let (mut receiver, mut wire) = receiver(stack);
    receiver.arrivals.protect(Time::ZERO);
    receiver.choose_path();
    // Number of ACKs that an arrival brings at once, and by the next arrival.
    let mut arrive = |segment: u32, flags: u8, copies: u32| {
        let (at, before) = (us(10 * u64::from(segment)), wire.sent.len());
        for _ in 0..copies {
            receiver.on_packet(&Packet::new(at, Time::ZERO, FlowId(0), segment, 1500, flags, 0), &mut wire);
        }
        let at_once = wire.sent.len() - before;
        while receiver.timer() <= at + us(1) {
            receiver.on_timer(&mut wire);
        }
        (at_once, wire.sent.len() - before)
    };
    (0..40).for_each(|segment| _ = arrive(segment, 0, 1));
    assert_eq!(arrive(40, flag::PUSH, 1), (0, 1), "the application has read");
    assert_eq!(arrive(41, flag::PUSH, 2), (1, 1), "the report of the copy is the first ACK of the segment");
}
