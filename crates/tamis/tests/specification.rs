//! What `docs/format.md` shows is what the library writes, and what it writes is read back.

use tamis::Container;
use tamis::blocked::Blocked;
use tamis::bloom::{Bloom, positions, published_shape};
use tamis::counting::Counting;
use tamis::countmin::{self, CountMin, Heavy, Update};
use tamis::format::{Beside, Extras, seal, write};
use tamis::fuse::Fuse;
use tamis::hash::{ByBytes, HashKey, Scheme, murmur3, polynomial_factor, xxh3};
use tamis::key::{Maker, Recipe, keywords_of};
use tamis::layered::{self, Layered};
use tamis::params::{Common, Goal, GroupParams, Name, Params};
use tamis::ribbon::{Ribbon, Widths};
use tamis::scalable::Scalable;
use tamis::sizing::Kind;

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format.md")).unwrap()
}

fn assert_shows(page: &str, line: &str) {
    assert!(page.lines().any(|other| other == line), "docs/format.md does not show: {line}");
}

fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// The file of one key, as section 19 makes it.
fn file_of_one_key(kind: Kind, hash: Scheme) -> (Params, Vec<u8>) {
    let key = b"tt0111161";
    let recipe = Recipe {
        key: vec!["tconst".parse().unwrap()],
        group: Some("averageRating:round".parse().unwrap()),
        ..Recipe::lines()
    };
    let group = Name(Maker::new(&recipe).group(Some(b"9.3")).unwrap().to_vec());
    let shape = match hash {
        Scheme::Murmur3 => published_shape(1, 0.01).unwrap(),
        _ => kind.shape_for_rate(1, 0.01).unwrap(),
    };
    let group = GroupParams::filter(group, 1, 0.01, shape);
    let params = Params::new(Common { kind, hash, recipe }, vec![group]).unwrap();
    let mut data = vec![0; params.layout().1];
    let section = &mut data[..shape.words() as usize];
    let mut seed = 0;
    match (kind, hash) {
        (Kind::Blocked, _) => {
            Blocked::from_words(&mut *section, shape.hashes()).unwrap().insert_hash(hash.identity(key));
        }
        (Kind::Bloom, Scheme::Murmur3) => {
            let lanes: Vec<u32> = (0..shape.hashes()).map(|seed| murmur3(key, seed)).collect();
            Bloom::from_words(&mut *section, shape.slots(), shape.hashes()).unwrap().insert_lanes(&lanes);
        }
        (Kind::Bloom, _) => {
            let mut filter = Bloom::from_words(&mut *section, shape.slots(), shape.hashes()).unwrap();
            filter.insert_hash(hash.identity(key));
        }
        (Kind::Fuse, _) => {
            let filter = Fuse::build(&mut vec![hash.identity(key)], shape.width()).unwrap();
            section.copy_from_slice(filter.words());
            seed = filter.seed();
        }
        (Kind::Ribbon, _) => {
            let widths = Widths { bits: shape.width(), shorter: shape.shorter() };
            let filter = Ribbon::build(&mut vec![hash.identity(key)], widths).unwrap();
            section.copy_from_slice(filter.words());
            seed = filter.seed();
        }
        (Kind::Counting, _) => {
            Counting::from_words(&mut *section, shape.hashes()).unwrap().insert_hash(hash.identity(key));
        }
        (Kind::Layered, _) => unreachable!("it holds records, which have a file of their own"),
        (Kind::CountMin | Kind::CountMinConservative, _) => unreachable!("it has a file of its own"),
        (Kind::Scalable, _) => {
            let mut filter = Scalable::new(params.groups[0].keys(), params.groups[0].fpr()).unwrap();
            filter.insert_hash(hash.identity(key)).unwrap();
            section.copy_from_slice(filter.words());
            seed = filter.newest();
        }
    }
    let tally = seal(&params.groups[0].shape, section, 1, Beside::from_number(kind, seed));
    let mut bytes = Vec::new();
    write(&mut bytes, &params, &[tally], &data, Extras::default()).unwrap();
    (params, bytes)
}

