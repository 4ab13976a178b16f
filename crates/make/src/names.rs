//! An output means what its name says: a name that says something else is refused before anything is written.
//!
//! Names without an ending that is known say nothing, and are free. A known compression after the ending
//! (`x.csv.gz`) asks for it, where text is written.

use std::path::Path;

use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Compression, Format, extension};

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Records in this format; text may be compressed.
    Records(Format),
    /// The same, not compressed.
    Plain(Format),
    /// Lines, in which tabs may stand between values.
    Answers,
    /// Sketches, or anything else that only tamis reads.
    Sketches,
    /// JSON.
    Json,
    /// A page.
    Page,
    /// A chart.
    Chart,
}

/// The ending of exact keys, which no job writes under a name of its own.
const KEYS: &str = "keys";

/// Whether only tamis writes files of such names: what others call so is not continued under such a name.
pub(crate) fn is_ours(path: &Path) -> bool {
    matches!(&*extension(path), "tamis" | KEYS)
}

/// Endings, and what they say.
const KNOWN: &[(&str, &str)] = &[
    ("csv", "CSV"),
    ("tsv", "TSV"),
    ("tab", "TSV"),
    ("ndjson", "NDJSON"),
    ("jsonl", "NDJSON"),
    ("json", "JSON"),
    ("parquet", "Parquet"),
    ("parq", "Parquet"),
    ("pq", "Parquet"),
    ("txt", "text"),
    ("log", "text"),
    ("list", "text"),
    ("tamis", "a tamis file"),
    (KEYS, "the exact keys beside a tamis file"),
    ("html", "a page"),
    ("htm", "a page"),
    ("svg", "a chart"),
    ("png", "a picture"),
    ("jpg", "a picture"),
    ("jpeg", "a picture"),
    ("gif", "a picture"),
    ("webp", "a picture"),
    ("arrow", "Arrow"),
    ("feather", "Arrow"),
    ("avro", "Avro"),
    ("orc", "ORC"),
    ("xml", "XML"),
    ("xlsx", "a spreadsheet"),
    ("xls", "a spreadsheet"),
    ("ods", "a spreadsheet"),
    ("sqlite", "a database"),
    ("duckdb", "a database"),
    ("pdf", "PDF"),
    ("tar", "an archive"),
    ("tgz", "an archive"),
    ("zip", "an archive"),
    ("7z", "an archive"),
    ("lz4", "LZ4"),
    ("lzo", "LZO"),
    ("lzma", "LZMA"),
    ("br", "Brotli"),
    ("sz", "Snappy"),
    ("snappy", "Snappy"),
    ("z", "compress"),
];

/// Endings of text that is written as it is.
const TEXT: [&str; 3] = ["txt", "log", "list"];

impl Content {
    /// Bad rows that are set aside.
    pub const BAD_ROWS: Content = Content::Records(Format::Ndjson);

    /// The endings that say this, the best one first.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Content::Records(format) | Content::Plain(format) => match format {
                Format::Csv => &["csv"],
                Format::Tsv => &["tsv", "tab"],
                Format::Ndjson => &["ndjson", "jsonl", "json"],
                Format::Parquet => &["parquet", "parq", "pq"],
                Format::Log => &["log"],
                Format::Lines => &["txt"],
            },
            Content::Answers => &["txt", "tsv", "tab"],
            Content::Sketches => &["tamis"],
            Content::Json => &["json"],
            Content::Page => &["html", "htm"],
            Content::Chart => &["svg"],
        }
    }

    /// Whether it is text that may have a name which says no more.
    fn is_text(self) -> bool {
        match self {
            Content::Records(format) | Content::Plain(format) => format != Format::Parquet,
            other => other == Content::Answers,
        }
    }

    /// Whether a name may ask for its compression.
    fn is_packed(self) -> bool {
        self.is_text() && matches!(self, Content::Records(_))
    }

    /// What it is called.
    fn name(self) -> &'static str {
        match self {
            Content::Records(Format::Lines) | Content::Plain(Format::Lines) | Content::Answers => {
                "lines of text"
            }
            Content::Records(Format::Log) | Content::Plain(Format::Log) => "an access log",
            other => {
                let ending = other.endings()[0];
                KNOWN.iter().find(|(known, _)| *known == ending).map_or(ending, |(_, says)| says)
            }
        }
    }

    /// Refuses a name that says something else.
    pub fn check(self, path: &Path) -> Result<()> {
        let ending = extension(path);
        let packed = Compression::of_name(path).is_some() && !self.is_packed();
        let allowed = self.endings().contains(&&*ending) || (self.is_text() && TEXT.contains(&&*ending));
        let says = match KNOWN.iter().find(|(known, _)| *known == ending) {
            Some((_, says)) if !allowed => says,
            _ if packed => "a compressed file",
            _ => return Ok(()),
        };
        Err(Error::input(path, WrongName { says, holds: self.name(), right: self.right(path) }))
    }

    /// A name that would be right.
    fn right(self, path: &Path) -> String {
        let packing = path.extension().filter(|_| Compression::of_name(path).is_some());
        let plain = if packing.is_some() { path.with_extension("") } else { path.to_owned() };
        // Where no ending is known, all of the name is its beginning.
        let known = KNOWN.iter().any(|(known, _)| *known == extension(path));
        let stem = if known { plain.with_extension("") } else { plain };
        // `x.csv.lz4` is called `x.csv`.
        let stem = if self.endings().contains(&&*extension(&stem)) { stem.with_extension("") } else { stem };
        let mut right = stem.into_os_string();
        right.push(".");
        right.push(self.endings()[0]);
        if let Some(packing) = packing.filter(|_| self.is_packed()) {
            right.push(".");
            right.push(packing);
        }
        right.display().to_string()
    }
}

