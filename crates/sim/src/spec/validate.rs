//! Checks of a spec, on which the engine relies.

use super::distributions::{RttSpec, SizeSpec};
use super::flow::{ApplicationSpec, FlowSpec, ForeignSpec, FramesSpec};
use super::limits::{
    MOST_IN_FLIGHT, MOST_LISTED, MOST_SEGMENTS, MOST_TRANSFERS, SHORTEST_MAX_RTO_PS, SHORTEST_TIMER_PS, ps_of,
};
use super::link::{LinkSpec, LossSpec};
use super::stack::{ClockSpec, ReceiverEcn, StackSpec};
use super::traffic::{ArrivalsSpec, SourceSpec};
use super::{FORMAT, Spec, SpecError, udt};

/// Largest mean number of changes between the states of a link in a run.
const MOST_CHANGES: u64 = 10_000_000;
/// Longest mean duration of a state of a link, ps.
const MOST_STATE_PS: u64 = 1 << 62;
/// Headers of IP and TCP with timestamps and the AccECN option, bytes.
const LINUX_HEADER_WITH_OPTION_BYTES: u32 = 64;

impl Spec {
    /// Rejects values without a physical meaning.
    ///
    /// # Errors
    /// The first wrong field.
    pub fn validate(&self) -> Result<(), SpecError> {
        let check =
            |ok: bool, path: String, message: &str| if ok { Ok(()) } else { Err(SpecError::new(path, message)) };
        check(self.format == FORMAT, "format".into(), "must be 1, the version that this engine reads")?;
        check(self.duration_ps > 0, "duration_ps".into(), "must be above 0")?;
        check(self.duration_ps < 1 << 62, "duration_ps".into(), "must be below 53 days")?;
        check(
            self.measure.from_ps < self.measure.to_ps && self.measure.to_ps <= self.duration_ps,
            "measure".into(),
            "must be a window inside the run",
        )?;
        let events = self.events.as_ref();
        check(
            events.is_none_or(|e| e.from_ps < e.to_ps.unwrap_or(self.duration_ps) && e.from_ps < self.duration_ps),
            "events".into(),
            "must be a window inside the run",
        )?;
        let something = !self.flows.is_empty() || !self.traffic.is_empty();
        check(something, "flows".into(), "needs at least one flow, or a source of transfers")?;
        for (i, link) in self.links.iter().enumerate() {
            validate_link(&format!("links[{i}]"), link)?;
            if let LossSpec::TimedStates { good_ps, bad_ps, .. } = link.loss {
                let changes = self.duration_ps / (good_ps.saturating_add(bad_ps).max(2) / 2);
                check(
                    changes <= MOST_CHANGES,
                    format!("links[{i}].loss"),
                    "must change its state at most 10 million times in the run, on average",
                )?;
            }
        }
        for (i, flow) in self.flows.iter().enumerate() {
            self.validate_flow(&format!("flows[{i}]"), flow)?;
        }
        for (i, source) in self.traffic.iter().enumerate() {
            self.validate_source(i, source)?;
        }
        self.validate_groups()
    }

