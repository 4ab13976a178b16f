//! What a state folder of `stream` keeps between runs, and what it leaves alone: rows that have not ended,
//! text of somebody else in outputs, links and pipes under the names of its files.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;

use crate::stream_live::{connect, end, free_port};
use crate::support::{self, Folder, until};

/// How far the training stream was written down.
fn spooled(folder: &Folder, state: &str) -> u64 {
    let Ok(entries) = fs::read_dir(folder.path(state)) else { return 0 };
    let ends = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let start: u64 = name.strip_prefix("spool-train-")?.parse().ok()?;
        Some(start + entry.metadata().ok()?.len())
    });
    ends.max().unwrap_or(0)
}

/// The beginning of the row was once forgotten, and its rest was a row.
#[test]
fn a_row_of_a_pipe_that_two_runs_read_is_one_row() {
    let folder = Folder::new();
    folder.shell("mkfifo pipe");
    let pipe = OpenOptions::new().read(true).write(true).open(folder.path("pipe")).unwrap();
    for (number, (input, signal)) in [("pipe", "-TERM"), ("-", "-KILL")].into_iter().enumerate() {
        let state = format!("state{number}");
        let start = || {
            let line =
                format!("stream --train {input} --key name --format csv --state {state} --keys 9 --fpr 1e-9");
            let stdin = Stdio::from(pipe.try_clone().unwrap());
            support::foreground(
                &folder,
                &format!("{line} --every 20ms --commit-every 0"),
                stdin,
                Stdio::null(),
            )
        };
        let mut written = 0;
        // Also the header comes in parts.
        for part in ["na", "me\naaa\nhal", "f\nbbb\n"] {
            let child = start();
            (&pipe).write_all(part.as_bytes()).unwrap();
            written += part.len() as u64;
            until("what was written to the pipe", || (spooled(&folder, &state) == written).then_some(()));
            let (code, said) = end(child, signal);
            assert!(code == Some(0) || signal == "-KILL", "{said}");
            assert!(!said.contains("left out"), "{said}");
        }
        let child = start();
        let query = format!("query {state}/filter.tamis");
        let found = until("the last row", || {
            let found = folder.run_with(&query, "aaa\nhalf\nf\nhal\nbbb\n").out;
            found.contains("bbb\tyes").then_some(found)
        });
        assert_eq!(found, "aaa\tyes\nhalf\tyes\nf\t\nhal\t\nbbb\tyes\n");
        assert_eq!(end(child, "-TERM").0, Some(0));
    }
}

/// What another pipe brings does not follow it.
#[test]
fn a_row_without_an_end_is_left_out_when_another_pipe_is_read() {
    let folder = Folder::new();
    folder.shell("mkfifo pipe");
    let mut pipe = OpenOptions::new().read(true).write(true).open(folder.path("pipe")).unwrap();
    let line = "stream --train - --state state --keys 9 --fpr 1e-9 --every 20ms --commit-every 0";
    pipe.write_all(b"aaa\nhal").unwrap();
    let child = support::foreground(&folder, line, Stdio::from(pipe), Stdio::null());
    until("what was written to the pipe", || (spooled(&folder, "state") == 7).then_some(()));
    assert!(end(child, "-TERM").0.is_some());
    let done = folder.run_with(line, "bbb\n");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("its 3 bytes are left out"), "{}", done.err);
    let found = folder.run_with("query state/filter.tamis", "aaa\nhal\nhalbbb\nbbb\n");
    assert_eq!(found.out, "aaa\tyes\nhal\t\nhalbbb\t\nbbb\tyes\n");
}

#[test]
fn a_peer_that_is_within_a_row_when_the_run_ends_is_named() {
    let folder = Folder::new();
    let port = free_port();
    let line = format!("stream --train tcp-listen://127.0.0.1:{port} --state state --keys 9 --every 20ms");
    let child = support::foreground(&folder, &line, Stdio::null(), Stdio::null());
    let mut peer = connect(port);
    peer.write_all(b"aaa\nhal").unwrap();
    until("a row", || (spooled(&folder, "state") == 4).then_some(()));
    let (code, said) = end(child, "-TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the run ended while the peer 127.0.0.1:"), "{said}");
    assert!(said.contains("its unfinished row of 3 bytes is left out"), "{said}");
}

/// It was once cut off without a word.
#[test]
fn what_somebody_else_appended_to_an_output_is_not_cut_off() {
    let folder = Folder::new();
    folder.write("in.csv", "a,b\n1,2\n3\n4,5\n");
    let line = "stream --train in.csv --query in.csv --key b --keys 9 --state state -o answers --counts counts --bad-rows-to bad";
    folder.ok(line);
    folder.ok(line);
    for name in ["answers", "counts", "bad"] {
        let before = folder.text(name);
        assert!(!before.is_empty(), "{name}");
        let more = format!("{before}mine\n");
        folder.write(name, &more);
        folder.refused(line, 1, &[name, "has 5 bytes more", "take them off"]);
        assert_eq!(folder.text(name), more);
        // After a run that was killed, nobody knows whose it is.
        folder.write("state/lock", "");
        let done = folder.run(line);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(done.err.contains(&format!("{name}: cut off 5 bytes")), "{}", done.err);
        assert_eq!(folder.text(name), before);
    }
    folder.ok(line);
}

/// A link led to an input, which was emptied; a pipe was waited for without an end.
#[test]
fn what_has_the_name_of_a_file_of_the_state_and_is_none_is_refused_untouched() {
    let folder = Folder::new();
    folder.write("in.txt", "1\n2\n3\n");
    let line = "stream --train in.txt --keys 9 --state state";
    folder.ok(line);
    for name in ["plan.log", "commit.json", "job.json", "lock", "filter-1.tamis", "filter.tamis"] {
        let path = format!("state/{name}");
        folder.shell(&format!("mv {path} kept; mkfifo {path}"));
        folder.refused(line, 1, &[&path, "not an ordinary file", "name another state folder"]);
        folder.shell(&format!("rm {path}; ln -s ../in.txt {path}"));
        folder.refused(line, 1, &[&path, "a symbolic link"]);
        folder.shell(&format!("rm {path}; mv kept {path}"));
    }
    folder.shell("rm -f state/lock state/plan.log; ln in.txt state/plan.log");
    folder.refused(line, 1, &["state/plan.log", "a hard link"]);
    assert_eq!(folder.text("in.txt"), "1\n2\n3\n");
    folder.shell("rm state/plan.log");
    folder.ok(line);
    // An output that is a file of the state by another name.
    let line = "stream --train in.txt --query in.txt --keys 9 --state other -o answers";
    folder.ok(line);
    folder.shell("rm answers; ln other/filter-1.tamis answers");
    let before = folder.read("other/filter-1.tamis");
    assert_ne!(folder.run(line).code, 0);
    assert_eq!(folder.read("other/filter-1.tamis"), before);
}
