//! Results as files: CSV of what is planned, tested and measured, and the contents of sketches as text.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::Folder;

/// The rows of a CSV by the names of its columns, read as RFC 4180 says.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let (mut lines, mut line, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            c => cell.push(c),
        }
    }
    assert!(!quoted && line.is_empty() && cell.is_empty(), "the last line is whole");
    let header = lines.remove(0);
    let row = |line: Vec<String>| {
        assert_eq!(line.len(), header.len(), "{line:?}");
        header.iter().cloned().zip(line).collect()
    };
    lines.into_iter().map(row).collect()
}

/// A table whose names of groups need quotes.
const TABLE: &str = "k,g\n1,\"a,b\"\n2,\"a,b\"\n3,\"say \"\"x\"\"\"\n4,plain\n5,plain\n6,plain\n";

#[test]
fn a_test_and_a_plan_are_written_as_csv_with_the_numbers_of_json() {
    let folder = Folder::new();
    folder.write("t.csv", TABLE);
    let planned = folder.json("plan t.csv --key k --group g --fpr 0.01 --csv plan.csv -o p.json");
    let listed = rows(&folder.text("plan.csv"));
    let names: BTreeSet<&str> = listed.iter().map(|row| &*row["group"]).collect();
    assert_eq!(names, BTreeSet::from(["a,b", "plain", "say \"x\""]));
    for group in planned["groups"].as_array().unwrap() {
        let row = listed.iter().find(|row| group["group"] == *row["group"]).unwrap();
        for field in ["keys", "hashes", "fpr"] {
            assert_eq!(row[field], group[field].to_string(), "{field}");
        }
        assert_eq!(row["bits"], group["slots"].to_string());
    }

    folder.ok("build t.csv --params p.json -o f.tamis");
    let tested = folder.json("test f.tamis t.csv --csv rates.csv --report page.html");
    let listed = rows(&folder.text("rates.csv"));
    assert_eq!(listed.len(), 3);
    for group in tested["groups"].as_array().unwrap() {
        let row = listed.iter().find(|row| group["group"] == *row["group"]).unwrap();
        for field in ["keys", "bits", "false_positives", "negatives", "expected_fpr", "false_negatives"] {
            assert_eq!(row[field], group[field].to_string(), "{field}");
        }
        let rate: f64 = row["fpr"].parse().unwrap();
        assert_eq!(group["fpr"].as_f64(), Some(rate));
        assert_eq!(row["taken_for_removed"], "");
    }
    assert!(folder.text("page.html").contains("</html>"));
}

#[test]
fn counts_and_numbers_are_written_as_csv() {
    let folder = Folder::new();
    folder.write("t.csv", TABLE);
    folder.ok("build t.csv --key k --group g --kind count-min --epsilon 0.01 -o c.tamis");
    folder.ok("test c.tamis t.csv --csv counts.csv");
    let listed = rows(&folder.text("counts.csv"));
    assert_eq!(listed.iter().map(|row| row["keys"].parse::<u64>().unwrap()).sum::<u64>(), 6);
    assert!(listed.iter().all(|row| row["below"] == "0" && row["passed"] == "yes"));

    folder.ok("plan --keys 1e6 --fpr 0.01 --csv kinds.csv");
    let kinds = rows(&folder.text("kinds.csv"));
    let bloom = kinds.iter().find(|row| row["kind"] == "bloom").unwrap();
    assert_eq!((&*bloom["keys"], &*bloom["hashes"]), ("1000000", "7"));
    folder.ok("plan --kind count-min --epsilon 0.01 --delta 0.01 --csv counters.csv");
    assert_eq!(rows(&folder.text("counters.csv"))[0]["counters_per_row"], "272");
}

#[test]
fn a_csv_is_written_over_nothing_that_is_read_and_under_no_name_that_says_otherwise() {
    let folder = Folder::new();
    folder.write("t.csv", TABLE);
    folder.ok("build t.csv --key k -o f.tamis");
    for line in [
        "test f.tamis t.csv --csv t.csv",
        "test f.tamis t.csv --csv page.html",
        "test f.tamis t.csv --report x.html --csv x.html",
        "plan t.csv --key k --csv t.csv",
        "plan t.csv --key k --csv f.tamis",
    ] {
        folder.refused(line, 2, &[]);
    }
    assert_eq!(folder.text("t.csv"), TABLE);
}

/// MurmurHash3 x86, 32 bits.
fn murmur3(key: &[u8], seed: u32) -> u32 {
    let mix = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, tail) = key.split_at(key.len() / 4 * 4);
    let mut h = seed;
    for block in blocks.chunks(4) {
        h ^= mix(u32::from_le_bytes(block.try_into().unwrap()));
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        h ^= mix(tail.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte)));
    }
    h ^= key.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// `fold` of docs/format.md: both halves of the product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The positions of a key in a `blocked` filter, as docs/format.md has them.
