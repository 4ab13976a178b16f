//! Keys that strangers choose: the published attacks, with keys that are made here, and what holds.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};

use tamis_jobs::check::forged::xxh3_key;

use crate::support::Folder;

/// A line whose XXH3 with seed 0 is this; another one for each number. None where the text would be cut.
fn line(hash: u64, number: u32) -> Option<Vec<u8>> {
    let mut number = *format!("{number:08x}").as_bytes().first_chunk::<8>().unwrap();
    number.reverse();
    let key = xxh3_key(hash, 0, u64::from_le_bytes(number));
    let cut = key.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'));
    (!cut).then(|| [&key[..], b"\n"].concat())
}

/// Different lines of one hash.
pub fn of_one_hash(numbers: std::ops::Range<u32>) -> Vec<u8> {
    let hash = (1..).find(|&hash| line(hash, 0).is_some()).unwrap();
    numbers.flat_map(|number| line(hash, number).unwrap()).collect()
}

fn honest(count: u32) -> String {
    (0..count).map(|i| format!("key{i}\n")).collect()
}

const EACH: [&str; 7] = [
    "--kind blocked",
    "--kind bloom",
    "--kind fuse",
    "--kind ribbon",
    "--kind counting",
    "--hash murmur3",
    "--seed 12345",
];

#[test]
fn who_has_the_file_makes_a_million_keys_that_pass() {
    let folder = Folder::new();
    folder.write("a.txt", honest(3000));
    for kind in EACH {
        folder.ok(&format!("build a.txt {kind} --fpr 0.01 -o a.tamis"));
        // With a key of the set, and with one that is found by trying; murmur3 always tries.
        let lines = ["test a.tamis a.txt --adversary", "test a.tamis --adversary"];
        for line in &lines[usize::from(kind.contains("murmur3"))..] {
            let test = folder.json(line);
            let attack = &test["adversary"];
            assert_eq!(attack["keys"], 1_000_000, "{kind}: {line}");
            assert_eq!(attack["passed"], 1_000_000, "{kind}: {line}");
            let honest = attack["honest_rate"].as_f64().unwrap();
            assert!(honest < 0.02, "{kind}: {honest}");
            assert_eq!(test["passed"], true, "the filters are what they should be");
            assert_eq!(test["groups"][0]["adversary"]["passed"], 1_000_000, "{kind}");
        }
    }
    let said = folder.ok("test a.tamis a.txt --adversary --report page.html");
    for text in [&said, &folder.text("page.html")] {
        assert!(text.contains("by the published attack, 1,000,000 pass (rate 1)"), "{text}");
        assert!(text.contains("--hash siphash and --hash-key FILE"), "{text}");
    }
    assert_eq!(folder.json("test a.tamis a.txt")["adversary"], serde_json::Value::Null);
}

/// Also where the set, or all that is added, was chosen.
#[test]
fn under_a_secret_key_no_made_key_passes_more_often_than_others() {
    let folder = Folder::new();
    folder.write("key", "00112233445566778899aabbccddeeff");
    folder.write("a.txt", honest(3000));
    for kind in ["blocked", "fuse"] {
        folder.ok(&format!("build a.txt --kind {kind} --hash siphash --hash-key key -o a.tamis"));
        for line in ["test a.tamis a.txt --hash-key key", "test a.tamis --hash-key key"] {
            let attack = &folder.json(&format!("{line} --adversary"))["adversary"];
            let (rate, honest) = (attack["rate"].as_f64().unwrap(), attack["honest_rate"].as_f64().unwrap());
            // Ten standard deviations: 0.001 for a million keys at a rate of 0.01.
            assert!((rate - honest).abs() < 0.001, "{kind}: {rate}, {honest}");
        }
    }
    assert!(!folder.ok("test a.tamis a.txt --hash-key key --adversary").contains("Where strangers"));
    folder.write("chosen.txt", [honest(900).as_bytes(), &against_fuse(900 + 128)].concat());
    folder.ok("build chosen.txt --format lines --kind fuse --hash siphash --hash-key key -o b.tamis");
}

