//! Columns of tables.

use serde::{Deserialize, Serialize};

use crate::spec::Spec;

/// Key, in a column of names, of a row that has no name.
pub const NO_NAME: i32 = -1;

/// Values of a column, one for each row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers; a number that is not finite stands for an unknown value.
    Floats(Vec<f64>),
    /// Counts.
    Counts(Vec<u64>),
    /// Small numbers, each of which may be missing.
    Numbers(Vec<Option<u32>>),
    /// Sizes.
    Sizes(Vec<u16>),
    /// Yes or no.
    Flags(Vec<bool>),
    /// Texts that differ between rows.
    Texts(Vec<String>),
    /// Repeating names: the index of each row's name among the words, or [`NO_NAME`].
    Names {
        /// Indices.
        keys: Vec<i32>,
        /// Names.
        words: Vec<String>,
    },
}

/// Columns of equal length, each with its name.
pub type Table = Vec<(&'static str, Column)>;

pub(super) fn floats(values: impl Iterator<Item = f64>) -> Column {
    Column::Floats(values.collect())
}

pub(super) fn counts(values: impl Iterator<Item = u64>) -> Column {
    Column::Counts(values.collect())
}

pub(super) fn numbers(values: impl Iterator<Item = u32>) -> Column {
    Column::Numbers(values.map(Some).collect())
}

/// A column of names, in which each name has `repeat` successive rows.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>, repeat: usize) -> Column {
    let words: Vec<String> = names.map(str::to_owned).collect();
    Column::Names { keys: (0..words.len() as i32).flat_map(|k| std::iter::repeat_n(k, repeat)).collect(), words }
}

/// Names of all flows, as words of a column.
pub(super) fn flow_names(spec: &Spec) -> Vec<String> {
    spec.flows.iter().map(|flow| flow.name.clone()).collect()
}

pub(super) fn source_names(spec: &Spec) -> Vec<String> {
    spec.traffic.iter().map(|source| source.flow.name.clone()).collect()
}