    fn validate_source(&self, i: usize, source: &SourceSpec) -> Result<(), SpecError> {
        let place = format!("traffic[{i}]");
        let check = checker(&place);
        // The smallest size is checked for all transfers: a transfer's size is drawn, and cannot be too large.
        let one = FlowSpec { size_segments: Some(1), ..source.flow.clone() };
        self.validate_flow(&place, &one)?;
        let flow = &source.flow;
        check(!flow.is_udt(), "algorithm", "has its own endpoints; transfers of a source use TCP")?;
        let plain = flow.size_segments.is_none() && flow.application.is_none() && !flow.datagrams && flow.count == 1;
        check(plain && flow.backend.is_none(), "flow", "must be a plain TCP flow")?;
        check(flow.start_ps < self.duration_ps, "start_ps", "must be before the end of the run")?;
        match &source.arrivals {
            ArrivalsSpec::Poisson { per_second } => {
                check(*per_second > 0.0 && per_second.is_finite(), "arrivals.per_second", "must be above 0")?;
                let many = per_second * (self.duration_ps as f64 * 1e-12);
                check(
                    many < f64::from(MOST_TRANSFERS),
                    "arrivals.per_second",
                    "gives more than 500 million transfers",
                )?;
            }
            ArrivalsSpec::Load { bps } => {
                check(*bps > 0, "arrivals.bps", "must be above 0")?;
                let few = source.transfers_of_load(*bps, self.duration_ps) < f64::from(MOST_TRANSFERS);
                check(few, "arrivals.bps", "needs more than 500 million transfers for its load")?;
            }
            ArrivalsSpec::Users { users, think } => {
                check((1..=MOST_LISTED).contains(users), "arrivals.users", "must be from 1 to 20 million")?;
                check(think.problem().is_none(), "arrivals.think", think.problem().unwrap_or_default())?;
            }
            ArrivalsSpec::List { starts_ps, sizes_bytes, rtts_ps } => {
                let n = starts_ps.len();
                check((1..=MOST_LISTED as usize).contains(&n), "arrivals.starts_ps", "has 1 to 20 million transfers")?;
                check(starts_ps.is_sorted(), "arrivals.starts_ps", "must not decrease")?;
                check(sizes_bytes.len() == n, "arrivals.sizes_bytes", "needs one size for each start")?;
                check(!sizes_bytes.contains(&0), "arrivals.sizes_bytes", "must be at least 1 byte")?;
                check(
                    rtts_ps.is_empty() || rtts_ps.len() == n,
                    "arrivals.rtts_ps",
                    "needs one for each start, or none",
                )?;
                check(rtts_ps.iter().all(|&r| r <= ps_of(3600)), "arrivals.rtts_ps", "must be at most an hour")?;
            }
        }
        let listed = matches!(source.arrivals, ArrivalsSpec::List { .. });
        check(source.sizes.is_some() != listed, "sizes", "must be given, unless the arrivals are a list")?;
        check(source.rtts.is_none() || !listed, "rtts", "must be absent, since the arrivals list them")?;
        for problem in
            [source.sizes.as_ref().and_then(SizeSpec::problem), source.rtts.as_ref().and_then(RttSpec::problem)]
        {
            check(problem.is_none(), "sizes", problem.unwrap_or_default())?;
        }
        Ok(())
    }

    fn validate_flow(&self, place: &str, flow: &FlowSpec) -> Result<(), SpecError> {
        let check = checker(place);
        for (field, path) in [("path", &flow.path), ("reverse_path", &flow.reverse_path)] {
            check(!path.is_empty() && path.len() < 250, field, "must name 1 to 249 links")?;
            check(path.iter().all(|&l| l < self.links.len()), field, "names a link that does not exist")?;
            let mut sorted = path.clone();
            sorted.sort_unstable();
            sorted.dedup();
            check(sorted.len() == path.len(), field, "crosses a link twice")?;
        }
        validate_stack(place, &flow.stack)?;
        let stack = &flow.stack;
        check(
            !stack.fast_open || self.events.is_none(),
            "stack.fast_open",
            "has data in a SYN, which the event log does not show; leave events out",
        )?;
        for (field, clock) in [("sender_clock", flow.sender_clock), ("receiver_clock", flow.receiver_clock)] {
            check(clock.offset_ps.unsigned_abs() <= ps_of(86_400), field, "must be off by at most a day")?;
            check(clock.drift_ppb.unsigned_abs() <= 10_000_000, field, "must drift by at most 1 %")?;
            check(clock.resolution_ps <= ps_of(1), field, "must tick at least once a second")?;
        }
        let links = || flow.path.iter().chain(&flow.reverse_path).map(|&l| &self.links[l]);
        let longest_ps = links().map(LinkSpec::longest_ps).fold(0, u64::saturating_add);
        check(
            longest_ps < 1 << 61,
            "path",
            "and the reverse path take 26 days or more; the limit on a round trip is 26 days",
        )?;
        let round_trip_ps: u64 = links().map(LinkSpec::shortest_ps).sum();
        check(flow.base_rtt_error_ps <= ps_of(3600) as i64, "base_rtt_error_ps", "must be at most an hour")?;
        check(
            flow.base_rtt_error_ps.saturating_add_unsigned(round_trip_ps) > 0 || flow.base_rtt_error_ps == 0,
            "base_rtt_error_ps",
            "must leave a round-trip time above 0",
        )?;
        check(stack.host_ack_ps.max(stack.host_scan_ps) <= ps_of(1), "stack.host_ack_ps", "must be at most a second")?;
        check(stack.hz.is_none_or(|hz| (1..=1_000_000).contains(&hz)), "stack.hz", "must be 1 to 1000000 a second")?;
        check(flow.size_segments != Some(0), "size_segments", "must be at least 1 segment")?;
        check(flow.size_segments.unwrap_or(1) < 1 << 31, "size_segments", "must be below 2^31 segments")?;
        check(!flow.datagrams || flow.application.is_some(), "application", "must be given for datagrams")?;
        if let Some(application) = &flow.application {
            self.validate_application(place, flow, application)?;
        }
        if flow.is_udt() {
            self.validate_udt(place, flow)?;
        }
        self.validate_foreign(place, flow)?;
        let slowest_bps = flow.path.iter().map(|&l| self.links[l].fastest_bps()).min().unwrap_or(0);
        let wire_bits = 8.0 * f64::from(stack.payload_bytes + stack.header_bytes);
        let most = slowest_bps as f64 * (self.duration_ps as f64 * 1e-12) / wire_bits;
        check(
            flow.size_segments.is_some() || most < f64::from(MOST_SEGMENTS),
            "path",
            "could carry more than 3.7 billion segments in this run; shorten it or enlarge the segments",
        )?;
        check(flow.stop_ps.is_none_or(|stop| stop > flow.start_ps), "stop_ps", "must be after the start")
    }

