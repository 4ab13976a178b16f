//! Laws of filters as users meet them, and each refusal.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::about::About;
use crate::error::NotOneSet;
use crate::key::{Recipe, Step};
use crate::params::Common;

const KINDS: [Kind; 4] = [Kind::Blocked, Kind::Bloom, Kind::Counting, Kind::Scalable];

/// Builders of each kind, one with murmur3, and one with steps.
fn builders() -> Vec<Builder> {
    let mut builders: Vec<Builder> = KINDS.map(|kind| Filter::builder().kind(kind).seed(7)).to_vec();
    builders.push(Filter::builder().kind(Kind::Bloom).hash(Scheme::Murmur3));
    builders.push(Filter::builder().kind(Kind::Bloom).hash(Scheme::Polynomial { seed: 7 }));
    builders.push(Filter::builder().steps([Step::Trim, Step::Lower]).bits_per_key(12.0));
    builders
}

/// Keys of any bytes, short ones so that some repeat and some are empty.
fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(prop_oneof![vec(any::<u8>(), 0..3), "[ A-Ca-c]{0,3}".prop_map(String::into_bytes)], 0..60)
}

fn can_merge(builder: &Builder) -> bool {
    builder.for_keys(1).unwrap().kind() != Kind::Scalable
}

proptest! {
    // Sizing takes a millisecond, and each case sizes dozens of filters.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_key_that_was_added_is_always_found(keys in keys(), planned in 1u64..40) {
        for builder in builders() {
            let mut filter = builder.for_keys(planned).unwrap();
            for key in &keys {
                let before = filter.contains(key);
                prop_assert_eq!(filter.insert(key), !before);
                prop_assert!(filter.contains(key));
            }
            prop_assert!(keys.iter().all(|key| filter.contains(key)), "{:?}", filter);
            prop_assert_eq!(filter.inserted(), keys.len() as u64);
            prop_assert_eq!(filter.is_empty(), keys.is_empty());
            prop_assert!(filter.estimated_len() <= keys.len() as u64);
        }
    }

    #[test]
    fn adding_all_at_once_is_adding_one_by_one(keys in keys()) {
        for builder in builders() {
            let (mut one_by_one, mut at_once) = (builder.for_keys(10).unwrap(), builder.for_keys(10).unwrap());
            keys.iter().for_each(|key| { one_by_one.insert(key); });
            at_once.extend(&keys);
            prop_assert_eq!(one_by_one.to_bytes(), at_once.to_bytes());
        }
    }

    #[test]
    fn merging_gives_the_filter_of_both_sets(some in keys(), others in keys()) {
        for builder in builders().into_iter().filter(can_merge) {
            let of = |keys: &[&Vec<u8>]| {
                let mut filter = builder.for_keys(30).unwrap();
                filter.extend(keys);
                filter
            };
            let (some, others): (Vec<_>, Vec<_>) = (some.iter().collect(), others.iter().collect());
            let (mut merged, other) = (of(&some), of(&others));
            let both = of(&[&some[..], &others[..]].concat());
            merged.merge(&other).unwrap();
            prop_assert_eq!(merged.to_bytes(), both.to_bytes());
            // The other way round, too, and an empty one adds nothing.
            let mut turned = other.clone();
            turned.merge(&of(&some)).unwrap();
            turned.merge(&of(&[])).unwrap();
            prop_assert_eq!(turned, both);
        }
    }

    #[test]
    fn a_collection_is_sized_by_the_different_keys_that_it_has(keys in keys()) {
        for builder in builders() {
            let Common { recipe, hash, .. } = builder.for_keys(1).unwrap().params.common;
            if hash.by_bytes().is_some() {
                continue; // these are not sized by their keys
            }
            let different: HashSet<Vec<u8>> = keys.iter().map(|key| stored::key(&recipe, key).into_owned()).collect();
            let mut planned = builder.for_keys(different.len().max(1) as u64).unwrap();
            planned.extend(&keys);
            let collected = builder.from_keys(&keys).unwrap();
            prop_assert_eq!(collected.to_bytes(), planned.to_bytes());
        }
        let collected: Filter = keys.iter().collect();
        prop_assert_eq!(collected.to_bytes(), Filter::builder().from_keys(&keys).unwrap().to_bytes());
    }

    #[test]
    fn what_is_written_is_read_back_and_goes_on_alike(keys in keys(), more in keys()) {
        for builder in builders() {
            let mut filter = builder.for_keys(10).unwrap();
            filter.extend(&keys);
            let mut again = Filter::from_bytes(&filter.to_bytes()).unwrap();
            prop_assert_eq!(&again, &filter);
            filter.extend(&more);
            again.extend(&more);
            prop_assert_eq!(again.to_bytes(), filter.to_bytes());
        }
    }

    #[test]
    fn what_was_removed_leaves_no_trace(keys in keys(), gone in keys()) {
        let mut filter = Filter::builder().kind(Kind::Counting).for_keys(200).unwrap();
        filter.extend(&keys);
        let before = filter.clone();
        // A counter that is full stays: so that none is, no key is added many times.
        let gone: HashSet<Vec<u8>> = gone.into_iter().collect();
        filter.extend(&gone);
        let full = filter.words().chunks(32).any(|block| (0..8).any(|word| (0..4).fold(u64::MAX, |bits, plane| bits & block[8 * plane + word]) != 0));
        for key in &gone {
            prop_assert!(filter.remove(key).unwrap());
        }
        prop_assert!(full || filter == before);
        prop_assert_eq!(filter.is_empty(), keys.is_empty());
        let again = Filter::from_bytes(&filter.to_bytes()).unwrap();
        prop_assert_eq!(again.to_bytes(), filter.to_bytes());
    }
}

