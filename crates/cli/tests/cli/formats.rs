//! The same rows in any format give the same bytes; odd files are read as they are meant.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::build::{KINDS, RATINGS};
use crate::support::Folder;

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut to = liblzma::write::XzEncoder::new(Vec::new(), 1);
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Writes title, rating and votes as text, double and integer, in row groups of 700.
fn write_parquet(path: &Path, rows: &[Vec<&str>]) {
    let schema = "message ratings { required binary tconst (UTF8); \
                  required double averageRating; required int64 numVotes; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    for rows in rows.chunks(700) {
        let mut group = writer.next_row_group().unwrap();
        let titles: Vec<ByteArray> = rows.iter().map(|row| row[0].into()).collect();
        let ratings: Vec<f64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
        let votes: Vec<i64> = rows.iter().map(|row| row[2].parse().unwrap()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&titles, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&ratings, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&votes, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn formats_and_compressions_do_not_change_a_byte() {
    let folder = Folder::with_ratings(2000);
    let tsv = folder.text("ratings.tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let csv = |delimiter: &str| tsv.replace('\t', delimiter);
    folder.write("a.csv", csv(","));
    folder.write("b.csv", csv(";"));
    folder.write("c", csv("|"));
    let quoted: String = rows
        .iter()
        .map(|row| format!("\"{}\",\"two\nlines, \"\"quoted\"\"\",{},\"{}\"\r\n", row[0], row[2], row[1]))
        .collect();
    folder.write("quoted.csv", format!("tconst,note,numVotes,averageRating\r\n{quoted}"));
    let objects: String = rows
        .iter()
        .map(|row| {
            format!("{{\"averageRating\":{},\"numVotes\":{},\"tconst\":\"{}\"}}\n", row[1], row[2], row[0])
        })
        .collect();
    folder.write("a.ndjson", &objects);
    folder.write("b.dat", &objects); // recognised by its look
    write_parquet(&folder.path("a.parquet"), &rows);
    write_parquet(&folder.path("parquet.csv"), &rows);
    folder.write("a.tsv.gz", gz(tsv.as_bytes()));
    folder.write("a.csv.zst", zst(csv(",").as_bytes()));
    folder.write("a.tsv.bz2", bz2(tsv.as_bytes()));
    folder.write("a.ndjson.xz", xz(objects.as_bytes()));
    folder.write("gz.tsv", gz(tsv.as_bytes())); // recognised by its first bytes

    for kind in KINDS {
        folder.ok(&format!("build ratings.tsv {RATINGS} {kind} -o ratings.tamis"));
        let whole = folder.read("ratings.tamis");
        for input in [
            "a.csv",
            "b.csv",
            "c",
            "quoted.csv",
            "a.ndjson",
            "b.dat",
            "a.parquet",
            "parquet.csv",
            "a.tsv.gz",
            "a.csv.zst",
            "a.tsv.bz2",
            "a.ndjson.xz",
            "gz.tsv",
        ] {
            folder.ok(&format!("build {input} {RATINGS} {kind} -o a.tamis"));
            assert!(folder.read("a.tamis") == whole, "{kind}: {input}");
        }
        // What is declared is recorded: after all that others read, and in the header.
        for input in ["b.csv --delimiter ;", "b.csv --delimiter semicolon"] {
            folder.ok(&format!("build {input} {RATINGS} {kind} -o a.tamis"));
            assert!(folder.read("a.tamis")[128..].starts_with(&whole[128..]), "{kind}: {input}");
        }
        for (name, format) in
            [("a.csv", "csv"), ("a.csv.zst", "csv"), ("a.ndjson", "ndjson"), ("a.tsv.bz2", "tsv")]
        {
            let line = format!("build - {RATINGS} {kind} --format {format} -o a.tamis");
            folder.run_with(&line, folder.read(name)).succeeded(&line);
            assert!(folder.read("a.tamis") == whole, "{kind}: {name} on standard input");
        }
    }
}

/// The canonical bytes of a value are its text.
#[test]
fn an_integer_of_parquet_or_json_is_the_same_key_as_its_text() {
    let folder = Folder::with_ratings(500);
    let tsv = folder.text("ratings.tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    write_parquet(&folder.path("a.parquet"), &rows);
    let objects: String = rows.iter().map(|row| format!("{{\"numVotes\":{}}}\n", row[2])).collect();
    folder.write("a.ndjson", objects);
    for how in ["--key numVotes", "--key numVotes --weight numVotes --kind count-min"] {
        folder.ok(&format!("build ratings.tsv {how} -o a.tamis"));
        folder.ok(&format!("build a.ndjson {how} -o b.tamis"));
        assert!(folder.read("b.tamis") == folder.read("a.tamis"), "{how}");
        // A column of integers is one: that is recorded, and changes nothing else.
        folder.ok(&format!("build a.parquet {how} -o b.tamis"));
        let [text, integers] =
            ["a.tamis", "b.tamis"].map(|name| tamis_make::files::open(&folder.path(name)).unwrap());
        assert_eq!(integers.about().classes, [tamis::about::Class::Integer], "{how}");
        assert!(text.digest() == integers.digest() && text.data() == integers.data(), "{how}");
    }
}

/// Integers of Parquet once asked for texts, and missed `01234`, without a word.
#[test]
fn a_column_of_another_class_that_asks_a_file_is_named() {
    let folder = Folder::with_ratings(50);
    let tsv = folder.text("ratings.tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    write_parquet(&folder.path("a.parquet"), &rows);
    folder.write("texts.csv", "numVotes\n007\n");
    folder.ok("build texts.csv --key numVotes -o texts.tamis");
    let said = folder.run("filter texts.tamis a.parquet --count").err;
    assert!(said.contains("made from text, and integers ask: the texts 01234"), "{said}");
    let said = folder.run("filter texts.tamis texts.csv --count").err;
    assert!(!said.contains("ask"), "{said}");
    folder.ok("build a.parquet --key numVotes -o integers.tamis");
    assert!(folder.ok("inspect integers.tamis").contains("keys made from integers"));
    assert_eq!(folder.json("inspect integers.tamis")["about"]["classes"][0], "integer");
    // One by one, too, where none is found; and where a state remembers keys of another class.
    let said = folder.run("query integers.tamis 007 017 027 037 047 057 067 077").err;
    assert!(said.contains("0 of 8 keys") && said.contains("text ask: the texts 007"), "{said}");
    folder.ok("dedup texts.csv --key numVotes --state s.tamis -o first.csv");
    // Keys that are outside, and classes of which an index or a stream has none.
    let said = folder.run("test texts.tamis texts.csv --negatives a.parquet").err;
    assert!(said.contains("texts.tamis: the learned keys were made from text, and integers ask"), "{said}");
    let said = folder.run("test texts.tamis a.parquet").err;
    assert!(said.contains("0 of 45 keys were found: the learned keys were made from text"), "{said}");
    folder.ok("build a.parquet --key numVotes --group (file) -o index.tamis");
    for how in ["", " --by-key"] {
        let said = folder.run(&format!("locate index.tamis 007 017 027 037 047 057 067 077{how}")).err;
        assert!(said.contains("0 of 8 keys") && said.contains("text ask: the texts 007"), "{said}");
    }
    let stream = "stream --train texts.csv --key numVotes --keys 100";
    let said = folder.run(&format!("{stream} --query a.parquet --state stream -o answers.txt")).err;
    let named =
        "keys of the query stream may be missed: the learned keys were made from text, and integers ask";
    assert!(said.contains(named) && said.contains("ask with a column that holds the texts"), "{said}");
    let said = folder.run(&format!("{stream} --query texts.csv --state again -o again.txt")).err;
    assert!(!said.contains("missed"), "{said}");
    let said = folder.run("dedup a.parquet --key numVotes --state s.tamis -o rest.ndjson").err;
    assert!(said.contains("s.tamis: the learned keys were made from text, and integers ask"), "{said}");
    // Those of both unite, and refuse no merge; those of text alone record nothing.
    folder.ok("plan texts.csv --key numVotes -o params.json");
    folder.ok("build a.parquet --params params.json -o a.tamis");
    folder.ok("build texts.csv --params params.json -o b.tamis");
    folder.ok("merge a.tamis b.tamis -o both.tamis");
    folder.ok("add b.tamis a.parquet");
    for name in ["both.tamis", "b.tamis"] {
        assert!(folder.ok(&format!("inspect {name}")).contains("keys made from text and integers"), "{name}");
    }
}

#[test]
fn several_inputs_may_have_several_formats() {
    let folder = Folder::new();
    folder.write("all.csv", "id,x\n1,a\n2,a\n3,a\n4,a\n5,a\n");
    folder.write("in/1.csv", "id,x\n1,a\n");
    folder.write("in/2.tsv", "x\tid\na\t2\n");
    folder.write("in/3.ndjson.gz", gz(b"{\"id\":3,\"x\":\"a\"}\n"));
    folder.write("in/4.csv.xz", xz(b"id,x\n4,a\n"));
    folder.ok("build all.csv --key id --group x -o all.tamis");
    folder
        .run_with("build in - --key id --group x -o parts.tamis", "x,id\na,5\n")
        .succeeded("files and standard input");
    assert!(folder.read("parts.tamis") == folder.read("all.tamis"));
    folder.refused("build - - --key id -o x.tamis", 1, &["only once"]);
}

#[test]
fn nested_values_of_ndjson_are_named_by_their_path() {
    let folder = Folder::new();
    folder.write("t.ndjson", "{\"user\":{\"id\":\"\\u00e9\"},\"n\":1}\n\n{\"user\":{\"id\":\"b\"}}");
    folder.ok("build t.ndjson --key user.id --fpr 1e-6 -o t.tamis");
    assert_eq!(folder.run("query t.tamis é").code, 0);
    assert_eq!(folder.json("inspect t.tamis")["groups"][0]["rows"], 2);
    folder.write("bad.ndjson", "{\"user\":1}\n{\"user\":\n");
    folder.refused("build bad.ndjson --key user -o t.tamis", 1, &["bad.ndjson, line 2"]);
}

/// A reader of RFC 4180 of a few lines, to count with.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            letter => field.push(letter),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

#[test]
fn quoted_fields_may_hold_lines_quotes_and_delimiters() {
    let folder = Folder::new();
    let notes = ["plain", "two\nlines", "a, b", "she said \"no\"", "\r\n", "\"", ",\n\",", "", " spaces "];
    let mut table = "id,note,group\r\n".to_owned();
    for i in 0..20_000 {
        let note = notes[i % notes.len()].replace('"', "\"\"");
        table += &format!("k{i},\"{note}\",{}\r\n", i % 3);
    }
    let mine = records(&table);
    assert_eq!(mine.len(), 20_001);
    assert!(mine.iter().all(|row| row.len() == 3));
    folder.write("odd.csv", &table);
    for threads in [1, 2, 5] {
        let line = format!("build odd.csv --key id --group group --threads {threads} -o odd.tamis");
        let groups = folder.json(&line)["groups"].clone();
        let rows: Vec<u64> =
            groups.as_array().unwrap().iter().map(|group| group["rows"].as_u64().unwrap()).collect();
        assert_eq!(rows, [6667, 6667, 6666], "{threads} threads");
    }
    // The odd fields themselves as keys: eight, as one of them is empty.
    let done = folder.run("build odd.csv --key note --bad-rows skip --fpr 1e-6 -o notes.tamis --json");
    let built: serde_json::Value = done.out.parse().unwrap();
    assert_eq!(built["groups"][0]["planned_keys"], 8);
    assert!(done.err.contains("left out 2,222 bad rows"), "{}", done.err);
    for note in ["a, b", "she said \"no\"", "two\nlines", "\"", " spaces "] {
        assert_eq!(folder.run_words(&["query", "notes.tamis", note], "").code, 0, "{note:?}");
    }
    assert_eq!(folder.run_words(&["query", "notes.tamis", "spaces"], "").code, 1);
}

/// A table in the wild, where it is at hand.
#[test]
fn a_table_with_fields_of_several_lines_has_as_many_keys_as_a_plain_reader_counts() {
    let path = crate::golden::shared("data/netflix_titles.csv");
    let Ok(text) = std::fs::read_to_string(&path) else { return };
    let rows = records(&text);
    let column = rows[0].iter().position(|name| name == "show_id").unwrap();
    let keys: std::collections::HashSet<&String> =
        rows[1..].iter().filter_map(|row| row.get(column)).filter(|key| !key.is_empty()).collect();
    let folder = Folder::new();
    let line = format!("build {} --key show_id --bad-rows skip -o titles.tamis", path.display());
    let built = folder.json(&line);
    assert_eq!(built["groups"][0]["planned_keys"], keys.len());
    assert_eq!(
        folder
            .run_with("query titles.tamis", keys.iter().map(|key| format!("{key}\n")).collect::<String>())
            .out
            .matches("\tyes\n")
            .count(),
        keys.len()
    );
}

#[test]
fn every_verb_that_reads_tells_of_a_delimiter_that_it_guessed() {
    let folder = Folder::new();
    folder.write("users.csv", "id;mail\n1;a@x\n2;b@x\n3;c@x\n");
    folder.ok("build users.csv --key mail -o users.tamis");
    for line in [
        "filter users.tamis users.csv --count",
        "dedup users.csv --key mail --count",
        "test users.tamis users.csv",
    ] {
        let done = folder.run(line);
        assert_eq!(done.code, 0, "{line}: {}", done.err);
        assert!(
            done.err.contains("the delimiter seems to be ';', judging by the header"),
            "{line}: {}",
            done.err
        );
    }
}
