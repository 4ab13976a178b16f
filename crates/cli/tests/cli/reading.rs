//! The law of reading, seen from outside: rows are read as declared, or refused, and none vanishes.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::Folder;

/// The keys of a file of filters that were counted.
fn keys(folder: &Folder, file: &str) -> u64 {
    folder.json(&format!("inspect {file}"))["groups"][0]["planned_keys"].as_u64().unwrap()
}

/// Builds, and how many distinct keys there were.
fn built(folder: &Folder, line: &str) -> u64 {
    folder.ok(&format!("build {line} -o built.tamis"));
    keys(folder, "built.tamis")
}

#[test]
fn a_name_with_one_quote_hides_no_row_of_a_table() {
    let folder = Folder::new();
    let rows = "1.0.0.1\t\"ISP - Broadcast\n1.0.0.2\tplain\n1.0.0.3\t\"Other\" Inc\n1.0.0.4\tx\n";
    folder.write("list.tsv", format!("ip\tas\n{rows}"));
    assert_eq!(built(&folder, "list.tsv --key ip"), 4);
    folder.write("list.csv", format!("ip,as\n{}", rows.replace('\t', ",")));
    folder.refused(
        "build list.csv --key ip -o x.tamis",
        1,
        &["list.csv, line 2", "a quoted field opens here", "2 lines below", "--quotes none"],
    );
    assert_eq!(built(&folder, "list.csv --key ip --quotes none"), 4);
    assert_eq!(built(&folder, "list.csv --key ip --no-quotes"), 4);
    // Quotes in TSV quote where that is said.
    folder.write("quoted.tsv", "id\tname\n1\t\"a\tb\"\n2\tx\n");
    folder.refused("build quoted.tsv --key id -o x.tamis", 1, &["line 2", "3 fields", "--quotes csv"]);
    for how in ["--quotes csv", "--quotes=csv", "--quotes"] {
        assert_eq!(built(&folder, &format!("quoted.tsv --key name {how}")), 2);
        assert_eq!(folder.run_words(&["query", "built.tamis", "a\tb"], "").code, 0);
    }
}

#[test]
fn an_agent_of_one_quote_hides_no_line_of_a_log() {
    let folder = Folder::new();
    let line =
        |host: &str, agent: &str| format!("{host} - - [x] \"GET /a HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n");
    let log =
        [line("h1", "\\\""), line("h2", "curl, \\\"7\\\""), line("h3", "a \\\\"), line("h4", "")].concat();
    folder.write("access.log", &log);
    assert_eq!(built(&folder, "access.log --key 1 --delimiter space"), 4);
    assert_eq!(built(&folder, "access.log --key 9 --delimiter space --null none"), 4);
    for agent in ["\"", "curl, \"7\"", "a \\", "none"] {
        assert_eq!(folder.run_words(&["query", "built.tamis", agent], "").code, 0, "{agent}");
    }
    folder.write("torn.log", format!("{log}h5 \"\nh6 x\n"));
    folder.refused(
        "build torn.log --key 1 --delimiter space -o x.tamis",
        1,
        &["line 5", "does not close in it"],
    );
    assert_eq!(built(&folder, "torn.log --key 1 --delimiter space --bad-rows skip"), 5);
    assert_eq!(built(&folder, "torn.log --key 1 --delimiter space --quotes none"), 6);
}

#[test]
fn a_comma_in_a_log_does_not_make_it_a_table() {
    let folder = Folder::new();
    folder.write("access.log", "h1 \"Mozilla (a, b; c)\"\nh2 x\n");
    let offers = ["--delimiter space to read \"h1\"", "--format lines to read"];
    folder.refused("build access.log --key 1 -o x.tamis", 1, &offers);
    folder.refused("top access.log --key 1", 1, &offers);
    assert_eq!(built(&folder, "access.log --key 1 --delimiter space"), 2);
    // Lines that are one value however they are cut need no declaration.
    folder.write("plain.txt", "ann\nbob\n");
    assert_eq!(built(&folder, "plain.txt --key 1"), 2);
    folder.write("later.txt", "ann\nbob, the second\n");
    let later = ["later.txt, line 2", "it has a comma", "--format lines"];
    folder.refused("build later.txt --key 1 -o x.tamis", 1, &later);
    assert_eq!(built(&folder, "later.txt --key 1 --format lines"), 2);
}

