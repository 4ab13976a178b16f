//! Filters of other systems: recognised, asked, tested, converted and written, as their users would.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::Folder;

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign")
}

/// A folder with some files that other systems wrote.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in [
        "bloom_v2_longs",
        "bloom_v1_strings",
        "bloom_default_10000_ids",
        "guava_longs",
        "guava_unencoded_chars",
        "hadoop_counting_bloom",
        "cms_strings",
        "cms_longs",
    ] {
        let file = fs::read(vectors().join(format!("spark4_{name}.bin"))).unwrap();
        folder.write(&format!("{name}.bin"), file);
    }
    folder.write("three_links.bin", fs::read(vectors().join("redis_three_links.bin")).unwrap());
    let ids: String = (0..10_000).map(|i| format!("tt{:07}\n", i * 37)).collect();
    folder.write("ids.txt", ids);
    folder
}

/// Every scheme that can be built, with the end of its file.
const SCHEMES: [&str; 9] = [
    "spark-v1",
    "spark-v2",
    "guava-64",
    "guava-32",
    "hadoop-murmur",
    "hadoop-jenkins",
    "dcso",
    "datasketches",
    "redis",
];

#[test]
fn a_file_is_recognised_and_says_what_is_not_in_it() {
    let folder = folder();
    let told = folder.json("inspect bloom_default_10000_ids.bin");
    assert_eq!((&told["format"], &told["scheme"]), (&json!("spark"), &json!("spark-v2")));
    assert_eq!(told["plan_is_recorded"], json!(false));
    let group = &told["groups"][0];
    assert_eq!((&group["bits"], &group["hashes"]), (&json!(95_872), &json!(7)));
    let keys = group["estimated_keys"].as_f64().unwrap();
    assert!((keys / 10_000.0 - 1.0).abs() < 0.02, "{keys} keys by the fill");

    let unknown = folder.run("query guava_longs.bin 42");
    assert!(unknown.err.contains("does not say of what type its keys are"), "{}", unknown.err);
    let said = folder.run("query guava_longs.bin --funnel long 42");
    assert!(!said.err.contains("type"), "{}", said.err);
    assert_eq!(said.out, "42\tyes\n");
}

#[test]
fn a_file_that_is_cut_says_how_long_it_is_and_should_be() {
    let folder = folder();
    for name in ["bloom_v2_longs", "bloom_v1_strings", "guava_longs", "hadoop_counting_bloom"] {
        let whole = fs::read(vectors().join(format!("spark4_{name}.bin"))).unwrap();
        folder.write("cut.bin", &whole[..whole.len() - 8]);
        let says = format!("it should have {} bytes, and has {}", whole.len(), whole.len() - 8);
        folder.refused("inspect cut.bin", 1, &[&says]);
    }
}

#[test]
fn keys_are_asked_in_the_type_that_they_have_there() {
    let folder = folder();
    assert_eq!(
        folder.run("query bloom_v2_longs.bin --funnel long 42 43 -- -1").out,
        "42\tyes\n43\t\n-1\tyes\n"
    );
    assert_eq!(
        folder.run("query guava_unencoded_chars.bin --funnel utf16 tt0000001").out,
        "tt0000001\tyes\n"
    );
    folder.refused("query bloom_v2_longs.bin --funnel long forty-two", 2, &["not a whole number of 64 bits"]);
    folder.refused("query bloom_v2_longs.bin --funnel longs 1", 2, &["longs"]);
    folder.refused("query bloom_v2_longs.bin --as dcso 1", 2, &["is not a Bloom filter of DCSO"]);

    folder.write("events.csv", "user_id,what\n42,a\n43,b\n-1,c\n");
    let passed = folder.run("filter bloom_v2_longs.bin events.csv --key user_id:long");
    assert_eq!(passed.out, "user_id,what\n42,a\n-1,c\n");
    assert!(!passed.err.contains("by other steps"), "{}", passed.err);
    assert_eq!(
        folder.run("filter bloom_v2_longs.bin events.csv --key user_id --funnel long").out,
        passed.out
    );
}

