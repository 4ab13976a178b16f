//! `dedup --state`: an output that is continued is only extended, whatever changed between two runs; what
//! cannot go on is refused, and everything stays as it was.

use std::fs;

use crate::support::{Done, Folder};

/// Files and what is in them.
fn all(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    folder.names().into_iter().map(|name| (name.clone(), folder.read(&name))).collect()
}

/// Runs what must be refused and leaves everything as it was.
fn refused(folder: &Folder, line: &str, says: &[&str]) {
    let before = all(folder);
    folder.refused(line, 1, says);
    assert!(all(folder) == before, "{line}: something has changed: {:?}", folder.names());
}

/// Runs what must succeed and say this.
fn says(folder: &Folder, line: &str, texts: &[&str]) {
    let Done { code, err, .. } = folder.run(line);
    assert_eq!(code, 0, "{line}: {err}");
    assert!(texts.iter().all(|text| err.contains(text)), "{line}: {texts:?} is missing in: {err}");
}

#[test]
fn a_script_that_runs_twice_leaves_what_it_left_the_first_time() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n1\n");
    folder.write("b", "2\n3\n");
    for _ in 0..3 {
        folder.ok("dedup a --state s -o out");
        folder.ok("dedup b --state s -o out");
        assert_eq!(folder.text("out"), "1\n2\n3\n");
        folder.ok("dedup a --state t -o of-a");
        folder.ok("dedup b --state t -o of-b");
        assert_eq!((folder.text("of-a"), folder.text("of-b")), ("1\n2\n".into(), "3\n".into()));
        folder.shell("cat a b | $TAMIS dedup - --format lines --state u -o of-pipe -q").succeeded("pipe");
        assert_eq!(folder.text("of-pipe"), "1\n2\n3\n");
    }
    says(&folder, "dedup a --state s -o out", &["out: appended what is new"]);
    folder.write("b", "2\n3\n4\n");
    folder.ok("dedup b --state s -o out");
    assert_eq!(folder.text("out"), "1\n2\n3\n4\n");
    says(&folder, "dedup b --state t -o new", &["new: another output", "only what is new"]);
    assert_eq!(folder.text("new"), "4\n");
}

#[test]
fn a_file_that_sorts_first_and_one_that_is_left_out_change_nothing_of_the_rest() {
    let folder = Folder::new();
    folder.write("logs/2", "b\nc\n");
    folder.ok("dedup logs --state s -o out");
    folder.write("logs/1", "a\nb\n");
    let found = folder.json("dedup logs --state s -o out");
    assert_eq!((&found["resumed"], &found["records"]), (&true.into(), &2.into()));
    assert_eq!(folder.text("out"), "b\nc\na\n");
    fs::remove_file(folder.path("logs/1")).unwrap();
    folder.write("logs/3", "c\nd\n");
    folder.ok("dedup logs --state s -o out");
    assert_eq!(folder.text("out"), "b\nc\na\nd\n");
}

#[test]
fn an_input_that_was_rotated_shortened_or_replaced_is_read_from_its_beginning_and_that_is_said() {
    let folder = Folder::new();
    folder.write("log", "a\nb\n");
    folder.ok("dedup log --state s -o out");
    fs::rename(folder.path("log"), folder.path("log.1")).unwrap();
    folder.write("log.1", "a\nb\nlate\n");
    folder.write("log", "c\nb\nd\n");
    let done = folder.run("dedup log --state s -o out");
    assert!(done.code == 0 && done.err.contains("log: another file than before"), "{}", done.err);
    #[cfg(unix)]
    assert!(done.err.contains("log.1 now"), "{}", done.err);
    assert_eq!(folder.text("out"), "a\nb\nc\nd\n");
    folder.ok("dedup log.1 log --state s -o out");
    assert_eq!(folder.text("out"), "a\nb\nc\nd\nlate\n");
    folder.write("log", "e\n");
    says(&folder, "dedup log --state s -o out", &["log: another file than before"]);
    assert_eq!(folder.text("out"), "a\nb\nc\nd\nlate\ne\n");
}

