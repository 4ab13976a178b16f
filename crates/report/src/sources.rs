//! Which files a page is about.

use tamis_make::number;

use crate::{Column, Table};

/// A file that a job read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// What it was to the job: `filters`, `data`.
    pub role: &'static str,
    /// Its name.
    pub name: String,
    /// Its format, where it was recognised.
    pub format: Option<&'static str>,
    /// Its size, where that is known.
    pub bytes: Option<u64>,
}

/// One row for each, in their order, and below them what they are together.
pub(crate) fn table(sources: &[Source]) -> Table {
    let columns =
        vec![Column::left("what"), Column::left("file"), Column::left("format"), Column::right("size")];
    let row = |source: &Source| {
        vec![
            source.role.into(),
            source.name.clone(),
            source.format.unwrap_or_default().into(),
            source.bytes.map_or(String::new(), number::bytes),
        ]
    };
    let data = || sources.iter().filter(|source| source.role == "data");
    let all = || data().map(|source| source.bytes).sum::<Option<u64>>();
    let notes = match data().count() {
        0 | 1 => Vec::new(),
        files => {
            let of = all().map_or(String::new(), |bytes| format!(", {}", number::bytes(bytes)));
            vec![format!("Data: {}{of}.", number::counted(files as u64, "file"))]
        }
    };
    Table { columns, rows: sources.iter().map(row).collect(), notes, ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(name: &str, bytes: Option<u64>) -> Source {
        Source { role: "data", name: name.into(), format: Some("tsv"), bytes }
    }

    #[test]
    fn files_are_named_with_their_sizes_and_those_of_data_added_up() {
        let filters = Source { role: "filters", name: "a.tamis".into(), format: None, bytes: Some(500) };
        let table = table(&[filters, data("1.tsv", Some(1000)), data("2.tsv", Some(2000))]);
        assert_eq!(table.rows[0], ["filters", "a.tamis", "", "500 B"]);
        assert_eq!(table.rows[1], ["data", "1.tsv", "tsv", "1 kB"]);
        assert_eq!(table.notes, ["Data: 2 files, 3 kB."]);
    }

    #[test]
    fn a_size_that_is_not_known_is_not_added_up() {
        let table = table(&[data("-", None), data("2.tsv", Some(2000))]);
        assert_eq!(table.notes, ["Data: 2 files."]);
        assert_eq!(table.rows[0][3], "");
    }
}