/// The measured truth about a filter of Spark: no member is lost, and the rate is that of its bits.
#[test]
fn a_foreign_filter_is_tested_like_our_own() {
    let folder = folder();
    let told = folder.json("test bloom_default_10000_ids.bin ids.txt --random 20000");
    assert_eq!((&told["false_negatives"], &told["passed"]), (&json!(0), &json!(true)), "{told}");
    // What Spark itself says of this filter (`expectedFpp` in java.json).
    assert_eq!(told["groups"][0]["expected_fpr"], json!(0.009945629392780696));
    folder.write("others.txt", "tt0000001\ntt0000002\n");
    assert_eq!(folder.run("test bloom_default_10000_ids.bin others.txt").code, 1, "two members are lost");
}

#[test]
fn a_conversion_goes_there_and_back_bit_for_bit() {
    let folder = folder();
    for name in ["bloom_v2_longs", "bloom_v1_strings", "guava_longs", "guava_unencoded_chars"] {
        let (layout, funnel) = (
            if name.starts_with("guava") { "guava" } else { "spark" },
            if name.ends_with("longs") { "long" } else { "utf8" },
        );
        folder.ok(&format!("convert {name}.bin --funnel {funnel} --to tamis -o {name}.tamis"));
        folder.ok(&format!("verify {name}.tamis"));
        folder.ok(&format!("convert {name}.tamis --to {layout} -o again.bin"));
        assert!(folder.read("again.bin") == folder.read(&format!("{name}.bin")), "{name}");
    }
    // The type is recorded, and need not be said again.
    assert_eq!(folder.run("query bloom_v2_longs.tamis 42 43").out, "42\tyes\n43\t\n");
    folder.refused("query bloom_v2_longs.tamis 42 --funnel long", 2, &["says itself how its keys were made"]);
    folder.refused(
        "convert bloom_v2_longs.tamis --to guava -o x.bin",
        1,
        &["no conversion can move them", "--to FORMAT"],
    );
    folder.refused("convert bloom_v2_longs.tamis --to spark-v1 -o x.bin", 1, &["spark-v2"]);
    folder.refused("convert bloom_v2_longs.bin --to tamis -o x.csv", 2, &["x.csv"]);
    folder.refused("add bloom_v2_longs.bin ids.txt", 1, &["is a Bloom filter of Spark, not a tamis file"]);
    assert!(!folder.path("x.bin").exists());
}

#[test]
fn what_is_built_for_another_system_is_its_own_file() {
    let folder = folder();
    // The very bytes that Spark wrote for the same keys.
    folder.ok("build ids.txt --to spark -o ids.bin");
    assert!(folder.read("ids.bin") == folder.read("bloom_default_10000_ids.bin"));
    for scheme in SCHEMES {
        folder.ok(&format!("build ids.txt --to {scheme} --fpr 0.02 -o {scheme}.bin"));
        let told = folder.json(&format!("inspect {scheme}.bin"));
        assert_eq!(told["scheme"], json!(scheme));
        folder.ok(&format!("test {scheme}.bin ids.txt --quiet"));
        folder.ok(&format!("build ids.txt --hash {scheme} --fpr 0.02 -o {scheme}.tamis"));
        let layout = scheme.split('-').next().unwrap();
        folder.ok(&format!("convert {scheme}.tamis --to {layout} -o again.bin"));
        let (again, built) = (folder.read("again.bin"), folder.read(&format!("{scheme}.bin")));
        // A file of ours counts distinct keys; these count those that were new to the filter, in order.
        let (counted, bits) = match scheme {
            "dcso" => (40..48, 48),
            "redis" => (0..8, 73),
            _ => (0..0, 0),
        };
        let number =
            |file: &[u8]| file[counted.clone()].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        assert!(again[bits..] == built[bits..] && again.len() == built.len(), "{scheme}");
        if bits > 0 {
            let (distinct, new) = (number(&again), number(&built));
            assert!(distinct == 10_000 && (9_800..10_000).contains(&new), "{scheme}: {distinct} {new}");
        }
    }
    folder.refused("build ids.txt --to spark -o ids.tamis", 2, &["must not end in .tamis"]);
    folder.refused("build ids.txt --to parquet -o ids.bin", 2, &["datasketches"]);
    folder.is_clean();
}