/// The bytes of the dump that follows the mark.
fn dumped(page: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let lines = page.lines().skip_while(|line| !line.starts_with("<!-- example:")).skip(2);
    for line in lines.take_while(|line| *line != "```") {
        let (at, rest) = line.split_once(": ").unwrap();
        assert_eq!(usize::from_str_radix(at, 16).unwrap(), bytes.len(), "{line}");
        let (hex, _) = rest.split_once(" ; ").unwrap();
        match hex.split_once(" x ") {
            Some((_, times)) => bytes.resize(bytes.len() + times.trim().parse::<usize>().unwrap(), 0),
            None => {
                bytes.extend(hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
            }
        }
    }
    bytes
}

#[test]
fn the_file_of_the_specification_is_what_is_written() {
    let (_, written) = file_of_one_key(Kind::Blocked, Scheme::DEFAULT);
    assert_eq!(dumped(&page()), written);
}

#[test]
fn the_secret_hash_of_the_specification_is_what_is_made() {
    let key = HashKey::new(std::array::from_fn(|i| i as u8));
    let page = page();
    assert_shows(&page, &format!("check value                      {:016x}", key.check()));
    assert_shows(&page, &format!("SipHash-2-4 of \"tt0111161\"       {:016x}", key.hash(b"tt0111161")));
    let (params, bytes) = file_of_one_key(Kind::Blocked, Scheme::SipHash { check: key });
    let described = format!(r#""hash":{{"name":"siphash","check":"{:016x}"}}"#, key.check());
    assert!(String::from_utf8_lossy(&bytes).contains(&described), "{}", params.to_json());
}

#[test]
fn the_file_of_the_specification_is_read() {
    let bytes = dumped(&page());
    // A vector of words begins where a container must.
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|word: &[u8; 8]| u64::from_le_bytes(*word)).collect();
    let container = Container::open(bytemuck::cast_slice::<u64, u8>(&words)).unwrap();
    container.verify(0).unwrap();
    assert_eq!(container.params().groups[0].group, Name::from("9"));
    assert!(container.sketch(0).unwrap().contains_hash(xxh3(b"tt0111161", 0)));
    assert!(!container.sketch(0).unwrap().contains_hash(xxh3(b"tt0111162", 0)));
}

#[test]
fn the_files_of_the_other_kinds_are_what_is_written() {
    let page = page();
    let schemes = [
        (Kind::Bloom, Scheme::DEFAULT),
        (Kind::Bloom, Scheme::Murmur3),
        (Kind::Fuse, Scheme::DEFAULT),
        (Kind::Ribbon, Scheme::DEFAULT),
    ];
    for (kind, hash) in schemes {
        let (params, bytes) = file_of_one_key(kind, hash);
        let shape = params.groups[0].shape;
        let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
        let section: Vec<String> = bytes[0x200..=end].iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!(
            "| `{kind}` | {hash} | {} | {} | {} | 0 | `{}` | 0x{:016x} |",
            shape.slots(),
            shape.width(),
            shape.hashes(),
            section.join(" "),
            xxh3(&bytes, 0)
        );
        assert_shows(&page, &line);
    }
}

#[test]
fn the_vectors_of_the_specification_are_those_of_the_library() {
    let page = page();
    let key = b"tt0111161";
    let hash = xxh3(key, 0);
    assert_shows(
        &page,
        &format!(
            "Of the key `tt0111161`; its XXH3 is 0x{hash:016x} with the seed 0, and 0x{:016x} with the seed 7.",
            xxh3(key, 7)
        ),
    );
    for k in [1, 2, 4, 8, 16, 32] {
        let mut filter = Blocked::zeroed(1000, k).unwrap();
        filter.insert_hash(hash);
        let set = |bit: &u64| filter.words()[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
        let bits: Vec<u64> = (0..512_000).filter(set).collect();
        assert!(bits.iter().all(|bit| bit / 512 == 947));
        assert_shows(&page, &format!("| {k} | {} |", list(bits.iter().map(|bit| bit % 512))));
    }
    assert_shows(&page, &format!("| xxh3 | 10000 | 7 | {} |", list(positions(hash, 10_000, 7))));
    assert_shows(&page, &format!("| xxh3 | 2³³ | 3 | {} |", list(positions(hash, 1 << 33, 3))));
    let murmur = (0..7).map(|seed| murmur3(key, seed) % 10_000);
    assert_shows(&page, &format!("| murmur3 | 10000 | 7 | {} |", list(murmur)));
    for (seed, bits, m, k) in [(0, 10_000, "10000", 7), (7, 10_000, "10000", 7), (7, 1 << 32, "2³²", 3)] {
        let positions = list(ByBytes::Polynomial { seed }.positions(key, bits, k));
        assert_shows(&page, &format!("| polynomial (seed {seed}) | {m} | {k} | {positions} |"));
    }
    let factors = list((0..7).map(|number| polynomial_factor(0, number, 10_000)));
    let line = format!("The factors of `polynomial` with the seed 0 and m = 10000 are {factors}.");
    assert_shows(&page, &line);
}

#[test]
fn the_parameters_of_the_specification_are_read() {
    let page = page();
    let json = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let (params, _) = file_of_one_key(Kind::Blocked, Scheme::DEFAULT);
    assert_eq!(Params::from_json(json).unwrap(), params);
}

/// The file of some counts, as section 20 has it.
#[test]
fn the_counts_of_the_specification_are_what_is_written() {
    let page = page();
    let rows = [("tt0111161", 3), ("tt0068646", 1), ("tt0111161", 2)];
    let recipe = Recipe {
        key: vec!["tconst".parse().unwrap()],
        weight: Some("votes".parse().unwrap()),
        ..Recipe::lines()
    };
    let shape = countmin::shape_by_hand(8, 3, 32).unwrap();
    let common = Common { kind: Kind::CountMin, hash: Scheme::DEFAULT, recipe };
    let group =
        GroupParams { group: Name::default(), goal: Goal::Error { epsilon: countmin::epsilon_of(8) }, shape };
    let params = Params::new(common, vec![group]).unwrap();
    let mut data = vec![0; params.layout().1];
    let section = &mut data[..shape.words() as usize];
    let mut sketch = CountMin::from_words(&mut *section, shape, Update::Plain, 0).unwrap();
    for (key, weight) in rows {
        sketch.add_hash(xxh3(key.as_bytes(), 0), weight);
        let places = list(countmin::places(xxh3(key.as_bytes(), 0), 8, 3));
        assert_shows(&page, &format!("| `{key}` | 0x{:016x} | {places} |", xxh3(key.as_bytes(), 0)));
    }
    assert_eq!(sketch.estimate_hash(xxh3(b"tt0111161", 0)), 5);
    let total = sketch.total();
    let words = list(section.iter().map(|word| format!("{word:016x}")));
    let tally = seal(&shape, section, 3, Beside::TotalWeight(total));
    let heavy = Heavy { share: 0.5, groups: vec![vec![b"tt0111161".to_vec()]] };
    let list: Vec<String> = heavy.encode().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut bytes = Vec::new();
    write(&mut bytes, &params, &[tally], &data, Extras { heavy: Some(&heavy), about: None, journal: b"" })
        .unwrap();
    let again: Vec<u64> = {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
        words
    };
    let container = Container::open(&bytemuck::cast_slice::<u64, u8>(&again)[..bytes.len()]).unwrap();
    container.verify(0).unwrap();
    container.verify_heavy(0).unwrap();
    assert_shows(
        &page,
        &format!(
            "The file has slots 24, width 32, hashes 3, seed {total}, ones {}, the words `{words}`, the heavy keys `{}`, \
             and its XXH3 is 0x{:016x}.",
            tally.ones,
            list.join(" "),
            xxh3(&bytes, 0)
        ),
    );
}

/// The file of a key that was removed once, as section 20 has it.
#[test]
fn the_counters_of_the_specification_are_what_is_written() {
    let page = page();
    let recipe = Recipe { key: vec!["tconst".parse().unwrap()], ..Recipe::lines() };
    let shape = Kind::Counting.shape_for_rate(4, 0.01).unwrap();
    let common = Common { kind: Kind::Counting, hash: Scheme::DEFAULT, recipe };
    let group = GroupParams::filter(Name::default(), 4, 0.01, shape);
    let params = Params::new(common, vec![group]).unwrap();
    let mut data = vec![0; params.layout().1];
    let mut filter = Counting::from_words(&mut data[..], shape.hashes()).unwrap();
    let (often, once) = (xxh3(b"tt0111161", 0), xxh3(b"tt0068646", 0));
    filter.insert_hashes(&[often, once, often, often]);
    assert!(filter.remove_hash(often));
    let tally = seal(&shape, &data, 4, Beside::RemovedRows(1));
    let mut bytes = Vec::new();
    write(&mut bytes, &params, &[tally], &data, Extras::default()).unwrap();
    for (plane, key) in [(0, "tt0068646"), (1, "tt0111161")] {
        let set = |bit: &u64| data[(plane * 8 + bit / 64) as usize] >> (bit % 64) & 1 == 1;
        assert_shows(&page, &format!("| {plane} | `{key}` | {} |", list((0..512).filter(set))));
    }
    assert!(data[16..].iter().all(|word| *word == 0));
    assert_shows(
        &page,
        &format!(
            "The file has slots {}, width {}, hashes {}, rows 4, seed 1, ones {}, and its XXH3 is 0x{:016x}.",
            shape.slots(),
            shape.width(),
            shape.hashes(),
            tally.ones,
            xxh3(&bytes, 0)
        ),
    );
}

/// The file of one record, as section 20 has it.
#[test]
fn the_record_of_the_specification_is_what_is_written() {
    let page = page();
    let recipe = Recipe { key: vec![":split=,".parse().unwrap()], ..Recipe::lines() };
    let record = Maker::new(&recipe).key(&[Some(b"space, alien, survival")]).unwrap().to_vec();
    let keywords: Vec<u64> = keywords_of(&record).map(|word| xxh3(word, 0)).collect();
    let shape = layered::shape_for_rate(3, 0.05, 2).unwrap();
    for (word, &hash) in keywords_of(&record).zip(&keywords) {
        let word = String::from_utf8_lossy(word);
        let addresses = list(positions(hash, shape.slots(), shape.hashes()));
        assert_shows(&page, &format!("| `{word}` | 0x{hash:016x} | {addresses} |"));
    }
    let common = Common { kind: Kind::Layered, hash: Scheme::DEFAULT, recipe };
    let group = GroupParams::filter(Name::default(), 3, 0.05, shape);
    let params = Params::new(common, vec![group]).unwrap();
    let mut data = vec![0; params.layout().1];
    let section = &mut data[..shape.words() as usize];
    Layered::from_words(&mut *section, shape).unwrap().insert_keywords(&keywords);
    let words = list(section.iter().map(|word| format!("{word:016x}")));
    let tally = seal(&shape, section, 1, Beside::Nothing);
    let mut bytes = Vec::new();
    write(&mut bytes, &params, &[tally], &data, Extras::default()).unwrap();
    assert_shows(
        &page,
        &format!(
            "The file has slots {}, width {}, hashes {}, the words `{words}`, and its XXH3 is 0x{:016x}.",
            shape.slots(),
            shape.width(),
            shape.hashes(),
            xxh3(&bytes, 0)
        ),
    );
}

/// A golden file of version 2, found and cut by what sections 2, 3 and 13f say.
#[test]
fn the_about_part_lies_where_the_specification_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/v2/about.tamis");
    let bytes = std::fs::read(path).unwrap();
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let pad = |at: u64| at.next_multiple_of(64);
    assert_eq!((u32_at(8), u64_at(16)), (2, bytes.len() as u64));
    let directory = pad(128 + u64_at(24));
    let names = pad(directory + 96 * u64_at(32));
    let data = pad(names + u64_at(40));
    let about = pad(data + u64_at(48) + u64_at(96));
    let (start, length) = (about as usize, u32_at(12) as usize);
    assert_eq!(start + length, bytes.len(), "no journal");
    let part = &bytes[start..];
    assert_eq!((u64_at(112), u64_at(120)), (xxh3(part, 0), xxh3(&bytes[..120], 0)));
    let text = concat!(
        r#"{"note":"Keys, 100 of them: \"früh\"","source":"made up","#,
        r##""dialect":{"delimiter":";","quotes":"none","header":false,"comment":"#"}}"##
    );
    assert_eq!(std::str::from_utf8(part).unwrap(), text);

    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
    let container = Container::open(&bytemuck::cast_slice::<u64, u8>(&words)[..bytes.len()]).unwrap();
    container.verify(0).unwrap();
    assert_eq!(
        (container.version(), container.about().note.as_deref()),
        (2, Some("Keys, 100 of them: \"früh\""))
    );
    for key in 0..100 {
        assert!(container.sketch(0).unwrap().contains_hash(xxh3(format!("key {key}").as_bytes(), 0)));
    }
    // The same file without it is one of version 1, byte for byte up to where it lies.
    let mut plain = Vec::new();
    let (params, tallies) = (container.params(), container.tallies());
    write(&mut plain, params, tallies, container.data(), Extras::default()).unwrap();
    assert_eq!(plain[8], 1);
    assert_eq!(plain[128..], bytes[128..plain.len()]);
    let mut again = Vec::new();
    let extras = Extras { about: Some(container.about()), ..Extras::default() };
    write(&mut again, params, tallies, container.data(), extras).unwrap();
    assert!(again == bytes, "what is read is written again");
}
