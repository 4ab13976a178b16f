//! Small files that the originals made for these tests (`testdata/foreign/made.json`, and how in its README): each is
//! recognised, has their answers, and is written again from its keys in their order, byte for byte the same.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tamis::bloom::Bloom;
use tamis::hash::{ByBytes, Foreign, Scheme};
use tamis::params::{GroupParams, Name};
use tamis::scalable::Sizes;
use tamis::sizing::{Choice, Kind};
use tamis::sketch::{Beside, Sketch};
use tamis_formats::{Filter, Held, recognise, write};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign")
}

/// The bytes of a key of this type.
fn bytes(text: &str, of_type: &str) -> Vec<u8> {
    match of_type {
        "long" => text.parse::<i64>().unwrap().to_le_bytes().to_vec(),
        "int" => text.parse::<i32>().unwrap().to_le_bytes().to_vec(),
        "utf16" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.as_bytes().to_vec(),
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
}

/// Whether a key is found.
type Has<'h> = Box<dyn Fn(&[u8]) -> bool + 'h>;

/// The answers of what was read.
fn asked(held: &Held) -> Has<'_> {
    match held {
        Held::Filter(filter) => {
            let bloom = Bloom::from_words(&filter.words[..], filter.bits, filter.hashes).unwrap();
            let by = ByBytes::Foreign(filter.scheme);
            Box::new(move |key| bloom.contains_bytes(by, key))
        }
        Held::Links(links) => {
            let (growth, (keys, rate)) = (links.growth, links.planned);
            let shape = Sizes::Redis { growth }.shape(keys, rate, links.count).unwrap();
            let group = GroupParams::filter(Name::default(), keys, rate, shape);
            let hash = Scheme::Foreign(Foreign::RedisLinks { growth });
            let newest = Beside::NewestKeys(links.added.1);
            let sketch =
                Sketch::from_words((Kind::Scalable, hash), &group, newest, &links.words[..]).unwrap();
            Box::new(move |key| sketch.contains_key(hash, hash.identity(key), key))
        }
        Held::Counts(_) => panic!("no filter"),
    }
}

#[test]
fn what_the_originals_made_has_their_answers_and_is_made_again_the_same() {
    let index: Value = serde_json::from_slice(&fs::read(folder().join("made.json")).unwrap()).unwrap();
    let (mut seen, mut same) = (0, 0);
    for vector in index.as_array().unwrap() {
        let name = vector["file"].as_str().unwrap();
        let of_type = vector["type"].as_str().unwrap();
        let file = fs::read(folder().join(name)).unwrap();
        let found = recognise(&file).unwrap().unwrap_or_else(|| panic!("{name}: not recognised"));
        let has = asked(&found.held);
        let items: Vec<Vec<u8>> = texts(&vector["items"]).map(|item| bytes(item, of_type)).collect();
        assert!(items.iter().all(|item| has(item)), "{name}: an item is lost");
        let probes: Vec<String> = (0..2000)
            .map(|i| match of_type {
                "long" | "int" => (1_000_000 + 31 * i).to_string(),
                _ => format!("zz{i:06}"),
            })
            .collect();
        let passed: Vec<usize> = (0..2000).filter(|&i| has(&bytes(&probes[i], of_type))).collect();
        let expected: Vec<usize> =
            vector["positive"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect();
        assert_eq!(passed, expected, "{name}");
        seen += 1;

        let (Some(filter), Some(rate)) = (found.filter(), vector["rate"].as_f64()) else { continue };
        // For the same keys and rate, the same bits and hashes; then bit for bit, and the keys that were new.
        let capacity = vector["capacity"].as_u64().unwrap_or(items.len() as u64);
        let choice = Choice::new(Kind::Bloom, Scheme::Foreign(filter.scheme));
        let rate = if name == "redis_one_link.bin" { rate / 2.0 } else { rate };
        let shape = choice.shape_for_rate(capacity, rate).unwrap();
        assert_eq!((shape.slots(), shape.hashes()), (filter.bits, filter.hashes), "{name}");
        let (by, mut new) = (ByBytes::Foreign(filter.scheme), 0);
        let mut made = Bloom::zeroed(filter.bits, filter.hashes).unwrap();
        for item in &items {
            new += u64::from(!made.contains_bytes(by, item));
            made.insert_bytes(by, item);
        }
        assert_eq!(made.words(), &filter.words[..], "{name}");
        if vector["as_written"] == false {
            continue; // it may grow, or nobody counted its bits: tamis writes that otherwise
        }
        let mut bytes = Vec::new();
        let added = filter.added.map(|_| new);
        write(&Filter { words: Cow::Borrowed(made.words()), added, ..filter.clone() }, &mut bytes).unwrap();
        assert_eq!(bytes, file, "{name}: written again");
        same += 1;
    }
    assert_eq!((seen, same), (14, 9));
}