#[test]
fn the_rate_starts_at_zero_and_comes_near_the_target() {
    for kind in KINDS {
        let mut filter = Filter::builder().kind(kind).rate(0.02).for_keys(5000).unwrap();
        assert_eq!((filter.rate(), filter.estimated_len(), filter.planned_len()), (0.0, 0, 5000));
        filter.extend((0..5000u32).map(u32::to_le_bytes));
        // The bits of 5000 keys vary by about a hundredth; a scalable one keeps half for later layers.
        assert!(filter.rate() < 0.022 && filter.rate() > 0.008, "{filter:?}");
        assert!(filter.estimated_len().abs_diff(5000) < 150, "{filter:?}");
        assert_eq!(filter.target_rate(), 0.02);
    }
}

#[test]
fn a_full_filter_has_as_many_keys_as_were_added() {
    let mut filter = Filter::with_rate(1, 0.5).unwrap();
    filter.extend((0..100_000u32).map(u32::to_le_bytes));
    assert_eq!((filter.rate(), filter.estimated_len()), (1.0, 100_000));
}

#[test]
fn a_merge_that_is_refused_names_the_difference_and_changes_nothing() {
    let plain = Filter::builder().rate(0.01);
    for (other, difference) in [
        (plain.clone().kind(Kind::Bloom), "one is blocked, the other bloom"),
        (plain.clone().kind(Kind::Scalable), "one is blocked, the other scalable"),
        (plain.clone().seed(1), "one hashes with xxh3, the other with xxh3 (seed 1)"),
        (plain.clone().steps([Step::Lower]), "one has the recipe (key (line)), the other (key (line):lower)"),
        (plain.clone().rate(0.02), "for 1000 keys at 0.01, the other"),
    ] {
        let mut filter = plain.for_keys(1000).unwrap();
        filter.insert("ann");
        let before = filter.clone();
        let refused = filter.merge(&other.for_keys(1000).unwrap()).unwrap_err();
        assert!(
            matches!(refused, Error::Different(_)) && refused.to_string().contains(difference),
            "{refused}"
        );
        assert_eq!(filter, before);
    }
    let mut filter = Filter::with_rate(10, 0.01).unwrap();
    assert!(matches!(filter.merge(&Filter::with_rate(11, 0.01).unwrap()), Ok(()) | Err(Error::Different(_))));
    let mut growing = Filter::builder().kind(Kind::Scalable).for_keys(10).unwrap();
    let refused = growing.merge(&growing.clone());
    assert!(matches!(refused, Err(Error::Cannot { kind: Kind::Scalable, action: Action::Merge })));
}

