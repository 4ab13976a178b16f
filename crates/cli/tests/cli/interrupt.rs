//! Ctrl-C and kill: exit code 130 or 143, a message, nothing half-written, the old output untouched.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{self, Folder, Guard, PATIENCE, TAMIS};

fn start(folder: &Folder, line: &str) -> Guard {
    support::foreground(folder, line, Stdio::piped(), Stdio::null())
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    support::until(what, || holds().then_some(()));
}

/// Whether the process has a handler for SIGINT (2): the second bit of its mask.
pub fn listens(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    // SIGINT, and SIGTERM, which is caught next.
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 0x4002 == 0x4002)
}

fn interrupt(child: &Child) {
    send(child, "-INT");
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

fn is_interrupted(folder: &Folder, child: Guard) {
    is_ended(folder, child, 130);
}

fn is_ended(folder: &Folder, mut child: Guard, with: i32) {
    let (code, said) = child.said();
    assert_eq!(code, Some(with), "{said}");
    assert!(said.contains("error: interrupted"), "{said}");
    folder.is_clean();
}

/// Whether a file is being written: under a temporary name, or under none.
fn has_temporary(folder: &Folder, child: &Child) -> bool {
    let here = fs::canonicalize(folder.path("")).unwrap();
    let unnamed =
        |file: std::path::PathBuf| file.starts_with(&here) && file.to_string_lossy().ends_with("(deleted)");
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(unnamed))
        || folder.names().iter().any(|name| name.ends_with(".tmp"))
}

/// The first Ctrl-C was not heard while the program waited for its input.
#[test]
fn a_job_that_waits_for_input_ends() {
    let folder = Folder::with_ratings(100);
    folder.ok("build ratings.tsv --key tconst --keys 1000 -o old.tamis");
    let before = folder.read("old.tamis");
    for line in [
        "build - -o old.tamis",
        "build - --key tconst --keys 1e6 -o old.tamis",
        "plan - --key tconst -o old.json",
        "add old.tamis -",
        "test old.tamis -",
        "filter old.tamis -",
        "filter old.tamis - -o out.tsv",
        "query old.tamis",
    ] {
        let mut child = start(&folder, line);
        let mut stdin = child.stdin.take().unwrap();
        if line.contains("--keys") {
            stdin.write_all(b"tconst\taverageRating\ntt1\t5\n").unwrap();
        }
        until("a handler of Ctrl-C", || listens(&child));
        interrupt(&child);
        is_interrupted(&folder, child);
        drop(stdin); // open until now
    }
    assert!(folder.read("old.tamis") == before);
}

#[test]
fn a_job_whose_input_never_ends_stops() {
    let folder = Folder::new();
    folder.write("old.tamis", "old");
    for line in ["build - -o old.tamis", "build - --keys 1e7 --threads 3 -o old.tamis"] {
        let mut child = start(&folder, line);
        let mut stdin = child.stdin.take().unwrap();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let feeder = thread::spawn(move || {
            let lines: String = (0..50_000).map(|i| format!("key{i}\n")).collect();
            while stdin.write_all(lines.as_bytes()).is_ok() {
                let _ = begun.send(());
            }
        });
        until("a handler of Ctrl-C", || listens(&child));
        has_begun.recv_timeout(PATIENCE).unwrap();
        interrupt(&child);
        is_interrupted(&folder, child);
        feeder.join().unwrap();
    }
    assert_eq!(folder.text("old.tamis"), "old");
}

/// It left its temporary file.
#[test]
fn data_that_is_being_generated_leaves_nothing() {
    let folder = Folder::new();
    for line in ["generate ratings --rows 1e9 -o old.tsv", "demo --folder . --rows 1e9"] {
        folder.write("old.tsv", "old");
        let child = start(&folder, line);
        until("a temporary file", || has_temporary(&folder, &child));
        interrupt(&child);
        is_interrupted(&folder, child);
        assert_eq!((folder.text("old.tsv").as_str(), folder.names().len()), ("old", 1), "{line}");
    }
}

/// It left its temporary file.
#[test]
fn a_job_that_is_killed_or_loses_its_terminal_leaves_nothing() {
    let folder = Folder::new();
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        folder.write("old.tsv", "old");
        let child = start(&folder, "generate ratings --rows 1e9 -o old.tsv");
        until("a temporary file", || has_temporary(&folder, &child));
        send(&child, signal);
        is_ended(&folder, child, code);
        assert_eq!((folder.text("old.tsv").as_str(), folder.names().len()), ("old", 1), "{signal}");
    }
}

/// The second job of a process obeyed the handler of the first, and could not be stopped.
#[test]
fn the_second_job_of_a_demo_stops_too() {
    let folder = Folder::new();
    let child = start(&folder, "demo --folder . --rows 5e5");
    until("the filters", || folder.path("ratings.tamis").exists());
    interrupt(&child);
    is_interrupted(&folder, child);
    assert_eq!(folder.names(), ["ratings.tamis", "ratings.tsv"]);
}

#[test]
fn the_folder_of_an_experiment_is_removed() {
    let folder = Folder::new();
    fs::create_dir(folder.path("tmp")).unwrap();
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", TAMIS, "reproduce", "ratings"]);
    command.current_dir(folder.path("")).env("TMPDIR", folder.path("tmp"));
    let child = Guard::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let entries = || fs::read_dir(folder.path("tmp")).unwrap().count();
    until("a folder", || entries() > 0);
    interrupt(&child);
    is_interrupted(&folder, child);
    assert_eq!(entries(), 0);
    assert_eq!(folder.names(), ["tmp"]);
}

/// As the background jobs of scripts ignore Ctrl-C; kill they do not.
#[test]
fn where_ctrl_c_is_to_be_ignored_it_is() {
    let folder = Folder::new();
    let child = Guard::start(
        Command::new("env")
            .args(["--ignore-signal=INT,HUP", TAMIS, "generate", "ratings", "--rows", "1e9", "-o", "x.tsv"])
            .current_dir(folder.path(""))
            .stderr(Stdio::piped()),
    );
    until("a temporary file", || has_temporary(&folder, &child));
    interrupt(&child);
    send(&child, "-HUP");
    send(&child, "-TERM");
    is_ended(&folder, child, 143);

    let mut child = Guard::start(
        Command::new("sh")
            .args(["-c", "trap '' INT; exec $TAMIS build - -o keys.tamis"])
            .env("TAMIS", TAMIS)
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    );
    let mut stdin = child.stdin.take().unwrap();
    let name = format!("/proc/{}/comm", child.id());
    until("tamis itself", || fs::read_to_string(&name).unwrap().trim() == "tamis");
    thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    thread::sleep(Duration::from_millis(700)); // longer than a job would be given
    stdin.write_all(b"a\nb\n").unwrap();
    drop(stdin);
    assert_eq!(child.said().0, Some(0));
    assert_eq!(folder.run("query keys.tamis a").code, 0);
}
