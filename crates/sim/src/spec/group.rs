//! A group of flows, once these are listed one by one, and which of them are recorded.

/// A group of flows, listed one by one: those from the position `first` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group, or of a flow by itself.
    pub name: String,
    /// Congestion control of its flows.
    pub algorithm: String,
    /// Position of its first flow among all.
    pub first: usize,
    /// Number of its flows.
    pub count: u32,
}

impl Group {
    /// Number of flows whose samples are kept where `wanted` of each group are.
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
