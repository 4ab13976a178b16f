//! Every message that users get to see when something is wrong, and every page of help, as it is today.
//! `messages/VERB.txt` holds the commands and what they say, so that a change of words is a change that
//! a review shows.
//!
//! A line that starts with `$ ` is a command, run in a folder with the small files below; `< NAME` gives
//! it a file as standard input. There are `tamis`, `copy FROM TO`, `cut FILE LENGTH` and `damage FILE AT`,
//! which flips a bit (of a byte counted from the end, if AT is negative). Below it stand its exit code and its standard error, indented (for
//! `--help`, its standard output). Commands of one file run in order and see each other's files. After a
//! wanted change, write the files again with `TAMIS_REWRITE=1 cargo test -p tamis-cli messages`.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

use crate::filter::write_parquet;
use crate::support::{Done, Folder};

/// Files that all commands find.
const INPUTS: [(&str, &str); 28] = [
    ("keys.txt", "ann\nbob\ncid\n"),
    ("more.txt", "bob\ndan\n"),
    ("empty.txt", ""),
    ("users.csv", "id,email,city\n1,ann@x.org,Rome\n2,bob@x.org,Oslo\n3,cid@x.org,Rome\n"),
    ("semicolons.csv", "id;email;city\n1;ann@x.org;Rome\n"),
    ("twice.csv", "id,id\n1,2\n"),
    ("gaps.csv", "id,email\n1,ann@x.org\n,bob@x.org\n"),
    ("short.csv", "id,email\n1,ann@x.org\n2\n"),
    ("quote.csv", "id,email\n1,\"ann@x.org\n2,bob@x.org\n"),
    ("after.csv", "id,email\n1,\"ann\"x.org\n"),
    ("binary.csv", "id,email\n1,a\0b\n"),
    ("torn.csv", "ip,as\n1,\"ISP - Broadcast\n2,x\n3,\"Y\" Inc\n"),
    ("long.csv", "id,name\n1,Smith, John\n"),
    ("places.csv", "id,1\n7,x\n"),
    ("access.log", "1.2.3.4 - - \"GET /a,b\" \"\n"),
    (
        "web.log",
        "1.2.3.4 - - [10/Oct/2025:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 7 \"-\" \"curl\"\nx.org 1.2.3.5 - - [\n",
    ),
    ("rows.tsv", "id\tname\n1\t\"x\ty\"\n"),
    ("mac.txt", "ann\rbob\r"),
    ("later.txt", "ann\nbob,cid\n"),
    ("films.csv", "title,words\nHeat,\"heist,cop\"\nUp,\"house,balloon\"\n"),
    ("flows.csv", "src,bytes,at\na,10,2020-01-01T00:00:00Z\nb,20,2020-01-01T01:00:00Z\n"),
    ("weights.csv", "src,bytes\na,-1\n"),
    ("rows.ndjson", "{\"id\":1,\"email\":\"ann@x.org\"}\n{\"id\":2}\n"),
    ("broken.ndjson", "{\"id\":1}\n{\"id\":\n"),
    ("text.parquet", "id,email\n1,ann@x.org\n"),
    ("text.gz", "not compressed\n"),
    ("text.tamis", "not filters, but long enough for a header of a file of filters, which is 64 bytes\n"),
    ("text.json", "{\"kind\":\"blocked\"}\n"),
];

#[test]
fn the_program_says_what_it_said_before() {
    said("tamis");
}

#[test]
fn parquet_says_what_it_said_before() {
    said("parquet");
}

#[test]
fn search_says_what_it_said_before() {
    said("search");
}

#[test]
fn build_says_what_it_said_before() {
    said("build");
}

#[test]
fn inputs_that_cannot_be_read_are_told_as_before() {
    said("inputs");
}

#[test]
fn plan_says_what_it_said_before() {
    said("plan");
}

#[test]
fn explain_says_what_it_said_before() {
    said("explain");
}

#[test]
fn add_remove_and_merge_say_what_they_said_before() {
    ["add", "remove", "remove-group", "merge"].iter().for_each(|verb| said(verb));
}

