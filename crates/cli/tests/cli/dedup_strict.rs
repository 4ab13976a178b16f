//! `dedup --strict`: what its two passes see is one input, and what it puts aside has no name.
#![cfg(all(debug_assertions, target_os = "linux"))]

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
    let line = "dedup a.csv b.csv --key id --strict -o out.csv --rejected rest.csv";
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
    for (input, most) in [("in", lines.len() * 5 / 4), ("few", 100_000 / 8 + 1_000)] {
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
            assert!(!bytes.is_empty() && bytes.iter().sum::<u64>() <= most as u64, "{input}: {bytes:?}");
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
