//! Results that must not change: the published scheme, computed by another program, and files of
//! each version of the format.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::build::RATINGS;
use crate::support::Folder;

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What lies beside the repository where it is developed, and may be missing elsewhere.
pub fn shared(path: &str) -> PathBuf {
    root().join("../shared").join(path)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Builds with the published scheme, and compares every group with what another program found.
fn agrees(folder: &Folder, table: &str, vectors: &Value) {
    for (fpr, groups) in vectors["p"].as_object().unwrap() {
        folder.ok(&format!("build {table} {RATINGS} --hash murmur3 --fpr {fpr} -o a.tamis -q"));
        let test = folder.json(&format!("test a.tamis {table}"));
        let found = test["groups"].as_array().unwrap();
        assert_eq!(found.len(), groups.as_object().unwrap().len(), "p = {fpr}");
        for group in found {
            let name = group["group"].as_str().unwrap();
            let truth = &groups[name];
            for (field, known) in [
                ("keys", "n"),
                ("bits", "m"),
                ("hashes", "k"),
                ("ones", "ones"),
                ("false_positives", "fp"),
                ("negatives", "negatives"),
            ] {
                assert_eq!(group[field], truth[known], "p = {fpr}, group {name}: {field}");
            }
            assert_eq!(group["false_negatives"], 0);
            folder.ok(&format!("inspect a.tamis --group {name} --raw-bits bits -q"));
            let bits = folder.read("bits");
            assert_eq!(bits.len() as u64, truth["m"].as_u64().unwrap().div_ceil(8));
            assert_eq!(sha256(&bits), truth["sha256"].as_str().unwrap(), "p = {fpr}, group {name}");
        }
    }
}

#[test]
fn the_documents_scheme_agrees_with_another_program_bit_for_bit() {
    let vectors = std::fs::read_to_string(root().join("testdata/ratings-2000.json")).unwrap();
    let vectors: Value = vectors.parse().unwrap();
    let folder = Folder::with_ratings(2000);
    let table = folder.read("ratings.tsv");
    assert_eq!(sha256(&table), vectors["table_sha256"].as_str().unwrap(), "the generated table has changed");
    agrees(&folder, "ratings.tsv", &vectors);
}

#[test]
fn the_documents_scheme_agrees_on_the_real_ratings_of_2018() {
    let (table, vectors) =
        (shared("data/title.ratings.2018-03-12.tsv.gz"), shared("vectors/ratings-2018-03-12.json"));
    let (true, Ok(vectors)) = (table.exists(), std::fs::read_to_string(vectors)) else {
        println!("left out: the ratings of 2018 and their vectors are not at hand");
        return;
    };
    agrees(&Folder::new(), &table.canonicalize().unwrap().display().to_string(), &vectors.parse().unwrap());
}

/// Counts of version 1, with weights, groups and heavy keys.
#[test]
fn counts_of_version_1_are_built_again_byte_for_byte_and_stay_readable() {
    let folder = Folder::with_ratings(2000);
    for (name, how) in [
        ("count-min", "--width 50 --depth 3 --counter-bits 32 --heavy 0.06"),
        ("count-min-conservative", "--epsilon 0.05 --delta 0.2"),
    ] {
        let golden = std::fs::read(root().join(format!("testdata/v1/{name}.tamis"))).unwrap();
        folder.write("golden.tamis", &golden);
        folder.ok("verify golden.tamis");
        let test = folder.json("test golden.tamis ratings.tsv");
        assert_eq!(test["passed"], true, "{name}");
        folder
            .ok(&format!("build ratings.tsv {RATINGS} --weight numVotes --kind {name} {how} -o today.tamis"));
        assert!(folder.read("today.tamis") == golden, "{name}: the bytes have changed");
    }
    folder.write("golden.tamis", std::fs::read(root().join("testdata/v1/count-min.tamis")).unwrap());
    let top = folder.json("top golden.tamis");
    let listed = |group: &Value| group["listed"].as_u64().unwrap();
    assert_eq!(top["groups"].as_array().unwrap().iter().map(listed).sum::<u64>(), 34);
}

/// The file of section 20 of the format, as its command makes it.
#[test]
fn the_counts_of_the_specification_are_those_of_the_program() {
    let folder = Folder::new();
    folder.write("rows.csv", "tconst,votes\ntt0111161,3\ntt0068646,1\ntt0111161,2\n");
    let how =
        "--key tconst --weight votes --kind count-min --width 8 --depth 3 --counter-bits 32 --heavy 0.5";
    folder.ok(&format!("build rows.csv {how} -o rows.tamis"));
    let sum = tamis::hash::xxh3(&folder.read("rows.tamis"), 0);
    let page = std::fs::read_to_string(root().join("docs/format.md")).unwrap();
    assert!(page.contains(how) && page.contains(&format!("its XXH3 is 0x{sum:016x}.")), "{sum:016x}");
}

const LAYERED: &str =
    "--kind layered --layers 2 --keywords tconst --keywords averageRating --keywords numVotes";

/// A change of the format bumps its version; what was written before stays readable.
#[test]
fn files_of_version_1_are_built_again_byte_for_byte_and_stay_readable() {
    let folder = Folder::with_ratings(2000);
    for (name, how) in [
        ("blocked", "--kind blocked"),
        ("bloom", "--kind bloom"),
        ("fuse", "--kind fuse"),
        ("counting", "--kind counting"),
        ("murmur3", "--hash murmur3"),
        ("layered", LAYERED),
    ] {
        let golden = root().join(format!("testdata/v1/{name}.tamis"));
        let golden = std::fs::read(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
        folder.write("golden.tamis", &golden);
        folder.ok("verify golden.tamis");
        let test = folder.json("test golden.tamis ratings.tsv");
        assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()), "{name}");
        let made = folder.json("inspect golden.tamis");
        assert_eq!(made["recipe"]["group"]["steps"], serde_json::json!(["round"]), "{name}");
        let recipe = if how == LAYERED { "--group averageRating:round" } else { RATINGS };
        folder.ok(&format!("build ratings.tsv {recipe} {how} --fpr 0.01 -o today.tamis"));
        assert!(folder.read("today.tamis") == golden, "{name}: the bytes have changed");
    }
}

