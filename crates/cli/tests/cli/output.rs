//! Where results go: whole or not at all.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, TAMIS};

/// Every verb that writes a file, with `OUT` for its name.
const WRITERS: [&str; 8] = [
    "build ratings.tsv --key tconst -o OUT",
    "merge a.tamis a.tamis -o OUT",
    "plan ratings.tsv --key tconst -o OUT",
    "plan --keys 1e6 --fpr 0.01 -o OUT",
    "plan --keys 1e6 --fpr 0.01 --chart OUT",
    "test a.tamis ratings.tsv --report OUT",
    "inspect a.tamis --raw-bits OUT",
    "generate ratings --rows 1000 -o OUT",
];

fn folder() -> Folder {
    let folder = Folder::with_ratings(1000);
    folder.ok("build ratings.tsv --key tconst --keys 5000 -o a.tamis");
    folder
}

#[test]
fn an_output_that_cannot_be_written_is_refused_with_the_reason() {
    let folder = folder();
    fs::create_dir(folder.path("sub")).unwrap();
    let before = folder.names();
    for writer in WRITERS {
        let to = |path: &str| writer.replace("OUT", path);
        folder.refused(&to("none/x"), 1, &["none/x", "its folder does not exist"]);
        folder.refused(&to("ratings.tsv/x"), 1, &["ratings.tsv/x", "its folder does not exist"]);
        folder.refused(&to("sub"), 1, &["sub", "is a folder; name a file in it"]);
        // Those that write there.
        if !["generate", "build", "merge"].iter().any(|verb| writer.starts_with(verb)) {
            folder.refused(&to("-"), 2, &["standard output", "name a file"]);
        }
    }
    assert_eq!(folder.names(), before);
}

