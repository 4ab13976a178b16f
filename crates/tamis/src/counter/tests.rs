//! Laws of counters as users meet them, and each refusal.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::key::Step;

fn builders() -> Vec<Builder> {
    let builder = Counter::builder().epsilon(0.1).delta(0.2);
    vec![
        builder.clone(),
        builder.clone().counter_bits(32).seed(3),
        builder.clone().update(Update::Conservative),
        builder.steps([Step::Lower]),
    ]
}

fn weighted() -> impl Strategy<Value = Vec<(String, u64)>> {
    vec(("[A-Ca-c]{0,3}", 0u64..1000), 0..80)
}

fn count(builder: &Builder, keys: &[(String, u64)]) -> Counter {
    let mut counter = builder.build().unwrap();
    keys.iter().for_each(|(key, weight)| counter.add(key, *weight));
    counter
}

proptest! {
    #[test]
    fn an_estimate_is_never_below_the_truth(keys in weighted()) {
        for builder in builders() {
            let counter = count(&builder, &keys);
            let mut truth: HashMap<&str, u64> = HashMap::new();
            keys.iter().for_each(|(key, weight)| *truth.entry(key).or_default() += weight);
            for (key, weight) in truth {
                prop_assert!(counter.estimate(key) >= weight);
                prop_assert!(counter.estimate(key) <= counter.total());
            }
            prop_assert_eq!(counter.total(), keys.iter().map(|(_, weight)| weight).sum::<u64>());
            prop_assert_eq!(counter.is_empty(), keys.is_empty());
        }
    }

    #[test]
    fn merging_gives_the_counter_of_both(some in weighted(), others in weighted()) {
        for builder in builders() {
            let mut merged = count(&builder, &some);
            let other = count(&builder, &others);
            match merged.kind() {
                Kind::CountMin => {
                    merged.merge(&other).unwrap();
                    let both = count(&builder, &[&some[..], &others[..]].concat());
                    prop_assert_eq!(merged.to_bytes(), both.to_bytes());
                }
                _ => {
                    let before = merged.clone();
                    let refused = merged.merge(&other);
                    let refused = matches!(refused, Err(Error::Cannot { action: Action::Merge, .. }));
                    prop_assert!(refused && merged == before);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_goes_on_alike(keys in weighted(), more in weighted()) {
        for builder in builders() {
            let mut counter = count(&builder, &keys);
            let mut again = Counter::from_bytes(&counter.to_bytes()).unwrap();
            prop_assert_eq!(&again, &counter);
            for counter in [&mut counter, &mut again] {
                more.iter().for_each(|(key, weight)| counter.add(key, *weight));
            }
            prop_assert_eq!(again.to_bytes(), counter.to_bytes());
        }
    }
}

#[test]
fn collecting_counts_each_key_once_with_the_default_error() {
    let counter: Counter = ["a", "b", "a"].iter().collect();
    assert_eq!((counter.estimate("a"), counter.estimate("b"), counter.total()), (2, 1, 3));
    assert_eq!(counter.epsilon(), 0.0001);
    assert!(counter.delta() <= 0.01 && counter.bound() <= 3.0 * 0.0001);
    assert_eq!(counter.most(), u64::MAX);
}

#[test]
fn what_makes_no_counter_is_refused() {
    for (epsilon, delta) in [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.1, 0.0), (0.1, 1.5), (0.1, 1e-300)] {
        assert!(matches!(Counter::with_error(epsilon, delta), Err(Error::Size(_))), "{epsilon} {delta}");
    }
    assert!(matches!(Counter::with_error(1e-300, 0.1), Err(Error::TooLarge { .. })));
    assert!(Counter::builder().counter_bits(8).build().is_err());
    assert!(matches!(Counter::builder().steps([Step::Ceil]).build(), Err(Error::Step { .. })));
}

#[test]
fn a_merge_that_is_refused_names_the_difference() {
    let builder = Counter::builder().epsilon(0.1).delta(0.2);
    for (other, difference) in [
        (builder.clone().counter_bits(32), "counters of 64 bits"),
        (builder.clone().epsilon(0.2), "epsilon 0.1"),
        (builder.clone().seed(1), "seed 1"),
        (builder.clone().update(Update::Conservative), "count-min-conservative"),
    ] {
        let mut counter = builder.build().unwrap();
        let refused = counter.merge(&other.build().unwrap()).unwrap_err();
        assert!(
            matches!(refused, Error::Different(_)) && refused.to_string().contains(difference),
            "{refused}"
        );
    }
}

#[test]
fn bytes_that_are_damaged_or_no_counter_are_refused() {
    let bytes = count(&builders()[0], &[("a".into(), 3)]).to_bytes();
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 4;
        assert!(Counter::from_bytes(&broken).is_err(), "byte {at}");
    }
    let filter = crate::Filter::with_rate(10, 0.01).unwrap().to_bytes();
    let refused = Counter::from_bytes(&filter);
    assert!(matches!(refused, Err(Error::Cannot { kind: Kind::Blocked, action: Action::Count })));
}

#[test]
fn a_counter_shown_for_debugging_says_what_it_holds() {
    let shown = format!("{:?}", count(&builders()[0], &[("a".into(), 3)]));
    for part in ["kind: count-min", "total: 3", "epsilon: 0.1", "bytes: "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
