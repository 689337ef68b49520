//! Tables of a run as a file, in MessagePack: the programs of the backends write it, and the binding reads it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use elephan_sim::tables::{Column, Table};

/// Tables that were read: the name of each, and its columns with their names.
pub type Tables = Vec<(String, Vec<(String, Column)>)>;

/// Writes tables, each with its name, into a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, tables: &[(&str, Table)]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    rmp_serde::encode::write(&mut file, tables).map_err(io::Error::other)?;
    file.flush()
}

/// Reads the content of a file that [`write`] wrote.
///
/// # Errors
/// The content is not that of such a file.
pub fn read(content: &[u8]) -> io::Result<Tables> {
    rmp_serde::from_slice(content).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_column_is_read_as_it_was_written() {
        let columns = vec![
            ("floats", Column::Floats(vec![0.1, -0.0, f64::INFINITY, f64::MIN_POSITIVE])),
            ("counts", Column::Counts(vec![0, u64::MAX])),
            ("numbers", Column::Numbers(vec![None, Some(u32::MAX)])),
            ("sizes", Column::Sizes(vec![0, u16::MAX])),
            ("flags", Column::Flags(vec![true, false])),
            ("texts", Column::Texts(vec![String::new(), "späť".into()])),
            ("names", Column::Names { keys: vec![0, -1], words: vec!["a".into()] }),
        ];
        let path = std::env::temp_dir().join(format!("elephan-tables-{}", std::process::id()));
        write(&path, &[("t", columns.clone()), ("empty", vec![])]).expect("a file of its own");
        let content = std::fs::read(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it is there");
        let owned: Vec<_> = columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
        assert_eq!(read(&content).expect("it is whole"), [("t".to_owned(), owned), ("empty".to_owned(), vec![])]);
        assert!(read(&content[..content.len() / 2]).is_err());
    }
}
