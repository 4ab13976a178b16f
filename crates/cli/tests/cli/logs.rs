//! `--format log`: access logs, whatever clients send.

use std::fmt::Write as _;

use crate::support::Folder;

/// What hostile clients send as their name, as a server writes it, and what it is.
const AGENTS: [(&str, &str); 8] = [
    (r#"\""#, "\""),
    (r"\x22", "\""),
    (r#"curl, \"7\""#, "curl, \"7\""),
    (r"a \\", "a \\"),
    ("a,b\tc", "a,b\tc"),
    (r"x\ty", "x\ty"),
    (r#"\\\" 200 1 \"-\" \""#, "\\\" 200 1 \"-\" \""),
    ("[10/Oct/2025:13:55:36 +0000]", "[10/Oct/2025:13:55:36 +0000]"),
];

fn line(host: &str, time: &str, agent: &str) -> String {
    format!("{host} - - [{time}] \"GET /a?b=1 HTTP/1.1\" 200 2326 \"-\" \"{agent}\"\n")
}

/// A log with an ordinary line after each hostile one.
fn hostile() -> String {
    AGENTS.iter().enumerate().fold(String::new(), |mut log, (i, (agent, _))| {
        log += &line(&format!("10.0.0.{i}"), "10/Oct/2025:13:55:36 -0700", agent);
        log += &line(&format!("10.0.1.{i}"), "10/Oct/2025:13:55:36 -0700", "Mozilla/5.0");
        log
    })
}

fn keys(folder: &Folder, file: &str) -> u64 {
    folder.json(&format!("inspect {file}"))["groups"][0]["planned_keys"].as_u64().unwrap()
}

#[test]
fn hostile_agents_hide_no_line() {
    let folder = Folder::new();
    let log = hostile();
    folder.write("web.log", &log);
    folder.ok("build web.log --format log --key host --fpr 1e-9 -o hosts.tamis");
    assert_eq!(keys(&folder, "hosts.tamis"), 16);
    folder.ok("build web.log --format log --key agent --fpr 1e-9 -o agents.tamis");
    assert_eq!(keys(&folder, "agents.tamis"), 8, "one quote is written in two ways; and Mozilla");
    for (_, agent) in AGENTS {
        assert_eq!(folder.run_words(&["query", "agents.tamis", agent], "").code, 0, "{agent}");
    }
    // Records leave as they came: also with CRLF, and without the last line end.
    assert_eq!(folder.ok("filter hosts.tamis web.log --format log"), log);
    let odd = log.trim_end().replace('\n', "\r\n");
    folder.write("odd.log", &odd);
    assert_eq!(folder.ok("filter hosts.tamis odd.log --format log"), odd);
    folder.write("some.txt", "10.0.1.3\n10.0.0.6\n");
    folder.ok("build some.txt --fpr 1e-9 -o some.tamis");
    let passed = folder.ok("filter some.tamis web.log --format log --key host");
    let wanted: String = log
        .split_inclusive('\n')
        .filter(|one| one.contains("10.0.1.3 ") || one.contains("10.0.0.6 "))
        .collect();
    assert_eq!(passed, wanted);
    let top = folder.json("top web.log --format log --key agent --share 0.1");
    let listed = top["groups"][0].to_string();
    assert!(listed.contains("Mozilla/5.0") && listed.contains("\"\\\"\""), "{listed}");
    let first = folder.ok("dedup web.log --format log --key agent");
    assert_eq!(first.lines().count(), 8);
    assert!(first.lines().all(|one| log.contains(one)));
}

#[test]
fn columns_have_names_and_numbers_and_dashes_are_none() {
    let folder = Folder::new();
    folder.write("web.log", line("h1", "10/Oct/2025:13:55:36 -0700", "x"));
    for (column, value) in [
        ("host", "h1"),
        ("1", "h1"),
        ("time", "10/Oct/2025:13:55:36 -0700"),
        ("request", "GET /a?b=1 HTTP/1.1"),
        ("path", "/a"),
        ("query", "b=1"),
        ("method", "GET"),
        ("protocol", "HTTP/1.1"),
        ("status", "200"),
        ("7", "2326"),
        ("agent", "x"),
    ] {
        folder.ok(&format!("build web.log --format log --key {column} --fpr 1e-9 -o x.tamis"));
        assert_eq!(folder.run_words(&["query", "x.tamis", value], "").code, 0, "{column}");
    }
    for none in ["user", "referer", "10", "16"] {
        let refused = ["web.log, line 1", "in the key"];
        folder.refused(&format!("build web.log --format log --key {none} -o y.tamis"), 1, &refused);
    }
    folder.refused("build web.log --format log --key 17 -o y.tamis", 1, &["1 to 16", "17"]);
    folder.refused("build web.log --format log --key hots -o y.tamis", 1, &["did you mean \"host\"?"]);
    for (option, says) in
        [("--delimiter space", "--delimiter"), ("--quotes none", "--quotes"), ("--no-header", "--no-header")]
    {
        let line = format!("build web.log --format log --key host {option} -o y.tamis");
        folder.refused(&line, 1, &["an access log has", &format!("leave out {says}")]);
    }
    let whole = line("h1", "10/Oct/2025:13:55:36 -0700", "x");
    folder.write("noted.log", format!("#Version 1\n{whole}# more\n"));
    folder.ok("build noted.log --format log --comment # --key host -o x.tamis");
    assert_eq!(keys(&folder, "x.tamis"), 1);
}

#[test]
fn a_line_of_another_form_is_a_bad_row() {
    let folder = Folder::new();
    let good = line("h1", "10/Oct/2025:13:55:36 -0700", "x");
    folder.write("web.log", format!("{good}h2 - - [10/Oct/2025:13:55:36 -0700] \"GET / 200 1\n{good}"));
    let says = ["web.log, line 2", "field 5 (request)", "does not close in this line", "--bad-rows skip"];
    folder.refused("build web.log --format log --key host -o x.tamis", 1, &says);
    folder.ok("build web.log --format log --key host --bad-rows skip -o x.tamis");
    assert_eq!(keys(&folder, "x.tamis"), 1);
    assert_eq!(folder.ok("filter x.tamis web.log --format log --bad-rows skip"), good.repeat(2));
}

#[test]
fn what_looks_like_a_log_is_offered_to_be_one() {
    let folder = Folder::new();
    folder.write("web.log", hostile());
    let offer = ["--format log to read \"10.0.0.0\""];
    folder.refused("build web.log --key host -o x.tamis", 1, &offer);
    folder.refused(
        "build web.log --key 1 -o x.tamis",
        1,
        &["--format log", "--delimiter space", "--format lines"],
    );
    folder.refused("top web.log --key agent", 1, &["--format log to read \"\\\"\""]);
    // Whole lines are lines, whatever is in them.
    folder.write("any.log", "anything\n\"\n");
    folder.ok("build any.log -o x.tamis");
    assert_eq!(keys(&folder, "x.tamis"), 2);
}

#[test]
fn groups_are_one_more_field_of_a_record() {
    let folder = Folder::new();
    folder.write("members.csv", "id,team\nh1,a \"b\"\nh1,c\\\n");
    folder.ok("build members.csv --key id --group team --fpr 1e-9 --quotes none -o members.tamis");
    let log = line("h1", "10/Oct/2025:13:55:36 -0700", "x");
    folder.write("web.log", &log);
    let tagged = folder.ok("filter members.tamis web.log --format log --key host --tag");
    assert_eq!(tagged, format!("{} \"a \\\"b\\\",c\\\\\\\\\"\n", log.trim_end()));
    folder.write("tagged.log", tagged);
    folder.ok("build tagged.log --format log --key 10 --fpr 1e-9 -o x.tamis");
    assert_eq!(folder.run_words(&["query", "x.tamis", "a \"b\",c\\\\"], "").code, 0);
}

#[test]
fn windows_go_by_the_true_moment_of_a_line() {
    let folder = Folder::new();
    // An hour apart at most, though their clocks say otherwise.
    let log = [
        line("h1", "10/Oct/2025:13:55:00 -0700", "x"),
        line("h2", "10/Oct/2025:21:00:00 +0000", "x"),
        line("h3", "11/Oct/2025:02:10:00 +0500", "x"),
    ]
    .concat();
    folder.write("web.log", &log);
    let found = folder.json(
        "stream --train web.log --format log --key host --keys 100 --window 2h --slide 1h --time time --state run",
    );
    assert_eq!(found["rows"].as_u64(), Some(3), "{found}");
    for host in ["h1", "h2", "h3"] {
        assert_eq!(folder.run_words(&["query", "run/filter.tamis", host], "").code, 0, "{host}");
    }
    // Cut at blanks, the zone would be lost: that is said.
    let cut = "stream --train web.log --delimiter space --key 1 --keys 100 --window 2h --time 4 --state cut";
    folder.refused(cut, 1, &["web.log, line 1", "zone is missing", "--format log"]);
}

#[test]
fn a_stream_of_lines_goes_on_as_a_log() {
    let folder = Folder::new();
    let log = hostile();
    let mut asked = String::new();
    for i in 0..8 {
        writeln!(asked, "{}", line(&format!("10.0.1.{i}"), "-", "x").trim_end()).unwrap();
    }
    folder.write("ask.log", asked);
    let run =
        "stream --train - --query ask.log --format log --key host --fpr 1e-9 --batch 5 --state run -o out";
    let (first, second) = log.split_at(log.len() / 2 + log[log.len() / 2..].find('\n').unwrap() + 1);
    for text in [first, second] {
        let done = folder.run_with(run, text);
        assert_eq!(done.code, 0, "{}", done.err);
    }
    for i in 0..8 {
        let host = format!("10.0.1.{i}");
        assert_eq!(folder.run_words(&["query", "run/filter.tamis", &host], "").code, 0, "{host}");
    }
    let state = folder.names().iter().any(|name| name == "run");
    assert!(state);
    folder.refused(
        &run.replace("--format log", "--delimiter space").replace("host", "1"),
        1,
        &["the format"],
    );
}

#[test]
fn a_log_without_a_key_column_is_refused_as_every_table_is() {
    let folder = Folder::new();
    folder.write("block.txt", "203.0.113.7\n");
    folder.ok("build block.txt -o block.tamis");
    folder.write(
        "web.log",
        "203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"\n",
    );
    let says = ["no key column is given", "host", "--key"];
    folder.refused("filter block.tamis web.log --format log", 1, &says);
    assert_eq!(folder.ok("filter block.tamis web.log --format log --key host").lines().count(), 1);
}