fn in_blocked(key: &str, bits: u64, k: u64) -> Vec<u64> {
    let h = tamis::hash::xxh3(key.as_bytes(), 0);
    let line = ((u128::from(h) * u128::from(bits / 512)) >> 64) as u64;
    let (p, q) = (fold(h, 0x9e37_79b9_7f4a_7c15), fold(h, 0xd1b5_4a32_d192_ed03));
    let lane = 512 / k;
    let place = |i: u64| match k {
        16.. if i >= k / 2 => q >> ((i - k / 2) * u64::from(lane.ilog2())),
        _ => p >> (i * u64::from(lane.ilog2())),
    };
    (0..k).map(|i| 512 * line + lane * i + place(i) % lane).collect()
}

/// The lines of a text: groups, and the numbers behind them.
fn lines(text: &str) -> BTreeMap<String, Vec<u64>> {
    let line = |line: &str| {
        let (group, numbers) = line.rsplit_once('\t').unwrap();
        (group.to_owned(), numbers.split_whitespace().map(|number| number.parse().unwrap()).collect())
    };
    text.lines().map(line).collect()
}

#[test]
fn the_contents_of_filters_are_the_positions_that_the_format_gives_their_keys() {
    let folder = Folder::with_ratings(3000);
    let table = folder.text("ratings.tsv");
    let mut by_rating: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        // Halves to even, as the step rounds.
        let rating = cells[1].parse::<f64>().unwrap().round_ties_even().to_string();
        by_rating.entry(rating).or_default().push(cells[0]);
    }
    for (kind, hash) in [("bloom", "murmur3"), ("blocked", "xxh3")] {
        let keys = "--key tconst --group averageRating:round --fpr 0.01";
        folder.ok(&format!("build ratings.tsv {keys} --kind {kind} --hash {hash} -o f.tamis"));
        let groups = folder.json("inspect f.tamis");
        let positions = lines(&folder.ok("inspect f.tamis --text"));
        assert_eq!(positions.len(), by_rating.len());
        for group in groups["groups"].as_array().unwrap() {
            let name = group["group"].as_str().unwrap();
            let (bits, k) = (group["bits"].as_u64().unwrap(), group["hashes"].as_u64().unwrap());
            let wanted: BTreeSet<u64> = by_rating[name]
                .iter()
                .flat_map(|key| match kind {
                    "bloom" => (0..k).map(|i| u64::from(murmur3(key.as_bytes(), i as u32)) % bits).collect(),
                    _ => in_blocked(key, bits, k),
                })
                .collect();
            assert_eq!(positions[name], wanted.iter().copied().collect::<Vec<_>>(), "{kind} {name}");

            let line = folder.ok(&format!("inspect f.tamis --group {name} --text=bits"));
            let (_, digits) = line.trim_end().split_once('\t').unwrap();
            assert_eq!(digits.len() as u64, bits);
            let ones = digits.bytes().zip(0u64..).filter(|(digit, _)| *digit == b'1').map(|(_, at)| at);
            assert!(ones.eq(wanted), "{kind} {name}");
        }
    }
}

#[test]
fn the_contents_of_sketches_that_count_are_their_counters() {
    let folder = Folder::new();
    folder.write("t.csv", "k,w\ntt0111161,3\ntt0068646,1\ntt0111161,2\n");
    let sketch = "--key k --weight w --kind count-min --width 8 --depth 3 --counter-bits 32";
    folder.ok(&format!("build t.csv {sketch} -o c.tamis"));
    // The words that docs/format.md gives for this file.
    let wanted = "\t0\t0 1 0 0 0 0 0 5\n\t1\t1 0 0 0 0 0 5 0\n\t2\t0 5 0 0 0 0 1 0\n";
    assert_eq!(folder.ok("inspect c.tamis --text"), wanted);

    folder.write("k.txt", "a\nb\na\n");
    folder.ok("build k.txt --kind counting --keys 10 -o n.tamis");
    let counters = &lines(&folder.ok("inspect n.tamis --text"))[""];
    let k = folder.json("inspect n.tamis")["groups"][0]["hashes"].as_u64().unwrap();
    assert_eq!(counters.iter().sum::<u64>(), 3 * k, "each row counts once in each of its counters");

    folder.refused("inspect n.tamis --text=bits", 2, &["counting has counters"]);
    folder.refused("inspect c.tamis --text --json", 2, &["exclude each other"]);
    folder.ok("build k.txt --kind fuse -o u.tamis");
    folder.refused("inspect u.tamis --text", 2, &["fingerprints"]);
}

