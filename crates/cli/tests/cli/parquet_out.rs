//! Records that are written as Parquet, and names of outputs that say what is in them.

use std::fs::File;
use std::path::Path;

use parquet::basic::{Compression, LogicalType};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::filter::write_parquet;
use crate::support::Folder;

/// Lists, structs, maps, nulls and all kinds of types, as pyarrow writes them (`testdata/README.md`).
const NESTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/parquet/nested.parquet");

fn open(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

/// Every row, as the library of the format shows it.
fn rows(path: &Path) -> Vec<String> {
    open(path).get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

/// With the filters `k.tamis` (every second key of `nested.parquet`), and that file.
fn nested() -> (Folder, Vec<String>) {
    let folder = Folder::new();
    std::fs::copy(NESTED, folder.path("nested.parquet")).unwrap();
    let keys: String = (0..40).step_by(2).map(|key| format!("k{key}\n")).collect();
    folder.write("keys.txt", &keys);
    folder.ok("build keys.txt --exact -o k.tamis");
    let rows = rows(&folder.path("nested.parquet"));
    assert_eq!(rows.len(), 300);
    (folder, rows)
}

/// Whether the key of a row is one of the filters'.
fn is_known(row: &str) -> bool {
    let key = row.strip_prefix("{key: \"k").and_then(|row| row.split('"').next());
    key.is_some_and(|key| key.parse::<u64>().unwrap() % 2 == 0)
}

#[test]
fn rows_of_parquet_stay_what_they_are_under_a_name_that_says_so() {
    let (folder, all) = nested();
    let of = |file: &str| open(&folder.path(file)).metadata().file_metadata().clone();
    let (known, others): (Vec<String>, Vec<String>) = all.iter().cloned().partition(|row| is_known(row));
    for (options, passing, rejected) in [
        ("--strict", &known, &others),
        ("--strict --threads 1", &known, &others),
        ("--strict --invert", &others, &known),
    ] {
        let line = format!("filter k.tamis nested.parquet --key key --bad-rows skip {options}");
        folder.ok(&format!("{line} -o out.parquet --rejected rest.pq"));
        assert_eq!(&rows(&folder.path("out.parquet")), passing, "{options}");
        assert_eq!(&rows(&folder.path("rest.pq")), rejected, "{options}");
        let (from, to) = (of("nested.parquet"), of("out.parquet"));
        assert_eq!(from.schema_descr().root_schema(), to.schema_descr().root_schema());
        assert_eq!(from.key_value_metadata(), to.key_value_metadata());
    }
    folder.ok("filter k.tamis nested.parquet --key key --bad-rows skip --count --rejected only.parquet");
    assert!(rows(&folder.path("only.parquet")).len() <= others.len());
    folder.is_clean();
}

#[test]
fn dedup_writes_parquet_and_a_state_cannot_continue_it() {
    let (folder, all) = nested();
    for options in ["", "--strict"] {
        folder.ok(&format!(
            "dedup nested.parquet --key number {options} -o first.parquet --rejected again.parquet"
        ));
        let (first, again) = (rows(&folder.path("first.parquet")), rows(&folder.path("again.parquet")));
        assert_eq!((first.len(), again.len()), (150, 150), "{options}");
        assert_eq!(first, all[..150], "{options}");
        assert_eq!(again, all[150..], "{options}");
    }
    folder.refused(
        "dedup nested.parquet --key number --state s.tamis -o x.parquet",
        2,
        &["x.parquet", "Parquet files cannot be", "--state"],
    );
    folder.refused("dedup nested.parquet --key number -o x.csv", 1, &["as text", ".parquet"]);
    assert!(!folder.path("x.parquet").exists() && !folder.path("s.tamis").exists());
    folder.is_clean();
}

#[test]
fn rows_of_text_become_columns_of_text() {
    let folder = Folder::new();
    folder.write("t.csv", "id,name,note\nk0,\"a \"\"q\"\"\",\nk1,\"x\ny\",2\nk3,\\N,\u{e9}\nk0,z,\n");
    folder.ok("dedup t.csv --key id -o t.parquet");
    assert_eq!(
        rows(&folder.path("t.parquet")),
        [
            "{id: \"k0\", name: \"a \"q\"\", note: \"\"}",
            "{id: \"k1\", name: \"x\ny\", note: \"2\"}",
            "{id: \"k3\", name: \"\\N\", note: \"\u{e9}\"}"
        ]
    );
    let file = open(&folder.path("t.parquet"));
    for column in file.metadata().file_metadata().schema_descr().columns() {
        assert_eq!(column.logical_type_ref(), Some(&LogicalType::String));
    }
    // What was written reads back as the same text, and as the same keys.
    let text = "id,name,note\nk0,\"a \"\"q\"\"\",\nk1,\"x\ny\",2\nk3,\\N,\u{e9}\n";
    assert_eq!(folder.ok("dedup t.parquet --key id"), text);
    folder.ok("dedup t.csv --key 1 --no-header -o n.parquet");
    assert_eq!(rows(&folder.path("n.parquet"))[0], "{1: \"id\", 2: \"name\", 3: \"note\"}");
    folder.write("t.tsv", "a\tb\n1\t\"2\n");
    folder.ok("dedup t.tsv --key a -o t.parquet");
    assert_eq!(rows(&folder.path("t.parquet")), ["{a: \"1\", b: \"\"2\"}"]);
    folder.write("t.txt", "one\r\ntwo, three\none\n");
    folder.ok("dedup t.txt -o l.parquet");
    assert_eq!(rows(&folder.path("l.parquet")), ["{line: \"one\"}", "{line: \"two, three\"}"]);
    let log = "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b HTTP/1.0\" 200 23\n";
    folder.write("a.log", log);
    folder.ok("dedup a.log --format log --key path -o a.parquet");
    let row = rows(&folder.path("a.parquet")).remove(0);
    assert!(
        row.contains("path: \"/a\", query: \"b\"") && row.ends_with("referer: null, agent: null}"),
        "{row}"
    );
    folder.write("a.log", format!("{log}{} \"r\" \"a\" 17\n", log.trim_end().replace("/a", "/b")));
    folder.refused(
        "dedup a.log --format log --key path -o a.parquet",
        1,
        &["line 2", "field 10 has no name"],
    );
    folder.is_clean();
}

#[test]
fn rows_of_text_that_are_no_rows_of_a_table_are_refused_in_words() {
    let folder = Folder::new();
    folder.write("k.txt", "k0\n");
    folder.ok("build k.txt -o k.tamis");
    folder.write("few.csv", "id,name\nk0\nk1,a\n");
    let filter = "filter k.tamis few.csv --key id -o x.parquet";
    folder.refused(filter, 1, &["line 2", "1 field", "--bad-rows skip"]);
    assert!(!folder.path("x.parquet").exists());
    let rejected = format!("{filter} --rejected y.parquet --bad-rows skip");
    folder.refused(&rejected, 1, &["line 2", "cannot be written as Parquet", "--rejected"]);
    assert!(!folder.path("x.parquet").exists() && !folder.path("y.parquet").exists());
    folder.ok(&format!("{filter} --bad-rows skip"));
    folder.write("more.csv", "k0,a\nk1,a,b\n");
    folder.refused("dedup more.csv --key 1 --no-header -o x.parquet", 1, &["line 2", "3 fields"]);
    folder.write("latin.csv", b"id,name\nk0,caf\xe9\n");
    folder.refused("dedup latin.csv --key id -o x.parquet", 1, &["line 2", "not UTF-8"]);
    folder.write("header.csv", b"id,caf\xe9\nk0,a\n");
    folder.refused("dedup header.csv --key id -o x.parquet", 2, &["header is not UTF-8"]);
    folder.write("twice.csv", "id,id\nk0,1\n");
    folder.refused("dedup twice.csv --key 1 -o x.parquet", 2, &["two columns are called \"id\""]);
    folder.write("n.ndjson", "{\"id\":\"k0\"}\n");
    folder.refused(
        "dedup n.ndjson --key id -o x.parquet",
        2,
        &["NDJSON cannot be written as Parquet", ".ndjson"],
    );
    folder.is_clean();
}

#[test]
fn tags_are_a_list_in_parquet() {
    let folder = Folder::new();
    folder.write("g.csv", "key,group\nann@x.org,a\nann@x.org,b\nbob@x.org,b\n");
    folder.ok("build g.csv --key key --group group --fpr 1e-9 -o g.tamis");
    write_parquet(&folder.path("t.parquet"));
    folder.write("t.csv", "email\nann@x.org\neve\n");
    folder.ok("filter g.tamis t.parquet --key email --tag=in -o x.parquet --rejected y.parquet");
    assert_eq!(
        rows(&folder.path("x.parquet")),
        [
            "{email: \"ann@x.org\", n: 1, note: \"a,b\", in: [\"a\", \"b\"]}",
            "{email: \"bob@x.org\", n: -3, note: null, in: [\"b\"]}"
        ]
    );
    assert_eq!(rows(&folder.path("y.parquet")), ["{email: \"eve\", n: 2, note: \"x\", in: []}"]);
    folder.ok("filter g.tamis t.csv --key email --tag=in -o x.parquet");
    assert_eq!(rows(&folder.path("x.parquet")), ["{email: \"ann@x.org\", in: [\"a\", \"b\"]}"]);
    folder.refused(
        "filter g.tamis t.csv --key email --tag=email -o x.parquet",
        2,
        &["two columns are called"],
    );
}

#[test]
fn inputs_of_other_columns_or_types_are_not_put_into_one_parquet_file() {
    let (folder, all) = nested();
    write_parquet(&folder.path("other.parquet"));
    folder.write("t.csv", "key\nk1\n");
    for other in ["other.parquet", "t.csv"] {
        folder.refused(
            &format!("filter k.tamis nested.parquet {other} --key 1 --bad-rows skip -o x.parquet"),
            1,
            &[other, "not those of nested.parquet"],
        );
        assert!(!folder.path("x.parquet").exists());
    }
    folder.ok("filter k.tamis nested.parquet nested.parquet --key key --bad-rows skip --strict -o x.parquet");
    assert_eq!(rows(&folder.path("x.parquet")).len(), 2 * all.iter().filter(|row| is_known(row)).count());
    folder.is_clean();
}

#[test]
fn pages_are_compressed_as_asked_and_only_in_parquet() {
    let folder = Folder::new();
    folder.write("t.csv", "id\n1\n2\n");
    for (name, codec) in [
        ("none", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(Default::default())),
        ("zstd", Compression::ZSTD(Default::default())),
        ("lz4", Compression::LZ4_RAW),
        ("brotli", Compression::BROTLI(Default::default())),
    ] {
        folder.ok(&format!("dedup t.csv --key id --compression {name} -o x.parquet"));
        let file = open(&folder.path("x.parquet"));
        let found = file.metadata().row_group(0).column(0).compression();
        assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&codec), "{name}");
        assert_eq!(rows(&folder.path("x.parquet")), ["{id: \"1\"}", "{id: \"2\"}"]);
    }
    for line in ["-o x.csv", "", "-o x.csv.gz"] {
        let line = format!("dedup t.csv --key id --compression zstd {line}");
        folder.refused(&line, 2, &["only Parquet has a compression", "--compression"]);
    }
    folder.refused("dedup t.csv --key id --compression zip -o x.parquet", 2, &["--compression"]);
}

