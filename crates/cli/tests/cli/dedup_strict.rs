//! `dedup --strict`: one pass where all keys fit into memory; what two passes see is one input, and what is put aside
//! has no name.
#![cfg(all(debug_assertions, target_os = "linux"))]

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Folder, Guard, TAMIS, until};

/// Runs until the first pass is done, does something, and lets it go on.
fn between_passes(folder: &Folder, line: &str, act: impl FnOnce(u32)) -> (Option<i32>, String) {
    fs::create_dir_all(folder.path("tmp")).unwrap();
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .env("TAMIS_TEST_HOLD_AT", "dedup/first-pass:held")
            .env("TMPDIR", folder.path("tmp"))
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    );
    until("the end of the first pass", || folder.path("held").exists().then_some(()));
    act(child.id());
    fs::remove_file(folder.path("held")).unwrap();
    child.said()
}

#[test]
fn an_input_that_changes_between_the_passes_is_refused_and_the_output_stays() {
    let folder = Folder::new();
    let (first, second) = ("id,x\n1,a\n2,b\n1,c\n", "id,x\n3,a\n2,b\n");
    folder.write("out.csv", "old");
    let line = "dedup a.csv b.csv --key id --strict --memory 1kB -o out.csv --rejected rest.csv";
    let changes: [(&str, &str); 6] = [
        ("appended", "id,x\n1,a\n2,b\n1,c\n5,d\n"),
        ("appended, a repetition", "id,x\n1,a\n2,b\n1,c\n2,d\n"),
        ("replaced", "id,x\n1,a\n7,b\n1,c\n"),
        ("replaced beside the key", "id,x\n1,a\n2,z\n1,c\n"),
        ("shortened", "id,x\n1,a\n"),
        ("in another order", "id,x\n2,b\n1,a\n1,c\n"),
    ];
    for (how, changed) in changes {
        folder.write("a.csv", first);
        folder.write("b.csv", second);
        // As somebody does who writes to the file, and as somebody does who puts another in its place.
        for whole in [false, true] {
            let (code, said) = between_passes(&folder, line, |_| {
                if whole {
                    folder.write("new", changed);
                    fs::rename(folder.path("new"), folder.path("a.csv")).unwrap();
                } else {
                    let file = fs::OpenOptions::new().write(true).open(folder.path("a.csv"));
                    file.and_then(|mut file| {
                        file.write_all(changed.as_bytes())?;
                        file.set_len(changed.len() as u64)
                    })
                    .unwrap();
                }
            });
            // A file that is held open stays the one that was opened.
            let as_before = code == Some(0) && folder.text("out.csv") == "id,x\n1,a\n2,b\n3,a\n";
            if whole && as_before {
                fs::remove_file(folder.path("rest.csv")).unwrap();
                folder.write("out.csv", "old");
            } else {
                assert_eq!(code, Some(1), "{how}: {said}");
                assert!(said.contains("a.csv") && said.contains("while it was read"), "{how}: {said}");
            }
            assert_eq!(folder.text("out.csv"), "old", "{how}");
            assert!(!folder.path("rest.csv").exists(), "{how}");
            folder.write("a.csv", first);
        }
    }
    let (code, said) = between_passes(&folder, line, |_| {});
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(folder.text("out.csv"), "id,x\n1,a\n2,b\n3,a\n");
}

#[test]
fn what_is_put_aside_has_no_name_and_takes_no_more_than_the_keys() {
    let folder = Folder::new();
    let lines: String = (0..400_000u64).map(|i| format!("{:08}\n", i * 7919 % 100_003)).collect();
    folder.write("in", &lines);
    folder.write("few", "7\n".repeat(100_000));
    for (input, most) in [("in", lines.len() * 5 / 4), ("few", 0)] {
        let line = format!("dedup {input} --strict --memory 100kB -o out");
        let (code, said) = between_passes(&folder, &line, |process| {
            assert_eq!(fs::read_dir(folder.path("tmp")).unwrap().count(), 0, "files with names");
            let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
            let aside = open.filter_map(|file| {
                let path = file.ok()?.path();
                fs::read_link(&path).ok()?.starts_with(folder.path("tmp")).then_some(())?;
                fs::metadata(path).ok()
            });
            let bytes: Vec<u64> = aside.map(|file| file.len()).collect();
            assert_eq!(bytes.is_empty(), most == 0, "{input}: {bytes:?}");
            assert!(bytes.iter().sum::<u64>() <= most as u64, "{input}: {bytes:?}");
        });
        assert_eq!(code, Some(0), "{said}");
    }
    // Nothing is left by a run that is killed.
    let line = "dedup in --strict --memory 100kB -o killed";
    let (code, _) = between_passes(&folder, line, |process| {
        Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
    });
    assert_eq!(code, None);
    assert_eq!(fs::read_dir(folder.path("tmp")).unwrap().count(), 0);
}