#[test]
fn query_locate_test_and_filter_say_what_they_said_before() {
    ["query", "locate", "test", "filter"].iter().for_each(|verb| said(verb));
}

#[test]
fn dedup_says_what_it_said_before() {
    said("dedup");
}

#[test]
fn stream_says_what_it_said_before() {
    said("stream");
}

#[test]
fn counts_are_told_as_before() {
    ["top", "inner-product"].iter().for_each(|verb| said(verb));
}

#[test]
fn files_are_shown_as_before() {
    ["inspect", "compare", "verify"].iter().for_each(|verb| said(verb));
}

#[test]
fn data_and_experiments_are_told_as_before() {
    ["demo", "generate", "reproduce", "completions"].iter().for_each(|verb| said(verb));
}

/// Runs the commands of a file, and compares what they say with what stands there.
fn said(verb: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/messages").join(format!("{verb}.txt"));
    let wanted = fs::read_to_string(&path).unwrap();
    let folder = Folder::new();
    INPUTS.iter().for_each(|(name, text)| folder.write(name, text));
    write_parquet(&folder.path("rows.parquet"));
    let mut found = String::new();
    for line in wanted.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                writeln!(found, "{line}").unwrap();
                record(&mut found, &folder, command);
            }
            None if line.starts_with('#') => writeln!(found, "{line}").unwrap(),
            None => {} // what it said
        }
    }
    if env::var_os("TAMIS_REWRITE").is_some() {
        return fs::write(&path, &found).unwrap();
    }
    compare(&path, &wanted, &found);
}

fn run(folder: &Folder, command: &str) -> Done {
    let (command, stdin) = match command.split_once(" < ") {
        Some((command, name)) => (command, folder.read(name)),
        None => (command, Vec::new()),
    };
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["tamis", ref words @ ..] => return folder.run_words(words, stdin),
        ["copy", from, to] => folder.write(to, folder.read(from)),
        ["cut", name, length] => folder.write(name, &folder.read(name)[..length.parse().unwrap()]),
        ["damage", name, at] => {
            let mut bytes = folder.read(name);
            let at: isize = at.parse().unwrap();
            let from = if at < 0 { bytes.len() } else { 0 };
            bytes[from.checked_add_signed(at).unwrap()] ^= 1;
            folder.write(name, bytes);
        }
        _ => panic!("no such command: {command}"),
    }
    Done { code: 0, out: String::new(), err: String::new() }
}

/// The words of a command; single quotes keep spaces together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// Exit code and words, without what differs from folder to folder.
fn record(found: &mut String, folder: &Folder, command: &str) {
    let before = folder.names();
    let done = run(folder, command);
    if done.code != 0 {
        assert_eq!(folder.names(), before, "{command}: it failed and left something behind");
    }
    let here = folder.path("").canonicalize().unwrap().display().to_string();
    writeln!(found, "    exit code {}", done.code).unwrap();
    let text = if command.ends_with("--help") { &done.out } else { &done.err };
    for line in text.lines().filter(|line| !is_timing(line)) {
        let line = line.replace(&here, "HERE");
        writeln!(found, "{}", format!("    {line}").trim_end()).unwrap();
    }
    found.push('\n');
}

/// Whether a note tells how long the phases of a job took.
fn is_timing(line: &str) -> bool {
    [": open ", ": read ", ": start "].iter().any(|phase| line.contains(phase))
}

fn compare(path: &std::path::Path, wanted: &str, found: &str) {
    let differs = wanted.lines().zip(found.lines()).position(|(wanted, found)| wanted != found);
    let at = differs.unwrap_or(wanted.lines().count().min(found.lines().count()));
    if wanted == found {
        return;
    }
    let command = found.lines().take(at + 1).filter(|line| line.starts_with("$ ")).last().unwrap_or_default();
    panic!(
        "{}:{}: {command}\n it was: {:?}\n it is:  {:?}\nIf that is wanted: TAMIS_REWRITE=1 cargo test -p tamis-cli messages",
        path.display(),
        at + 1,
        wanted.lines().nth(at).unwrap_or_default(),
        found.lines().nth(at).unwrap_or_default()
    );
}
