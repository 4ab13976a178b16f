//! What `Filter` and `Counter` save is byte for byte what the command line built of the same keys with
//! the same parameters (`testdata/v1/lines`, made by `tamis build`), and the ten lines of the front
//! page are the ten lines of the example.

use std::path::Path;

use tamis::countmin::Update;
use tamis::hash::Scheme;
use tamis::key::Step;
use tamis::{Counter, File, Filter, Kind};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn built(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("testdata/v1/lines/{name}.tamis"))).unwrap()
}

/// The lines of the text: a hundred keys, and every seventh a second time.
fn keys() -> Vec<String> {
    (0..100).chain((0..100).step_by(7)).map(|number| format!("key {number}")).collect()
}

#[test]
fn a_filter_has_the_bytes_that_the_command_line_builds() {
    let (plain, keys) = (Filter::builder(), keys());
    for (name, builder) in [
        ("blocked", plain.clone()),
        ("bloom", plain.clone().kind(Kind::Bloom).rate(0.001)),
        ("counting", plain.clone().kind(Kind::Counting)),
        ("seed", plain.clone().seed(42).rate(0.05)),
        ("bits", plain.clone().bits_per_key(9.7)),
        ("bits-bloom", plain.clone().kind(Kind::Bloom).bits_per_key(9.7)),
        ("bits-counting", plain.clone().kind(Kind::Counting).bits_per_key(33.3)),
        ("steps", plain.clone().steps([Step::Trim, Step::Upper])),
    ] {
        assert!(builder.from_keys(&keys).unwrap().to_bytes() == built(name), "{name}");
    }
    let collected: Filter = keys.iter().collect();
    assert!(collected.to_bytes() == built("blocked"));

    let mut planned = Filter::with_rate(1000, 0.01).unwrap();
    keys.iter().for_each(|key| {
        planned.insert(key);
    });
    assert!(planned.to_bytes() == built("planned"));
    let mut murmur = plain.kind(Kind::Bloom).hash(Scheme::Murmur3).for_keys(100).unwrap();
    murmur.extend(&keys);
    assert!(murmur.to_bytes() == built("murmur3"));
}

#[test]
fn a_counter_has_the_bytes_that_the_command_line_builds() {
    let builder = Counter::builder().epsilon(0.05).delta(0.2);
    for (name, builder) in [
        ("count-min", builder.clone()),
        ("count-min-32", builder.clone().counter_bits(32)),
        ("count-min-conservative", builder.update(Update::Conservative)),
    ] {
        let mut counter = builder.build().unwrap();
        counter.extend(keys());
        assert!(counter.to_bytes() == built(name), "{name}");
    }
}

#[test]
fn what_the_command_line_built_goes_on_in_memory() {
    for name in ["blocked", "bloom", "counting", "seed", "bits", "steps", "planned", "murmur3"] {
        let path = root().join(format!("testdata/v1/lines/{name}.tamis"));
        let mut filter = Filter::open(&path).unwrap();
        assert!(filter.to_bytes() == built(name), "{name}");
        assert!(keys().iter().all(|key| filter.contains(key)), "{name}");
        filter.merge(&filter.clone()).unwrap();
        let file = File::open(&path).unwrap();
        assert!(keys().iter().all(|key| file.contains(key)), "{name}");
    }
}

/// The lines from one mark to another, both included, without what stands before each.
fn lines_between(text: &str, start: &str, end: &str, before: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix(before).unwrap_or(line));
    let lines: Vec<&str> = lines.skip_while(|line| !line.starts_with(start)).collect();
    let end = lines.iter().position(|line| line.contains(end)).unwrap();
    lines[..=end].join("\n")
}

#[test]
fn the_ten_lines_of_the_front_page_are_those_of_the_example_and_the_readme() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (start, end) = ("let mut seen = tamis::Filter", "keys.iter().collect();");
    let page = lines_between(&read("src/lib.rs"), start, end, "//! ");
    let example = lines_between(&read("examples/emails.rs"), start, end, "    ");
    let readme = lines_between(&read("README.md"), start, end, "    ");
    assert_eq!(page.lines().count(), 9, "{page}");
    assert_eq!(page, example);
    assert_eq!(page, readme);
}