#[test]
fn an_output_that_lacks_something_is_refused_with_the_ways_out() {
    let folder = Folder::new();
    folder.write("in", "a\nb\n");
    folder.ok("dedup in --state s -o out");
    folder.write("in", "a\nb\nc\n");
    let ways = ["put it back", "another output", "remove the state"];
    let line = "dedup in --state s -o out";
    for (bytes, says) in [("a\n", "has 2 bytes"), ("", "has 0 bytes"), ("a\nx\nmuch more\n", "was changed")] {
        folder.write("out", bytes);
        refused(&folder, line, &[&ways[..], &["out: ", says]].concat());
    }
    fs::remove_file(folder.path("out")).unwrap();
    refused(&folder, line, &[&ways[..], &["out: is gone", "4 bytes"]].concat());
    #[cfg(unix)]
    {
        folder.write("d/x", "");
        folder.refused("dedup in --state s -o d/../out", 1, &["is gone"]);
    }
    // Each way out is one.
    folder.ok("dedup in --state s -o other");
    assert_eq!(folder.text("other"), "c\n");
    folder.write("out", "a\nb\n");
    folder.ok("dedup in --state s -o out");
    assert_eq!(folder.text("out"), "a\nb\n");
    folder.write("out", "x");
    fs::remove_file(folder.path("s")).unwrap();
    folder.ok(line);
    assert_eq!(folder.text("out"), "a\nb\nc\n");
}

#[test]
fn an_output_that_the_state_has_not_written_is_not_replaced_by_what_is_new() {
    let folder = Folder::new();
    folder.write("in", "a\n");
    folder.ok("dedup in --state s -o out");
    folder.write("other", "mine\n");
    folder.write("in", "a\nb\n");
    refused(&folder, "dedup in --state s -o other", &["other: is there already", "move it away"]);
    // Columns of another table do not go below its header.
    folder.write("a.csv", "id,x\n1,2\n");
    folder.write("b.csv", "x,id\n2,3\n");
    folder.ok("dedup a.csv --key id --state t -o out.csv");
    folder.write("c.csv", "id\n3\n");
    folder.write("d.csv", "id,x,y\n3,1,2\n");
    for input in ["b.csv", "c.csv", "d.csv"] {
        let line = format!("dedup {input} --key id --state t -o out.csv");
        refused(&folder, &line, &["out.csv: begins with another header"]);
    }
    // What a run that was killed has left is cut off, and that is said: its lock was left, too.
    folder.write("out", "a\nadded\n");
    folder.write("s.lock", "");
    says(&folder, "dedup in --state s -o out", &["out: cut off 6 bytes"]);
    assert_eq!(folder.text("out"), "a\nb\n");
}

/// Everything that was there, whole; and nothing new.
#[test]
fn a_job_that_fails_leaves_all_files_as_they_were() {
    let folder = Folder::new();
    folder.write("good.csv", "id,x\n1,a\n2,b\n");
    folder.write("bad.csv", "id,x\n3,a\n,b\n");
    let many: String = (0..200_000).map(|i| format!("{i},{i:09}\n")).collect();
    folder.write("many.csv", format!("id,x\n{many}"));
    folder.write("old.csv", "id,x\nold,1\n");
    folder.ok("dedup good.csv --key id --state s -o out.csv");
    let full = |line: &str| {
        let before = all(&folder);
        let done = folder.shell(&format!("trap '' XFSZ; ulimit -f 2000; $TAMIS {line}"));
        assert_eq!(done.code, 1, "{line}: {}", done.err);
        assert!(all(&folder) == before, "{line}: something has changed: {:?}", folder.names());
    };
    // With a new state and an old output; with a new state and none; with another and with the same output.
    for to in
        ["--state new -o old.csv", "--state new -o new.csv", "--state s -o new.csv", "--state s -o out.csv"]
    {
        for input in ["bad.csv", "good.csv bad.csv", "missing.csv", "good.csv missing.csv"] {
            let line = format!("dedup {input} --key id {to} --commit-every 1h");
            let before = all(&folder);
            assert_eq!(folder.run(&line).code, 1, "{line}");
            let kept = |name: &str| !(to == "--state s -o new.csv" && name == "s");
            let is_kept = |files: Vec<(String, Vec<u8>)>| {
                files.into_iter().filter(|(name, _)| kept(name)).collect::<Vec<_>>()
            };
            assert!(
                is_kept(all(&folder)) == is_kept(before),
                "{line}: something has changed: {:?}",
                folder.names()
            );
        }
    }
    // A filter of 1 MiB does not fit beside an output of 3 MB: the disk is full while it is written.
    for to in ["--state new -o old.csv", "--state s -o out.csv"] {
        full(&format!("dedup many.csv --key id {to} --commit-every 1h -q"));
    }
    // And nothing of it hinders the next run.
    folder.ok("dedup good.csv --key id --state new -o old.csv");
    assert_eq!(folder.text("old.csv"), "id,x\n1,a\n2,b\n");
    folder.ok("dedup good.csv many.csv --key id --state s -o out.csv");
    assert_eq!(folder.text("out.csv").lines().count(), 200_001);
}

