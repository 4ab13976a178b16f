//! Row groups that `filter` need not read: what passes is what passes when all are read.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use crate::support::{Dice, Folder};

/// How a file is written.
#[derive(Debug, Clone, Copy)]
struct Layout {
    dictionary: bool,
    filters: bool,
    statistics: bool,
    nulls: bool,
}

/// Row groups of a column of text and one of numbers, with the same values, and the number of the row.
fn write(path: &Path, groups: &[Vec<Option<i64>>], layout: Layout) {
    let schema = "message m { optional binary name (UTF8); optional int64 number; required int32 row; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let statistics = if layout.statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(layout.dictionary)
        .set_bloom_filter_enabled(layout.filters)
        .set_statistics_enabled(statistics)
        .build();
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    let mut row = 0;
    for group in groups {
        let mut out = writer.next_row_group().unwrap();
        let levels: Vec<i16> = group.iter().map(|value| i16::from(value.is_some())).collect();
        let numbers: Vec<i64> = group.iter().copied().flatten().collect();
        let names: Vec<_> =
            numbers.iter().map(|number| ByteArray::from(name(*number).into_bytes())).collect();
        let mut column = out.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = out.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = out.next_column().unwrap().unwrap();
        let rows: Vec<i32> = (row..row + group.len() as i32).collect();
        row += group.len() as i32;
        column.typed::<Int32Type>().write_batch(&rows, None, None).unwrap();
        column.close().unwrap();
        out.close().unwrap();
    }
    writer.close().unwrap();
}

/// Some texts in capitals: a step makes them small.
fn name(number: i64) -> String {
    if number % 2 == 0 { format!("n{number}") } else { format!("N{number}") }
}