#[test]
fn a_pipe_that_pauses_is_read_as_a_file_is() {
    let folder = Folder::new();
    let text = "# made today\nid;price\n1;2,5\n2;3,5\n";
    folder.write("file.csv", text);
    let line = "build - --key id --comment # -o piped.tamis";
    let mut program = Command::new(env!("CARGO_BIN_EXE_tamis"));
    let mut tamis = program
        .args(line.split(' '))
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = tamis.stdin.take().unwrap();
    for part in ["# made", " today\nid;pr", "ice\n1;2", ",5\n", "2;3,5\n"] {
        stdin.write_all(part.as_bytes()).unwrap();
        stdin.flush().unwrap();
        thread::sleep(Duration::from_millis(60));
    }
    drop(stdin);
    assert!(tamis.wait().unwrap().success());
    folder.ok("build file.csv --key id --comment # -o whole.tamis");
    assert_eq!(folder.read("piped.tamis"), folder.read("whole.tamis"));
}

#[test]
fn comments_are_skipped_counted_and_said() {
    let folder = Folder::new();
    folder.write("list.txt", "# a list\nann\n#\nbob\n");
    let done = folder.run("build list.txt --comment # -o x.tamis");
    assert!(done.code == 0 && done.err.contains("2 comment lines skipped"), "{}", done.err);
    assert_eq!(keys(&folder, "x.tamis"), 2);
    folder.write("t.csv", "# one\nid,x\n# two, \"\n1,2\n");
    for line in ["build t.csv --key id -o t.tamis", "test t.tamis t.csv", "filter t.tamis t.csv --count"] {
        let done = folder.run(&format!("{line} --comment #"));
        assert!(done.code == 0 && done.err.contains("2 comment lines skipped"), "{line}: {}", done.err);
    }
    assert_eq!(folder.ok("filter t.tamis t.csv --comment # -q"), "id,x\n1,2\n");
    folder.refused("build t.csv --key id -o x.tamis", 1, &["no column"]);
}

#[test]
fn runs_of_blanks_separate_where_that_is_said() {
    let folder = Folder::new();
    folder.write("ps.txt", "  PID   TTY\n    1\t tty1\n   22 \"tty 2\"  \n");
    assert_eq!(built(&folder, "ps.txt --key TTY --delimiter whitespace"), 2);
    assert_eq!(folder.run_words(&["query", "built.tamis", "tty 2"], "").code, 0);
    assert_eq!(
        folder.ok("filter built.tamis ps.txt --delimiter whitespace -q"),
        "  PID   TTY\n    1\t tty1\n   22 \"tty 2\"  \n"
    );
}

#[test]
fn rows_with_more_fields_than_the_header_are_bad() {
    let folder = Folder::new();
    folder.write("people.csv", "name,id\nAnn,1\nSmith, John,2\nBob,3,\n");
    folder.refused("build people.csv --key id -o x.tamis", 1, &["line 3", "3 fields", "the header 2"]);
    assert_eq!(built(&folder, "people.csv --key id --bad-rows skip"), 2);
}