#[test]
fn another_key_column_is_refused_as_other_steps_are() {
    let folder = Folder::new();
    folder.write("in.csv", "id,mail\n1,a\n2,b\n");
    folder.ok("dedup in.csv --key id --state s -o out.csv");
    refused(
        &folder,
        "dedup in.csv --key mail --state s -o out.csv",
        &["keys of id, not of mail", "leave out --key"],
    );
    folder.refused("dedup in.csv --key id:lower --state s -o out.csv", 2, &["steps"]);
    folder.ok("dedup in.csv --state s -o out.csv");
    folder.ok("dedup in.csv --key id --state s -o out.csv");
    // A filter that `build` made belongs to no column of these inputs until the first run.
    folder.write("known.csv", "user\n1\n");
    folder.ok("build known.csv --key user --keys 100 -o t");
    for _ in 0..2 {
        folder.ok("dedup in.csv --key id --state t -o new.csv");
        assert_eq!(folder.text("new.csv"), "id,mail\n2,b\n");
    }
    refused(&folder, "dedup in.csv --key mail --state t -o new.csv", &["keys of id, not of mail"]);
}

#[test]
fn a_last_line_without_an_end_is_taken_once_and_a_longer_one_is_another() {
    let folder = Folder::new();
    let line = "dedup log --state s -o out --rejected again --size 64";
    // A full filter remembers nothing more: what is read twice passes twice.
    let lines: String = (0..500).map(|i| format!("{i}\n")).collect();
    let run = |log: &str, records: u64, new: &str| {
        folder.write("log", lines.clone() + log);
        let before = if folder.path("out").exists() { folder.text("out") } else { String::new() };
        let found = folder.json(line);
        assert_eq!(found["records"], records, "{log:?}");
        let after = folder.text("out");
        if !before.is_empty() {
            assert_eq!(after.strip_prefix(&*before).expect("only more of it"), new, "{log:?}");
        }
        assert!(!folder.text("again").contains("xy"), "{log:?}");
    };
    run("xy", 501, "");
    run("xy", 0, "");
    run("xy", 0, "");
    run("xy\n", 0, "");
    run("xy\nab", 1, "\nab");
    run("xy\nab\r\n", 0, "");
    run("xy\nab\r\nxy", 1, "\nxy");
    run("xy\nab\r\nxyz", 1, "\nxyz");
    run("xy\nab\r\nxyz\nq\n", 1, "\nq\n");
    run("xy\nab\r\nxyz\nq\nv1", 1, "v1");
    run("xy\nab\r\nxyz\nq\nw2", 1, "\nw2");
}

/// The step comes before the state says anything of the output.
#[test]
#[cfg(all(debug_assertions, unix))]
fn the_folder_of_an_output_is_synced_before_a_state_names_it() {
    let folder = Folder::new();
    folder.write("in", "a\n");
    folder.write("d/x", "");
    let done = folder
        .shell("TAMIS_TEST_END_AT=appended/lasting:1 $TAMIS dedup in --state s -o d/out; test $? -gt 100");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(folder.path("d/out").exists() && !folder.path("s").exists());
    folder.ok("dedup in --state s -o d/out");
    assert_eq!(folder.text("d/out"), "a\n");
}

/// A run that ends after the output is in its place and before the state is begins again.
#[test]
#[cfg(all(debug_assertions, unix))]
fn an_output_that_was_replaced_without_a_state_is_replaced_again() {
    let folder = Folder::new();
    folder.write("in", "a\nb\na\n");
    folder.write("out", "old\n");
    for (step, left) in
        [("dedup/written", "old\n"), ("dedup/half-written", "old\n"), ("files/renamed", "a\nb\n")]
    {
        let line = format!(
            "TAMIS_TEST_END_AT={step}:1 $TAMIS dedup in --state s -o out --commit-every 0ms; test $? -gt 100"
        );
        assert_eq!(folder.shell(&line).code, 0, "{step}");
        assert_eq!(folder.text("out"), left, "{step}");
        assert!(!folder.path("s").exists(), "{step}");
    }
    for _ in 0..2 {
        folder.ok("dedup in --state s -o out");
        assert_eq!(folder.text("out"), "a\nb\n");
    }
}

