//! `build --exact` and `filter --strict`: no false positives, in bounded memory.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::memory::own_memory;
use crate::support::{Folder, Guard, TAMIS};

/// Ten thousand members in a filter that is right about half of the time, and twice as many lines.
fn crowd() -> (Folder, String, String) {
    let folder = Folder::new();
    let members: String = (0..10_000).map(|i| format!("m{}\n", i * 3)).collect();
    let lines: String = (0..20_000).map(|i| format!("m{}\n", i * 7919 % 30_000)).collect();
    folder.write("members.txt", &members);
    folder.write("lines.txt", &lines);
    folder.ok("build members.txt --exact --fpr 0.5 -o members.tamis");
    (folder, members, lines)
}

fn join(members: &str, lines: &str, inside: bool) -> String {
    let set: HashSet<&str> = members.lines().collect();
    lines.lines().filter(|line| set.contains(line) == inside).map(|line| format!("{line}\n")).collect()
}

#[test]
fn strict_leaves_no_false_positive() {
    let (folder, members, lines) = crowd();
    let (inside, outside) = (join(&members, &lines, true), join(&members, &lines, false));
    assert!(folder.ok("filter members.tamis lines.txt").len() > inside.len());
    for options in ["", "--threads 1", "--memory 1MB --threads 3"] {
        assert!(folder.ok(&format!("filter members.tamis lines.txt --strict {options}")) == inside);
        assert!(folder.ok(&format!("filter members.tamis lines.txt --strict --invert {options}")) == outside);
    }
    let json = folder.json("filter members.tamis lines.txt --strict -o in.txt --rejected out.txt");
    assert!((folder.text("in.txt"), folder.text("out.txt")) == (inside.clone(), outside));
    assert_eq!(json["admitted"].as_u64(), Some(inside.lines().count() as u64));
    assert!(json["false_positives_removed"].as_u64().unwrap() > 1000);
    assert_eq!(json["expected_false_admissions"].as_f64(), Some(0.0));
    let counted = folder.json("filter members.tamis lines.txt --strict --count");
    assert_eq!(counted["admitted"], json["admitted"]);
    let done = folder.shell("$TAMIS filter members.tamis lines.txt --strict | head -n 1");
    assert_eq!((done.code, done.out.lines().count(), done.err.as_str()), (0, 1, ""));
    folder.is_clean();
}

#[test]
fn strict_asks_for_groups_exactly() {
    let folder = Folder::new();
    // At this rate most keys seem to be in most groups.
    folder.write("members.csv", "id,g\na,1\nb,2\nc,10\nboth,2\nboth,10\n");
    folder.ok("build members.csv --key id --group g --keys 1 --fpr 0.9 --exact -o members.tamis");
    folder.write("t.csv", "id,g\na,1\nx,1\nboth,2\nb,1\nboth,7\na,2\n");
    let strict = |options: &str| {
        let text = folder.ok(&format!("filter members.tamis t.csv --strict {options}"));
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(strict(""), ["a,1", "both,2", "b,1", "both,7", "a,2"]);
    assert_eq!(strict("--group 2"), ["both,2", "b,1", "both,7"]);
    assert_eq!(strict("--own-group"), ["a,1", "both,2"]);
    assert_eq!(strict("--own-group --invert"), ["x,1", "b,1", "both,7", "a,2"]);
    assert_eq!(strict("--tag"), ["a,1,1", "both,2,\"2,10\"", "b,1,2", "both,7,\"2,10\"", "a,2,1"]);
    assert_eq!(strict("--tag --group 10"), ["both,2,\"2,10\"", "both,7,\"2,10\""]);
    assert_eq!(strict("--tag --invert"), ["x,1,"]);
}

#[test]
fn keys_follow_when_filters_are_added_to_and_merged() {
    let folder = Folder::new();
    folder.write("a.csv", "id,g\na,1\nb,2\n");
    folder.write("b.csv", "id,g\nb,2\nc,3\nc,1\n");
    folder.write("all.csv", "id,g\na,1\nb,2\nb,2\nc,3\nc,1\n");
    folder.ok("plan all.csv --key id --group g --fpr 0.5 -o params.json");
    for name in ["a", "b", "all"] {
        folder.ok(&format!("build {name}.csv --params params.json --exact -o {name}.tamis"));
    }
    folder.ok("merge a.tamis b.tamis -o merged.tamis");
    folder.ok("add a.tamis b.csv");
    for name in ["merged", "a"] {
        assert!(folder.read(&format!("{name}.tamis")) == folder.read("all.tamis"), "{name}");
        assert!(folder.read(&format!("{name}.tamis.keys")) == folder.read("all.tamis.keys"), "{name}");
    }
    folder.ok("verify a.tamis");
    // Without the keys of one of them, there are none of the union.
    folder.ok("build b.csv --params params.json -o c.tamis");
    folder.ok("merge a.tamis c.tamis -o d.tamis");
    assert!(!folder.path("d.tamis.keys").exists());
    folder.is_clean();
}

#[test]
fn keys_that_do_not_belong_or_are_damaged_are_refused() {
    let (folder, ..) = crowd();
    let strict = "filter members.tamis lines.txt --strict";
    let whole = folder.read("members.tamis.keys");
    let refused = |says: &[&str]| {
        folder.refused(strict, 1, &[&["members.tamis.keys"], says].concat());
        folder.ok("filter members.tamis lines.txt --count");
    };
    for len in [0, 7, 100, 128, 5000, whole.len() - 1] {
        folder.write("members.tamis.keys", &whole[..len]);
        refused(if len < 8 { &["not a file of keys"] } else { &["truncated"] });
    }
    let mut longer = whole.clone();
    longer.push(0);
    folder.write("members.tamis.keys", longer);
    refused(&["should have"]);
    for (at, says) in [
        (0, "magic"),
        (8, "version"),
        (30, "header"),
        (60, "header"),
        (2000, "block"),
        (whole.len() - 5, "index"),
    ] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        folder.write("members.tamis.keys", bytes);
        refused(&[says]);
    }
    folder.write("members.tamis.keys", &whole);
    folder.ok(strict);
    folder.ok("build members.txt --fpr 0.25 -o members.tamis");
    refused(&["another file of filters", "--exact"]);
    fs::remove_file(folder.path("members.tamis.keys")).unwrap();
    refused(&["no such file", "--exact"]);
    folder.refused("filter members.tamis lines.txt --memory 1MB", 2, &["required"]);
    folder.refused("build members.txt --exact --memory 1kB -o x.tamis", 2, &["less than 1MB"]);
    assert!(!folder.path("x.tamis.keys").exists());
}

