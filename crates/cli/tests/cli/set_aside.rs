//! `--bad-rows-to`: bad rows go to a file of their own, each once, in the order of the inputs, on every verb that
//! reads rows; and exactly once where a run is continued.

use serde_json::Value;

use crate::support::Folder;

/// A table of which every seventh row is bad, in one of four ways.
fn table(rows: usize, name: &str) -> String {
    let row = |i: usize| match (i % 7, i % 4) {
        (3, 0) => format!("\\N,{i}\n"),
        (3, 1) => format!(",\"no\nkey {i}\"\n"),
        (3, 2) => format!("{name}{i},a,b\n"),
        (3, _) => format!("\"{name}\"{i},a\n"),
        _ => format!("{name}{i},\"two\nlines\"\n"),
    };
    "id,note\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

fn records(folder: &Folder, name: &str) -> Vec<Value> {
    folder.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts that records stand in the order of these inputs, and that each row is where they say.
fn are_right(records: &[Value], folder: &Folder, inputs: &[&str], what: &str) {
    let texts: Vec<Vec<u8>> = inputs.iter().map(|input| folder.read(input)).collect();
    let begins = |text: &Vec<u8>| {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        [0].into_iter().chain(ends).collect::<Vec<usize>>()
    };
    let begins: Vec<Vec<usize>> = texts.iter().map(begins).collect();
    let mut last = (0, 0);
    for record in records {
        let input = inputs.iter().position(|input| record["input"] == **input).unwrap();
        let line = record["line"].as_u64().unwrap() as usize;
        assert!((input, line) > last, "{what}: {record} comes after {last:?}");
        last = (input, line);
        let row = &texts[input][begins[input][line - 1]..];
        assert!(row.starts_with(record["text"].as_str().unwrap().as_bytes()), "{what}: {record}");
        assert!(record["reason"].as_str().unwrap().len() > 10, "{what}: {record}");
    }
}

#[test]
fn every_verb_that_reads_sets_bad_rows_aside_once_and_in_order() {
    let folder = Folder::new();
    // More than one chunk, so that threads have something to share.
    folder.write("a.csv", table(30_000, "x"));
    folder.write("b.csv", table(700, "y"));
    let bad = (0..30_000).filter(|i| i % 7 == 3).count() + (0..700).filter(|i| i % 7 == 3).count();
    folder.ok("build a.csv b.csv --key id --kind counting --bad-rows skip -o c.tamis -q");
    folder.ok("build a.csv b.csv --key id --kind count-min --bad-rows skip -o m.tamis -q");
    for line in [
        "build a.csv b.csv --key id -o 1.tamis",
        "build a.csv b.csv --key id --exact -o 2.tamis",
        "build a.csv b.csv --key id --kind fuse -o 3.tamis",
        "build a.csv b.csv --key id --kind count-min --conservative --heavy 0.01 -o 4.tamis",
        "build a.csv b.csv --key id --kind bloom --hash murmur3 -o 5.tamis",
        "plan a.csv b.csv --key id",
        "add c.tamis a.csv b.csv",
        "remove c.tamis a.csv b.csv --missing skip",
        "test c.tamis a.csv b.csv",
        "test c.tamis a.csv --negatives b.csv", // two lists of inputs, one after the other
        "test m.tamis a.csv b.csv",
        "filter c.tamis a.csv b.csv -o 6.csv --rejected 7.csv",
        "filter 2.tamis a.csv b.csv --strict -o 6.csv",
        "dedup a.csv b.csv --key id -o 8.csv",
        "dedup a.csv b.csv --key id --strict -o 9.csv",
        "dedup a.csv b.csv --key id --state s.tamis -o 10.csv",
        "top a.csv b.csv --key id --share 0.01",
        "stream --train a.csv b.csv --key id --keys 50000 --batch 999",
        "stream --train a.csv b.csv --key id --keys 50000 --state state --batch 10000",
    ] {
        let mut whole = Vec::new();
        for threads in ["1", "3"] {
            if line.contains("state") {
                let _ = std::fs::remove_dir_all(folder.path("state"));
                for name in ["s.tamis", "10.csv", "bad.ndjson"] {
                    let _ = std::fs::remove_file(folder.path(name));
                }
            }
            let done = folder.run(&format!("{line} --bad-rows-to bad.ndjson --threads {threads}"));
            assert!(done.code == 0 || line.starts_with("test"), "{line}: {}", done.err);
            let found = records(&folder, "bad.ndjson");
            assert_eq!(found.len(), bad, "{line}, {threads} threads");
            are_right(&found, &folder, &["a.csv", "b.csv"], line);
            whole.push(folder.read("bad.ndjson"));
        }
        assert!(whole[0] == whole[1], "{line}: the same for any number of threads");
    }
    // What passes, what does not, and what is set aside are all rows, each once.
    folder.ok("filter c.tamis b.csv --invert -o in.csv --rejected out.csv --bad-rows-to bad.ndjson -q");
    let rows = |name: &str| folder.text(name).matches("two\n").count();
    assert_eq!(rows("in.csv") + rows("out.csv") + records(&folder, "bad.ndjson").len(), 700);
    folder.is_clean();
}

#[test]
fn a_file_for_bad_rows_is_replaced_whole_and_overwrites_nothing_else() {
    let folder = Folder::new();
    folder.write("good.csv", "id\n1\n2\n");
    folder.write("torn.csv", "id\n1\n,\n\"never closes\n");
    folder.write("bad.ndjson", "what was there\n");
    folder.write("list.dat", "com\n");
    folder.refused(
        "build torn.csv --key id -o x.tamis --bad-rows-to bad.ndjson",
        1,
        &["torn.csv, line 4", "never closes"],
    );
    assert_eq!(folder.text("bad.ndjson"), "what was there\n");
    folder.ok("build good.csv --key id -o x.tamis --bad-rows-to bad.ndjson -q");
    folder.ok("build good.csv --key id --exact -o exact.tamis -q");
    assert_eq!(folder.text("bad.ndjson"), "", "no bad rows: an empty file");
    std::fs::create_dir(folder.path("d")).unwrap();
    for line in [
        "build good.csv --key id -o y.tamis --bad-rows-to d/../y.tamis",
        "build good.csv --key id -o y.tamis --bad-rows-to d/../good.csv",
        "build good.csv --key id --exact -o y.tamis --bad-rows-to y.tamis.keys",
        "build good.csv --key id:domain --suffix-list list.dat -o y.tamis --bad-rows-to d/../list.dat",
        "add exact.tamis good.csv --bad-rows-to d/../exact.tamis.keys",
        "plan good.csv --key id -o p.json --bad-rows-to d/../p.json",
        "plan good.csv --key id:domain --suffix-list list.dat --bad-rows-to d/../list.dat",
        "top good.csv --key id:domain --suffix-list list.dat --bad-rows-to list.dat",
        "filter x.tamis good.csv --suffix-list list.dat -o y.csv --bad-rows-to d/../list.dat",
        "add x.tamis good.csv --bad-rows-to d/../x.tamis",
        "test x.tamis good.csv --bad-rows-to d/../x.tamis",
        "test x.tamis good.csv --report r.html --bad-rows-to d/../r.html",
        "filter x.tamis good.csv -o y.csv --bad-rows-to d/../y.csv",
        "filter x.tamis good.csv -o y.csv --rejected z.csv --bad-rows-to d/../z.csv",
        "dedup good.csv --key id --state s.tamis -o y.csv --bad-rows-to d/../s.tamis",
        "stream --train good.csv --key id --keys 9 -o y.csv --query good.csv --bad-rows-to d/../y.csv",
        "stream --train good.csv --key id --keys 9 --bad-rows-to d/../good.csv",
    ] {
        let done = folder.run(line);
        assert_ne!(done.code, 0, "{line}");
        assert!(
            done.err.contains("is used for two outputs") || done.err.contains("would be overwritten"),
            "{line}: {}",
            done.err
        );
    }
    assert_eq!(folder.text("good.csv"), "id\n1\n2\n");
    folder.refused(
        "build good.csv --key id -o x.tamis --bad-rows fail --bad-rows-to bad.ndjson",
        2,
        &["not both"],
    );
    folder.refused("plan --keys 9 --bad-rows-to bad.ndjson", 2, &["leave out --bad-rows-to"]);
    folder.refused("top x.tamis --bad-rows-to bad.ndjson", 2, &["leave out --bad-rows-to"]);
    folder.refused(
        "build good.csv --key id --on local -o x.tamis --bad-rows-to bad.ndjson",
        2,
        &["not available on a cluster", "--bad-rows-to"],
    );
}

#[test]
fn mended_rows_are_added_and_then_nothing_is_missing() {
    let folder = Folder::new();
    folder.write("users.ndjson", "{\"id\": 1}\n{\"id\": }\n{\"id\": 3}\n");
    folder.ok("build users.ndjson --key id -o u.tamis --bad-rows-to bad.ndjson -q");
    let bad = records(&folder, "bad.ndjson");
    assert_eq!((bad.len(), &bad[0]["line"]), (1, &2.into()));
    folder.write("mended.ndjson", bad[0]["text"].as_str().unwrap().replace(": }", ": 2}") + "\n");
    folder.ok("add u.tamis mended.ndjson -q");
    folder.ok("query u.tamis 1 2 3");
    // A file by its name is compressed; the last line of an input may lack its end.
    folder.write("log", "a\nb\n\\N");
    folder.ok("build log --format lines -o l.tamis --bad-rows-to bad.ndjson.gz -q");
    assert_eq!(folder.shell("gzip -dc bad.ndjson.gz").out.matches("\"line\":3").count(), 1);
}

#[test]
fn dedup_with_a_state_only_extends_the_file_of_bad_rows() {
    let folder = Folder::new();
    folder.write("log.csv", "id\n1\n\"\"\n2\n");
    let line = "dedup log.csv --key id --state s.tamis -o out.csv --bad-rows-to bad.ndjson -q";
    folder.ok(line);
    folder.write("log.csv", "id\n1\n\"\"\n2\n\"\"\n3\n");
    folder.ok(line);
    let lines: Vec<_> =
        records(&folder, "bad.ndjson").iter().map(|bad| bad["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 5]);
    folder.ok(line);
    assert_eq!(records(&folder, "bad.ndjson").len(), 2);
    // A run without the option does not forget the file, and a file that the state does not know stays.
    folder.ok(&line.replace(" --bad-rows-to bad.ndjson", ""));
    folder.ok(line);
    folder.write("other.ndjson", "of somebody else\n");
    folder.refused(&line.replace("bad.ndjson", "other.ndjson"), 1, &["other.ndjson"]);
    assert_eq!(folder.text("other.ndjson"), "of somebody else\n");
    folder.write("bad.ndjson", "");
    folder.refused(line, 1, &["bad.ndjson"]);
}

#[cfg(unix)]
#[test]
fn a_stream_on_a_pipe_goes_on_after_a_bad_row_with_the_lines_of_the_whole() {
    let folder = Folder::new();
    let stream = "$TAMIS stream --train - --key id --format csv --keys 99 --batch 2 --state s";
    // It stops at a bad row, and is unrestartable no longer: the row waits in the state.
    let done = folder.shell(&format!("printf 'id\\n1\\n2\\n\"\"\\n' | {stream} -q"));
    assert_eq!(done.code, 1, "{}", done.err);
    let again = |text: &str, option: &str| {
        let done = folder.shell(&format!("printf '{text}' | {stream} {option} -q"));
        assert_eq!(done.code, 0, "{}", done.err);
    };
    again("4\\n5\\n\"\"\\n", "--bad-rows-to bad.ndjson");
    again("7\\n\"\"\\n8\\n", "--bad-rows-to bad.ndjson");
    let lines = || -> Vec<u64> {
        records(&folder, "bad.ndjson").iter().map(|bad| bad["line"].as_u64().unwrap()).collect()
    };
    assert_eq!(lines(), [4, 7, 9]);
    // What is skipped meanwhile is gone; the file is not.
    again("\"\"\\n9\\n", "--bad-rows skip");
    again("\"\"\\n", "--bad-rows-to bad.ndjson");
    assert_eq!(lines(), [4, 7, 9, 13]);
    folder.ok("query s/filter.tamis 1 2 4 5 7 8");
    folder.write("other.ndjson", "of somebody else\n");
    let done = folder.shell(&format!("printf '9\\n' | {stream} --bad-rows-to other.ndjson"));
    assert!(done.code == 1 && done.err.contains("does not know"), "{}", done.err);
    assert_eq!(folder.text("other.ndjson"), "of somebody else\n");
}

/// A column of texts, some of which are null, in row groups of this many.
fn write_parquet(path: &std::path::Path, ids: &[Option<&str>], group: usize) {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;

    let schema = "message m { optional binary id (UTF8); required binary note (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    for ids in ids.chunks(group) {
        let mut rows = writer.next_row_group().unwrap();
        let values: Vec<ByteArray> = ids.iter().flatten().map(|id| (*id).into()).collect();
        let levels: Vec<i16> = ids.iter().map(|id| i16::from(id.is_some())).collect();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
        let notes: Vec<ByteArray> = ids.iter().map(|_| "n".into()).collect();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&notes, None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn rows_of_parquet_are_set_aside_by_number_and_values_and_once_in_a_stream() {
    let folder = Folder::new();
    write_parquet(&folder.path("t.parquet"), &[Some("a"), None, Some("b"), None, None, Some("c"), None], 3);
    folder.ok("build t.parquet --key id -o t.tamis --bad-rows-to bad.ndjson -q");
    let reason = r#""reason":"in the key: an empty cell, \\N or null is not a key (values null)""#;
    let shown = |row: u64, values: &str| {
        format!("{{\"input\":\"t.parquet\",\"row\":{row},{reason},\"values\":{{{values}}}}}\n")
    };
    let asked: String = [2, 4, 5, 7].into_iter().map(|row| shown(row, "\"id\":null")).collect();
    assert_eq!(folder.text("bad.ndjson"), asked);
    folder.ok("filter t.tamis t.parquet -o out.csv --bad-rows-to bad.ndjson -q");
    let all: String = [2, 4, 5, 7].into_iter().map(|row| shown(row, "\"id\":null,\"note\":\"n\"")).collect();
    assert_eq!(folder.text("bad.ndjson"), all);
    assert_eq!(folder.text("out.csv"), "id,note\na,n\nb,n\nc,n\n");
    // Whatever batch a run ends after, the next goes on behind the bad rows that were set aside.
    let line = "stream --train t.parquet --key id --keys 9 --batch 1 --threads 1 -q --commit-every 0 --state s --bad-rows-to s.ndjson";
    folder.ok(line);
    assert_eq!(folder.text("s.ndjson"), asked);
    folder.ok(line);
    assert_eq!(folder.text("s.ndjson"), asked, "nothing is new");
    for time in [
        "stream/set-aside:2",
        "stream/set-aside:5",
        "stream/renamed:3",
        "stream/renamed:5",
        "stream/planned:4",
    ] {
        let _ = std::fs::remove_dir_all(folder.path("s"));
        std::fs::remove_file(folder.path("s.ndjson")).unwrap();
        let ended = folder.shell(&format!("(TAMIS_TEST_END_AT={time} $TAMIS {line}); true"));
        assert_eq!(ended.code, 0);
        folder.ok(line);
        assert_eq!(folder.text("s.ndjson"), asked, "{time}");
    }
}
