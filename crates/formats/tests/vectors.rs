//! Files that the Java classes of Spark, Hadoop and Guava wrote (`testdata/foreign`): each is recognised, has the same
//! answers, and is written again from its keys, byte for byte the same.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tamis::bloom::Bloom;
use tamis::countmin::{CountMin, Update, shape_by_hand};
use tamis::hash::{ByBytes, Foreign, Scheme, SparkCounts};
use tamis::memory::Words;
use tamis::sizing::{Choice, Kind};
use tamis_formats::{Counts, Fault, Filter, Held, Layout, recognise, write};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign")
}

/// The bytes of an item, as its system hashes them.
fn bytes(item: &Value, utf16: bool) -> Vec<u8> {
    match item {
        Value::String(text) if utf16 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Value::String(text) => text.clone().into_bytes(),
        Value::Number(number) => number.as_i64().unwrap().to_le_bytes().to_vec(),
        Value::Object(object) => {
            let hex = object["hex"].as_str().unwrap();
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        }
        other => panic!("{other}"),
    }
}

/// The scheme and the layout that a vector is of; none where it is no Bloom filter.
fn expected(vector: &Value) -> Option<(Foreign, Layout)> {
    let params = &vector["params"];
    let file = vector["file"].as_str().unwrap();
    Some(match vector["cls"].as_str().unwrap().rsplit('.').next().unwrap() {
        "BloomFilterImpl" => (Foreign::SparkV1, Layout::Spark),
        "BloomFilterImplV2" => {
            (Foreign::SparkV2 { seed: params["seed"].as_i64().unwrap_or(0) as i32 }, Layout::Spark)
        }
        "BloomFilter" if file.contains("guava") => (Foreign::Guava64, Layout::Guava),
        "BloomFilter" if params["hashType"] == 0 => (Foreign::HadoopJenkins, Layout::Hadoop),
        "BloomFilter" => (Foreign::HadoopMurmur, Layout::Hadoop),
        "CountingBloomFilter" => (Foreign::HadoopMurmur, Layout::HadoopCounting),
        _ => return None,
    })
}

fn items(vector: &Value) -> Vec<Vec<u8>> {
    match vector["items"].as_array() {
        Some(items) => {
            let utf16 = vector["file"].as_str().unwrap().contains("unencoded");
            items.iter().map(|item| bytes(item, utf16)).collect()
        }
        None => (0..10_000).map(|i| format!("tt{:07}", i * 37).into_bytes()).collect(),
    }
}

#[test]
fn every_vector_has_its_answers_and_is_written_again_the_same() {
    let index: Value = serde_json::from_slice(&fs::read(folder().join("java.json")).unwrap()).unwrap();
    let (mut seen, mut probed) = (0, 0);
    for vector in index["vectors"].as_array().unwrap() {
        let Some((scheme, layout)) = expected(vector) else { continue };
        let name = vector["file"].as_str().unwrap();
        let file = fs::read(folder().join(name)).unwrap();
        let found = recognise(&file).unwrap().unwrap_or_else(|| panic!("{name}: not recognised"));
        let filter = found.filter().unwrap();
        assert_eq!((found.layout, filter.scheme, found.beyond), (layout, scheme, 0), "{name}");

        let asked = Bloom::from_words(&filter.words[..], filter.bits, filter.hashes).unwrap();
        let by = ByBytes::Foreign(scheme);
        let items = items(vector);
        assert!(items.iter().all(|item| asked.contains_bytes(by, item)), "{name}: an item is lost");
        if let (Some(positive), true) = (vector["probe_positive_indexes"].as_array(), !items.is_empty()) {
            let number = |i: i64| (10i64.pow(12) + 31 * i).to_le_bytes().to_vec();
            let numbers = name.contains("longs");
            let probe = |i: i64| if numbers { number(i) } else { format!("zz{i:06}").into_bytes() };
            let passed: Vec<i64> = (0..2000).filter(|&i| asked.contains_bytes(by, &probe(i))).collect();
            let positive: Vec<i64> = positive.iter().map(|i| i.as_i64().unwrap()).collect();
            if vector["probe_generator"].is_string() {
                assert_eq!(passed, positive, "{name}");
                probed += 1;
            }
        }

        let mut made = Bloom::zeroed(filter.bits, filter.hashes).unwrap();
        items.iter().for_each(|item| made.insert_bytes(by, item));
        assert_eq!(made.words(), asked.words(), "{name}: made again");
        if layout != Layout::HadoopCounting {
            let again = Filter { words: Cow::Borrowed(made.words()), ..filter.clone() };
            let mut bytes = Vec::new();
            write(&again, &mut bytes).unwrap();
            assert_eq!(bytes, file, "{name}: written again");
        }
        seen += 1;
    }
    assert_eq!((seen, probed), (18, 9));
}