#[test]
fn what_is_not_text_is_refused() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_tamis");
    folder.refused(&format!("build {program} -o x.tamis"), 1, &["this is a program"]);
    let utf16: Vec<u8> = "ann\nbob\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.write("bare.txt", &utf16);
    folder.refused("build bare.txt -o x.tamis", 1, &["UTF-16LE", "iconv -f UTF-16LE"]);
    let wide: Vec<u8> = "ann\nbob\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    folder.write("wide.txt", &wide);
    folder.refused("build wide.txt -o x.tamis", 1, &["iconv -f UTF-16BE"]);
    folder.write("wider.txt", [b"\xff\xfe\0\0", &b"a\0\0\0\n\0\0\0"[..]].concat());
    folder.refused("build wider.txt -o x.tamis", 1, &["UTF-32", "iconv -f UTF-32"]);
    folder.write("holes.txt", "ann\nb\0b\n");
    folder.refused("build holes.txt -o x.tamis", 1, &["byte 6 is NUL", "tr -d"]);
    folder.write("marked.txt", [b"\xff\xfe", &utf16[..]].concat());
    folder.refused("build marked.txt -o x.tamis", 1, &["UTF-16", "iconv"]);
    folder.write("mac.txt", "ann\rbob\rcid\r");
    folder.refused("build mac.txt -o x.tamis", 1, &["CR alone", "tr '\\r' '\\n'"]);
    folder.write("bom.txt", "\u{feff}ann\n");
    assert_eq!(built(&folder, "bom.txt"), 1);
    assert_eq!(folder.run("query built.tamis ann").code, 0);
}

#[test]
fn what_is_explained_shows_the_lines_around_a_bad_one() {
    let folder = Folder::new();
    let rows: String =
        (1..=50).map(|i| if i == 30 { "30\n".into() } else { format!("{i},x{i}\n") }).collect();
    folder.write("t.csv", format!("id,name\n{rows}"));
    let line = "build t.csv --key name --explain";
    let done = folder.run(line);
    assert!(done.code == 1 && done.err.contains("t.csv, line 31: this row has 1 field"), "{}", done.err);
    for shown in ["→    31  30", "     29  28,x28", "     33  32,x32", "\"x1\" x1"] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&done.out).contains(&words(shown)), "{shown}: {}", done.out);
    }
    assert!(!done.out.contains("33,x33"), "{}", done.out);
    let json: serde_json::Value = serde_json::from_str(&folder.run(&format!("{line} --json")).out).unwrap();
    assert_eq!(json["around"][2], serde_json::json!({ "line": 31, "text": "30" }));
    assert_eq!(
        (json["around"].as_array().unwrap().len(), json["first_rows"].as_array().unwrap().len()),
        (5, 5)
    );
}

#[test]
fn a_key_that_can_be_learned_can_be_asked_for_however_long() {
    let folder = Folder::new();
    let long = vec![b'x'; 20 << 20];
    folder.write("keys.txt", [&b"ann\n"[..], &long].concat());
    folder.ok("build keys.txt --group (file) -o keys.tamis");
    assert_eq!(folder.run_with("query keys.tamis", long.clone()).code, 0);
    folder.write("long.txt", long);
    assert_eq!(folder.run("locate keys.tamis --keys long.txt").code, 0);
}

#[test]
fn a_list_that_is_cut_says_how_many_more() {
    let folder = Folder::new();
    folder.write("t.csv", (0..50).map(|i| format!("k{i},g{i}\n")).collect::<String>());
    folder.ok("build t.csv --no-header --key 1 --group 2 -o t.tamis");
    folder.refused("inspect t.tamis --group none", 1, &["g0, g1", "g26 and 30 more"]);
}

#[test]
fn a_comma_in_the_header_does_not_make_a_table_of_semicolons_one_of_commas() {
    let folder = Folder::new();
    let text = "id;price (EUR,net)\n1;2,5\n2;3,5\n";
    folder.write("eu.csv", text);
    let offers = ["--delimiter semicolon to read \"id\"", "--delimiter comma to read \"id;price (EUR\""];
    folder.refused("build eu.csv --key 1 -o x.tamis", 1, &offers);
    folder.refused("build eu.csv --key id -o x.tamis", 1, &["--delimiter semicolon to read \"id\""]);
    let piped = folder.run_with("build - --format csv --key 1 -o x.tamis", text);
    piped.refused("build -", 1, &offers);
    folder.refused("build eu.csv --no-header --key 1 -o x.tamis", 1, &offers);
    assert_eq!(built(&folder, "eu.csv --key 1 --delimiter semicolon"), 2);
    assert_eq!(folder.run("query built.tamis 1").code, 0);
    // One semicolon in a name is no reason to ask; what is taken then is said.
    for (header, key, said) in [
        ("id,\"a;b\"", "1", false),
        ("id,name;alias,x", "1", true),
        ("id,name;alias,x", "id", false),
        ("id,name", "1", false),
    ] {
        folder.write("plain.csv", format!("{header}\n1,2\n2,3\n"));
        let done = folder.run(&format!("build plain.csv --key {key} -o x.tamis"));
        assert!(done.code == 0 && said == done.err.contains("seems to be ','"), "{}", done.err);
    }
}