/// A rename onto a device replaces it: a privileged user would lose /dev/null.
#[test]
fn a_device_is_not_replaced() {
    let folder = folder();
    let line = "mkfifo pipe && $TAMIS build ratings.tsv --key tconst -o pipe";
    folder.shell(line).refused(line, 1, &["pipe", "not a regular file"]);
    folder.refused("build ratings.tsv --key tconst -o /dev/null", 1, &["/dev/null", "not a regular file"]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// A build of hours must not end with a name that was wrong from the beginning.
#[test]
fn a_wrong_output_is_refused_before_the_input_is_read() {
    let folder = folder();
    for arguments in [["build", "-", "-o", "none/x"], ["test", "a.tamis", "-", "--report=none/x"]] {
        let mut child = Command::new(TAMIS)
            .args(arguments)
            .current_dir(folder.path(""))
            .stdin(Stdio::piped()) // which stays open
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let since = Instant::now();
        let code = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if since.elapsed() > Duration::from_secs(20) => {
                    child.kill().unwrap();
                    panic!("{arguments:?} waits for its input");
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        assert_eq!(code, Some(1), "{arguments:?}");
    }
}

#[test]
fn an_input_is_not_overwritten_by_the_output() {
    let folder = folder();
    folder.write("sub/part.tsv", folder.read("ratings.tsv"));
    let before = folder.read("ratings.tsv");
    for line in [
        "build ratings.tsv --key tconst -o ratings.tsv",
        "build ratings.tsv --key tconst -o ./sub/../ratings.tsv",
        "build *.tsv --key tconst -o ratings.tsv",
        "build sub --key tconst -o sub/part.tsv",
        "plan ratings.tsv --key tconst -o ratings.tsv",
        "test a.tamis ratings.tsv --report ratings.tsv",
        "test a.tamis ratings.tsv --report a.tamis",
        "inspect a.tamis --raw-bits a.tamis",
    ] {
        folder.refused(line, 2, &["is an input"]);
    }
    assert!(folder.read("ratings.tsv") == before && folder.read("sub/part.tsv") == before);
    folder.ok("verify a.tamis");
}

/// The disk is full where a file may not grow: the system refuses the same write.
#[test]
fn on_a_full_disk_the_old_output_stays_and_no_temporary_file_is_left() {
    let folder = folder();
    folder.write("old", "old");
    let before = folder.names();
    let filters = folder.read("a.tamis");
    // The signal for it ended the program without a word, and left the lock of a state.
    let limited = |line: &str| {
        let line = format!("ulimit -f 1; exec $TAMIS {line}");
        folder.shell(&line).refused(&line, 1, &["File too large"]);
        assert_eq!(folder.names(), before, "{line}");
    };
    limited("build ratings.tsv --key tconst --keys 1e5 -o old");
    limited("merge a.tamis a.tamis -o old");
    limited("add a.tamis ratings.tsv");
    limited("generate ratings --rows 1000 -o old");
    limited("test a.tamis ratings.tsv --report old");
    limited("inspect a.tamis --raw-bits old");
    limited("dedup ratings.tsv --key tconst --state s.tamis -o once.tsv");
    assert_eq!(folder.text("old"), "old");
    assert!(folder.read("a.tamis") == filters);
}

/// It was said of standard input that it were too large.
#[test]
fn standard_input_that_cannot_be_kept_is_blamed_on_the_disk() {
    let folder = folder();
    for packed in ["cat", "gzip -c"] {
        // By other hashes, of counted keys, no rows are kept.
        let build = "build - --key tconst --hash murmur3 -o x.tamis";
        let line = format!("{packed} ratings.tsv | (ulimit -f 1; exec $TAMIS {build})");
        folder.shell(&line).refused(&line, 1, &["temporary file", "TMPDIR"]);
    }
}

#[test]
fn a_link_is_written_through_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    folder.write("sub/real.tamis", "old");
    symlink("sub/real.tamis", folder.path("link.tamis")).unwrap();
    fs::set_permissions(folder.path("sub/real.tamis"), fs::Permissions::from_mode(0o600)).unwrap();
    folder.ok("build ratings.tsv --key tconst -o link.tamis");
    assert!(folder.path("link.tamis").is_symlink());
    folder.ok("verify sub/real.tamis");
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("sub/real.tamis"), 0o600);
    let line = "umask 027; $TAMIS build ratings.tsv --key tconst -o new.tamis";
    folder.shell(line).succeeded(line);
    assert_eq!(mode("new.tamis"), 0o640);
    symlink("nowhere", folder.path("loose")).unwrap();
    folder.refused("build ratings.tsv --key tconst -o loose", 1, &["broken link"]);
}

#[test]
fn a_failed_job_leaves_the_old_output() {
    let folder = folder();
    folder.write("old.tamis", "old");
    folder.write("bad.csv", "k\n1\n\n2\n");
    folder.write("bad2.csv", "k,l\n1,2\n,3\n");
    folder.refused("build bad2.csv --key k -o old.tamis", 1, &["line 3"]);
    folder.refused("build none.csv --key k -o old.tamis", 1, &["none.csv"]);
    folder.refused("merge a.tamis none.tamis -o old.tamis", 1, &["none.tamis"]);
    assert_eq!(folder.text("old.tamis"), "old");
    let before = folder.read("a.tamis");
    folder.refused("add a.tamis bad2.csv --key k", 1, &["line 3"]);
    assert!(folder.read("a.tamis") == before);
    folder.is_clean();
}

/// `dedup` put its records in the place of the exact keys of filters that it did not know of, and `build --exact` its
/// keys in the place of what a user had called so.
#[test]
fn exact_keys_replace_exact_keys_alone_and_nothing_else_replaces_them() {
    let folder = Folder::new();
    folder.write("k.txt", "1\n2\n");
    folder.write("k.keys", "1\n2\n");
    folder.write("k.tamis", "1\n2\n");
    folder.ok("build k.txt --exact -o e.tamis");
    let before = (folder.read("e.tamis"), folder.read("e.tamis.keys"));
    for line in [
        "dedup k.txt -o e.tamis.keys",
        "dedup k.keys -o e.tamis.keys",
        "dedup k.tamis --format lines -o e.tamis",
        "dedup k.txt -o o.txt --bad-rows-to e.tamis.keys",
        "build k.txt -o e.tamis.keys",
    ] {
        folder.refused(line, 2, &["its name says", "name it"]);
    }
    assert!((folder.read("e.tamis"), folder.read("e.tamis.keys")) == before);
    folder.write("x.tamis.keys", "mine");
    for line in ["build k.txt --exact -o x.tamis", "merge e.tamis -o x.tamis"] {
        folder.refused(
            line,
            1,
            &["x.tamis.keys", "is no file of keys", "move it away, or name another output"],
        );
        assert!(!folder.path("x.tamis").exists(), "{line}");
    }
    let done = folder.run("build k.txt -o x.tamis");
    assert!(done.code == 0 && done.err.contains("not a file of keys"), "{}", done.err);
    folder.refused("add x.tamis k.txt", 1, &["x.tamis.keys", "not a file of keys", "move it away"]);
    assert_eq!(folder.text("x.tamis.keys"), "mine");
    // Keys of other filters are replaced.
    folder.write("x.tamis.keys", folder.read("e.tamis.keys"));
    folder.ok("build k.txt --exact --fpr 0.1 -o x.tamis");
    folder.ok("verify x.tamis");
}

#[test]
fn keys_beside_filters_and_saved_parameters_are_not_overwritten() {
    let folder = Folder::new();
    folder.write("k.txt", "1\n2\n");
    folder.ok("build k.txt --exact -o e.tamis");
    folder.ok("plan k.txt -o p.json");
    let before = (folder.read("e.tamis.keys"), folder.read("p.json"));
    for line in [
        "filter e.tamis k.txt --strict -o e.tamis.keys",
        "filter e.tamis k.txt --strict -o o.txt --rejected e.tamis.keys",
        "filter e.tamis k.txt -o e.tamis.keys",
        "merge e.tamis -o e.tamis.keys",
        "build k.txt --params p.json -o p.json",
    ] {
        folder.refused(line, 2, &["is an input"]);
    }
    assert_eq!((folder.read("e.tamis.keys"), folder.read("p.json")), before);
}