#[test]
#[cfg(unix)]
fn states_locks_and_outputs_are_files_and_not_names() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    folder.write("in", "a\n");
    folder.write("d/x", "");
    symlink("s", folder.path("link")).unwrap();
    let twice = ["two outputs"];
    for (state, output) in [("s", "d/../s"), ("s", "s.lock"), ("s", "d/../s.lock"), ("d/../s", "s.lock")] {
        folder.refused(&format!("dedup in --state {state} -o {output}"), 2, &twice);
        folder.refused(&format!("dedup in --state {state} -o out --rejected {output}"), 2, &twice);
        assert_eq!(folder.names(), ["d", "in", "link"], "{state} {output}");
    }
    folder.refused("dedup in --state s -o out --rejected d/../out", 2, &twice);
    folder.ok("dedup in --state s -o out");
    fs::hard_link(folder.path("s"), folder.path("hard")).unwrap();
    for output in ["link", "d/../link", "hard"] {
        refused_state(&folder, &format!("dedup in --state s -o {output}"), &twice);
    }
    // An output is continued by all of its names.
    folder.write("in", "a\nb\n");
    symlink("out", folder.path("link-to-out")).unwrap();
    folder.ok("dedup in --state link -o d/../out");
    assert!(folder.path("link").is_symlink());
    folder.write("in", "a\nb\nc\n");
    folder.ok("dedup in --state d/../s -o link-to-out");
    assert_eq!(folder.text("out"), "a\nb\nc\n");
    // What is no lock is not taken for one, and not removed.
    folder.write("t.lock", "mine");
    folder.refused("dedup in --state t -o new", 1, &["t.lock", "not empty"]);
    folder.refused("dedup t.lock --state t -o new", 1, &["t.lock", "not empty"]);
    assert_eq!(folder.text("t.lock"), "mine");
}

#[cfg(unix)]
fn refused_state(folder: &Folder, line: &str, says: &[&str]) {
    let before = folder.read("s");
    folder.refused(line, 2, says);
    assert!(folder.read("s") == before, "{line}");
}

#[test]
#[cfg(unix)]
fn a_state_in_use_is_refused_by_all_of_its_names() {
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use crate::support::{Guard, TAMIS, until};

    let folder = Folder::new();
    folder.write("in", "a\n");
    folder.write("d/x", "");
    folder.ok("dedup in --state s -o out");
    symlink("../s", folder.path("d/link")).unwrap();
    fs::hard_link(folder.path("s"), folder.path("hard")).unwrap();
    let mut first = Guard::start(
        Command::new(TAMIS)
            .args(["dedup", "-", "--format", "lines", "--state", "d/link", "-o", "first", "--threads", "1"])
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .stdout(Stdio::null()),
    );
    first.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
    until("an output", || (fs::read(folder.path("first")).ok()? == b"x\n").then_some(()));
    assert!(folder.path("s.lock").exists() && !folder.path("d/link.lock").exists());
    for name in ["s", "d/../s", "d/link", "hard"] {
        folder.refused(&format!("dedup in --state {name} -o other"), 1, &["another process"]);
        folder.refused(&format!("build in -o {name}"), 1, &["another process"]);
    }
    drop(first.stdin.take());
    assert!(first.end().success());
    assert!(!folder.path("s.lock").exists());
}

#[test]
fn what_is_only_counted_comes_again() {
    let folder = Folder::new();
    folder.write("in.csv", "id,v\n1,a\n2,b\n1,c\n");
    for _ in 0..2 {
        let counted = folder.json("dedup in.csv --key id --state s --count");
        assert_eq!(counted["first"], 2, "{counted}");
        assert!(!folder.path("s").exists());
    }
    folder.ok("dedup in.csv --key id --state s -o out.csv");
    assert_eq!(folder.read("out.csv"), b"id,v\n1,a\n2,b\n");
    folder.write("more.csv", "id,v\n2,x\n3,y\n");
    assert_eq!(folder.json("dedup more.csv --key id --state s --count")["first"], 1);
    folder.ok("dedup more.csv --key id --state s -o out.csv");
    assert_eq!(folder.read("out.csv"), b"id,v\n1,a\n2,b\n3,y\n");
}