#[test]
fn an_attack_on_groups_is_one_on_each_of_them() {
    let folder = Folder::new();
    let row = |i: u32| format!("k{i},g{},w{i} x{} y{}\n", i % 7, i % 50, i % 60);
    folder.write("t.csv", "k,g,w\n".to_owned() + &(0..7000).map(row).collect::<String>());
    folder.ok("build t.csv --key k --group g -o t.tamis");
    let test = folder.json("test t.tamis t.csv --adversary");
    assert_eq!(
        (&test["adversary"]["keys"], &test["adversary"]["passed"]),
        (&1_000_000.into(), &1_000_000.into())
    );
    for group in test["groups"].as_array().unwrap() {
        let keys = group["adversary"]["keys"].as_u64().unwrap();
        assert!((142_857..=142_858).contains(&keys), "{keys}");
        assert_eq!(group["adversary"]["passed"], keys);
    }
    // Of records, each keyword is replaced by others of its hash.
    folder.ok("build t.csv --kind layered --keywords w:words --group g --layers 3 -o w.tamis");
    let test = folder.json("test w.tamis t.csv --adversary");
    assert_eq!(
        (&test["adversary"]["keys"], &test["adversary"]["passed"]),
        (&1_000_000.into(), &1_000_000.into())
    );
    assert!(test["adversary"]["honest_rate"].as_f64().unwrap() < 1e-3);
    let said = folder.ok("test w.tamis t.csv --adversary");
    assert!(said.contains("--hash-key") && !said.contains("--strict"), "no exact keys of records: {said}");
    // A rate that is too low to find a key by trying: that is said, and what would do.
    folder.ok("build t.csv --key k --fpr 1e-12 -o low.tamis");
    assert!(folder.ok("test low.tamis --adversary").contains("For 1 group no key that passes was found"));
    assert_eq!(folder.json("test low.tamis t.csv --adversary")["adversary"]["passed"], 1_000_000);
}

/// What was removed does not pass, and neither do keys that are made for it.
#[test]
fn an_attack_on_a_pair_of_filters_takes_what_was_removed_into_account() {
    let folder = Folder::new();
    folder.write("a.txt", honest(3000));
    folder.write("gone.txt", honest(1000));
    folder.write("rest.txt", honest(3000).split_off(honest(1000).len()));
    folder.ok("build a.txt --fpr 0.01 -o a.tamis");
    folder.ok("build gone.txt --fpr 0.01 -o gone.tamis");
    let attack = &folder.json("test a.tamis rest.txt --removed gone.tamis --adversary")["adversary"];
    assert_eq!((&attack["keys"], &attack["passed"]), (&1_000_000.into(), &1_000_000.into()));
    let honest_rate = |line: &str| folder.json(line)["adversary"]["honest_rate"].as_f64().unwrap();
    let alone = honest_rate("test a.tamis a.txt --adversary");
    let pair = honest_rate("test a.tamis rest.txt --removed gone.tamis --adversary");
    assert!(pair < alone && pair > 0.9 * alone, "{pair}, {alone}");
}

#[test]
fn an_attack_is_refused_where_it_says_nothing() {
    let folder = Folder::new();
    folder.write("a.txt", honest(100));
    folder.ok("build a.txt --kind count-min -o c.tamis");
    folder.refused(
        "test c.tamis a.txt --adversary",
        2,
        &["counts are tested with the data", "leave out --adversary"],
    );
    folder.ok("build a.txt -o a.tamis");
    folder.refused(
        "test a.tamis a.txt --adversary --on local",
        2,
        &["not available on a cluster", "leave out --adversary"],
    );
}

/// The attack began with a key that was removed, which nothing of its hash passes any more.
#[test]
fn an_attack_on_a_filter_and_its_removed_keys_begins_with_a_key_that_is_left() {
    let folder = Folder::new();
    folder.write("all.txt", honest(1000));
    folder.ok("build all.txt -o all.tamis");
    for gone in [100, 500, 900] {
        folder.write("gone.txt", honest(gone));
        folder.ok("build gone.txt -o gone.tamis");
        let report = folder.run("test all.tamis all.txt --removed gone.tamis --adversary --json");
        let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
        assert_eq!(report["adversary"]["passed"], report["adversary"]["keys"], "{gone}: {report}");
    }
}