/// Spark's sketches that count: the same estimates for all items, and the same counters when these are counted again.
#[test]
fn every_sketch_that_counts_has_its_estimates_and_is_made_again_the_same() {
    let index: Value = serde_json::from_slice(&fs::read(folder().join("java.json")).unwrap()).unwrap();
    let mut seen = 0;
    for vector in index["vectors"].as_array().unwrap() {
        if !vector["cls"].as_str().unwrap().ends_with("CountMinSketchImpl") {
            continue;
        }
        let name = vector["file"].as_str().unwrap();
        let found = recognise(&fs::read(folder().join(name)).unwrap()).unwrap().unwrap();
        assert_eq!(found.layout, Layout::SparkCounts, "{name}");
        let Held::Counts(Counts { total, depth, width, seed, counters }) = found.held else {
            panic!("{name}")
        };
        let params = &vector["params"];
        assert_eq!(
            (Some(total), Some(seed)),
            (params["totalCount"].as_u64(), params["seed"].as_u64()),
            "{name}"
        );
        let longs = name.contains("longs");
        let hash = if longs { SparkCounts::Longs { seed } } else { SparkCounts::Bytes };
        let shape = shape_by_hand(width, depth, 64).unwrap();
        let mut made = CountMin::zeroed(shape, Update::Plain).unwrap().placed_by(Scheme::SparkCounts(hash));
        let hashes: Vec<u64> = items(vector).iter().map(|item| hash.hash(item)).collect();
        (1..).zip(&hashes).for_each(|(times, &hash)| made.add_hash(hash, times));
        assert_eq!(made.words(), counters, "{name}");
        assert_eq!(made.total(), total, "{name}");
        let mut estimates = vec![0; hashes.len()];
        made.estimates(&hashes, &mut estimates);
        let expected: Vec<u64> =
            vector["estimates"].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect();
        assert_eq!(estimates, expected, "{name}");
        assert!(hashes.iter().zip(expected).all(|(&hash, one)| made.estimate_hash(hash) == one), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn sizes_are_those_of_the_files() {
    for (scheme, keys, rate, bits, hashes) in [
        (Foreign::SparkV2 { seed: 0 }, 10_000, 0.01, 95_872, 7),
        (Foreign::Guava64, 100, 0.01, 15 * 64, 7),
        (Foreign::Guava64, 100, 0.03, 12 * 64, 5),
        (Foreign::Guava64, 100, 0.001, 23 * 64, 10),
    ] {
        let shape = Choice::new(Kind::Bloom, Scheme::Foreign(scheme)).shape_for_rate(keys, rate).unwrap();
        assert_eq!((shape.slots(), shape.hashes()), (bits, hashes), "{scheme:?} {keys} {rate}");
    }
}

/// Every beginning of every file, and every file with one more byte, is refused or (with the data of its user) read;
/// nothing panics, and no number of the file is believed.
#[test]
fn cut_and_forged_files_are_refused() {
    let mut tried = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "bin") {
            continue;
        }
        let file = fs::read(&path).unwrap();
        for length in (0..file.len().min(300)).chain([file.len() - 1]) {
            assert!(!matches!(recognise(&file[..length]), Ok(Some(_))), "{path:?} cut to {length}");
        }
        let longer = [&file[..], b"x"].concat();
        match recognise(&longer) {
            // What follows the filter there is its user's.
            Ok(Some(found)) => assert_eq!((found.layout, found.beyond), (Layout::Dcso, 1), "{path:?}"),
            _ => assert!(!path.display().to_string().contains("dcso"), "{path:?} with a byte more"),
        }
        for at in 0..file.len().min(40) {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut forged = file.clone();
                forged[at] = byte;
                let _ = recognise(&forged);
                tried += 1;
            }
        }
    }
    assert!(tried > 1000);
}