/// The inputs of the files of version 2, as testdata/README.md tells them.
fn inputs_of_version_2() -> Folder {
    let folder = Folder::new();
    let lines = |line: &dyn Fn(u32) -> String| (0..100).map(line).collect::<String>();
    folder.write("rows.txt", format!("# made up\n{}", lines(&|i| format!("key {i};\"{i}\n"))));
    let url = |i| format!("https://www{i}.site{}.co.uk/p/{i}\n", i % 40);
    folder.write("urls.csv", format!("url\n{}", lines(&url)));
    for day in 0..3 {
        let hosts: String = (day..100).step_by(3).map(|i| format!("host {i}\n")).collect();
        folder.write(&format!("logs/day{day}.txt"), hosts);
    }
    folder.write("docs/a.txt", "The aliens came from outer space, and aliens went in ships.\n");
    folder.write("docs/b.html", "<p class=x>An <b>al</b>ien &eacute;t&eacute;<script>var x;</script></p>\n");
    folder.write("docs/c.md", "# Gardens\n\nRoses need [space](http://x.org) to `grow`, *not* ships\n");
    folder
}

#[test]
fn files_of_version_2_are_built_again_byte_for_byte_and_stay_readable() {
    let folder = inputs_of_version_2();
    let note = "Keys, 100 of them: \"früh\"";
    let about = [
        ["--key", "1", "--delimiter", ";", "--quotes", "none", "--no-header", "--comment", "#"].as_slice(),
        ["--note", note, "--source", "made up"].as_slice(),
    ]
    .concat();
    let steps = ["--key", "url:extract=//([^/]+),domain"];
    let files = ["--group", "(file):after=/,before=."];
    let polynomial = ["--hash", "polynomial", "--seed", "7", "--hashes", "3", "--bits", "1009"];
    let words = ":words,stop=en,min=3,stem=en,top=5";
    let ribbon = ["--kind", "ribbon", "--fpr", "0.003", "--group", "(file):after=/,before=."];
    let documents = ["--record", "file", "--key", words, "--group", "(file)"];
    for (name, input, how, members) in [
        ("about", "rows.txt", &about[..], &["key 0", "key 99"][..]),
        ("steps", "urls.csv", &steps, &["//x.site0.co.uk", "http://site39.co.uk/"]),
        ("files", "logs", &files, &["host 0", "host 1", "host 2"]),
        ("polynomial", "logs", &polynomial, &["host 0", "host 1", "host 99"]),
        ("ribbon", "logs", &ribbon, &["host 0", "host 1", "host 99"]),
        ("documents", "docs", &documents, &["Aliens", "été", "rose", "gardens", "spaces"]),
    ] {
        let golden = std::fs::read(root().join(format!("testdata/v2/{name}.tamis"))).unwrap();
        folder.write("golden.tamis", &golden);
        folder.ok("verify golden.tamis");
        assert_eq!(folder.json("inspect golden.tamis")["format_version"], 2, "{name}");
        let test = folder.json(&format!("test golden.tamis {input}"));
        assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()), "{name}");
        for member in members {
            assert_eq!(folder.run_words(&["query", "golden.tamis", member], "").code, 0, "{name}: {member}");
        }
        let words = [&["build", input, "-o", "today.tamis"], how].concat();
        folder.run_words(&words, "").succeeded(name);
        assert!(folder.read("today.tamis") == golden, "{name}: the bytes have changed");
    }
    folder.write("golden.tamis", std::fs::read(root().join("testdata/v2/about.tamis")).unwrap());
    let recorded = serde_json::json!({
        "note": note, "source": "made up",
        "dialect": { "delimiter": ";", "quotes": "none", "header": false, "comment": "#" },
    });
    assert_eq!(folder.json("inspect golden.tamis")["about"], recorded);
    folder.write("golden.tamis", std::fs::read(root().join("testdata/v2/files.tamis")).unwrap());
    let located = folder.run_words(&["locate", "golden.tamis", "host 4"], "").succeeded("locate");
    assert!(located.contains("day1"), "{located}");
}