#[test]
fn the_grid_of_ratings_has_both_formulas_and_what_was_printed() {
    let folder = Folder::new();
    let found = folder.ok("reproduce ratings --rows 4000 --repeats 1");
    for says in ["p = 0.001  FP/(FP+TN)  printed  p = 0.01  FP/(FP+TN)", "p = 0.1  FP/(FP+TN)", "0.0939"] {
        assert!(found.contains(says), "{says}: {found}");
    }
    let listed = rows(&folder.text("reproduce-ratings.csv"));
    assert_eq!(listed.len(), 4 * 2 * 4 * 10, "rates, schemes, threads, ratings");
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<f64>().unwrap();
    for row in &listed {
        let (hits, negatives) = (number(row, "false_positives"), number(row, "negatives"));
        assert_eq!(number(row, "rate"), hits / negatives);
        assert_eq!(number(row, "rate_as_printed"), hits / (hits + negatives));
        assert_eq!(row["false_negatives"], "0");
        let phases = ["parameters_seconds", "filters_seconds", "test_seconds"].map(|name| number(row, name));
        assert!((phases.iter().sum::<f64>() - number(row, "seconds")).abs() < 1e-6);
    }
    let seventh = |row: &&BTreeMap<String, String>| {
        (&*row["p"], &*row["scheme"], &*row["workers"], &*row["group"]) == ("0.1", "printed", "2", "7")
    };
    let row = listed.iter().find(seventh).unwrap();
    assert_eq!((&*row["printed_rate"], &*row["printed_seconds"]), ("0.091", "90.039"));
    folder.refused("reproduce ratings --executors 2", 2, &["required arguments"]);
}

#[test]
fn what_each_phase_makes_is_saved_and_is_what_the_verbs_make() {
    let folder = Folder::new();
    folder.ok("generate ratings --rows 3000 -o ratings.tsv");
    folder.ok("reproduce ratings ratings.tsv --repeats 1 --save phases");
    let recipe = "ratings.tsv --key tconst --group averageRating:round --kind bloom --hash murmur3";
    for p in ["0.001", "0.01", "0.05", "0.1"] {
        let saved = |name: &str| format!("phases/p-{p}/{name}");
        folder.ok(&format!("plan {recipe} --fpr {p} -o plan.json"));
        folder.ok(&format!("build {recipe} --fpr {p} -o one.tamis"));
        folder.ok(&format!("build ratings.tsv --params {} -o params.tamis", saved("params.json")));
        folder.ok("test one.tamis ratings.tsv --csv rates.csv");
        assert_eq!(folder.text(&saved("params.json")), folder.text("plan.json"), "{p}");
        assert_eq!(folder.text(&saved("rates.csv")), folder.text("rates.csv"), "{p}");
        assert_eq!(folder.text(&saved("filters.txt")), folder.ok("inspect one.tamis --text=bits"), "{p}");
        let [saved, whole, parts] =
            [&*saved("filters.tamis"), "one.tamis", "params.tamis"].map(|name| folder.read(name));
        assert_eq!(saved, whole, "{p}");
        assert_eq!(parts, whole, "{p}");
    }
}

#[test]
fn published_data_is_known_by_its_name_and_what_is_missing_is_said() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.ok("generate ratings --rows 2000 -o data/title.ratings.2018-03-12.tsv");
    let done = folder.run("reproduce all --out r --data data --most 2000");
    assert!(done.out.contains("reproduce ratings data/title.ratings.2018-03-12.tsv --csv"), "{}", done.out);
    for name in ["netflix_titles.csv", "tmdb_5000_movies.csv"] {
        assert!(done.err.contains(&format!("data: no {name} is there")), "{}", done.err);
    }
    folder.write("data/title.ratings.tsv", "");
    folder.refused(
        "reproduce all --out r --data data",
        2,
        &["title.ratings.2018-03-12.tsv", "which one is meant"],
    );
    folder.refused("reproduce all --out r --data none", 2, &["--data none", "no such folder"]);
    folder.write("file", "");
    folder.refused("reproduce all --out file", 2, &["--out file", "name a folder"]);
}

#[test]
fn all_experiments_go_into_one_folder_with_an_index_that_leads_to_each() {
    let folder = Folder::new();
    let found = folder.json("reproduce all --out out/r --most 2000");
    assert_eq!(found["passed"], true);
    let (index, tables) = (folder.text("out/r/index.html"), folder.text("out/r/results.md"));
    for name in ["ratings", "streams", "speedup", "layers", "search", "design"] {
        assert!(found[name].is_object(), "{name}");
        for ending in ["html", "csv"] {
            let file = format!("{name}.{ending}");
            assert!(index.contains(&format!("href=\"{file}\"")), "{file}");
        }
        let csv = rows(&folder.text(&format!("out/r/{name}.csv")));
        assert!(!csv.is_empty(), "{name}");
        assert!(folder.text(&format!("out/r/{name}.html")).contains("Measured on 20"), "{name}");
        assert!(tables.contains(&format!("`tamis reproduce {name}")), "{name}");
    }
    // Every table says how, when and where it was measured.
    let heads = tables.lines().filter(|line| line.starts_with("|---")).count();
    let seen = |line: &&str| line.starts_with("`tamis reproduce ") && line.contains(std::env::consts::ARCH);
    assert!(heads > 8);
    assert_eq!(tables.lines().filter(seen).count(), heads);

    // What a line says is what anybody can type.
    let line = tables.lines().find(|line| line.starts_with("`tamis reproduce design")).unwrap();
    let command = line.split('`').nth(1).unwrap().strip_prefix("tamis ").unwrap();
    let before = folder.text("out/r/design.csv");
    folder.ok(command);
    let counts = |csv: &str| rows(csv).iter().map(|row| row["false_positives"].clone()).collect::<Vec<_>>();
    assert_eq!(counts(&folder.text("out/r/design.csv")), counts(&before));
}