/// With the hash of another system, the law of any split holds as with ours.
#[test]
fn foreign_schemes_merge_and_split_like_ours() {
    let folder = folder();
    let ids = folder.text("ids.txt");
    let (first, second) = ids.split_at(ids.len() / 2 / 10 * 10);
    folder.write("first.txt", first);
    folder.write("second.txt", second);
    for scheme in SCHEMES {
        folder.ok(&format!("plan ids.txt --hash {scheme} --fpr 0.01 -o params.json"));
        for name in ["ids", "first", "second"] {
            folder.ok(&format!("build {name}.txt --params params.json --threads 3 -o {name}.tamis"));
        }
        folder.ok("merge first.tamis second.tamis -o both.tamis");
        assert!(folder.read("both.tamis") == folder.read("ids.tamis"), "{scheme}");
        folder.ok("test ids.tamis ids.txt --quiet");
    }
    folder.ok("build first.txt --keys 1e4 --to guava -o a.bin");
    folder.ok("build second.txt --keys 1e4 --to guava -o b.bin");
    folder.ok("build ids.txt --keys 1e4 --to guava -o c.bin");
    folder.ok("merge a.bin b.bin -o ab.tamis");
    folder.ok("convert ab.tamis --to guava -o ab.bin");
    assert!(folder.read("ab.bin") == folder.read("c.bin"), "filters of Guava, merged");
    folder.ok("build ids.txt --keys 1e4 --to spark -o d.bin");
    folder.refused("merge a.bin d.bin -o ad.tamis", 1, &["guava-64", "spark-v2"]);
}

#[test]
fn groups_go_one_by_one() {
    let folder = Folder::with_ratings(500);
    folder.ok("build ratings.tsv --key tconst --group averageRating:round --hash guava-64 -o week.tamis");
    folder.refused("convert week.tamis --to guava -o eight.bin", 1, &["filters", "--group"]);
    folder.ok("convert week.tamis --group 8 --to guava -o eight.bin");
    let told = folder.json("inspect eight.bin");
    assert_eq!(told["groups"].as_array().map(Vec::len), Some(1));
    folder.refused(
        "build ratings.tsv --key tconst --group averageRating --to guava -o x.bin",
        2,
        &["--group"],
    );
}

#[test]
fn damaged_files_say_what_does_not_fit() {
    let folder = folder();
    let file = folder.read("bloom_v2_longs.bin");
    folder.write("cut.bin", &file[..file.len() - 1]);
    folder.refused("inspect cut.bin", 1, &["begins like a Bloom filter of Spark", "bytes"]);
    let mut forged = file.clone();
    forged[12..16].copy_from_slice(&i32::MAX.to_be_bytes());
    folder.write("forged.bin", forged);
    folder.refused("query forged.bin 1", 2, &["begins like a Bloom filter of Spark", "bytes"]);
    folder.write("text.bin", "just a text\n");
    folder.refused("inspect text.bin", 1, &["not a tamis file"]);
}