#[test]
fn keys_that_fit_into_memory_are_compared_in_one_pass() {
    let folder = Folder::new();
    folder.write("a.csv", "id,x\n1,a\n2,b\n1,c\n");
    let line = "dedup a.csv --key id --strict -o out.csv --rejected rest.csv";
    let (code, said) = between_passes(&folder, line, |_| fs::remove_file(folder.path("a.csv")).unwrap());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(folder.text("out.csv"), "id,x\n1,a\n2,b\n");
    assert_eq!(folder.text("rest.csv"), "id,x\n1,c\n");
}

#[test]
fn records_before_and_after_memory_is_full_make_one_output() {
    let folder = Folder::new();
    let lines =
        |from: u64| -> String { (from..from + 9_000).map(|i| format!("{}\n", i * 7919 % 10_007)).collect() };
    let (first, second) = (lines(0), lines(5_000));
    folder.write("a", &first);
    folder.write("b", &second);
    let mut seen = HashSet::new();
    let (new, old): (Vec<&str>, Vec<&str>) =
        first.split_inclusive('\n').chain(second.split_inclusive('\n')).partition(|line| seen.insert(*line));
    for memory in ["1kB", "5kB", "40kB", "70kB", "1MB"] {
        for threads in [1, 3] {
            let done = folder.json(&format!(
                "dedup a b --format lines --strict --memory {memory} --threads {threads} -o new --rejected old"
            ));
            assert!(folder.text("new") == new.concat() && folder.text("old") == old.concat(), "{memory}");
            assert_eq!((&done["records"], &done["first"]), (&18_000.into(), &new.len().into()), "{memory}");
            assert_eq!(done["keys"], new.len(), "{memory}");
        }
    }
}

#[test]
fn lines_of_many_chunks_pass_in_order_on_all_threads() {
    let folder = Folder::new();
    // Repetitions, by which threads begin to look for keys; then enough new keys for them to pause; then both.
    let line = |i: u64| match i {
        0..100_000 => i * 7919 % 1_009,
        100_000..250_000 => i,
        _ => i * 104_729 % 200_003,
    };
    let lines: String = (0..350_000).map(|i| format!("{}\n", line(i))).collect();
    folder.write("in", &lines);
    let mut seen = HashSet::new();
    let (new, old): (Vec<&str>, Vec<&str>) = lines.split_inclusive('\n').partition(|line| seen.insert(*line));
    for (memory, threads) in [("10kB", 4), ("2MB", 1), ("2MB", 4), ("256MB", 4)] {
        folder.json(&format!(
            "dedup in --format lines --strict --memory {memory} --threads {threads} -o new --rejected old"
        ));
        assert!(folder.text("new") == new.concat(), "{memory}, {threads} threads");
        assert!(folder.text("old") == old.concat(), "{memory}, {threads} threads");
    }
}

/// In one byte, each key came to be in a part of its own, and each part in a file: 300,000 lines did not end.
#[test]
fn too_little_memory_is_refused_and_the_least_that_is_not_is_enough_for_many_keys() {
    let folder = Folder::new();
    let lines: String = (0..100_000).map(|i| format!("{}\n", i * 7919 % 90_001)).collect();
    folder.write("in", &lines);
    folder.refused("dedup in --strict --memory 1 -o out", 2, &["--memory", "1kB"]);
    let done = folder.json("dedup in --format lines --strict --memory 1kB -o out");
    assert_eq!((&done["records"], &done["first"]), (&100_000.into(), &90_001.into()));
}