#[test]
fn what_makes_no_filter_is_refused() {
    let builder = Filter::builder;
    assert!(matches!(Filter::with_rate(0, 0.01), Err(Error::NoKeys)));
    for rate in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Filter::with_rate(10, rate), Err(Error::Rate(_))), "{rate}");
    }
    for bits in [0.0, -1.0, 10_001.0, f64::NAN] {
        assert!(matches!(builder().bits_per_key(bits).for_keys(10), Err(Error::BitsPerKey(_))), "{bits}");
    }
    assert!(matches!(Filter::with_rate(u64::MAX, 0.01), Err(Error::TooLarge { .. })));
    assert!(matches!(Filter::with_rate(1 << 52, 0.01), Err(Error::Memory { .. })));
    assert!(builder().kind(Kind::Scalable).bits_per_key(9.0).for_keys(10).is_err());
    for kind in [Kind::Fuse, Kind::Ribbon, Kind::Layered, Kind::CountMin, Kind::CountMinConservative] {
        let refused = builder().kind(kind).for_keys(10).unwrap_err();
        assert!(matches!(refused, Error::Cannot { action: Action::Insert, .. }), "{refused}");
        assert!(builder().kind(kind).from_keys(["ann"]).is_err());
    }
    for step in [Step::Round, Step::Words] {
        assert!(matches!(builder().steps([step]).for_keys(10), Err(Error::Step { .. })));
    }
    assert!(builder().steps([Step::Prefix(0)]).for_keys(10).is_err());
    assert!(builder().key("a:json".parse().unwrap()).from_keys(["ann"]).is_err());
}

#[test]
fn murmur3_goes_with_bloom_only() {
    let murmur = Filter::builder().hash(Scheme::Murmur3);
    assert!(murmur.for_keys(10).is_err()); // blocked
    let murmur = murmur.kind(Kind::Bloom);
    assert!(murmur.for_keys(10).is_ok());
    let cannot = |result: Result<Filter>| match result {
        Err(Error::Cannot { action, .. }) => Some(action),
        _ => None,
    };
    assert_eq!(cannot(murmur.from_keys(["ann"])), Some(Action::Collect));
    assert_eq!(murmur.bits_per_key(9.0).for_keys(10).unwrap().params().groups[0].shape.slots(), 90);
}

#[test]
fn only_a_counting_filter_removes() {
    for kind in KINDS {
        let mut filter = Filter::builder().kind(kind).for_keys(10).unwrap();
        filter.insert("ann");
        match kind {
            Kind::Counting => {
                assert!(!filter.remove("bob").unwrap() && filter.contains("ann"));
                assert!(filter.remove("ann").unwrap() && !filter.contains("ann") && filter.is_empty());
            }
            _ => assert!(matches!(filter.remove("ann"), Err(Error::Cannot { action: Action::Remove, .. }))),
        }
    }
}