/// A sketch of Spark that counts is asked by text or by numbers, as its keys were counted.
#[test]
fn counts_of_spark_are_asked_and_tested_and_not_converted() {
    let folder = folder();
    let told = folder.json("inspect cms_longs.bin");
    assert_eq!((&told["format"], &told["kind"]), (&json!("spark-counts"), &json!("count-min")));
    let group = &told["groups"][0];
    assert_eq!(
        (&group["total"], &group["depth"], &group["counters_per_row"]),
        (&json!(5050), &json!(5), &json!(64))
    );
    // Estimates of Spark itself (`estimates` in java.json).
    let asked = folder.run("query cms_longs.bin --funnel long 0 42 -- -1");
    let estimates: Vec<&str> = asked.out.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(estimates, ["13", "5", "14"]);
    let asked = folder.json("query cms_strings.bin a abcd tt0000001 never");
    let estimates: Vec<u64> =
        asked.as_array().unwrap().iter().map(|one| one["estimate"].as_u64().unwrap()).collect();
    assert_eq!(estimates[..3], [2, 5, 26]);

    // Item i came i + 1 times, by java.json.
    let index: serde_json::Value =
        serde_json::from_slice(&fs::read(vectors().join("java.json")).unwrap()).unwrap();
    let vectors = index["vectors"].as_array().unwrap();
    let items =
        vectors.iter().find(|vector| vector["file"] == "spark4_cms_longs.bin").unwrap()["items"].clone();
    let rows: String =
        (1..).zip(items.as_array().unwrap()).map(|(times, item)| format!("{item}\n").repeat(times)).collect();
    folder.write("longs.csv", format!("id\n{rows}"));
    for said in ["--key id:long", "--key id --funnel long"] {
        let told = folder.json(&format!("test cms_longs.bin longs.csv {said}"));
        assert_eq!(told["passed"], json!(true), "{told}");
    }
    assert_eq!(folder.run("test cms_longs.bin longs.csv --key id").code, 1, "as text, counts are too low");

    for (command, code) in [
        ("convert cms_longs.bin --funnel long --to tamis -o x.tamis", 1),
        ("convert cms_longs.bin --funnel long --to spark -o x.bin", 1),
        ("merge cms_longs.bin cms_longs.bin -o x.tamis", 1),
    ] {
        folder.refused(command, code, &["a Count-Min sketch of Spark", "not converted", "--kind count-min"]);
    }
    folder.refused(
        "convert hadoop_counting_bloom.bin --to tamis -o x.tamis",
        1,
        &["counters", "--to FORMAT"],
    );
    folder.refused("filter cms_longs.bin longs.csv --key id:long", 1, &["records cannot be filtered"]);
    let mut damaged = folder.read("cms_longs.bin");
    damaged[27] ^= 1;
    folder.write("damaged.bin", damaged);
    folder.refused(
        "inspect damaged.bin",
        1,
        &["a Count-Min sketch of Spark", "factors are not those of any seed"],
    );
    assert!(!folder.path("x.tamis").exists() && !folder.path("x.bin").exists());
}

/// A filter of Redis that grew: a key is in it if any of its links has it.
#[test]
fn a_filter_that_grew_is_asked_through_all_its_links() {
    let folder = folder();
    let told = folder.json("inspect three_links.bin");
    assert_eq!((&told["format"], &told["scheme"]), (&json!("redis"), &json!("redis-links")));
    let group = &told["groups"][0];
    assert_eq!(
        (&group["rows"], &group["bits"], &group["planned_keys"]),
        (&json!(130), &json!(1920), &json!(20))
    );
    let items: String = (0..130).map(|i| format!("tt{i:07}\n")).collect();
    folder.write("items.txt", &items);
    assert_eq!(
        folder.run("query three_links.bin tt0000000 tt0000059 tt0000129 zz").out.matches("yes").count(),
        3
    );
    assert_eq!(folder.run("filter three_links.bin items.txt").out, items);
    let told = folder.json("test three_links.bin items.txt --random 200");
    assert_eq!((&told["false_negatives"], &told["passed"]), (&json!(0), &json!(true)), "{told}");
    folder.refused("convert three_links.bin --to tamis -o x.tamis", 1, &["it grew", "--to FORMAT"]);
    folder.refused("merge three_links.bin three_links.bin -o x.tamis", 1, &["it grew"]);
    let mut forged = folder.read("three_links.bin");
    forged[16] = 3; // another growth
    folder.write("forged.bin", forged);
    folder.refused("inspect forged.bin", 1, &["link 2 is not of the size that follows from the first"]);
}

