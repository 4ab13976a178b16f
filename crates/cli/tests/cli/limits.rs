//! Jobs that get less than they want: no memory, no threads. They end in a message, or in the same result.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::support::{Folder, TAMIS};

/// What a command under a limit ends with, and says. Not a run like others: the standard library speaks of
/// backtraces when there is no memory.
fn limited(folder: &Folder, limit: &str, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new("timeout");
    command.args(["100", "sh", "-c", &format!("{limit} exec {TAMIS} {line}")]);
    let done = command.current_dir(folder.path("")).stdin(Stdio::null()).output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Each verb under this limit: done, with the bytes that it has without a limit, or failed with a message.
fn hold(folder: &Folder, limit: &str, verbs: &[(&str, &str)]) {
    for (line, output) in verbs {
        let _ = std::fs::remove_file(folder.path(output));
        let (code, said) = limited(folder, limit, &format!("{line} --quiet"));
        assert!(!said.contains("panicked"), "{limit} {line}: {said}");
        match code {
            Some(0) => {
                assert_eq!(folder.read(output), folder.read(&format!("free/{output}")), "{limit} {line}")
            }
            Some(1) => {
                assert!(said.lines().any(|said| said.starts_with("error: ")), "{limit} {line}: {said}")
            }
            code => panic!("{limit} {line}: {code:?}: {said}"),
        }
    }
}

fn folder() -> (Folder, Vec<(&'static str, &'static str)>) {
    let folder = Folder::new();
    let keys: String = (0..60_000).map(|i| format!("key-{},{}\n", i % 50_000, i % 7)).collect();
    folder.write("keys.csv", &keys);
    let csv = "keys.csv --format csv --no-header --key 1";
    folder.ok(&format!("build {csv} -o known.tamis"));
    let verbs = vec![
        ("build keys.csv --format csv --no-header --key 1 --group 2 -o built.tamis", "built.tamis"),
        ("build keys.csv --format csv --no-header --key 1 --kind fuse -o fuse.tamis", "fuse.tamis"),
        ("plan keys.csv --format csv --no-header --key 1 -o params.json", "params.json"),
        ("filter known.tamis keys.csv --format csv --no-header --key 1 -o filtered.csv", "filtered.csv"),
        ("dedup keys.csv --format csv --no-header --key 1 --seed 1 -o once.csv", "once.csv"),
        (
            "stream --train keys.csv --query keys.csv --format csv --no-header --key 1 --keys 1e5 -o a.txt",
            "a.txt",
        ),
        ("merge known.tamis known.tamis -o merged.tamis", "merged.tamis"),
    ];
    for (line, output) in &verbs {
        folder.ok(line);
        folder.write(&format!("free/{output}"), folder.read(output));
    }
    (folder, verbs)
}

#[test]
fn a_short_limit_of_memory_ends_in_a_message_or_the_same_result() {
    let (folder, verbs) = folder();
    for kib in [64 << 10, 100 << 10, 400 << 10] {
        hold(&folder, &format!("ulimit -v {kib};"), &verbs);
    }
}

/// Threads have large stacks by request: with little memory left, there are fewer of them or none.
#[test]
fn threads_that_cannot_be_started_are_done_without() {
    let (folder, verbs) = folder();
    let verbs: Vec<_> = verbs.into_iter().filter(|(line, _)| !line.starts_with("stream")).collect();
    let limit = "ulimit -v 300000; export RUST_MIN_STACK=2000000000;";
    hold(&folder, limit, &verbs);
    for (line, _) in verbs {
        let (code, said) = limited(&folder, limit, &format!("{line} --quiet"));
        assert_eq!(code, Some(0), "{line}: {said}");
    }
    // A stream needs a thread for each input.
    let (code, said) = limited(&folder, limit, "stream --train keys.csv --format lines");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: a thread cannot be started") && said.contains("ulimit"), "{said}");
}

/// It was called an "uncategorized error".
#[test]
fn too_many_open_files_are_called_so() {
    let folder = Folder::new();
    folder.write("keys.txt", "1\n2\n");
    // Which of these is the one in which the output cannot be opened depends on what is inherited.
    let said: Vec<_> = (4..12)
        .map(|files| limited(&folder, &format!("ulimit -n {files};"), "build keys.txt -o x.tamis -q"))
        .collect();
    assert!(said.iter().all(|(_, said)| !said.contains("uncategorized")), "{said:?}");
    assert!(
        said.iter().any(|(code, said)| *code == Some(1) && said.contains("Too many open files")),
        "{said:?}"
    );
}
