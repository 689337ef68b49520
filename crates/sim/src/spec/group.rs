//! A group of flows in a spec that lists its flows one by one, and the recorded flows of the group.

/// A group of flows that are listed one by one, from position `first` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group, or of a single flow.
    pub name: String,
    /// Congestion control of its flows.
    pub algorithm: String,
    /// Position of the group's first flow among all flows.
    pub first: usize,
    /// Number of the group's flows.
    pub count: u32,
}

impl Group {
    /// Number of flows whose samples are kept, if `wanted` flows of each group are recorded.
    #[must_use]
    pub fn recorded(&self, wanted: Option<u32>) -> u32 {
        wanted.map_or(self.count, |wanted| wanted.min(self.count))
    }

    /// True if the samples of the flow at `position` in the group are kept: flow ⌊j × count / n⌋ for each j below n, from 0.
    #[must_use]
    pub fn records(&self, position: usize, wanted: Option<u32>) -> bool {
        let (position, count) = (position as u64, u64::from(self.count));
        let recorded = u64::from(self.recorded(wanted));
        recorded > 0 && ((position * recorded).div_ceil(count) * count) / recorded == position
    }
}