/// A name that says something else than what would be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its name says {says}, and {holds} would be written")]
pub struct WrongName {
    says: &'static str,
    holds: &'static str,
    right: String,
}

impl refusal::Refusal for WrongName {
    fn help(&self) -> Vec<Help> {
        vec![Help::NameIt(self.right.clone())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: [Content; 12] = [
        Content::Records(Format::Lines),
        Content::Records(Format::Csv),
        Content::Records(Format::Tsv),
        Content::Records(Format::Ndjson),
        Content::Records(Format::Log),
        Content::Records(Format::Parquet),
        Content::Plain(Format::Tsv),
        Content::Answers,
        Content::Sketches,
        Content::Json,
        Content::Page,
        Content::Chart,
    ];

    #[test]
    fn a_name_says_what_is_written_or_nothing_or_is_refused_with_one_that_is_right() {
        let endings = KNOWN.iter().map(|(ending, _)| *ending);
        let packings = ["", ".gz", ".ZST", ".bz2", ".xz"];
        for content in CONTENTS {
            for name in endings
                .clone()
                .flat_map(|ending| packings.map(|packing| format!("d.x/a.b.{ending}{packing}")))
            {
                let Err(error) = content.check(Path::new(&name)) else { continue };
                let Error::Input { path, why } = error else { panic!("{name}") };
                assert_eq!(path, Path::new(&name));
                let why: &WrongName = why.as_a().unwrap();
                assert!(content.check(Path::new(&why.right)).is_ok(), "{name}: {}", why.right);
            }
            for free in ["a", "a.b", "a.dat", "/dev/stdout", "a.csv.d/out"] {
                assert!(content.check(Path::new(free)).is_ok(), "{free}");
            }
        }
    }

    #[test]
    fn the_right_name_keeps_the_rest_of_the_name() {
        for (content, name, right) in [
            (Content::Records(Format::Ndjson), "d/x.csv", Some("d/x.ndjson")),
            (Content::Records(Format::Csv), "x.parquet", Some("x.csv")),
            (Content::Records(Format::Csv), "x.tsv.gz", Some("x.csv.gz")),
            (Content::Records(Format::Csv), "x.csv.lz4", Some("x.csv")),
            (Content::Records(Format::Csv), "x.zip", Some("x.csv")),
            (Content::Records(Format::Csv), "x.CSV.gz", None),
            (Content::Records(Format::Csv), "x.txt.gz", None),
            (Content::Records(Format::Csv), "x.gz", None),
            (Content::Records(Format::Parquet), "x.parquet.gz", Some("x.parquet")),
            (Content::Records(Format::Parquet), "x.gz", Some("x.parquet")),
            (Content::Records(Format::Parquet), "x.txt", Some("x.parquet")),
            (Content::Records(Format::Lines), "x.csv", Some("x.txt")),
            (Content::Plain(Format::Tsv), "x.tsv.gz", Some("x.tsv")),
            (Content::Answers, "x.tsv", None),
            (Content::Sketches, "users.csv", Some("users.tamis")),
            (Content::Sketches, "users.bloom", None),
            (Content::Sketches, "users.tamis.keys", Some("users.tamis")),
            (Content::Records(Format::Lines), "users.tamis.keys", Some("users.tamis.txt")),
            (Content::BAD_ROWS, "users.KEYS", Some("users.ndjson")),
        ] {
            let found = content.check(Path::new(name)).err().map(|error| match error {
                Error::Input { why, .. } => why.as_a::<WrongName>().unwrap().right.clone(),
                other => panic!("{other}"),
            });
            assert_eq!(found.as_deref(), right, "{name}");
        }
    }
}