fn rows(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

/// Filters of some numbers, as numbers, as names, and as names in small letters; at a high rate, so that there are
/// false positives.
fn with_keys(keys: &BTreeSet<i64>) -> Folder {
    let folder = Folder::new();
    let lines = |of: &dyn Fn(i64) -> String| keys.iter().map(|key| of(*key) + "\n").collect::<String>();
    folder.write("numbers.txt", lines(&|key| key.to_string()));
    folder.write("names.txt", lines(&name));
    for (from, key, to) in
        [("numbers", "", "numbers"), ("names", "", "names"), ("names", "--key :lower", "lower")]
    {
        let line = format!("build {from}.txt --format lines {key} --fpr 0.05 --quiet");
        folder.ok(&format!("{line} -o {to}.tamis"));
        folder.ok(&format!("{line} --exact -o {to}-exact.tamis"));
    }
    folder
}

#[test]
fn what_passes_does_not_depend_on_what_is_skipped() {
    let mut dice = Dice(20);
    let mut seen = [0; 4];
    for round in 0..12 {
        let keys: BTreeSet<i64> = (0..30).map(|_| dice.below(20_000) as i64 - 10_000).collect();
        let layout = Layout {
            dictionary: round % 2 == 0,
            filters: round % 3 == 0,
            statistics: round % 4 != 3,
            nulls: round % 5 == 1,
        };
        let group = |dice: &mut Dice| -> Vec<Option<i64>> {
            let (from, width) = (dice.below(20_000) as i64 - 10_000, 1 + dice.below(300));
            let nulls = layout.nulls && dice.below(2) == 0;
            let value = |_| (!nulls || dice.below(9) > 0).then(|| from + dice.below(width) as i64);
            (0..40).map(value).collect()
        };
        let groups: Vec<_> = (0..15).map(|_| group(&mut dice)).collect();
        let folder = with_keys(&keys);
        write(&folder.path("t.parquet"), &groups, layout);
        for (file, key) in [("numbers", "number"), ("names", "name"), ("lower", "name")] {
            for (at, (exact, strict)) in
                [("", ""), ("-exact", ""), ("-exact", "--strict")].into_iter().enumerate()
            {
                let line =
                    format!("filter {file}{exact}.tamis t.parquet --key {key} --bad-rows skip {strict}");
                let skipping = folder.json(&format!("{line} -o some.parquet"));
                let reading = folder.json(&format!("{line} -o all.parquet --rejected rest.parquet"));
                let (some, all) = (rows(&folder.path("some.parquet")), rows(&folder.path("all.parquet")));
                let what = format!("{layout:?}, {file}, {exact}, {strict}");
                for field in ["records", "without_key"] {
                    assert_eq!(skipping[field], reading[field], "{what}: {field}");
                }
                assert_eq!(skipping["row_groups"], 15, "{what}");
                assert_eq!(reading["row_groups_skipped"], serde_json::Value::Null, "{what}");
                seen[at] += skipping["row_groups_skipped"].as_u64().unwrap();
                if at == 1 {
                    // What is lost are false positives, which the keys themselves tell.
                    let all: BTreeSet<_> = all.into_iter().collect();
                    folder.ok(&format!("{} --strict -o true.parquet", line));
                    let some: BTreeSet<_> = some.into_iter().collect();
                    let exactly: BTreeSet<_> = rows(&folder.path("true.parquet")).into_iter().collect();
                    assert!(some.is_subset(&all) && exactly.is_subset(&some), "{what}");
                } else {
                    assert_eq!(some, all, "{what}");
                }
                // As text, the other columns are read as well.
                let text = folder.ok(&format!(
                    "filter {file}{exact}.tamis t.parquet --key {key} --bad-rows skip {strict} --quiet"
                ));
                assert_eq!(text.lines().count(), 1 + rows(&folder.path("some.parquet")).len(), "{what}");
            }
        }
    }
    assert!(seen[..3].iter().all(|skipped| *skipped > 100), "{seen:?}");
}

#[test]
fn how_many_are_skipped_is_said_and_nothing_is_where_all_must_be_read() {
    let folder = with_keys(&BTreeSet::from([1, 2, 3]));
    let groups: Vec<Vec<Option<i64>>> =
        (0..10).map(|group| (0..50).map(|row| Some(1000 * group + row)).collect()).collect();
    let layout = Layout { dictionary: true, filters: false, statistics: true, nulls: false };
    write(&folder.path("t.parquet"), &groups, layout);
    let line = "filter numbers-exact.tamis t.parquet --key number";
    let json = folder.json(&format!("{line} --count"));
    assert_eq!((&json["row_groups"], &json["row_groups_skipped"]), (&10.into(), &9.into()));
    assert_eq!((&json["records"], &json["records_skipped"]), (&500.into(), &450.into()));
    let done = folder.run(&format!("{line} -o part.parquet"));
    assert!(done.out.contains("row groups skipped") && done.out.contains("9 of 10"), "{}", done.out);
    let done = folder.run(line);
    assert!(done.err.contains("9 of 10 row groups skipped"), "{}", done.err);
    folder.write("pairs.csv", "name,number\nN1,1\nn2,2\n");
    folder.ok("build pairs.csv --key name --key number --exact -o pairs.tamis");
    for line in [
        "numbers-exact.tamis t.parquet --key number --invert -o o.parquet",
        "numbers-exact.tamis t.parquet --key number -o o.parquet --rejected r.parquet",
        "pairs.tamis t.parquet --count",
    ] {
        let json = folder.json(&format!("filter {line}"));
        assert!(
            json["row_groups_skipped"].as_u64().unwrap_or(0) == 0 && json["records"] == 500,
            "{line}: {json}"
        );
    }
    // Nothing is written of those that do not pass, so they need not be read.
    let json = folder.json(&format!("{line} --count --invert"));
    assert_eq!((&json["row_groups_skipped"], &json["records"]), (&9.into(), &500.into()));
}

#[test]
fn a_row_without_a_key_is_told_though_no_other_would_pass() {
    let folder = with_keys(&BTreeSet::from([1]));
    let mut groups = vec![vec![Some(7000); 20]; 3];
    groups[1][5] = None;
    for dictionary in [true, false] {
        let layout = Layout { dictionary, filters: true, statistics: true, nulls: true };
        write(&folder.path("t.parquet"), &groups, layout);
        for file in ["numbers", "numbers-exact"] {
            let line = format!("filter {file}.tamis t.parquet --key number --count");
            folder.refused(&line, 1, &["t.parquet", "row 26"]);
            let json = folder.json(&format!("{line} --bad-rows skip"));
            assert_eq!((&json["records"], &json["without_key"]), (&60.into(), &1.into()));
            assert!(dictionary || file == "numbers" || json["row_groups_skipped"] == 3, "{json}");
            folder.ok(&format!("{line} --bad-rows-to bad.ndjson"));
            assert_eq!(folder.text("bad.ndjson").lines().count(), 1);
        }
    }
}