/// Guava's and Hadoop's files begin with small numbers: a part of one says of which it is, and how long it should be.
#[test]
fn a_part_of_a_file_says_how_long_the_whole_is() {
    for (name, layout) in [
        ("spark4_guava_longs", Layout::Guava),
        ("guava32_text", Layout::Guava),
        ("spark4_hadoop_bloom_murmur", Layout::Hadoop),
        ("spark4_hadoop_bloom_jenkins", Layout::Hadoop),
        ("spark4_hadoop_counting_bloom", Layout::HadoopCounting),
    ] {
        let file = fs::read(folder().join(format!("{name}.bin"))).unwrap();
        for got in [file.len() - 1, 2 * file.len() / 3] {
            let expected = Fault::Length { expected: file.len() as u64, got: got as u64 };
            assert_eq!(layout.read(&file[..got]), Err(expected), "{name}");
            assert_eq!(recognise(&file[..got]), Err((layout, expected)), "{name}");
        }
    }
    // What begins with small numbers, and is no part of a filter, is not taken for one.
    assert_eq!(recognise(&[1, 7, 0x12, 0x34, 0x56, 0x78, 1, 2, 3]), Ok(None));
}

/// Guava counts hashes up to 255: what no filter here has is said of a file that is whole otherwise.
#[test]
fn more_hashes_than_a_filter_has_are_refused_by_their_number() {
    let mut guava = fs::read(folder().join("spark4_guava_longs.bin")).unwrap();
    guava[1] = 66;
    assert_eq!(recognise(&guava), Err((Layout::Guava, Fault::Hashes(66))));
    let mut hadoop = fs::read(folder().join("spark4_hadoop_bloom_murmur.bin")).unwrap();
    hadoop[4..8].copy_from_slice(&i32::MAX.to_be_bytes());
    assert_eq!(recognise(&hadoop), Err((Layout::Hadoop, Fault::Hashes(i32::MAX as u64))));
}

/// A filter of each layout, of keys that no file has, comes back as it was.
#[test]
fn what_is_written_is_read_again() {
    for scheme in Foreign::ALL.into_iter().chain([Foreign::SparkV2 { seed: -7 }]) {
        for keys in [0u64, 1, 1000] {
            let choice = Choice::new(Kind::Bloom, Scheme::Foreign(scheme));
            let shape = choice.shape_for_rate(keys.max(1), 0.01).unwrap();
            let mut made: Bloom<Words> = Bloom::zeroed(shape.slots(), shape.hashes()).unwrap();
            (0..keys).for_each(|key| made.insert_bytes(ByBytes::Foreign(scheme), &key.to_le_bytes()));
            let plans = matches!(scheme, Foreign::Dcso | Foreign::Redis);
            let filter = Filter {
                scheme,
                bits: shape.slots(),
                hashes: shape.hashes(),
                words: Cow::Owned(made.words().to_vec()),
                planned: plans.then_some((keys, 0.01)),
                added: plans.then_some(keys),
            };
            let mut bytes = Vec::new();
            write(&filter, &mut bytes).unwrap();
            let found = recognise(&bytes).unwrap().unwrap_or_else(|| panic!("{scheme:?}: {keys} keys"));
            assert_eq!((found.held, found.layout), (Held::Filter(filter), Layout::of(scheme)), "{keys} keys");
        }
    }
}