#[test]
fn a_name_that_contradicts_what_would_be_written_is_refused_for_every_format() {
    let folder = Folder::new();
    folder.write("t.csv", "id\n1\n");
    folder.write("t.tsv", "id\tn\n1\t2\n");
    folder.write("t.ndjson", "{\"id\":1}\n");
    folder.write("t.txt", "1\n");
    folder.write("t.log", "1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 23\n");
    write_parquet(&folder.path("t.parquet"));
    folder.ok("build t.csv --key id -o t.tamis");
    let wrong = |line: &str, output: &str, right: &str| {
        folder.write(output, "as it was\n");
        let words = [output, "its name says", &format!("name it {right}")];
        folder.refused(&line.replace("OUT", output), 2, &words);
        assert_eq!(folder.text(output), "as it was\n", "{line}");
    };
    let csv = "dedup t.csv --key id -o OUT";
    for (output, right) in [
        ("x.tsv", "x.csv"),
        ("x.ndjson", "x.csv"),
        ("x.jsonl.gz", "x.csv.gz"),
        ("x.csv.lz4", "x.csv"),
        ("x.zip", "x.csv"),
        ("x.xlsx", "x.csv"),
        ("x.tamis", "x.csv"),
        ("x.parquet.gz", "x.parquet"),
    ] {
        wrong(csv, output, right);
        let right = if right == "x.parquet" { "x.csv.gz" } else { right };
        wrong("filter t.tamis t.csv -o y.csv --rejected OUT", output, right);
    }
    wrong("filter t.tamis t.csv --rejected OUT", "x.parquet", "x.csv");
    wrong("dedup t.tsv --key id -o OUT", "x.csv", "x.tsv");
    wrong("dedup t.ndjson --key id -o OUT", "x.csv", "x.ndjson");
    wrong("dedup t.txt -o OUT", "x.csv", "x.txt");
    wrong("dedup t.log --format log --key host -o OUT", "x.csv", "x.log");
    wrong("dedup t.parquet --key email --output-format csv -o OUT", "x.parquet", "x.csv");
    wrong("dedup t.parquet --key email --output-format parquet -o OUT", "x.csv", "x.parquet");
    folder.refused("dedup t.csv --key id --state s.csv -o y.csv", 2, &["s.csv", "name it s.tamis"]);
    assert!(!folder.path("s.csv").exists() && !folder.path("y.csv").exists());
    wrong("build t.csv --key id -o OUT", "x.csv", "x.tamis");
    wrong("build t.csv --key id -o OUT", "x.tamis.gz", "x.tamis");
    wrong("merge t.tamis t.tamis -o OUT", "x.parquet", "x.tamis");
    wrong("plan t.csv --key id -o OUT", "x.csv", "x.json");
    wrong("test t.tamis t.csv --report OUT", "x.csv", "x.html");
    wrong("generate words --rows 3 -o OUT", "x.parquet", "x.txt");
    wrong("generate words --rows 3 -o OUT", "x.txt.gz", "x.txt");
    wrong("stream --train t.txt --query t.txt -o OUT", "x.ndjson", "x.txt");
    wrong("filter t.tamis t.csv --on local --output-format parquet -o OUT", "x.csv", "x.parquet");
    folder.refused(
        "filter t.tamis t.csv --output-format parquet",
        2,
        &["standard output", "-o FILE.parquet"],
    );
    folder.is_clean();
}

#[test]
fn names_that_say_nothing_are_free_and_text_may_keep_its_ending() {
    let folder = Folder::new();
    folder.write("t.csv", "id\n1\n");
    for output in ["x", "x.dat", "x.txt", "x.bak", "x.gz"] {
        folder.ok(&format!("dedup t.csv --key id -o {output}"));
    }
    assert_eq!(folder.text("x.dat"), "id\n1\n");
    folder.ok("dedup t.csv --key id --output-format parquet -o p");
    assert_eq!(rows(&folder.path("p")), ["{id: \"1\"}"]);
    folder.write("tabs.csv", "a\tb\n1\t2\n");
    folder.ok("dedup tabs.csv --key a -o out.csv");
    assert_eq!(folder.text("out.csv"), "a\tb\n1\t2\n");
    folder.ok("dedup t.csv --format lines -o lines.csv");
    folder.is_clean();
}

#[cfg(unix)]
#[test]
fn parquet_goes_to_regular_files() {
    let folder = Folder::new();
    folder.write("t.csv", "id\n1\n");
    folder.refused("dedup t.csv --key id --output-format parquet -o /dev/null", 2, &["not a regular file"]);
}
