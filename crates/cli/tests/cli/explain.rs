//! `explain`: a kind of sketch, with the reader's numbers, for people, programs and the browser.

use crate::support::Folder;

/// 10⁹ keys in 8·10⁹ bits, the example of the slides of Castillo and Buda.
#[test]
fn the_example_of_the_slides_is_derived_for_one_hash_two_and_k() {
    let folder = Folder::new();
    let page = folder.ok("explain bloom");
    for said in [
        "1,000,000,000 keys in 8,000,000,000 bits, 6 hash functions",
        "e^(−n/m) = e^(−0.125) = 0.8825",
        "1 − e^(−n/m) = 1 − 0.8825 = 0.1175",
        "0.2212² = 0.04893",
        "print 0.0493",
        "8 · 0.6931 = 5.545",
        "0.02158",
        // 1/e is the share of bits that stay zero, not an error.
        "That is the probability that a bit stays 0",
    ] {
        assert!(page.replace("\n", " ").contains(said), "{said}: {page}");
    }
    assert_eq!(page, folder.ok("explain bloom --keys 1e9 --bits 8e9"));
    let best = page.lines().find(|line| line.contains("best, yours")).unwrap();
    assert!(best.trim_start().starts_with("6 "), "{best}");
    let longest = page.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "{longest}");

    let json = folder.json("explain bloom");
    for (hashes, rate) in [(1, 0.1175), (2, 0.0489), (6, 0.0216), (8, 0.0255)] {
        let point = &json["by_hashes"][hashes - 1];
        for name in ["fpr", "fpr_approximation"] {
            assert!((point[name].as_f64().unwrap() - rate).abs() < 5e-5, "{name}: {point}");
        }
        let apart = point["relative_difference"].as_f64().unwrap();
        assert!(apart > 0.0 && apart < 1e-7, "{point}");
    }
    assert!((json["by_hashes"][7]["zeros"].as_f64().unwrap() - (-1f64).exp()).abs() < 1e-12);
    assert_eq!(json["best_hashes"]["rounded"], 6);
}

#[test]
fn the_numbers_are_those_that_plan_gives() {
    let folder = Folder::new();
    for kind in ["bloom", "blocked", "fuse", "ribbon", "counting"] {
        for sizes in ["--keys 1e6 --fpr 0.01", "--keys 12345 --bits 98304", "--size 1MB --fpr 0.001"] {
            let plan = folder.json(&format!("plan {sizes} --kind {kind}"))["kinds"][0].clone();
            let page = folder.json(&format!("explain {kind} {sizes}"));
            for name in ["kind", "keys", "bits", "fpr", "bits_per_key"] {
                assert_eq!(page[name], plan[name], "{kind} {sizes}: {name}");
            }
        }
    }
    let plan = folder.json("plan --kind layered --keys 10000 --layers 3 --fpr 0.05")["groups"][0].clone();
    let page = folder.json("explain layered --keys 10000 --layers 3 --fpr 0.05");
    for name in ["keys", "layers", "hashes", "fpr_layer", "fpr_random_records"] {
        assert_eq!(page[name], plan[name], "{name}");
    }
    let plan = folder.json("plan --kind count-min --epsilon 0.001 --delta 0.01");
    let page = folder.json("explain count-min --epsilon 0.001 --delta 0.01 --total 1e6");
    for name in ["counters_per_row", "depth", "counter_bits", "bytes"] {
        assert_eq!(page[name], plan[name], "{name}");
    }
    assert_eq!((page["counters_per_row"].as_u64(), page["depth"].as_u64()), (Some(2719), Some(5)));
    assert_eq!(page["bound"], 999, "e/2719 of a million");
}

#[test]
fn hashes_can_be_chosen_and_what_cannot_be_is_refused() {
    let folder = Folder::new();
    let two = folder.json("explain bloom --keys 1000 --bits 8000 --hashes 2");
    assert_eq!((two["hashes"].as_u64(), two["best_hashes"]["rounded"].as_u64()), (Some(2), Some(6)));
    assert!(folder.ok("explain bloom --keys 1000 --bits 8000 --hashes 2").contains("yours"));
    assert_eq!(folder.json("explain blocked --hashes 16")["hashes"], 16);
    assert_eq!(folder.json("explain layered --bits 1e6 --hashes 5")["hashes"], 5);
    folder.refused("explain blocked --hashes 3", 2, &["1, 2, 4, 8, 16 or 32", "--hashes"]);
    folder.refused("explain bloom --hashes 65", 2, &["1 to 64", "--hashes"]);
    assert_eq!(folder.json("explain bloom --keys 1000 --fpr 0.1 --hashes 2")["hashes"], 2);
    folder.refused("explain layered --fpr 0.1 --hashes 2", 2, &["give --bits with --hashes"]);
}

#[test]
fn a_filter_of_a_file_is_explained_with_its_own_numbers() {
    let folder = Folder::with_ratings(2000);
    folder.ok("build ratings.tsv --key tconst --kind bloom --fpr 0.02 -o all.tamis");
    folder.ok("build ratings.tsv --key tconst --group averageRating:round -o groups.tamis");
    let (file, page) = (folder.json("inspect all.tamis"), folder.json("explain all.tamis"));
    let group = &file["groups"][0];
    for (of_page, of_file) in [("keys", "planned_keys"), ("bits", "bits"), ("hashes", "hashes")] {
        assert_eq!(page[of_page], group[of_file], "{of_page}");
    }
    assert_eq!(page["seen"]["fill"], group["fill"]);
    assert_eq!(page["seen"]["fpr_now"], group["fpr_now"]);
    assert!(folder.ok("explain all.tamis").contains("Seen in all.tamis"));
    folder.refused("explain groups.tamis", 2, &["--group"]);
    assert_eq!(folder.json("explain groups.tamis --group 7")["kind"], "blocked");
    folder.refused("explain groups.tamis --group none", 1, &["has no group"]);
    folder.refused("explain all.tamis --keys 10", 2, &["leave out --keys"]);

    for kind in ["fuse", "ribbon", "counting"] {
        folder.ok(&format!("build ratings.tsv --key tconst --kind {kind} -o {kind}.tamis"));
        assert_eq!(folder.json(&format!("explain {kind}.tamis"))["kind"], kind);
    }
    folder.ok("dedup ratings.tsv --key tconst --state seen.tamis -o once.tsv");
    assert_eq!(folder.json("explain seen.tamis")["kind"], "scalable");

    folder.ok("build ratings.tsv --key tconst --kind count-min --epsilon 0.01 -o counts.tamis");
    let page = folder.json("explain counts.tamis");
    assert_eq!((page["kind"].as_str(), page["total"].as_u64()), (Some("count-min"), Some(2000)));
}

#[test]
fn every_page_is_written_as_html_with_its_charts() {
    let folder = Folder::new();
    for kind in ["bloom", "blocked", "fuse", "ribbon", "counting", "scalable", "layered", "count-min"] {
        let text = folder.ok(&format!("explain {kind} --report {kind}.html"));
        let page = folder.text(&format!("{kind}.html"));
        for part in
            ["<h2>In short</h2>", "It answers", "It errs", "It costs", "Do not use it", "<svg", "<table"]
        {
            assert!(page.contains(part), "{kind}: {part}");
        }
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org").count()
        );
        assert!(
            ["It answers", "It errs", "It costs", "Do not use it"].iter().all(|part| text.contains(part))
        );
    }
}
