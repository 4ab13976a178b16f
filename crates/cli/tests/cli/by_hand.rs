//! Filters whose bits and hashes are chosen by hand, hash families as they were published, and samples: each
//! beside a model that is written down once more here, and shares no code with the sketches.

use std::collections::HashSet;

use serde_json::Value;
use tamis::hash::xxh3;

use crate::support::Folder;

/// The bits of each section of a file, found by what docs/format.md says of bytes: slots and bits.
fn sections(bytes: &[u8]) -> Vec<(u64, Vec<bool>)> {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let directory = (128 + u64_at(24) as usize).next_multiple_of(64);
    let entry = |i: usize| {
        let at = directory + 96 * i;
        let (slots, from, length) = (u64_at(at + 16), u64_at(at + 72) as usize, u64_at(at + 80) as usize);
        let bit = |bit: usize| bytes[from + bit / 8] >> (bit % 8) & 1 == 1;
        (slots, (0..8 * length).map(bit).collect())
    };
    (0..u64_at(32) as usize).map(entry).collect()
}

/// XXH3 of eight bytes, by its own description.
fn xxh3_of_number(number: u64, seed: u64) -> u64 {
    let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
    let flip = (0x1cad_21f7_2c81_017c_u64 ^ 0xdb97_9083_e96d_d4de).wrapping_sub(seed);
    let mut h = number.rotate_left(32) ^ flip;
    h = (h ^ h.rotate_left(49) ^ h.rotate_left(24)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    h = (h ^ ((h >> 35) + 8)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    h ^ h >> 28
}

/// A share of a number, as a random number draws it.
fn drawn(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}

/// MurmurHash3, x86, 32 bits, letter by letter.
fn murmur3(key: &[u8], seed: u32) -> u32 {
    let scramble = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut h = seed;
    for block in key.chunks(4) {
        let mut four = [0; 4];
        four[..block.len()].copy_from_slice(block);
        h ^= scramble(u32::from_le_bytes(four));
        if block.len() == 4 {
            h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
    }
    h ^= key.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// Where a hash puts a key among m bits, by its definition.
fn place(hash: &str, key: &[u8], number: u64, m: u64) -> u64 {
    match hash {
        "polynomial" => {
            let factor = 1 + drawn(xxh3_of_number(number, 7), m - 1);
            key.iter().fold(0, |h, &letter| (factor * h + u64::from(letter)) % m)
        }
        "murmur3" => u64::from(murmur3(key, number as u32)) % m,
        _ => {
            let state = xxh3(key, 0).wrapping_add((number + 1).wrapping_mul(0xa076_1d64_78bd_642f));
            let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
            drawn(product as u64 ^ (product >> 64) as u64, m)
        }
    }
}

/// The bits of a filter of these keys.
fn model<'k>(hash: &str, keys: impl Iterator<Item = &'k str>, m: u64, k: u64) -> Vec<bool> {
    let mut bits = vec![false; (m as usize).next_multiple_of(64)];
    for key in keys {
        (0..k).for_each(|number| bits[place(hash, key.as_bytes(), number, m) as usize] = true);
    }
    bits
}

fn options(hash: &str) -> String {
    if hash == "polynomial" { format!("--hash {hash} --seed 7") } else { format!("--hash {hash}") }
}

/// The sizes of S and the lengths that Collodi and Ghera print.
const PRINTED: [(u64, u64); 5] = [(39, 100), (409, 1050), (2012, 5160), (39_176, 10_200), (8018, 20_560)];

#[test]
fn the_published_lengths_are_those_of_the_filters_bit_for_bit() {
    let folder = Folder::new();
    for (keys, m) in PRINTED {
        folder.ok(&format!("generate words --rows {keys} -o s.txt"));
        let words = folder.text("s.txt");
        let distinct = words.lines().collect::<HashSet<_>>().len() as u64;
        for hash in ["xxh3", "murmur3", "polynomial"] {
            let how = format!("--kind bloom {} --hashes 2 --bits {m}", options(hash));
            folder.ok(&format!("build s.txt {how} -o s.tamis"));
            let found = sections(&folder.read("s.tamis"));
            assert_eq!(found, [(m, model(hash, words.lines(), m, 2))], "{hash}, {keys} keys");
            // The plan has the same numbers, printed and saved, and filters that are built with it the same bits.
            let plan = folder.json(&format!("plan --keys {keys} {how} -o p.json"));
            assert_eq!((&plan["kinds"][0]["bits"], &plan["kinds"][0]["hashes"]), (&m.into(), &2.into()));
            let saved: Value = folder.text("p.json").parse().unwrap();
            assert_eq!((&saved["groups"][0]["slots"], &saved["groups"][0]["hashes"]), (&m.into(), &2.into()));
            folder.ok("build s.txt --params p.json -o planned.tamis");
            assert_eq!(sections(&folder.read("planned.tamis")), found);
            // All of S passes, and it is known how many there are.
            let counted = folder.json("filter s.tamis s.txt --count");
            assert_eq!((&counted["admitted"], &counted["rejected"]), (&keys.into(), &0.into()));
            assert_eq!((&counted["set"], &counted["set_exact"]), (&(distinct as f64).into(), &true.into()));
        }
    }
}

#[test]
fn what_a_model_admits_is_admitted_and_nothing_else() {
    let folder = Folder::new();
    folder.ok("generate words --rows 3000 -o people.txt");
    folder.ok("generate sample people.txt --gap 50 -o s.txt");
    let (people, sample) = (folder.text("people.txt"), folder.text("s.txt"));
    for (hash, k, m) in
        [("polynomial", 2, 157), ("polynomial", 5, 1009), ("murmur3", 1, 300), ("xxh3", 3, 301)]
    {
        folder.ok(&format!("build s.txt --kind bloom {} --hashes {k} --bits {m} -o s.tamis", options(hash)));
        let bits = model(hash, sample.lines(), m, k);
        let passes = |word: &&str| (0..k).all(|i| bits[place(hash, word.as_bytes(), i, m) as usize]);
        let expected: String = people.lines().filter(passes).map(|word| format!("{word}\n")).collect();
        assert_eq!(folder.ok("filter s.tamis people.txt"), expected, "{hash}");
        assert_eq!(folder.ok("filter s.tamis people.txt --threads 1"), expected, "{hash}");
        // Keys one by one, and a stream of them.
        let asked = people.lines().nth(1).unwrap();
        let answer = if passes(&asked) { "yes" } else { "" };
        assert_eq!(
            folder.run(&format!("query s.tamis {asked}")).out.trim(),
            format!("{asked}\t{answer}").trim()
        );
        folder.ok("stream --from s.tamis --query people.txt -o answers.txt");
        assert_eq!(folder.text("answers.txt"), expected, "{hash}");
        // All of the set is found; no key outside is judged, since the family is weak.
        assert!(folder.ok("test s.tamis s.txt").contains("No false negatives"));
    }
}

#[test]
fn parts_with_the_same_numbers_merge_into_the_filter_of_all() {
    let folder = Folder::new();
    folder.ok("generate words --rows 1000 -o all.txt");
    let words = folder.text("all.txt");
    let (a, b) = words.split_at(31 * 400);
    folder.write("a.txt", a);
    folder.write("b.txt", b);
    for hash in ["murmur3", "polynomial"] {
        let how = format!("{} --hashes 3 --bits 4001 --keys 1000", options(hash));
        for part in ["all", "a", "b"] {
            folder.ok(&format!("build {part}.txt {how} -o {part}.tamis"));
        }
        folder.ok("merge a.tamis b.tamis -o merged.tamis");
        assert_eq!(sections(&folder.read("merged.tamis")), sections(&folder.read("all.tamis")), "{hash}");
        folder.ok("add a.tamis b.txt");
        assert_eq!(sections(&folder.read("a.tamis")), sections(&folder.read("all.tamis")), "{hash}");
    }
    folder.ok("build a.txt --hash polynomial --seed 8 --hashes 3 --bits 4001 --keys 1000 -o other.tamis");
    folder.refused(
        "merge a.tamis other.tamis -o x.tamis",
        1,
        &["polynomial (seed 7)", "polynomial (seed 8)"],
    );
}

/// The slides' filters of one hash and of two: 8 bits for each key.
#[test]
fn one_hash_and_two_have_the_rates_of_darts_and_targets() {
    let folder = Folder::new();
    folder.ok("generate emails --rows 20000 -o s.txt");
    for (hashes, rate) in [(1, 0.1175), (2, 0.0489), (6, 0.0216)] {
        folder.ok(&format!("build s.txt --kind bloom --hashes {hashes} --bits 160000 -o s.tamis"));
        // 200,000 random keys: four standard deviations are 0.003 of the first rate, and the fill varies less.
        let measured = folder.json("test s.tamis --random 200000")["groups"][0]["fpr"].as_f64().unwrap();
        assert!((measured - rate).abs() < 0.004, "{hashes}: {measured}");
        let plan = folder.json(&format!("plan --keys 1e9 --bits 8e9 --hashes {hashes} --kind bloom"));
        assert!((plan["kinds"][0]["fpr"].as_f64().unwrap() - rate).abs() < 5e-5, "{plan}");
    }
}

/// m = round(−k n / ln(1 − p^(1/k))) with the textbook's hash, and the smallest m that keeps the rate with ours.
#[test]
fn hashes_with_a_rate_size_the_filter() {
    let folder = Folder::new();
    folder.ok("generate words --rows 500 -o s.txt");
    let slots = |line: &str| {
        folder.ok(&format!("build s.txt --kind bloom {line} -o s.tamis"));
        sections(&folder.read("s.tamis"))[0].0
    };
    for (k, p) in [(1, 0.1), (2, 0.05), (4, 0.01), (10, 0.01)] {
        let formula = -f64::from(k) * 500.0 / (1.0 - f64::powf(p, 1.0 / f64::from(k))).ln();
        assert_eq!(
            slots(&format!("--hash murmur3 --hashes {k} --fpr {p}")),
            formula.round_ties_even() as u64
        );
        let ours = slots(&format!("--hashes {k} --fpr {p}")) as f64;
        assert!((ours / formula - 1.0).abs() < 0.02, "{k} {p}: {ours}, {formula}");
    }
    assert_eq!(slots("--hash murmur3 --bits-per-key 7"), 3500);
}

#[test]
fn bits_are_those_of_all_groups_and_bits_per_group_those_of_each() {
    let folder = Folder::new();
    let rows: String =
        (0..900).map(|i| format!("k{i},{}\n", if i % 9 == 0 { "few" } else { "many" })).collect();
    folder.write("t.csv", format!("key,group\n{rows}"));
    let build = "build t.csv --key key --group group --kind bloom -o t.tamis";
    let slots = || sections(&folder.read("t.tamis")).iter().map(|(slots, _)| *slots).collect::<Vec<_>>();
    for hash in ["xxh3", "murmur3", "polynomial"] {
        folder.ok(&format!("{build} {} --bits-per-group 1050", options(hash)));
        assert_eq!(slots(), [1050, 1050]);
        folder.ok(&format!("{build} {} --bits-per-group 1050 --keys 450 --hashes 1", options(hash)));
        assert_eq!(slots(), [1050, 1050]);
        folder.ok(&format!("{build} {} --bits 16000", options(hash)));
        let found = slots();
        assert!(found.iter().sum::<u64>() <= 16_000 && found[1] > 6 * found[0], "{found:?}");
        folder.ok(&format!(
            "plan t.csv --key key --group group --kind bloom {} --bits 16000 -o p.json",
            options(hash)
        ));
        let saved: Value = folder.text("p.json").parse().unwrap();
        let planned: Vec<u64> = saved["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["slots"].as_u64().unwrap())
            .collect();
        assert_eq!(planned, found);
    }
    folder.refused(&format!("{build} --bits 16000 --keys 450"), 2, &["--bits-per-group"]);
}

#[test]
fn a_plan_saves_what_it_prints() {
    let folder = Folder::new();
    for size in [
        "--bits 1050",
        "--bits 20560",
        "--bits-per-key 2.567",
        "--bits-per-key 9.7",
        "--fpr 0.03",
        "--size 200B",
    ] {
        for kind in ["", "--kind bloom", "--hash murmur3", "--hash polynomial --seed 3"] {
            let printed = folder.json(&format!("plan --keys 409 {size} {kind} -o p.json"));
            let saved: Value = folder.text("p.json").parse().unwrap();
            let group = &saved["groups"][0];
            let kinds = printed["kinds"].as_array().unwrap();
            let shown = kinds.iter().find(|one| one["kind"] == saved["kind"]).unwrap();
            assert_eq!(
                (&shown["bits"], &shown["hashes"]),
                (&group["slots"], &group["hashes"]),
                "{size} {kind}"
            );
        }
    }
    // All kinds are shown where none is chosen, with what they cannot be.
    let shown = folder.ok("plan --keys 409 --bits 1050 --hashes 3");
    assert!(shown.contains("blocked: a blocked filter has 1, 2, 4, 8, 16 or 32 hashes, not 3"), "{shown}");
    assert!(shown.contains("bloom") && shown.contains("1,050") && shown.contains("fuse"), "{shown}");
}

#[test]
fn numbers_that_a_filter_cannot_have_are_refused() {
    let folder = Folder::new();
    folder.write("k.txt", "a\nb\nc\n");
    for (line, says) in [
        ("--kind bloom --hashes 2 --bits 100 --fpr 0.1", "--fpr or --bits"),
        ("--kind bloom --bits 100 --size 1KB", "--size or --bits"),
        ("--kind bloom --hashes 65", "1 to 64 hashes, not 65"),
        ("--bits 1050", "the next number below is 1024: give --bits 1024, or give --kind bloom"),
        ("--hashes 3", "1, 2, 4, 8, 16 or 32 hashes, not 3"),
        ("--kind counting --bits 1024", "cannot have exactly 1024 bits"),
        ("--kind count-min --hashes 3", "leave out --hashes"),
        ("--hash murmur3 --bits 4294967297", "cannot reach 4294967297"),
        ("--hash polynomial --bits 4294967297", "cannot reach 4294967297"),
        ("--hash polynomial --kind fuse", "polynomial goes with bloom filters, not with fuse"),
    ] {
        folder.refused(&format!("build k.txt {line} -o x.tamis"), 2, &[says]);
    }
    folder.refused("plan --keys 9 --kind bloom --hashes 2 --bits 100 --fpr 0.1", 2, &["leave out"]);
    folder.refused("plan --kind bloom --hashes 2 --bits 100 --fpr 0.1", 2, &["leave out"]);
    folder.refused("plan --keys 1e6 --bits 1e7 --kind blocked", 2, &["cannot have exactly 10000000 bits"]);
    folder.ok("build k.txt --kind bloom -o like.tamis");
    folder.refused(
        "build k.txt --like like.tamis --hashes 2 --bits 9 -o x.tamis",
        2,
        &["--hashes and --bits"],
    );
    folder.refused("dedup k.txt --hash polynomial", 2, &["polynomial"]);
    assert!(!folder.names().contains(&"x.tamis".into()));
}

/// Their loop over all lines, with the numbers that a seed gives.
#[test]
fn a_sample_has_the_gaps_of_collodi_and_ghera() {
    let folder = Folder::new();
    folder.ok("generate words --rows 10000 -o people.txt");
    let people = folder.text("people.txt");
    for (gap, seed) in [(500, 1), (500, 2), (50, 1), (1, 1)] {
        let mut number = 0;
        let mut random = |limit| {
            number += 1;
            drawn(xxh3_of_number(number, seed), limit)
        };
        let mut chosen = random(gap);
        let mut expected = String::new();
        for (i, line) in people.lines().enumerate() {
            if i as u64 == chosen {
                expected += &format!("{line}\n");
                chosen += random(gap) + 1;
            }
        }
        let line = format!("generate sample people.txt --gap {gap} --seed {seed}");
        assert_eq!(folder.ok(&line), expected, "{line}");
        let told = folder.json(&format!("{line} -o s.txt"));
        assert_eq!(folder.text("s.txt"), expected);
        assert_eq!((&told["rows"], &told["of"]), (&expected.lines().count().into(), &10_000.into()));
    }
    // Without a last line end, from a pipe, with the usual gap; and a name that says something else.
    assert_eq!(folder.run_with("generate sample - --gap 1", "a\r\nb").out, "a\r\nb\n");
    folder.refused("generate sample people.txt -o people.txt", 2, &["people.txt"]);
    folder.refused("generate sample people.txt --gap 0", 2, &["--gap"]);
    folder.refused("generate sample people.txt -o s.csv", 2, &["s.csv"]);
}

#[test]
fn the_size_of_the_set_is_exact_where_it_is_known_and_else_an_estimate() {
    let folder = Folder::new();
    folder.ok("generate words --rows 2000 -o people.txt");
    let sample: String =
        folder.text("people.txt").lines().step_by(5).map(|word| format!("{word}\n{word}\n")).collect();
    folder.write("s.txt", sample);
    folder.write("more.txt", "another\n");
    let size = |file: &str| {
        let said = folder.ok(&format!("filter {file} people.txt --count"));
        let line = said.lines().find(|line| line.starts_with("size of the set")).unwrap();
        line.split_once("set").unwrap().1.trim().to_owned()
    };
    for (build, expected) in [
        ("--kind bloom --hashes 2 --bits 1024", "400 keys (exactly: counted when it was built)"),
        ("--hash polynomial", "400 keys (exactly: counted when it was built)"),
        ("--kind fuse", "400 keys (exactly: a static filter)"),
        ("--exact", "400 keys (exactly: the keys are kept)"),
        ("--kind bloom --hashes 2 --bits 4096 --keys 900", "(an estimate; planned for 900)"),
        ("", "(an estimate; planned for 400)"),
    ] {
        folder.ok(&format!("build s.txt {build} -o s.tamis"));
        assert!(size("s.tamis").contains(expected), "{build}: {}", size("s.tamis"));
        if build == "--exact" {
            assert!(size("s.tamis --strict").contains(expected), "{}", size("s.tamis --strict"));
        }
        let _ = std::fs::remove_file(folder.path("s.tamis.keys"));
    }
    // What is added or merged was not counted.
    folder.ok("build s.txt --kind bloom --hashes 2 --bits 4096 -o s.tamis");
    folder.ok("build s.txt --like s.tamis -o other.tamis");
    folder.ok("merge s.tamis other.tamis -o merged.tamis");
    assert!(size("merged.tamis").contains("an estimate"), "{}", size("merged.tamis"));
    folder.ok("add s.tamis more.txt");
    assert!(size("s.tamis").contains("an estimate"), "{}", size("s.tamis"));
    folder.ok("build s.txt --kind counting --bits 32768 -o c.tamis");
    assert!(size("c.tamis").contains("counted"), "{}", size("c.tamis"));
    folder.ok("remove c.tamis s.txt");
    assert!(!size("c.tamis").contains("exactly"), "{}", size("c.tamis"));
    // That of groups, which may share keys, was cut off in the middle of its last number.
    folder.ok("generate ratings --rows 2000 -o ratings.tsv");
    folder.ok("build ratings.tsv --key tconst --group averageRating:round -o ratings.tamis");
    let said = folder.ok("filter ratings.tamis ratings.tsv --count");
    assert!(said.contains(" keys, fewer if groups share some (planned: 2,000)\n"), "{said}");
}

#[test]
fn the_report_has_the_lines_of_collodi_and_ghera_in_their_order() {
    let folder = Folder::new();
    folder.ok("generate words --rows 1000 -o people.txt");
    folder.ok("generate sample people.txt --gap 50 -o s.txt");
    folder.ok("build s.txt --hash polynomial --hashes 2 --bits 100 -o s.tamis");
    let said = folder.ok("filter s.tamis people.txt --count");
    let lines = ["hash functions", "size of the set", "records analysed", "admitted", "rejected", "time to"];
    let places: Vec<_> = lines.iter().map(|line| said.find(&format!("\n{line}"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
}

/// It was that of the nearest whole number of keys: a third too low where there are few bits.
#[test]
fn the_rate_now_of_a_bloom_filter_is_that_of_its_bits() {
    let folder = Folder::new();
    for (keys, hashes, bits) in [(1, 4, 12), (3, 1, 10), (40, 3, 300)] {
        folder.write("k.txt", (0..keys).map(|key| format!("key {key}\n")).collect::<String>());
        folder.ok(&format!("build k.txt --kind bloom --hashes {hashes} --bits {bits} -o k.tamis"));
        let group = folder.json("inspect k.tamis")["groups"][0].clone();
        let share = group["ones"].as_f64().unwrap() / f64::from(bits);
        let rate = group["fpr_now"].as_f64().unwrap();
        assert!((rate - share.powi(hashes)).abs() < 1e-12, "{group}");
    }
}

#[test]
fn too_few_bits_for_groups_are_named_as_bits_and_saved_bits_that_differ_are_said() {
    let folder = Folder::new();
    folder.write("g.csv", "k,g\na,1\nb,2\nc,3\n");
    let few = "build g.csv --key k --group g --bits 9 -o g.tamis";
    folder.refused(few, 1, &["3 groups need 1,536 bits at least, not 9", "larger --bits"]);
    folder.refused("build g.csv --key k --group g --size 9 -o g.tamis", 1, &["192 bytes at least, not 9"]);
    let done = folder.run("plan --keys 1000 --bits 1050 -o p.json");
    assert!(done.err.contains("they have 1,024 of the 1,050 bits"), "{}", done.err);
    assert!(!folder.run("plan --keys 1000 --bits 1024 -o p.json").err.contains("they have"));
    assert!(!folder.run("plan --keys 1000 --bits 1050 --kind bloom -o p.json").err.contains("they have"));
    folder.refused("plan --keys 1000 --fpr 0.01 --chart p.png", 2, &["p.png", "picture"]);
}

#[test]
fn a_sample_may_have_the_ending_of_its_file() {
    let folder = Folder::new();
    folder.write("x.csv", (0..1000).map(|i| format!("{i},b\n")).collect::<String>());
    folder.ok("generate sample x.csv --gap 10 -o n.csv");
    let lines = folder.text("n.csv");
    assert!(lines.lines().count() > 100 && lines.lines().all(|line| line.ends_with(",b")), "{lines}");
    folder.refused("generate sample x.csv -o n.tsv", 2, &["n.tsv"]);
}