    fn validate_foreign(&self, place: &str, flow: &FlowSpec) -> Result<(), SpecError> {
        let check = checker(place);
        check(
            flow.backend.as_deref().is_none_or(|backend| backend == "sim") || flow.foreign.is_some(),
            "foreign",
            "is missing: sizes of the backend's packets",
        )?;
        if let Some(ForeignSpec { smallest_bytes, largest_bytes, .. }) = flow.foreign {
            let sizes = (1..=largest_bytes).contains(&smallest_bytes);
            check(sizes, "foreign.smallest_bytes", "must be at least 1 byte, and at most largest_bytes")?;
            check(self.events.is_none(), "foreign", "endpoints have no event log; leave events out")?;
            check(self.record_flows.is_none(), "foreign", "endpoints keep their own samples; leave record_flows out")?;
            check(!flow.datagrams && !flow.is_udt(), "foreign", "endpoints exclude datagrams and UDT")?;
        }
        Ok(())
    }

    fn validate_application(
        &self,
        place: &str,
        flow: &FlowSpec,
        application: &ApplicationSpec,
    ) -> Result<(), SpecError> {
        let check = checker(place);
        if !application.writes.is_empty() {
            return validate_writes(place, flow, application);
        }
        check(application.rate_bps > 0, "application.rate_bps", "must be above 0")?;
        let bits = 8.0 * f64::from(flow.stack.payload_bytes);
        // The first frame comes at once, independently of the interval.
        let frame_ps = application.frames.map_or(0, |frames| frames.interval_ps);
        let steps = &application.rate_steps;
        check(steps.is_empty() || application.frames.is_some(), "application.rate_steps", "needs frames")?;
        check(
            steps.is_empty() || application.bursts.is_none(),
            "application.rate_steps",
            "and bursts exclude each other",
        )?;
        let rising = steps.windows(2).all(|pair| pair[0].at_ps < pair[1].at_ps);
        check(rising, "application.rate_steps", "must be in the order of their times")?;
        let ends = steps.last().is_none_or(|step| step.rate_bps > 0);
        check(ends, "application.rate_steps", "must end with a rate above 0")?;
        let fastest_bps = steps.iter().map(|step| step.rate_bps).max().unwrap_or(0).max(application.rate_bps);
        let most = fastest_bps as f64 * (self.duration_ps.max(frame_ps) as f64 * 1e-12) / bits;
        if let Some(FramesSpec { interval_ps, shape }) = application.frames {
            check(!application.poisson, "application.frames", "and a Poisson process exclude each other")?;
            check((0.1..=100.0).contains(&shape), "application.frames.shape", "must be from 0.1 to 100")?;
            let interval_fits = (SHORTEST_TIMER_PS..=ps_of(3600)).contains(&interval_ps);
            check(interval_fits, "application.frames.interval_ps", "must be from 1 us to an hour")?;
            let rates = steps.iter().map(|step| step.rate_bps).chain([application.rate_bps]).filter(|&rate| rate > 0);
            let mean_bits = rates.min().unwrap_or(0) as f64 * (interval_ps as f64 * 1e-12);
            check(mean_bits >= 8.0, "application.frames", "must hold a byte on average")?;
        }
        let few = 2.0 * most < f64::from(MOST_SEGMENTS);
        check(few, "application.rate_bps", "could give more than 1.8 billion segments in this run")?;
        for times in application.bursts.iter().flat_map(|&(on, off)| [on, off]) {
            check(times.problem().is_none(), "application.bursts", times.problem().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Rejects fields that have no meaning for UDT.
    fn validate_udt(&self, place: &str, flow: &FlowSpec) -> Result<(), SpecError> {
        let check = checker(place);
        let stack = &flow.stack;
        check(self.events.is_none(), "algorithm", "is UDT, whose packets have no event log; leave events out")?;
        check(!flow.datagrams, "datagrams", "must be false for UDT, which has its own packets")?;
        check(stack.header_bytes == udt::HEADER_BYTES, "stack.header_bytes", "must be 44 with UDT")?;
        check(stack.payload_bytes >= 24, "stack.payload_bytes", "must be at least 24 with UDT, as much as in an ACK")?;
        check(!stack.ecn && !stack.pacing, "stack", "has no meaning for UDT except for the sizes of packets")?;
        let (sender, receiver) = (flow.sender_clock, flow.receiver_clock);
        let true_clocks = sender == ClockSpec::default() && receiver == ClockSpec::default();
        check(true_clocks, "sender_clock", "has no meaning for UDT, which compares no clocks")?;
        check(flow.base_rtt_error_ps == 0, "base_rtt_error_ps", "has no meaning for UDT, which knows no base RTT")
    }
}

/// Returns a function that checks one field of the part of a spec at `place`.
fn checker(place: &str) -> impl Fn(bool, &str, &str) -> Result<(), SpecError> {
    move |ok, field, message| if ok { Ok(()) } else { Err(SpecError::new(format!("{place}.{field}"), message)) }
}

fn validate_writes(place: &str, flow: &FlowSpec, application: &ApplicationSpec) -> Result<(), SpecError> {
    let check = checker(place);
    let alone = application.rate_bps == 0
        && !application.poisson
        && application.frames.is_none()
        && application.bursts.is_none()
        && application.rate_steps.is_empty();
    check(alone, "application.writes", "exclude a rate and its course")?;
    check(flow.size_segments.is_none(), "application.writes", "have their own sizes; leave size_segments out")?;
    check(!flow.datagrams && !flow.is_udt(), "application.writes", "need a TCP flow")?;
    let rising = application.writes.windows(2).all(|pair| pair[0].at_ps <= pair[1].at_ps);
    check(rising, "application.writes", "must be in the order of their times")?;
    check(application.writes.iter().all(|write| write.bytes > 0), "application.writes", "must have at least a byte")?;
    let few = application.written_segments(flow.stack.payload_bytes) < 1 << 31;
    check(few, "application.writes", "must be below 2^31 segments together")
}

fn validate_stack(place: &str, stack: &StackSpec) -> Result<(), SpecError> {
    let check = checker(place);
    check(stack.payload_bytes > 0, "stack.payload_bytes", "must be above 0")?;
    check(
        stack.payload_bytes + stack.header_bytes <= 65_535,
        "stack.payload_bytes",
        "a segment is at most 65535 bytes",
    )?;
    check(stack.ack_bytes > 0, "stack.ack_bytes", "must be above 0")?;
    check(
        stack.ack_bytes.saturating_add(stack.most_sack_bytes()).saturating_add(stack.option_bytes()) <= 65_535,
        "stack.ack_bytes",
        "an ACK is at most 65535 bytes",
    )?;
    let windows = 1..=MOST_IN_FLIGHT;
    check(windows.contains(&stack.initial_window), "stack.initial_window", "must be from 1 to 2^28 segments")?;
    check(stack.receive_window != Some(0), "stack.receive_window", "must be at least 1 segment")?;
    check(
        stack.receive_window.unwrap_or(1) <= MOST_IN_FLIGHT,
        "stack.receive_window",
        "must be at most 2^28 segments",
    )?;
    check(stack.dup_threshold > 0, "stack.dup_threshold", "must be at least 1 segment")?;
    check(stack.ack_every > 0, "stack.ack_every", "must be at least 1 segment")?;
    check(
        stack.ack_every == 1 || stack.delayed_ack_ps >= SHORTEST_TIMER_PS,
        "stack.delayed_ack_ps",
        "must be at least 1 us where ACKs are delayed",
    )?;
    check(stack.min_rto_ps >= SHORTEST_TIMER_PS, "stack.min_rto_ps", "must be at least 1 us")?;
    check(stack.initial_rto_ps >= SHORTEST_TIMER_PS, "stack.initial_rto_ps", "must be at least 1 us")?;
    check(stack.max_rto_ps >= SHORTEST_MAX_RTO_PS, "stack.max_rto_ps", "must be at least 10 ms")?;
    check(!stack.fast_open || stack.handshake, "stack.fast_open", "needs a handshake; write handshake = true")?;
    let is_accurate = "needs accurate feedback; write accurate_ecn = true";
    check(!stack.accurate_ecn_option || stack.accurate_ecn, "stack.accurate_ecn_option", is_accurate)?;
    check(
        stack.segment_option_bytes() == 0 || stack.header_bytes >= LINUX_HEADER_WITH_OPTION_BYTES,
        "stack.header_bytes",
        "must be at least 64, since the AccECN option is in each segment of a Linux host",
    )?;
    let has_receiver = stack.receiver_ecn != ReceiverEcn::Accurate;
    check(!has_receiver || stack.accurate_ecn, "stack.receiver_ecn", is_accurate)?;
    check(!has_receiver || stack.handshake, "stack.receiver_ecn", "needs a handshake; write handshake = true")?;
    check(stack.min_rto_ps <= stack.max_rto_ps, "stack.min_rto_ps", "must be at most max_rto_ps")?;
    Ok(())
}

fn validate_link(place: &str, link: &LinkSpec) -> Result<(), SpecError> {
    let check = checker(place);
    check(link.rate_bps >= 8, "rate_bps", "must be at least 8 bit/s")?;
    check(link.queue.limit_packets != Some(0), "queue.limit_packets", "must hold at least one packet")?;
    check(link.queue.limit_bytes != Some(0), "queue.limit_bytes", "must hold at least one packet")?;
    if let LossSpec::Interval { p, from_ps, to_ps } = link.loss {
        check((0.0..=1.0).contains(&p), "loss.p", "must be in [0, 1]")?;
        check(from_ps < to_ps, "loss.to_ps", "must be after from_ps")?;
    }
    if let LossSpec::Intervals { intervals } = &link.loss {
        check(intervals.iter().all(|one| (0.0..=1.0).contains(&one.p)), "loss.p", "must be in [0, 1]")?;
        check(intervals.iter().all(|one| one.from_ps < one.to_ps), "loss.to_ps", "must be after from_ps")?;
        let rising = intervals.windows(2).all(|pair| pair[0].to_ps <= pair[1].from_ps);
        check(rising, "loss.intervals", "must be in the order of time, and not overlap")?;
    }
    if let LossSpec::TimedStates { good_ps, bad_ps, in_good, in_bad } = link.loss {
        let shares = [in_good, in_bad].iter().all(|p| (0.0..=1.0).contains(p));
        check(shares, "loss", "must have probabilities in [0, 1]")?;
        check(in_good < 1.0, "loss.in_good", "must be below 1")?;
        let means = (1..=MOST_STATE_PS).contains(&good_ps) && (1..=MOST_STATE_PS).contains(&bad_ps);
        check(means, "loss", "must have mean times above 0, and at most 53 days")?;
    }
    check(!link.loss_on_wire || !matches!(link.loss, LossSpec::None), "loss_on_wire", "needs a loss")?;
    if let LossSpec::Bernoulli { p } = link.loss {
        check((0.0..1.0).contains(&p), "loss.p", "must be in [0, 1)")?;
    }
    if let LossSpec::GilbertElliott { to_bad, to_good, in_good, in_bad } = link.loss {
        let shares = [to_bad, to_good, in_good, in_bad].iter().all(|p| (0.0..=1.0).contains(p));
        check(shares, "loss", "must have probabilities in [0, 1]")?;
        check(to_bad > 0.0 && to_good > 0.0, "loss", "must change its state in both directions")?;
        check(in_good < 1.0, "loss.in_good", "must be below 1")?;
    }
    if let Some(impairments) = &link.impairments {
        impairments.validate(&format!("{place}.impairments"))?;
        // A packet may leave at the instant of its arrival; without a delay, time would not advance.
        let advances = impairments.rate_trace_ms.is_empty() || link.shortest_ps() > 0;
        check(advances, "impairments.rate_trace_ms", "needs a delay of the link above 0")?;
    }
    Ok(())
}
