use std::fs;
use std::io::Write;

use proptest::prelude::*;
use tamis::key::Column;

use super::*;
use crate::{Control, Options, Sources};

/// Refuses rows whose value begins with `x`, and keeps what is set aside with its place.
#[derive(Default)]
struct Picky {
    taken: u64,
    aside: Vec<(usize, u64, String)>,
}

impl Sink for Picky {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        if values[0].is_none_or(|value| value.starts_with(b"x")) {
            return Err(BadRow::NotAnObject.into());
        }
        self.taken += 1;
        Ok(())
    }

    fn sets_aside(&self) -> bool {
        true
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.aside.push((record.input, record.at, String::from_utf8(record.text.to_vec()).unwrap()));
    }
}

fn aside(sources: &Sources, threads: usize) -> (u64, Vec<serde_json::Value>) {
    let sinks = (0..threads).map(|_| Picky::default()).collect();
    let sinks = sources.scan(sinks, &Control::default()).unwrap();
    let taken = sinks.iter().map(|sink| sink.taken).sum();
    let mut all: Vec<_> = sinks.into_iter().flat_map(|sink| sink.aside).collect();
    all.sort();
    (taken, all.iter().map(|(_, _, text)| serde_json::from_str(text).unwrap()).collect())
}

#[test]
fn a_record_says_where_a_row_stands_and_what_it_is() {
    let text = b"id,note\n1,a\nx2,\"two\nlines\"\r\n3\n\nx4,\xff\n5,e,too many\n6,\"a\"b\nx8,\\".to_vec();
    let sources = Sources::of_text(
        Path::new("t.csv"),
        text,
        &Options::default(),
        &[Column::Name("id".into()), Column::Name("note".into())],
    );
    let (taken, records) = aside(&sources.unwrap(), 1);
    assert_eq!(taken, 1);
    let shown: Vec<String> = records
        .iter()
        .map(|record| format!("{} {}{}", record["line"], record["text"], record["hex"]))
        .collect();
    assert_eq!(
        shown,
        [
            "3 \"x2,\\\"two\\nlines\\\"\\r\"null",
            "5 \"3\"null",
            "7 null\"78342cff\"",
            "8 \"5,e,too many\"null",
            "9 \"6,\\\"a\\\"b\"null",
            "10 \"x8,\\\\\"null",
        ]
    );
    assert!(records.iter().all(|record| record["input"] == "t.csv"));
    assert_eq!(records[1]["reason"], "this row has 1 field, too few for column 2");
}

#[test]
fn a_row_that_cannot_be_left_out_still_ends_the_reading() {
    let text = b"id,note\n1,\"never closes\n2,b\n".to_vec();
    let sources =
        Sources::of_text(Path::new("t.csv"), text, &Options::default(), &[Column::Name("id".into())]);
    let error = sources.unwrap().scan(vec![Picky::default()], &Control::default()).err().unwrap();
    assert!(error.to_string().contains("never closes"), "{error}");
}

#[test]
fn a_long_row_is_cut_between_two_characters_and_says_how_long_it_is() {
    let mut text = b"x".to_vec();
    text.extend("é".repeat(LONGEST).as_bytes());
    text.extend(b"\nok\n");
    let options = Options { format: Some(crate::Format::Lines), ..Options::default() };
    let sources = Sources::of_text(Path::new("t"), text, &options, &[Column::Line]).unwrap();
    let (taken, records) = aside(&sources, 1);
    assert_eq!((taken, records.len()), (1, 1));
    assert_eq!(records[0]["length"], 1 + 2 * LONGEST);
    assert_eq!(records[0]["text"].as_str().unwrap().len(), LONGEST - 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the chunks, the threads and the compression: each bad row once, with its line and its bytes.
    #[test]
    fn records_are_those_of_a_simple_reading(
        lines in prop::collection::vec("[ax][a-z\"]{0,12}", 1..60),
        chunk in 4usize..90,
        threads in 1usize..4,
        packed: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.txt");
        let text = lines.join("\n");
        match packed {
            false => fs::write(&path, &text).unwrap(),
            true => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(text.as_bytes()).unwrap();
                fs::write(&path, out.finish().unwrap()).unwrap();
            }
        }
        let options = Options { format: Some(crate::Format::Lines), ..Options::default() };
        let mut sources = Sources::open(&[path.display().to_string()], &options, &[Column::Line]).unwrap();
        sources.in_chunks_of(chunk);
        let (taken, records) = aside(&sources, threads);
        let found: Vec<(u64, String)> = records
            .iter()
            .map(|record| (record["line"].as_u64().unwrap(), record["text"].as_str().unwrap().into()))
            .collect();
        let bad: Vec<(u64, String)> =
            (1..).zip(lines.iter().cloned()).filter(|(_, line)| line.starts_with('x')).collect();
        prop_assert_eq!(taken as usize, lines.len() - bad.len());
        prop_assert_eq!(found, bad);
    }
}