/// Two keys for each of the 64 seeds of a fuse filter, which take the same three slots.
fn against_fuse(keys: u64) -> Vec<u8> {
    // The formulas of the format, for 581 to 1,380 keys.
    let (log, segment) = (7, 1u64 << 7);
    let starts = (111 * keys).div_ceil(100 * segment) * segment;
    let mut lines = Vec::new();
    for seed in 0..64u64 {
        let mut known: HashMap<u64, Vec<u8>> = HashMap::new();
        let first = u64::MAX / starts * (17 * seed % starts) + u64::MAX / starts / 2;
        for g in first.. {
            let z = (g ^ g >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let slots = (z ^ z >> 31) % (1 << (2 * log));
            let x = g.wrapping_mul(0xf1de_83e1_9937_733d);
            let hash = x ^ x >> 32 ^ seed.wrapping_mul(0xd1b5_4a32_d192_ed03);
            let Some(line) = line(hash, 0) else { continue };
            if let Some(other) = known.get(&slots) {
                lines.extend([&other[..], &line].concat());
                break;
            }
            known.insert(slots, line);
        }
    }
    lines
}

/// It said that hashes are not spread evenly, and not why.
#[test]
fn keys_that_no_fuse_filter_holds_are_named_as_an_attack() {
    let folder = Folder::new();
    folder.write("a.txt", [honest(900).as_bytes(), &against_fuse(900 + 128)].concat());
    let build = "build a.txt --format lines --kind fuse -o a.tamis";
    folder.refused(
        build,
        1,
        &[
            "1,028 keys",
            "were chosen so that it fails",
            "--seed random",
            "--hash siphash and --hash-key FILE",
        ],
    );
    // Any other seed of the hash does, and so does another kind.
    folder.ok("build a.txt --format lines --kind fuse --seed 1 -o a.tamis");
    folder.ok("build a.txt --format lines --kind blocked -o a.tamis");
}

/// The promise names it: with `--distinct` a key is its hash.
#[test]
fn keys_of_one_hash_are_one_key_to_counting_with_distinct() {
    let folder = Folder::new();
    folder.write("both.txt", [&of_one_hash(0..2)[..], honest(50).as_bytes()].concat());
    folder.write("one.txt", of_one_hash(0..1));
    folder.write("other.txt", of_one_hash(1..2));
    let left = |options: &str| {
        folder.ok(&format!("build both.txt --format lines --kind counting --fpr 1e-9 {options} -o c.tamis"));
        folder.ok("remove c.tamis one.txt --format lines");
        folder.json("filter c.tamis other.txt --format lines --count")["admitted"].clone()
    };
    assert_eq!(left("--distinct"), 0, "the collision that docs/guarantees.md names");
    assert_eq!(left(""), 1, "each was counted");
}

#[test]
fn more_heavy_keys_than_there_can_be_are_spoken_of() {
    let folder = Folder::new();
    folder.write("a.txt", of_one_hash(0..500));
    folder.write("b.txt", "a\nb\na\n");
    let listed = folder.json("top a.txt --format lines --share 0.1");
    assert_eq!(listed["groups"][0]["listed"], 500, "each has all estimates");
    let says = "At most 10 keys of these can have that share, and 500 are listed";
    assert!(folder.ok("top a.txt --format lines --share 0.1").contains(says));
    assert!(!folder.ok("top b.txt --format lines --share 0.1").contains("At most"));
}

/// Both took quadratic time. A minute is far too short for that: time-outs end the test.
#[test]
fn keys_of_one_hash_are_told_apart_by_their_bytes() {
    let folder = Folder::new();
    folder.write("set.txt", of_one_hash(0..50_000));
    folder.write("all.txt", of_one_hash(0..100_000));
    folder.ok("build set.txt --format lines --exact -o set.tamis");
    folder.ok("filter set.tamis all.txt --format lines --strict -o in.txt --rejected out.txt -q");
    assert!(folder.read("in.txt") == folder.read("set.txt"));
    assert!(folder.read("out.txt") == of_one_hash(50_000..100_000));
    // Each different key of a batch is answered once.
    folder.write("twice.txt", [folder.read("all.txt"), folder.read("all.txt")].concat());
    folder.ok("stream --from set.tamis --query twice.txt --format lines --batch 1e6 -o answers.txt -q");
    let answers = folder.text("answers.txt");
    assert_eq!(answers.lines().collect::<HashSet<_>>().len(), 100_000);
    assert_eq!(answers.lines().count(), 100_000);
    folder.ok("dedup twice.txt --format lines --strict --seed 0 -o first.txt -q");
    assert!(folder.read("first.txt") == folder.read("all.txt"));
}

/// 16,384 of 16 million keys made a plan of 256 GB.
#[test]
#[ignore = "slow: reads 17 million lines"]
fn an_estimate_that_chosen_keys_raise_is_refused() {
    let folder = Folder::new();
    let mut out = BufWriter::new(File::create(folder.path("a.txt")).unwrap());
    for i in 0..17_000_000 {
        writeln!(out, "{i}").unwrap();
    }
    for register in 0..1u64 << 14 {
        let line = (0..).find_map(|low| line(register << 50 | low, 0)).unwrap();
        out.write_all(&line).unwrap();
    }
    out.into_inner().unwrap();
    for line in ["plan a.txt --format lines", "build a.txt --format lines -o a.tamis"] {
        folder.refused(line, 1, &["of only 17,016,384 that were read", "--seed random", "--hash siphash"]);
    }
    folder.ok("plan a.txt --format lines --seed 1");
}
