//! Groups of equal flows, and the conversion to a list of flows, each with its own copy of the links that only its
//! group uses.

use super::error::SpecError;
use super::flow::FlowSpec;
use super::group::Group;
use super::limits::MOST_FLOWS;
use super::link::LinkSpec;
use super::{Spec, one};

impl Spec {
    /// Groups of the flows, in their order; a single flow is a group of one.
    #[must_use]
    pub fn flow_groups(&self) -> Vec<Group> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        let mut first = 0;
        let group = |flow: &FlowSpec| {
            let (name, algorithm, count) = (flow.name.clone(), flow.algorithm.clone(), flow.count);
            first += count as usize;
            Group { name, algorithm, first: first - count as usize, count }
        };
        self.flows.iter().map(group).collect()
    }

    /// True if the samples of the flow number `flow` are kept.
    #[must_use]
    pub fn records(&self, flow: usize) -> bool {
        if self.groups.is_empty() {
            return self.record_flows != Some(0);
        }
        let group = self.groups.partition_point(|group| group.first <= flow) - 1;
        self.groups[group].records(flow - self.groups[group].first, self.record_flows)
    }

    /// The number of flows, those of groups included.
    #[must_use]
    pub fn flow_count(&self) -> u64 {
        self.flows.iter().map(|flow| u64::from(flow.count)).sum()
    }

    /// The same spec with each flow of a group listed separately. Flow `i` of a group crosses copy `i` of each link
    /// that has copies.
    #[must_use]
    pub fn without_groups(self) -> Self {
        if self.flows.iter().all(|flow| flow.count == 1) {
            return self;
        }
        let groups = self.flow_groups();
        let mut firsts = Vec::with_capacity(self.links.len());
        let mut links = Vec::new();
        for link in self.links {
            firsts.push((links.len(), link.copies > 1));
            links.extend(copies_of(link));
        }
        let place = |link: usize, i: usize| firsts[link].0 + if firsts[link].1 { i } else { 0 };
        let mut flows = Vec::new();
        for flow in self.flows {
            flows.extend((0..flow.count).map(|i| {
                let walk = |path: &[usize]| path.iter().map(|&link| place(link, i as usize)).collect();
                FlowSpec { path: walk(&flow.path), reverse_path: walk(&flow.reverse_path), ..flow_of_group(&flow, i) }
            }));
        }
        let mut traffic = self.traffic;
        for source in &mut traffic {
            for path in [&mut source.flow.path, &mut source.flow.reverse_path] {
                path.iter_mut().for_each(|link| *link = place(*link, 0));
            }
        }
        Self { links, flows, traffic, groups, ..self }
    }

    /// Checks that a group's links fit its flows.
    pub(super) fn validate_groups(&self) -> Result<(), SpecError> {
        let mut users = vec![0_u32; self.links.len()];
        for flow in self.all_flows() {
            flow.path.iter().chain(&flow.reverse_path).for_each(|&link| users[link] += 1);
        }
        for (i, flow) in self.flows.iter().enumerate() {
            let fail = |field: &str, message: &str| Err(SpecError::new(format!("flows[{i}].{field}"), message));
            if flow.count == 0 {
                return fail("count", "must be at least 1");
            }
            if flow.start_ps.checked_add(flow.start_spread_ps).is_none_or(|last| last >= 1 << 62) {
                return fail("start_spread_ps", "must end within 53 days");
            }
            let links = || flow.path.iter().chain(&flow.reverse_path).map(|&link| &self.links[link]);
            if links().any(|link| link.copies != 1 && link.copies != flow.count) {
                return fail("path", "crosses a link whose number of copies differs from the group's number of flows");
            }
        }
        for (i, link) in self.links.iter().enumerate() {
            let fail = |field: &str, message: &str| Err(SpecError::new(format!("links[{i}].{field}"), message));
            if link.copies == 0 || (link.copies > 1 && users[i] != 1) {
                return fail("copies", "must be 1, or the number of flows in the only group that crosses it");
            }
            if !link.delays_ps.is_empty() && link.delays_ps.len() != link.copies as usize {
                return fail("delays_ps", "needs one value for each copy, or none");
            }
            if link.delays_ps.iter().any(|&delay| delay >= 1 << 61) {
                return fail("delays_ps", "must be below 26 days");
            }
        }
        if self.flow_count() > MOST_FLOWS {
            return Err(SpecError::new("flows", format!("are more than {MOST_FLOWS}")));
        }
        Ok(())
    }
}

/// Copies of `link`.
fn copies_of(link: LinkSpec) -> Vec<LinkSpec> {
    if link.copies == 1 {
        return vec![link];
    }
    let copy = |i: u32| LinkSpec {
        name: format!("{}-{}", link.name, i + 1),
        delay_ps: link.delays_ps.get(i as usize).copied().unwrap_or(link.delay_ps),
        copies: one(),
        delays_ps: Vec::new(),
        ..link.clone()
    };
    (0..link.copies).map(copy).collect()
}

/// Flow `i` of a group, on its copies of the links.
fn flow_of_group(group: &FlowSpec, i: u32) -> FlowSpec {
    if group.count == 1 {
        return group.clone();
    }
    let later = u128::from(group.start_spread_ps) * u128::from(i) / u128::from(group.count);
    FlowSpec {
        name: format!("{}-{}", group.name, i + 1),
        start_ps: group.start_ps + later as u64,
        count: one(),
        start_spread_ps: 0,
        ..group.clone()
    }
}
