//! Files of filters that were cut off or changed: every verb that reads one says so.

use std::fs;

use crate::support::{Folder, container};

/// The verbs that read `bad.tamis`, and what they exit with.
const READERS: [(&str, i32); 10] = [
    ("query bad.tamis x", 2),
    ("inspect bad.tamis", 1),
    ("verify bad.tamis", 1),
    ("test bad.tamis t.csv", 1),
    ("merge bad.tamis good.tamis -o old", 1),
    ("merge good.tamis bad.tamis -o old", 1),
    ("compare good.tamis bad.tamis", 1),
    ("add bad.tamis t.csv", 1),
    ("build t.csv --like bad.tamis -o old", 1),
    ("inspect bad.tamis --group x --raw-bits old", 1),
];

/// Filters in `good.tamis`, of two groups, made of `t.csv`.
fn filters(kind: &str) -> Folder {
    let folder = Folder::new();
    let rows: String = (0..300).map(|i| format!("{i},{}\n", ["x", "y"][i % 2])).collect();
    folder.write("t.csv", format!("k,g\n{rows}"));
    folder.write("old", "old");
    folder.ok(&format!("build t.csv --key k --group g {kind} -o good.tamis"));
    folder
}

/// All readers refuse the file, which stays as it is, and so do other outputs.
fn all_refuse(folder: &Folder, readers: &[(&str, i32)], what: &str) {
    let before = folder.read("bad.tamis");
    for (line, code) in readers {
        let done = folder.run(line);
        done.refused(&format!("{what}: {line}"), *code, &["bad.tamis"]);
        assert!(done.out.is_empty() || line.starts_with("test"), "{what}: {line}: {}", done.out);
    }
    assert!(folder.read("bad.tamis") == before, "{what}");
    assert_eq!(folder.text("old"), "old", "{what}");
    folder.is_clean();
}

#[test]
fn a_file_that_was_cut_off_or_has_grown_is_refused() {
    let folder = filters("");
    let good = folder.read("good.tamis");
    for len in [0, 1, 7, 8, 12, 127, 128, 300, good.len() - 64, good.len() - 1] {
        folder.write("bad.tamis", &good[..len]);
        all_refuse(&folder, &READERS, &format!("cut to {len} bytes"));
    }
    folder.write("bad.tamis", [&good[..], &[0]].concat());
    all_refuse(&folder, &READERS, "one byte more");
    folder.write("bad.tamis", [&good[..], &good[..]].concat());
    all_refuse(&folder, &READERS, "twice");
}

#[test]
fn a_flipped_bit_outside_the_filters_is_seen_by_every_verb() {
    let folder = filters("");
    let good = folder.read("good.tamis");
    let data = good.len() - 8 * container(&folder.path("good.tamis")).data().len();
    // The header's fields; the description; the directory; the names; padding.
    let mut places: Vec<usize> = vec![0, 5, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 119, 120, 127];
    places.extend([130, 160, data - 1, data - 60]);
    places.extend((256..data).step_by(37));
    for at in places {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        folder.write("bad.tamis", bad);
        all_refuse(&folder, &READERS[..if at % 3 == 0 { 10 } else { 3 }], &format!("byte {at}"));
    }
}

/// A merge, and an addition, gave damaged filters new checksums; a test blamed the data.
#[test]
fn a_flipped_bit_in_a_filter_is_seen_by_every_verb_that_reads_it_whole() {
    for kind in ["--kind blocked", "--kind bloom", "--hash murmur3"] {
        let folder = filters(kind);
        let good = folder.read("good.tamis");
        let data = good.len() - 8 * container(&folder.path("good.tamis")).data().len();
        for at in [data, data + 17] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            folder.write("bad.tamis", bad);
            let reads_whole = |(line, _): &&(&str, i32)| {
                !line.starts_with("query") && !line.contains("--like") && *line != "inspect bad.tamis"
            };
            let readers: Vec<_> = READERS.iter().filter(reads_whole).copied().collect();
            all_refuse(&folder, &readers, &format!("{kind}, byte {at}"));
            folder.refused("verify bad.tamis", 1, &["group x", "checksum"]);
            // To open costs the same whatever the size: what only opens does not read it all.
            folder.ok("inspect bad.tamis");
        }
    }
    let folder = filters("--kind fuse");
    let mut bad = folder.read("good.tamis");
    let last = bad.len() - 200;
    bad[last] ^= 1;
    folder.write("bad.tamis", bad);
    for line in ["verify bad.tamis", "test bad.tamis t.csv"] {
        folder.refused(line, 1, &["bad.tamis", "checksum"]);
    }
}

/// `--json` printed nothing.
#[test]
fn verify_tells_programs_what_is_damaged() {
    let folder = filters("");
    let good = folder.read("good.tamis");
    let verify = |code: i32| -> serde_json::Value {
        let done = folder.run("verify bad.tamis --json");
        assert_eq!(done.code, code, "{}", done.err);
        done.out.parse().expect("an object")
    };
    folder.write("bad.tamis", &good);
    assert_eq!(verify(0)["sound"], true);
    assert_eq!(verify(0)["damage"], serde_json::json!([]));
    let data = good.len() - 8 * container(&folder.path("good.tamis")).data().len();
    let mut bad = good.clone();
    bad[data] ^= 1;
    *bad.last_mut().unwrap() ^= 1;
    folder.write("bad.tamis", &bad);
    let found = verify(1);
    assert_eq!((&found["sound"], &found["groups"]), (&false.into(), &2.into()));
    let damage = found["damage"].as_array().unwrap();
    assert_eq!(damage.len(), 2, "{found:#}");
    for (what, group) in damage.iter().zip(["group x", "group y"]) {
        assert!(what.as_str().unwrap().contains(group), "{what}");
    }
    for bytes in [&good[..100], b"", b"words"] {
        folder.write("bad.tamis", bytes);
        let found = verify(1);
        assert_eq!((&found["sound"], found["damage"].as_array().unwrap().len()), (&false.into(), 1));
    }
    fs::remove_file(folder.path("bad.tamis")).unwrap();
    let done = folder.run("verify bad.tamis --json");
    assert_eq!((done.code, done.out.as_str()), (1, ""), "nothing is known of a file that is not there");
}

#[test]
fn a_file_of_a_later_version_says_which_it_is() {
    let folder = filters("");
    let mut later = folder.read("good.tamis");
    later[8] = 9;
    folder.write("bad.tamis", later);
    folder.refused("inspect bad.tamis", 1, &["version 9", "reads versions 1 to 2", "newer tamis"]);
}

#[test]
fn what_is_no_file_of_filters_is_refused() {
    let folder = filters("");
    for text in ["", "k,g\n", "TAMIS\r\n", "\u{89}TAMIS\r\n"] {
        folder.write("bad.tamis", text);
        all_refuse(&folder, &READERS, text);
    }
    fs::remove_file(folder.path("bad.tamis")).unwrap();
    fs::create_dir(folder.path("bad.tamis")).unwrap();
    for (line, code) in READERS {
        folder.refused(line, code, &["bad.tamis"]);
    }
}