/// They were replaced, below the length that the state has of them.
#[test]
fn a_run_that_only_counts_leaves_the_outputs_of_the_state() {
    let folder = Folder::new();
    folder.write("in.csv", "id,v\n1,a\n2,b\n1,c\n,d\n");
    folder.ok("dedup in.csv --key id --state s -o out.csv --rejected r.csv --bad-rows-to bad.ndjson -q");
    let count = "dedup in.csv --key id --state s --count";
    refused(&folder, &format!("{count} --rejected r.csv --bad-rows skip"), &["r.csv", "only counts"]);
    refused(&folder, &format!("{count} --bad-rows-to ./bad.ndjson"), &["bad.ndjson", "only counts"]);
    refused(&folder, &format!("{count} --rejected out.csv --bad-rows skip"), &["out.csv", "only counts"]);
    folder.ok(&format!("{count} --rejected other.csv --bad-rows-to other.ndjson"));
}

/// Commits went on while repetitions were still written to a file, and what had gone nowhere was remembered.
#[test]
#[cfg(unix)]
fn what_went_to_a_reader_that_has_gone_comes_again() {
    let folder = Folder::new();
    folder.write("in", (0..400_000).map(|i| format!("{i}\n{i}\n")).collect::<String>());
    let line = "$TAMIS dedup in --seed 1 --state s --rejected r --threads 1 --commit-every";
    folder.shell(&format!("(sleep 0.3; {line} 0s -q) | true"));
    let second = folder.shell(&format!("{line} 10s"));
    assert_eq!(second.out.lines().count(), 400_000, "{}", second.err);
}

/// Standard input was taken for a file of that name, which had been read before.
#[test]
fn standard_input_is_no_file_that_is_called_so() {
    let folder = Folder::new();
    folder.write("-", "1\n");
    for (text, out) in [("1\n", "1\n"), ("2\n", "1\n2\n")] {
        let done = folder.run_with("dedup - --format lines --state s -o out", text);
        assert_eq!((done.code, folder.text("out").as_str()), (0, out), "{}", done.err);
    }
}

#[test]
fn a_file_that_was_rewritten_or_is_named_anyway_is_not_to_be_named_too() {
    let folder = Folder::new();
    folder.write("a.log", "x1\nx2\n");
    folder.ok("dedup a.log --state s -o out.txt");
    fs::write(folder.path("a.log"), "y1\n").unwrap(); // the same inode
    let said = folder.run("dedup a.log --state s -o out.txt").err;
    assert!(said.contains("another file than before") && !said.contains("name it, too"), "{said}");
    fs::rename(folder.path("a.log"), folder.path("a.log.1")).unwrap();
    folder.write("a.log", "z1\n");
    let said = folder.run("dedup a.log a.log.1 --format lines --state s -o out.txt").err;
    assert!(!said.contains("name it, too"), "{said}");
    assert_eq!(folder.read("out.txt"), b"x1\nx2\ny1\nz1\n");
}

#[test]
fn what_somebody_else_wrote_to_an_output_is_not_cut_off() {
    let folder = Folder::new();
    folder.write("a", "1\n");
    folder.ok("dedup a --state s -o out");
    folder.write("out", "1\nmine\n");
    folder.refused("dedup a --state s -o out", 1, &["out", "5 bytes more"]);
    assert_eq!(folder.read("out"), b"1\nmine\n");
    // Also where the state has written nothing to it.
    folder.write("again", "1\n");
    folder.ok("dedup again --state s -o empty");
    folder.write("empty", "other\n");
    folder.refused("dedup again --state s -o empty", 1, &["6 bytes more"]);
    assert_eq!(folder.read("empty"), b"other\n");
}

#[test]
fn a_copy_of_a_state_does_not_cut_off_what_came_after_it() {
    let folder = Folder::new();
    for name in ["a", "b", "c"] {
        folder.write(name, format!("{name}\n"));
    }
    folder.ok("dedup a --state s -o out");
    fs::copy(folder.path("s"), folder.path("older")).unwrap();
    folder.ok("dedup b --state s -o out");
    folder.refused("dedup c --state older -o out", 1, &["2 bytes more"]);
    assert_eq!(folder.read("out"), b"a\nb\n");
}

#[test]
fn an_output_is_written_by_one_process_at_a_time() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n");
    folder.ok("dedup a --state s1 -o out");
    let held = fs::OpenOptions::new().write(true).open(folder.path("out")).unwrap();
    held.try_lock().unwrap();
    for state in ["s1", "s2"] {
        folder.refused(&format!("dedup a --state {state} -o out"), 1, &["another process is writing it"]);
    }
    drop(held);
    folder.ok("dedup a --state s1 -o out");
    assert_eq!(folder.read("out"), b"1\n2\n");
}
