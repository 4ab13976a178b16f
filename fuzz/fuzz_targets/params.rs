//! Parameters as JSON: what can be read can be written and read again, and used.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::Params;
use tamis::hash::xxh3;
use tamis::key::Maker;
use tamis::params::Goal;
use tamis::sizing::Kind;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(mut params) = Params::from_json(text) else { return };
    // Rates as they are computed have all digits, which mutations of text rarely have. Some shapes
    // follow from theirs.
    let kind = params.common.kind;
    let groups = params.groups.iter_mut().filter(|_| !kind.counts() && kind != Kind::Scalable);
    for (i, group) in groups.enumerate() {
        let fpr = (1 + (xxh3(data, i as u64) >> 11)) as f64 / (1u64 << 53) as f64;
        group.goal = Goal::Rate { keys: group.keys(), fpr };
    }
    let json = params.to_json();
    assert_eq!(Params::from_json(&json).expect("what is written can be read"), params, "{json}");
    assert_eq!(params.difference(&params), None, "equal parameters can be merged");

    let (starts, words) = params.layout();
    assert_eq!(starts.len(), params.groups.len());
    assert!(starts.is_sorted() && starts.iter().all(|&start| start % 8 == 0 && start < words));
    for (at, group) in params.groups.iter().enumerate() {
        assert_eq!(params.find(&group.group.0), Some(at));
        let rate = group.shape.expected_rate(group.keys());
        assert!(rate.is_nan() || (0.0..=1.0).contains(&rate), "{group:?}");
        group.shape.capacity(group.fpr());
    }

    let recipe = &params.common.recipe;
    let _ = recipe.to_string();
    let mut maker = Maker::new(recipe);
    for value in [None, Some(&b""[..]), Some(b"a"), Some(b" -6.5 "), Some(b"\xff@\xc3\xa9,b")] {
        let _ = maker.key(&vec![value; recipe.key.len()]);
        let _ = maker.group(value);
        let _ = maker.weight(value);
    }
});