#[test]
fn a_line_that_tells_spreadsheets_the_delimiter_is_no_header() {
    let folder = Folder::new();
    folder.write("excel.csv", "sep=;\r\nid;n\r\n1;2\r\n");
    for key in ["1", "id"] {
        folder.refused(
            &format!("build excel.csv --key {key} -o x.tamis"),
            1,
            &["excel.csv", "sep=;", "tail -n +2", "--delimiter semicolon"],
        );
    }
}

#[test]
fn lines_that_end_at_cr_are_refused_though_one_ends_at_lf() {
    let folder = Folder::new();
    for text in ["a\rb\rc\n", "a\nb\rc\rd\r", "id\r1\r2\n"] {
        for name in ["mac.txt", "mac.csv"] {
            folder.write(name, text);
            folder.refused(
                &format!("build {name} --key 1 -o x.tamis"),
                1,
                &["lines end at CR alone", "tr '\\r' '\\n'"],
            );
            let done = folder.run_with("filter x.tamis - --format lines", text);
            assert_ne!(done.code, 0);
        }
    }
    // A CR now and then, or within quotes, is a character like any other.
    folder.write("dos.csv", "id,text\r\n1,\"a\rb\rc\"\r\n2,\"d\re\rf\"\r\n");
    assert_eq!(built(&folder, "dos.csv --key id"), 2);
    folder.write("one.txt", "a\rb\nc\n");
    assert_eq!(built(&folder, "one.txt"), 2);
}

#[test]
fn a_nul_far_behind_the_beginning_makes_a_bad_row() {
    let folder = Folder::new();
    let mut text: Vec<u8> = (0..20_000).flat_map(|i| format!("key{i}\n").into_bytes()).collect();
    text.extend_from_slice(b"to\0rn\nlast\n");
    folder.write("holes.txt", &text);
    folder.refused(
        "build holes.txt -o x.tamis",
        1,
        &["holes.txt, line 20001", "NUL", "--bad-rows skip", "tr -d"],
    );
    let done = folder.run("build holes.txt --bad-rows skip -o x.tamis");
    assert!(done.code == 0 && done.err.contains("left out 1 bad row"), "{}", done.err);
    assert_eq!(keys(&folder, "x.tamis"), 20_001);
}

#[test]
fn quotes_around_the_fields_of_a_tsv_are_spoken_of() {
    let folder = Folder::new();
    folder.write("q.tsv", "\"id\"\t\"n\"\n\"1\"\t\"a\"\n");
    let done = folder.run("build q.tsv --key 1 -o x.tamis");
    assert!(done.code == 0 && done.err.contains("--quotes csv"), "{}", done.err);
    let done = folder.run("build q.tsv --key 1 --quotes none -o x.tamis");
    assert!(done.code == 0 && !done.err.contains("--quotes"), "{}", done.err);
    folder.refused("build q.tsv --key id -o x.tamis", 1, &["no column \"id\"", "--quotes csv"]);
    // A quote in a field here and there is what TSV has.
    folder.write("plain.tsv", "id\tn\n1\t\"Other\" Inc\n\"2\"\t\"x\"\n");
    assert!(!folder.run("build plain.tsv --key 1 -o x.tamis").err.contains("--quotes"));
}