/// Filters of several systems, and ours, in one pass: each has its own hash and its own steps.
#[test]
fn several_files_are_asked_at_once_and_told_by_their_names() {
    let folder = folder();
    folder.write("ours.csv", "id\n1\n42\n7\n");
    folder.ok("build ours.csv --key id -o ours.tamis");
    folder.write("dcso.txt", "7\n8\n");
    folder.ok("build dcso.txt --to dcso -o known.bloom");
    folder.write("events.csv", "user,what\n42,a\n7,b\n8,c\n9,d\n");
    let sieve =
        "filter ours.tamis events.csv --key user --also known.bloom --also spark=bloom_v2_longs.tamis";
    folder.ok("convert bloom_v2_longs.bin --funnel long --to tamis -o bloom_v2_longs.tamis");
    let passed = folder.run(&format!("{sieve} --tag=in"));
    assert_eq!(
        passed.out, "user,what,in\n42,a,\"ours,spark\"\n7,b,\"ours,known\"\n8,c,known\n",
        "{}",
        passed.err
    );
    assert_eq!(folder.run(&format!("{sieve} --invert")).out, "user,what\n9,d\n");
    let told = folder.json(&format!("{sieve} -o passed.csv"));
    assert_eq!((&told["records"], &told["admitted"]), (&json!(4), &json!(3)));
    let files: Vec<(&str, u64)> = told["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["name"].as_str().unwrap(), file["admitted"].as_u64().unwrap()))
        .collect();
    assert_eq!(files, [("ours", 2), ("known", 2), ("spark", 1)]);
    assert_eq!(folder.text("passed.csv"), "user,what\n42,a\n7,b\n8,c\n");
    let counted = folder.run(&format!("{sieve} --count"));
    assert!(counted.out.contains("by known") && counted.out.contains("dcso"), "{}", counted.out);

    // What is said is said of the files of other systems, also where the first is ours.
    let said = "filter ours.tamis events.csv --key user --also bloom_v2_longs.bin --funnel long --tag=in";
    assert_eq!(folder.run(said).out, "user,what,in\n42,a,\"ours,bloom_v2_longs\"\n7,b,ours\n");
    // A type of keys is that of the files that leave it open: those of DCSO are bytes.
    let said = "filter known.bloom events.csv --key user --also bloom_v2_longs.bin --funnel long --tag=in";
    assert_eq!(folder.run(said).out, "user,what,in\n42,a,bloom_v2_longs\n7,b,known\n8,c,known\n");
    // A file that names no columns has those of the first.
    folder.write("more.csv", "id\n8\n9\n");
    assert_eq!(folder.run("filter ours.tamis more.csv --also known.bloom").out, "id\n8\n");

    let asked = folder.run("query ours.tamis 42 7 8 9 --also known.bloom");
    assert_eq!(asked.out, "42\tours\n7\tours,known\n8\tknown\n9\t\n");
    let asked = folder.json("query ours.tamis 7 9 --also k=known.bloom");
    assert_eq!(asked[0]["files"], json!([{"name": "ours"}, {"name": "k"}]));
    assert_eq!((&asked[1]["found"], &asked[1]["files"]), (&json!(false), &json!([])));

    folder.refused("query ours.tamis 1 --also ./ours.tamis", 2, &["two files are called ours", "NAME=FILE"]);
    folder.refused(&format!("{sieve} --strict"), 2, &["--also", "--strict"]);
    folder.refused("filter ours.tamis more.csv --also cms_longs.bin", 1, &["records cannot be filtered"]);
    folder.refused("filter ours.tamis more.csv --also none.bin", 1, &["none.bin"]);
}