#[test]
fn bytes_that_are_damaged_or_hold_more_are_refused() {
    let filter: Filter = (0..100u32).map(u32::to_le_bytes).collect();
    let bytes = filter.to_bytes();
    assert!(matches!(Filter::from_bytes(b""), Err(Error::Magic)));
    assert!(matches!(Filter::from_bytes(&bytes[..bytes.len() - 1]), Err(Error::Length { .. })));
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 4;
        assert!(Filter::from_bytes(&broken).is_err(), "byte {at}");
    }
    let counts = crate::Counter::with_error(0.1, 0.1).unwrap().to_bytes();
    assert!(matches!(Filter::from_bytes(&counts), Err(Error::Cannot { action: Action::Insert, .. })));

    let mut params = filter.params.clone();
    params.common.recipe = Recipe { group: Some("a".parse().unwrap()), ..Recipe::lines() };
    let grouped = Stored {
        params: &params,
        words: filter.words(),
        rows: 100,
        beside: Beside::Nothing,
        about: &About::default(),
    }
    .to_bytes();
    assert!(matches!(Filter::from_bytes(&grouped), Err(Error::NotOneSet(NotOneSet::Groups))));
    params.common.recipe =
        Recipe { key: vec!["a".parse().unwrap(), "b".parse().unwrap()], ..Recipe::lines() };
    let compound = Stored {
        params: &params,
        words: filter.words(),
        rows: 100,
        beside: Beside::Nothing,
        about: &About::default(),
    }
    .to_bytes();
    assert!(matches!(Filter::from_bytes(&compound), Err(Error::NotOneSet(NotOneSet::Columns))));
    let tally = crate::format::seal(&filter.params.groups[0].shape, filter.words(), 100, Beside::Nothing);
    let (mut with_journal, extras) =
        (Vec::new(), crate::format::Extras { heavy: None, about: None, journal: b"place" });
    crate::format::write(&mut with_journal, &filter.params, &[tally], filter.words(), extras).unwrap();
    assert!(matches!(Filter::from_bytes(&with_journal), Err(Error::NotOneSet(NotOneSet::More))));
}

#[test]
fn filters_that_were_filled_alike_are_equal_and_others_are_not() {
    let of = |keys: &[&str]| {
        let mut filter = Filter::with_rate(100, 0.01).unwrap();
        filter.extend(keys);
        filter
    };
    assert_eq!(of(&["a", "b"]), of(&["b", "a", "a"]));
    assert_ne!(of(&["a", "b"]), of(&["a"]));
    assert_ne!(of(&[]), Filter::with_rate(101, 0.02).unwrap());
}

#[test]
fn a_filter_shown_for_debugging_says_what_it_holds() {
    let filter: Filter = ["ann", "bob"].iter().collect();
    let shown = format!("{filter:?}");
    for part in
        ["kind: blocked", "hash: xxh3", "key (line)", "estimated_len: 2", "target_rate: 0.01", "bytes: 64"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// A file whose about part grew when it was written again made `to_bytes` panic.
#[test]
fn a_file_with_as_much_recorded_as_it_takes_is_written_again() {
    let mut filter = Filter::with_rate(10, 0.01).unwrap();
    let full = |class: &str| {
        let later = "1e15,".repeat(200_000);
        let text = |note: &str| format!(r#"{{"note":"{note}","classes":["{class}"],"later":[{later}1]}}"#);
        let note = "x".repeat(crate::about::MOST_BYTES - text("").len());
        serde_json::from_str::<About>(&text(&note)).unwrap()
    };
    filter.about = full("date");
    let bytes = filter.to_bytes();
    let mut again = Filter::from_bytes(&bytes).unwrap();
    assert!(again.to_bytes() == bytes);
    // Together they have one class more than there is room for.
    let mut other = Filter::with_rate(10, 0.01).unwrap();
    other.about = full("time");
    other.insert("ann");
    assert!(matches!(again.merge(&other), Err(Error::LongAbout { .. })));
    assert!(again.to_bytes() == bytes, "nothing has changed");
}

#[test]
fn a_filter_of_a_secret_key_opens_only_where_the_key_is_known() {
    let key = crate::hash::HashKey::new(*b"of this one test");
    let mut filter = Filter::builder().hash_key(key).for_keys(1000).unwrap();
    filter.extend((0..1000u32).map(u32::to_le_bytes));
    assert!((0..1000u32).all(|n| filter.contains(n.to_le_bytes())));
    let bytes = filter.to_bytes();
    assert!(!bytes.windows(16).any(|window| window == b"of this one test"));
    let refused = Filter::from_bytes(&bytes).unwrap_err();
    assert!(matches!(refused, Error::HashKey { check, .. } if check == key), "{refused}");
    key.add();
    assert_eq!(Filter::from_bytes(&bytes).unwrap(), filter);
    // A key whose secret nobody has makes no filter.
    let unknown = crate::hash::HashKey::of_check(7);
    assert!(matches!(Filter::builder().hash_key(unknown).for_keys(9), Err(Error::HashKey { .. })));
}