#[test]
fn options_that_have_no_effect_are_spoken_of() {
    let folder = Folder::new();
    folder.write("keys.txt", "ann\nbob\n");
    folder.write("keys.ndjson", "{\"id\":1}\n");
    folder.write("keys.csv", "id\n1\n");
    for (line, option) in [
        ("keys.txt --format lines --delimiter comma", "--delimiter"),
        ("keys.txt --quotes csv", "--quotes"),
        ("keys.ndjson --key id --delimiter ;", "--delimiter"),
        ("keys.ndjson --key id --no-header", "--no-header"),
    ] {
        let done = folder.run(&format!("build {line} -o x.tamis"));
        let said = format!("warning: {option} had no effect");
        assert!(done.code == 0 && done.err.contains(&said), "{line}: {}", done.err);
    }
    let both = folder.run("build keys.csv keys.ndjson --key id --delimiter comma -o x.tamis");
    assert!(both.code == 0 && !both.err.contains("no effect"), "{}", both.err);
}

#[test]
fn what_stands_for_a_pipe_has_no_name() {
    let folder = Folder::new();
    let tamis = env!("CARGO_BIN_EXE_tamis");
    folder.write("a.txt", "1\n2\n");
    for line in [
        format!("seq 3 | {tamis} build /dev/stdin --group '(file)' -o x.tamis"),
        format!("{tamis} build /dev/stdin --group '(file)' -o x.tamis < a.txt"),
        format!("bash -c \"{tamis} build <(seq 3) --group '(file)' -o x.tamis\""),
    ] {
        folder.shell(&line).refused(&line, 1, &["no file", "name files as the input"]);
    }
    assert_eq!(folder.shell(&format!("seq 3 | {tamis} build /dev/stdin -o x.tamis")).code, 0);
}

#[test]
fn comments_above_the_header_are_no_part_of_what_is_written() {
    let folder = Folder::new();
    folder.write("t.csv", "# one\n\nid,x\n# two\n1,2\n");
    folder.ok("build t.csv --key id --comment # -o t.tamis");
    assert_eq!(folder.ok("filter t.tamis t.csv"), "id,x\n1,2\n");
}

#[test]
fn a_comment_above_a_list_is_offered_to_be_one() {
    let folder = Folder::new();
    folder.write("bl.txt", "# blocklist\n1.2.3.4,spam\n1.2.3.5,spam\n");
    folder.refused(
        "build bl.txt --key 1 -o x.tamis",
        1,
        &["--comment '#' and --delimiter comma to read \"1.2.3.4\" in the line below it"],
    );
    assert_eq!(built(&folder, "bl.txt --key 1 --comment # --delimiter comma"), 2);
}

#[test]
fn names_in_quotes_with_blanks_between_them_are_answered_with_what_would_read_them() {
    let folder = Folder::new();
    folder.write("r.txt", "\"id\" \"n\"\n\"1\" \"a\"\n");
    let done = folder.run("build r.txt --key id -o x.tamis");
    done.refused("build", 1, &["r.txt, line 1", "--delimiter space"]);
    assert!(!done.err.contains("skip"), "{}", done.err);
    assert_eq!(built(&folder, "r.txt --key id --delimiter space"), 1);
}

#[test]
fn an_array_of_json_is_told_from_a_table_without_a_name() {
    let folder = Folder::new();
    for text in ["[{\"id\":1}]\n", "[\n{\"id\":1}\n]\n"] {
        folder.run_with("build - --key id -o x.tamis", text).refused("build -", 1, &["JSON array", "jq"]);
    }
}

#[test]
fn rows_around_a_bad_one_are_shown_of_a_pipe_as_well() {
    let folder = Folder::new();
    let rows: String = (1..30).map(|i| if i == 20 { "x\n".into() } else { format!("{i}\n") }).collect();
    let done = folder.run_with("build - --format lines --key 1:round --explain", rows);
    assert_eq!(done.code, 1);
    assert!(done.out.contains("\"18\"\n") && done.out.contains("\"19\"\n"), "{}", done.out);
    assert!(!done.out.contains("\"17\"\n"), "{}", done.out);
}

#[test]
fn an_empty_note_is_none() {
    let folder = Folder::new();
    folder.write("keys.txt", "ann\n");
    folder.ok("build keys.txt -o plain.tamis");
    folder.run_words(&["build", "keys.txt", "--note", "", "--source", "", "-o", "noted.tamis"], "");
    assert_eq!(folder.read("noted.tamis"), folder.read("plain.tamis"));
}
