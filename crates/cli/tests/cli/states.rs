//! States that lie in `testdata/states`: a stream's folder of the second version and a dedup state of
//! both are continued, a stream's folder of the first version is refused with what to do.
//!
//! Their inputs and outputs are named by `/proc/self/cwd/…`, a name that is absolute and leads to the
//! folder of each test.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis::hash::Scheme;

use crate::golden::root;
use crate::support::{Folder, container};

fn golden() -> PathBuf {
    root().join("testdata/states")
}

/// Copies the files of a folder, not the folders in it.
fn copy(from: &Path, folder: &Folder, to: &str) {
    fs::create_dir_all(folder.path(to)).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap()) {
        if file.path().is_file() {
            fs::copy(file.path(), folder.path(to).join(file.file_name())).unwrap();
        }
    }
}

/// All files of a folder.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// The job of the streams, as `make.sh` has it.
const STREAM: &str = "stream --train /proc/self/cwd/train.csv --query /proc/self/cwd/ask.txt --key user:lower --query-key 1 --group place --keys 20 --fpr 0.01 --seed 7 --batch 2 --window 2d --slide 2d --time at --lateness 1h --late take --ahead 1h --counts /proc/self/cwd/hits.txt --epsilon 0.2 -o /proc/self/cwd/out.txt";

/// The commit has two batches; a third was begun when the run was killed; a fourth is left.
#[test]
fn a_stream_of_the_second_version_is_continued() {
    let (folder, calm) = (Folder::new(), Folder::new());
    for folder in [&folder, &calm] {
        copy(&golden().join("stream"), folder, "");
    }
    copy(&golden().join("stream/v2"), &folder, "state");
    let found = folder.json(&format!("{STREAM} --state state"));
    assert_eq!((&found["resumed"], found["batch"].as_u64()), (&true.into(), Some(4)), "{found}");
    let found = calm.json(&format!("{STREAM} --state state"));
    assert_eq!((&found["resumed"], found["rows"].as_u64()), (&false.into(), Some(5)), "{found}");
    for name in ["out.txt", "hits.txt", "state/filter.tamis", "state/counts.tamis", "state/job.json"] {
        assert!(folder.read(name) == calm.read(name), "{name} differs");
    }
    assert!(folder.text("out.txt").contains("dan\tsouth\n"));
}

#[test]
fn a_stream_of_the_first_version_is_refused_with_what_to_do_and_left_as_it_is() {
    let folder = Folder::new();
    copy(&golden().join("stream"), &folder, "");
    copy(&golden().join("stream/v1"), &folder, "state");
    let before = files(&folder.path("state"));
    let says = ["state: ", "version 1", "tamis 0.1.0", "the same command", "an empty folder"];
    folder.refused(&format!("{STREAM} --state state"), 1, &says);
    assert!(files(&folder.path("state")) == before);
}

/// The keys of both: 9, which a filter of `build` had, and 1, 2 and 3 of the rows so far.
#[test]
fn a_dedup_state_is_continued_with_its_seed_and_written_in_the_newest_form() {
    for version in ["v1", "v2"] {
        let folder = Folder::new();
        copy(&golden().join("dedup"), &folder, "");
        fs::rename(folder.path(&format!("{version}.tamis")), folder.path("seen.tamis")).unwrap();
        let line = "dedup /proc/self/cwd/in.csv --key id:trim --state seen.tamis -o /proc/self/cwd/first.csv";
        folder.write("in.csv", folder.text("in.csv") + "2,e\n4,f\n9,g\n4,h\n");
        let found = folder.json(line);
        assert_eq!((&found["resumed"], found["records"].as_u64()), (&true.into(), Some(4)), "{version}");
        assert_eq!(folder.text("first.csv"), "id,what\n1,a\n2,b\n3,d\n4,f\n", "{version}");
        let state = container(&folder.path("seen.tamis"));
        assert_eq!(state.params().common.hash, Scheme::Xxh3 { seed: 7 });
        let journal: Value = serde_json::from_slice(state.journal()).unwrap();
        assert_eq!((&journal["version"], &journal["keys"]), (&2.into(), &5.into()), "{version}");
        assert_eq!(journal["inputs"][0]["trace"]["first_length"], folder.read("in.csv").len());
        // Other inputs, with the same keys.
        folder.write("other.csv", "id\n1\n5\n4\n");
        folder.ok("dedup other.csv --key id:trim --state seen.tamis -o other.txt");
        assert_eq!(folder.text("other.txt"), "id\n5\n", "{version}");
    }
}