#[test]
fn keys_from_a_stream_are_kept() {
    let (folder, members, _) = crowd();
    let done = folder.run_with("build - --exact --fpr 0.5 -o s.tamis --memory 1MB --threads 3", members);
    done.succeeded("build");
    assert!(folder.read("s.tamis") == folder.read("members.tamis"));
    assert!(folder.read("s.tamis.keys") == folder.read("members.tamis.keys"));
}

#[test]
fn a_slow_stream_is_answered_exactly_and_at_once() {
    let (folder, ..) = crowd();
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(["filter", "members.tamis", "-", "--strict", "--invert"])
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let mut stdin = child.stdin.take().unwrap();
    let (sender, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    for i in 0..10 {
        // Half of these pass the filter; none is a member.
        stdin.write_all(format!("m{}\nm{}\n", 3 * i + 1, 3 * i).as_bytes()).unwrap();
        assert_eq!(lines.recv_timeout(Duration::from_secs(60)), Ok(format!("m{}", 3 * i + 1)));
    }
    drop(stdin);
    assert!(child.end().success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_nothing_is_put_in_its_place() {
    let (folder, ..) = crowd();
    folder.write("old.txt", "old");
    folder.write("old.tamis", "old");
    // Files may not grow beyond a few blocks: as good as a full disk. The signal is ignored.
    let lines: String = (0..300_000).map(|i| format!("m{}\n", i % 30_000)).collect();
    folder.write("lines.txt", lines);
    let done = folder.shell("trap '' XFSZ; ulimit -f 1000; $TAMIS filter members.tamis lines.txt --strict --memory 1MB -o old.txt");
    done.refused("filter", 1, &["temporary file", "TMPDIR"]);
    let done = folder.shell(
        "trap '' XFSZ; ulimit -f 1000; $TAMIS build lines.txt --keys 1e4 --exact --memory 1MB -o old.tamis",
    );
    done.refused("build", 1, &["too large"]);
    assert_eq!((folder.text("old.txt").as_str(), folder.text("old.tamis").as_str()), ("old", "old"));
    folder.is_clean();
}

/// Keys and candidates of 40 MB each, with what it takes to sort them.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_however_many_the_keys() {
    let folder = Folder::new();
    let key = |i: u64| format!("{:032x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let members: String = (0..500_000).map(key).collect();
    let lines: String = (250_000..750_000).map(key).collect();
    folder.write("members.txt", &members);
    folder.write("lines.txt", &lines);
    let build = "build members.txt --keys 1 --fpr 0.5 --exact -o members.tamis --threads 2";
    let filter = "filter members.tamis lines.txt --strict --threads 2 -o";
    let (little, much) = (4_000_000, 200_000_000);
    // Beside the given memory: chunks on their way, for each thread, and the program itself.
    let most = little + 16_000_000;
    let used = own_memory(&folder, &format!("{build} --memory {little}"));
    assert!(used < most, "building took {used} bytes");
    let used = own_memory(&folder, &format!("{filter} a.txt --memory {little}"));
    assert!(used < most, "sieving took {used} bytes");
    // With enough memory, it is used: so the measure can tell.
    let used = own_memory(&folder, &format!("{build} --memory {much}"));
    assert!(used > most, "building took only {used} bytes");
    let used = own_memory(&folder, &format!("{filter} b.txt --memory {much}"));
    assert!(used > most, "sieving took only {used} bytes");
    let expected = join(&members, &lines, true);
    assert!(folder.text("a.txt") == expected && folder.text("b.txt") == expected);
}
