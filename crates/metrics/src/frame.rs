//! A table with the rows of each flow, source or link.

use std::collections::HashMap;

use elephan_sim::tables::{Column, Table};

use crate::error::{Found, undefined};

/// Columns that a table may have names in, of which the first that a table has names its rows.
const KEYS: [&str; 5] = ["name", "flow", "source", "link", "group"];

/// A table whose rows belong to flows, sources or links.
pub(crate) struct Frame {
    name: &'static str,
    columns: Table,
    rows: HashMap<String, Vec<usize>>,
    times: Vec<f64>,
}

impl Frame {
    /// Indexes a table. The rows of each name are put in the order of time, if the table has times.
    pub fn new(name: &'static str, columns: Table) -> Self {
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        let key = KEYS.iter().find_map(|key| columns.iter().find(|(name, _)| name == key));
        match key.map(|(_, column)| column) {
            Some(Column::Texts(texts)) => {
                for (row, text) in texts.iter().enumerate() {
                    rows.entry(text.clone()).or_default().push(row);
                }
            }
            Some(Column::Names { keys, words }) => {
                let mut of_word: Vec<Vec<usize>> = vec![Vec::new(); words.len()];
                for (row, &key) in keys.iter().enumerate() {
                    if let Some(of_word) = usize::try_from(key).ok().and_then(|key| of_word.get_mut(key)) {
                        of_word.push(row);
                    }
                }
                let named = words.iter().cloned().zip(of_word);
                rows = named.filter(|(_, rows)| !rows.is_empty()).collect();
            }
            _ => {}
        }
        let mut frame = Self { name, columns, rows, times: Vec::new() };
        frame.sort();
        frame
    }

    fn sort(&mut self) {
        let Some(time) = self.column("time_s").ok().map(numbers) else { return };
        for rows in self.rows.values_mut() {
            if !rows.is_sorted_by(|&a, &b| time[a] <= time[b]) {
                rows.sort_by(|&a, &b| time[a].total_cmp(&time[b]));
            }
        }
        let longest = self.rows.values().max_by_key(|rows| rows.len());
        let mut times: Vec<f64> = longest.map_or_else(Vec::new, |rows| rows.iter().map(|&row| time[row]).collect());
        // All flows of a run have the same sample times, unless a backend begins to sample a flow at its start.
        if time.iter().any(|at| times.binary_search_by(|known| known.total_cmp(at)).is_err()) {
            times = time;
            times.sort_unstable_by(f64::total_cmp);
        }
        times.dedup();
        self.times = times;
    }

    /// Distinct times of all rows, s, in order.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Rows of a flow, source or link, in the order of time; none if the table lacks the name.
    pub fn rows(&self, name: &str) -> &[usize] {
        self.rows.get(name).map_or(&[], Vec::as_slice)
    }

    /// True if the table has a column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| *name == column)
    }

    /// A column.
    pub fn column(&self, column: &str) -> Found<&Column> {
        match self.columns.iter().find(|(name, _)| *name == column) {
            Some((_, found)) => Ok(found),
            None => undefined(format!("the table '{}' of this run has no column '{column}'", self.name)),
        }
    }

    /// Values of a column in some rows; NaN for a missing value.
    pub fn values(&self, column: &str, rows: &[usize]) -> Found<Vec<f64>> {
        let column = self.column(column)?;
        Ok(rows.iter().map(|&row| number(column, row)).collect())
    }

    /// Name in a column of names, in a row.
    pub fn word(&self, column: &str, row: usize) -> Option<&str> {
        match self.column(column).ok()? {
            Column::Texts(texts) => texts.get(row).map(String::as_str),
            Column::Names { keys, words } => words.get(usize::try_from(*keys.get(row)?).ok()?).map(String::as_str),
            _ => None,
        }
    }

    /// Value of a column in a row; NaN if it is missing.
    pub fn value(&self, column: &str, row: usize) -> Found<f64> {
        Ok(number(self.column(column)?, row))
    }
}

/// All values of a column of numbers.
fn numbers(column: &Column) -> Vec<f64> {
    match column {
        Column::Floats(values) => values.clone(),
        Column::Counts(values) => values.iter().map(|&value| value as f64).collect(),
        _ => Vec::new(),
    }
}

/// Value of a column in a row; NaN for a missing number and for what is no number.
fn number(column: &Column, row: usize) -> f64 {
    match column {
        Column::Floats(values) => values.get(row).copied().filter(|value| value.is_finite()),
        Column::Counts(values) => values.get(row).map(|&value| value as f64),
        Column::Numbers(values) => values.get(row).copied().flatten().map(f64::from),
        Column::Sizes(values) => values.get(row).map(|&value| f64::from(value)),
        Column::Flags(_) | Column::Texts(_) | Column::Names { .. } => None,
    }
    .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_name_are_in_the_order_of_time() {
        let names = Column::Names { keys: vec![0, 1, 0, 1, -1], words: vec!["a".to_owned(), "b".to_owned()] };
        let times = Column::Floats(vec![2.0, 1.0, 1.0, 3.0, 4.0]);
        let counts = Column::Counts(vec![20, 10, 11, 30, 40]);
        let frame = Frame::new("samples", vec![("time_s", times), ("flow", names), ("wire_bytes", counts)]);
        assert_eq!((frame.rows("a"), frame.rows("b"), frame.rows("c")), (&[2, 0][..], &[1, 3][..], &[][..]));
        assert_eq!(frame.times(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(frame.values("wire_bytes", frame.rows("a")), Ok(vec![11.0, 20.0]));
        assert!(frame.has("flow") && frame.value("cwnd", 0).is_err());
    }
}
